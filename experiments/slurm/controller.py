"""Controller that serves on-demand jobs on a Slurm with a mechanism of the simulator."""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from math import ceil, inf

from experiments.slurm.actuator import Seen, Steering
from experiments.slurm.live_replay import SomeSlurm
from experiments.slurm.shadow_system import Mirror
from policies.mechanism import Mechanism
from policies.reserved_backfill import TENANCIES
from simulator.machine.cluster import Kind
from simulator.machine.event_log import Entry, EventLog
from simulator.machine.job_factory import job_state
from simulator.machine.job_state import JobState
from simulator.machine.node_accounts import Lender, Reservation, Run
from simulator.options import Options
from simulator.results.recording import clock_origin
from simulator.services.ondemand import OnDemandService
from workloads.ground.errors import InputError
from workloads.ground.units import SECOND, to_seconds, to_ticks
from workloads.table.job import Job, JobType

__all__ = ["serve"]

#: Polling interval of Slurm in real seconds, and time on its clock before the first event.
_POLL, _LEAD = 0.25, 60.0
#: Longest time for a job to start on nodes reserved for it.
_PATIENCE = 3600 * SECOND
_OVER = ("COMPLETED", "FAILED", "TIMEOUT", "CANCELLED", "NODE_FAIL", "OUT_OF_MEMORY", "DEADLINE", "BOOT_FAIL")


def serve(
    slurm: SomeSlurm,
    steering: Steering,
    jobs: Sequence[Job],
    nodes: int,
    mechanism: Mechanism,
    options: Options,
    *,
    grace: float,
    log: Callable[[str], None],
) -> list[Entry]:
    """Replay a job table on a Slurm and serve its on-demand jobs.

    Parameters
    ----------
    slurm, steering
        The Slurm, and its commands.
    jobs
        Rigid, malleable and on-demand jobs; checked.
    nodes
        Size of the machine, which must be idle.
    mechanism
        Notice and arrival strategy.
    options
        Warning, time-out and tenants; the order and the backfilling are Slurm's.
    grace
        Time from the checkpoint signal until a preempted rigid job is requeued [s].
    log
        Called with a line for each event and each command.

    Returns
    -------
    list of Entry
        Events in the format of the simulator's event log; times in ticks from the first event of the table.

    Raises
    ------
    InputError
        If a job cannot be submitted, or Slurm does not execute an accepted command. All jobs are then cancelled.
    """
    return _Controller(slurm, steering, jobs, nodes, mechanism, options, grace, log).run()


