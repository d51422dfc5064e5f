"""The notice strategy that weighs holding against preempting."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.policies.mechanism import parse_mechanism
from holdfast.policies.notice import NOTICES, Weigh
from holdfast.policies.port import Expect, Hold, Preempt
from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.table.job import JobType
from tests.policies.test_policies import Running, View, Waiting

ARRIVAL = 1000 * SECOND


class Losing(Running):
    """A rigid run that started at 0, sets up for ten seconds and checkpoints as its period says."""

    def loss(self, at: int) -> int:
        return self.nodes * (at - (at - 10 * SECOND) // self.period * self.period if self.period else at)


def rigid(job_id: int, nodes: int, period: int | None = None, **others: Any) -> Losing:
    others = {"expected_end": 9 * ARRIVAL, "setup": 10 * SECOND, **others}
    return Losing(job_id, nodes, period=period and period * SECOND, **others)


def malleable(job_id: int, nodes: int, setup: int) -> Running:
    return Running(job_id, nodes, JobType.MALLEABLE, 9 * ARRIVAL, setup=setup * SECOND)


def request(nodes: int) -> Any:
    return Waiting(99, nodes, type=JobType.ON_DEMAND, estimated_arrival=ARRIVAL)


HALF = Weigh(price=0.5)


class TestSources:
    """A price of 0.5: until the arrival each node that is held costs 500 s, if a job waits."""

    def test_nodes_that_nobody_could_use_cost_nothing(self) -> None:
        view: Any = View(6, [Waiting(1, 7)], [malleable(2, 9, 0)])
        assert HALF(view, request(4)) == [Hold(4)]
        # Two of the six could be used, for 500 s each; to preempt job 2 costs 9 x 120 s at the arrival.
        view.queue = [Waiting(1, 7), Waiting(3, 2)]
        assert HALF(view, request(4)) == [Hold(4)]
        assert HALF(view, request(6)) == [Hold(6)]
        assert Weigh(price=2)(view, request(6)) == []

    def test_others_are_held_where_preempting_costs_more(self) -> None:
        """Job 2 will have lost 1,000 s on each of its four nodes."""
        view: Any = View(6, [Waiting(3, 6)], [rigid(2, 4)])
        assert HALF(view, request(4)) == [Hold(4)]
        assert Weigh(price=0.99)(view, request(4)) == [Hold(4)]
        # At that price it is better to preempt, and to ignore the notice.
        assert Weigh(price=1.01)(view, request(4)) == []

    def test_the_warning_is_the_machines(self) -> None:
        """Four nodes are held for 500 s each, or job 2 gives them up at the arrival, for the warning each."""
        view: Any = View(6, [Waiting(3, 6)], [malleable(2, 4, 0)])
        assert HALF(view, request(4)) == []
        view.warning = 600 * SECOND
        assert HALF(view, request(4)) == [Hold(4)]

    def test_an_expected_release_is_held_for_a_shorter_time(self) -> None:
        view: Any = View(6, [Waiting(3, 6)], [rigid(2, 9), rigid(4, 3, expected_end=900 * SECOND)])
        assert HALF(view, request(5)) == [Hold(2), Expect(4)]
        assert HALF(view, request(4)) == [Hold(1), Expect(4)]

    def test_a_reservation_collects_whether_it_is_cheap_or_not(self) -> None:
        """Nodes that come at 100 would be held for 900 s, at 450 s each; job 1 gives up four for 120 s each."""
        running = [malleable(1, 4, 0), rigid(2, 4, expected_end=100 * SECOND)]
        view: Any = View(0, [Waiting(3, 9)], running)
        assert HALF(view, request(4)) == []
        assert Weigh(price=0.1)(view, request(4)) == [Hold(0), Expect(2)]
        # While nobody waits nothing is lost by holding, and job 1 need not be preempted.
        view.queue = []
        assert HALF(view, request(4)) == [Hold(0), Expect(2)]

    def test_it_collects_no_more_than_it_misses(self) -> None:
        """Two of the eight nodes that come at 900, for 50 s each, against two of job 1 for 120 s each."""
        view: Any = View(0, [Waiting(3, 9)], [malleable(1, 2, 0), rigid(2, 8, expected_end=900 * SECOND)])
        assert HALF(view, request(2)) == [Hold(0), Expect(2)]

    def test_while_nobody_waits_what_is_released_is_there_without_a_reservation(self) -> None:
        """Job 1 has to go in any case, and nobody else."""
        view: Any = View(0, [], [malleable(1, 4, 0), rigid(2, 2, expected_end=900 * SECOND), malleable(4, 2, 0)])
        assert HALF(view, request(6)) == []

    def test_preempting_after_a_checkpoint_costs_the_setup_and_the_time_held(self) -> None:
        """Checkpoints at 410 and 810: 10 + 0.5 x 190 s if preempted then, 200 s (since the last one, and the setup) at
        the arrival. With a period of 900 s the one at 910 leaves 10 + 0.5 x 90 s against 100 s."""
        view: Any = View(0, [Waiting(3, 9)], running=[rigid(1, 4, 400), rigid(2, 4, 900)])
        assert HALF(view, request(4)) == [Hold(0), Preempt(2, at=910 * SECOND)]
        assert HALF(view, request(5)) == [Hold(0), Preempt(2, at=910 * SECOND), Preempt(1, at=810 * SECOND)]
        assert Weigh(price=1.0)(view, request(8)) == []

    def test_whoever_is_superfluous_stays(self) -> None:
        """Job 1 comes first, and with job 2, which alone suffices, it is not needed."""
        view: Any = View(0, [Waiting(3, 9)], running=[rigid(1, 1, 950), rigid(2, 6, 900)])
        assert HALF(view, request(5)) == [Hold(0), Preempt(2, at=910 * SECOND)]

    def test_runs_of_other_plans_and_tenants_are_not_counted(self) -> None:
        ends = {"expected_end": 990 * SECOND}
        running = [rigid(1, 4, **ends, planned=True), rigid(2, 4, **ends, borrowed=1), rigid(5, 4, 900)]
        view: Any = View(0, [Waiting(3, 9)], running)
        assert HALF(view, request(4)) == [Hold(0), Preempt(5, at=910 * SECOND)]

    def test_nothing_is_held_while_an_on_demand_job_waits(self) -> None:
        view: Any = View(4, [Waiting(8, 9, type=JobType.ON_DEMAND)], [rigid(2, 4)], on_demand_waits=True)
        assert HALF(view, request(4)) == []


@settings(max_examples=400)
@given(data=st.data(), price=st.sampled_from([0.0, 0.3, 1.0, 5.0]))
def test_the_cheaper_of_both_ways_is_taken(data: st.DataObject, price: float) -> None:
    """With jobs of one node there is nothing to round: each way costs the sum of its cheapest sources, one by one."""
    pick = data.draw
    now = pick(st.integers(0, 900)) * SECOND
    leaving: list[Any] = []
    staying: list[Any] = []
    for number in range(pick(st.integers(0, 6))):
        if pick(st.booleans()):
            end = max(now, pick(st.sampled_from([ARRIVAL // 2, 900 * SECOND, ARRIVAL])))
            leaving.append(rigid(number, 1, expected_end=end))
        elif pick(st.booleans()):
            staying.append(rigid(number, 1, pick(st.sampled_from([None, 130, 300]))))
        else:
            staying.append(malleable(number, 1, pick(st.integers(0, 200))))
    free = pick(st.integers(0, 4))
    wanted = pick(st.integers(0, free))
    view: Any = View(free, [Waiting(50, wanted or 9)], leaving + staying, now=now)
    wish = pick(st.integers(1, 8))

    def early(run: Any) -> float:
        """After the last checkpoint before the arrival, if that is still to come."""
        at = max((t for t in range(run.setup, ARRIVAL, run.period or ARRIVAL)), default=0)
        possible = run.type is JobType.RIGID and run.period and at > run.setup and at >= now
        return run.setup + price * (ARRIVAL - at) if possible else float("inf")

    def late(run: Any) -> float:
        return float(run.loss(ARRIVAL) if run.type is JobType.RIGID else run.setup + 120 * SECOND)

    nobody = max(0, wish - (free - wanted))
    taken = [ARRIVAL - run.expected_end for run in leaving] + [ARRIVAL - now] * wanted
    ignoring = sum(sorted([*map(late, staying), *taken])[:nobody])
    collected = sorted(run.expected_end for run in leaving)[:nobody]
    choice = [price * (ARRIVAL - now)] * wanted + [min(early(run), late(run)) for run in staying]
    reserving = sum(price * (ARRIVAL - end) for end in collected) + sum(sorted(choice)[: nobody - len(collected)])

    actions = Weigh(price)(view, request(wish))
    if not actions:
        assert reserving >= ignoring - 10
        return
    # What the answer costs: costs are rounded to a tick each.
    assert reserving <= ignoring + 10
    held = next(action.nodes for action in actions if isinstance(action, Hold))
    assert [action.job_id for action in actions if isinstance(action, Expect)] == [
        run.job_id for run in sorted(leaving, key=lambda run: (run.expected_end, run.job_id))[: len(collected)]
    ]
    plans = {action.job_id: action.at for action in actions if isinstance(action, Preempt)}
    rest = (
        min(nobody, wanted + len(leaving) + len(staying)) - len(collected) - max(0, held - (free - wanted)) - len(plans)
    )
    rest = max(0, rest)  # at no price a node more than needed may be held
    paid = sum(price * (ARRIVAL - end) for end in collected) + max(0, held - (free - wanted)) * price * (ARRIVAL - now)
    paid += sum(early(run) for run in staying if run.job_id in plans)
    paid += sum(sorted(late(run) for run in staying if run.job_id not in plans)[:rest])
    assert paid == pytest.approx(reserving, abs=20)


def test_at_no_price_all_that_can_be_held_is_held() -> None:
    view: Any = View(3, [Waiting(1, 3)], [rigid(2, 2, 400)])
    assert Weigh(price=0)(view, request(5)) == [Hold(3), Preempt(2, at=810 * SECOND)]


@pytest.mark.parametrize("price", [-1, float("nan"), "dear"])
def test_a_price_is_a_number(price: Any) -> None:
    with pytest.raises(ParameterError, match="price must be a number from 0 to 1,000,000"):
        Weigh(price=price)


def test_by_name() -> None:
    assert NOTICES["WEIGH price=1.5"] == Weigh(price=1.5)
    mechanism = parse_mechanism("weigh-knapsack")
    assert mechanism is not None
    assert mechanism.name == "WEIGH-KNAPSACK"
