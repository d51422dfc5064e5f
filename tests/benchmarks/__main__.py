"""All benchmarks, and their figures in one table.

Run ``python -m tests.benchmarks [--large] [--only NAME ...] [--record]``; ``make bench`` is this with ``--record``: the
figures are added to ``docs/reference/speed.csv``, and the most telling ones are a line of the last table of
``docs/reference/speed.md``. It takes about a quarter of an hour on two cores; ``--large`` adds the sizes that take
minutes each.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from holdfast.workloads.ground.files import atomic_open
from tests.benchmarks.figures import Figure
from tests.places import ROOT

_PAGE, _HISTORY = ROOT / "docs" / "reference" / "speed.md", ROOT / "docs" / "reference" / "speed.csv"


class Benchmark(NamedTuple):
    """A module of this package, what it is called with, and what ``--large`` adds."""

    name: str
    usual: tuple[str, ...] = ()
    large: tuple[str, ...] = ()


BENCHMARKS = (
    Benchmark("replay", ("--traces", "--repeat", "2")),
    Benchmark("process"),
    Benchmark("process", ("--jobs", "1000000", "--repeat", "1")),
    Benchmark("deep", ("--jobs", "20000")),
    Benchmark("growth", (), ("--large",)),
    Benchmark("scale", ("--jobs", "10000", "100000", "1000000"), ("10000000",)),
    Benchmark("sweeps", ("--workers", "1", "--runs", "300"), ("10000",)),
    Benchmark("sweeps", ("--plain", "--workers", "1", "--runs", "2000"), ("10000",)),
    Benchmark("steps"),
    Benchmark("shared_nodes", (), ("--jobs", "12000")),
    Benchmark("planner", ("--quick",)),
    Benchmark("forecast"),
)

#: Columns of the page: heading, name of the figure, format.
_COLUMNS = (
    ("engine [s]", "engine of a generated year", ".2f"),
    ("to the reference", "engine over the plain loop, a generated year", ".2f"),
    ("slowest mechanism", "", ".2f"),
    ("wfp3 / fcfs", "20,000 jobs at load 1.3, wfp3/easy over fcfs/easy", ".1f"),
    ("conservative / easy", "20,000 jobs at load 1.3, fcfs/conservative over fcfs/easy", ".1f"),
    ("10,000 waiting / 1,000", "a job of 10,000 that wait over one of 1,000, fcfs/easy", ".1f"),
    ("1,000,000 jobs [s]", "1,000,000 jobs streamed, the whole process", ".0f"),
    ("[MiB]", "1,000,000 jobs streamed, peak memory", ",.0f"),
    ("step / simulated job", "choosing the next of 128 jobs, a step over a simulated job", ".1f"),
    ("steps a second", "choosing the next of 128 jobs", ",.0f"),
)
_AGAINST_BASELINE = " over the baseline, a generated year"


def run(benchmark: Benchmark, *, large: bool) -> list[Figure]:
    """Run a benchmark in a process of its own; what it prints is printed, but for the lines of its figures."""
    arguments = [*benchmark.usual, *(benchmark.large if large else ())]
    print(f"\n== {' '.join((benchmark.name, *arguments))}", flush=True)
    command = [sys.executable, "-u", "-m", f"tests.benchmarks.{benchmark.name}", *arguments]
    began, figures = perf_counter(), []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        for line in process.stdout or ():
            figure = Figure.of(line)
            if figure is None:
                print(line, end="", flush=True)
            else:
                figures.append(figure)
    if process.returncode:
        raise SystemExit(f"the benchmark {benchmark.name} has failed")
    print(f"   ({perf_counter() - began:.0f} s)")
    return figures


def show(figures: Sequence[Figure]) -> None:
    """Print all figures, and which are what they should be."""
    width = max(len(figure.name) for figure in figures)
    print(f"\n{'figure':<{width}}  {'value':>10}  {'unit':<8}  aim")
    for figure in figures:
        told = f"{figure.aim}: {'met' if figure.met else 'missed'}" if figure.aim else ""
        value = f"{figure.value:,.0f}" if abs(figure.value) >= 1000 else f"{figure.value:.4g}"
        print(f"{figure.name:<{width}}  {value:>10}  {figure.unit:<8}  {told}".rstrip())


def cells(figures: Sequence[Figure]) -> list[str]:
    """The cells of a line of the page; ``-`` where a figure was not measured."""
    by_name: Mapping[str, float] = {figure.name: figure.value for figure in figures}
    mechanisms = {
        name.removesuffix(_AGAINST_BASELINE): value for name, value in by_name.items() if _AGAINST_BASELINE in name
    }
    found = []
    for _, name, form in _COLUMNS:
        if not name:
            slowest = max(mechanisms, key=lambda item: mechanisms[item], default="")
            found.append(f"{mechanisms[slowest]:{form}} ({slowest})" if slowest else "-")
        else:
            found.append(f"{by_name[name]:{form}}" if name in by_name else "-")
    return found


def record(figures: Sequence[Figure], page: Path, history: Path) -> None:
    """Add the figures to the table at the end of a page, and each of them to a CSV file."""
    date, of = datetime.now(UTC).date().isoformat(), version("holdfast")
    text = page.read_text(encoding="utf-8").rstrip("\n")
    with atomic_open(page) as file:
        file.write(f"{text}\n| {' | '.join((date, of, *cells(figures)))} |\n")
    before = history.read_text(encoding="utf-8") if history.exists() else "date,version,figure,value,unit\n"
    with atomic_open(history) as file:
        file.write(before)
        rows = csv.writer(file, lineterminator="\n")
        rows.writerows((date, of, figure.name, f"{figure.value:.6g}", figure.unit) for figure in figures)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run them."""
    parser = argparse.ArgumentParser(description=__doc__)
    names = list(dict.fromkeys(benchmark.name for benchmark in BENCHMARKS))
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="NAME", help=", ".join(names))
    parser.add_argument("--large", action="store_true", help="the largest sizes, too")
    parser.add_argument("--record", action="store_true", help="add the figures to the pages of former runs")
    options = parser.parse_args(arguments)
    figures = [
        figure
        for benchmark in BENCHMARKS
        if benchmark.name in options.only
        for figure in run(benchmark, large=options.large)
    ]
    if figures:
        show(figures)
        if options.record:
            record(figures, _PAGE, _HISTORY)


if __name__ == "__main__":
    main()
