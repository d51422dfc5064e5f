"""``holdfast slurm snapshot``: store what Slurm's commands print, for forecasts and advice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from holdfast.workloads.ground.parameters import Parameter, wholes

__all__ = ["Arguments", "main"]


@dataclass(kw_only=True, eq=False, repr=False)
class Arguments:
    """Options of the command."""

    output: Annotated[str, Parameter("directory to write", metavar="DIR", short="-o")]
    days: Annotated[int, wholes(1, 10_000), Parameter("length of the past to ask sacct for [days]")] = 90


def main(arguments: Arguments) -> None:
    """Run the command."""
    import shlex

    from holdfast.experiments.commands.options.arguments import new_directory
    from holdfast.experiments.slurm.site_snapshot import take_snapshot
    from holdfast.experiments.terminal import warn

    for text in take_snapshot(new_directory(arguments.output), arguments.days):
        warn("slurm snapshot", text)
    print(f"written to {arguments.output}; to read it: holdfast forecast {shlex.quote(arguments.output)}")
