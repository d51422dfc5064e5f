"""Occupants of parts of nodes: runs of jobs, and holds, which keep parts for on-demand jobs.

A hold belongs to a reservation or to an arrived job. Runs inside of it are its guests.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from holdfast.simulator.machine.job_state import JobState, divide
from holdfast.simulator.machine.node_use import Usage
from holdfast.simulator.shared_nodes.demand import Amounts
from holdfast.simulator.shared_nodes.shared_job import SharedJob
from holdfast.workloads.machines.fitted_requests import Need
from holdfast.workloads.table.job import MALLEABLE

__all__ = ["Hold", "PartGathering", "PartLoan", "PartReservation", "SharedRun"]


class SharedRun:
    """A run of a job, from a start to its end or preemption.

    Its speed depends on the number of its parts, its accounting on its units: the nodes or cores that it takes.

    Parameters
    ----------
    job
        State of the job.
    need
        What the job needs in the partition in which it runs.
    taken
        What it takes of each node.
    size
        Number of its parts.
    units
        Its size in the unit of the machine.
    now
        Its start [ticks].

    Attributes
    ----------
    number
        Number of the run among those of its job, from 1.
    end, expected_end
        Its end, and the end of its walltime [ticks].
    opened
        From when on its time is booked: its start, or the later begin of the simulation [ticks].
    since, changed
        Until when its time is booked, and since when it has had its present nodes [ticks].
    warned_until
        End of its warning [ticks]; None: it is not under warning.
    over
        Whether it has left its nodes.
    hosts
        The holds inside of which it runs, by node: those of reservations that lend to it, and of jobs that wait for it.
    ending
        Why it leaves its nodes before its end; empty: it does not.
    beneficiary
        The reservation for which it was preempted as planned; None: none.
    """

    def __init__(self, job: JobState, need: Need, taken: dict[int, Amounts], size: int, units: int, now: int) -> None:
        self.job, self.need, self.taken, self.size, self.units = job, need, taken, size, units
        self.start = self.opened = self.changed = self.since = now
        self.number = job.runs
        self.warned_until: int | None = None
        self.over = False
        self.ending = ""
        self.hosts: dict[int, Hold] = {}
        self.beneficiary: PartReservation | None = None
        self._in_setup = self._in_work = 0
        self.end = now + job.duration(size)
        self.expected_end = now + job.limit(size)

    @property
    def job_id(self) -> int:
        return self.job.job_id

    @property
    def malleable(self) -> bool:
        return self.job.type is MALLEABLE

    @property
    def running(self) -> bool:
        """Whether it goes on, not under warning."""
        return not self.over and self.warned_until is None

    @property
    def release(self) -> int:
        """When it will leave its nodes, as far as is known [ticks]."""
        return self.expected_end if self.warned_until is None else self.warned_until

    @property
    def departure(self) -> tuple[int, int]:
        """Order of runs under warning: by the end of the warning, then by id."""
        return self.release, self.job_id

    def is_ordinary(self, node: int) -> bool:
        """Whether its part of a node belongs to no hold."""
        return node in self.taken and node not in self.hosts

    def loss(self, at: int) -> int:
        """Preemption overhead at a time [unit-ticks]."""
        if self.malleable:
            return self.units * self.job.setup
        return self.units * (at - self.start - self._cycles(at) * self.job.period)

    def settle(self, now: int) -> None:
        """Book the time of a malleable run since the last change; before its size changes."""
        job, since, self.since = self.job, self.since, now
        if not self.malleable:
            return
        ready = min(max(since, self.start + job.setup), now)
        self._in_setup += (ready - since) * self.units
        self._in_work += (now - ready) * self.units
        work = (now - ready) * self.size
        # The end is rounded to a tick, so that the last fraction may be done earlier.
        job.work = max(0, job.work - work)
        job.work_limit = max(0, job.work_limit - work)

    def update_ends(self, now: int) -> None:
        """Recompute the ends after a change of size."""
        ready = max(now, self.start + self.job.setup)
        self.end = ready + divide(self.job.work, self.size)
        self.expected_end = ready + divide(self.job.work_limit, self.size)

    def enter(self, begin: int) -> None:
        """Let a simulation begin while it runs: only its time from then on is booked."""
        self.settle(begin)
        self.opened = begin
        self._in_setup = self._in_work = 0

    def complete(self, usage: Usage) -> bool:
        """Book a run at its end; returns whether its job has completed."""
        if self.opened > self.start:
            self.abandon(self.end, usage)
            return True
        job, units = self.job, self.units
        self.settle(self.end)
        if self.malleable:
            usage.setup += self._in_setup
            usage.malleable_setup += self._in_setup
            usage.compute += self._in_work
            return True
        usage.setup += job.setup * units
        usage.compute += job.compute * units
        usage.checkpoint += job.dumps * job.cost * units
        return True

    def stop(self, now: int, usage: Usage) -> None:
        """Book a preempted run, and leave the rest of the work to the next one."""
        job, units = self.job, self.units
        self.settle(now)
        if self.malleable:
            job.resume_at(self.size)
            usage.compute += self._in_work
            usage.lose(job, self._in_setup, now)
            return
        cycles = self._cycles(now)
        secured = cycles * job.interval
        # Checkpoints also secure work before the simulation, which is not booked.
        _, computed, dumped = self._ticks_by_use(self.opened)
        compute = secured - min(computed, secured)
        checkpoint = cycles * job.cost - min(dumped, cycles * job.cost)
        job.compute -= secured
        job.dumps -= cycles
        job.walltime -= secured
        usage.compute += compute * units
        usage.checkpoint += checkpoint * units
        usage.lose(job, (now - self.opened - compute - checkpoint) * units, now)

    def abandon(self, now: int, usage: Usage) -> None:
        """Book a run that its user ends."""
        units = self.units
        self.settle(now)
        if self.malleable:
            usage.setup += self._in_setup
            usage.compute += self._in_work
            return
        before, by_now = self._ticks_by_use(self.opened), self._ticks_by_use(now)
        setup, compute, checkpoint = (late - early for early, late in zip(before, by_now, strict=True))
        usage.setup += setup * units
        usage.compute += compute * units
        usage.checkpoint += checkpoint * units

    def _ticks_by_use(self, at: int) -> tuple[int, int, int]:
        """Ticks of setup, compute and checkpoints by a time, of a run that is not malleable."""
        job, elapsed, cycles = self.job, at - self.start, self._cycles(at)
        setup = min(elapsed, job.setup)
        rest = elapsed - setup - cycles * job.period
        compute = min(rest, job.interval) if cycles < job.dumps else rest
        return setup, cycles * job.interval + compute, cycles * job.cost + rest - compute

    def _cycles(self, at: int) -> int:
        """Number of complete cycles of compute and dump by a time."""
        job = self.job
        elapsed = at - self.start - job.setup
        return min(elapsed // job.period, job.dumps) if job.period and elapsed > 0 else 0


@dataclass(eq=False)
class Hold:
    """A part of a node that is kept for an on-demand job.

    Attributes
    ----------
    job
        The on-demand job.
    node
        The node.
    part
        What is kept of it.
    guests
        Runs inside of it: a tenant of a reservation, or runs under warning for which an arrived job waits.
    """

    job: SharedJob
    node: int
    part: Amounts
    guests: list[SharedRun] = field(default_factory=list)

    @property
    def used(self) -> Amounts:
        """What its guests take."""
        return tuple(sum(column) for column in zip(*(guest.taken[self.node] for guest in self.guests), strict=True))

    @property
    def footprint(self) -> Amounts:
        """What it and its guests take of the node: the larger of the part and of what the guests take."""
        if not self.guests:
            return self.part
        return tuple(map(max, self.part, self.used))


@dataclass(eq=False)
class PartLoan:
    """Nodes that a run gave up for an on-demand job.

    Attributes
    ----------
    run
        The run that was shrunk or preempted.
    nodes
        The nodes, ascending.
    parts
        What a shrunk run had of each of them; None: the run was preempted.
    moved
        Whether the job has lost these nodes to an outage, so that it returns as many others.
    """

    run: SharedRun
    nodes: list[int]
    parts: dict[int, Amounts] | None = None
    moved: bool = False


@dataclass(eq=False)
class PartReservation:
    """Nodes that are reserved for an on-demand job that gave notice.

    Attributes
    ----------
    job
        The job.
    notice
        Time of the notice [ticks].
    plan
        The runs in its plan.
    loans
        What planned victims have given up for it.
    open
        Whether it is open.
    """

    job: SharedJob
    notice: int
    plan: list[SharedRun] = field(default_factory=list)
    loans: list[PartLoan] = field(default_factory=list)
    open: bool = True

    def horizon(self, now: int) -> int:
        """Until when waiting jobs expect it to keep its nodes [ticks]."""
        return max(self.job.estimated_arrival, now) + self.job.state.walltime


@dataclass(eq=False)
class PartGathering:
    """An arrived on-demand job that waits until runs under warning leave its nodes.

    Attributes
    ----------
    job
        The job.
    loans
        What jobs have given up for it.
    ready
        When the last of these runs leaves [ticks].
    sources
        Where its nodes come from, in words.
    """

    job: SharedJob
    loans: list[PartLoan]
    ready: int
    sources: str
