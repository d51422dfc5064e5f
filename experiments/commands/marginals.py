"""``holdfast marginals``: the generator against a real trace."""

from __future__ import annotations

import argparse
from pathlib import Path

from experiments.commands.asking.arguments import add_reading, duration, read_options, whole

__all__ = ["add_arguments", "main"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("trace", metavar="TRACE", help="real trace of Theta")
    parser.add_argument("-o", "--output", metavar="DIR", required=True, help="directory of the table and the figure")
    parser.add_argument("--seed", metavar="SEED", default="0", help="seed of the generated year (default 0)")
    parser.add_argument(
        "--projects", metavar="FILE", help="second real trace, to compare projects with (default: none)"
    )
    parser.add_argument(
        "--clock",
        metavar="TIME",
        default="12h",
        help="local time minus the trace's clock [s] (default 12h, right for 2022)",
    )
    add_reading(parser)


def main(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from experiments.figures.study.marginals import plot_marginals
    from experiments.figures.style import save
    from experiments.recordings.replay import make_directory
    from experiments.tables import write_csv
    from experiments.traces.marginals import compare, format_comparison
    from workloads.logs.readers import read_trace
    from workloads.theta.generator import generate

    seed, shift = whole(arguments.seed, "--seed"), duration(arguments.clock, "--clock")
    real = read_trace(arguments.trace, **read_options(arguments))
    projects = read_trace(arguments.projects) if arguments.projects else None
    directory = make_directory(arguments.output)
    generated = generate(seed=seed)
    rows = compare(generated, real, projects, shift)
    print(format_comparison(rows))
    names = ("quantity", "unit", "generated", "real", "origin", "reason")
    table = [{name: getattr(row, name) for name in names} for row in rows]
    write_csv(directory / "marginals.csv", table, names)
    label = Path(arguments.trace).name.split(".")[0]
    pictures = save(
        plot_marginals({f"generated, seed {seed}": generated, label: real}, {label: shift}), directory / "marginals"
    )
    print("written to", ", ".join(str(path) for path in (directory / "marginals.csv", *pictures)))
