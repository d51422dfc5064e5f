"""History of one job in the event log: stays in the queue, runs, and a reservation of nodes.

All times are ticks of the simulated clock. A place is the position of an entry in the log: of two events of an instant
it says which came first.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from holdfast.experiments.stories.facts.service import Gain
from holdfast.simulator.machine.job_state import JobState
from holdfast.workloads.table.job import Job

__all__ = ["Booking", "Instant", "JobHistory", "QueueStay", "ReplayedRun"]


@dataclass(slots=True, eq=False)
class QueueStay:
    """A job in the queue, from the event that brings it there to its start.

    Attributes
    ----------
    job
        Its state while it waits.
    place, since
        The event that brought it there.
    why
        ``submit``, ``requeue`` or ``wait``, as in the log; ``next`` of a further reservation of a stochastic job.
    cause
        As the log has it.
    until
        When it left; None while it waits.
    urgent
        An on-demand job that stands before all others.
    rank
        Its place in the order, the smallest first; valid where the order is static.
    ahead
        Jobs that stood before it when the instant in which it came was over.
    ahead_nodes
        Nodes that they asked for.
    passed_by
        Places of the starts of jobs that stood behind it.
    """

    job: JobState
    place: int
    since: int
    why: str
    urgent: bool
    cause: str = ""
    rank: tuple[object, ...] = ()
    until: int | None = None
    ahead: tuple[int, ...] = ()
    ahead_nodes: int = 0
    passed_by: list[int] = field(default_factory=list)

    @property
    def job_id(self) -> int:
        return self.job.job_id


@dataclass(slots=True, eq=False)
class ReplayedRun:
    """A job on its nodes.

    Attributes
    ----------
    job_id, place, since
        The job, and its start.
    cause
        Cause of the start, as the log has it.
    stay
        The time in the queue before; None if there was none.
    sizes
        (time, nodes) from the start on; 0 nodes at the end.
    changes
        Places of its shrinks and expansions.
    expected_end
        When its walltime would have been over, by its last size.
    stopped, stop_place
        When it was preempted or warned, and where the log says so; None: it went on to its end.
    until, end_place, ending
        When it gave up its nodes, and by which event.
    lost, lost_to_warning
        Node-ticks.
    checkpoints, secured
        Checkpoints that a rigid job wrote, and the compute time behind them [ticks].
    draws
        Nodes that a tenant borrowed, by on-demand job.
    """

    job_id: int
    place: int
    since: int
    cause: str
    stay: QueueStay | None
    sizes: list[tuple[int, int]]
    changes: list[int] = field(default_factory=list)
    expected_end: int = 0
    stopped: int | None = None
    stop_place: int | None = None
    until: int | None = None
    end_place: int | None = None
    ending: str = ""
    lost: int = 0
    lost_to_warning: int = 0
    checkpoints: int = 0
    secured: int = 0
    draws: dict[int, int] = field(default_factory=dict)

    @property
    def nodes(self) -> int:
        """Size at the start."""
        return self.sizes[0][1]

    @property
    def early(self) -> int:
        """By how much it ended before its walltime was over; 0 if it was stopped."""
        return max(0, self.expected_end - self.until) if self.until is not None and self.stopped is None else 0


@dataclass(slots=True, eq=False)
class Booking:
    """The reservation of an on-demand job.

    Attributes
    ----------
    since
        The notice.
    gains
        What it got.
    total
        Nodes that it has, those lent to tenants included.
    until, ending
        When it was over, and how: ``arrived``, or as in the log.
    """

    since: int
    gains: list[Gain] = field(default_factory=list)
    total: int = 0
    until: int | None = None
    ending: str = ""

    def open_at(self, time: int) -> bool:
        """Whether it is open once that instant is over."""
        return self.since <= time and (self.until is None or time < self.until)


@dataclass(frozen=True, slots=True)
class Instant:
    """The machine when an instant is over.

    Attributes
    ----------
    time
        Tick of the simulated clock.
    place
        Place of its first entry in the log.
    busy, held, down
        Nodes.
    head
        The first in the queue.
    holders
        On-demand jobs, and outages by their negative numbers, that nodes are held for; none where it is not known.
    """

    time: int
    place: int
    busy: int
    held: int
    down: int
    head: QueueStay | None
    holders: tuple[int, ...]


@dataclass(slots=True, eq=False)
class JobHistory:
    """All that the log says of one job.

    Attributes
    ----------
    job
        The row of the job table.
    arrival
        Arrival of an on-demand job that is served as one.
    gathered
        Places where it began to wait for nodes under warning.
    others
        Places of entries that are not understood.
    """

    job: Job
    stays: list[QueueStay] = field(default_factory=list)
    runs: list[ReplayedRun] = field(default_factory=list)
    booking: Booking | None = None
    arrival: int | None = None
    gathered: list[int] = field(default_factory=list)
    others: list[int] = field(default_factory=list)
