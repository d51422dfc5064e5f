"""State of a job: its remaining work and its history.

A job is waiting, running, or done; its state outlives its runs. The remaining work of a rigid or on-demand job is
compute time and checkpoints, that of a malleable job node-ticks. Source: Fan et al., IPDPS 2022, section III-A.
"""

from __future__ import annotations

from holdfast.workloads.ground.units import to_ticks
from holdfast.workloads.table.job import MALLEABLE, Job, JobType

__all__ = ["JobState", "divide"]


class JobState:
    """State of a job; all times in ticks of the simulated clock.

    One concrete class serves rigid, on-demand and malleable jobs: CPython caches the class of the last attribute access
    at each instruction and is slow where two classes alternate; ``isinstance`` is slow for abstract classes.

    Parameters
    ----------
    job
        The row of the job table.
    kind
        Type that it is treated as.
    row, rank
        Its position in the input, and in the order of job ids.
    origin
        Ticks of the table's clock at which the simulated clock stands at 0.
    submit
        Submit on the simulated clock; -1 for a no-show, for which it is never used.
    runtime, walltime
        Runtime of the undisturbed job, and walltime of its next run.

    Attributes
    ----------
    job
        The row of the job table.
    row, rank
        Its position in the input, and in the order of job ids; both break ties.
    submit, first_submit
        Submit times of the current request (a stochastic job: its current reservation) and of the job [ticks].
    eligible, first_eligible
        Times at which these became eligible, and so entered the queue [ticks].
    runs
        Number of runs begun.
    start, end
        Start of its first and end of its last run; None before.
    preemptions, shrinks
        Number of preemptions (warnings) and of shrinks.
    lost
        Node-ticks lost to preemptions.
    walltime
        Walltime of the next run at its requested size.
    withdrawn
        Whether its user has cancelled it, at ``end``.
    compute, dumps
        Rigid and on-demand jobs: compute time and checkpoints of the next run.
    interval, cost, period
        Compute time between two checkpoints, duration of one, and their sum; period 0: no checkpoints.
    work, work_limit
        Malleable jobs: remaining node-ticks of work, and remaining node-ticks until the walltime; both fall together.
    min_nodes, nodes
        Smallest and largest size at which its next run may start.
    smallest, largest
        Smallest and largest size of a run, between which it may shrink and expand.
    kept
        Nodes that are held for it while it waits.
    resumes_as_stopped
        Malleable jobs: whether a run after a preemption starts at the size that the preempted run had.
    """

    __slots__ = (
        "compute",
        "cost",
        "dumps",
        "eligible",
        "end",
        "estimated_arrival",
        "first_eligible",
        "first_submit",
        "interval",
        "job",
        "job_id",
        "kept",
        "largest",
        "lost",
        "min_nodes",
        "nodes",
        "notice",
        "order_key",
        "period",
        "preemptions",
        "rank",
        "resumes_as_stopped",
        "row",
        "runs",
        "setup",
        "shrinks",
        "smallest",
        "start",
        "submit",
        "type",
        "undisturbed",
        "waiting",
        "walltime",
        "withdrawn",
        "work",
        "work_limit",
    )

    order_key: tuple[object, int]
    start: int | None
    end: int | None

    def __init__(
        self, job: Job, kind: JobType, row: int, rank: int, origin: int, submit: int, runtime: int, walltime: int
    ) -> None:
        # Multiple assignments, because they are faster and there may be a million jobs.
        self.job = job
        self.job_id = job.job_id
        self.type = kind
        self.row = row
        self.rank = rank
        self.nodes = self.min_nodes = self.smallest = self.largest = job.nodes
        self.submit = self.first_submit = self.estimated_arrival = self.eligible = self.first_eligible = submit
        if job.eligible is not None and submit >= 0:
            self.eligible = self.first_eligible = max(submit, to_ticks(job.eligible) - origin)
        self.notice = -1
        if job.notice is not None and job.estimated_arrival is not None:
            self.notice = to_ticks(job.notice) - origin
            self.estimated_arrival = to_ticks(job.estimated_arrival) - origin
        self.undisturbed = self.compute = runtime
        self.walltime = walltime
        self.interval = self.cost = self.period = self.dumps = self.setup = self.work = self.work_limit = 0
        self.runs = self.preemptions = self.shrinks = self.lost = self.kept = 0
        self.waiting = self.withdrawn = False
        self.start = self.end = None

    def take_overheads(self) -> None:
        """Split the runtime of a rigid job into setup, compute time and checkpoints."""
        job, total = self.job, self.compute
        # Both are rounded separately.
        self.setup = min(to_ticks(job.setup), total)
        if job.checkpoint_interval is not None:
            self.interval = to_ticks(job.checkpoint_interval)
            self.cost = to_ticks(job.checkpoint_cost)
            self.period = self.interval + self.cost
            # No dump at the end, so the last slice may be up to one period long.
            self.dumps = max(0, -(-(total - self.setup) // self.period) - 1)
        self.compute = total - self.setup - self.dumps * self.cost

    def take_any_size(self, start: str, resume: str) -> None:
        """Let a malleable job run at any size from ``smallest`` to ``largest``.

        Parameters
        ----------
        start, resume
            Options ``malleable_start`` and ``malleable_resume``: the sizes at which runs begin.
        """
        job, runtime = self.job, self.compute
        self.smallest = job.min_nodes if job.min_nodes is not None else job.nodes
        if start == "free":
            self.min_nodes = self.smallest
        self.resumes_as_stopped = resume == "former"
        self.setup = min(to_ticks(job.setup), runtime)
        self.compute = 0
        self.work = (runtime - self.setup) * job.nodes
        self.work_limit = (self.walltime - self.setup) * job.nodes
        self.walltime = self.limit(self.nodes)

    @property
    def user(self) -> str:
        return self.job.user

    @property
    def project(self) -> str:
        return self.job.project

    @property
    def ends_at_walltime(self) -> bool:
        """Whether it is killed at its walltime; under the baseline, overheads do not count."""
        job = self.job
        if not job.killed or job.trace_runtime is None or job.trace_walltime is None:
            return job.killed
        return job.trace_runtime >= job.trace_walltime or self.undisturbed != to_ticks(job.trace_runtime)

    def resume_at(self, nodes: int) -> None:
        """Set the size at which a preempted malleable job resumes; its remaining work must be up to date."""
        if self.resumes_as_stopped:
            self.min_nodes = self.nodes = nodes
        self.walltime = self.limit(self.nodes)

    def limit(self, nodes: int) -> int:
        """Walltime of the next run on ``nodes`` nodes."""
        return self.setup + divide(self.work_limit, nodes) if self.type is MALLEABLE else self.walltime

    def duration(self, nodes: int) -> int:
        """True length of the next run on ``nodes`` nodes."""
        if self.type is MALLEABLE:
            return self.setup + divide(self.work, nodes)
        return self.setup + self.compute + self.dumps * self.cost


def divide(node_ticks: int, nodes: int) -> int:
    """Time that the work takes on ``nodes`` nodes, rounded to a tick; halves to even, as ``round`` does."""
    ticks, rest = divmod(node_ticks, nodes)
    if not rest:
        return ticks
    return ticks + (2 * rest > nodes or (2 * rest == nodes and ticks % 2))
