"""A whole Slurm on this machine: replays agree with the rules, plans are carried out, and nothing is left behind."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from experiments import cli
from experiments.slurm.agreement import agreement
from experiments.slurm.daemons import marked
from experiments.slurm.lab import Lab, open_lab
from experiments.slurm.replays import read_replay
from policies.planning.costs import CostModel
from policies.planning.plan import ReservationPlan
from tests.support.processes import until

pytestmark = pytest.mark.slurm
PORT = "23000"
#: A program of some minutes that saves when it is told to; on the clock of the lab.
PROGRAM = """
import os, pathlib, signal, sys, time
state = pathlib.Path(os.environ["HOLDFAST_STATE"])
told = []
signal.signal(signal.SIGUSR1, lambda *_: told.append(1))
done = float(state.read_text()) if state.exists() else 0.0
if done:
    time.sleep(30)
while done < float(sys.argv[1]):
    if told:
        time.sleep(50)
        state.write_text(str(done))
        sys.exit(85)
    began = time.time()
    time.sleep(5)
    done += time.time() - began
"""


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    """A lab of eight nodes with accounting, on a clock 60 times as fast."""
    path = f"{os.environ['PATH']}:/usr/sbin"
    for program in ("slurmctld", "munged", "slurmdbd", "mariadbd", "faketime"):
        if shutil.which(program, path=path) is None:
            pytest.skip(f"{program} is not here (slurm-wlm munge slurmdbd mariadb-server faketime)")
    folder = Path(tempfile.mkdtemp(prefix="lab"))
    words = ["--nodes", "8", "--speed", "60", "--accounting", "--port", PORT]
    assert cli.main(["slurm", "lab", "start", "-o", str(folder / "lab"), *words]) == 0
    yield open_lab(folder / "lab")
    assert cli.main(["slurm", "lab", "stop", "-o", str(folder / "lab")]) == 0
    assert not marked(folder / "lab")
    assert not [path for path in Path("/dev/shm").glob("*faketime*") if path.stat().st_mtime > folder.stat().st_mtime]
    assert [path.name for path in folder.iterdir()] == ["lab"]
    shutil.rmtree(folder)


def test_decisions_agree_with_conservative_backfilling(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["slurm", "workload", "-o", "w.swf", "--jobs", "25", "--nodes", "8", "--seed", "11"]) == 0
    assert cli.main(["slurm", "replay", "w.swf", "-o", "replay", "--lab", lab.directory]) == 0
    replay = read_replay("replay", 8)
    assert len(replay.jobs) == 25
    (row,), _, _ = agreement(replay, ["conservative"], tolerance=60, lag=5)
    assert row["equal"] >= 0.85 * row["decisions"]


def in_lab(lab: Lab, *words: str) -> str:
    """Call holdfast on the lab's clock: what it submits has that clock."""
    code = "import sys; from experiments.cli import main; sys.exit(main())"
    environment = {**os.environ, **lab.variables, "PATH": f"{os.environ['PATH']}:/usr/sbin"}
    done = subprocess.run(
        [sys.executable, "-c", code, *words], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_sequences_complete_and_survive(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("program.py").write_text(PROGRAM)
    plan = ReservationPlan([600, 1500, 3000], [True, True, False], CostModel(checkpoint=60, restart=40))
    Path("plan.json").write_text(plan.to_json())
    runtimes = {"short": 300, "middle": 1200, "long": 2400, "cancelled": 900}
    for name, runtime in runtimes.items():
        words = ["submit", "plan.json", "-o", name, "--go", "--history", "past.txt"]
        in_lab(lab, *words, "--", sys.executable, "program.py", str(runtime))
    # The second reservation of one is cancelled by hand before it starts.
    second = Path("cancelled/jobs").read_text().split()[3]
    lab.call(["scancel", second])

    def over() -> bool:
        time.sleep(1)  # each question is a load on the lab
        return not lab.call(["squeue", "-h", "-o", "%i"]).split()

    until(over, 300)
    for name, runtime in runtimes.items():
        told = json.loads(in_lab(lab, "status", name, "--json", "-"))
        assert told["state"] == "done", told
        assert told["runtime"] == pytest.approx(runtime, abs=120)
        if name != "cancelled":
            assert told["ran"] == told["planned_number"] == {"short": 1, "middle": 2, "long": 3}[name]
            assert told["planned"] <= told["paid"] <= told["planned"] + 60 * told["ran"] + 60
    assert len(Path("past.txt").read_text().split()) == len(runtimes)


def test_a_mechanism_is_carried_out(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = Path(__file__).parents[3] / "docs" / "examples" / "slurm" / "urgent.csv"
    monkeypatch.chdir(tmp_path)
    words = ["--lab", lab.directory, "-o", "served", "--no-save", "--grace", "0", "--mechanism", "CUA-SPAA"]
    assert cli.main(["slurm", "serve-on-demand", str(table), *words]) == 0
    with Path("served/events.csv").open() as file:
        rows = list(csv.DictReader(file))
    near = [row for row in rows if row["difference_s"] and abs(float(row["difference_s"])) <= 300]
    assert len(near) >= 0.8 * len(rows)
    assert not lab.call(["squeue", "-h", "-o", "%i"]).split()
    assert "No reservations" in lab.call(["scontrol", "show", "reservation"])
