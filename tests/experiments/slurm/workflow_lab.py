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
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from holdfast.experiments import cli
from holdfast.experiments.slurm.lab import Lab, open_lab
from holdfast.experiments.slurm.live_replay import LabSlurm, patiently
from tests.experiments.slurm.test_workflows import DOCS, block, comparison_plan
from tests.support.processes import until

__all__ = ["WAYS", "Responses", "measure_responses"]

WAYS = ("plan", "double")
#: Each attempt has twice the limit of the one before, and begins anew.
DOUBLE = """
for minutes in 40 80 160 320; do
    sbatch --wait --nodes=1 --time="$minutes" --output=log <<END && exit 0
#!/bin/bash
rm -f "$HOLDFAST_STATE"
exec $(printf '%q ' "$@")
END
done
exit 1
"""
#: A program that saves when it gets the signal; each attempt notes where it began and how far it computed.
PROGRAM = """
import os, pathlib, signal, sys, time
state = pathlib.Path(os.environ["HOLDFAST_STATE"])
signals = []
signal.signal(signal.SIGUSR1, lambda *_: signals.append(1))
done = float(state.read_text()) if state.exists() else 0.0
began_at = done
mine = state.with_name(f"attempt-{len(list(state.parent.glob('attempt-*')))}")
mine.write_text(f"{began_at} {done}")
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
    mine.write_text(f"{began_at} {done}")
"""


@dataclass(frozen=True)
class Responses:
    """What came out of one way.

    Attributes
    ----------
    mean
        Mean time from submission to completion [s].
    attempts
        Number of attempts.
    node_seconds
        Node-seconds that the attempts occupied.
    repeated
        Computed work that a later attempt did not go on from [s].
    """

    mean: float
    attempts: int
    node_seconds: float
    repeated: float


def draw_jobs(seed: int, count: int, nodes: int, load: float) -> tuple[list[float], list[float]]:
    """Submits and runtimes [s]: lognormal with a mean of 40 minutes, below four hours, offered at this load."""
    random = np.random.default_rng(seed)
    sigma = math.sqrt(math.log(2))
    drawn = random.lognormal(math.log(2400) - sigma**2 / 2, sigma, 5 * count)
    runtimes = drawn[drawn <= 14_400][:count].round()
    submits = np.cumsum(random.exponential(runtimes.mean() / nodes / load, count))
    return submits.tolist(), runtimes.tolist()


def measure_responses(lab: Lab, seed: int, count: int, *, load: float = 0.5, patience: float) -> dict[str, Responses]:
    """Run jobs both ways at the same times in the current directory, each way on half of the nodes of a lab.

    Parameters
    ----------
    lab
        A lab with accounting.
    seed, count
        Of the jobs.
    load
        Work offered to each half without retries.
    patience
        Time after the last submission in which all must have ended [s, real].
    """
    half = lab.nodes // 2
    for way, first in zip(WAYS, (1, half + 1), strict=True):
        nodes = f"n[{first}-{first + half - 1}]"
        lab.call(
            ["scontrol", "create", f"PartitionName={way}", f"Nodes={nodes}", "State=UP", "OverSubscribe=EXCLUSIVE"]
        )
    submits, runtimes = draw_jobs(seed, count, half, load)
    slurm = LabSlurm(lab)
    began, begin = time.time(), slurm.now() + 60
    scripts = []
    try:
        for number, (submit, runtime) in enumerate(zip(submits, runtimes, strict=True)):
            time.sleep(max(0.0, begin + submit - slurm.now()) / lab.speed)
            scripts += [attempts_of(lab, way, number, runtime) for way in WAYS]
        until(lambda: time.sleep(1) or all(script.poll() is not None for script in scripts), patience)
    finally:
        for script in scripts:
            script.kill()
            script.wait()
    print(f"{count} jobs each way in {time.time() - began:.0f} s")
    found = {way: _responses(slurm, way, [begin + submit for submit in submits]) for way in WAYS}
    for way in WAYS:
        lab.call(["scontrol", "delete", f"PartitionName={way}"])
    return found


def attempts_of(lab: Lab, way: str, number: int, runtime: float) -> subprocess.Popen[bytes]:
    """Run a program by a script that submits its attempts, in a directory of its own; at the end it writes the time."""
    folder = Path(way, str(number)).absolute()
    folder.mkdir(parents=True)
    shutil.copy(DOCS / "examples" / "slurm" / "attempts.py", folder)
    (folder / "program.py").write_text(PROGRAM)
    (folder / "plan.json").write_text(comparison_plan().to_json())
    (folder / "attempts.sh").write_text(block("attempts.sh") if way == "plan" else DOUBLE)
    # The interpreter reads no packages: its start is a minute on the lab's clock where the machine is busy.
    words = f"bash attempts.sh python -S -E program.py {runtime:g}; echo $? $(date +%s) >ended.new; mv ended.new ended"
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}:/usr/sbin"
    own = {"PATH": path, "HOLDFAST_STATE": str(folder / "state"), "SBATCH_PARTITION": way}
    environment = {**os.environ, **lab.variables, **own}
    return subprocess.Popen(["bash", "-c", words], cwd=folder, env=environment, stdout=subprocess.DEVNULL)


def _responses(slurm: LabSlurm, way: str, submits: Sequence[float]) -> Responses:
    total, repeated, attempts = 0.0, 0.0, 0
    for number, submit in enumerate(submits):
        folder = Path(way, str(number))
        status, at = (folder / "ended").read_text().split()
        assert status == "0", f"job {number} of {way} is not done"
        total += float(at) - submit
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
    return Responses(total / len(submits), attempts, used, repeated)


def main() -> None:
    """Measure in a lab of its own, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--nodes", type=int, default=32)
    parser.add_argument("--load", type=float, default=0.5)
    parser.add_argument("--speed", default="40")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--port", default="25000")
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="workflows"))
    os.chdir(folder)
    words = ["--nodes", str(given.nodes), "--speed", given.speed, "--accounting", "--port", given.port]
    assert cli.main(["slurm", "lab", "start", "-o", "lab", *words]) == 0
    try:
        found = measure_responses(open_lab(folder / "lab"), given.seed, given.jobs, load=given.load, patience=3600)
    finally:
        cli.main(["slurm", "lab", "stop", "-o", "lab"])
    for way, one in found.items():
        shares = f"{one.attempts} attempts, {one.node_seconds / 3600:.1f} node-hours"
        print(f"{way:6} response {one.mean / 60:.1f} min, {shares}, {one.repeated / 3600:.2f} h computed again")
    print(f"plan / double: {found['plan'].mean / found['double'].mean:.3f}")


if __name__ == "__main__":
    main()
