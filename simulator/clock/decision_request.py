"""State of an interactive simulation: the decision that it requests from its driver while the clock is stopped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from simulator.machine.job_state import JobState

__all__ = ["Asking"]


@dataclass
class Asking:
    """What the driver of a simulation is asked.

    Attributes
    ----------
    order
        Whether each pass asks which job goes first.
    about
        Whether the driver is asked about a job that is submitted now, before anything happens to it; None: about none.
    pending
        Whether a question waits for its answer.
    job
        The submitted job that it is about.
    halt
        Stops the clock.
    """

    order: bool = False
    about: Callable[[JobState], bool] | None = None
    pending: bool = field(default=False, init=False)
    job: JobState | None = field(default=None, init=False)
    halt: Callable[[], None] = field(default=lambda: None, init=False)

    def ask(self, job: JobState | None = None) -> None:
        """Put the question: the clock stands still until it is answered."""
        self.pending, self.job = True, job
        self.halt()
