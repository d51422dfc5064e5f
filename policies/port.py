"""The interface between policies and the simulator: the view of the machine, and the actions that a policy may return.

All times are ticks of the simulated clock (one second is :data:`holdfast.workloads.ground.units.SECOND` ticks), all
sizes are in nodes, all losses in node-ticks. A view is live and read-only: a policy must not keep the view or any part
of it between calls.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from holdfast.workloads.table.job import JobType

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

#: Times within one microsecond are the same instant; comparisons of walltimes have this tolerance.
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
        """Earliest possible start, at or after the submit; the wait counts from here."""

    @property
    def nodes(self) -> int:
        """Requested size, the largest that the job can use."""

    @property
    def min_nodes(self) -> int:
        """Smallest size of the job; equal to ``nodes`` unless it is malleable."""

    @property
    def walltime(self) -> int:
        """``limit(nodes)``, the minimum over all sizes; stored because a pass reads it for every job."""

    @property
    def kept(self) -> int:
        """Nodes that the job lent and that are held for it; it starts as soon as these and free nodes suffice."""

    @property
    def user(self) -> str:
        """The user or project of the job; empty if unknown."""

    @property
    def project(self) -> str:
        """The project that is charged; empty if unknown."""

    def limit(self, nodes: int) -> int:
        """Walltime of the next run of the job at this size."""

    def duration(self, nodes: int) -> int:
        """Actual runtime of the next run at this size; only ``backfill_length="runtime"`` may use it."""


class Candidates(Protocol):
    """Waiting jobs that a pass tries to start, in queue order; may include jobs that do not fit."""

    def __bool__(self) -> bool: ...
    def __iter__(self) -> Iterator[WaitingJob]: ...
    def narrow(self, free: int, latest: int, extra: int) -> None:
        """Allow the iteration to skip jobs that need more than ``free`` nodes, and jobs with a walltime greater than
        ``latest`` that need more than ``extra`` nodes."""


class WaitingQueue(Protocol):
    """The waiting jobs in queue order, with the searches that a pass needs (:mod:`holdfast.policies.list_queue`)."""

    @property
    def least(self) -> int:
        """Smallest minimum size of a waiting job; 0 if no job waits."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[WaitingJob]: ...
    def __getitem__(self, place: int) -> WaitingJob: ...
    def candidates(self, after: int, nodes: int) -> Candidates:
        """The jobs after the first ``after`` that can start on ``nodes`` nodes."""

    def numbers(self) -> tuple[NDArray[np.int64], NDArray[np.intp]] | None:
        """Sizes and walltimes of the jobs as an array, and the column of the first, second, ... job in it.

        The rows are smallest and largest size, walltime at the largest size [ticks], and for other sizes the setup
        [ticks] and the node-ticks of the rest of the walltime; shape (5, jobs). None: no array is available, so read
        the jobs one by one.
        """


class Request(WaitingJob, Protocol):
    """An on-demand job that gives notice or arrives."""

    @property
    def estimated_arrival(self) -> int:
        """The arrival time that the notice announced."""


class Reservation(Protocol):
    """Nodes reserved for an on-demand job that has given notice but not arrived."""

    @property
    def job_id(self) -> int: ...
    @property
    def requested(self) -> int: ...
    @property
    def idle(self) -> int:
        """Reserved nodes that are not lent."""

    @property
    def lent(self) -> int:
        """Reserved nodes that are lent to tenants."""

    @property
    def missing(self) -> int:
        """``requested - idle - lent``."""

    @property
    def notice(self) -> int:
        """Time of the notice."""

    @property
    def estimated_arrival(self) -> int: ...
    @property
    def walltime(self) -> int: ...


class RunningJob(Protocol):
    """A running job that is not under warning."""

    @property
    def job_id(self) -> int: ...
    @property
    def type(self) -> JobType: ...
    @property
    def nodes(self) -> int:
        """Current size."""

    @property
    def min_nodes(self) -> int: ...
    @property
    def max_nodes(self) -> int: ...
    @property
    def submit(self) -> int:
        """First submit of its job."""

    @property
    def start(self) -> int: ...
    @property
    def expected_end(self) -> int:
        """End of its walltime."""

    @property
    def setup(self) -> int: ...
    @property
    def period(self) -> int | None:
        """Checkpoint interval plus checkpoint cost of a rigid job; None: no checkpoints."""

    @property
    def borrowed(self) -> int:
        """Number of its nodes that belong to open reservations; the job is a tenant while this is not 0."""

    @property
    def planned(self) -> bool:
        """Whether it is in the plan of an open reservation."""

    def owes(self, job_id: int) -> int:
        """Number of its nodes that belong to the reservation of this on-demand job."""

    def loss(self, at: int) -> int:
        """Preemption overhead at this time [node-ticks]; defined in docs/model.md, "Metrics"."""


class Loan(Protocol):
    """Nodes that a job gave up for an on-demand job."""

    @property
    def job_id(self) -> int: ...
    @property
    def nodes(self) -> int: ...
    @property
    def shrunk(self) -> RunningJob | None:
        """The run that was shrunk; None once it has ended."""

    @property
    def preempted(self) -> WaitingJob | None:
        """The job that was preempted; None once it has run again."""


