"""``holdfast slurm lab``: a whole Slurm on this machine."""

from __future__ import annotations

import argparse
from pathlib import Path

from experiments.commands.asking.arguments import number, whole
from workloads.ground.errors import InputError, ParameterError, UnknownNameError

__all__ = ["add_arguments", "main"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("action", metavar="{start,stop,status}", help="start a lab, stop it, or say whether it runs")
    parser.add_argument(
        "-o", "--output", metavar="DIR", default="slurm-lab", help="directory of the lab (default slurm-lab)"
    )
    parser.add_argument("--nodes", metavar="N", default="16", help="virtual nodes, each a slurmd (default 16)")
    parser.add_argument(
        "--speed", metavar="NUMBER", default="1", help="seconds of its clock in a second, up to 200 (default 1)"
    )
    parser.add_argument("--accounting", action="store_true", help="start slurmdbd and MariaDB, so that sacct answers")
    parser.add_argument(
        "--scheduler",
        metavar="{backfill,builtin}",
        default="backfill",
        help="scheduler: backfill, which plans all waiting jobs, or builtin, which lets none pass (default backfill)",
    )
    parser.add_argument(
        "--parameters",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="further SchedulerParameters, such as bf_interval=30; may be repeated (default: none)",
    )
    parser.add_argument("--port", metavar="N", default="17000", help="first of 4 + N ports on loopback (default 17000)")


def main(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from experiments.slurm.lab import FASTEST, PARAMETERS, SCHEDULERS, is_running, open_lab, start_lab, stop_lab

    directory = Path(arguments.output).absolute()
    nodes, port = whole(arguments.nodes, "--nodes", 1, 1000), whole(arguments.port, "--port", 1024, 64_000)
    speed = number(arguments.speed, "--speed")
    if not 1 <= speed <= FASTEST:
        raise ParameterError("--speed", f"a number from 1 to {FASTEST}", arguments.speed)
    if arguments.scheduler not in SCHEDULERS:
        raise UnknownNameError("scheduler", arguments.scheduler, SCHEDULERS)
    if any(not word.isprintable() or " " in word or "#" in word for word in arguments.parameters):
        raise InputError("--parameters must be words of slurm.conf without blanks")
    if arguments.action == "start":
        given = {word.partition("=")[0] for word in arguments.parameters}
        kept = [word for word in PARAMETERS.split(",") if word.partition("=")[0] not in given]
        lab = start_lab(
            directory,
            nodes=nodes,
            speed=speed,
            port=port,
            accounting=arguments.accounting,
            scheduler=arguments.scheduler,
            parameters=",".join([*kept, *arguments.parameters]),
        )
        print(
            f"{lab.nodes} nodes are idle on a clock {lab.speed:g} times as fast; "
            f"'. {arguments.output}/env; sinfo' shows them"
        )
    elif arguments.action == "stop":
        print(f"{stop_lab(directory)} processes ended; the logs stay in {arguments.output}")
    elif arguments.action == "status":
        if is_running(directory):
            lab = open_lab(directory)
            print(f"{arguments.output}: runs, with {lab.nodes} nodes on a clock {lab.speed:g} times as fast")
        else:
            print(f"{arguments.output}: does not run")
    else:
        raise UnknownNameError("action", arguments.action, ("start", "stop", "status"))
