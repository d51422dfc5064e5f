"""Resumption of preempted jobs on nodes that are returned to them and held until they suffice.

Source: Fan et al., IPDPS 2022, sections III-B.3 and V-A (observation 2); docs/model.md, parameter
``preempted_lenders``.
"""

from __future__ import annotations

from holdfast.policies.node_limits import largest_admitted_size
from holdfast.simulator.machine.cluster import Account
from holdfast.simulator.machine.job_state import JobState
from holdfast.simulator.machine.node_accounts import Kept
from holdfast.simulator.machine.system import System

__all__ = ["keep", "resume"]


def keep(system: System, job: JobState, source: Account, count: int) -> None:
    """Hold nodes of an account for a preempted job that waits."""
    held = system.kept.setdefault(job.job_id, Kept(job))
    system.log(system.now, "reserve", job.job_id, held.nodes, held.nodes + count, "held until it resumes")
    system.cluster.move(source, held, count, system.now)
    job.kept = held.nodes


def resume(system: System) -> None:
    """Start the jobs for which nodes are held, earliest first, if these and the free nodes suffice.

    If they do not, a job takes nodes that are held for later ones, latest first. Otherwise, jobs that each hold a part
    of the machine would deadlock.
    """
    for job_id in list(system.kept):
        held = system.kept.get(job_id)
        if held is None:
            continue
        job, free = held.job, system.free
        waiting = list(system.kept.values())
        later = waiting[waiting.index(held) + 1 :]
        size = min(job.nodes, held.nodes + free)
        if size < job.min_nodes <= size + sum(other.nodes for other in later):
            size = job.min_nodes
        if size >= job.min_nodes and system.windows:
            size = largest_admitted_size(system, job, size)
        if size < job.min_nodes:
            continue
        sources: list[tuple[Account, int]] = []
        missing = size
        for account in (held, system.cluster.pool, *reversed(later)):
            count = min(account.nodes, missing)
            sources.append((account, count))
            missing -= count
        del system.kept[job_id]
        job.kept = 0
        for other, (_, count) in zip(reversed(later), sources[2:], strict=True):
            _give(system, other, count, job_id)
        system.start(job, sources, "resumes")
        if held.nodes:
            system.release(held)


def _give(system: System, other: Kept, count: int, job_id: int) -> None:
    """Free nodes held for a job, which an earlier job is about to use."""
    if count:
        other.job.kept = left = other.nodes - count
        system.log(system.now, "reserve", other.job.job_id, other.nodes, left, f"taken by {job_id}")
        if not left:
            del system.kept[other.job.job_id]
