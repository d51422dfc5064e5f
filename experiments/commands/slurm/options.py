"""``holdfast slurm options``: translate a site's Slurm configuration into options of a simulation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from holdfast.experiments.commands.options.arguments import check_outputs, json_file
from holdfast.workloads.ground.parameters import Parameter

__all__ = ["Arguments", "main"]


@dataclass(kw_only=True, eq=False, repr=False)
class Arguments:
    """Options of the command."""

    configuration: Annotated[
        tuple[str, ...],
        Parameter(
            "slurm.conf, what 'scontrol show config', 'scontrol show node' and 'scontrol show partition' print, or a "
            "directory of 'holdfast slurm snapshot'",
            metavar="SLURM.CONF",
            positional=True,
            repeated=True,
        ),
    ]
    machine: Annotated[
        str | None,
        Parameter(
            "write the machine of the configuration, and give the options of a replay on it",
            default="one pool of equal nodes",
            metavar="FILE",
        ),
    ] = None
    json: Annotated[str | None, json_file()] = None


def main(arguments: Arguments) -> None:
    """Run the command."""
    from holdfast.experiments.output.json_files import write_json
    from holdfast.experiments.slurm.site_options import site_options
    from holdfast.experiments.slurm.site_snapshot import expand_snapshots

    check_outputs(arguments.json, None)
    check_outputs(arguments.machine, None)
    configuration = expand_snapshots(arguments.configuration, "config.txt", "nodes.txt", "partitions.txt")
    found = site_options(*configuration, machine=arguments.machine)
    if arguments.machine:
        from holdfast.workloads.machines.machine_file import write_machine
        from holdfast.workloads.machines.sources import machine_from_files

        described = machine_from_files(configuration)
        write_machine(described.machine, arguments.machine)
        found.left_out += [("note", remark) for remark in described.remarks]
    if arguments.json:
        document = {"options": found.options, "left_out": dict(found.left_out), "unknown": found.unknown}
        write_json(arguments.json, document)
    if arguments.json != "-":
        print(found.text())
