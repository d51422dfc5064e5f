"""Progress of a job through its plan: the next request, given how the earlier reservations ended.

Source: docs/model.md, "Stochastic jobs"; "Profiles of upcoming HPC Applications", section 4.1. The next request depends
only on what the submitter knows, the saved progress and how each reservation ended, and not on the runtime of the job.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from holdfast.policies.planning.plan import ReservationPlan

__all__ = ["Course", "ReservationRequest", "Schedule"]


class ReservationRequest(NamedTuple):
    """A reservation to request, in the time unit of the caller.

    Attributes
    ----------
    place
        Index of its milestone in the plan, from 0; larger indices refer to the extension.
    saved, milestone
        Saved work at the start, and completed work at the end of the reservation.
    restart, checkpoint
        Planned times to read the last checkpoint and to write the next one; 0 without a checkpoint.
    checkpointed
        Whether the reservation ends with a checkpoint.
    memory
        Memory to request; None if the plan does not set it.
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
        """Walltime to request."""
        return self.restart + (self.milestone - self.saved) + self.checkpoint


class Schedule:
    """A plan converted to the time unit of the caller, shared by all jobs that follow it.

    Parameters
    ----------
    plan
        The plan, in its own time unit.
    unit
        Function that converts times of the plan to the unit of the caller, e.g. seconds to ticks.
    back
        Inverse of ``unit``, for restart times that depend on the saved work.

    Attributes
    ----------
    milestones, checkpoints, flags, memory
        Values of each reservation, computed on demand; ``memory`` is None if the plan has none.
    extension
        As in the plan.
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
        """Extend the sequence until it contains this reservation."""
        while place >= len(self.milestones):
            self._take(self._plan.extend(float(np.nextafter(self._plan.milestones[-1], np.inf))))

    def restart(self, saved: float) -> float:
        """Time to read the checkpoint at which ``saved`` work is done."""
        if self._restart is not None:
            return self._restart
        return self.unit(float(self._plan.costs.restart_at(self.back(saved))))

    def first_after(self, work: float) -> int:
        """Index of the first reservation with a milestone beyond ``work``."""
        return int(np.searchsorted(self._plan.milestones, self.back(work), side="right"))


class Course:
    """The progress of a job in its plan.

    Parameters
    ----------
    schedule
        Plan of the job.

    Attributes
    ----------
    saved
        Work saved by the last good checkpoint, in the unit of the schedule.
    good
        Whether there is a good checkpoint.

    Examples
    --------
    >>> from holdfast.policies.planning.costs import CostModel
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
        """The next reservation to request; beyond the last milestone, one of the extension."""
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
        """Record that the reservation ended with a good checkpoint of ``work``."""
        schedule = self._schedule
        reached = work >= schedule.milestones[self._place]
        self._place += 1
        # The search is only for jobs that have stopped early, because milestones in another unit are rounded.
        self._first = self._place if reached else schedule.first_after(work)
        self.saved = work
        self.good = True

    def miss(self) -> None:
        """Record that the reservation ended without a checkpoint: its work is lost; the next milestone follows."""
        self._place += 1

    def exceed(self, limit: float) -> None:
        """Record that the reservation exceeded its memory: the same milestone follows with more memory."""
        memory = self._schedule.memory
        most = limit if memory is None else max(memory)
        self._least = most if limit < most else limit * self._schedule.extension

    def _memory_at(self, memory: list[float], place: int) -> float:
        # Repeated work belongs to earlier reservations, and needs the memory of their requests.
        return max(*memory[min(self._first, place) : place + 1], self._least)
