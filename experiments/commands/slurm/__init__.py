"""``holdfast slurm``: use a real Slurm beside the simulator."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["SUBCOMMANDS", "subcommand"]

#: What can be done, each a module of :mod:`holdfast.experiments.commands.slurm`, and its purpose.
SUBCOMMANDS = {
    "lab": "start or stop a whole Slurm on this machine, for trying and comparing",
    "workload": "make a small workload for a replay",
    "replay": "submit a workload to a lab, or to the Slurm of this machine, and compare it with the simulator",
    "snapshot": "store what Slurm's commands print, for forecasts, advice and options",
    "priorities": "compute the priorities of the waiting jobs of a snapshot, beside those of sprio",
    "options": "read the options of a simulation from a slurm.conf",
    "serve-on-demand": "serve on-demand jobs on a lab by a mechanism, and compare with the simulator",
    "stochastic": "submit jobs of unknown runtime to a lab by their plans, and compare with the simulator",
    "follow": "keep the simulator beside a running Slurm, report drift, and forecast every hour",
    "compare": "compare what a Slurm did with the rules of the simulator, start by start and decision by decision",
}


def subcommand(name: str) -> Any:
    """The module of one of them."""
    return import_module(f"holdfast.experiments.commands.slurm.{name.replace('-', '_')}")
