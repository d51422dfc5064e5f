"""``holdfast status``: show the progress of a submitted sequence of reservations."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from holdfast.experiments.commands.options.arguments import check_outputs, json_file
from holdfast.experiments.terminal import warn
from holdfast.workloads.ground.parameters import Parameter
from holdfast.workloads.ground.wording import count_text

__all__ = ["Arguments", "main"]

#: What the records of the scripts alone do not say.
_UNKNOWN = (
    "without an accounting database, waits are unknown, and whether a reservation without a record waits, runs, or was "
    "cancelled or lost"
)


@dataclass(kw_only=True, eq=False, repr=False)
class Arguments:
    """Options of the command."""

    directory: Annotated[str, Parameter("directory of 'holdfast submit'", metavar="DIR", positional=True)]
    sacct: Annotated[
        str | None,
        Parameter(
            "output of sacct, with JobIDRaw, State, ExitCode, Eligible, Start, ElapsedRaw and TimelimitRaw",
            default="sacct is asked",
            metavar="FILE",
        ),
    ] = None
    json: Annotated[str | None, json_file()] = None


def main(arguments: Arguments) -> None:
    """Run the command."""
    from holdfast.experiments.output.json_files import write_json
    from holdfast.experiments.slurm.accounting import query_accounting, read_entries
    from holdfast.experiments.slurm.status import locate_sequence
    from holdfast.experiments.slurm.workdir import read_remains, read_sequence
    from holdfast.workloads.ground.errors import InputError

    check_outputs(arguments.json, None)
    directory = Path(arguments.directory)
    sequence, remains = read_sequence(directory), read_remains(directory)
    entries = {}
    if arguments.sacct is not None:
        entries = read_entries(arguments.sacct)
    elif remains.jobs:
        try:
            entries = query_accounting(remains.jobs.values())
        except InputError as error:
            warn("status", f"{error}; shown is what the scripts recorded: {_UNKNOWN}")
        else:
            missing = sum(job not in entries for job in remains.jobs.values())
            if missing:
                lack = f"the accounting lacks {missing:,} of {count_text(len(remains.jobs), 'jobs')}"
                warn("status", f"{lack}: {_UNKNOWN}")
    found = locate_sequence(sequence, remains, entries)
    if arguments.json:
        write_json(arguments.json, found.document())
    if arguments.json != "-":
        print(found.text())
