"""Controller of on-demand jobs on a Slurm: computes the desired state by a mechanism of the simulator.

It is a deterministic function of what is read of Slurm, and when: it sends no command, so that a journal of its input
brings it back after a restart. Its shadow system is the desired state of Slurm.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from itertools import count

from holdfast.experiments.slurm.shadow_system import ShadowSystem, Vacating
from holdfast.experiments.slurm.slurm_state import Seen
from holdfast.policies.mechanism import Mechanism
from holdfast.policies.reserved_backfill import TENANCIES
from holdfast.simulator.machine.cluster import Kind
from holdfast.simulator.machine.event_log import Entry, EventLog
from holdfast.simulator.machine.job_factory import job_state
from holdfast.simulator.machine.job_state import JobState
from holdfast.simulator.machine.node_accounts import Lender, Reservation, Run
from holdfast.simulator.machine.run import is_malleable
from holdfast.simulator.options import Options
from holdfast.simulator.results.recording import clock_origin
from holdfast.simulator.services.on_demand import OnDemandService
from holdfast.workloads.ground.units import to_ticks
from holdfast.workloads.table.job import Job, JobType

__all__ = ["Controller", "Refusal"]

#: A job, and what Slurm refuses to do for it: ``submit``, ``grow`` or ``shrink``.
Refusal = tuple[int, str]


class Controller:
    """The job table, the on-demand service, and the shadow system.

    Parameters
    ----------
    jobs
        Rigid, malleable and on-demand jobs; checked.
    nodes
        Size of the machine.
    mechanism
        Notice and arrival strategy.
    options
        Warning, time-out and tenants; the order and the backfilling are Slurm's.
    grace
        Time from the checkpoint signal until a preempted rigid job is requeued [s].
    begin
        Time of the first event of the table on Slurm's clock [s since 1970].

    Attributes
    ----------
    shadow
        The desired state of Slurm.
    jobs
        States of the jobs by id.
    left
        Jobs that have not ended.
    reports
        Sentences on what was found different from the desired state, in order.
    """

    def __init__(
        self,
        jobs: Sequence[Job],
        nodes: int,
        mechanism: Mechanism,
        options: Options,
        *,
        grace: float,
        begin: float,
    ) -> None:
        self._log, self._begin = EventLog(), begin
        self.shadow = ShadowSystem(nodes, options, self._log, self)
        self.reports: list[str] = []
        self._service = OnDemandService(self.shadow, mechanism, self, options)
        self._tenants = TENANCIES[options.tenants]
        self._timeout, self._grace = to_ticks(options.timeout), to_ticks(grace)
        self._due: list[tuple[int, int, Callable[[], object]]] = []
        self._number = count()
        ranks = {number: rank for rank, number in enumerate(sorted(job.job_id for job in jobs))}
        origin = clock_origin(list(jobs))
        made = [job_state(job, row, ranks[job.job_id], origin, options, baseline=False) for row, job in enumerate(jobs)]
        self.jobs: dict[int, JobState] = {state.job_id: state for state in made}
        self.left = {state.job_id for state in made if state.first_submit >= 0}
        for state in made:
            if state.type is JobType.ON_DEMAND:
                if state.notice >= 0:
                    self._at(state.notice, partial(self._service.notice, state))
                if state.first_submit >= 0:
                    self._at(state.first_eligible, partial(self._service.arrive, state))
            elif state.first_submit >= 0:
                self._at(state.first_eligible, partial(self.shadow.submit, state))

    @property
    def entries(self) -> list[Entry]:
        """Events so far, those of ordered runs at the time of the order; times from the first event of the table."""
        return self._log.entries

    def events(self) -> list[Entry]:
        """Events that have been observed, by time."""
        ordered = {place for _, place in self.shadow.awaited.values()}
        return sorted(
            (entry for place, entry in enumerate(self._log.entries) if place not in ordered),
            key=lambda entry: entry.time,
        )

    def ticks(self, seconds: float) -> int:
        """Ticks from the first event of the table to a time on Slurm's clock [s since 1970]."""
        return to_ticks(seconds - self._begin)

    def is_due(self, now: int) -> bool:
        """Whether an event of the table or of the service is due."""
        return bool(self._due) and self._due[0][0] <= now

    def advance(
        self, now: int, seen: Mapping[int, Seen], refused: Collection[Refusal] = (), unusable: Collection[int] = ()
    ) -> None:
        """Enter what was read of Slurm, then process due events.

        Parameters
        ----------
        now
            Time of the reading [ticks].
        seen
            Submitted jobs as Slurm has them, by id.
        refused
            What Slurm has refused for good.
        unusable
            Nodes on which no job can start, while an ordered job waits for its nodes.
        """
        shadow = self.shadow
        self._enter_changes(seen)
        for job_id, what in refused:
            self._accept(job_id, what, seen.get(job_id))
        while self.is_due(now):
            at, _, action = heapq.heappop(self._due)
            shadow.now = max(shadow.now, at)
            action()
        shadow.now = max(shadow.now, now)
        for run in [run for run in shadow.leaving.values() if run.end <= shadow.now]:
            self._vacate(run)
        self._start_tenants()
        for node in sorted(unusable):
            self._avoid(node, unusable)

    # Changes observed on Slurm.

    def _enter_changes(self, seen: Mapping[int, Seen]) -> None:
        """Enter ends first, because they free the nodes on which other jobs started."""
        shadow = self.shadow
        ended = [number for number in seen if number in self.left and seen[number].ended]
        for number in sorted(ended, key=lambda number: (seen[number].end, number)):
            self._end(self.jobs[number], seen[number])
        waiting = [number for number, shown in seen.items() if number in self.left and shown.state == "PENDING"]
        for number in sorted(waiting):
            self._enter_return(number)
        running = [n for n, shown in seen.items() if n in self.left and shown.state in ("RUNNING", "COMPLETING")]
        for number in sorted(running, key=lambda number: (seen[number].start, number)):
            old = shadow.vacating.get(number)
            if old is not None and seen[number].start == old.start:
                continue
            shadow.vacating.pop(number, None)
            if number in shadow.runs and shadow.began.get(number, seen[number].start) != seen[number].start:
                # Slurm has requeued and started it between two readings.
                self._enter_return(number)
            self._begin_run(self.jobs[number], seen[number], seen)

    def _enter_return(self, number: int) -> None:
        """Enter that a job waits on Slurm."""
        shadow = self.shadow
        shadow.vacating.pop(number, None)
        run = shadow.leaving.get(number)
        if run is not None and number in shadow.began:
            self._vacate(run)
            shadow.vacating.pop(number, None)
        run = shadow.runs.get(number)
        if run is not None and number not in shadow.awaited:
            self.reports.append(f"job {number} was requeued by Slurm")
            shadow.preempt(run, "requeued by Slurm", failed=(shadow.named.pool, 0))
            shadow.vacating.pop(number, None)
        shadow.began.pop(number, None)

    def _begin_run(self, job: JobState, shown: Seen, seen: Mapping[int, Seen]) -> None:
        """Enter the start of a job, or have the job requeued if its nodes are needed otherwise."""
        shadow, number, at = self.shadow, job.job_id, self.ticks(shown.start)
        if number in shadow.awaited:
            shadow.confirm(number, shown.nodes, at, shown.start)
            run = shadow.runs[number]
            if run.nodes != len(shown.nodes) and shown.state == "RUNNING":
                shadow.correct(run, shown.nodes)
            return
        if not job.waiting:
            return

        def is_confirmed(run: Run, node: int) -> bool:
            return run.job_id in seen and node in seen[run.job_id].nodes

        if shadow.make_way(shown.nodes, is_confirmed):
            shadow.enter(job, shown.nodes, at, shown.start)
        else:
            self.reports.append(f"Slurm started job {number} on nodes of another job; it is requeued")
            shadow.vacating[number] = Vacating(shadow.now, shown.start)

    def _end(self, job: JobState, shown: Seen) -> None:
        """Enter the end of a job."""
        shadow, number, at = self.shadow, job.job_id, self.ticks(shown.end)
        self.left.discard(number)
        if number in shadow.awaited:
            shadow.confirm(number, shown.nodes, self.ticks(shown.start), shown.start)
        elif job.waiting and shown.nodes and number not in shadow.vacating:
            free = {node for node in shown.nodes if shadow.named.owner(node).kind != Kind.BUSY}
            if free == shown.nodes and shadow.make_way(shown.nodes, lambda run, node: True):
                shadow.enter(job, shown.nodes, self.ticks(shown.start), shown.start)
        shadow.now = max(shadow.now, at)
        run = shadow.runs.get(number)
        if run is not None:
            shadow.complete(run)
            self._return_nodes(run)
        elif number in shadow.leaving:
            # It was done before its warning was.
            self._vacate(shadow.leaving[number])
            shadow.waiting.remove(job)
        elif job.waiting:
            shadow.waiting.remove(job)
            self._log(shadow.now, "complete", number, 0, 0, "before it was requeued")
        shadow.vacating.pop(number, None)

    def _return_nodes(self, run: Run) -> None:
        """Distribute the nodes of an ended run."""
        if run.type is JobType.ON_DEMAND:
            self._service.complete(run)
        else:
            self.shadow.give_away(run)

    # What Slurm refuses.

    def _accept(self, number: int, what: str, shown: Seen | None) -> None:
        """Take what Slurm has as given."""
        shadow, run = self.shadow, self.shadow.runs.get(number)
        if what == "submit":
            if number in self.left:
                self.reports.append(f"job {number} cannot be submitted; it is left out")
                self.left.discard(number)
                ordered = shadow.withdraw(self.jobs[number])
                if ordered is not None:
                    self._return_nodes(ordered)
            return
        if run is None or shown is None or not is_malleable(run) or number in shadow.awaited:
            return
        extra = shown.nodes - shadow.named.numbers(run)
        if all(shadow.named.owner(node) is shadow.named.pool or shadow.exchange(node, extra) for node in extra):
            self.reports.append(f"job {number} cannot be resized; it goes on with {len(shown.nodes)} nodes")
            shadow.correct(run, shown.nodes)
        else:
            self.reports.append(f"job {number} cannot give up nodes that are needed; it is requeued")
            shadow.preempt(run, "cannot be resized", failed=(shadow.named.pool, 0))

    def _avoid(self, node: int, unusable: Collection[int]) -> None:
        """Choose another node for an ordered run."""
        owner = self.shadow.named.owner(node)
        if isinstance(owner, Run) and owner.job_id in self.shadow.awaited and self.shadow.exchange(node, unusable):
            self.reports.append(f"job {owner.job_id} gets another node than {node}, which cannot be used")

    # The service's own events.

    def _start_tenants(self) -> None:
        shadow = self.shadow
        if not (shadow.reservations and shadow.cluster.totals[Kind.HELD] and shadow.waiting.jobs):
            return
        for start in self._tenants(shadow):
            if start.job_id in shadow.vacating:
                continue  # it has not left its nodes
            draws = start.draws or {}
            lenders: dict[Lender, int] = {
                item: draws[item.job_id] for item in shadow.reservations if item.job_id in draws
            }
            shadow.start(self.jobs[start.job_id], lenders.items(), start.cause, lenders)

    def _vacate(self, run: Run) -> None:
        """A warning is over."""
        run.end = min(run.end, self.shadow.now)
        for gathering in self.shadow.vacate(run):
            self._service.launch(gathering)

    # The interface that the system and the service call.

    def began(self, run: Run) -> None:
        """A run has begun; Slurm reports its end."""

    def update_end(self, run: Run) -> None:
        """A run was preempted: without a warning its job is requeued after the grace."""
        if run.over and run.job_id not in self.shadow.awaited:
            self._back(run.job, self._grace)

    def schedule_requeue(self, job: JobState) -> None:
        """A warning is over: the job is requeued."""
        self.shadow.requeue(job)
        self._back(job, 0)

    def _back(self, job: JobState, grace: int) -> None:
        shadow = self.shadow
        if job.job_id not in shadow.vacating and job.job_id in self.left and job.job_id in shadow.began:
            shadow.vacating[job.job_id] = Vacating(shadow.now + grace, shadow.began[job.job_id])

    def plan(self, at: int, run: Run, reservation: Reservation) -> None:
        """A planned preemption."""
        self._at(at, lambda: self._service.carry_out(run, reservation))

    def time_out(self, reservation: Reservation) -> None:
        """Schedule the end of a reservation for a job that does not arrive."""
        self._at(reservation.estimated_arrival + self._timeout, lambda: self._service.time_out(reservation))

    def _at(self, at: int, action: Callable[[], object]) -> None:
        heapq.heappush(self._due, (at, next(self._number), action))
