"""Jobs of unknown runtime on a lab, by the sbatch recipe of docs/guides/workflows.md and doubled on retry.

``python -m tests.experiments.slurm.workflow_lab --jobs 200 --nodes 32 --seed S`` measures it in a lab of its own.
"""

from __future__ import annotations

import argparse
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from holdfast.experiments import cli
from holdfast.experiments.slurm.lab import Lab, open_lab
from holdfast.experiments.slurm.live_replay import LabSlurm, patiently
from tests.experiments.slurm.test_workflows import DOCS, block, comparison_plan

__all__ = ["WAYS", "Responses", "measure_responses"]

WAYS = ("plan", "double")
#: A program that saves when it gets the signal; each attempt notes where it began and how far it computed.
PROGRAM = """
import os, pathlib, signal, sys, time
state = pathlib.Path(os.environ["HOLDFAST_STATE"])
signals = []
signal.signal(signal.SIGUSR1, lambda *_: signals.append(1))
done = float(state.read_text()) if state.exists() else 0.0
began_at = done
mine = state.with_name(f"attempt-{len(list(state.parent.glob('attempt-*')))}")

def note(reached):
    # An attempt may be killed at any moment.
    state.with_name("note").write_text(f"{began_at} {reached}")
    state.with_name("note").rename(mine)

note(done)
if done:
    time.sleep(30)
while done < float(sys.argv[1]):
    if signals:
        time.sleep(50)
        state.with_name("new").write_text(str(done))
        state.with_name("new").rename(state)
        sys.exit(85)
    began = time.time()
    time.sleep(10)
    done += time.time() - began
    note(done)
state.with_name("ended").write_text(f"{time.time()}")
"""
#: Limits of attempts that double [min].
DOUBLED = (40, 80, 160, 320)
#: What differs from the recipe where limits double: each attempt begins anew.
CHANGES = {
    "$(python attempts.py plan.json)": " ".join(map(str, DOUBLED)),
    "exec ": 'rm -f "$HOLDFAST_STATE"\nexec ',
    "--signal=B:USR1@130 ": "",
}


@dataclass(frozen=True)
class Responses:
    """What came out of one way.

    Attributes
    ----------
    times
        Time from submission to completion of each job [s].
    attempts
        Number of attempts.
    node_seconds
        Node-seconds that the attempts occupied.
    repeated
        Computed work that a later attempt did not go on from [s].
    """

    times: tuple[float, ...]
    attempts: int
    node_seconds: float
    repeated: float

    @property
    def mean(self) -> float:
        """Mean of the times [s]."""
        return float(np.mean(self.times))


def draw_jobs(seed: int, count: int, nodes: int, load: float) -> tuple[list[float], list[float]]:
    """Submits and runtimes [s]: lognormal with a mean of 40 minutes, below four hours, offered at this load."""
    random = np.random.default_rng(seed)
    sigma = math.sqrt(math.log(2))
    drawn = random.lognormal(math.log(2400) - sigma**2 / 2, sigma, 5 * count)
    runtimes = drawn[drawn <= 14_400][:count].round()
    submits = np.cumsum(random.exponential(runtimes.mean() / nodes / load, count))
    return submits.tolist(), runtimes.tolist()


def measure_responses(lab: Lab, seed: int, count: int, *, load: float = 0.5, scripts: bool) -> dict[str, Responses]:
    """Run jobs both ways at the same times in the current directory, each way on half of the nodes of a lab.

    Parameters
    ----------
    lab
        A lab with accounting.
    seed, count
        Of the jobs.
    load
        Work offered to each half without retries.
    scripts
        Whether each job has a script that waits for its attempts, as in the recipe; else this process submits them all:
        hundreds of waiting scripts are a load of their own.
    """
    half = lab.nodes // 2
    for way, first in zip(WAYS, (1, half + 1), strict=True):
        nodes = f"n[{first}-{first + half - 1}]"
        lab.call(
            ["scontrol", "create", f"PartitionName={way}", f"Nodes={nodes}", "State=UP", "OverSubscribe=EXCLUSIVE"]
        )
    submits, runtimes = draw_jobs(seed, count, half, load)
    slurm = LabSlurm(lab)
    begin = slurm.now() + 60
    due = [(begin + submit, way, number) for number, submit in enumerate(submits) for way in WAYS]
    under_way: list[ScriptedJob | PolledJob] = []
    try:
        while due or under_way:
            queue = set() if scripts else set(patiently(slurm, ["squeue", "-h", "-o", "%i"]).split())
            under_way = [job for job in under_way if not job.is_done(queue)]
            while due and due[0][0] <= slurm.now():
                _, way, number = due.pop(0)
                kind = ScriptedJob if scripts else PolledJob
                under_way.append(kind(lab, way, job_folder(way, number), runtimes[number]))
            time.sleep(0.5)
    finally:
        for job in under_way:
            job.stop()
    found = {way: _responses(slurm, way, [begin + submit for submit in submits]) for way in WAYS}
    for way in WAYS:
        lab.call(["scontrol", "delete", f"PartitionName={way}"])
    return found


def job_folder(way: str, number: int) -> Path:
    """A directory with the program of a job, and its plan."""
    folder = Path(way, str(number)).absolute()
    folder.mkdir(parents=True)
    shutil.copy(DOCS / "examples" / "slurm" / "attempts.py", folder)
    (folder / "program.py").write_text(PROGRAM)
    (folder / "plan.json").write_text(comparison_plan().to_json())
    script = block("attempts.sh")
    for words, others in CHANGES.items() if way == "double" else ():
        assert words in script
        script = script.replace(words, others)
    (folder / "attempts.sh").write_text(script)
    return folder


