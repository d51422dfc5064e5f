"""The conformance suite: broken policies are caught by the right sentence, and the built-in ones keep the contract."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from holdfast.policies.arrival import PreemptAtArrival, ShrinkPreemptAtArrival
from holdfast.policies.backfilling import Easy
from holdfast.policies.notice import collect, plan
from holdfast.policies.order import Order
from holdfast.policies.planning.costs import CostModel
from holdfast.policies.planning.plan import ReservationPlan
from holdfast.policies.planning.strategies import STRATEGIES
from holdfast.policies.port import Expand, Expect, Hold, Preempt, Promise, Shrink, Start
from holdfast.policies.reserved_backfill import TENANCIES
from holdfast.simulator import simulate
from holdfast.simulator.conformance import KINDS, BrokenPolicyError, Report, check_policy
from holdfast.simulator.conformance.generation import arrivals, growths, job_tables, notices, scenarios
from holdfast.simulator.conformance.runs import REGISTRIES
from holdfast.simulator.conformance.scenario import Queued, Running, Scenario, View
from holdfast.workloads.ground.errors import InputError, InvariantError, UnknownNameError
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.table.job import JobType
from tests.support.jobs import rigid

# Broken orders.


def nan_key(job: Any, now: int) -> float:
    return float("nan") if job.nodes == 1 else float(job.submit)


def mixed_keys(job: Any, now: int) -> Any:
    return job.project if job.project else job.submit


def by_runtime(job: Any, now: int) -> int:
    return int(job.duration(job.nodes))


def at_random(job: Any, now: int) -> float:
    return random.random()


class Remembering:
    """Who was asked about first stands first for ever."""

    def __init__(self) -> None:
        self.seen: dict[int, int] = {}

    def __call__(self, job: Any, now: int) -> int:
        return self.seen.setdefault(job.job_id, len(self.seen))


def by_age(job: Any, now: int) -> int:
    return -int(now - job.submit) * int(job.nodes)


def change_submit(job: Any, now: int) -> int:
    job.submit = 0
    return 0


def fail_at_three_nodes(job: Any, now: int) -> float:
    return 1 / (job.nodes - 3)


def nothing(job: Any, now: int) -> None:
    return None


# Broken rules.


class Variant:
    """EASY with something added to its answer."""

    def __init__(self, change: Callable[[Any, list[Start]], Any]) -> None:
        self.change = change

    def __call__(self, view: Any) -> Any:
        return self.change(view, Easy()(view))


def _greedy(view: Any) -> list[Start]:
    """Whoever fits starts, whatever that does to the first."""
    free, starts = view.free, []
    for job in view.queue:
        if job.nodes <= free:
            starts.append(Start(job.job_id, job.nodes))
            free -= job.nodes
    return starts


def _overfull(view: Any) -> list[Start]:
    return [Start(job.job_id, job.nodes) for job in view.queue]


def _sorts_the_queue(view: Any) -> list[Start]:
    view.queue.sort(key=lambda job: job.nodes)
    return Easy()(view)


class Promising(Easy):
    """Promises what it does not keep."""

    def __call__(self, view: Any) -> list[Start]:
        return _greedy(view)


_COUNTER = itertools.count()


def _every_other(view: Any) -> list[Start]:
    return Easy()(view) if next(_COUNTER) % 2 else []


def _first_of_the_rest(view: Any, starts: list[Start]) -> list[Start]:
    return [*starts, *starts[:1]]


# Broken strategies of on-demand jobs.


class Arrival:
    """PAA, or something else in place of one of its methods."""

    def __init__(self, room: Callable[..., Any] | None = None, make_room: Callable[..., Any] | None = None) -> None:
        self.base = PreemptAtArrival()
        self.room = room or self.base.room
        self.make_room = make_room or self.base.make_room


def _too_little(view: Any, request: Any, missing: int) -> Any:
    return PreemptAtArrival().make_room(view, request, missing)[:-1]


def _anybody(view: Any, request: Any, missing: int) -> Any:
    victims = []
    for run in sorted(view.running, key=lambda run: run.type is not JobType.ON_DEMAND):
        if missing > 0 and run.nodes > run.borrowed:
            victims.append(Preempt(run.job_id))
            missing -= run.nodes - run.borrowed
    return victims


def _below(view: Any, request: Any, missing: int) -> Any:
    for run in view.running:
        if run.type is JobType.MALLEABLE and run.nodes >= missing:
            return [Shrink(run.job_id, missing)]
    return PreemptAtArrival().make_room(view, request, missing)


def _all_room(view: Any, request: Any) -> int:
    return int(view.nodes)


def _held_more(view: Any, request: Any) -> list[Any]:
    return [Hold(request.nodes)]


def _hold_free_nodes(view: Any, request: Any) -> list[Any]:
    return [Hold(min(view.free, request.nodes))]


def _planned_twice(view: Any, request: Any) -> list[Any]:
    actions = plan(view, request)
    return actions + [action for action in actions if isinstance(action, Expect | Preempt)]


def _expect_all_runs(view: Any, request: Any) -> list[Any]:
    return [*collect(view, request), *(Expect(run.job_id) for run in view.running)]


def _plans_on_demand(view: Any, request: Any) -> list[Any]:
    return [Hold(0), *(Preempt(run.job_id, view.now) for run in view.running if not run.planned)]


def _expect_unplanned_runs(view: Any, request: Any) -> list[Any]:
    return [Expect(run.job_id) for run in view.running if not run.planned]


def _wrong_draws(view: Any) -> list[Start]:
    return [Start(start.job_id, start.nodes, "tenant") for start in TENANCIES["any"](view)]


def _double_draws(view: Any) -> list[Start]:
    idle = {item.job_id: item.idle for item in view.reservations if item.idle}
    return [
        Start(job.job_id, sum(idle.values()), "tenant", idle)
        for job in view.queue
        if idle and job.min_nodes <= sum(idle.values()) <= job.nodes and job.type is not JobType.ON_DEMAND
    ]


def _malleable(view: Any) -> list[Any]:
    return [run for run in view.running if run.type is JobType.MALLEABLE]


def _fill(view: Any) -> list[Expand]:
    """The first grows as far as it can, whatever was promised."""
    runs = [run for run in _malleable(view) if run.max_nodes > run.nodes]
    return [Expand(run.job_id, min(view.free, run.max_nodes - run.nodes)) for run in runs[:1] if view.free]


BROKEN: list[tuple[str, Any, str, str, str]] = [
    ("NaN", nan_key, "order", "key", "is nan, which cannot be ordered"),
    ("None", nothing, "order", "key", "is None"),
    ("mixed", mixed_keys, "order", "compare", "cannot be compared: '<' not supported between"),
    ("runtime", by_runtime, "order", "runtime", "reads the true runtime, which no scheduler knows"),
    ("random", at_random, "order", "deterministic", "is not deterministic: the second call returns"),
    ("state", Remembering, "order", "state", "keeps state between calls"),
    ("static", Order(by_age, static=True), "order", "static", "declares that its keys never change, but that of job"),
    ("set", change_submit, "order", "view", "modifies what it sees: cannot assign to field 'submit'"),
    ("raises", fail_at_three_nodes, "order", "raises", "raises ZeroDivisionError"),
    ("overfull", _overfull, "backfilling", "start", "free"),
    ("twice", Variant(_first_of_the_rest), "backfilling", "start", "twice"),
    ("unknown", Variant(lambda view, starts: [*starts, Start(99, 1)]), "backfilling", "start", "there is no job 99"),
    ("size", Variant(lambda view, starts: [Start(item.job_id, item.nodes + 1) for item in starts]),
     "backfilling", "start", "runs on"),
    ("running", Variant(lambda view, starts: [*starts, *(Start(run.job_id, 1) for run in view.running)]),
     "backfilling", "start", "there is no job"),
    ("no list", Variant(lambda view, starts: iter(starts)), "backfilling", "action", "must answer with a list"),
    ("no Start", Variant(lambda view, starts: [item.job_id for item in starts]), "backfilling", "start", "is no Start"),
    ("draws", Variant(lambda view, starts: [Start(item.job_id, item.nodes, "", {1: 1}) for item in starts]),
     "backfilling", "start", "which only a tenants rule may do"),
    ("idle", lambda view: [], "backfilling", "idle", "starts no job although jobs wait and all nodes are free"),
    ("head", Promising(), "backfilling", "head", "the first that must wait: from"),
    ("promise", Promising(), "backfilling", "promise", "at the latest, and after its own starts at"),
    ("sorts", _sorts_the_queue, "backfilling", "view", "modifies what it sees: the view's queue"),
    ("every other", _every_other, "backfilling", "deterministic", "is not deterministic"),
    ("too little", Arrival(make_room=_too_little), "arrival", "room", "reports room for"),
    ("anybody", Arrival(make_room=_anybody), "arrival", "victim", "may not be preempted"),
    ("below", Arrival(make_room=_below), "arrival", "victim", "can give up"),
    ("all room", Arrival(room=_all_room), "arrival", "room", "reports room for"),
    ("half room", Arrival(room=lambda view, request: 0.5), "arrival", "room", "must be a whole number of nodes"),
    ("held more", _held_more, "notice", "hold", " are free"),
    ("held while waiting", _hold_free_nodes, "notice", "hold", "while an on-demand job waits"),
    ("planned twice", _planned_twice, "notice", "plan", "planned twice"),
    ("planned by others", _expect_all_runs, "notice", "plan", "is in a plan already"),
    ("plans on-demand", _plans_on_demand, "notice", "plan", "is on-demand and may not be preempted"),
    ("unreserved", _expect_unplanned_runs, "notice", "hold", "plans without a reservation"),
    ("wrong draws", _wrong_draws, "tenants", "start", "must say from which reservations it draws"),
    ("into a window", _greedy, "backfilling", "window", "and its walltime takes nodes that a window needs"),
    ("grows rigid", lambda view, promises: [Expand(run.job_id, 1) for run in view.running], "expansion", "growth", ""),
    ("grows too far", lambda view, promises: [Expand(run.job_id, 99) for run in _malleable(view)],
     "expansion", "growth", "more than its"),
    ("delays", lambda view, promises: _fill(view), "expansion", "promise", "beyond its promised start: from"),
    ("double draws", _double_draws, "tenants", "start", ""),
]  # fmt: skip


@pytest.mark.parametrize(
    ("policy", "kind", "rule", "words"), [row[1:] for row in BROKEN], ids=[row[0] for row in BROKEN]
)
def test_a_broken_policy_is_caught_by_the_right_sentence(policy: Any, kind: str, rule: str, words: str) -> None:
    report = check_policy(policy, kind, scenarios=120)
    found = {finding.rule: finding for finding in report.findings}
    assert rule in found, str(report)
    assert words in found[rule].what
    # The state is seen in no single scenario; whatever else is shown on a small machine.
    assert found[rule].scenario
    shown = found[rule].scenario.count("\n")
    assert shown <= (20 if rule == "state" else 5), str(report)


def test_a_rule_that_does_not_claim_easy_may_delay_the_head() -> None:
    rules = [finding.rule for finding in check_policy(_greedy, "backfilling").findings]
    assert rules == ["window"]
    report = check_policy(_greedy, "backfilling", easy=True)
    assert {finding.rule for finding in report.findings} == {"window", "head"}


def test_the_scenario_is_the_smallest() -> None:
    report = check_policy(_greedy, "backfilling", easy=True)
    # Somebody runs, the first cannot start, and another one is started before it: that is the least there can be.
    lines = next(item for item in report.findings if item.rule == "head").scenario.splitlines()
    assert [line.split(":")[0] for line in lines[1:]] == ["waits", "waits", "runs"]


@pytest.mark.system
@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, all_of in REGISTRIES.items() for name in all_of])
def test_built_in_policies_keep_the_contract(kind: str, name: str) -> None:
    report = check_policy(name, kind, scenarios=100)
    assert report.ok, str(report)
    assert report.scenarios == 100


@pytest.mark.system
@pytest.mark.parametrize("name", [name for name in STRATEGIES if name != "optimal"])
def test_built_in_strategies_keep_the_contract(name: str) -> None:
    report = check_policy(name, "strategy")
    assert report.ok, str(report)
    assert report.scenarios >= 12


@pytest.mark.system
@pytest.mark.parametrize(
    "name", ["easy depth=2", "easy depth=3", "easy length=runtime depth=2", "fairshare patience=9e5"]
)
def test_so_do_they_with_other_parameters(name: str) -> None:
    report = check_policy(name, scenarios=100)
    assert report.ok, str(report)


def test_easy_by_runtime_may_look_at_it() -> None:
    assert check_policy("easy length=runtime", "backfilling").ok


class TestStrategies:
    """Broken planning strategies."""

    @staticmethod
    def _problems(strategy: Any) -> dict[str, str]:
        return {finding.rule: finding.what for finding in check_policy(strategy, "strategy").findings}

    def test_what_is_no_plan(self) -> None:
        assert (
            "must answer with a ReservationPlan, not list" in self._problems(lambda distribution, costs: [1.0])["plan"]
        )

    def test_a_plan_for_other_costs(self) -> None:
        found = self._problems(lambda distribution, costs: ReservationPlan([3600.0], False, CostModel(alpha=7.0)))
        assert "instead of" in found["costs"]

    def test_milestones_that_fall(self) -> None:
        found = self._problems(lambda distribution, costs: ReservationPlan([3600.0, 1800.0], False, costs))
        assert "raises" in found["raises"]

    def test_a_plan_that_differs_each_time(self) -> None:
        found = self._problems(lambda distribution, costs: ReservationPlan([3600.0 + random.random()], False, costs))
        assert "not reproducible" in found["deterministic"]

    def test_runs_that_are_changed(self) -> None:
        def sort_runs(runs: Any, costs: CostModel, *, k: int = 5) -> ReservationPlan:
            if isinstance(runs, np.ndarray):
                runs.sort()
            return ReservationPlan([3600.0], False, costs)

        assert "modifies the runs" in self._problems(sort_runs)["view"]

    def test_more_arguments(self) -> None:
        def demand_weather(distribution: Any, costs: CostModel, weather: str) -> ReservationPlan:
            return ReservationPlan([3600.0], False, costs)

        assert self._problems(demand_weather) == {
            "arguments": "needs weather in addition to a distribution and costs, which no option can set"
        }


class TestKinds:
    @pytest.mark.parametrize(
        ("policy", "kind"),
        [
            ("wfp3", "order"), ("easy", "backfilling"), ("fits", "tenants"), ("CUA", "notice"), ("SPAA", "arrival"),
            ("masi", "strategy"), (by_age, "order"), (Remembering, "order"), (collect, "notice"), (plan, "notice"),
            (ShrinkPreemptAtArrival(), "arrival"), (ShrinkPreemptAtArrival, "arrival"), (Easy, "backfilling"),
            (STRATEGIES["maximum"], "strategy"), ("holdfast.policies.orders.requests:smallest", "order"),
        ],
    )  # fmt: skip
    def test_kinds_are_guessed(self, policy: Any, kind: str) -> None:
        assert check_policy(policy, scenarios=5).kind == kind

    @pytest.mark.parametrize("policy", ["no-such-name", "", lambda view: [], 7])
    def test_what_cannot_be_guessed_is_asked_for(self, policy: Any) -> None:
        with pytest.raises(InputError, match="order, backfilling, tenants, expansion, notice, arrival, strategy"):
            check_policy(policy)

    def test_an_unknown_kind(self) -> None:
        with pytest.raises(UnknownNameError, match="did you mean order"):
            check_policy("wfp3", "ordr")
        assert KINDS[0] == "order"

    def test_what_is_no_policy(self) -> None:
        with pytest.raises(InputError, match="an order must be a function"):
            check_policy(7, "order")
        with pytest.raises(InputError, match="has the methods room and make_room"):
            check_policy(lambda view, request: 0, "arrival")


class TestReports:
    def test_the_text(self) -> None:
        report = check_policy(by_runtime, "order")
        text = str(report)
        assert text.startswith("order by_runtime: breaks 1 rule of the contract\n- reads the true runtime")
        assert "\n    it answered: " in text
        assert str(check_policy("saf", scenarios=5)) == "order saf: keeps the contract in 5 scenarios"
        assert isinstance(report, Report)

    def test_raising_is_for_tests(self) -> None:
        with pytest.raises(BrokenPolicyError, match="order nan_key: breaks"):
            check_policy(nan_key, "order", raises=True)
        assert check_policy("saf", raises=True, scenarios=5).ok

    def test_the_same_again(self) -> None:
        assert check_policy(_overfull, "backfilling") == check_policy(_overfull, "backfilling")


class TestScenarios:
    @pytest.mark.parametrize("make", [scenarios, growths, notices, arrivals])
    def test_they_are_machines_that_can_be(self, make: Callable[[int, int], Any]) -> None:
        made = list(make(300, 0))
        assert made == list(make(300, 0)) != list(make(300, 1))
        for scenario in made:
            for one in (scenario, *scenario.smaller()):
                assert one.free >= 0
                for run in one.running:
                    assert 1 <= run.min_nodes <= run.nodes <= run.max_nodes <= one.nodes
                    assert run.borrowed <= run.nodes
                for item in one.reservations:
                    assert item.lent == sum(run.owes(item.job_id) for run in one.running)
                    assert item.missing >= 0
                kinds = [job.type is JobType.ON_DEMAND for job in one.queue]
                assert kinds == sorted(kinds, reverse=True)

    def test_they_have_edges(self) -> None:
        made = list(scenarios(300, 0))
        assert any(not item.queue for item in made)
        assert any(not item.free and item.queue for item in made)
        assert any(item.free == item.nodes and item.queue for item in made)
        assert any(
            run.type is JobType.MALLEABLE and run.nodes == run.min_nodes for item in made for run in item.running
        )
        assert any(run.lent for item in made for run in item.running)
        assert any(run.planned for item in made for run in item.running)
        assert {job.type for item in made for job in item.queue} == set(JobType)
        assert {job.type for jobs, _ in job_tables(20, 0, tuple(JobType)[:3]) for job in jobs} == set(JobType) - {
            JobType.STOCHASTIC
        }

    def test_a_scenario_in_words(self) -> None:
        job = Queued(3, JobType.MALLEABLE, 4, 2, 600 * SECOND, 60 * SECOND, 300 * SECOND, "atlas")
        run = Running(1, JobType.RIGID, 4, 4, 4, 0, 900 * SECOND)
        assert str(Scenario(8, 600 * SECOND, (job,), (run,))) == (
            "8 nodes, 4 of them free, at 600 s\n"
            "waits: job 3, malleable, 2 to 4 nodes, walltime 600 s, submitted at 60 s, project atlas\n"
            "runs: job 1, rigid, on 4 nodes until 900 s"
        )

    def test_a_view_tells_who_has_peeked(self) -> None:
        job = Queued(3, JobType.RIGID, 4, 4, 600, 60, 300)
        view = View(Scenario(8, 600, (job,)))
        assert view.queue[0].duration(4) == 300
        assert view.peeks == [3]
        assert not job.peeks
        assert not view.find_change()
        view.free = 7
        assert view.find_change() == "free"


def test_a_queue_that_nobody_serves_ends_the_simulation() -> None:
    REGISTRIES["backfilling"].add("nobody", lambda view: [])
    try:
        with pytest.raises(InvariantError, match="the backfilling rule nobody leaves 2 jobs in the queue of an idle"):
            simulate([rigid(1, 0, 1, 10), rigid(2, 5, 1, 10)], 2, backfilling="nobody")
    finally:
        REGISTRIES["backfilling"].forget("nobody")


def test_a_policy_that_only_fails_in_a_simulation_is_caught() -> None:
    class Late:
        """Holds what is free, and never mind: but it expects whoever runs, also twice in two notices."""

        def __call__(self, view: Any, request: Any) -> list[Any]:
            if view.now < 50 * 60 * SECOND:
                return [Hold(0), *(Expect(run.job_id) for run in view.running)]
            return []

    report = check_policy(Late, "notice", scenarios=40)
    assert [finding.rule for finding in report.findings] == ["simulation"]
    assert "a simulation under it-PAA fails: the notice strategy answered Expect(" in report.findings[0].what


def test_promises_are_what_they_are_called() -> None:
    class Vague(Easy):
        def promises(self, view: Any) -> Any:
            return [(job.job_id, 0) for job in view.queue]

    assert any("must promise with Promise" in finding.what for finding in check_policy(Vague()).findings)
    assert Promise(1, 2).at == 2
