"""Backfilling on idle reserved nodes: such jobs ("tenants") run until the on-demand job arrives.

Source: Fan et al., IPDPS 2022, section III-B and Fig. 2; docs/model.md, parameter ``tenants``.
"""

from __future__ import annotations

from collections.abc import Callable

from holdfast.policies.list_queue import as_queue
from holdfast.policies.node_limits import largest_admitted_size
from holdfast.policies.port import TOLERANCE, Reservation, Start, SystemView, WaitingJob
from holdfast.workloads.ground.registry import Registry, function_adapter
from holdfast.workloads.table.job import ON_DEMAND

__all__ = ["TENANCIES", "Tenancy"]

#: Function of the view, a job, and reservations with their idle nodes (latest notice first). It returns the size at
#: which the job may run on these nodes, and the indices of the reservations that it may use; None: it may not.
Admission = Callable[[SystemView, WaitingJob, "list[tuple[Reservation, int]]"], "tuple[int, list[int]] | None"]

#: Returns the tenants to start after the scheduling pass.
Tenancy = Callable[[SystemView], "list[Start]"]


def _no_tenants(view: SystemView) -> list[Start]:
    return []


def _any(view: SystemView, job: WaitingJob, idle: list[tuple[Reservation, int]]) -> tuple[int, list[int]] | None:
    """Admit every job that fits, as in the paper."""
    size = min(job.nodes, sum(nodes for _, nodes in idle))
    return (size, list(range(len(idle)))) if size >= job.min_nodes else None


def _fits(view: SystemView, job: WaitingJob, idle: list[tuple[Reservation, int]]) -> tuple[int, list[int]] | None:
    """Use only reservations with an estimated arrival after the end of the job's walltime.

    A larger malleable job ends earlier and can use more reservations; the largest feasible size is chosen.
    """
    best: tuple[int, list[int]] | None = None
    by_arrival = sorted(range(len(idle)), key=lambda index: -idle[index][0].estimated_arrival)
    nodes = 0
    for count, index in enumerate(by_arrival, start=1):
        nodes += idle[index][1]
        size = min(job.nodes, nodes)
        if size >= job.min_nodes and view.now + job.limit(size) <= idle[index][0].estimated_arrival + TOLERANCE:
            best = size, sorted(by_arrival[:count])
    return best


def _tenancy(admit: Admission) -> Tenancy:
    def tenants(view: SystemView) -> list[Start]:
        # A tenant takes nodes from the reservation with the latest notice first, ties by id.
        by_notice = sorted(view.reservations, key=lambda item: (-item.notice, item.job_id))
        idle = [(reservation, reservation.idle) for reservation in by_notice if reservation.idle]
        if not idle:
            return []
        starts: list[Start] = []
        started: list[tuple[int, int]] = []
        available = sum(nodes for _, nodes in idle)
        for job in as_queue(view.queue).candidates(0, available):
            if job.min_nodes > available or job.type is ON_DEMAND:
                continue
            admission = admit(view, job, idle)
            if admission is None:
                continue
            size, sources = admission
            if view.windows:
                if largest_admitted_size(view, job, size, started) < size:
                    continue
                started.append((view.now + job.limit(size), size))
            starts.append(Start(job.job_id, size, "tenant", _draw(idle, sources, size)))
            available -= size
            if not available:
                break
        return starts

    return tenants


def _draw(idle: list[tuple[Reservation, int]], sources: list[int], size: int) -> dict[int, int]:
    """Take nodes from the first reservations among ``sources``; returns how many by the id of the on-demand job."""
    draws: dict[int, int] = {}
    left = size
    for index in sources:
        reservation, nodes = idle[index]
        taken = min(nodes, left)
        if taken:
            draws[reservation.job_id] = taken
            idle[index] = reservation, nodes - taken
            left -= taken
    return draws


TENANCIES: Registry[Tenancy] = Registry("tenants rule", "holdfast.tenancies", function_adapter("the view"))
TENANCIES.add("any", _tenancy(_any), "any job that fits on the idle reserved nodes")
TENANCIES.add("fits", _tenancy(_fits), "a job with a walltime that ends before the estimated arrival")
TENANCIES.add("none", _no_tenants, "no jobs: reserved nodes stay idle")
