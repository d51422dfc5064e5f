"""The course of a job through its plan: what it asks for next, given how its reservations have ended.

Source: stochastic-in-cluster.md; "Profiles of upcoming HPC Applications", section 4.1. It knows what the submitter
knows and nothing else: what was saved, and how each reservation ended, never how long the job will run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from policies.planning.plan import ReservationPlan

__all__ = ["Course", "Request"]


class Request(NamedTuple):
    """A reservation to ask for, in the caller's unit of time.

    Attributes
    ----------
    place
        Of its milestone in the plan, from 0; beyond the plan's end in its extension.
    saved, milestone
        Work that is saved when it begins, and work done at its end.
    restart, checkpoint
        Planned time to read the last checkpoint and to write the next; 0 without.
    checkpointed
        Whether it is to end with a checkpoint.
    memory
        To ask for; None where the plan says nothing of it.
    """

    place: int
    saved: float
    milestone: float
    restart: float
    checkpoint: float
    checkpointed: bool
    memory: float | None

    @property
    def length(self) -> float:
        """Walltime to ask for."""
        return self.restart + (self.milestone - self.saved) + self.checkpoint


class Course:
    """Where a job stands in its plan.

    Parameters
    ----------
    plan
        Its plan.
    unit
        Turns the plan's times into the caller's, e.g. seconds into ticks; they are then summed as they are.
    back
        The inverse, for restart times that vary with what was saved.

    Attributes
    ----------
    saved
        Work behind the last good checkpoint, in the caller's unit.
    good
        Whether there is one.

    Examples
    --------
    >>> from policies.planning.costs import CostModel
    >>> course = Course(ReservationPlan([20, 40], [True, False], CostModel(checkpoint=7, restart=5)))
    >>> course.request().length
    27.0
    >>> course.save(20.0)
    >>> course.request().length
    25.0
    """

    __slots__ = (
        *("_back", "_checkpoint", "_first", "_least", "_memory", "_milestones", "_place", "_plan", "_unit"),
        *("good", "saved"),
    )

    def __init__(
        self, plan: ReservationPlan, unit: Callable[[float], float] = float, back: Callable[[float], float] = float
    ) -> None:
        self._unit = unit
        self._back = back
        self._place = 0
        self._first = 0
        self._least = 0.0
        self.saved: float = unit(0.0)
        self.good = False
        self._take(plan)

    def _take(self, plan: ReservationPlan) -> None:
        self._plan = plan
        self._milestones = plan.milestones
        self._checkpoint = plan.checkpoint
        self._memory = plan.memory

    def request(self) -> Request:
        """The next reservation; beyond the last milestone that of the extension."""
        place, plan, unit = self._place, self._plan, self._unit
        if place >= len(self._milestones):
            plan = plan.extended(float(np.nextafter(self._milestones[-1], np.inf)))
            self._take(plan)
        restart = unit(float(plan.costs.restart_at(self._back(self.saved)))) if self.good else unit(0.0)
        return Request(
            place,
            self.saved,
            unit(float(self._milestones[place])),
            restart,
            unit(float(self._checkpoint[place])),
            bool(plan.checkpointed[place]),
            self._memory_at(place),
        )

    def save(self, work: float) -> None:
        """The reservation has ended with a good checkpoint of so much work."""
        reached = work >= self._unit(float(self._milestones[self._place]))
        self._place += 1
        # Looked up only where a job has stopped early: a milestone in another unit is rounded.
        self._first = self._place if reached else int(np.searchsorted(self._milestones, self._back(work), side="right"))
        self.saved = work
        self.good = True

    def miss(self) -> None:
        """It has ended without: what it computed is lost, and the next one goes on to the next milestone."""
        self._place += 1

    def exceed(self, limit: float) -> None:
        """It was ended because its memory was exceeded: the same milestone again, with more."""
        most = float(np.max(self._memory)) if self._memory is not None else limit
        self._least = most if limit < most else limit * self._plan.extension

    def _memory_at(self, place: int) -> float | None:
        if self._memory is None:
            return None
        # Work that is done again is that of earlier reservations, and needs what was asked for then.
        return max(float(self._memory[min(self._first, place) : place + 1].max()), self._least)
