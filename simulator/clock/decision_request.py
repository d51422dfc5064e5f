"""State of an interactive simulation: the decision that it requests from its driver while the clock is stopped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from holdfast.simulator.machine.job_state import JobState

__all__ = ["Asking"]


@dataclass
class Asking:
    """The decisions that a simulation requests from its driver.

    Attributes
    ----------
    order
        Whether each pass requests the job that goes first.
    about
        Whether a decision is requested about a job that is about to be submitted; None: about no job.
    pending
        Whether a request is waiting for its answer.
    job
        The submitted job of the request.
    halt
        Stops the clock.
    """

    order: bool = False
    about: Callable[[JobState], bool] | None = None
    pending: bool = field(default=False, init=False)
    job: JobState | None = field(default=None, init=False)
    halt: Callable[[], None] = field(default=lambda: None, init=False)

    def ask(self, job: JobState | None = None) -> None:
        """Request a decision: the clock is stopped until it is made."""
        self.pending, self.job = True, job
        self.halt()
