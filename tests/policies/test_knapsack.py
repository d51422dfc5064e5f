"""The arrival strategies of least loss: against all selections there are, and against the paper's greedy ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate, combinations
from math import ceil
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.policies.arrival import ARRIVALS, LeastLossAtArrival, PreemptAtArrival, ShrinkPreemptAtArrival
from holdfast.policies.knapsack import Item, _least, cheapest_cover
from holdfast.policies.mechanism import parse_mechanism
from holdfast.policies.port import Preempt, Request, Shrink, SystemView
from holdfast.simulator import simulate
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.hybrid.assignment import assign
from holdfast.workloads.table.job import JobType
from holdfast.workloads.theta.generator import generate
from holdfast.workloads.theta.year import ThetaYear
from tests.policies.test_policies import Running, View, Waiting
from tests.support.jobs import malleable, on_demand, rigid

REQUEST: Any = Waiting(99, 1)


def brute_force(items: Sequence[Item], demand: int) -> list[Item]:
    """All selections that suffice; the least by cost, number of items, and keys in order."""
    enough = (
        chosen
        for count in range(len(items) + 1)
        for chosen in combinations(items, count)
        if sum(item.weight for item in chosen) >= demand
    )
    key = lambda chosen: (sum(item.cost for item in chosen), len(chosen), sorted(item.key for item in chosen))  # noqa: E731
    return sorted(min(enough, key=key))


@st.composite
def problems(draw: st.DrawFn) -> tuple[list[Item], int]:
    """Few different costs and weights, so that there are ties; costs up to what a great machine loses in a year."""
    costs = st.one_of(st.integers(0, 4), st.integers(0, 50), st.integers(10**18, 10**18 + 3))
    keys = draw(st.permutations(range(draw(st.integers(1, 9)))))
    items = [Item(draw(costs), key, draw(st.one_of(st.integers(1, 4), st.integers(1, 40)))) for key in keys]
    return items, draw(st.integers(0, sum(item.weight for item in items)))


class TestCover:
    @settings(max_examples=1000)
    @given(problem=problems())
    def test_the_best_of_all_selections(self, problem: tuple[list[Item], int]) -> None:
        assert cheapest_cover(*problem) == brute_force(*problem)

    @settings(max_examples=1000)
    @given(
        offers=st.lists(st.tuples(st.integers(0, 60), st.integers(1, 9)), min_size=1, max_size=6),
        first=st.integers(0, 5),
        missing=st.integers(0, 60),
    )
    def test_the_bound_is_the_price_with_a_split_offer(
        self, offers: list[tuple[int, int]], first: int, missing: int
    ) -> None:
        """A looser bound would cost time alone, a tighter one the best selection in rare cases."""
        offers.sort(key=lambda offer: Fraction(*offer))
        first = min(first, len(offers))
        weights = [0, *accumulate(weight for _, weight in offers)]
        prices = [0, *accumulate(price for price, _ in offers)]
        rest, paid = missing, Fraction(0)
        for price, weight in offers[first:]:
            taken = min(rest, weight)
            rest -= taken
            paid += Fraction(taken * price, weight)
        expected = 1001 if rest else ceil(paid)
        assert _least(offers, weights, prices, first, missing, 1000) == expected

    def test_by_hand(self) -> None:
        """By cost the first two come first; but they do not suffice, and the third does without them."""
        items = [Item(1, 1, 2), Item(3, 2, 2), Item(4, 3, 6)]
        assert cheapest_cover(items, 6) == [Item(4, 3, 6)]
        assert cheapest_cover(items, 7) == [Item(1, 1, 2), Item(4, 3, 6)]
        assert cheapest_cover(items, 0) == []

    def test_ties_are_for_few_items_and_small_keys(self) -> None:
        items = [Item(2, 1, 2), Item(2, 2, 2), Item(4, 4, 4), Item(4, 3, 4)]
        assert cheapest_cover(items, 4) == [Item(4, 3, 4)]

    def test_many_alike(self) -> None:
        items = [Item(10**15, number, 1) for number in range(300)]
        assert cheapest_cover(items, 250) == items[:250]


def lost_node_ticks(view: Any, actions: Sequence[Preempt | Shrink]) -> int:
    """The node-ticks that the preemptions of a decision lose, warnings included."""
    running = {run.job_id: run for run in view.running}
    loss = 0
    for action in actions:
        if isinstance(action, Preempt):
            run = running[action.job_id]
            loss += run.loss(view.now) + (run.nodes * 120 * SECOND if run.type is JobType.MALLEABLE else 0)
    return loss


def count_freed_nodes(view: Any, actions: Sequence[Preempt | Shrink]) -> int:
    running = {run.job_id: run for run in view.running}
    return sum(
        action.nodes if isinstance(action, Shrink) else running[action.job_id].nodes - running[action.job_id].borrowed
        for action in actions
    )


@st.composite
def busy_views(draw: st.DrawFn) -> Any:
    running = []
    for number in range(draw(st.integers(1, 7))):
        kind = draw(st.sampled_from([JobType.RIGID, JobType.MALLEABLE, JobType.MALLEABLE, JobType.ON_DEMAND]))
        nodes = draw(st.integers(1, 9))
        least = draw(st.integers(1, nodes)) if kind is JobType.MALLEABLE else nodes
        borrowed = draw(st.integers(0, nodes)) if kind is not JobType.ON_DEMAND and draw(st.integers(0, 3)) == 0 else 0
        loss = draw(st.integers(0, 9)) * 60 * SECOND
        run = Running(number, nodes, kind, min_nodes=least, max_nodes=nodes, borrowed=borrowed, lender=7, lost=loss)
        running.append(run)
    return View(0, running=running)


class TestStrategies:
    @settings(max_examples=500)
    @given(view=busy_views(), data=st.data())
    def test_never_more_than_the_greedy_ones(self, view: Any, data: st.DataObject) -> None:
        room = PreemptAtArrival().room(view, REQUEST)
        missing = data.draw(st.integers(1, max(1, room)))
        if not room:
            return
        for exact, greedy in (
            (LeastLossAtArrival(), PreemptAtArrival()),
            (LeastLossAtArrival(shrink=True), ShrinkPreemptAtArrival()),
        ):
            assert exact.room(view, REQUEST) == room
            actions = exact.make_room(view, REQUEST, missing)
            assert count_freed_nodes(view, actions) >= missing
            assert lost_node_ticks(view, actions) <= lost_node_ticks(view, greedy.make_room(view, REQUEST, missing))

    @settings(max_examples=500)
    @given(view=busy_views(), data=st.data())
    def test_shrinking_and_preempting_together_lose_the_least_there_is(self, view: Any, data: st.DataObject) -> None:
        """All sets of victims; the others shrink as far as they can, if they have to."""
        room = PreemptAtArrival().room(view, REQUEST)
        missing = data.draw(st.integers(1, max(1, room)))
        victims = [run for run in view.running if run.type is not JobType.ON_DEMAND and run.nodes > run.borrowed]
        if not room:
            return
        least = []
        for count in range(len(victims) + 1):
            for chosen in combinations(victims, count):
                others = [run for run in victims if run not in chosen]
                give = sum(
                    run.nodes - run.min_nodes for run in others if run.type is JobType.MALLEABLE and not run.borrowed
                )
                if sum(run.nodes - run.borrowed for run in chosen) + give >= missing:
                    least.append(lost_node_ticks(view, [Preempt(run.job_id) for run in chosen]))
        actions = LeastLossAtArrival(shrink=True).make_room(view, REQUEST, missing)
        assert lost_node_ticks(view, actions) == min(least)
        running = {run.job_id: run for run in view.running}
        preempted = [action.job_id for action in actions if isinstance(action, Preempt)]
        for action in actions:
            if isinstance(action, Shrink):
                run = running[action.job_id]
                assert action.job_id not in preempted
                assert not run.borrowed
                assert run.nodes - action.nodes >= run.min_nodes
        shrunk = sum(action.nodes for action in actions if isinstance(action, Shrink))
        assert not shrunk or count_freed_nodes(view, actions) == missing

    def test_a_warning_counts(self) -> None:
        """Ten node-seconds of setup against eleven lost; the malleable one also stays under warning on its nodes."""
        running = [
            Running(1, 2, JobType.MALLEABLE, lost=10 * SECOND, min_nodes=2),
            Running(2, 2, lost=11 * SECOND),
        ]
        view: Any = View(0, running=running)
        assert PreemptAtArrival().make_room(view, REQUEST, 2) == [Preempt(1)]
        assert LeastLossAtArrival().make_room(view, REQUEST, 2) == [Preempt(2)]
        view.warning = 0
        assert LeastLossAtArrival().make_room(view, REQUEST, 2) == [Preempt(1)]

    def test_by_name(self) -> None:
        mechanism = parse_mechanism("cua-sknapsack")
        assert mechanism is not None
        assert mechanism.on_arrival == LeastLossAtArrival(shrink=True)
        with pytest.raises(InputError, match="warning"):
            ARRIVALS["KNAPSACK warning=60"]


class Both:
    """Asks two strategies on the same view, does what the first says, and notes what each would lose."""

    def __init__(self, first: Any, second: Any) -> None:
        self.first, self.second = first, second
        self.losses: list[tuple[int, int]] = []

    def room(self, view: SystemView, request: Request) -> int:
        return int(self.first.room(view, request))

    def make_room(self, view: SystemView, request: Request, missing: int) -> list[Preempt | Shrink]:
        answers = [strategy.make_room(view, request, missing) for strategy in (self.first, self.second)]
        self.losses.append((lost_node_ticks(view, answers[0]), lost_node_ticks(view, answers[1])))
        return list(answers[0])


@pytest.mark.system
@pytest.mark.parametrize(
    ("exact", "greedy"),
    [
        (LeastLossAtArrival(), PreemptAtArrival()),
        (LeastLossAtArrival(shrink=True), ShrinkPreemptAtArrival()),
    ],
    ids=["preempting", "shrinking"],
)
def test_every_decision_of_a_month(exact: Any, greedy: Any) -> None:
    trace = generate(replace(ThetaYear(), jobs=3100), seed=1)
    both = Both(exact, greedy)
    ARRIVALS.add("BOTH", both)
    try:
        simulate(assign(trace, seed=1), trace.nodes or 0, "CUA-BOTH", events=False)
    finally:
        ARRIVALS.forget("BOTH")
    assert len(both.losses) > 20
    assert all(ours <= theirs for ours, theirs in both.losses)
    assert any(ours < theirs for ours, theirs in both.losses)


def test_victims_are_lenders_by_hand() -> None:
    """Ten nodes missing of a request of ten. PAA would preempt job 1 (loss 40 x 4) and then job 2 (40 x 9) too; job 2
    and the shrinking job 3 do it alone, and both get their nodes back."""
    jobs = [
        rigid(1, 0, 4, 1000, setup=40),
        rigid(2, 20, 5, 500),
        malleable(3, 0, 6, 1000, min_nodes=1, setup=100),
        on_demand(4, 50, 9, 100),
    ]
    result = simulate(jobs, 15, "N-SKNAPSACK")
    changes = [
        (entry.time // SECOND, entry.event, entry.job_id)
        for entry in result.entries
        if entry.event in ("preempt", "shrink", "expand", "warn") or (entry.event == "start" and entry.time)
    ]
    assert changes == [
        (20, "start", 2),
        (50, "preempt", 2),
        (50, "shrink", 3),
        (50, "start", 4),
        (150, "start", 2),
        (150, "expand", 3),
    ]
