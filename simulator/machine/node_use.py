"""Use of nodes by all runs, in node-ticks: compute, setup, checkpoints, losses and warnings."""

from __future__ import annotations

from holdfast.simulator.machine.job_state import JobState

__all__ = ["Usage"]


class Usage:
    """Node-ticks of all runs by purpose; ``lost`` excludes warnings, which have their own field.

    Attributes
    ----------
    losses
        (time, node-ticks) of each loss, warnings included.
    withdrawn
        Node-ticks of cancelled runs, which are also counted by purpose.
    malleable_setup
        Part of ``setup`` that completed runs of malleable jobs took, at any size.
    """

    __slots__ = ("checkpoint", "compute", "losses", "lost", "malleable_setup", "setup", "warning", "withdrawn")

    def __init__(self) -> None:
        self.compute = self.setup = self.checkpoint = self.lost = self.warning = self.withdrawn = 0
        self.malleable_setup = 0
        self.losses: list[tuple[int, int]] = []

    def lose(self, job: JobState, node_ticks: int, now: int) -> None:
        """Book the loss of a job by a preemption."""
        self.lost += node_ticks
        self._note(job, node_ticks, now)

    def lose_to_warning(self, job: JobState, node_ticks: int, now: int) -> None:
        """Book the time under warning."""
        self.warning += node_ticks
        self._note(job, node_ticks, now)

    def _note(self, job: JobState, node_ticks: int, now: int) -> None:
        job.lost += node_ticks
        self.losses.append((now, node_ticks))

    def total(self) -> int:
        return self.compute + self.setup + self.checkpoint + self.lost + self.warning
