"""How time and memory per job go as traces grow: streamed replays of generated years, each in a process of its own.

Run ``python -m tests.benchmarks.scale [--jobs 10000 100000 1000000 10000000] [--record docs/reference/speed.md]``. Each
line has processor time and peak memory of a whole process: making the trace, simulating it under the baseline, writing
jobs as they end and all results. The ratios are those of the simulation, and of the whole process, to the plain EASY
loop of the tests, on the same jobs and in the same process (for up to ``--plain`` jobs): processors differ.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from time import process_time
from typing import Any

from holdfast.experiments.recordings.streamed_replay import stream_log
from holdfast.simulator.simulation import simulate_table
from holdfast.workloads.ground.files import atomic_open
from holdfast.workloads.hybrid.assignment import as_rigid
from holdfast.workloads.theta.generator import generate
from holdfast.workloads.theta.year import ThetaYear
from tests.benchmarks.figures import print_figure
from tests.reference.easy import replay_easy

#: Where the table stands in the page.
_BEGIN, _END = "<!-- growth: begin -->\n", "<!-- growth: end -->\n"
_JOBS = (10_000, 100_000, 1_000_000, 10_000_000)
#: Processor time [s] and memory [MiB] that so many jobs should not exceed.
_AIMS = {1_000_000: ("<= 20", "<= 700"), 10_000_000: ("", "<= 8,192")}
#: The first of these was set on a processor on which the plain loop takes 8 s for a million jobs.
_RATIO = {1_000_000: "<= 2.5"}


def measure(jobs: int, plain: int, engine: str) -> dict[str, Any]:
    """What a streamed replay of so many jobs takes; [s] of processor time, and MiB."""
    began = process_time()
    trace = generate(ThetaYear(jobs=jobs), seed=0)
    made = process_time() - began
    loaded = _peak()
    with tempfile.TemporaryDirectory() as place:
        stream_log(trace, place, engine=engine)
    whole = process_time() - began
    costs = {"jobs": jobs, "made": made, "whole": whole, "loaded": loaded, "peak": _peak()}
    if jobs <= plain:
        table = as_rigid(trace)
        columns = [
            column.tolist()
            for column in (
                table.ticks("submit"),
                table.column("nodes"),
                table.ticks("walltime"),
                table.ticks("runtime"),
            )
        ]
        began = process_time()
        simulate_table(table, trace.nodes or 0, events=False, engine=engine)
        costs["engine"] = process_time() - began
        began = process_time()
        replay_easy(columns[0], columns[1], columns[2], columns[3], trace.nodes or 0)
        costs["plain"] = process_time() - began
    return costs


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def row_of(costs: dict[str, Any]) -> list[str]:
    """The cells of a line of the table."""
    jobs = costs["jobs"]
    ratio, whole = (f"{costs[name] / costs['plain']:.2f}" if "plain" in costs else "-" for name in ("engine", "whole"))
    return [
        f"{jobs:,}",
        f"{costs['whole']:.1f}",
        f"{costs['whole'] / jobs * 1e6:.0f}",
        f"{costs['made'] / jobs * 1e6:.0f}",
        f"{costs['engine'] / jobs * 1e6:.0f}" if "engine" in costs else "-",
        ratio,
        whole,
        f"{costs['peak']:,.0f}",
    ]


_HEAD = (
    "jobs",
    "whole process [s]",
    "a job [us]",
    "making it [us]",
    "simulating it [us]",
    "simulating to the plain loop",
    "whole process to the plain loop",
    "peak memory [MiB]",
)


def record(path: Path, rows: Sequence[Sequence[str]]) -> None:
    """Put the table into its place in a page."""
    text = path.read_text(encoding="utf-8")
    before, _, rest = text.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    lines = [_HEAD, tuple("---" for _ in _HEAD), *rows]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    heading = f"Measured on {datetime.now(UTC).date().isoformat()} by `python -m tests.benchmarks.scale`:"
    with atomic_open(path) as file:
        file.write(f"{before}{_BEGIN}{heading}\n\n{table}\n{_END}{after}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line for each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, nargs="+", default=list(_JOBS))
    parser.add_argument("--plain", type=int, default=1_000_000, help="most jobs for the plain loop")
    parser.add_argument("--engine", choices=("auto", "simpy", "compiled"), default="auto")
    parser.add_argument("--record", type=Path, metavar="PAGE", help="page with the table (default: none)")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.here:
        print(json.dumps(measure(options.jobs[0], options.plain, options.engine)))
        return
    rows, found = [], dict[int, dict[str, Any]]()
    for jobs in options.jobs:
        words = ["-m", "tests.benchmarks.scale", "--here", "--jobs", str(jobs), "--plain", str(options.plain)]
        words += ["--engine", options.engine]
        output = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=True).stdout
        found[jobs] = json.loads(output.splitlines()[-1])
        row = row_of(found[jobs])
        print("  ".join(f"{name} {cell}" for name, cell in zip(_HEAD, row, strict=True)), flush=True)
        rows.append(row)
    print_growth(found)
    if options.record:
        record(options.record, rows)


def print_growth(found: dict[int, dict[str, Any]]) -> None:
    """Print the figures of these sizes."""
    for jobs, costs in found.items():
        if jobs // 10 in found:
            before = found[jobs // 10]
            print_figure(
                f"a streamed job of {jobs:,} over one of {jobs // 10:,}", costs["whole"] / before["whole"] / 10, "x"
            )
        if jobs in _AIMS:
            seconds, memory = _AIMS[jobs]
            print_figure(f"{jobs:,} jobs streamed, the whole process", costs["whole"], "s", seconds)
            print_figure(f"{jobs:,} jobs streamed, peak memory", costs["peak"], "MiB", memory)
        if "plain" in costs:
            name = f"{jobs:,} jobs streamed, the whole process over the plain loop"
            print_figure(name, costs["whole"] / costs["plain"], "x", _RATIO.get(jobs, ""))


if __name__ == "__main__":
    main()
