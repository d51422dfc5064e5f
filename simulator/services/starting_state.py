"""Starting state of a replay: jobs that are already running when it begins.

The replay begins at the latest recorded start of such a job, or at a later time that is given. Remaining work, ends of
walltimes and preemption overheads follow from the recorded starts, but time before the replay is not booked. Jobs
submitted earlier that do not run are queued.
"""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.simulator.machine.job_state import JobState
from holdfast.simulator.machine.node_use import Usage
from holdfast.simulator.machine.run import JobRun
from holdfast.simulator.machine.stochastic import StochasticJob
from holdfast.simulator.machine.system import System
from holdfast.workloads.ground.errors import InvariantError
from holdfast.workloads.ground.units import to_ticks
from holdfast.workloads.table.job import MALLEABLE

__all__ = ["StartingState", "early_run", "find_starting_state"]


class StartingState:
    """Jobs that are running when the replay begins.

    Parameters
    ----------
    running
        Starts [ticks of the simulated clock] and states.
    begin
        Begin of the replay, not before the latest of these starts [ticks]; None: the latest start.

    Attributes
    ----------
    begin
        Begin of the replay.
    running
        Starts and states of the jobs, in the order of the starts.
    jobs
        Their ids.
    """

    def __init__(self, running: Sequence[tuple[int, JobState]], begin: int | None = None) -> None:
        self.running = sorted(running, key=lambda item: (item[0], item[1].rank))
        self.begin = self.running[-1][0] if begin is None else begin
        self.jobs = frozenset(job.job_id for _, job in running)

    def enter(self, system: System) -> list[JobState]:
        """Allocate nodes to the jobs; returns them in the order of their starts."""
        for since, job in self.running:
            if isinstance(job, StochasticJob):
                raise InvariantError(f"job {job.job_id} cannot have been running before the replay begins")
            run = early_run(job, since, self.begin)
            system.start(job, ((system.cluster.pool, job.nodes),), "runs already", run=run)
        return [job for _, job in self.running]

    def comes(self, job: JobState) -> bool:
        """Whether the notice of a job still has an effect; a notice given earlier is processed at the beginning.

        It has none if the job has arrived or was expected by then, or if the notice has been withdrawn.
        """
        if job.notice >= self.begin:
            return True
        cancelled = job.job.cancelled_at
        if job.job.submit is None and cancelled is not None and job.job.notice is not None:
            if job.notice + to_ticks(cancelled) - to_ticks(job.job.notice) < self.begin:
                return False
        elif 0 <= job.first_submit < self.begin:
            return False
        return job.estimated_arrival >= self.begin


def find_starting_state(jobs: Sequence[JobState], origin: int, begin: int | None = None) -> StartingState | None:
    """Find the starting state of a table; None: the replay begins with an empty machine at the first submit.

    Parameters
    ----------
    jobs
        All states.
    origin
        Ticks of the table's clock at which the simulated clock stands at 0.
    begin
        Begin of the replay [ticks of the simulated clock]; None: the latest start of a running job.
    """
    running = [(to_ticks(job.job.running_since) - origin, job) for job in jobs if job.job.running_since is not None]
    return StartingState(running, begin) if running or begin is not None else None


def early_run(job: JobState, since: int, begin: int) -> JobRun:
    """Create a run that began at ``since``, before the replay."""
    return (_EarlyMalleableRun if job.type is MALLEABLE else _EarlyFixedRun)(job, since, begin)


class _EarlyFixedRun(JobRun):
    """A fixed-size run that began before the replay; only time within the replay is booked."""

    __slots__ = ("_begin",)

    def __init__(self, job: JobState, since: int, begin: int) -> None:
        super().__init__(job, since)
        self._begin = begin

    def complete(self, usage: Usage) -> bool:
        self.abandon(self.end, usage)
        return True

    def abandon(self, now: int, usage: Usage) -> None:
        before, by_now = self.time_breakdown(self._begin), self.time_breakdown(now)
        usage.setup += (by_now.setup - before.setup) * self.nodes
        usage.compute += (by_now.compute - before.compute) * self.nodes
        usage.checkpoint += (by_now.checkpoint - before.checkpoint) * self.nodes

    def stop(self, now: int, usage: Usage) -> None:
        job, before = self.job, self.time_breakdown(self._begin)
        # Checkpoints secure all work before them; work before the replay is not booked.
        secured = self.secure(now)
        dumped = secured // job.interval * job.cost if job.interval else 0
        compute = secured - min(before.compute, secured)
        checkpoint = dumped - min(before.checkpoint, dumped)
        usage.compute += compute * self.nodes
        usage.checkpoint += checkpoint * self.nodes
        usage.lose(job, (now - self._begin - compute - checkpoint) * self.nodes, now)


class _EarlyMalleableRun(JobRun):
    """A run of a malleable job that began before the replay, at its requested size."""

    __slots__ = ("_begin",)

    def __init__(self, job: JobState, since: int, begin: int) -> None:
        super().__init__(job, since)
        self._begin = begin

    def begin(self) -> None:
        super().begin()
        self.settle(self._begin)
        self._in_setup = self._in_work = 0
