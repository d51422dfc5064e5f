"""``holdfast status``: where a submitted sequence stands."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from experiments.commands.asking.arguments import check_outputs

__all__ = ["add_arguments", "main"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("directory", metavar="DIR", help="directory of 'holdfast submit'")
    parser.add_argument(
        "--sacct",
        metavar="FILE",
        help="output of sacct, with JobIDRaw, State, ExitCode, Eligible, Start, ElapsedRaw and TimelimitRaw "
        "(default: sacct is asked)",
    )
    parser.add_argument(
        "--json",
        metavar="FILE",
        help="write it as JSON; '-' is standard output, and then nothing else is printed (default: not written)",
    )


def main(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from experiments.planning.document import write_json
    from experiments.slurm.accounting import entries_of, read_entries
    from experiments.slurm.whereabouts import whereabouts_of
    from experiments.slurm.workplace import read_remains, read_sequence
    from workloads.ground.errors import InputError

    check_outputs(arguments.json, None)
    directory = Path(arguments.directory)
    sequence, remains = read_sequence(directory), read_remains(directory)
    entries = {}
    if arguments.sacct is not None:
        entries = read_entries(arguments.sacct)
    elif remains.jobs:
        try:
            entries = entries_of(remains.jobs.values())
        except InputError as error:
            print(f"holdfast status: {error}; shown is what the scripts recorded", file=sys.stderr)
    found = whereabouts_of(sequence, remains, entries)
    if arguments.json:
        write_json(arguments.json, found.document())
    if arguments.json != "-":
        print(found.text())
