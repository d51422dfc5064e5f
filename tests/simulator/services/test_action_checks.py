"""What a policy may not answer with: one sentence with its name, in the middle of a simulation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from holdfast.policies.arrival import ARRIVALS
from holdfast.policies.backfilling import BACKFILLING
from holdfast.policies.expansion import EXPANSIONS
from holdfast.policies.notice import NOTICES
from holdfast.policies.port import Expand, Expect, Hold, Preempt, Shrink, Start
from holdfast.policies.reserved_backfill import TENANCIES
from holdfast.simulator import simulate
from holdfast.simulator.services.action_checks import describe
from holdfast.workloads.ground.errors import InvariantError
from tests.support.jobs import malleable, on_demand, rigid

#: On 8 nodes: a rigid and a malleable job run, one waits, and an on-demand job has announced itself.
JOBS = [
    rigid(1, 0, 4, 1000),
    malleable(2, 0, 4, 1000, min_nodes=2),
    rigid(3, 10, 6, 1000),
    on_demand(4, 500, 4, 100, notice=20, estimated=500),
    on_demand(5, 510, 1, 500),
]


def _run(mechanism: str = "CUA-PAA", **options: str) -> None:
    simulate(JOBS, 8, mechanism, **options)


@pytest.mark.parametrize(
    ("answers", "sentence"),
    [
        ([Start(9, 1)], r"answered Start(9, nodes=1), but there is no job 9"),
        ([Start(3, 6)], "but job 3 is not in the queue"),
        ([Start(1, 4), Start(1, 4)], "but job 1 is not in the queue"),
        ([Start(1, 3)], "answered Start(1, nodes=3), but job 1 runs on 4 nodes"),
        ([Start(2, 1)], "but job 2 runs on 2 to 4 nodes"),
        ([Start(1, 4), Start(2, 4), Start(2, 4)], "but job 2 is not in the queue"),
        ([Preempt(1)], "answered Preempt(1), but that is no Start"),
        (None, "answered None, but must answer with a list of actions"),
        ([7], "answered 7, but that is no Start"),
        (iter([Start(1, 4)]), "answered a list_iterator, but must answer with a list of actions"),
    ],
)
def test_a_backfilling_rule(answers: Any, sentence: str) -> None:
    BACKFILLING.add("bad", lambda view: answers)
    try:
        with pytest.raises(InvariantError) as caught:
            _run(backfilling="bad")
    finally:
        BACKFILLING.forget("bad")
    assert str(caught.value).startswith("the backfilling rule bad answered ")
    assert sentence in str(caught.value)


def test_more_than_is_free() -> None:
    BACKFILLING.add("bad", lambda view: [Start(job.job_id, job.nodes) for job in view.queue])
    try:
        with pytest.raises(
            InvariantError, match=r"the backfilling rule bad answered Start\(3, nodes=6\), but 0 nodes are free"
        ):
            simulate([rigid(1, 0, 8, 100), rigid(3, 0, 6, 100)], 8, backfilling="bad")
    finally:
        BACKFILLING.forget("bad")


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (Start(9, 2, "tenant", {4: 2}), "there is no job 9"),
        (Start(6, 2, "tenant"), "must say from which reservations it draws"),
        (Start(6, 2, "tenant", {5: 2}), "job 5 has no open reservation"),
        (Start(6, 2, "tenant", {4: 9}), "3 nodes of the reservation of job 4 are idle, not 9"),
        (Start(6, 2, "tenant", {4: 1}), "it draws 1 node"),
    ],
)
def test_a_tenants_rule(answer: Start, sentence: str) -> None:
    jobs = [rigid(1, 0, 5, 1000), on_demand(4, 500, 4, 100, notice=20, estimated=500), rigid(6, 30, 2, 1000)]
    TENANCIES.add("bad", lambda view: [answer])
    try:
        with pytest.raises(InvariantError, match="the tenants rule bad answered Start") as caught:
            simulate(jobs, 8, "CUA-PAA", tenants="bad")
    finally:
        TENANCIES.forget("bad")
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("answers", "sentence"),
    [
        ([Hold(5)], "answered Hold(5), but job 4 asks for 4 nodes"),
        ([Hold(1)], "but 0 nodes are free"),
        ([Hold(-1)], "at least 0"),
        ([Hold(0), Expect(3)], "answered Expect(3), but job 3 does not run"),
        ([Hold(0), Expect(1), Preempt(1, 400_000_000)], "but job 1 is in a plan already"),
        ([Hold(0), Preempt(1, 5)], "but it is 20000000 already"),
        ([Hold(0), Shrink(2, 1)], "answers with Hold, Expect and Preempt"),
        ([Expect(1)], "a plan needs a reservation"),
    ],
)
def test_a_notice_strategy(answers: Any, sentence: str) -> None:
    NOTICES.add("bad", lambda view, request: answers)
    try:
        with pytest.raises(InvariantError, match="the notice strategy bad answered") as caught:
            _run("bad-PAA")
    finally:
        NOTICES.forget("bad")
    assert sentence in str(caught.value)


def _arrival(make_room: Callable[[Any], Any]) -> Any:
    class Bad:
        def room(self, view: Any, request: Any) -> int:
            return 99

        def make_room(self, view: Any, request: Any, missing: int) -> Any:
            return make_room(missing)

    return Bad


@pytest.mark.parametrize(
    ("answers", "sentence"),
    [
        ([Preempt(9)], "answered Preempt(9), but job 9 does not run"),
        ([Shrink(1, 2)], "answered Shrink(1, nodes=2), but job 1 is not malleable"),
        ([Shrink(2, 3)], "but job 2 can give up 2 of its 4 nodes"),
        ([Shrink(2, 0)], "at least 1"),
        ([Preempt(1), Preempt(2)], "but nothing is missing any more"),
        ([Expand(2, 1)], "answers with Preempt and Shrink"),
        ([Shrink(2, 2)], "found 2 of the 4 nodes that job 4 misses, but had reported enough room"),
        ([Preempt(1), Preempt(1)], "job 1 does not run"),
    ],
)
def test_an_arrival_strategy(answers: Any, sentence: str) -> None:
    ARRIVALS.add("bad", _arrival(lambda missing: answers))
    try:
        with pytest.raises(InvariantError, match="the arrival strategy bad ") as caught:
            _run("N-bad")
    finally:
        ARRIVALS.forget("bad")
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("answers", "sentence"),
    [
        ([Expand(9, 1)], "answered Expand(9, nodes=1), but job 9 does not run"),
        ([Expand(1, 1)], "but job 1 is not malleable"),
        ([Expand(2, 5)], "but job 2 can use 4 more than its 4 nodes"),
        ([Expand(2, 3)], "but 2 nodes are free"),
        ([Expand(2, 0)], "at least 1"),
        ([Shrink(2, 1)], "an expansion answers with Expand"),
        (None, "must answer with a list"),
    ],
)
def test_an_expansion(answers: Any, sentence: str) -> None:
    jobs = [rigid(1, 0, 4, 1000), malleable(2, 0, 8, 1000, min_nodes=2)]
    EXPANSIONS.add("bad", lambda view, promises: answers if len(view.running) == 2 else [])
    BACKFILLING.add("four", lambda view: [Start(job.job_id, 4) for job in view.queue])
    try:
        with pytest.raises(InvariantError, match="the expansion bad answered") as caught:
            simulate(jobs, 10, "N-PAA", expansion="bad", backfilling="four")
    finally:
        EXPANSIONS.forget("bad")
        BACKFILLING.forget("four")
    assert sentence in str(caught.value)


def test_nobody_is_shrunk_by_more_than_is_missing() -> None:
    jobs = [malleable(1, 0, 8, 1000, min_nodes=2), on_demand(2, 10, 1, 100)]
    ARRIVALS.add("bad", _arrival(lambda missing: [Shrink(1, 2)]))
    try:
        with pytest.raises(InvariantError, match=r"answered Shrink\(1, nodes=2\), but only 1 node"):
            simulate(jobs, 8, "N-bad")
    finally:
        ARRIVALS.forget("bad")


def test_an_on_demand_job_is_nobodys_victim() -> None:
    jobs = [on_demand(1, 0, 8, 1000), on_demand(2, 10, 4, 100)]
    ARRIVALS.add("bad", _arrival(lambda missing: [Preempt(1)]))
    try:
        with pytest.raises(InvariantError, match=r"answered Preempt\(1\), but job 1 may not be preempted"):
            simulate(jobs, 8, "N-bad")
    finally:
        ARRIVALS.forget("bad")


def test_answers_in_short() -> None:
    assert describe(Start(7, 3, "backfilled", {1: 3})) == "Start(7, nodes=3)"
    assert describe(Preempt(7)) == "Preempt(7)"
    assert describe(Preempt(7, 5)) == "Preempt(7, at=5)"
    assert describe(Expect(7)) == "Expect(7)"
    assert describe(Hold(2)) == "Hold(2)"
    assert describe("soon") == "'soon'"
