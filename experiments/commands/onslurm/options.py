"""``holdfast slurm options``: translate a site's Slurm configuration into options of a simulation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from experiments.commands.asking.arguments import check_outputs
from workloads.ground.parameters import Parameter

__all__ = ["Arguments", "main"]


@dataclass(kw_only=True, eq=False, repr=False)
class Arguments:
    """Options of the command."""

    configuration: Annotated[
        tuple[str, ...],
        Parameter(
            "slurm.conf, or what 'scontrol show config', 'scontrol show node' and 'scontrol show partition' print",
            metavar="SLURM.CONF",
            positional=True,
            repeated=True,
        ),
    ]
    json: Annotated[
        str | None,
        Parameter(
            "write them as JSON; '-' is standard output, and then nothing else is printed",
            default="not written",
            metavar="FILE",
        ),
    ] = None


def main(arguments: Arguments) -> None:
    """Run the command."""
    from experiments.planning.plan_document import write_json
    from experiments.slurm.site_options import site_options

    check_outputs(arguments.json, None)
    found = site_options(*arguments.configuration)
    if arguments.json:
        document = {"options": found.options, "left_out": dict(found.left_out), "unknown": found.unknown}
        write_json(arguments.json, document)
    if arguments.json != "-":
        print(found.text())
