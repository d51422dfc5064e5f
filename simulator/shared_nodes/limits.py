"""Limits on running jobs on shared nodes, which apply at each start."""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.simulator.shared_nodes.demand import Amounts
from holdfast.simulator.shared_nodes.shared_job import SharedJob
from holdfast.simulator.shared_nodes.state import SharedMachine
from holdfast.workloads.machines.fitted_requests import Need
from holdfast.workloads.machines.machine import Limit, Quota

__all__ = ["LimitBook"]

#: The amounts that limits count.
_AMOUNTS = ("running", "nodes", "cores", "memory", "gpus")


class LimitBook:
    """Finds the limit that stops a start. Runs under warning count, and arrived jobs that wait for these.

    Parameters
    ----------
    machine
        The machine.
    """

    def __init__(self, machine: SharedMachine) -> None:
        self._machine = machine
        self._partitions = [partition.name for partition in machine.table.machine.partitions]
        self._limits = {(limit.scope, limit.name): limit for limit in machine.table.machine.limits}

    @property
    def exist(self) -> bool:
        """Whether the machine has any."""
        return bool(self._limits)

    def stops_request(self, job: SharedJob, need: Need, size: int) -> Limit | None:
        """The limit that has no room for what a job asks for at a size; None: each has."""
        if not self._limits:
            return None
        sized = job.demand.resize(need, size)
        count = sized.nodes or sized.least_nodes
        return self._stops(job, need, (1, count, *sized.total[:3]))

    def stops(self, job: SharedJob, need: Need, taken: Mapping[int, Amounts]) -> Limit | None:
        """The limit that has no room for what a job would take; None: each has."""
        return self._stops(job, need, self._taken_totals(taken)) if self._limits else None

    def _taken_totals(self, taken: Mapping[int, Amounts]) -> Amounts:
        counted = self._machine.table.counts_memory
        memory = sum(part[1] for node, part in taken.items() if counted[node])
        parts = taken.values()
        return 1, len(taken), sum(part[0] for part in parts), memory, sum(part[2] for part in parts)

    def _scopes(self, job: SharedJob, need: Need) -> tuple[tuple[str, str], ...]:
        partition = self._partitions[need.partition]
        return ("qos", job.qos), ("account", job.account), ("user", job.state.user), ("partition", partition)

    def _stops(self, job: SharedJob, need: Need, amounts: Amounts) -> Limit | None:
        users = self._users()
        for scope in self._scopes(job, need):
            limit = self._limits.get(scope)
            if limit is None:
                continue
            members = [(other, held) for other, where, held in users if scope in self._scopes(other, where)]
            own = [held for other, held in members if other.state.user == job.state.user]
            for quota, chosen in ((limit.per_user, own), (limit.together, [held for _, held in members])):
                if _exceeds(quota, chosen, amounts):
                    return limit
        return None

    def _users(self) -> list[tuple[SharedJob, Need, Amounts]]:
        """The jobs that count, where they run, and what they hold."""
        machine = self._machine
        found = [(machine.jobs[run.job_id], run.need, self._taken_totals(run.taken)) for run in machine.runs.values()]
        for gathering in machine.gatherings.values():
            job = gathering.job
            parts = {node: hold.part for node, hold in machine.job_holds(job).items()}
            found.append((job, job.demand.options[0], self._taken_totals(parts)))
        return found


def _exceeds(quota: Quota, held: list[Amounts], more: Amounts) -> bool:
    """Whether further amounts exceed a quota."""
    for place, name in enumerate(_AMOUNTS):
        most = getattr(quota, name)
        if most is not None and sum(amounts[place] for amounts in held) + more[place] > most:
            return True
    return False
