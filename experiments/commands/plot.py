"""``holdfast plot``: figures and verdicts again, from the tables of a directory."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

__all__ = ["add_arguments", "main"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("directory", metavar="DIR", help="results of 'experiment', 'reproduce', 'run --plot' or 'loop'")
    parser.add_argument("id", metavar="ID", nargs="*", help="ids of experiments (default: all whose tables are in DIR)")


def main(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from experiments.output.locks import writing
    from experiments.recordings.replay import make_directory
    from experiments.study.redraw import PICTURES, draw_pictures, found_experiments, present_again
    from workloads.ground.errors import TraceError

    directory = Path(arguments.directory)
    found_experiments(directory, arguments.id)  # refused before anything is written there
    make_directory(directory)
    with writing(directory):
        chosen = found_experiments(directory, arguments.id)
        for item, verdicts in present_again(chosen, directory, say=lambda text: print(text, file=sys.stderr)):
            counts = Counter(verdict.outcome for verdict in verdicts)
            picture = "no picture" if item.draw is None else f"{item.id}.png, {item.id}.pdf"
            print(f"{item.id}: {picture}; {', '.join(f'{number} {outcome}' for outcome, number in counts.items())}")
        drawn = [] if arguments.id else draw_pictures(directory)
    for name in drawn:
        print(f"{name}: {name}.png, {name}.pdf")
    if not chosen and not drawn:
        tables = ", ".join(table for table, _ in PICTURES.values())
        raise TraceError(directory, None, f"has no tables to draw, neither of an experiment nor {tables}")
    if "mechanisms" in drawn and "machine" not in drawn:
        print("no machine: it is drawn from machine.csv, which 'holdfast run --plot' writes")
