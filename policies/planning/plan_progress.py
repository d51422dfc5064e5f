"""Progress of a job through its plan: the next request, given how the earlier reservations ended.

Source: docs/model.md, "Stochastic jobs"; "Profiles of upcoming HPC Applications", section 4.1. It uses only what the
submitter knows: the saved progress and how each reservation ended, never the runtime of the job.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from policies.planning.plan import ReservationPlan

__all__ = ["Course", "ReservationRequest", "Schedule"]


class ReservationRequest(NamedTuple):
    """A reservation to ask for, in the caller's unit of time.

    Attributes
    ----------
    place
        Place of its milestone in the plan, from 0; beyond the plan's end in its extension.
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


class Schedule:
    """A plan in the caller's unit of time, at hand for all jobs that follow it.

    Parameters
    ----------
    plan
        Times in its own unit.
    unit
        Turns the plan's times into the caller's, e.g. seconds into ticks; they are then summed as they are.
    back
        The inverse, for restart times that vary with what was saved.

    Attributes
    ----------
    milestones, checkpoints, flags, memory
        Values of each reservation, as far as they were asked for; ``memory`` is None where the plan has none.
    extension
        As of the plan.
    """

    __slots__ = ("_plan", "_restart", "back", "checkpoints", "extension", "flags", "memory", "milestones", "unit")

    def __init__(
        self, plan: ReservationPlan, unit: Callable[[float], float] = float, back: Callable[[Any], float] = float
    ) -> None:
        self.unit = unit
        self.back = back
        self.extension = plan.extension
        self._restart = None if plan.costs.restart_varies else unit(float(plan.costs.restart_at(0.0)))
        self._take(plan)

    def _take(self, plan: ReservationPlan) -> None:
        self._plan = plan
        self.milestones = list(map(self.unit, plan.milestones.tolist()))
        self.checkpoints = list(map(self.unit, plan.checkpoint.tolist()))
        self.flags: list[bool] = plan.checkpointed.tolist()
        self.memory: list[float] | None = None if plan.memory is None else plan.memory.tolist()

    def reach(self, place: int) -> None:
        """Go on beyond the last milestone until there is that reservation."""
        while place >= len(self.milestones):
            self._take(self._plan.extend(float(np.nextafter(self._plan.milestones[-1], np.inf))))

    def restart(self, saved: float) -> float:
        """Time to read the checkpoint of ``work``."""
        if self._restart is not None:
            return self._restart
        return self.unit(float(self._plan.costs.restart_at(self.back(saved))))

    def first_after(self, work: float) -> int:
        """The reservation within which ``work`` is done."""
        return int(np.searchsorted(self._plan.milestones, self.back(work), side="right"))


class Course:
    """Where a job stands in its plan.

    Parameters
    ----------
    schedule
        Its plan.

    Attributes
    ----------
    saved
        Work behind the last good checkpoint, in the unit of the schedule.
    good
        Whether there is one.

    Examples
    --------
    >>> from policies.planning.costs import CostModel
    >>> course = Course(Schedule(ReservationPlan([20, 40], [True, False], CostModel(checkpoint=7, restart=5))))
    >>> course.request().length
    27.0
    >>> course.save(20.0)
    >>> course.request().length
    25.0
    """

    __slots__ = ("_first", "_least", "_place", "_schedule", "good", "saved")

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule
        self._place = 0
        self._first = 0
        self._least = 0.0
        self.saved: float = schedule.unit(0.0)
        self.good = False

    def request(self) -> ReservationRequest:
        """The next reservation; beyond the last milestone that of the extension."""
        place, schedule = self._place, self._schedule
        if place >= len(schedule.milestones):
            schedule.reach(place)
        return ReservationRequest(
            place,
            self.saved,
            schedule.milestones[place],
            schedule.restart(self.saved) if self.good else schedule.unit(0.0),
            schedule.checkpoints[place],
            schedule.flags[place],
            None if schedule.memory is None else self._memory_at(schedule.memory, place),
        )

    def save(self, work: float) -> None:
        """The reservation has ended with a good checkpoint of ``work``."""
        schedule = self._schedule
        reached = work >= schedule.milestones[self._place]
        self._place += 1
        # Looked up only where a job has stopped early: a milestone in another unit is rounded.
        self._first = self._place if reached else schedule.first_after(work)
        self.saved = work
        self.good = True

    def miss(self) -> None:
        """It has ended without: what it computed is lost, and the next one goes on to the next milestone."""
        self._place += 1

    def exceed(self, limit: float) -> None:
        """It was ended because its memory was exceeded: the same milestone again, with more."""
        memory = self._schedule.memory
        most = limit if memory is None else max(memory)
        self._least = most if limit < most else limit * self._schedule.extension

    def _memory_at(self, memory: list[float], place: int) -> float:
        # Work that is done again is that of earlier reservations, and needs what was asked for then.
        return max(*memory[min(self._first, place) : place + 1], self._least)
