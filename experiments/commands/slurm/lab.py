"""``holdfast slurm lab``: run a complete Slurm on this machine."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from holdfast.workloads.ground.errors import InputError, ParameterError, UnknownNameError
from holdfast.workloads.ground.parameters import Parameter, Values, number, wholes
from holdfast.workloads.ground.wording import count_text

__all__ = ["Arguments", "main"]


def _speed(text: str) -> float:
    from holdfast.experiments.slurm.lab import FASTEST

    speed = number(text)
    if not 1 <= speed <= FASTEST:
        raise ParameterError("", f"a number from 1 to {FASTEST}", text)
    return speed


@dataclass(kw_only=True, eq=False, repr=False)
class Arguments:
    """Options of the command."""

    action: Annotated[
        str, Parameter("start a lab, stop it, or say whether it runs", metavar="{start,stop,status}", positional=True)
    ]
    output: Annotated[str, Parameter("directory of the lab", metavar="DIR", short="-o")] = "slurm-lab"
    nodes: Annotated[int, wholes(1, 1000), Parameter("virtual nodes, each a slurmd")] = 16
    speed: Annotated[
        float, Values("NUMBER", _speed, "{:g}".format), Parameter("seconds of its clock in a second, up to 200")
    ] = 1.0
    accounting: Annotated[bool, Parameter("start slurmdbd and MariaDB, so that sacct answers")] = False
    scheduler: Annotated[
        str,
        Parameter(
            "scheduler: backfill, which plans all waiting jobs, or builtin, which lets none pass",
            metavar="{backfill,builtin}",
        ),
    ] = "backfill"
    parameters: Annotated[
        tuple[str, ...],
        Parameter(
            "further SchedulerParameters, such as bf_interval=30; may be repeated",
            default="none",
            metavar="NAME=VALUE",
            repeated=True,
        ),
    ] = ()
    setting: Annotated[
        tuple[str, ...],
        Parameter(
            "further line of slurm.conf, such as PriorityType=priority/multifactor; may be repeated",
            default="none",
            metavar="NAME=VALUE",
            repeated=True,
        ),
    ] = ()
    machine: Annotated[
        str | None,
        Parameter(
            "machine (TOML) whose nodes and partitions the lab has, instead of --nodes equal ones",
            default="none",
            metavar="FILE",
        ),
    ] = None
    port: Annotated[int, wholes(1024, 64_000), Parameter("first of 4 + N ports on loopback")] = 17000


def main(arguments: Arguments) -> None:
    """Run the command."""
    from holdfast.experiments.slurm.lab import PARAMETERS, SCHEDULERS, is_running, open_lab, start_lab, stop_lab
    from holdfast.workloads.machines.machine_file import read_machine

    directory = Path(arguments.output).absolute()
    if arguments.scheduler not in SCHEDULERS:
        raise UnknownNameError("scheduler", arguments.scheduler, SCHEDULERS)
    if any(not word.isprintable() or " " in word or "#" in word for word in arguments.parameters):
        raise InputError("--parameters must be words of slurm.conf without blanks")
    if any(not re.fullmatch(r"[A-Za-z]+=[^#\x00-\x1f]*", line) for line in arguments.setting):
        raise InputError("--setting must be a line of slurm.conf, as PriorityType=priority/multifactor")
    if arguments.action == "start":
        given = {word.partition("=")[0] for word in arguments.parameters}
        kept = [word for word in PARAMETERS.split(",") if word.partition("=")[0] not in given]
        machine = None if arguments.machine is None else read_machine(arguments.machine)
        lab = start_lab(
            directory,
            nodes=arguments.nodes if machine is None else machine.size,
            speed=arguments.speed,
            port=arguments.port,
            accounting=arguments.accounting,
            scheduler=arguments.scheduler,
            parameters=",".join([*kept, *arguments.parameters]),
            settings=arguments.setting,
            machine=machine,
        )
        print(
            f"{count_text(lab.nodes, 'nodes', 'are')} idle on a clock {lab.speed:g} times as fast; "
            f"'. {arguments.output}/env; sinfo' shows them"
        )
    elif arguments.action == "stop":
        print(f"{stop_lab(directory)} processes ended; the logs stay in {arguments.output}")
    elif arguments.action == "status":
        if is_running(directory):
            lab = open_lab(directory)
            print(
                f"{arguments.output}: runs, with {count_text(lab.nodes, 'nodes')} on a clock "
                f"{lab.speed:g} times as fast"
            )
        else:
            print(f"{arguments.output}: does not run")
    else:
        raise UnknownNameError("action", arguments.action, ("start", "stop", "status"))
