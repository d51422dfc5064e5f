"""Accounts of nodes other than the free pool, and the loans between them.

A run may be the tenant of reservations, which lend it nodes; under warning it may have promised nodes to arrived jobs
that gather theirs, or be on its way to a reservation by a plan. A loan records the lender and the borrower of nodes.
Source: docs/model.md, "The six mechanisms" and "Readings that are not parameters".
"""

from __future__ import annotations

from typing import Any

from holdfast.simulator.machine.cluster import Account, Kind
from holdfast.simulator.machine.job_state import JobState
from holdfast.simulator.machine.node_use import Usage

__all__ = ["Gathering", "Kept", "Lender", "Loan", "Reservation", "Run"]


class Run(Account):
    """A run: the account of the nodes that it occupies, and its state.

    Not an abstract class, because ``isinstance`` is slow for these and is called at each event.

    Attributes
    ----------
    job
        Job of the run.
    job_id, type
        Attributes of the job, copied because policies read them for each run.
    start, end, expected_end
        Start; time at which it will return its nodes (its completion, or the end of its warning); end of its walltime.
    warned
        Whether it is under warning.
    over
        Whether it has returned its nodes.
    lenders
        Borrowed nodes by open reservation, including advance reservations; the run is their tenant.
    plan
        Open reservation that plans to preempt the run.
    claims
        Under warning: nodes promised to arrived jobs.
    beneficiary
        Under warning by a plan: the reservation that gets its nodes first.
    release
        Its entry in the system's list of expected releases.
    ending
        Event of the engine at its end; None: there is none.
    """

    __slots__ = (
        "beneficiary",
        "claims",
        "end",
        "ending",
        "expected_end",
        "job",
        "job_id",
        "lenders",
        "over",
        "plan",
        "release",
        "start",
        "type",
        "warned",
    )

    lenders: dict[Lender, int]
    claims: list[tuple[Gathering, int]]
    plan: Reservation | None
    beneficiary: Reservation | None
    release: tuple[int, int, int] | None
    ending: Any

    def __init__(self, job: JobState, now: int) -> None:
        self.kind = Kind.BUSY
        self.nodes = 0
        self.job = job
        self.job_id = job.job_id
        self.type = job.type
        self.start = self.end = self.expected_end = now
        self.warned = self.over = False
        self.lenders = {}
        self.claims = []
        self.plan = self.beneficiary = self.release = self.ending = None

    @property
    def submit(self) -> int:
        return self.job.submit

    @property
    def min_nodes(self) -> int:
        return self.job.smallest

    @property
    def max_nodes(self) -> int:
        return self.job.largest

    @property
    def setup(self) -> int:
        return self.job.setup

    @property
    def period(self) -> int | None:
        return None

    @property
    def borrowed(self) -> int:
        return sum(self.lenders.values()) if self.lenders else 0

    @property
    def planned(self) -> bool:
        return self.plan is not None

    def owes(self, job_id: int) -> int:
        if not self.lenders:
            return 0
        return sum(nodes for lender, nodes in self.lenders.items() if lender.job_id == job_id)

    def promised_nodes(self) -> int:
        """Number of nodes promised to arrived jobs while under warning."""
        return sum(nodes for _, nodes in self.claims)

    @property
    def unclaimed(self) -> int:
        """Number of nodes that belong to no open reservation and are not promised."""
        return self.nodes - self.borrowed - self.promised_nodes()

    def loss(self, at: int) -> int:
        """Preemption overhead at that time [node-ticks]."""
        raise NotImplementedError

    def begin(self) -> None:
        """Compute the end, once the run has its nodes."""
        raise NotImplementedError

    def complete(self, usage: Usage) -> bool:
        """Book a run that has reached its end; returns whether its job is done."""
        raise NotImplementedError

    def stop(self, now: int, usage: Usage) -> None:
        """Book a preempted run and keep its checkpointed work."""
        raise NotImplementedError

    def abandon(self, now: int, usage: Usage) -> None:
        """Book a run that is cancelled by its user."""
        raise NotImplementedError