class Window(NamedTuple):
    """Nodes that will be unavailable: maintenance, or an advance reservation for other jobs.

    Attributes
    ----------
    start, end
        First and last instant [ticks]. Nodes that jobs release at ``start`` are available to the window, and its nodes
        are available to jobs from ``end`` on.
    nodes
        Number of nodes; any nodes may be used.
    """

    start: int
    end: int
    nodes: int


class SystemView(Protocol):
    """The view of the machine that policies receive."""

    @property
    def now(self) -> int: ...
    @property
    def nodes(self) -> int:
        """Size of the machine."""

    @property
    def warning(self) -> int:
        """Time for which a preempted malleable job stays on its nodes without progress."""

    @property
    def free(self) -> int:
        """Nodes that are neither occupied nor reserved."""

    @property
    def queue(self) -> Sequence[WaitingJob]:
        """Waiting jobs in queue order; on-demand jobs that could not start come first. In a simulation it is a
        :class:`WaitingQueue`; :func:`holdfast.policies.list_queue.as_queue` makes one of any sequence."""

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
        """Ids of the jobs for which returned nodes are held; ``releases`` does not contain these nodes."""

    def group_usage(self, group: str | None) -> float:
        """Decayed past usage of a project, or of the user if there is no project [node-ticks]; None: of all groups. 0
        unless the queue order has a ``half_life``."""

    @property
    def releases(self) -> Sequence[tuple[int, int, int]]:
        """Future releases of nodes as (time, tie-break, nodes) in ascending order.

        Running jobs release nodes at the end of their walltimes, jobs under warning when they vacate. Borrowed nodes
        and nodes promised to an arrived job are excluded. Nodes in a window that has begun, and failed nodes, are
        released at their expected return."""

    @property
    def windows(self) -> Sequence[Window]:
        """Announced windows by start; most machines have none.

        A job may start only if every window still finds enough nodes at each instant of the job's walltime. A window
        that has begun is not listed: its nodes are unavailable, and ``releases`` contains their return. The exception
        is a window that still lacks nodes: it is listed with the missing nodes and a start that is not after
        ``now``."""


class Ranking(Protocol):
    """A vectorised queue order, which makes orders that change with time fast.

    Each simulation has its own instance, and uses it only while many jobs wait. Its keys must sort the jobs in the same
    way as the keys of the order (:class:`holdfast.policies.order.Order`), within the error given by ``slack``.
    """

    @property
    def width(self) -> int:
        """Number of traits of a job."""

    @property
    def slack(self) -> float:
        """Largest relative error of the keys; 0 if they are exact. Above 0, ``keys`` returns one array, and the keys of
        the order decide between jobs with a smaller difference."""

    def traits(self, job: Any) -> tuple[float, ...]:
        """Numbers that do not change while the job waits; called once, when the job enters the queue."""

    def keys(self, view: SystemView, traits: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
        """Current keys of all jobs. The job with the smallest key goes first; later arrays break ties of earlier ones.

        Parameters
        ----------
        view
            The machine.
        traits
            Array with one row per trait and one column per job.
        """


@dataclass(frozen=True, slots=True)
class Promise:
    """A reservation that a backfilling rule keeps for a waiting job.

    Attributes
    ----------
    job_id
        Id of the job.
    at
        Latest start, by current knowledge [ticks].
    nodes
        Number of reserved nodes; 0: the minimum of the job.
    """

    job_id: int
    at: int
    nodes: int = 0


# Not frozen, because a replay makes an instance for each job, and frozen instances take four times as long to make.
@dataclass(slots=True, unsafe_hash=True)
class Start:
    """Start a waiting job.

    Attributes
    ----------
    job_id
        Id of the job.
    nodes
        Size of the job.
    cause
        Reason for the start, for the event log.
    draws
        Number of nodes taken from each reservation, by the id of its on-demand job; the job becomes a tenant.
    returned
        Number of nodes taken from those that a completed on-demand job returns; legal only in the response to a
        completion.
    reason
        Reason in the words of the policy, for explanations; every action has this field.
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
    """Add the expected release of a running job to the plan of the reservation."""

    job_id: int
    reason: str = field(default="", repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Preempt:
    """Preempt a running job now, or later as planned by a reservation."""

    job_id: int
    at: int | None = None
    reason: str = field(default="", repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Shrink:
    """Take nodes from a running malleable job.

    Attributes
    ----------
    job_id
        Id of the job.
    nodes
        Nodes lent to the arriving job.
    reason
        See :class:`Start`.
    surplus
        Additional nodes that the job gives up; they are released.
    """

    job_id: int
    nodes: int
    reason: str = field(default="", repr=False, compare=False)
    surplus: int = 0


@dataclass(frozen=True, slots=True)
class Expand:
    """Give nodes to a running malleable job: nodes that it lent, or nodes that no other job can use."""

    job_id: int
    nodes: int
    reason: str = field(default="", repr=False, compare=False)


Action = Start | Hold | Expect | Preempt | Shrink | Expand
