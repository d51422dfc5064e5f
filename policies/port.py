"""The interface between policies and the simulator: the view of the machine, and the actions that a policy may return.

All times are ticks of the simulated clock (one second is :data:`workloads.ground.units.SECOND` ticks), all sizes are in
nodes, all losses in node-ticks. A view is live and read-only: a policy must not keep the view or any part of it between
calls.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from workloads.table.job import JobType

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "TOLERANCE",
    "Action",
    "Candidates",
    "Expand",
    "Expect",
    "Hold",
    "Loan",
    "Preempt",
    "Promise",
    "Ranking",
    "Request",
    "Reservation",
    "RunningJob",
    "Shrink",
    "Start",
    "SystemView",
    "WaitingJob",
    "WaitingQueue",
    "Window",
]

#: Times within one microsecond are one instant, and comparisons of walltimes have that tolerance.
TOLERANCE = 1


class WaitingJob(Protocol):
    """A job in the queue."""

    @property
    def job_id(self) -> int: ...
    @property
    def type(self) -> JobType: ...
    @property
    def submit(self) -> int:
        """First submit: a preempted job keeps it."""

    @property
    def eligible(self) -> int:
        """When it could start for the first time, its submit or later: it waits from then on."""

    @property
    def nodes(self) -> int:
        """Requested size, the largest that it can use."""

    @property
    def min_nodes(self) -> int:
        """Smallest size it can run at; equal to ``nodes`` unless it is malleable."""

    @property
    def walltime(self) -> int:
        """``limit(nodes)``, the least that it can be: at hand, because a pass looks at that of every job."""

    @property
    def kept(self) -> int:
        """Nodes that are held for it, because it lent them; it starts as soon as these and free ones suffice."""

    @property
    def user(self) -> str:
        """The user or project of the job; empty where unknown."""

    @property
    def project(self) -> str:
        """What it is charged to; empty where unknown."""

    def limit(self, nodes: int) -> int:
        """Walltime of its next run at that size."""

    def duration(self, nodes: int) -> int:
        """True length of its next run at that size. Only ``backfill_length="runtime"`` may ask for it."""


class Candidates(Protocol):
    """Waiting jobs that a pass tries to start, in queue order; those that do not fit may be among them."""

    def __bool__(self) -> bool: ...
    def __iter__(self) -> Iterator[WaitingJob]: ...
    def narrow(self, free: int, latest: int, extra: int) -> None:
        """Allow the iteration to skip jobs that need more than ``free`` nodes, and jobs with a walltime greater than
        ``latest`` that need more than ``extra`` nodes."""


class WaitingQueue(Protocol):
    """The waiting jobs, first to last: a sequence that answers what a pass asks (:mod:`policies.list_queue`)."""

    @property
    def least(self) -> int:
        """The fewest nodes on which one of the jobs can start; 0 if none waits."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[WaitingJob]: ...
    def __getitem__(self, place: int) -> WaitingJob: ...
    def fitting(self, after: int, nodes: int) -> Candidates:
        """The jobs after the first ``after`` that can start on ``nodes`` nodes."""

    def numbers(self) -> tuple[NDArray[np.int64], NDArray[np.intp]] | None:
        """Their numbers, where they are at hand, and where the first, second, ... job stands among them.

        Numbers are smallest and largest size, walltime at the largest [ticks], and at other sizes the setup [ticks] and
        the node-ticks of the rest of the walltime; shape (5, jobs). None: the jobs are to be looked at one by one.
        """


class Request(WaitingJob, Protocol):
    """An on-demand job that gives notice or arrives."""

    @property
    def estimated_arrival(self) -> int:
        """The arrival that its notice announced."""


class Reservation(Protocol):
    """Nodes kept for an on-demand job that gave notice and has not arrived."""

    @property
    def job_id(self) -> int: ...
    @property
    def requested(self) -> int: ...
    @property
    def idle(self) -> int:
        """Nodes that it has and does not lend."""

    @property
    def lent(self) -> int:
        """Nodes that it has and lends to tenants."""

    @property
    def missing(self) -> int:
        """``requested - idle - lent``."""

    @property
    def notice(self) -> int:
        """When the notice came."""

    @property
    def estimated_arrival(self) -> int: ...
    @property
    def walltime(self) -> int: ...


class RunningJob(Protocol):
    """A job that runs and is not under warning."""

    @property
    def job_id(self) -> int: ...
    @property
    def type(self) -> JobType: ...
    @property
    def nodes(self) -> int:
        """Its size now."""

    @property
    def min_nodes(self) -> int: ...
    @property
    def max_nodes(self) -> int: ...
    @property
    def start(self) -> int: ...
    @property
    def expected_end(self) -> int:
        """When its walltime ends."""

    @property
    def setup(self) -> int: ...
    @property
    def period(self) -> int | None:
        """Checkpoint interval plus checkpoint cost of a rigid job; None: it takes no checkpoints."""

    @property
    def borrowed(self) -> int:
        """How many of its nodes belong to open reservations; it is a tenant while there are any."""

    @property
    def planned(self) -> bool:
        """Whether it is in the plan of an open reservation."""

    def owes(self, job_id: int) -> int:
        """How many of its nodes belong to the reservation of that on-demand job."""

    def loss(self, at: int) -> int:
        """Preemption overhead at that time [node-ticks] (docs/model.md, "Metrics", says what is lost)."""


class Loan(Protocol):
    """Nodes that a job gave up for an on-demand job."""

    @property
    def job_id(self) -> int: ...
    @property
    def nodes(self) -> int: ...
    @property
    def shrunk(self) -> RunningJob | None:
        """The run that was shrunk, while it still goes on."""

    @property
    def preempted(self) -> WaitingJob | None:
        """The job that was preempted, while it waits and has not run since."""


