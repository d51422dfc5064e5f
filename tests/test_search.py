"""The random search over all options: a few cases each time, and that its checker sees what is wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.simulator import Result
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.outages.outage import Outage, OutageKind
from tests.search import __main__ as search
from tests.search.cases import Case, seeded_case
from tests.search.checker import broken_laws
from tests.search.smaller import smallest
from tests.support.jobs import malleable, on_demand, rigid


@settings(max_examples=150)
@given(st.integers(0, 10**9))
def test_no_law_is_broken_whatever_is_drawn(seed: int) -> None:
    case = seeded_case(seed, 0)
    assert not search.faults(case, measured=seed % 4 == 0), case.source()


CASE = Case(
    jobs=(
        rigid(1, 0, 4, 100, 200, setup=10, interval=20, cost=5),
        malleable(2, 0, 4, 100, 200, min_nodes=2, setup=20),
        on_demand(3, 50, 4, 30),
        rigid(4, 60, 2, 50, preceding=1),
    ),
    nodes=8,
    mechanism="N-PAA",
    outages=(Outage(OutageKind.FAILURE, 100, 150, 1, place=0.99),),
)


def _cut(result: Result, event: str) -> Result:
    return replace(result, entries=[entry for entry in result.entries if entry.event != event])


def _later(result: Result, event: str, nodes: int = 0, ticks: int = 0) -> Result:
    def change_entry(entry: object) -> object:
        if entry.event != event:  # type: ignore[attr-defined]
            return entry
        return entry._replace(time=entry.time + ticks, after=entry.after + nodes)  # type: ignore[attr-defined]

    return replace(result, entries=[change_entry(entry) for entry in result.entries])  # type: ignore[misc]


def _record(result: Result, **changes: object) -> Result:
    first, *others = result.records
    return replace(result, records=[first._replace(**changes), *others])  # type: ignore[arg-type]


ALTERED = {
    "start missing": lambda result: _cut(result, "start"),
    "end missing": lambda result: _cut(result, "complete"),
    "preemption missing": lambda result: _cut(result, "preempt"),
    "failure missing": lambda result: _cut(result, "down"),
    "larger": lambda result: _later(result, "start", nodes=1),
    "smaller": lambda result: _later(result, "start", nodes=-1),
    "earlier": lambda result: _later(result, "start", ticks=-1),
    "later": lambda result: _later(result, "complete", ticks=1),
    "status": lambda result: _record(result, status="cancelled"),
    "loss": lambda result: _record(result, lost=result.records[0].lost + 1),
    "preemptions": lambda result: _record(result, preemptions=3),
    "submit": lambda result: _record(result, submit=1),
    "record": lambda result: replace(result, records=result.records[1:]),
    "accounting": lambda result: replace(result, booked=result.accounting._replace(idle=0)),
    "samples": lambda result: replace(
        result, samples=[(now, busy, held + 9, *rest) for now, busy, held, *rest in result.samples]
    ),
    "losses": lambda result: replace(result, losses=[(time, 10**12) for time, _ in result.losses]),
}


@pytest.mark.parametrize("name", ALTERED)
def test_an_altered_result_is_seen(name: str) -> None:
    result = CASE.simulate()
    assert not broken_laws(CASE, result)
    assert broken_laws(CASE, ALTERED[name](result))


HELD = replace(
    CASE,
    jobs=(*CASE.jobs, rigid(5, 10, 2, 50, eligible=400.0), rigid(6, 20, 2, 50, eligible=500.0, cancelled_at=450.0)),
)


def _row(result: Result, job_id: int, **changes: object) -> Result:
    rows = [item._replace(**changes) if item.job_id == job_id else item for item in result.records]  # type: ignore[arg-type]
    return replace(result, records=rows)


def _events(result: Result, job_id: int, name: str, **changes: object) -> Result:
    """The events of a job changed; without any change they are left out."""
    entries = [
        item._replace(**changes) if (item.job_id, item.event) == (job_id, name) else item  # type: ignore[arg-type]
        for item in result.entries
        if changes or (item.job_id, item.event) != (job_id, name)
    ]
    return replace(result, entries=sorted(entries, key=lambda item: item.time))


ALTERED_HOLDS = {
    "hold missing": lambda result: _events(result, 5, "hold"),
    "held of another time": lambda result: _events(result, 5, "hold", time=11 * SECOND),
    "queued before": lambda result: _events(result, 5, "submit", time=399 * SECOND),
    "queued after": lambda result: _events(result, 5, "submit", time=401 * SECOND),
    "started before": lambda result: _events(result, 5, "start", time=399 * SECOND),
    "row without it": lambda result: _row(result, 5, eligible=None),
    "row of another time": lambda result: _row(result, 5, eligible=399 * SECOND),
    "row of a job without one": lambda result: _row(result, 1, eligible=5 * SECOND),
    "cancelled, and queued": lambda result: _events(result, 6, "hold", event="submit"),
}


@pytest.mark.parametrize("name", ALTERED_HOLDS)
def test_an_altered_hold_is_seen_by_its_own_law(name: str) -> None:
    result = HELD.simulate()
    assert not broken_laws(HELD, result)
    found = broken_laws(HELD, ALTERED_HOLDS[name](result), measured=False)
    assert any(
        "is held" in distribution or "enters the queue" in distribution or "is eligible" in distribution
        for distribution in found
    ), found


def test_a_case_is_made_small_and_printed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def faults(case: Case, *, measured: bool = True) -> list[str]:
        return ["two jobs that are wide"] if sum(job.nodes > 3 for job in case.jobs) >= 2 else []

    assert [job.job_id for job in smallest(CASE, lambda case: bool(faults(case))).jobs] == [2, 3]
    monkeypatch.setattr(search, "faults", faults)
    assert search.main(["--count", "40", "--seed", "4", "--shown", "1"]) == 1
    output = capsys.readouterr().out
    assert "40 simulations of " in output
    assert output.count("# case") == 1
