"""Limits on running jobs in a replay under Slurm's backfilling: what accounts hold, and which stops one more job."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from holdfast.simulator.resources.limit_columns import LimitColumns
from holdfast.simulator.resources.slurm_nodes import PlannedRun
from holdfast.simulator.resources.slurm_plan import Request
from holdfast.workloads.machines.fitted_requests import Need

__all__ = ["RunningAmounts"]


#: Place of nodes in the amounts of an account.
_NODES = 1


class RunningAmounts:
    """Running jobs, nodes, cores, memory and GPUs of each account.

    Parameters
    ----------
    columns
        The limits that count for the jobs.
    needs
        The need of each option.
    counts_memory
        Whether the memory of each node is counted, by name of the node.

    Attributes
    ----------
    stopped
        The last account that stopped each job.
    """

    def __init__(self, columns: LimitColumns, needs: Sequence[Need], counts_memory: Sequence[bool]) -> None:
        self.stopped: dict[int, int] = {}
        self._columns = columns
        self._needs = needs
        self._counted = counts_memory
        self._used = [[0] * 5 for _ in columns.limits]
        self._jobs_on = [Counter[int]() for _ in columns.limits]

    def stops(self, request: Request, run: PlannedRun | None = None) -> bool:
        """Whether a limit stops a job, given what it would get; None: given what it asks for."""
        amounts = self._totals(request.need, run)
        if run is None and self._columns.as_slurm:
            # Slurm looks at nodes when it has chosen them.
            amounts = (amounts[0], 0, *amounts[2:])
        account = self._full(request.option, amounts, run)
        if account is not None:
            self.stopped[request.job] = account
        return account is not None

    def would_stop(self, option: int, need: Need, run: PlannedRun | None = None) -> bool:
        """Whether a limit stops what an option asks for, or a plan of it; without a note."""
        return self._full(option, self._totals(need, run)) is not None

    def count(self, run: PlannedRun, sign: int) -> None:
        """Add a run to the accounts of its option, or with -1 take it away."""
        for account in self._columns.of(run.option):
            usage, held = self._columns.usages[account], self._run_totals(run)
            self._used[usage] = [one + sign * other for one, other in zip(self._used[usage], held, strict=True)]
            if self._columns.as_slurm:
                self._jobs_on[usage].update(dict.fromkeys(run.nodes, sign))
                self._used[usage][_NODES] = sum(jobs > 0 for jobs in self._jobs_on[usage].values())

    def _full(self, option: int, amounts: Sequence[int], run: PlannedRun | None = None) -> int | None:
        """The first account that has no room for amounts, of which nodes of a run that it has count once in Slurm."""
        for account in self._columns.of(option):
            most, usage = self._columns.most[5 * account : 5 * account + 5], self._columns.usages[account]
            more = list(amounts)
            if self._columns.as_slurm and run is not None:
                more[_NODES] = sum(not self._jobs_on[usage][node] for node in run.nodes)
            for limit, held, amount in zip(most, self._used[usage], more, strict=True):
                if 0 <= limit < held + amount:
                    return account
        return None

    def _totals(self, need: Need, run: PlannedRun | None) -> Sequence[int]:
        return (1, need.least_nodes, *need.total[:3]) if run is None else self._run_totals(run)

    def _run_totals(self, run: PlannedRun) -> Sequence[int]:
        memory = self._memory(run)
        cores, gpus = (sum(vector[kind] for vector in run.taken) for kind in (0, 2))
        return 1, len(run.nodes), cores, memory, gpus

    def _memory(self, run: PlannedRun) -> int:
        """Memory of a run on the nodes on which it is counted; in Slurm an exclusive job has what it asks for."""
        counted = [vector for node, vector in zip(run.nodes, run.taken, strict=True) if self._counted[node]]
        if not (self._columns.as_slurm and run.exclusive):
            return sum(vector[1] for vector in counted)
        need = self._needs[run.option]
        if need.memory_per_core:
            return need.memory_per_core * sum(vector[0] for vector in counted)
        return need.base[1] * len(counted) if need.tasks else need.total[1] if counted else 0