class ScriptedJob:
    """A job whose attempts are submitted by a script, one after another."""

    def __init__(self, lab: Lab, way: str, folder: Path, runtime: float) -> None:
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}:/usr/sbin"
        own = {"PATH": path, "HOLDFAST_STATE": str(folder / "state"), "SBATCH_PARTITION": way}
        # The interpreter reads no packages: its start is a minute on the lab's clock where the machine is busy.
        words = ["bash", "attempts.sh", "python", "-S", "-E", "program.py", f"{runtime:g}"]
        environment = {**os.environ, **lab.variables, **own}
        self._script = subprocess.Popen(words, cwd=folder, env=environment, stdout=subprocess.DEVNULL)

    def is_done(self, queue: Container[str]) -> bool:
        """Whether its script has ended."""
        return self._script.poll() is not None

    def stop(self) -> None:
        """End the script."""
        self._script.kill()
        self._script.wait()


class PolledJob:
    """A job whose attempts are submitted as soon as the last one has left the queue."""

    def __init__(self, lab: Lab, way: str, folder: Path, runtime: float) -> None:
        self._slurm, self._way, self._folder, self._runtime = LabSlurm(lab), way, folder, runtime
        self._limits = iter(limits_of_plan(folder) if way == "plan" else DOUBLED)
        self._submit()

    def _submit(self) -> None:
        # Only a plan saves; the doubled attempts begin anew.
        saves = ["--signal=B:USR1@130"] if self._way == "plan" else []
        words = [
            "sbatch",
            "--parsable",
            "--nodes=1",
            f"--time={next(self._limits)}",
            f"--partition={self._way}",
            *saves,
        ]
        words += [f"--export=ALL,HOLDFAST_STATE={self._folder / 'state'}", f"--chdir={self._folder}", "-o", "/dev/null"]
        words += ["--wrap", f"exec {sys.executable} -S -E program.py {self._runtime:g}"]
        self._job = patiently(self._slurm, words).strip()

    def is_done(self, queue: Container[str]) -> bool:
        """Whether its program has ended; if an attempt was not enough, the next one is submitted."""
        if self._job in queue:
            return False
        if not (self._folder / "ended").exists():
            self._submit()
            return False
        return True

    def stop(self) -> None:
        """Cancel the attempt."""
        patiently(self._slurm, ["scancel", self._job])


def limits_of_plan(folder: Path) -> list[int]:
    """Limits of the plan [min]."""
    words = [sys.executable, "attempts.py", "plan.json"]
    printed = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True).stdout
    return [int(word) for word in printed.split()]


def _responses(slurm: LabSlurm, way: str, submits: Sequence[float]) -> Responses:
    times, repeated, attempts = [], 0.0, 0
    for number, submit in enumerate(submits):
        folder = Path(way, str(number))
        times.append(float((folder / "ended").read_text()) - submit)
        spans = []
        while (path := folder / f"attempt-{len(spans)}").exists():
            begin, reached = map(float, path.read_text().split())
            spans.append((begin, reached))
        attempts += len(spans)
        repeated += sum(reached - begin for (_, reached), (begin, _) in pairwise(spans))
    lines = patiently(
        slurm, ["sacct", "-a", "-X", "-n", "-P", "-S", "2020-01-01", "-E", "now+2days", "-r", way, "-o", "ElapsedRaw"]
    )
    used = sum(float(line) for line in lines.split())
    return Responses(tuple(times), attempts, used, repeated)


def main() -> None:
    """Measure in a lab of its own, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--nodes", type=int, default=32)
    parser.add_argument("--load", type=float, default=0.6)
    parser.add_argument("--speed", default="60")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--port", default="25000")
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="workflows"))
    os.chdir(folder)
    words = ["--nodes", str(given.nodes), "--speed", given.speed, "--accounting", "--port", given.port]
    assert cli.main(["slurm", "lab", "start", "-o", "lab", *words]) == 0
    try:
        found = measure_responses(open_lab(folder / "lab"), given.seed, given.jobs, load=given.load, scripts=False)
    finally:
        cli.main(["slurm", "lab", "stop", "-o", "lab"])
    for way, one in found.items():
        shares = f"{one.attempts} attempts, {one.node_seconds / 3600:.1f} node-hours"
        print(f"{way:6} response {one.mean / 60:.1f} min, {shares}, {one.repeated / 3600:.2f} h computed again")
    low, high = np.percentile(paired_gains(found, given.seed), (2.5, 97.5))
    gain = 1 - found["plan"].mean / found["double"].mean
    print(f"by the plan {100 * gain:.1f} [{100 * low:.1f}, {100 * high:.1f}] % sooner")


def paired_gains(found: Mapping[str, Responses], seed: int) -> list[float]:
    """Share by which the plan is sooner than doubling, in two thousand resamples of the jobs."""
    plan, double = (np.array(found[way].times) for way in WAYS)
    chosen = np.random.default_rng(seed).integers(0, len(plan), (2000, len(plan)))
    return [float(1 - plan[jobs].mean() / double[jobs].mean()) for jobs in chosen]


if __name__ == "__main__":
    main()
