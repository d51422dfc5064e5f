"""A job of a state as users of the machine see it: with the start of a running job, but not its runtime."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.workloads.table.job import Job, JobType

__all__ = ["SeenJob"]


@dataclass(frozen=True, slots=True)
class SeenJob:
    """A job as shown by the queue.

    Attributes
    ----------
    job_id
        Unique within a state.
    submit
        Submit time [s].
    nodes
        Requested nodes.
    walltime
        Requested walltime [s].
    user, project
        Names; empty if unknown.
    start
        When it started [s]; None: it waits.
    eligible
        Time from which it could start, if later than its submit [s]; else None.
    """

    job_id: int
    submit: float
    nodes: int
    walltime: float
    user: str = ""
    project: str = ""
    start: float | None = None
    eligible: float | None = None

    def job_with_runtime(self, runtime: float) -> Job:
        """The job for the simulator, with that runtime [s], which its walltime does not cut."""
        return Job(
            self.job_id,
            JobType.RIGID,
            self.submit,
            self.nodes,
            runtime,
            max(self.walltime, runtime),
            user=self.user,
            project=self.project,
            running_since=self.start,
            eligible=self.eligible,
        )