class _Controller:
    """Event loop on Slurm's clock, with the events of the job table and of the on-demand service."""

    def __init__(
        self,
        slurm: SomeSlurm,
        steering: Steering,
        jobs: Sequence[Job],
        nodes: int,
        mechanism: Mechanism,
        options: Options,
        grace: float,
        log: Callable[[str], None],
    ) -> None:
        self._slurm, self._steering, self._report = slurm, steering, log
        self._log = EventLog()
        self._mirror = Mirror(nodes, options, self._log, self, steering)
        self._service = OnDemandService(self._mirror, mechanism, self, options)
        self._tenants = TENANCIES[options.tenants]
        self._timeout, self._grace = to_ticks(options.timeout), to_ticks(grace)
        self._due: list[tuple[int, int, Callable[[], object]]] = []
        self._number = count()
        self._shown = 0
        ranks = {number: rank for rank, number in enumerate(sorted(job.job_id for job in jobs))}
        origin = clock_origin(list(jobs))
        made = [job_state(job, row, ranks[job.job_id], origin, options, baseline=False) for row, job in enumerate(jobs)]
        self._jobs: dict[int, JobState] = {state.job_id: state for state in made}
        self._left = {state.job_id for state in made if state.first_submit >= 0}
        for state in made:
            if state.type is JobType.ON_DEMAND:
                if state.notice >= 0:
                    self._at(state.notice, partial(self._service.notice, state))
                if state.first_submit >= 0:
                    self._at(state.first_eligible, partial(self._service.arrive, state))
            elif state.first_submit >= 0:
                self._at(state.first_eligible, partial(self._mirror.submit, state))
        self._begin = 0.0

    def run(self) -> list[Entry]:
        """Run until all jobs have ended."""
        self._begin = float(ceil(self._slurm.now() + _LEAD))
        try:
            while self._left:
                self._once()
                time.sleep(_POLL)
        finally:
            self._steering.end()
        return sorted(self._log.entries, key=lambda entry: entry.time)

    def _once(self) -> None:
        """Enter changes observed on Slurm, process due events, and execute the resulting commands."""
        self._watch()
        now = self._ticks(self._slurm.now())
        while self._due and self._due[0][0] <= now:
            at, _, action = heapq.heappop(self._due)
            self._mirror.now = max(self._mirror.now, at)
            action()
            # The next decision is made in the state that follows.
            self._mirror.follow()
        self._mirror.now = max(self._mirror.now, now)
        for run in [run for run in self._mirror.leaving.values() if run.end <= self._mirror.now]:
            self._vacate(run)
        self._start_tenants()
        self._mirror.follow()
        for job_id, (run, _) in self._mirror.awaited.items():
            if now - run.start > _PATIENCE:
                raise InputError(f"job {job_id} did not start within an hour; see the folder log of the lab")
        for entry in self._log.entries[self._shown :]:
            self._report(_line(entry))
        self._shown = len(self._log.entries)

    def _watch(self) -> None:
        """Enter observed changes, ends first, because they free the nodes on which others started."""
        seen = self._steering.observe()
        for run in list(self._mirror.runs.values()):
            if run.job_id in seen and run.job_id not in self._mirror.awaited and seen[run.job_id].state == "RUNNING":
                self._mirror.correct(run, seen[run.job_id].nodes)
        ended = [job for job in seen if job in self._left and seen[job].state.split()[0] in _OVER]
        for number in sorted(ended, key=lambda number: seen[number].end):
            self._end(self._jobs[number], seen[number])
        running = [job for job, shown in seen.items() if shown.state in ("RUNNING", "COMPLETING")]
        requeued = self._mirror.requeued
        for number in sorted(running, key=lambda number: seen[number].start):
            if number in requeued and seen[number].start >= requeued[number]:
                del requeued[number]
            if number in self._left and number not in requeued:
                self._run(self._jobs[number], seen[number])
        for number in sorted(requeued):
            if number in seen and seen[number].state == "PENDING":
                del requeued[number]
                self._steering.eligible(self._jobs[number])

    def _run(self, job: JobState, shown: Seen) -> None:
        """Enter the start of a job."""
        at = self._ticks(shown.start)
        if job.job_id in self._mirror.awaited:
            self._mirror.confirm(job.job_id, shown.nodes, at)
        elif job.waiting and all(self._mirror.named.owner(node).kind != Kind.BUSY for node in shown.nodes):
            self._mirror.enter(job, shown.nodes, at)

    def _end(self, job: JobState, shown: Seen) -> None:
        """Enter the end of a job."""
        mirror, at = self._mirror, self._ticks(shown.end)
        self._left.discard(job.job_id)
        if job.waiting and shown.nodes and job.job_id not in mirror.requeued:
            self._run(job, shown)
        elif job.job_id in mirror.awaited:
            mirror.confirm(job.job_id, shown.nodes, self._ticks(shown.start))
        mirror.now = max(mirror.now, at)
        run = mirror.runs.get(job.job_id)
        if run is not None:
            mirror.complete(run)
            if run.type is JobType.ON_DEMAND:
                self._service.complete(run)
            else:
                mirror.give_away(run)
        elif job.job_id in mirror.leaving:
            # It was done before its warning was.
            self._vacate(mirror.leaving[job.job_id])
            mirror.waiting.remove(job)
        elif job.waiting:
            mirror.waiting.remove(job)
            self._log(mirror.now, "complete", job.job_id, 0, 0, "before it was requeued")
        mirror.requeued.pop(job.job_id, None)

    def _start_tenants(self) -> None:
        mirror = self._mirror
        if not (mirror.reservations and mirror.cluster.totals[Kind.HELD] and mirror.waiting.jobs):
            return
        for start in self._tenants(mirror):
            if start.job_id in mirror.requeued:
                continue  # it has not left its nodes
            draws = start.draws or {}
            lenders: dict[Lender, int] = {
                item: draws[item.job_id] for item in mirror.reservations if item.job_id in draws
            }
            mirror.start(self._jobs[start.job_id], lenders.items(), start.cause, lenders)

    def _vacate(self, run: Run) -> None:
        """A warning is over."""
        run.end = min(run.end, self._mirror.now)
        for gathering in self._mirror.vacate(run):
            self._service.launch(gathering)

    # The interface that the system and the service call.

    def began(self, run: Run) -> None:
        """A run has begun; Slurm reports its end."""

    def update_end(self, run: Run) -> None:
        """A run was preempted: without a warning its job is requeued after the grace."""
        if run.over:
            self._back(run.job, self._grace)

    def schedule_requeue(self, job: JobState) -> None:
        """A warning is over: the job is requeued."""
        self._mirror.requeue(job)
        self._back(job, 0)

    def _back(self, job: JobState, grace: int) -> None:
        if job.job_id in self._mirror.requeued or job.job_id not in self._left:
            return
        self._mirror.requeued[job.job_id] = inf
        if grace:
            self._at(self._mirror.now + grace, lambda: self._requeue(job))
        else:
            self._mirror.orders.append(lambda: self._requeue(job))

    def _requeue(self, job: JobState) -> None:
        if job.job_id in self._left:
            self._mirror.requeued[job.job_id] = self._slurm.now()
            self._steering.requeue(job)

    def plan(self, at: int, run: Run, reservation: Reservation) -> None:
        """A planned preemption."""
        self._at(at, lambda: self._service.carry_out(run, reservation))

    def time_out(self, reservation: Reservation) -> None:
        """Schedule the end of a reservation for a job that does not arrive."""
        self._at(reservation.estimated_arrival + self._timeout, lambda: self._service.time_out(reservation))

    def _at(self, at: int, action: Callable[[], object]) -> None:
        heapq.heappush(self._due, (at, next(self._number), action))

    def _ticks(self, seconds: float) -> int:
        return to_ticks(seconds - self._begin)


def _line(entry: Entry) -> str:
    return (
        f"{to_seconds(entry.time) / 60:8.2f} min  {entry.event} of job {entry.job_id}: {entry.before} to {entry.after} "
        f"nodes{', ' if entry.cause else ''}{entry.cause}"
    )
