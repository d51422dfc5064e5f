"""``holdfast generate``: write a Theta-like trace."""

from __future__ import annotations

import argparse
from dataclasses import replace

from experiments.commands.asking.arguments import duration, whole

__all__ = ["add_arguments", "main"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="SWF file to write, e.g. year.swf.gz")
    parser.add_argument("--jobs", metavar="N", help="number of jobs (default 37298, a year)")
    parser.add_argument("--seed", metavar="SEED", default="0", help="seed of every random choice (default 0)")
    parser.add_argument(
        "--preset",
        metavar="NAME",
        default="default",
        help="parameters of the year: default, runtime-backfilling, even-projects, or several joined by + "
        "(default default)",
    )
    parser.add_argument(
        "--maintenance",
        metavar="TIME",
        help="length of a break without submits on every second Monday [s] (default: none)",
    )


def main(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from workloads.logs.swf import write_swf
    from workloads.theta.generator import generate_long
    from workloads.theta.presets import preset_year
    from workloads.theta.year import LARGEST

    year = preset_year(arguments.preset)
    if arguments.jobs is not None:
        year = replace(year, jobs=whole(arguments.jobs, "--jobs", 1, LARGEST))
    if arguments.maintenance is not None:
        year = replace(year, maintenance=duration(arguments.maintenance, "--maintenance") / 3600)
    trace = generate_long(year, seed=whole(arguments.seed, "--seed"))
    write_swf(trace, arguments.output)
    print(f"{len(trace.jobs):,} jobs written to {arguments.output}")
