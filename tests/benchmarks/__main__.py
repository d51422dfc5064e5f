"""All benchmarks, and their figures in one table.

Run ``python -m tests.benchmarks [--large] [--only NAME ...] [--record]``; ``make bench`` is this with ``--record``: the
figures are added to ``docs/reference/speed.csv``. It takes about a quarter of an hour on two cores; ``--large`` adds
the sizes that take minutes each.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from holdfast.workloads.ground.files import atomic_open
from tests.benchmarks.figures import Figure
from tests.places import ROOT

_HISTORY = ROOT / "docs" / "reference" / "speed.csv"


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
        verdict = f"{figure.aim}: {'met' if figure.met else 'missed'}" if figure.aim else ""
        value = f"{figure.value:,.0f}" if abs(figure.value) >= 1000 else f"{figure.value:.4g}"
        print(f"{figure.name:<{width}}  {value:>10}  {figure.unit:<8}  {verdict}".rstrip())


def record(figures: Sequence[Figure], history: Path) -> None:
    """Add the figures to a CSV file."""
    date, of = datetime.now(UTC).date().isoformat(), version("holdfast")
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
    parser.add_argument("--record", action="store_true", help="add the figures to those of former runs")
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
            record(figures, _HISTORY)


if __name__ == "__main__":
    main()
