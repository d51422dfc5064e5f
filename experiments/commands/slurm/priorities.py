"""``holdfast slurm priorities``: compute the priorities of waiting jobs as Slurm does, beside those of sprio."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.parameters import Parameter
from holdfast.workloads.ground.wording import count_text

__all__ = ["Arguments", "main"]


@dataclass(kw_only=True, eq=False, repr=False)
class Arguments:
    """Options of the command."""

    snapshot: Annotated[
        tuple[str, ...],
        Parameter("directory of 'holdfast slurm snapshot'", metavar="DIR", positional=True, repeated=True),
    ]
    output: Annotated[
        str | None, Parameter("write the table of all snapshots", default="none", metavar="FILE.csv", short="-o")
    ] = None


def main(arguments: Arguments) -> None:
    """Run the command."""
    from holdfast.experiments.commands.options.arguments import check_outputs
    from holdfast.experiments.slurm.site_priorities import PRIORITY_COLUMNS, priority_rows
    from holdfast.experiments.slurm.site_snapshot import is_snapshot, read_snapshot
    from holdfast.experiments.tables import render, write_csv

    check_outputs(arguments.output, None)
    rows = []
    for path in arguments.snapshot:
        if not is_snapshot(path):
            raise InputError(f"{path}: is no snapshot; 'holdfast slurm snapshot -o DIR' makes one")
        some = priority_rows(read_snapshot(path))
        known = [row for row in some if row["difference"] is not None]
        equal = sum(row["difference"] == 0 for row in known)
        if some:
            print(render(some, PRIORITY_COLUMNS))
        print(
            f"{path}: {equal:,} of {len(known):,} priorities are those of sprio; {count_text(len(some), 'jobs')} wait"
        )
        rows += [{"snapshot": path, **row} for row in some]
    if arguments.output is not None:
        write_csv(arguments.output, rows, ("snapshot", *(column.name for column in PRIORITY_COLUMNS)))
        print(f"written to {arguments.output}")
