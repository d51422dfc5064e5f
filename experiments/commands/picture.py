"""``holdfast picture``: one picture of a simulation, for a paper."""

from __future__ import annotations

import argparse

from experiments.commands.asking.arguments import add_choice, add_trust, check_outputs, number

__all__ = ["add_arguments", "main"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    from experiments.figures.recording.portraits import PORTRAITS
    from experiments.recordings.windows import add_window

    kinds = "; ".join(f"{name}: {portrait.about}" for name, portrait in PORTRAITS.items())
    parser.add_argument("kind", metavar="KIND", help=f"{kinds}; all: all of them")
    parser.add_argument("directory", metavar="DIR", help="results of 'holdfast run --events'")
    parser.add_argument("-o", "--output", metavar="NAME", help="file name without suffix (default DIR/KIND-MECHANISM)")
    add_choice(parser)
    add_window(parser)
    parser.add_argument(
        "--quantile",
        metavar="SHARE",
        default="0.9",
        help="quantile of the waits to draw beside their median (default 0.9)",
    )
    parser.add_argument(
        "--color",
        metavar="NAME",
        default="type",
        help="colours of a gantt chart by type, user, project or size (default type)",
    )
    add_trust(parser)


def main(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from pathlib import Path

    from experiments.figures.recording.portraits import PORTRAITS, chosen_portraits, portrait_path
    from experiments.figures.style import save
    from experiments.recordings.archive import read_recording
    from experiments.recordings.windows import window_of
    from workloads.ground.errors import InputError

    names = chosen_portraits(arguments.kind)
    quantile = number(arguments.quantile, "--quantile")
    check_outputs(None, arguments.output)
    events = any(PORTRAITS[name].events for name in names)
    recording = read_recording(arguments.directory, arguments.mechanism, events=events, trust=arguments.trust)
    window = window_of(arguments)
    figures = {}
    for name in names:
        try:
            figures[name] = PORTRAITS[name].draw(recording, window, quantile, arguments.color)
        except InputError as error:
            if len(names) == 1:
                raise
            # Of all pictures some may have nothing to show.
            print(f"no {name}: {error}")
    for name, figure in figures.items():
        stem = arguments.output or str(portrait_path(Path(arguments.directory), name, recording.name))
        if arguments.output and len(names) > 1:
            stem = f"{arguments.output}-{name}"
        png, pdf = save(figure, stem, follow=arguments.output is not None)
        print(f"{name}: {png}, {pdf}")
