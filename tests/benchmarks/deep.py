"""How long a simulation takes while thousands of jobs wait: each queue order under EASY, and conservative backfilling.

Run ``python -m tests.benchmarks.deep [--jobs 5000 20000] [--cases ORDER/RULE ...] [--load 1.3] [--small]``. The
jobs are those of a generated year, with the times between their submits scaled so that their work is ``load`` times
what the machine can do. ``--small`` divides their sizes, so that hundreds of jobs run at a time. Each figure is the
processor time of the simulation alone (``time.process_time``), with SimPy and in a process of its own.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from time import process_time
from typing import NamedTuple

from holdfast.simulator import simulate
from holdfast.workloads.hybrid.assignment import as_rigid
from holdfast.workloads.logs.trace import Trace
from holdfast.workloads.theta.generator import generate
from holdfast.workloads.theta.year import ThetaYear
from tests.benchmarks.figures import print_figure

#: (queue order, backfilling rule).
CASES = (
    *((order, "easy") for order in ("fcfs", "sjf", "wfp3", "unicep", "f1", "alcf", "fairshare")),
    ("fairshare patience=864000", "easy"),
    ("fcfs", "easy depth=8"),
    ("fcfs", "conservative"),
    ("sjf", "conservative"),
    ("wfp3", "conservative"),
)


def overload_trace(jobs: int, load: float, *, small: bool = False, seed: int = 0) -> Trace:
    """So many jobs of a generated year, which bring ``load`` times what the machine can do until the last submit.

    Parameters
    ----------
    jobs
        How many.
    load
        Node-seconds of all runtimes over those of the machine from the first to the last submit.
    small
        Whether sizes are divided, by 1 to 128, each job by another number.
    seed
        Of the year.
    """
    trace = generate(replace(ThetaYear(), jobs=jobs), seed=seed)
    rows = trace.jobs
    if small:
        rows = [replace(job, nodes=max(1, job.nodes // (1 << number * 7 % 8))) for number, job in enumerate(rows)]
    first = rows[0].submit
    work = sum(job.nodes * job.runtime for job in rows)
    factor = work / (load * (trace.nodes or 1) * (rows[-1].submit - first))
    return replace(trace, jobs=[replace(job, submit=float(round((job.submit - first) * factor))) for job in rows])


class Measured(NamedTuple):
    """One simulation: seconds of processor time, the longest queue, and a digest of all starts."""

    seconds: float
    longest: int
    digest: str


def measure(jobs: int, load: float, order: str, rule: str, *, small: bool = False) -> Measured:
    """Simulate so many jobs of an overloaded machine."""
    trace = overload_trace(jobs, load, small=small)
    table = as_rigid(trace)
    began = process_time()
    result = simulate(table, trace.nodes or 1, order=order, backfilling=rule, events=False, engine="simpy")
    took = process_time() - began
    longest = max(sample[3] for sample in result.samples)
    starts = repr([record.start for record in result.records])
    return Measured(took, longest, hashlib.sha256(starts.encode()).hexdigest()[:12])


def measure_in_process(
    case: str, jobs: int, load: float, *, small: bool = False, limit: float = 600.0
) -> Measured | None:
    """The same in a process of its own, with a printed line; None: it was given up after so many seconds."""
    command = [sys.executable, "-m", "tests.benchmarks.deep", "--here", "--jobs", str(jobs), "--cases", case]
    command += ["--load", str(load), *(["--small"] if small else [])]
    found = None
    try:
        fields = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=limit).stdout.split()
        found = Measured(float(fields[0]), int(fields[1]), fields[2])
        line = f"{found.seconds:8.2f} s  longest queue {found.longest:6,}  starts {found.digest}"
    except subprocess.TimeoutExpired:
        line = f"not done after {limit:g} s"
    print(f"{case:<32}{jobs:>8,} jobs  {line}", flush=True)
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line for each case and size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, nargs="+", default=[5000, 20000])
    parser.add_argument(
        "--cases", nargs="+", default=[f"{order}/{rule}" for order, rule in CASES], metavar="ORDER/RULE"
    )
    parser.add_argument("--load", type=float, default=1.3)
    parser.add_argument("--small", action="store_true", help="small jobs")
    parser.add_argument("--limit", type=float, default=600, help="give up a case after so many seconds")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    first: dict[int, float] = {}
    for case in options.cases:
        order, _, rule = case.partition("/")
        for jobs in options.jobs:
            if options.here:
                print(*measure(jobs, options.load, order, rule, small=options.small))
                continue
            found = measure_in_process(case, jobs, options.load, small=options.small, limit=options.limit)
            if found is None:
                continue
            first.setdefault(jobs, found.seconds)
            if jobs == max(options.jobs) and case != options.cases[0]:
                print_figure(
                    f"{jobs:,} jobs at load {options.load:g}, {case} over {options.cases[0]}",
                    found.seconds / first[jobs],
                    "x",
                )


if __name__ == "__main__":
    main()
