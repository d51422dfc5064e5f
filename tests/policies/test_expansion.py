"""Expansion of running malleable jobs into idle nodes: whom it helps, and that it breaks no promise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.policies.backfilling import BACKFILLING, Conservative, Easy
from holdfast.policies.expansion import EXPANSIONS, Grow
from holdfast.policies.mechanism import BASELINE
from holdfast.policies.port import Expand, Promise, Start, SystemView, Window
from holdfast.simulator import simulate
from holdfast.workloads.ground.errors import InvariantError, ParameterError, UnknownNameError
from holdfast.workloads.table.job import JobType
from tests.policies.test_policies import Reserved, Running, View, Waiting
from tests.reference.hybrid import MECHANISMS
from tests.strategies.tables import Table, job_tables
from tests.support.jobs import malleable, on_demand, rigid

SHARES = ("greedy", "even")


def runner(job_id: int, nodes: int, end: int, most: int = 99, **others: Any) -> Running:
    return Running(job_id, nodes, JobType.MALLEABLE, end, max_nodes=most, **others)


def view_of(free: int, running: Sequence[Running], queue: Sequence[Waiting] = (), **others: Any) -> Any:
    releases = sorted((run.expected_end, run.job_id, run.nodes - run.borrowed) for run in running)
    return View(free, queue, running, releases=releases, **others)


class TestShares:
    def test_greedy_fills_up_who_started_first(self) -> None:
        running = [runner(1, 2, 50, 4, start=9), runner(2, 2, 50, 5, start=3), runner(3, 2, 50, 9, start=9)]
        assert Grow("greedy")(view_of(7, running), []) == [Expand(2, 3), Expand(1, 2), Expand(3, 2)]
        assert Grow("greedy")(view_of(2, running), []) == [Expand(2, 2)]

    def test_even_offers_the_same_to_all(self) -> None:
        running = [runner(1, 2, 50, 4), runner(2, 2, 50, 9), runner(3, 2, 50, 9)]
        assert Grow("even")(view_of(9, running), []) == [Expand(1, 2), Expand(2, 4), Expand(3, 3)]

    @pytest.mark.parametrize("share", SHARES)
    def test_rigid_jobs_full_ones_and_tenants_stay_as_they_are(self, share: Any) -> None:
        running = [Running(1, 2), runner(2, 9, 50, 9), runner(3, 2, 50, borrowed=1, lender=7)]
        assert Grow(share)(view_of(9, running), []) == []

    @pytest.mark.parametrize("share", SHARES)
    def test_what_reservations_miss_comes_first(self, share: Any) -> None:
        """Three of the five free nodes are left for the on-demand job that has announced itself."""
        reserved = Reserved(8, requested=6, idle=3, estimated_arrival=500)
        assert Grow(share)(view_of(5, [runner(1, 2, 50)], reservations=[reserved]), []) == [Expand(1, 2)]

    def test_what_is_no_share_is_refused(self) -> None:
        with pytest.raises(ParameterError, match="share must be greedy or even"):
            Grow("all")  # type: ignore[arg-type]


class TestPromises:
    """Work of 80 node-ticks: 4 nodes need 20 ticks, 5 need 16, 8 need 10."""

    def test_who_ends_before_the_head_starts_may_have_all(self) -> None:
        queue = [Waiting(9, 10)]
        view = view_of(4, [runner(1, 4, 20), Running(2, 4, expected_end=15)], queue)
        promises = Easy().promises(view)
        assert promises == [Promise(9, 20, 10)]
        assert Grow()(view, promises) == [Expand(1, 4)]

    def test_others_have_what_the_head_leaves_over(self) -> None:
        """The head needs nine at 8: the four free ones and six that come back, one more than it needs. With eight
        nodes job 1 would end at 10, which is too late to have them all."""
        queue = [Waiting(9, 9)]
        running = [runner(1, 4, 20), Running(2, 6, expected_end=8)]
        view = view_of(4, running, queue)
        promises = Easy().promises(view)
        assert promises == [Promise(9, 8, 9)]
        assert Grow()(view, promises) == [Expand(1, 1)]

    def test_windows_find_their_nodes(self) -> None:
        view = view_of(4, [runner(1, 4, 20)], windows=[Window(12, 40, 3)], nodes=8)
        # With all four it ends at 10.
        assert Grow()(view, []) == [Expand(1, 4)]
        view.windows = [Window(8, 40, 3)]
        assert Grow()(view, []) == [Expand(1, 1)]

    @settings(max_examples=400)
    @given(data=st.data(), share=st.sampled_from(SHARES), easy=st.booleans())
    def test_no_promise_is_delayed(self, data: st.DataObject, share: Any, easy: bool) -> None:
        """Usage at each instant, with every promised job on its nodes: never more than there are."""
        pick = data.draw
        running = []
        for number in range(pick(st.integers(1, 5))):
            nodes = pick(st.integers(1, 5))
            kind = pick(st.sampled_from([JobType.MALLEABLE, JobType.MALLEABLE, JobType.RIGID]))
            running.append(
                Running(number, nodes, kind, pick(st.integers(1, 30)), max_nodes=nodes + pick(st.integers(0, 6)))
            )
        queue = [
            Waiting(50 + i, pick(st.integers(1, 9)), pick(st.integers(1, 20))) for i in range(pick(st.integers(0, 3)))
        ]
        free = pick(st.integers(1, 9))
        view = view_of(free, running, queue)
        rule = Easy() if easy else Conservative()
        view.free -= sum(start.nodes for start in rule(view))
        started = {start.job_id: start.nodes for start in rule(view_of(free, running, queue))}
        view.releases = sorted(
            [
                *view.releases,
                *((job.walltime, job.job_id, job.nodes) for job in queue if job.job_id in started),
            ]
        )
        view.queue = [job for job in queue if job.job_id not in started]
        promises = rule.promises(view)
        grown = {action.job_id: action.nodes for action in Grow(share)(view, promises)}
        assert sum(grown.values()) <= view.free
        machine = free + sum(run.nodes for run in running)
        spans = [(0, at, nodes) for at, job_id, nodes in view.releases if job_id not in grown]
        for run in running:
            if run.job_id in grown:
                nodes = run.nodes + grown[run.job_id]
                assert nodes <= run.max_nodes
                spans.append((0, -(-run.expected_end * run.nodes // nodes), nodes))
        jobs = {job.job_id: job for job in view.queue}
        spans += [(item.at, item.at + jobs[item.job_id].walltime, item.nodes) for item in promises]
        # In the first tick of a reservation it may meet who ends a tick late: one tick is the same time.
        begun = {first for first, _, _ in spans}
        for at in range(60):
            if at not in begun or at == 0:
                assert sum(nodes for first, last, nodes in spans if first <= at < last) <= machine

    @settings(max_examples=100)
    @given(table=job_tables(types=(JobType.RIGID, JobType.MALLEABLE)), share=st.sampled_from(SHARES))
    def test_the_head_never_starts_later_than_it_was_promised(self, table: Table, share: str) -> None:
        heads: dict[int, int] = {}
        slack = len(table.jobs) + 40  # ticks: ends of malleable jobs are rounded, at each of their resizes

        def watch(view: SystemView) -> list[Start]:
            for promise in Easy().promises(view):
                assert promise.at <= heads.setdefault(promise.job_id, promise.at) + slack
            return Easy()(view)

        BACKFILLING.add("watch", watch)
        # Asked by the engine, which has to know what was promised.
        watch.promises = Easy().promises  # type: ignore[attr-defined]
        try:
            result = simulate(table.jobs, table.nodes, "N-PAA", backfilling="watch", expansion=share)
        finally:
            BACKFILLING.forget("watch")
        for record in result.records:
            if record.job_id in heads:
                assert record.start is not None
                assert record.start - result.origin <= heads[record.job_id] + slack


def sizes(jobs: list[Any], nodes: int, mechanism: str, **options: Any) -> list[tuple[float, str, int, int]]:
    """(time [s], event, job, nodes after it) of every change of a job's nodes."""
    result = simulate(jobs, nodes, mechanism, **options)
    return [
        (entry.time / 1e6, entry.event, entry.job_id, entry.after)
        for entry in result.entries
        if entry.event in ("start", "shrink", "expand", "warn", "complete")
    ]