class Lender(Account):
    """Nodes set aside for a job; its account holds the idle ones, others are lent to running jobs.

    Attributes
    ----------
    tenants
        Nodes lent to running jobs, by run.
    """

    __slots__ = ("tenants",)

    def __init__(self) -> None:
        super().__init__(Kind.HELD)
        self.tenants: dict[Run, int] = {}

    @property
    def job_id(self) -> int:
        """Number that identifies it in the event log."""
        raise NotImplementedError

    @property
    def lent(self) -> int:
        return sum(self.tenants.values()) if self.tenants else 0


class Reservation(Lender):
    """Nodes kept for an on-demand job that gave notice.

    Attributes
    ----------
    job
        The on-demand job.
    planned
        The runs of its plan.
    coming
        Planned victims under warning for it.
    loans
        Nodes that it has taken from planned victims.
    open
        False once the job has started, was queued, or did not arrive in time.
    """

    __slots__ = ("coming", "job", "loans", "open", "planned")

    def __init__(self, job: JobState) -> None:
        super().__init__()
        self.job = job
        self.planned: list[Run] = []
        self.coming: dict[Run, None] = {}
        self.loans: list[Loan] = []
        self.open = True

    @property
    def job_id(self) -> int:
        return self.job.job_id

    @property
    def requested(self) -> int:
        return self.job.nodes

    @property
    def idle(self) -> int:
        return self.nodes

    @property
    def missing(self) -> int:
        return self.job.nodes - self.nodes - self.lent

    @property
    def on_their_way(self) -> int:
        """Number of nodes of planned victims that are under warning for it."""
        return sum(run.nodes for run in self.coming) if self.coming else 0

    @property
    def notice(self) -> int:
        return self.job.notice

    @property
    def estimated_arrival(self) -> int:
        return self.job.estimated_arrival

    @property
    def walltime(self) -> int:
        return self.job.walltime

    @property
    def age(self) -> tuple[int, int]:
        """Sort key: earliest notice first."""
        return self.job.notice, self.job.rank


class Gathering(Account):
    """The nodes of an arrived on-demand job: those it has, and those promised by runs under warning.

    Attributes
    ----------
    job
        The on-demand job.
    ready
        Time at which the last promised nodes become available.
    awaited
        The runs under warning that still owe it nodes, once for each promise.
    release
        Its entry in the system's list of expected releases.
    """

    __slots__ = ("awaited", "job", "ready", "release")

    def __init__(self, job: JobState, now: int) -> None:
        super().__init__(Kind.HELD)
        self.job = job
        self.ready = now
        self.awaited: list[Run] = []
        self.release: tuple[int, int, int] | None = None

    @property
    def promised_nodes(self) -> int:
        """Number of nodes that runs under warning still owe it."""
        return sum(count for run in dict.fromkeys(self.awaited) for other, count in run.claims if other is self)


class Kept(Account):
    """Nodes returned to a preempted job and held until it can resume.

    Attributes
    ----------
    job
        The waiting job.
    """

    __slots__ = ("job",)

    def __init__(self, job: JobState) -> None:
        super().__init__(Kind.HELD)
        self.job = job


class Loan:
    """Nodes that a job gave up for an on-demand job, by shrinking or by being preempted."""

    __slots__ = ("_job", "_run", "_runs", "_was_shrunk", "nodes")

    def __init__(self, run: Run, nodes: int, *, was_shrunk: bool) -> None:
        self._run = run
        self._job: JobState = run.job
        self._runs = run.job.runs
        self._was_shrunk = was_shrunk
        self.nodes = nodes

    @property
    def job_id(self) -> int:
        return self._job.job_id

    @property
    def shrunk(self) -> Run | None:
        """The run that was shrunk, while it still goes on."""
        return self._run if self._was_shrunk and not self._run.over and not self._run.warned else None

    @property
    def preempted(self) -> JobState | None:
        """The job that was preempted, while it waits and has not run since."""
        return self._job if not self._was_shrunk and self._job.waiting and self._job.runs == self._runs else None
