"""What a forecast costs as a whole process: 200 running and 500 waiting jobs, 200 draws.

Run ``python -m tests.benchmarks.forecast [--draws 200] [--workers 2]``. Figures are processor time of all processes; on
a quiet machine a forecast that one process makes takes as long by the clock. A first one, which is not counted, leaves
compiled code in its cache.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tests.benchmarks.figures import print_figure
from tests.places import ROOT

_NODES, _AT = 4392, 40 * 86_400
_PAST, _RUNNING, _WAITING = 5000, 200, 500


def rows() -> list[list[float]]:
    """Jobs of a log: submit, wait, runtime, nodes, walltime [s], user, ordered by submit."""
    rng = np.random.default_rng(1)
    found: list[list[float]] = []
    for _ in range(_PAST):
        walltime = 3600.0 * int(rng.integers(1, 24))
        runtime = max(60.0, walltime * rng.beta(1, 2))
        found.append([rng.integers(0, _AT - 90_000), 0, runtime, 2 ** rng.integers(0, 6), walltime, rng.integers(30)])
    for _ in range(_RUNNING):
        ran = int(rng.integers(100, 20_000))
        runtime = ran + int(rng.integers(1000, 40_000))
        found.append([_AT - ran - 60, 60, runtime, rng.integers(8, 35), 86_400, rng.integers(30)])
    for number in range(_WAITING):
        waited, walltime = int(rng.integers(1, 30_000)), 3600.0 * int(rng.integers(1, 24))
        starts = waited + 10_000 + number
        found.append([_AT - waited, starts, walltime / 2, 2 ** rng.integers(5, 12), walltime, rng.integers(30)])
    found.append([_AT + 100, 0, 60, 1, 60, 1])
    return sorted(found)


def write_log(path: Path) -> None:
    """Write them as SWF."""
    lines = [f"; MaxNodes: {_NODES}", f"; MaxProcs: {_NODES}"]
    for number, (submit, wait, runtime, nodes, walltime, user) in enumerate(rows(), start=1):
        times = f"{submit:.0f} {wait:.0f} {runtime:.0f} {nodes:.0f} -1 -1 {nodes:.0f} {walltime:.0f}"
        lines.append(f"{number} {times} -1 1 {user:.0f} -1 -1 -1 -1 -1 -1")
    path.write_text("\n".join(lines) + "\n")


def seconds(log: Path, *options: str) -> float:
    """Processor time of ``holdfast forecast`` on the log, with its workers [s]."""
    code = "import sys; from holdfast.experiments.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", code, "forecast", str(log), "--at", str(_AT - int(rows()[0][0])), *options]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=ROOT)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a figure for all waiting jobs, and for one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", default="200")
    parser.add_argument("--workers", default="2")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as place:
        log = Path(place) / "state.swf"
        write_log(log)
        words = ("--draws", options.draws, "--workers", options.workers)
        first = seconds(log, *words)
        print(f"the first forecast, before which compiled code may be missing: {first:.1f} s", flush=True)
        for name, more in (("all waiting jobs", ()), ("one waiting job", ("--job", str(_PAST + _RUNNING + _WAITING)))):
            print_figure(f"a forecast of {name}, the whole process", seconds(log, *words, *more), "s", "<= 5")


if __name__ == "__main__":
    main()
