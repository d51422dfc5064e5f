"""States of the jobs of a stream, which exist only between submit and end."""

from __future__ import annotations

from holdfast.simulator.machine.job_state import JobState
from holdfast.workloads.table.job import RIGID, Job
from holdfast.workloads.table.jobs import Jobs

__all__ = ["StreamedJob"]


class StreamedJob(JobState):
    """A rigid job without overheads, at its trace's runtime and walltime.

    Parameters
    ----------
    table
        The table.
    rank, row
        As for :class:`~holdfast.simulator.machine.job_state.JobState`.
    job_id, submit, nodes, runtime, walltime
        Values of its row; ticks of the simulated clock.
    """

    __slots__ = ("_table",)

    def __init__(
        self,
        table: Jobs,
        rank: int,
        row: int,
        job_id: int,
        submit: int,
        nodes: int,
        runtime: int,
        walltime: int,
    ) -> None:
        # Fields are assigned here without the base class, because there are millions of jobs.
        self._table = table
        self.row = row
        self.rank = rank
        self.job_id = job_id
        self.type = RIGID
        self.submit = self.first_submit = self.estimated_arrival = self.eligible = self.first_eligible = submit
        self.nodes = self.min_nodes = self.smallest = self.largest = nodes
        self.undisturbed = self.compute = runtime
        self.walltime = walltime
        self.notice = -1
        self.interval = self.cost = self.period = self.dumps = self.setup = self.work = self.work_limit = 0
        self.runs = self.preemptions = self.shrinks = self.lost = self.kept = 0
        self.waiting = self.withdrawn = False
        self.start = self.end = None

    @property
    def job(self) -> Job:  # type: ignore[override]  # made on access
        return self._table[self.row]

    @property
    def user(self) -> str:
        return self._text("user")

    @property
    def project(self) -> str:
        return self._text("project")

    def _text(self, name: str) -> str:
        codes = self._table.columns.get(name)
        return "" if codes is None else self._table.names[codes[self.row]]
