"""The course of a job through its plan, against a plan followed by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.policies.planning.costs import CostModel, Table
from holdfast.policies.planning.plan import ReservationPlan
from holdfast.policies.planning.plan_progress import Course, Schedule
from holdfast.workloads.ground.units import SECOND, to_seconds, to_ticks

COSTS = CostModel(checkpoint=7, restart=5)


@pytest.mark.parametrize("memory", [None, [3.0, 1.0, 2.0, 5.0]])
def test_a_course_on_which_all_goes_well_is_the_plan(memory: list[float] | None) -> None:
    plan = ReservationPlan([10, 25, 40, 90], [False, True, True, False], COSTS, memory=memory)
    course = Course(Schedule(plan))
    lengths, restarts = [], []
    for flag in plan.checkpointed:
        asked = course.request()
        lengths.append(asked.length)
        restarts.append(asked.restart)
        if flag:
            course.save(asked.milestone)
        else:
            course.miss()
    assert lengths == plan.length.tolist()
    assert restarts == plan.restart.tolist()
    assert course.request().milestone == 135


@given(
    steps=st.lists(st.integers(1, 50), min_size=1, max_size=5),
    flags=st.lists(st.booleans(), min_size=5, max_size=5),
    asked=st.lists(st.integers(1, 9), min_size=5, max_size=5),
    outcomes=st.lists(st.sampled_from(["good", "good", "bad", "memory"]), max_size=12),
    varying=st.booleans(),
    ticks=st.booleans(),
    shared=st.booleans(),
)
def test_a_course_by_hand(
    steps: list[int],
    flags: list[bool],
    asked: list[int],
    outcomes: list[str],
    varying: bool,
    ticks: bool,
    shared: bool,
) -> None:
    ends = np.cumsum(steps).tolist()
    flags, memory = flags[: len(ends)], [float(x) for x in asked[: len(ends)]]
    restart = Table([0.0, 1000.0], [2.0, 2002.0]) if varying else 5.0
    plan = ReservationPlan(ends, flags, CostModel(checkpoint=7, restart=restart), memory=memory)
    unit = SECOND if ticks else 1
    schedule = Schedule(plan, to_ticks, to_seconds) if ticks else Schedule(plan)
    if shared:
        # Another job that follows the same plan has gone far beyond its end.
        schedule.reach(len(ends) + 9)
    course = Course(schedule)

    # What a submitter would write on paper.
    milestones, marks, needs = [float(x) for x in ends], [*flags], [*memory]
    place = first = 0
    saved = least = 0.0
    good = False
    for outcome in outcomes:
        if place == len(milestones):
            milestones.append(milestones[-1] * 1.5)
            marks.append(any(flags))
            needs.append(needs[-1])
        request = course.request()
        # Beyond its last point a table stays where it is.
        reading = (2.0 + 2.0 * min(saved, 1000.0) if varying else 5.0) if good else 0.0
        length = reading + milestones[place] - saved + (7.0 if marks[place] else 0.0)
        assert request.length == pytest.approx(length * unit, abs=3)
        assert request.saved == pytest.approx(saved * unit, abs=1)
        assert request.checkpointed == marks[place]
        assert request.memory == max(*needs[first : place + 1], least)
        if outcome == "memory":
            limit = request.memory
            assert limit is not None
            course.exceed(limit)
            least = max(memory) if limit < max(memory) else 1.5 * limit
        elif outcome == "good" and marks[place]:
            course.save(request.milestone)
            saved, good = milestones[place], True
            place += 1
            first = place
        else:
            course.miss()
            place += 1


def test_work_behind_an_early_checkpoint_is_asked_for_again_with_its_memory() -> None:
    """A job that stopped at 8 of 10, or at 30 between milestones, does the rest of these parts in the next one."""
    plan = ReservationPlan([10, 25, 40], [True, True, False], COSTS, memory=[9.0, 4.0, 2.0])
    early, later = Course(Schedule(plan)), Course(Schedule(plan))
    early.save(8.0)
    assert early.request().memory == 9.0
    assert early.request().length == 5 + 17 + 7
    later.miss()
    later.save(25.0)
    assert later.request().memory == 2.0
    assert later.request().length == 5 + 15
