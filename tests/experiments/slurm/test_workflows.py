"""Recipes of docs/guides/workflows.md: attempts have the limits of the plan, which respond sooner than doubling."""

from __future__ import annotations

import json
import math
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from holdfast.experiments.planning.reservation_series import Reservation, replay_series, series
from holdfast.policies.planning.costs import CostModel
from holdfast.policies.planning.plan import ReservationPlan
from holdfast.policies.planning.plan_progress import Schedule
from holdfast.policies.planning.strategies import optimal
from holdfast.workloads.distributions import lognormal_from_moments, truncate

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "guides" / "workflows.md").read_text()


def block(name: str) -> str:
    """A file that the page shows."""
    (text,) = re.findall(rf"<!-- file: {re.escape(name)} -->\n\n```\w+\n(.*?)```", PAGE, re.DOTALL)
    return str(text)


@pytest.fixture
def limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A directory with a plan of three attempts, and attempts.py; the limits, worked out by hand [min]."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "attempts", raising=False)
    shutil.copy(DOCS / "examples" / "slurm" / "attempts.py", tmp_path)
    plan = ReservationPlan([600, 1500, 3000], [True, True, False], CostModel(checkpoint=60, restart=40))
    Path("plan.json").write_text(plan.to_json())
    # 600 + 60, 40 + 900 + 60 and 40 + 1,500 s, and ten seconds each, in whole minutes.
    return [12, 17, 26]


def test_limits_of_a_plan_and_of_advice(limits: list[int]) -> None:
    from attempts import limits as found  # type: ignore[import-not-found]
    from attempts import minutes

    assert found() == limits
    assert [minutes(attempt) for attempt in range(1, 6)] == [*limits, 52, 104]
    Path("advice.json").write_text(json.dumps({"plan": json.loads(Path("plan.json").read_text())}))
    assert found("advice.json") == limits


