"""``holdfast plot``: figures and verdicts again, from the tables of a directory."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.commands.asking.summing import add_summing, metrics_of, print_summed

__all__ = ["add_arguments", "main"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "directory", metavar="DIR", help="results of 'experiment', 'reproduce', 'run', 'sweep' or 'loop'"
    )
    parser.add_argument("id", metavar="ID", nargs="*", help="ids of experiments (default: all whose tables are in DIR)")
    summing = parser.add_argument_group("runs of a sweep, or of a run with several values")
    add_summing(summing)
    summing.add_argument(
        "--where",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="draw the runs with this value, or one of several, as order=fcfs,sjf; may be repeated (default: all)",
    )


def main(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from experiments.output.locks import writing
    from experiments.output.seals import SWEEP
    from experiments.recordings.replay import make_directory
    from experiments.study.redraw import PICTURES, as_written, draw_pictures, found_experiments, present_again
    from experiments.tables import read_csv
    from workloads.ground.errors import TraceError

    directory = Path(arguments.directory)
    swept = (directory / SWEEP).is_file() and not (directory / "aggregates.csv").is_file()  # by an older version
    if arguments.against or arguments.metrics or arguments.where or swept:
        _draw_chosen(arguments, directory)
        return
    found_experiments(directory, arguments.id)  # refused before anything is written there
    make_directory(directory)
    with writing(directory):
        chosen = found_experiments(directory, arguments.id)
        for item, verdicts in present_again(chosen, directory, say=lambda text: print(text, file=sys.stderr)):
            counts = Counter(verdict.counted_as for verdict in verdicts)
            picture = "no picture" if item.draw is None else f"{item.id}.png, {item.id}.pdf"
            print(f"{item.id}: {picture}; {', '.join(f'{number} {outcome}' for outcome, number in counts.items())}")
        drawn = [] if arguments.id else draw_pictures(directory, _unit(directory))
    for name in drawn:
        print(f"{name}: {name}.png, {name}.pdf")
    if not chosen and not drawn:
        tables = ", ".join(table for table, _ in PICTURES.values())
        raise TraceError(directory, None, f"has no tables to draw, neither of an experiment nor {tables}")
    if "mechanisms" in drawn and "machine" not in drawn:
        print("no machine: it is drawn from machine.csv, which 'holdfast run --plot' writes")
    if "aggregates" in drawn:
        with as_written(directory / "aggregates.csv"):
            _say_undrawn(read_csv(directory / "aggregates.csv"))


def _unit(directory: Path) -> str:
    """What sizes count in the results of a directory."""
    from experiments.output.seals import open_sealed
    from experiments.recordings.runfile import RUN, holds_run, unit_of

    return unit_of(open_sealed(directory, RUN, check=False).told) if holds_run(directory) else "nodes"


def _draw_chosen(arguments: argparse.Namespace, directory: Path) -> None:
    """Sum up some runs of a directory in another way than its own tables, print and draw it."""
    from experiments.figures.study.aggregates import plot_aggregates, plot_differences
    from experiments.figures.style import relabel, save
    from experiments.output.locks import writing
    from experiments.study.redraw import as_written, summary_of
    from experiments.sweeps.aggregates import aggregate_rows, chosen_values, difference_rows, reference_of
    from workloads.ground.errors import InputError

    if arguments.id:
        raise InputError("--against, --metrics and --where are for runs, not for experiments: leave the ids out")
    metrics = metrics_of(arguments)
    with as_written(directory / "summary.csv"):
        rows = chosen_values(summary_of(directory), arguments.where)
        aggregates = aggregate_rows(rows)
        differences = difference_rows(rows, reference_of(rows, arguments.against)) if arguments.against else []
        figures = {"aggregates": plot_aggregates(aggregates, metrics)}
        if arguments.against:
            figures["differences"] = plot_differences(differences, metrics)
    unit = _unit(directory)
    print_summed(aggregates, differences, metrics, unit)
    with writing(directory):
        for name, figure in figures.items():
            save(relabel(figure, unit), directory / name, follow=False)
            print(f"{name}: {name}.png, {name}.pdf")
    _say_undrawn(aggregates)


def _say_undrawn(rows: Sequence[Mapping[str, Any]]) -> None:
    from experiments.figures.study.aggregates import undrawn

    text = undrawn(rows)
    if text:
        print(f"holdfast plot: {text}; choose others with --where KEY=VALUE", file=sys.stderr)