class Window(NamedTuple):
    """Nodes that the machine will take away, or set aside: maintenance, or an advance reservation of others.

    Attributes
    ----------
    start, end
        Ticks: from when, and until when. Nodes that jobs give up at ``start`` are there for it, and what is given back
        at ``end`` can be used from then on.
    nodes
        How many, of whichever nodes.
    """

    start: int
    end: int
    nodes: int


class SystemView(Protocol):
    """The machine as a policy sees it."""

    @property
    def now(self) -> int: ...
    @property
    def nodes(self) -> int:
        """Size of the machine."""

    @property
    def warning(self) -> int:
        """How long a malleable job that is preempted stays on its nodes without progress."""

    @property
    def free(self) -> int:
        """Nodes that are neither occupied nor reserved."""

    @property
    def queue(self) -> Sequence[WaitingJob]:
        """Waiting jobs in queue order: on-demand jobs that could not start come first. In a simulation it answers the
        questions of a :class:`WaitingQueue`; :func:`policies.list_queue.as_queue` asks them of any sequence."""

    @property
    def on_demand_waits(self) -> bool:
        """Whether an on-demand job is in the queue: open reservations then collect nothing."""

    @property
    def running(self) -> Collection[RunningJob]: ...
    @property
    def reservations(self) -> Sequence[Reservation]:
        """Open reservations, earliest notice first."""

    @property
    def kept(self) -> Collection[int]:
        """The jobs for which returned nodes are held, by their ids; these nodes are in no release."""

    def group_usage(self, group: str | None) -> float:
        """Node-ticks that a project (the user where there is none) has used until now, older ones counting less; None:
        of all. 0 unless the queue order has a ``half_life``."""

    @property
    def releases(self) -> Sequence[tuple[int, int, int]]:
        """(time, tie-break, nodes) in ascending order: nodes that running jobs give up when their walltime ends, and
        jobs under warning when they vacate; borrowed nodes and those promised to an arrived job are not counted. Also
        nodes that have been taken away or set aside, or have failed, when they are expected back."""

    @property
    def windows(self) -> Sequence[Window]:
        """Windows that are announced, by their start; most machines have none. A job may only be started where its
        walltime leaves each of them enough nodes at each of its instants. A window that has begun is none any more: its
        nodes are gone and stand in ``releases``. Only if it still waits for some is it here with those, and its start
        is then not after ``now``."""


class Ranking(Protocol):
    """A queue order once more, for many jobs at a time: what makes an order that changes with time fast.

    A simulation has one of its own, and asks it only while many jobs wait. The order of its keys must be that of the
    order's own keys (:class:`policies.order.Order`), but for what ``slack`` allows.
    """

    @property
    def width(self) -> int:
        """How many traits a job has."""

    @property
    def slack(self) -> float:
        """Largest relative error of the keys, 0 if they are exact; if not, there is one array, and the order's own keys
        decide between jobs that are nearer to each other."""

    def traits(self, job: Any) -> tuple[float, ...]:
        """Numbers that do not change while the job waits; asked for once, when it begins to wait."""

    def keys(self, view: SystemView, traits: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
        """The keys of all jobs now; smallest first, the second array among equals of the first, and so on.

        Parameters
        ----------
        view
            The machine.
        traits
            A row for each trait, a column for each job.
        """


@dataclass(frozen=True, slots=True)
class Promise:
    """A reservation that a backfilling rule keeps for a waiting job.

    Attributes
    ----------
    job_id
        The job.
    at
        When it will start at the latest, by what is known now [ticks].
    nodes
        How many nodes are reserved for its walltime; 0: not said, which means its minimum.
    """

    job_id: int
    at: int
    nodes: int = 0


# Not frozen: a replay makes one for each job, and that would take four times as long.
@dataclass(slots=True, unsafe_hash=True)
class Start:
    """Start a waiting job.

    Attributes
    ----------
    job_id
        The job.
    nodes
        Its size.
    cause
        Why it may start, for the event log.
    draws
        Nodes taken from reservations, by the id of their on-demand job: the job becomes their tenant.
    returned
        Nodes taken from what a completed on-demand job returns; only in answer to a completion.
    reason
        As any action may have it: why, in the words of the policy, for explanations.
    """

    job_id: int
    nodes: int
    cause: str = "in order"
    draws: Mapping[int, int] | None = None
    returned: int = 0
    reason: str = field(default="", repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Hold:
    """Open a reservation for the on-demand job that gave notice, initially with ``nodes`` free nodes."""

    nodes: int
    reason: str = field(default="", repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Expect:
    """Put a running job into the plan of the reservation: its release is counted on."""

    job_id: int
    reason: str = field(default="", repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Preempt:
    """Preempt a running job, now, or at a later time by the plan of a reservation."""

    job_id: int
    at: int | None = None
    reason: str = field(default="", repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Shrink:
    """Take nodes from a running malleable job.

    Attributes
    ----------
    job_id
        The job.
    nodes
        What it lends to the arriving job.
    reason
        As any action may have it.
    surplus
        What it gives up besides; it is released.
    """

    job_id: int
    nodes: int
    reason: str = field(default="", repr=False, compare=False)
    surplus: int = 0


@dataclass(frozen=True, slots=True)
class Expand:
    """Give nodes to a running malleable job: what it lent, or nodes that no other job can use."""

    job_id: int
    nodes: int
    reason: str = field(default="", repr=False, compare=False)


Action = Start | Hold | Expect | Preempt | Shrink | Expand
