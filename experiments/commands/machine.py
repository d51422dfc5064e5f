"""``holdfast machine``: write the description of a machine from a site's files or a log, or show one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from holdfast.experiments.terminal import note
from holdfast.workloads.ground.parameters import Parameter

if TYPE_CHECKING:
    from holdfast.workloads.machines.sources import FoundMachine

__all__ = ["Arguments", "main"]


@dataclass(kw_only=True, eq=False, repr=False)
class Arguments:
    """Options of the command."""

    sources: Annotated[
        tuple[str, ...],
        Parameter(
            "slurm.conf; the output of 'scontrol show config', 'show node' or 'show partition', or of sinfo, as text "
            "or JSON, and of 'sacctmgr -P show qos' or 'show assoc', several together; a directory of 'holdfast slurm "
            "snapshot'; a .machines file of Alea; or a log: the .machines file beside it is read, else the machine is "
            "estimated. 'show FILE' shows a description",
            metavar="SOURCE",
            positional=True,
            repeated=True,
        ),
    ]
    output: Annotated[
        str | None,
        Parameter("description to write, in TOML", default="it is only shown", metavar="FILE", short="-o"),
    ] = None
    columns: Annotated[
        str | None,
        Parameter(
            "columns of a log in CSV or Parquet by role, as in submit=SUBMIT,nodes=NODES,gpus=GPUS, or the name of a "
            "public data set",
            default="recognised",
            metavar="ROLE=COLUMN",
        ),
    ] = None


def main(arguments: Arguments) -> None:
    """Run the command."""
    from holdfast.experiments.commands.options.arguments import check_outputs
    from holdfast.experiments.slurm.site_snapshot import expand_snapshots
    from holdfast.workloads.ground.errors import InputError
    from holdfast.workloads.machines.machine_file import read_machine, write_machine
    from holdfast.workloads.machines.slurm_limits import LIMIT_TABLES
    from holdfast.workloads.machines.summary import machine_summary

    sources = expand_snapshots(arguments.sources, "nodes.txt", "config.txt", "partitions.txt", *LIMIT_TABLES)
    if sources[0] == "show":
        if len(sources) != 2 or arguments.output or arguments.columns:
            raise InputError("'show' takes one file and no option: holdfast machine show machine.toml")
        print(machine_summary(read_machine(sources[1])))
        return
    check_outputs(arguments.output, None)
    found = _find_machine(sources, arguments.columns)
    if arguments.output:
        write_machine(found.machine, arguments.output)
    if arguments.output != "/dev/stdout":
        print(machine_summary(found.machine))
        for remark in found.remarks:
            print(f"note: {remark}")
    if arguments.output:
        note(f"written to {arguments.output}")


def _find_machine(sources: Sequence[str], columns: str | None) -> FoundMachine:
    """The machine of files of a site, or of one log."""
    from holdfast.workloads.ground.errors import ParameterError
    from holdfast.workloads.ground.files import decode_text, read_bytes
    from holdfast.workloads.machines.sources import is_machine_source, machine_from_files

    if len(sources) == 1:
        data = read_bytes(sources[0])
        if columns is not None or data.startswith(b"PAR1") or not is_machine_source(decode_text(data, sources[0])):
            from holdfast.workloads.logs.alea import cluster_list, machine_beside
            from holdfast.workloads.requests.log_requests import read_requests
            from holdfast.workloads.requests.machine_estimate import estimated_machine

            beside = cluster_list(sources[0]) if columns is None else None
            if beside is not None:
                # Refuses what is no list of clusters; by its content alone it could be a file of Slurm.
                machine_beside(sources[0])
                return machine_from_files([beside])
            return estimated_machine(read_requests(sources[0], columns=columns))
    elif columns is not None:
        raise ParameterError("--columns", "left out, except with one log", columns)
    return machine_from_files(sources)
