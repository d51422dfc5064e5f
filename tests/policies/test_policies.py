"""Policies as functions: a view in, actions out, no simulator."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.policies.arrival import ARRIVALS, PreemptAtArrival, ShrinkPreemptAtArrival
from holdfast.policies.backfilling import Easy
from holdfast.policies.mechanism import MECHANISMS, Mechanism, parse_mechanism
from holdfast.policies.node_return import give_back
from holdfast.policies.notice import collect, ignore, plan
from holdfast.policies.order import ORDERS, fcfs
from holdfast.policies.port import Expand, Expect, Hold, Preempt, Promise, Shrink, Start, Window
from holdfast.policies.reserved_backfill import TENANCIES
from holdfast.policies.shadow_time import NEVER, find_shadow
from holdfast.workloads.ground.errors import ParameterError, UnknownNameError
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.table.job import JobType
from tests.places import PACKAGES

ROOT = Path(__file__).resolve().parents[2]
#: What people read: sources (their messages, claims and pictures), templates and pages.
PRODUCT, READ = (*PACKAGES, "docs"), {".py", ".js", ".html", ".md", ".ipynb"}
#: The paper's spelling of a mechanism.
THEIRS = re.compile(r"\b(?:N|CUA|CUP)(?:&|&amp;|\\&)S?PAA\b")


@dataclass
class Waiting:
    job_id: int
    nodes: int
    walltime: int = 10
    type: JobType = JobType.RIGID
    submit: int = 0
    least: int | None = None
    runtime: int | None = None
    estimated_arrival: int = 0
    kept: int = 0

    @property
    def min_nodes(self) -> int:
        return self.least or self.nodes

    def limit(self, nodes: int) -> int:
        return self.walltime * self.nodes // nodes

    def duration(self, nodes: int) -> int:
        return (self.runtime or self.walltime) * self.nodes // nodes


@dataclass
class Running:
    job_id: int
    nodes: int
    type: JobType = JobType.RIGID
    expected_end: int = 100
    min_nodes: int = 1
    max_nodes: int = 99
    start: int = 0
    submit: int = 0
    setup: int = 0
    period: int | None = None
    borrowed: int = 0
    planned: bool = False
    lender: int | None = None
    lost: int = 0

    def owes(self, job_id: int) -> int:
        return self.borrowed if self.lender == job_id else 0

    def loss(self, at: int) -> int:
        return self.lost


@dataclass
class Reserved:
    job_id: int
    requested: int
    idle: int
    lent: int = 0
    notice: int = 0
    estimated_arrival: int = 0
    walltime: int = 10

    @property
    def missing(self) -> int:
        return self.requested - self.idle - self.lent


@dataclass
class Loaned:
    job_id: int
    nodes: int
    shrunk: Running | None = None
    preempted: Waiting | None = None


@dataclass
class View:
    free: int
    queue: Sequence[Waiting] = ()
    running: Collection[Running] = ()
    reservations: Sequence[Reserved] = ()
    on_demand_waits: bool = False
    now: int = 0
    nodes: int = 100
    releases: Sequence[tuple[int, int, int]] = field(default_factory=list)
    warning: int = 120 * SECOND
    windows: Sequence[Window] = ()
    kept: Sequence[int] = ()


def starts(actions: Sequence[Any]) -> list[tuple[int, int]]:
    return [(action.job_id, action.nodes) for action in actions]


class TestEasy:
    def test_heads_start_while_they_fit(self) -> None:
        view = View(10, [Waiting(1, 4), Waiting(2, 6), Waiting(3, 1)])
        assert starts(Easy()(view)) == [(1, 4), (2, 6)]

    def test_candidates_end_by_the_shadow_time_or_use_extra_nodes(self) -> None:
        """Eight nodes are needed and come back at 20 with two to spare: one candidate in time, one on the extra."""
        view = View(
            6,
            [Waiting(1, 8), Waiting(2, 2, 22), Waiting(3, 2, 22), Waiting(4, 3, 20), Waiting(5, 1, 20)],
            releases=[(20, 9, 4)],
        )
        assert starts(Easy()(view)) == [(2, 2), (4, 3), (5, 1)]

    def test_runs_started_in_this_pass_count_for_the_shadow_time(self) -> None:
        view = View(10, [Waiting(1, 6, 30), Waiting(2, 8), Waiting(3, 4, 30), Waiting(4, 2, 31)])
        assert starts(Easy()(view)) == [(1, 6), (3, 4)]

    def test_a_microsecond_is_no_delay(self) -> None:
        view = View(2, [Waiting(1, 4), Waiting(2, 2, 21)], releases=[(20, 9, 2)])
        assert starts(Easy()(view)) == [(2, 2)]
        view = View(2, [Waiting(1, 4), Waiting(2, 2, 22)], releases=[(20, 9, 2)])
        assert starts(Easy()(view)) == []

    def test_the_head_alone_holds_a_promise(self) -> None:
        view = View(6, [Waiting(1, 8), Waiting(2, 7)], releases=[(20, 9, 4)])
        assert Easy().promises(view) == [Promise(1, 20, 8)]
        # Job 1 starts and comes back at 30; nothing will ever do for job 3.
        assert Easy().promises(View(6, [Waiting(1, 5, 30), Waiting(2, 3)], releases=[(40, 9, 4)])) == [
            Promise(2, 30, 3)
        ]
        assert Easy().promises(View(6, [Waiting(3, 11)], releases=[(20, 9, 4)])) == []
        assert Easy().promises(View(6, [Waiting(1, 6)])) == []

    def test_candidates_may_be_judged_by_runtime(self) -> None:
        view = View(2, [Waiting(1, 4), Waiting(2, 2, 50, runtime=20)], releases=[(20, 9, 2)])
        assert starts(Easy()(view)) == []
        assert starts(Easy("runtime")(view)) == [(2, 2)]

    def test_a_malleable_candidate_takes_what_keeps_the_promise(self) -> None:
        """At all five free nodes it would end after the shadow time; one extra node is not its minimum, two are."""
        queue = [Waiting(1, 8), Waiting(2, 6, 100, type=JobType.MALLEABLE, least=2)]
        assert starts(Easy()(View(5, queue, releases=[(20, 9, 4)]))) == []
        assert starts(Easy()(View(5, queue, releases=[(20, 9, 5)]))) == [(2, 2)]

    def test_no_on_demand_job_waits_any_more_once_it_has_started(self) -> None:
        """The open reservation collects again, although the view still shows the job."""
        queue = [Waiting(1, 2, type=JobType.ON_DEMAND), Waiting(2, 4), Waiting(3, 2, 100)]
        reserved = Reserved(9, requested=4, idle=0, estimated_arrival=10, walltime=10)
        view = View(4, queue, reservations=[reserved], on_demand_waits=True, releases=[(50, 8, 96)])
        # It takes the two nodes of job 1 at 10 and releases them at 20; two are free.
        assert find_shadow(view, queue[1], 2, [(10, 1, 2)]) == (20, 0)  # type: ignore[arg-type]


class TestShadow:
    def test_all_that_end_at_the_shadow_time_count(self) -> None:
        view = View(1, releases=[(5, 1, 1), (7, 2, 2), (7, 3, 4), (9, 4, 8)])
        assert find_shadow(view, Waiting(9, 4), 1, []) == (7, 4)  # type: ignore[arg-type]

    def test_never(self) -> None:
        assert find_shadow(View(1), Waiting(9, 4), 1, []) == (NEVER, 0)  # type: ignore[arg-type]

    def test_tests_find_nodes_that_are_promised_twice(self) -> None:
        """The check of conftest.py: one node is free and two come back, of two."""
        with pytest.raises(AssertionError, match="3 of 2 nodes"):
            find_shadow(View(1, nodes=2, releases=[(5, 1, 2)]), Waiting(9, 4), 1, [])  # type: ignore[arg-type]

    def test_reservations_fill_up_first(self) -> None:
        reserved = Reserved(8, requested=3, idle=1, estimated_arrival=10, walltime=100)
        view = View(0, reservations=[reserved], releases=[(5, 1, 4), (8, 2, 2)])
        assert find_shadow(view, Waiting(9, 2), 0, []) == (5, 0)  # type: ignore[arg-type]
        assert find_shadow(view, Waiting(9, 4), 0, []) == (8, 0)  # type: ignore[arg-type]
        assert find_shadow(view, Waiting(9, 5), 0, []) == (110, 2)  # type: ignore[arg-type]

    def test_reservations_release_what_they_have_by_then(self) -> None:
        """Of the four nodes that it misses it collects the one that comes back before 20; at 110 all nine are free."""
        reserved = Reserved(8, requested=5, idle=1, estimated_arrival=10, walltime=10)
        view = View(0, nodes=9, reservations=[reserved], releases=[(5, 1, 1), (30, 2, 7)])
        assert find_shadow(view, Waiting(9, 2), 0, []) == (20, 0)  # type: ignore[arg-type]
        assert find_shadow(view, Waiting(9, 3), 0, []) == (30, 6)  # type: ignore[arg-type]

    def test_while_an_on_demand_job_waits_they_count_with_what_they_have(self) -> None:
        reserved = Reserved(8, requested=3, idle=1, estimated_arrival=10, walltime=100)
        view = View(0, reservations=[reserved], releases=[(5, 1, 4), (8, 2, 2)])
        head = Waiting(9, 6, type=JobType.ON_DEMAND)
        assert find_shadow(view, head, 0, []) == (8, 0)  # type: ignore[arg-type]


class TestArrival:
    def test_preempts_in_ascending_overhead_ties_by_id(self) -> None:
        view = View(0, running=[Running(3, 2, lost=5), Running(1, 2, lost=7), Running(2, 2, lost=5), Running(4, 2)])
        request = Waiting(9, 5)
        assert PreemptAtArrival().room(view, request) == 8  # type: ignore[arg-type]
        actions = PreemptAtArrival().make_room(view, request, 5)  # type: ignore[arg-type]
        assert actions == [Preempt(4), Preempt(2), Preempt(3)]

    def test_malleable_victims_first_then_by_overhead(self) -> None:
        running = [
            Running(1, 2, lost=1),
            Running(2, 2, type=JobType.MALLEABLE, lost=9),
            Running(3, 2, type=JobType.MALLEABLE, lost=7),
            Running(4, 2),
        ]
        view = View(0, running=[replace(run, max_nodes=run.nodes, min_nodes=run.nodes) for run in running])
        expected = [Preempt(3), Preempt(2), Preempt(4)]
        for name in ("PAA victims=malleable-first", "SPAA victims=malleable-first"):
            assert ARRIVALS[name].make_room(view, Waiting(9, 5), 5) == expected  # type: ignore[arg-type]
        assert ARRIVALS["PAA"].make_room(view, Waiting(9, 5), 5) == [Preempt(4), Preempt(1), Preempt(3)]  # type: ignore[arg-type]
        legal = "least-loss or malleable-first or youngest or oldest or lowest-priority"
        with pytest.raises(ParameterError, match=f"victims must be {legal}, not 'any'"):
            ARRIVALS["PAA victims=any"]

    @pytest.mark.parametrize(
        ("order", "expected"),
        [
            pytest.param("youngest", [3, 4, 1, 2], id="started at 9, 9, 7 and 5"),
            pytest.param("oldest", [2, 1, 3, 4], id="started at 5, 7, 9 and 9"),
            pytest.param("lowest-priority", [2, 3, 4, 1], id="submitted at 4, 3, 3 and 1"),
        ],
    )
    def test_victims_by_age_or_priority_whatever_they_lose(self, order: str, expected: list[int]) -> None:
        running = [
            Running(1, 2, start=7, submit=1, lost=1),
            Running(4, 2, start=9, submit=3, lost=2, type=JobType.MALLEABLE, max_nodes=2, min_nodes=2),
            Running(3, 2, start=9, submit=3, lost=9),
            Running(2, 2, start=5, submit=4, lost=8),
            Running(5, 2, start=10, submit=5, type=JobType.ON_DEMAND),
        ]
        view = View(0, running=running)
        for name in (f"PAA victims={order}", f"SPAA victims={order}", f"PAA victims={order} overhead=seconds"):
            for count in range(1, 5):
                actions = ARRIVALS[name].make_room(view, Waiting(9, 5), 2 * count - 1)  # type: ignore[arg-type]
                assert [action.job_id for action in actions] == expected[:count]
                assert all("it" in action.reason for action in actions)

    def test_spares_on_demand_jobs_and_counts_tenants_by_their_own_nodes(self) -> None:
        view = View(
            0,
            running=[
                Running(1, 5, type=JobType.ON_DEMAND),
                Running(2, 5, borrowed=3, lender=7),
                Running(3, 5, borrowed=5, lender=7),
                Running(4, 5, borrowed=1, lender=9),
            ],
        )
        # Of job 9's own tenant nothing: its reservation is counted elsewhere.
        assert PreemptAtArrival().room(view, Waiting(9, 2)) == 2  # type: ignore[arg-type]
        assert PreemptAtArrival().make_room(view, Waiting(9, 2), 2) == [Preempt(2)]  # type: ignore[arg-type]

    @given(spare=st.lists(st.integers(0, 9), min_size=1, max_size=8), data=st.data())
    def test_shrinks_evenly(self, spare: list[int], data: st.DataObject) -> None:
        """Like dealing cards: one node from each job that can still give, by id, until there are enough."""
        missing = data.draw(st.integers(1, max(1, sum(spare))))
        runs = [Running(number, 1 + cap, type=JobType.MALLEABLE) for number, cap in enumerate(spare)]
        actions = ShrinkPreemptAtArrival().make_room(View(0, running=runs[::-1]), Waiting(9, 1), missing)  # type: ignore[arg-type]
        if sum(spare) < missing:
            assert all(isinstance(action, Preempt) for action in actions)
            return
        dealt = [0] * len(spare)
        while sum(dealt) < missing:
            for number, cap in enumerate(spare):
                if dealt[number] < cap and sum(dealt) < missing:
                    dealt[number] += 1
        assert actions == [Shrink(number, nodes) for number, nodes in enumerate(dealt) if nodes]

    def test_tenants_do_not_shrink(self) -> None:
        runs = [Running(1, 9, type=JobType.MALLEABLE, borrowed=2, lender=7), Running(2, 3, lost=1)]
        actions = ShrinkPreemptAtArrival().make_room(View(0, running=runs), Waiting(9, 3), 3)  # type: ignore[arg-type]
        assert actions == [Preempt(1)]


class TestNotice:
    def request(self, nodes: int, estimated: int = 100) -> Any:
        return Waiting(9, nodes, type=JobType.ON_DEMAND, estimated_arrival=estimated)

    def test_ignore_and_collect(self) -> None:
        view: Any = View(4)
        assert ignore(view, self.request(6)) == []
        assert collect(view, self.request(6)) == [Hold(4)]
        assert collect(view, self.request(3)) == [Hold(3)]
        waited_for: Any = View(4, on_demand_waits=True)
        assert collect(waited_for, self.request(3)) == [Hold(0)]

    def test_plan_counts_on_expected_releases_first(self) -> None:
        runs = [Running(1, 2, expected_end=90), Running(2, 2, expected_end=80), Running(3, 2, expected_end=101)]
        view: Any = View(1, running=[*runs, Running(4, 9, expected_end=50, planned=True)])
        assert plan(view, self.request(4)) == [Hold(1), Expect(2), Expect(1)]

    def test_plan_preempts_right_after_the_last_checkpoint(self) -> None:
        """Checkpoints at 10 + 30, 60, 90 by its period; est. arrival 100 + tolerance; loss then: only the setup."""
        view: Any = View(0, now=50, running=[Running(1, 2, expected_end=999, setup=10, period=30, lost=500)])
        assert plan(view, self.request(2)) == [Hold(0), Preempt(1, at=100)]
        assert plan(view, self.request(2, 99)) == [Hold(0), Preempt(1, at=70)]

    def test_plan_without_a_checkpoint_waits_for_the_arrival_and_warns_malleable_jobs_before(self) -> None:
        arrival = 300 * SECOND
        runs = [
            Running(1, 2, expected_end=999 * SECOND, lost=50),
            Running(2, 2, expected_end=999 * SECOND, type=JobType.MALLEABLE, setup=30),
            Running(3, 2, expected_end=999 * SECOND, type=JobType.ON_DEMAND),
        ]
        view: Any = View(0, running=runs)
        assert plan(view, self.request(4, arrival)) == [
            Hold(0),
            Preempt(1, at=arrival),
            Preempt(2, at=180 * SECOND),
        ]


class TestLending:
    def test_in_the_order_of_lending(self) -> None:
        loans = [
            Loaned(1, 3, shrunk=Running(1, 4, max_nodes=6)),
            Loaned(2, 5, preempted=Waiting(2, 6)),
            Loaned(3, 2, preempted=Waiting(3, 9)),
        ]
        # Job 1 takes 2 (up to its maximum), job 2 its 5 and the one free node, job 3 finds too little.
        assert give_back(View(1), loans, 10) == [  # type: ignore[arg-type]
            Expand(1, 2),
            Start(2, 6, "nodes returned", returned=5),
        ]

    def test_who_lent_twice_gets_back_no_more_than_it_can_use(self) -> None:
        run = Running(1, 4, max_nodes=6)
        loans = [Loaned(1, 1, shrunk=run), Loaned(1, 3, shrunk=run)]
        assert give_back(View(0), loans, 4) == [Expand(1, 1), Expand(1, 1)]  # type: ignore[arg-type]

    def test_a_malleable_lender_resumes_smaller(self) -> None:
        loans = [Loaned(1, 3, preempted=Waiting(1, 8, type=JobType.MALLEABLE, least=2))]
        assert give_back(View(1), loans, 3) == [Start(1, 4, "nodes returned", returned=3)]  # type: ignore[arg-type]

    def test_who_runs_again_gets_nothing(self) -> None:
        assert give_back(View(9), [Loaned(1, 3)], 3) == []  # type: ignore[arg-type]


class TestTenancy:
    def view(self) -> Any:
        early = Reserved(8, 5, idle=2, notice=10, estimated_arrival=200)
        late = Reserved(9, 5, idle=3, notice=20, estimated_arrival=100)
        queue = [
            Waiting(1, 6, 10),
            Waiting(2, 1, 10, type=JobType.ON_DEMAND),
            Waiting(3, 4, 150),
            Waiting(4, 2, 150),
            Waiting(5, 1, 50),
        ]
        return View(0, queue, reservations=[early, late])

    def test_any_draws_from_the_latest_notice_first(self) -> None:
        tenants = TENANCIES["any"](self.view())
        assert [(start.job_id, start.draws) for start in tenants] == [(3, {9: 3, 8: 1}), (5, {8: 1})]

    def test_fits_leaves_before_the_arrival(self) -> None:
        tenants = TENANCIES["fits"](self.view())
        assert [(start.job_id, start.draws) for start in tenants] == [(4, {8: 2}), (5, {9: 1})]

    def test_none(self) -> None:
        assert TENANCIES["none"](self.view()) == []


class TestNames:
    def test_six_mechanisms(self) -> None:
        assert [mechanism.name for mechanism in MECHANISMS] == [
            *("N-PAA", "N-SPAA", "CUA-PAA", "CUA-SPAA", "CUP-PAA", "CUP-SPAA"),
        ]

    @pytest.mark.parametrize("name", ["CUA&SPAA", "CUA-SPAA", "cua-spaa", "Cua&sPaA"])
    def test_spellings(self, name: str) -> None:
        assert parse_mechanism(name) == Mechanism("CUA", "SPAA")

    def test_people_read_one_spelling(self) -> None:
        """The paper's is told where options are read, and in the glossary."""
        expected = {"policies/mechanism.py", "docs/reference/glossary.md"}
        paths = [path for part in PRODUCT for path in (ROOT / part).rglob("*") if path.suffix in READ]
        found = {path.relative_to(ROOT).as_posix() for path in paths if THEIRS.search(path.read_text(encoding="utf-8"))}
        assert found == expected

    @pytest.mark.parametrize("name", ["CUA", "CUA-SPA", "SPAA-CUA", "", "CUA-SPAA-X"])
    def test_an_unknown_mechanism_is_answered_with_the_known_ones(self, name: str) -> None:
        with pytest.raises(UnknownNameError, match=r"unknown mechanism .*known are baseline, N-PAA"):
            parse_mechanism(name)

    def test_the_nearest_name_is_offered(self) -> None:
        with pytest.raises(UnknownNameError, match="did you mean CUA-SPAA"):
            parse_mechanism("CUA-SPA")
        with pytest.raises(UnknownNameError, match="unknown order 'fcsf': did you mean fcfs"):
            ORDERS["fcsf"]

    def test_fcfs(self) -> None:
        assert fcfs(Waiting(1, 1, submit=7), 100) == 7  # type: ignore[arg-type]
