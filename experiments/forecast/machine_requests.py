"""Requests of the jobs of a state on a machine with partitions, shared nodes and GPUs, and replays of its draws there.

Running jobs are submitted anew when they started, before any other job may start. They thus run at the time of the
state, on nodes that the replay chooses: the nodes that a log names are not used.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from holdfast.experiments.forecast.machine_state import MachineState
from holdfast.experiments.forecast.prior_usage import usage_on_machine
from holdfast.policies.order import ORDERS
from holdfast.simulator.machine.prior_state import PastUsage
from holdfast.simulator.machine_rules import replay_under
from holdfast.simulator.options import Options
from holdfast.simulator.resources.machine_jobs import MachineJob
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.job_ids import job_id_text
from holdfast.workloads.ground.units import to_seconds
from holdfast.workloads.logs.trace import Trace
from holdfast.workloads.machines.machine import Machine
from holdfast.workloads.machines.machine_workload import MachineWorkload
from holdfast.workloads.machines.request import ResourceRequest
from holdfast.workloads.requests.fitted_trace import fit_jobs_to_machine
from holdfast.workloads.table.job import Job, JobType

__all__ = ["MachineRequests"]


@dataclass(frozen=True)
class MachineRequests:
    """Requests of the jobs of a state and of its history.

    Attributes
    ----------
    machine
        The machine.
    present
        Request of each job of the state, by id.
    past
        Request of each job of the history, by its number there, from 1.
    placement
        Rule for the choice among nodes that fit: ``pack``, ``spread`` or ``slurm``.
    ended
        Past usage of the jobs that have ended, in node equivalents; None: the queue order does not count it.
    """

    machine: Machine
    present: Mapping[int, ResourceRequest] = field(repr=False)
    past: tuple[ResourceRequest, ...] = field(default=(), repr=False)
    placement: str = "pack"
    ended: PastUsage | None = field(default=None, repr=False)

    @classmethod
    def from_log(cls, trace: Trace, workload: MachineWorkload, at: float, order: str = "fcfs") -> MachineRequests:
        """The requests that are known at a time, and the past usage if the queue order counts it.

        Parameters
        ----------
        trace, workload
            A log on a machine (:func:`holdfast.workloads.requests.fitted_trace.fit_log_to_machine`).
        at
            The time, on the clock of the log [s].
        order
            Order of the queue.
        """
        jobs = trace.jobs
        places = np.flatnonzero(jobs.queued <= at)
        past = tuple(workload.requests[place] for place in places.tolist())
        ids = jobs.column("job_id")[places]
        # The state numbers jobs by their places where ids are not unique.
        numbers = ids.tolist() if len(np.unique(ids)) == len(ids) else range(1, len(ids) + 1)
        ended = None
        if ORDERS[order].half_life is not None:
            over = np.flatnonzero(jobs.starts + jobs.column("runtime") <= at).tolist()
            requests = map(workload.requests.__getitem__, over)
            ended = usage_on_machine(zip(jobs.select(np.array(over, int)), requests, strict=True), workload.table)
        return cls(workload.machine, dict(zip(numbers, past, strict=True)), past, workload.placement, ended)

    def with_job(
        self, state: MachineState, request: ResourceRequest, walltime: float, user: str = "", project: str = ""
    ) -> tuple[MachineRequests, MachineState, int]:
        """The requests and the state with one more job, submitted now, and the id of the job.

        Raises
        ------
        InputError
            If the job does not fit the machine.
        """
        if project and not request.account:
            request = request._replace(account=project)
        state, number = state.with_job(self.size(request, walltime, user), walltime, user, project)
        return self.with_request(number, request), state, number

    def size(self, request: ResourceRequest, walltime: float, user: str = "") -> int:
        """Size of a job that is submitted now, in the unit of the machine.

        Raises
        ------
        InputError
            If the job does not fit the machine.
        """
        asked = Job(0, JobType.RIGID, 0.0, 1, walltime, walltime, user=user)
        try:
            ((sized,), _) = fit_jobs_to_machine([asked], self.machine, [request])
        except InputError as error:
            raise InputError(str(error).replace("job 0 does", "the job that is submitted now does", 1)) from None
        return sized.nodes

    def legal_walltimes(self, request: ResourceRequest, walltimes: Iterable[float], user: str = "") -> list[float]:
        """Walltimes [s] for which a partition takes a job that is submitted now.

        Raises
        ------
        InputError
            If there are none.
        """
        found, refusal = [], None
        for walltime in walltimes:
            try:
                self.size(request, walltime, user)
            except InputError as error:
                refusal = error
            else:
                found.append(walltime)
        if not found and refusal is not None:
            raise refusal
        return found

    def with_request(self, job_id: int, request: ResourceRequest) -> MachineRequests:
        """The requests with another one of a job of the state."""
        return replace(self, present={**self.present, job_id: request})

    def first_starts(
        self,
        jobs: Iterable[tuple[Job, int | None]],
        state: MachineState,
        awaited: Collection[int],
        options: Mapping[str, object],
    ) -> dict[int, tuple[float, bool]]:
        """Replay a draw.

        Parameters
        ----------
        jobs
            Jobs of the draw; for one that arrives later, the number of the past job whose request it has.
        state
            The state.
        awaited
            Ids of waiting jobs.
        options
            Order and backfilling.

        Returns
        -------
        dict
            Start of each awaited job [s], and whether it was backfilled, by id.

        Raises
        ------
        InputError
            If an option is not modelled on a machine, or a job never starts.
        """
        rows = [self._machine_job(job, past, state.at) for job, past in jobs]
        replay = replay_under(self.machine, rows, Options.of(**options), self.placement, state.outages, self.ended)
        starts = {row.job_id: start for row, start in zip(rows, replay.starts, strict=True) if row.job_id in awaited}
        found = {}
        for job_id, start in starts.items():
            if start is None:
                raise InputError(f"{state.source}: job {job_id_text(job_id)} can never start on the machine")
            found[job_id] = to_seconds(start.start), start.backfilled
        return found

    def _machine_job(self, job: Job, past: int | None, now: float) -> MachineJob:
        request = self.present[job.job_id] if past is None else self.past[past - 1]
        if job.running_since is None:
            # Jobs of a state and of its history have a submit; none starts before the time of the state.
            submit, begin = job.submit or 0.0, max(now, job.eligible or now, request.begin or now)
            request = request._replace(begin=begin)
        else:
            submit, request = job.running_since, request._replace(begin=None)
        return MachineJob(job.job_id, submit, job.walltime, job.runtime, request, job.user)
