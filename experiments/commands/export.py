"""``holdfast export``: results in the formats of other tools."""

from __future__ import annotations

import argparse

from experiments.commands.asking.arguments import add_choice, add_trust

__all__ = ["add_arguments", "main"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("directory", metavar="DIR", help="results of 'holdfast run --events'")
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="file to write; a directory for parquet")
    parser.add_argument(
        "--format",
        metavar="NAME",
        help="swf, batsim (jobs.csv, for evalys), perfetto (trace JSON) or parquet (default: by the suffix of FILE)",
    )
    add_choice(parser)
    add_trust(parser)


def main(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from experiments.exports.formats import EXPORTS, export_result, format_of
    from experiments.recordings.archive import read_recording

    name = arguments.format or format_of(arguments.output)
    EXPORTS[name]  # a wrong one is told before a year is read
    recording = read_recording(arguments.directory, arguments.mechanism, trust=arguments.trust)
    told = export_result(recording, arguments.output, name)
    print(f"{told} of {recording.name} written to {arguments.output}")
