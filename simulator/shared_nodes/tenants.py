"""Tenants: queued jobs that run on idle parts of reserved nodes until the on-demand job arrives.

Source: Fan et al., IPDPS 2022, section III-B.1; docs/model.md, parameter ``tenants``.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from holdfast.policies.port import TOLERANCE
from holdfast.simulator.shared_nodes.limits import LimitBook
from holdfast.simulator.shared_nodes.occupants import Hold
from holdfast.simulator.shared_nodes.shared_job import SharedJob
from holdfast.simulator.shared_nodes.state import SharedMachine
from holdfast.workloads.machines.fitted_requests import Need

__all__ = ["TenantService"]


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
        if self._admission == "none" or not machine.reservations:
            return
        for job in self._sort(list(machine.waiting.values())):
            if not job.on_demand:
                self._start(job)

    def _start(self, job: SharedJob) -> None:
        machine, state = self._machine, job.state
        for need in job.demand.options:
            for size in range(state.nodes, state.min_nodes - 1, -1):
                hosts = self._hosts(job, need, machine.now + state.limit(size))
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
                    return

    def _hosts(self, job: SharedJob, need: Need, end: int) -> dict[int, Hold]:
        """Idle holds by node, those of the latest notice first, that admit a job with this end of its walltime."""
        machine = self._machine
        suitable = set(need.eligible) - machine.closures.closed_nodes(job, machine.now, end)
        found: dict[int, Hold] = {}
        for item in sorted(machine.reservations.values(), key=lambda item: (-item.notice, item.job.job_id)):
            if self._admission == "fits" and end > item.job.estimated_arrival + TOLERANCE:
                continue
            for node, hold in sorted(machine.held(item.job).items()):
                if not hold.guests and node in suitable:
                    found.setdefault(node, hold)
        return found
