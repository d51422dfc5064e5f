"""The scheduling pass on shared nodes: heads with shadow times in each partition, and the jobs that start.

The rules are those of a replay (docs/reference/machines.md) with sizes: a malleable job starts on as many nodes as it
can have, and needs its smallest size as a head.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from holdfast.policies.port import TOLERANCE
from holdfast.simulator.shared_nodes.demand import Amounts
from holdfast.simulator.shared_nodes.expectations import expected_collections, expected_spans
from holdfast.simulator.shared_nodes.limits import LimitBook
from holdfast.simulator.shared_nodes.occupation import Occupation, Span
from holdfast.simulator.shared_nodes.reservations import ReservationBook
from holdfast.simulator.shared_nodes.shared_job import SharedJob
from holdfast.simulator.shared_nodes.state import SharedMachine
from holdfast.workloads.machines.fitted_requests import Need

__all__ = ["SharedScheduler"]


#: A need by identity, a size, and the nodes that windows close to the job.
_Placement = tuple[int, int, frozenset[int]]


class _Head(NamedTuple):
    """A waiting job with a shadow time."""

    job: SharedJob
    need: Need
    time: int
    end: int


class SharedScheduler:
    """Runs scheduling passes.

    Parameters
    ----------
    machine
        The machine.
    book
        Its reservations.
    depth
        Reservations of waiting jobs in each partition; 0: the first that cannot start blocks its partition.
    sort
        Sorts waiting jobs into the order of the queue.
    limits
        Limits on running jobs.
    """

    def __init__(
        self,
        machine: SharedMachine,
        book: ReservationBook,
        depth: int,
        sort: Callable[[list[SharedJob]], list[SharedJob]],
        limits: LimitBook,
    ) -> None:
        self._machine, self._book, self._depth, self._sort, self._limits = machine, book, depth, sort, limits
        #: The queue of the last pass.
        self._queue: list[SharedJob] = []

    def run_pass(self) -> None:
        """Start the waiting jobs that can start, in order."""
        machine = self._machine
        self._queue = self._sort(list(machine.waiting.values()))
        current = _Pass(machine, self._book, self._depth, self._limits)
        for job in self._queue:
            job.waits.pass_to(machine.now)
            if not current.try_job(job):
                job.waits.since = machine.now

    def stranded_amounts(self) -> Amounts:
        """Free amounts that would, after a pass, in all suffice for the first waiting job that has no room."""
        machine, now = self._machine, self._machine.now
        sums: dict[int, Amounts] = {}
        # Jobs with equal requests share a need: trying each once takes a third off a simulation with long queues.
        tried: set[tuple[int, int]] = set()
        for job in self._queue:
            if not job.state.waiting:
                continue
            for need in job.demand.options:
                key = (id(need), job.state.min_nodes)
                if key in tried or self._limits.stops_request(job, need, job.state.min_nodes) is not None:
                    continue
                tried.add(key)
                sized = job.demand.resize(need, job.state.min_nodes)
                closed = machine.closures.closed_nodes(job, now, now + job.state.limit(job.state.min_nodes))
                room = machine.closures.room(machine.free, closed)
                free = None if closed else sums.get(id(need.eligible))
                if free is None:
                    free = sums[id(need.eligible)] = machine.placer.total(need, room)
                suffices = all(have >= amount for have, amount in zip(free, sized.total, strict=True))
                if suffices and machine.placer.place(sized, room) is None:
                    return tuple(have if amount else 0 for have, amount in zip(free, sized.total, strict=True))
        return machine.none


class _Pass:
    """One pass."""

    def __init__(self, machine: SharedMachine, book: ReservationBook, depth: int, limits: LimitBook) -> None:
        self._machine, self._book, self._depth, self._limits = machine, book, depth, limits
        self._heads: list[_Head] = []
        self._plans: list[Span] = []
        self._waiting = dict.fromkeys(range(len(machine.table.machine.partitions)), 0)
        #: What is expected besides the plans, from the first head on; and what has started since.
        self._collected: list[Span] | None = None
        self._occupation: Occupation | None = None
        self._started: list[Span] = []
        #: Placements that have no room in this pass, in which free amounts only become smaller; what the others would
        #: take, and the shortest end with which they would delay the only head, since the last start. Of 12,000 jobs of
        #: which up to 256 wait, a simulation takes 32 s instead of 54 s.
        self._failed: set[_Placement] = set()
        self._found: dict[_Placement, dict[int, Amounts]] = {}
        self._delays: dict[_Placement, int] = {}

    def try_job(self, job: SharedJob) -> bool:
        """Start a job, or make it a head; returns whether it has started."""
        job.waits.blocked, job.waits.stopped_by = False, None
        if self._has_no_room(job):
            return False
        waits_in: list[Need] = []
        for need in job.demand.options:
            limit = self._limits.stops_request(job, need, job.state.min_nodes)
            if limit is not None:
                job.waits.stopped_by = limit
                continue
            if self._depth == 0 and self._waiting[need.partition]:
                continue
            started, stopped = self._start_in(job, need)
            if started:
                return True
            if not stopped:
                waits_in.append(need)
        if waits_in:
            job.waits.stopped_by = None
        waits_in = [need for need in waits_in if self._waiting[need.partition] < max(self._depth, 1)]
        if waits_in and self._depth:
            started = self._plan_head(job, waits_in)
            if started or job.waits.stopped_by is not None:
                return started
        for need in waits_in:
            self._waiting[need.partition] += 1
        return False

    def _has_no_room(self, job: SharedJob) -> bool:
        """Whether it is known that a job has no room at any size, and there is no reservation for it.

        Most jobs of a long queue end here, which saves a sixth of a simulation.
        """
        size, most = job.state.min_nodes, max(self._depth, 1)
        if self._limits.exist or self._machine.closures.exist:
            return False
        return all(
            (id(need), size, frozenset()) in self._failed and self._waiting[need.partition] >= most
            for need in job.demand.options
        )

    def _start_in(self, job: SharedJob, need: Need) -> tuple[bool, bool]:
        """Start a job in a partition at the largest size at which no head is delayed.

        Returns whether it has started, and whether only limits stop it.
        """
        machine = self._machine
        stopped = blocked = False
        for size, closed, taken in self._placements(job, need):
            limit = self._limits.stops(job, need, taken)
            if limit is not None:
                job.waits.stopped_by, stopped = limit, True
                continue
            end, key = machine.now + job.state.limit(size), (id(need), size, closed)
            known = self._delays.get(key)
            if known is None or end < known:
                plans = self._plans_beside(Span(machine.now, end, taken))
                if plans is not None:
                    self._begin(job, need, taken, size, plans)
                    return True, False
                # Several heads may move to other nodes beside a longer job, so that it delays none of them.
                if len(self._heads) == 1:
                    self._delays[key] = end
            blocked = True
            job.waits.blocked, job.waits.other = True, self._heads[-1].job.job_id
        return False, stopped and not blocked

    def _placements(self, job: SharedJob, need: Need) -> Iterator[tuple[int, frozenset[int], dict[int, Amounts]]]:
        """Sizes at which a job has room now, from the largest on, with the nodes that are closed to it."""
        machine, state = self._machine, job.state
        for size in range(state.nodes, state.min_nodes - 1, -1):
            closed = machine.closures.closed_nodes(job, machine.now, machine.now + state.limit(size))
            key = (id(need), size, closed)
            if key in self._failed:
                continue
            taken = self._found.get(key)
            if taken is None:
                room = machine.closures.room(machine.free, closed)
                taken = machine.placer.place(job.demand.resize(need, size), room)
            if taken is None:
                self._failed.add(key)
            else:
                self._found[key] = taken
                yield size, closed, taken

    def _begin(self, job: SharedJob, need: Need, taken: dict[int, Amounts], size: int, plans: list[Span]) -> None:
        machine = self._machine
        run = machine.start(job, need, taken, size, "")
        self._plans = plans
        self._found.clear()
        self._delays.clear()
        if self._occupation is not None:
            self._started.append(Span(machine.now, max(run.expected_end, machine.now + 1), taken))

    def _plans_beside(self, more: Span) -> list[Span] | None:
        """The heads in order at their times beside a further job; None: one of them has no place."""
        plans: list[Span] = []
        for head in self._heads:
            taken = self._place_at(head.job, head.need, head.time, TOLERANCE, [more, *plans])
            if taken is None:
                return None
            plans.append(Span(head.time, head.end, taken))
        return plans

    def _place_at(
        self, job: SharedJob, need: Need, time: int, slack: int, more: Sequence[Span]
    ) -> dict[int, Amounts] | None:
        """A job at its smallest size for its whole walltime from a time on."""
        machine, size = self._machine, job.state.min_nodes
        end = time + job.state.limit(size)
        spans = [*(self._collected or ()), *self._started, *more]
        assert self._occupation is not None
        free = self._occupation.least(time, end, slack, spans)
        room = machine.closures.room(free, machine.closures.closed_nodes(job, time, end))
        return machine.placer.place(job.demand.resize(need, size), room)

    def _plan_head(self, job: SharedJob, needs: Sequence[Need]) -> bool:
        """Give a job its shadow time; it starts, if that is now."""
        machine = self._machine
        if self._collected is None:
            self._occupation = Occupation(machine.capacities, expected_spans(machine))
            self._collected = expected_collections(machine, self._book, self._occupation)
        now, size = machine.now, job.state.min_nodes
        time, need = min(
            ((self._shadow_time(job, need), place) for place, need in enumerate(needs)),
            key=lambda found: found,
        )
        chosen = needs[need]
        taken = self._place_at(job, chosen, time, TOLERANCE if time > now else 0, self._plans)
        assert taken is not None
        end = time + job.state.limit(size)
        if time == now:
            job.waits.stopped_by = self._limits.stops(job, chosen, taken)
            if job.waits.stopped_by is not None:
                return False
            plans = self._plans_beside(Span(now, end, taken))
            if plans is not None:
                self._begin(job, chosen, taken, size, plans)
                return True
        self._heads.append(_Head(job, chosen, time, end))
        self._delays.clear()
        self._plans.append(Span(time, end, taken))
        if job.waits.promised is None:
            job.waits.promised, job.waits.promised_at = time, now
        return False

    def _shadow_time(self, job: SharedJob, need: Need) -> int:
        """The earliest time at which a job can be placed beside the heads."""
        occupation, machine = self._occupation, self._machine
        assert occupation is not None
        now = machine.now
        spans = [*(self._collected or ()), *self._started, *self._plans]
        ends = occupation.ends(spans) | {end for end, _ in machine.closures.ends()}
        times = sorted({now, *(end for end in ends if end > now)})
        smallest = job.demand.resize(need, job.state.min_nodes)

        def has_room(time: int) -> bool:
            """Whether it could be placed if nothing more began: from some time on this is so."""
            return machine.placer.place(smallest, occupation.at(time, more=spans, begun=now)) is not None

        # Bisection leaves out the times before: 15,000 jobs of Helios under CUP-SPAA take 33 s, not 61 s.
        for time in times[bisect_left(times, True, key=has_room) :]:
            if self._place_at(job, need, time, 0, self._plans) is not None:
                return time
        raise AssertionError(f"job {job.job_id} fits the empty machine")
