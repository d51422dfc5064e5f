"""Reservations, arrived jobs that gather their nodes, and the loans that on-demand jobs take.

Source: hybrid-workloads.md, sections 4 to 6.
"""

from __future__ import annotations

from simulator.cluster import Account, Kind
from simulator.jobstate import FixedJob, JobState
from simulator.run import Run

__all__ = ["Gathering", "Loan", "Reservation"]


class Reservation(Account):
    """Nodes kept for an on-demand job that gave notice; its account holds the idle ones.

    Attributes
    ----------
    job
        The on-demand job.
    tenants
        Nodes lent to running jobs.
    planned
        The runs of its plan.
    coming
        Planned victims under warning for it.
    open
        False once the job has started, was sent to the queue, or did not come in time.
    """

    __slots__ = ("coming", "job", "open", "planned", "tenants")

    def __init__(self, job: FixedJob) -> None:
        super().__init__(Kind.HELD)
        self.job = job
        self.tenants: dict[Run, int] = {}
        self.planned: list[Run] = []
        self.coming: dict[Run, None] = {}
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
    def lent(self) -> int:
        return sum(self.tenants.values()) if self.tenants else 0

    @property
    def missing(self) -> int:
        return self.job.nodes - self.nodes - self.lent

    @property
    def on_their_way(self) -> int:
        """Nodes of planned victims that are under warning for it."""
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
    """An arrived on-demand job that has its nodes, or has them promised by jobs under warning.

    Attributes
    ----------
    job
        The on-demand job.
    ready
        When the last promised nodes come.
    awaited
        How many runs under warning still owe it nodes.
    release
        Its entry in the system's list of expected releases.
    """

    __slots__ = ("awaited", "job", "ready", "release")

    def __init__(self, job: FixedJob, now: int) -> None:
        super().__init__(Kind.HELD)
        self.job = job
        self.ready = now
        self.awaited = 0
        self.release: tuple[int, int, int] | None = None


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
