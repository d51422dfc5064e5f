"""Tenants: queued jobs that run on idle parts of reserved nodes until the on-demand job arrives.

Source: Fan et al., IPDPS 2022, section III-B.1; docs/model.md, parameter ``tenants``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from holdfast.policies.port import TOLERANCE
from holdfast.simulator.shared_nodes.limits import LimitBook
from holdfast.simulator.shared_nodes.occupants import Hold
from holdfast.simulator.shared_nodes.shared_job import SharedJob
from holdfast.simulator.shared_nodes.state import SharedMachine

__all__ = ["TenantService"]


class _IdleHold(NamedTuple):
    """A hold without tenants, its node, and the estimated arrival of its job [ticks]."""

    arrival: int
    node: int
    hold: Hold


class TenantService:
    """Starts queued jobs that fit entirely on idle reserved parts, one job on each part.

    Parameters
    ----------
    machine
        The machine.
    admission
        ``any`` job, only one that ``fits`` until the estimated arrival, or ``none``.
    sort
        Sorts waiting jobs into the order of the queue.
    limits
        Limits on running jobs.
    """

    def __init__(
        self,
        machine: SharedMachine,
        admission: str,
        sort: Callable[[list[SharedJob]], list[SharedJob]],
        limits: LimitBook,
    ) -> None:
        self._machine, self._admission, self._sort, self._limits = machine, admission, sort, limits

    def start_tenants(self) -> None:
        """Look at the waiting jobs in queue order; those that do not fit are skipped."""
        machine = self._machine
        # Found once for all waiting jobs, and again after a start: Helios (scheduler.py) takes 30 s in place of 33 s.
        idle = [] if self._admission == "none" else self._idle_holds()
        if not idle:
            return
        for job in self._sort(list(machine.waiting.values())):
            if not job.on_demand and self._start(job, idle):
                idle = self._idle_holds()

    def _idle_holds(self) -> list[_IdleHold]:
        """Holds of reservations without tenants, those of the latest notice first, by node."""
        machine = self._machine
        return [
            _IdleHold(item.job.estimated_arrival, node, hold)
            for item in sorted(machine.reservations.values(), key=lambda item: (-item.notice, item.job.job_id))
            for node, hold in sorted(machine.job_holds(item.job).items())
            if not hold.guests
        ]

    def _start(self, job: SharedJob, idle: Sequence[_IdleHold]) -> bool:
        """Start a job as a tenant; returns whether it has started."""
        machine, state = self._machine, job.state
        for need, eligible in zip(job.demand.options, job.demand.eligible, strict=True):
            for size in range(state.nodes, state.min_nodes - 1, -1):
                hosts = self._hosts(job, eligible, machine.now + state.limit(size), idle)
                if not hosts:
                    continue
                room = np.zeros_like(machine.capacities)
                for node, hold in hosts.items():
                    room[node] = hold.part
                taken = machine.placer.fill(job.demand.resize(need, size), list(hosts), room)
                if taken is not None and self._limits.stops(job, need, taken) is None:
                    lenders = sorted({hosts[node].job.job_id for node in taken})
                    names = ", ".join(map(str, lenders))
                    machine.start(job, need, taken, size, f"on nodes reserved for {names}", hosts)
                    return True
        return False

    def _hosts(self, job: SharedJob, eligible: frozenset[int], end: int, idle: Sequence[_IdleHold]) -> dict[int, Hold]:
        """Idle holds by node, in their order, that admit a job with this end of its walltime."""
        machine = self._machine
        closed = machine.closures.closed_nodes(job, machine.now, end)
        found: dict[int, Hold] = {}
        for item in idle:
            in_time = self._admission != "fits" or end <= item.arrival + TOLERANCE
            if in_time and item.node in eligible and item.node not in closed:
                found.setdefault(item.node, item.hold)
        return found