class TestInTheSystem:
    def test_a_job_that_began_small_grows_when_nodes_come_free(self) -> None:
        """Work of 1,000 node-seconds; at 4 nodes for 100 s, then at 10: done at 160."""
        jobs = [rigid(1, 0, 6, 100), malleable(2, 0, 10, 100, min_nodes=2)]
        assert sizes(jobs, 10, "N-PAA", expansion="greedy") == [
            (0, "start", 1, 6),
            (0, "start", 2, 4),
            (100, "complete", 1, 0),
            (100, "expand", 2, 10),
            (160, "complete", 2, 0),
        ]
        assert sizes(jobs, 10, "N-PAA")[-1] == (250, "complete", 2, 0)

    def test_a_lender_that_has_grown_gets_back_what_it_can_use(self) -> None:
        """Job 1 is shrunk from 10 to 4 by job 3; job 2 ends and job 1 grows to 8; when job 3 returns its six nodes it
        takes two of them."""
        jobs = [malleable(1, 0, 10, 200, min_nodes=2), rigid(2, 0, 4, 100), on_demand(3, 50, 6, 100)]
        seen = sizes(jobs, 14, "N-SPAA", expansion="even")
        assert [item for item in seen if item[2] == 1] == [
            (0, "start", 1, 10),
            (50, "shrink", 1, 4),
            (100, "expand", 1, 8),
            (150, "expand", 1, 10),
            # 500 + 200 + 400 of 2,000 node-seconds are done.
            (240, "complete", 1, 0),
        ]

    def test_a_rule_without_promises_lets_jobs_grow_while_nobody_waits(self) -> None:
        jobs = [rigid(1, 0, 6, 10), malleable(2, 0, 10, 100, min_nodes=2), rigid(3, 1, 12, 50)]
        BACKFILLING.add("plain", lambda view: Easy()(view))
        try:
            seen = sizes(jobs, 12, "N-PAA", expansion="greedy", backfilling="plain")
        finally:
            BACKFILLING.forget("plain")
        assert [item for item in seen if item[1] == "expand"] == []
        assert [item for item in sizes(jobs, 12, "N-PAA", expansion="greedy") if item[1] == "expand"]

    @settings(max_examples=30)
    @given(table=job_tables(), share=st.sampled_from(SHARES))
    def test_the_baseline_has_nobody_to_expand(self, table: Table, share: str) -> None:
        plain, grown = (simulate(table.jobs, table.nodes, expansion=name) for name in ("none", share))
        assert plain.records == grown.records
        assert plain.entries == grown.entries

    @pytest.mark.parametrize("mechanism", [BASELINE, *MECHANISMS])
    @settings(max_examples=20)
    @given(table=job_tables(types=(JobType.RIGID, JobType.ON_DEMAND)))
    def test_nor_has_a_table_of_rigid_jobs(self, mechanism: str, table: Table) -> None:
        jobs = [replace(job) for job in table.jobs]
        plain, grown = (simulate(jobs, table.nodes, mechanism, expansion=name) for name in ("none", "even"))
        assert plain.entries == grown.entries

    def test_a_plug_in_that_expands_whom_it_may_not_is_found_out(self) -> None:
        for wrong in (Expand(1, 1), Expand(2, 9), Expand(2, 0), Expand(7, 1)):
            EXPANSIONS.add("wrong", lambda view, promises, wrong=wrong: [wrong])
            try:
                with pytest.raises(InvariantError, match="the expansion wrong answered Expand"):
                    simulate(
                        [rigid(1, 0, 2, 100), malleable(2, 0, 4, 100, min_nodes=2), rigid(3, 0, 1, 10)],
                        9,
                        "N-PAA",
                        expansion="wrong",
                    )
            finally:
                EXPANSIONS.forget("wrong")

    def test_an_unknown_one_is_answered_with_the_nearest(self) -> None:
        with pytest.raises(UnknownNameError, match="unknown expansion 'evn': did you mean even"):
            simulate([rigid(1, 0, 1, 1)], 1, expansion="evn")