@pytest.mark.parametrize("text", [None, "{", "[]", '{"plan": 1}'])
def test_what_is_no_plan_is_one_sentence(text: str | None, limits: list[int]) -> None:
    if text is not None:
        Path("other.json").write_text(text)
    done = subprocess.run([sys.executable, "attempts.py", "other.json"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("attempts.py: PLAN must be a file of holdfast plan --json or advise --json: ")


def test_snakemake_asks_for_the_limit_of_the_attempt(limits: list[int]) -> None:
    text = block("Snakefile")
    names: dict[str, Any] = {}
    exec(text.partition("rule")[0], names)
    (runtime,) = re.findall(r"runtime=(lambda .*),\n", text)
    asked: Callable[[object, int], int] = eval(runtime, names)
    assert [asked(None, attempt) for attempt in range(1, len(limits) + 1)] == limits
    # The plan of the page.
    (printed,) = re.findall(r"prints the limits in minutes: ([\d ]+)\.", PAGE)
    (retries,) = re.findall(r"--retries (\d+)", PAGE)
    assert int(retries) == len(printed.split()) - 1


#: A program that saves when it gets the signal, as the guide asks.
SAVES = """import signal, sys, time
def save(*_):
    print("saved", *sys.argv[1:], flush=True)
    sys.exit(85)
signal.signal(signal.SIGUSR1, save)
time.sleep(60)
"""


@pytest.mark.system
@pytest.mark.parametrize("name", ["Snakefile", "main.nf"])
def test_the_program_saves_three_minutes_before_the_limit(name: str, limits: list[int]) -> None:
    Path("heat.py").write_text(SAVES)
    if name == "Snakefile":
        (shell,) = re.findall(r'shell:\n((?: +".*"\n)+)', block(name))
        command = "".join(re.findall(r'"(.*)"', shell)).format(
            resources=SimpleNamespace(runtime=limits[0]), output="result.txt"
        )
    else:
        command = nextflow_attempts(limits)[0].command + " > result.txt"
    # Nine minutes are nine tenths of a second here.
    Path("timeout").write_text('#!/bin/bash\nexec /usr/bin/timeout "${@/#9m/0.9s}"\n')
    Path("timeout").chmod(0o755)
    Path("python").symlink_to(sys.executable)
    path = f"{Path.cwd()}:{os.environ['PATH']}"
    script = f"trap '' USR1\n(set -o pipefail; bash -c {shlex.quote(command.replace('$((12 - 3))', '9'))} | cat)"
    done = subprocess.run(["bash", "-c", script], env={**os.environ, "PATH": path}, check=False)
    assert done.returncode == 85
    assert Path("result.txt").read_text() == "saved 300 1\n"


@pytest.mark.system
def test_nextflow_asks_for_the_limit_of_the_attempt(limits: list[int]) -> None:
    attempts = nextflow_attempts(limits)
    assert [one.minutes for one in attempts] == limits
    for one, limit in zip(attempts, limits, strict=True):
        assert one.retries == len(limits) - 1
        # Saved, or killed; not done, or wrong.
        assert one.strategies == {"0": "finish", "1": "finish", "85": "retry", "140": "retry", "143": "retry"}
        assert f" {limit - 3}m python {Path.cwd()}/heat.py 300 1" in one.command


@dataclass(frozen=True)
class NextflowAttempt:
    """An attempt that Nextflow would make: limit [min], retries, what follows an exit status, and command."""

    minutes: int
    retries: int
    strategies: dict[str, str]
    command: str


def nextflow_attempts(limits: Sequence[int]) -> list[NextflowAttempt]:
    """The attempts of the page's script, evaluated by Groovy in the current directory."""
    java = shutil.which("java")
    if java is None or shutil.which("groovy") is None:
        pytest.skip("groovy is not here (Debian: groovy)")
    Path("main.nf").write_text(block("main.nf"))
    harness = Path(__file__).with_name("nextflow_attempts.groovy")
    words = ["groovy", str(harness), "main.nf", " ".join(map(str, limits)), str(Path.cwd())]
    own = {**os.environ, "JAVA_HOME": str(Path(java).resolve().parents[1])}
    printed = subprocess.run(words, env=own, capture_output=True, text=True, check=True).stdout
    return [NextflowAttempt(**{**one, "command": one["command"].strip()}) for one in json.loads(printed)]


def test_submitit_submits_again_with_the_next_limit(limits: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    class UncompletedJobError(RuntimeError):
        """The job did not complete."""

    class Executor:
        """An executor whose jobs need twenty minutes."""

        def __init__(self, folder: str) -> None:
            assert folder == "attempts"

        def update_parameters(self, *, timeout_min: int, nodes: int) -> None:
            asked.append(timeout_min)

        def submit(self, function: Callable[..., object], *arguments: object) -> SimpleNamespace:
            def result() -> object:
                if asked[-1] < 20:
                    raise UncompletedJobError
                return function(*arguments)

            return SimpleNamespace(result=result)

    module = ModuleType("submitit")
    module.AutoExecutor = Executor  # type: ignore[attr-defined]
    module.core = SimpleNamespace(  # type: ignore[attr-defined]
        utils=SimpleNamespace(UncompletedJobError=UncompletedJobError)
    )
    monkeypatch.setitem(sys.modules, "submitit", module)
    names: dict[str, Any] = {}
    exec(block("with_submitit.py"), names)
    assert names["attempt_all"](pow, 2, 5) == 32
    assert asked == limits
    Path("plan.json").write_text(ReservationPlan([600], [False], CostModel()).to_json())
    with pytest.raises(TimeoutError, match="not done in the attempts of the plan"):
        names["attempt_all"](pow, 2, 5)


@pytest.mark.system
def test_the_wrapper_of_sbatch_stops_when_it_is_done(limits: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    Path("bin").mkdir()
    # A job of sbatch runs at once. The first attempt is killed, and completes when sbatch asks, with the status 0; the
    # second one saves, and the third one is done.
    sbatch = """#!/bin/bash
cat >script
echo "$@" >>calls
echo $(wc -l <calls)
case $(wc -l <calls) in
    1) echo TIMEOUT >state; touch completing ;;
    2) echo FAILED >state; exit 85 ;;
    3) echo COMPLETED >state; bash script >output ;;
esac
"""
    scontrol = """#!/bin/bash
echo "$@" >>asked
if [ -e completing ]; then rm completing; echo "JobId=$3 JobState=COMPLETING"; else echo "JobState=$(<state) A=B"; fi
"""
    programs = {"sbatch": sbatch, "scontrol": scontrol, "python": f'#!/bin/bash\nexec {sys.executable} "$@"\n'}
    for name, text in (programs | {"sleep": "#!/bin/bash\n"}).items():
        Path("bin", name).write_text(text)
        Path("bin", name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{Path('bin').absolute()}:{os.environ['PATH']}")
    Path("attempts.sh").write_text(block("attempts.sh"))
    done = subprocess.run(["bash", "attempts.sh", "printf", "%s|", "a b", "$c"], check=False)
    assert done.returncode == 0
    assert Path("output").read_text() == "a b|$c|"
    calls = Path("calls").read_text().splitlines()
    assert [re.findall(r"--time=(\d+)", call) for call in calls] == [["12"], ["17"], ["26"]]
    assert Path("asked").read_text().splitlines() == [f"show job {job}" for job in (1, 1, 2, 3)]
    # Where no attempt is enough, it fails; and at once if Slurm takes no job.
    Path("bin", "sbatch").write_text("#!/bin/bash\ncat >script\necho 7\necho FAILED >state\nexit 85\n")
    assert subprocess.run(["bash", "attempts.sh", "true"], check=False).returncode == 1
    Path("bin", "sbatch").write_text("#!/bin/bash\ncat >script\nexit 1\n")
    assert subprocess.run(["bash", "attempts.sh", "true"], capture_output=True, check=False).returncode == 1


def comparison_plan() -> ReservationPlan:
    """The plan of the page."""
    costs = CostModel(gamma=600, checkpoint=120, restart=60)
    return optimal(truncate(lognormal_from_moments(2400, 2400), 0.0, 14_400.0), costs)


def responses(plan: ReservationPlan, seed: int, load: float) -> dict[str, tuple[float, float, float]]:
    """Mean response [min], node-hours and lost node-hours of 200 jobs by how they ask, on 16 nodes."""
    random = np.random.default_rng(seed)
    sigma = math.sqrt(math.log(2))
    drawn = random.lognormal(math.log(2400) - sigma**2 / 2, sigma, 1000)
    runtimes = drawn[drawn <= 14_400][:200]
    submits = np.cumsum(random.exponential(runtimes.mean() / 16 / load, 200)).tolist()
    ways = {
        "plan": [plan_attempts(plan, runtime) for runtime in runtimes.tolist()],
        "double": [doubling_attempts(runtime, saves=False) for runtime in runtimes.tolist()],
        "double, saving": [doubling_attempts(runtime, saves=True) for runtime in runtimes.tolist()],
    }
    found = {}
    for way, jobs in ways.items():
        replay = replay_series(submits, jobs, 16)
        kept = runtimes.sum() + (180 if way != "double" else 0) * sum(len(job) - 1 for job in jobs)
        lost = (replay.occupied - kept) / 3600
        found[way] = float((replay.completions - submits).mean() / 60), replay.occupied / 3600, lost
    return found


def plan_attempts(plan: ReservationPlan, runtime: float) -> list[Reservation]:
    """Attempts by a plan, in whole minutes."""
    attempts = series(Schedule(plan), runtime)
    return [Reservation(60.0 * math.ceil((one.length + 10) / 60), one.used) for one in attempts]


def doubling_attempts(runtime: float, *, saves: bool) -> list[Reservation]:
    """Attempts of 40, 80, 160 ... minutes; those that save write a checkpoint before the limit, and go on from it."""
    attempts, length, done = [], 2400.0, 0.0
    while True:
        restart = 60.0 if done else 0.0
        if restart + runtime - done <= length:
            return [*attempts, Reservation(length, restart + runtime - done)]
        attempts.append(Reservation(length, length))
        done += length - restart - 120 if saves else 0.0
        length *= 2


@pytest.mark.system
def test_plans_respond_sooner_than_doubling_on_retry() -> None:
    plan = comparison_plan()
    for seed in range(1, 6):
        found = responses(plan, seed, 0.5)
        assert found["plan"][0] < 0.8 * found["double"][0]
        # No saved work is lost: an attempt costs its checkpoint and its restart, and nothing else.
        assert found["plan"][2] == pytest.approx(0, abs=1e-6)
        assert found["double"][2] > 30
