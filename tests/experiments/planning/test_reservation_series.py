"""Series of reservations: worked out by hand, against a plain queue, and against the simulator's stochastic jobs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.experiments.planning.reservation_series import RELEASES, REQUEUES, Reservation, replay_series, series
from holdfast.policies.planning.costs import CostModel
from holdfast.policies.planning.plan import ReservationPlan
from holdfast.policies.planning.plan_progress import Schedule
from holdfast.simulator.results.metrics import summarize
from holdfast.simulator.simulation import simulate
from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.table.job import Job, JobType
from tests.reference.queue import completion_times, reservation_lengths


def _plan(checkpointed: bool = False) -> ReservationPlan:
    return ReservationPlan([10, 40], [checkpointed, False], CostModel(checkpoint=3, restart=2))


@pytest.mark.parametrize(
    ("checkpointed", "runtime", "expected"),
    [
        (False, 10.0, [(10, 10)]),
        (False, 30.0, [(10, 10), (40, 30)]),
        # Beyond the last milestone: 1.5 times longer.
        (False, 55.0, [(10, 10), (40, 40), (60, 55)]),
        # 2 s to read 10 s of work, 20 s of it left; the first reservation asks for its checkpoint.
        (True, 30.0, [(13, 13), (32, 22)]),
        # The job completes before the checkpoint, for which it asked.
        (True, 8.0, [(13, 8)]),
    ],
)
def test_a_series_by_hand(checkpointed: bool, runtime: float, expected: list[tuple[float, float]]) -> None:
    assert [tuple(item) for item in series(Schedule(_plan(checkpointed)), runtime)] == expected


#: One node. Job 0 runs 30 s under 10 then 40 s; job 1 runs 5 s under 10 s.
@pytest.mark.parametrize(
    ("release", "requeue", "expected", "occupied"),
    [
        # 0-10 job 0 fails; 10-15 job 1; 15-45 job 0.
        ("completion", "end", [45.0, 15.0], 45.0),
        # Job 1 holds the node until 20, job 0 completes at 50 and holds it until 60.
        ("walltime", "end", [50.0, 15.0], 60.0),
        # Job 0 goes on at once, until 40; with its node until 50.
        ("completion", "front", [40.0, 45.0], 45.0),
        ("walltime", "front", [40.0, 55.0], 60.0),
    ],
)
def test_the_four_readings_by_hand(release: str, requeue: str, expected: list[float], occupied: float) -> None:
    jobs = [series(Schedule(_plan()), runtime) for runtime in (30.0, 5.0)]
    found = replay_series([0.0, 1.0], jobs, 1, release=release, requeue=requeue)  # type: ignore[arg-type]
    assert found.completions.tolist() == expected
    assert found.occupied == occupied


@given(
    times=st.lists(st.tuples(st.integers(0, 50), st.integers(1, 120)), min_size=1, max_size=12),
    nodes=st.integers(1, 4),
    checkpointed=st.booleans(),
)
def test_released_series_are_stochastic_jobs_and_held_ones_a_plain_queue(
    times: list[tuple[int, int]], nodes: int, checkpointed: bool
) -> None:
    # Submits that are no whole seconds, so that no two events tie.
    submits = [submit + row / 64 for row, (submit, _) in enumerate(times)]
    plan, runtimes = _plan(checkpointed), [float(runtime) for _, runtime in times]
    own = [series(Schedule(plan), runtime) for runtime in runtimes]
    found = replay_series(submits, own, nodes)
    jobs = [
        Job(row, JobType.STOCHASTIC, submit, 1, runtime, runtime, application="a", plan="p")
        for row, (submit, runtime) in enumerate(zip(submits, runtimes, strict=True))
    ]
    summary = summarize(simulate(jobs, nodes, events=False, plans={"p": plan}))
    response = found.completions - np.array(submits)
    assert response.mean() / 3600 == pytest.approx(float(summary["turnaround_h"]), rel=1e-6)
    assert (response / runtimes).mean() == pytest.approx(float(summary["stretch"]), rel=1e-6)
    # Held: a plain queue of what the plan asks for, by the definition of the plan.
    lengths = [plan.extend(runtime).length[: len(reservation_lengths(plan, runtime))].tolist() for runtime in runtimes]
    idle = [
        length[-1] - reservation_lengths(plan, runtime)[-1] for length, runtime in zip(lengths, runtimes, strict=True)
    ]
    ends = np.array(completion_times(lengths, nodes, submits)) - idle
    held = replay_series(submits, own, nodes, release="walltime")
    np.testing.assert_allclose(held.completions, ends, rtol=1e-6)
    assert held.occupied == pytest.approx(sum(map(sum, lengths)))


def test_held_nodes_matter_only_where_jobs_wait() -> None:
    jobs = [series(Schedule(_plan()), runtime) for runtime in (3.0, 30.0, 55.0)]
    found = [
        replay_series([0.0, 0.0, 0.0], jobs, 3, release=release, requeue=requeue).completions.tolist()
        for release in RELEASES
        for requeue in REQUEUES
    ]
    assert found == [[3.0, 40.0, 105.0]] * 4


@pytest.mark.parametrize("option", ["release", "requeue"])
def test_wrong_options_are_refused(option: str) -> None:
    with pytest.raises(ParameterError, match=option):
        replay_series([0.0], [[Reservation(2.0, 1.0)]], 1, **{option: "never"})  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="jobs"):
        replay_series([], [], 1)
