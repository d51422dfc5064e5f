"""Checks of the rules of a simulation on a machine with partitions and shared nodes, and replays under these rules."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from holdfast.policies.backfilling import BACKFILLING, Conservative, Easy, Strict
from holdfast.policies.mechanism import Mechanism
from holdfast.policies.slurm_backfill import SlurmBackfill
from holdfast.simulator.machine.prior_state import PastUsage
from holdfast.simulator.options import Options
from holdfast.simulator.resources.machine_jobs import MachineJob
from holdfast.simulator.resources.machine_replay import MachineReplay, replay_on_machine
from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.machines.machine import Machine
from holdfast.workloads.outages.outage import Outage
from holdfast.workloads.table.job import STOCHASTIC
from holdfast.workloads.table.job_lifecycle import replay_start
from holdfast.workloads.table.jobs import Jobs

__all__ = [
    "are_pools",
    "check_machine_replay",
    "check_machine_rules",
    "check_shared_rules",
    "needs_shared_simulation",
    "replay_under",
]

#: Options with one legal value under mechanisms on shared nodes.
_FIXED = {
    "passes": "instant",
    "backfill_length": "walltime",
    "malleable_head": "minimum",
    "arrival_takes": "own",
    "shrunk_lenders": "expand",
    "preempted_lenders": "resume",
    "expansion": "none",
}


def are_pools(machine: Machine) -> bool:
    """Whether all partitions are pools: they give whole nodes to jobs, share none, and no limit counts running jobs."""
    names = [name for partition in machine.partitions for name in partition.nodes]
    limited = any(
        name != "submitted"
        for limit in machine.limits
        for quota in (limit.per_user, limit.together)
        for name in quota.amounts()
    )
    return (
        all(partition.exclusive for partition in machine.partitions) and len(set(names)) == len(names) and not limited
    )


def needs_shared_simulation(table: Jobs, machine: Machine, mechanism: Mechanism | None) -> bool:
    """Whether jobs are simulated on named nodes by :mod:`holdfast.simulator.shared_simulation`.

    Stochastic jobs and those that run at the beginning need it on every machine; a mechanism, and notices of jobs that
    never come, where the partitions are no pools.
    """
    if replay_start(table) is not None or table.are(STOCHASTIC).any():
        return True
    absent = bool(np.isnan(table.column("submit")).any())
    return not are_pools(machine) and (mechanism is not None or absent)


def check_machine_rules(
    machine: Machine, placement: str, mechanism: Mechanism | None, options: Options, *, typed: bool = False
) -> None:
    """Refuse rules that a simulation on a machine does not have, before any job is read.

    Parameters
    ----------
    machine
        The machine.
    placement
        Name of the placement rule.
    mechanism
        How on-demand jobs are served; None: the baseline.
    options
        How the machine is operated.
    typed
        Whether jobs may be other than rigid. Pools simulate these, with all options of one pool.

    Raises
    ------
    ParameterError
        Names the first of them.
    """
    pools = are_pools(machine)
    if mechanism is not None and not pools:
        check_shared_rules(placement, mechanism, options)
    elif mechanism is None and not (pools and typed):
        check_machine_replay(options, placement)


def check_shared_rules(placement: str, mechanism: Mechanism | None, options: Options) -> None:
    """Refuse rules that mechanisms on shared nodes do not have.

    Raises
    ------
    ParameterError
        Names the first of them.
    """
    where = "with mechanisms on shared nodes (--machine)"
    if mechanism is None:
        where = "on a machine (--machine) where jobs are stochastic, run at the beginning, or never come"
    else:
        for kind, given, legal in (
            ("notice", mechanism.notice, ("N", "CUA", "CUP")),
            ("arrival", mechanism.arrival, ("PAA", "SPAA")),
        ):
            if given not in legal:
                raise ParameterError(f"{kind} strategy", f"{', '.join(legal)} {where}", given)
    for name, value in _FIXED.items():
        if getattr(options, name) != value:
            raise ParameterError(name, f"{value} {where}", getattr(options, name))
    if options.engine == "compiled":
        raise ParameterError("engine", f"auto or simpy {where}", options.engine)
    _check_backfilling(options, (Strict, Conservative, Easy), where)
    if placement not in ("pack", "spread"):
        raise ParameterError("placement", f"pack or spread {where}", placement)


def _check_backfilling(options: Options, kinds: tuple[type, ...], where: str) -> None:
    """Refuse other rules, and EASY with another length or head than on one pool by default."""
    rule = BACKFILLING[options.backfilling]
    if type(rule) not in kinds or (isinstance(rule, Easy) and rule != Easy(depth=rule.depth)):
        names = ["none", "easy", "easy depth=K", "conservative", *(["slurm"] if SlurmBackfill in kinds else [])]
        raise ParameterError("backfilling", f"{', '.join(names[:-1])} or {names[-1]} {where}", options.backfilling)


def check_machine_replay(options: Options, placement: str | None = None) -> None:
    """Refuse options that a replay on a machine does not have.

    Parameters
    ----------
    options
        How the machine is operated.
    placement
        Name of the placement rule; None: it follows from the backfilling rule.

    Raises
    ------
    ParameterError
        Names the first of them.
    """
    _check_backfilling(options, (Strict, Conservative, Easy, SlurmBackfill), "on a machine (--machine)")
    if isinstance(BACKFILLING[options.backfilling], SlurmBackfill) and placement not in (None, "slurm"):
        raise ParameterError("placement", "slurm with --backfilling slurm, which chooses nodes itself", placement)
    for name, legal in (("passes", "instant"), ("backfill_length", "walltime"), ("engine", "auto")):
        if getattr(options, name) != legal:
            raise ParameterError(name, f"{legal} on a machine (--machine)", getattr(options, name))


def replay_under(
    machine: Machine,
    jobs: Sequence[MachineJob],
    options: Options,
    placement: str,
    outages: Sequence[Outage] = (),
    ended: PastUsage | None = None,
) -> MachineReplay:
    """Replay jobs under the order and the backfilling rule of options; ``ended`` are runs before any job waits.

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
        ended=ended,
    )
