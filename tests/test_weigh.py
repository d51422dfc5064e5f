"""The notice strategy that weighs holding against preempting."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies.mechanism import parse_mechanism
from policies.notice import NOTICES, Weigh
from policies.port import Expect, Hold, Preempt
from simulator import simulate
from tests.strategies import Table, job_tables
from tests.test_policies import Running, View, Waiting
from workloads.errors import ParameterError
from workloads.job import JobType
from workloads.units import SECOND

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


class TestSources:
    """A price of 0.5: until the arrival each node that is held costs 500 s, if somebody could use it."""

    def test_nodes_that_nobody_could_use_are_held(self) -> None:
        view: Any = View(6, [Waiting(1, 7)], [malleable(2, 9, 0)])
        assert Weigh()(view, request(4)) == [Hold(4)]
        # Two of the six could be used for 500 s each; to preempt job 2 costs 120 s.
        view.queue = [Waiting(1, 7), Waiting(3, 2)]
        assert Weigh()(view, request(4)) == [Hold(4)]
        assert Weigh()(view, request(6)) == [Hold(4)]

    def test_others_where_preempting_costs_more(self) -> None:
        """Job 2 will have lost 1,000 s on each node."""
        view: Any = View(6, [Waiting(3, 6)], [rigid(2, 9)])
        assert Weigh()(view, request(4)) == [Hold(4)]
        # At twice the price it is better to preempt, and to ignore the notice.
        assert Weigh(price=1.01)(view, request(4)) == []

    def test_an_expected_release_is_held_for_a_shorter_time(self) -> None:
        view: Any = View(6, [Waiting(3, 6)], [rigid(2, 9), rigid(4, 3, expected_end=900 * SECOND)])
        assert Weigh()(view, request(5)) == [Hold(2), Expect(4)]

    def test_preempting_after_a_checkpoint_costs_the_setup_and_the_time_held(self) -> None:
        """Checkpoints at 410 and 810: 10 + 0.5 x 190 s if preempted then, 200 s (since the last one, and the setup) at
        the arrival. With a period of 900 s the one at 910 leaves 10 + 0.5 x 90 s against 100 s."""
        view: Any = View(0, running=[rigid(1, 4, 400), rigid(2, 4, 900)])
        assert Weigh()(view, request(4)) == [Hold(0), Preempt(2, at=910 * SECOND)]
        assert Weigh()(view, request(5)) == [Hold(0), Preempt(2, at=910 * SECOND), Preempt(1, at=810 * SECOND)]
        assert Weigh(price=1.0)(view, request(8)) == []

    def test_whoever_is_superfluous_stays(self) -> None:
        """Job 1 comes first, and with job 2, which alone suffices, it is not needed."""
        ends = {1: 990, 2: 980}
        running = [rigid(number, nodes, expected_end=ends[number] * SECOND) for number, nodes in ((1, 2), (2, 6))]
        view: Any = View(0, running=running)
        assert Weigh()(view, request(5)) == [Hold(0), Expect(2)]

    def test_runs_of_other_plans_and_tenants_are_not_counted(self) -> None:
        running = [
            rigid(1, 4, expected_end=990 * SECOND, planned=True),
            rigid(2, 4, expected_end=990 * SECOND, borrowed=1),
        ]
        assert Weigh()(View(0, running=running), request(4)) == []  # type: ignore[arg-type]

    def test_nothing_is_held_while_an_on_demand_job_waits(self) -> None:
        view: Any = View(4, [Waiting(8, 9, type=JobType.ON_DEMAND)], on_demand_waits=True)
        assert Weigh()(view, request(4)) == []


@settings(max_examples=300)
@given(data=st.data(), price=st.sampled_from([0.0, 0.3, 1.0, 5.0]))
def test_a_plan_is_no_dearer_than_any_other(data: st.DataObject, price: float) -> None:
    """With jobs of one node there is nothing to round: the sum of the cheapest costs of all sources, one by one."""
    pick = data.draw
    now = pick(st.integers(0, 900)) * SECOND
    running: list[Any] = []
    for number in range(pick(st.integers(0, 6))):
        end = pick(st.sampled_from([ARRIVAL // 2, ARRIVAL, 9 * ARRIVAL]))
        if pick(st.booleans()):
            running.append(rigid(number, 1, pick(st.sampled_from([None, 130, 300])), expected_end=max(end, now)))
        else:
            running.append(malleable(number, 1, pick(st.integers(0, 200))))
    free = pick(st.integers(0, 4))
    wanted = pick(st.integers(0, free))
    view: Any = View(free, [Waiting(50, wanted)] if wanted else [], running, now=now)
    wish = pick(st.integers(1, 8))

    def options(run: Any) -> dict[Any, float]:
        if run.expected_end <= ARRIVAL:
            return {Expect: price * (ARRIVAL - run.expected_end)}
        if run.type is JobType.MALLEABLE:
            return {None: run.setup + 120 * SECOND}
        costs: dict[Any, float] = {None: float(run.loss(ARRIVAL))}
        if run.period:
            # The last checkpoint before the arrival, if that is still to come.
            at = max((t for t in range(run.setup, ARRIVAL + 1, run.period)), default=0)
            if at > run.setup and at >= now:
                costs[Preempt] = run.setup + price * (ARRIVAL - at)
        return costs

    prices = [0.0] * (free - wanted) + [price * (ARRIVAL - now)] * wanted
    prices += [min(options(run).values()) for run in running]
    best = sum(sorted(prices)[:wish])
    actions = Weigh(price)(view, request(wish))
    held = sum(action.nodes for action in actions if isinstance(action, Hold))
    cost = max(0, held - (free - wanted)) * price * (ARRIVAL - now)
    named = {action.job_id: type(action) for action in actions if isinstance(action, Expect | Preempt)}
    assert held + len(named) <= wish
    cost += sum(options(run)[named[run.job_id]] for run in running if run.job_id in named)
    rest = sorted(options(run)[None] for run in running if run.job_id not in named and None in options(run))
    missing = min(wish, free + len(running)) - held - len(named)
    # What it leaves for the arrival is there, and in sum it is as cheap as can be; costs are rounded to a tick.
    assert missing <= len(rest)
    assert cost + sum(rest[:missing]) == pytest.approx(best, abs=10)


def test_at_no_price_all_that_can_be_held_is_held() -> None:
    view: Any = View(3, [Waiting(1, 3)], [rigid(2, 2, 400)])
    assert Weigh(price=0)(view, request(5)) == [Hold(3), Preempt(2, at=810 * SECOND)]


@pytest.mark.parametrize("price", [-1, float("nan"), "dear"])
def test_a_price_is_a_number(price: Any) -> None:
    with pytest.raises(ParameterError, match="price must be a finite number, at least 0"):
        Weigh(price=price)


def test_by_name() -> None:
    assert NOTICES["WEIGH price=2"] == Weigh(price=2)
    mechanism = parse_mechanism("weigh-knapsack")
    assert mechanism is not None
    assert mechanism.slug == "WEIGH-KNAPSACK"


@settings(max_examples=60)
@given(table=job_tables(), arrival=st.sampled_from(["PAA", "SPAA", "KNAPSACK", "SKNAPSACK"]))
def test_a_price_beyond_all_losses_holds_only_what_nobody_wants(table: Table, arrival: str) -> None:
    """No plan then, so no preemption before an arrival."""
    result = simulate(table.jobs, table.nodes, f"WEIGH price=1e9-{arrival}")
    assert not [entry for entry in result.entries if entry.cause.startswith("planned")]
