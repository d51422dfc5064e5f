"""``holdfast gantt``: an interactive page of a simulation, in one file."""

from __future__ import annotations

import argparse
import shlex

from experiments.commands.asking.arguments import add_choice, add_trust, check_outputs

__all__ = ["add_arguments", "main"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    from experiments.recordings.windows import add_window

    parser.add_argument("directory", metavar="DIR", help="results of 'holdfast run --events'")
    parser.add_argument("-o", "--output", metavar="FILE.html", required=True, help="page to write")
    add_choice(parser)
    add_window(parser)
    add_trust(parser)


def main(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from pathlib import Path

    from experiments.gantt.page import write_gantt
    from experiments.recordings.archive import read_recording
    from experiments.recordings.windows import window_of

    check_outputs(arguments.output, None)
    recording = read_recording(arguments.directory, arguments.mechanism, trust=arguments.trust)
    window = window_of(arguments)
    words = ["holdfast", "gantt", Path(arguments.directory).name or arguments.directory]
    words += ["--run" if recording.label else "--mechanism", recording.name]
    for name, value in (("--from", window.start), ("--to", window.end)):
        words += [] if value is None else [name, str(value)]
    shown = write_gantt(arguments.output, recording, window, shlex.join(words))
    size = Path(arguments.output).stat().st_size
    print(f"{shown:,} jobs under {recording.name} drawn in {arguments.output} ({size / 1e6:.1f} MB)")
