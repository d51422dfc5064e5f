"""Rules of a simulation, as replays on a machine with partitions and shared nodes take them."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.policies.backfilling import BACKFILLING, Conservative, Easy, Strict
from holdfast.policies.slurm_backfill import SlurmBackfill
from holdfast.simulator.options import Options
from holdfast.simulator.resources.machine_jobs import MachineJob
from holdfast.simulator.resources.machine_replay import MachineReplay, replay_on_machine
from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.machines.machine import Machine
from holdfast.workloads.outages.outage import Outage

__all__ = ["check_machine_replay", "replay_under"]


def check_machine_replay(options: Options) -> None:
    """Refuse options that a replay on a machine does not have.

    Raises
    ------
    ParameterError
        Names the first of them.
    """
    rule = BACKFILLING[options.backfilling]
    if type(rule) not in (Strict, Conservative, Easy, SlurmBackfill):
        legal = "none, easy, easy depth=K, conservative or slurm on a machine (--machine)"
        raise ParameterError("backfilling", legal, options.backfilling)
    for name, legal in (("passes", "instant"), ("backfill_length", "walltime"), ("engine", "auto")):
        if getattr(options, name) != legal:
            raise ParameterError(name, f"{legal} on a machine (--machine)", getattr(options, name))


def replay_under(
    machine: Machine, jobs: Sequence[MachineJob], options: Options, placement: str, outages: Sequence[Outage] = ()
) -> MachineReplay:
    """Replay jobs under the order and the backfilling rule of options.

    Raises
    ------
    InputError
        If an option is not modelled on a machine.
    """
    check_machine_replay(options)
    rule = BACKFILLING[options.backfilling]
    return replay_on_machine(
        machine,
        jobs,
        depth=rule.depth if isinstance(rule, Easy) else None,
        backfilling=rule
        if isinstance(rule, SlurmBackfill)
        else "conservative"
        if isinstance(rule, Conservative)
        else "none"
        if type(rule) is Strict
        else "easy",
        placement=placement,
        order=options.order,
        outages=outages,
    )
