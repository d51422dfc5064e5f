"""The tables of a result in Python: their columns, their types, and objects that show themselves in one line."""

from __future__ import annotations

import base64

import pandas as pd
import pytest

import holdfast as hf
from holdfast.experiments.figures.recording.notebook import KINDS
from tests.support.jobs import on_demand, rigid, stochastic

NODES = 8
#: A job of which nothing is defined but what was asked for: a no-show.
JOBS = [
    rigid(1, 0, 4, 600),
    rigid(2, 10, 8, 300, user="ann", project="sun"),
    on_demand(3, None, 2, 60, notice=20, estimated=200),
    stochastic(4, 30, 2, 900.0, "masi", walltime=700),
]


@pytest.fixture(scope="module")
def result() -> hf.Result:
    return hf.simulate(JOBS, NODES, "CUA-PAA", planner=hf.Planner())


def test_no_column_of_numbers_holds_objects(result: hf.Result) -> None:
    texts = {
        *("type", "user", "project", "partition", "application", "status", "cause", "ending", "event"),
    }
    for frame in (result.jobs, result.runs, result.reservations, result.events, result.timeline()):
        assert len(frame)
        odd = {name for name, kind in frame.dtypes.items() if not pd.api.types.is_numeric_dtype(kind)}
        assert odd <= texts
    # Also where no value is known, or there are no rows at all.
    plain = hf.simulate(JOBS[:1], NODES)
    assert plain.jobs["instant"].dtype == plain.jobs["min_nodes"].dtype == "float64"
    assert not len(plain.reservations)
    assert plain.reservations["length"].dtype == "float64"
    assert list(plain.reservations) == list(result.reservations)


def test_the_table_of_jobs_has_what_a_study_needs(result: hf.Result) -> None:
    jobs = result.jobs.set_index("job_id")
    assert (jobs.user[2], jobs.project[2], jobs.nodes[2], jobs.runtime[2]) == ("ann", "sun", 8, 300)
    came = jobs[jobs.start.notna()]
    assert set(came.index) == {1, 2, 4}
    assert (came.wait == came.start - came.submit).all()
    assert (came.turnaround == came.end - came.submit).all()
    assert (came.slowdown == came.turnaround / came.runtime).all()
    assert (came.bounded_slowdown == (came.turnaround / came.runtime.clip(lower=10)).clip(lower=1)).all()
    assert jobs.loc[3, ["start", "wait", "slowdown", "bounded_slowdown"]].isna().all()
    assert result.jobs.attrs["units"]["walltime"] == "s"


def test_runs_are_those_of_the_event_log(result: hf.Result) -> None:
    runs, events = result.runs, result.events
    assert len(runs) == (events.event == "start").sum() == 1 + 1 + len(result.reservations)
    assert runs.node_seconds.sum() == pytest.approx((runs.nodes * (runs.end - runs.start)).sum())
    assert runs.start.is_monotonic_increasing
    own = runs[runs.job_id == 4]
    assert own.number.tolist() == list(range(1, len(result.reservations) + 1))
    assert own.start.tolist() == result.reservations.start.tolist()
    with pytest.raises(hf.InputError, match="no event log"):
        _ = hf.simulate(JOBS[:1], NODES, events=False).runs


def test_objects_show_themselves_in_one_line(result: hf.Result) -> None:
    trace = hf.generate(jobs=300, seed=1)
    jobs = hf.prepare(trace, seed=0)
    distribution = hf.fit([job.runtime for job in trace.jobs], "kernel")
    shown = {
        "Trace(300 jobs on 4,392 nodes": trace,
        "Jobs(300 jobs: ": jobs,
        "Jobs(300 jobs: 300 rigid)": hf.as_rigid(trace),
        "JobTable(300 jobs: ": hf.JobTable(tuple(jobs)),
        "Result(CUA-PAA: 4 jobs on 8 nodes, fcfs, easy; ": result,
        "Stories(Result(CUA-PAA": hf.Stories(result),
        "KernelDistribution(": distribution,
        "ReservationPlan(no-ckpt: ": hf.plan(distribution),
        "Registry(order: fcfs, ": hf.ORDERS,
        "WaitModel(alpha=": hf.fit_waits([60.0, 120.0, 600.0], [1.0, 2.0, 3.0], [1, 1, 1]),
    }
    for begin, item in shown.items():
        assert repr(item).startswith(begin)
        assert len(repr(item)) < 200
        assert "\n" not in repr(item)


def test_a_result_shows_its_metrics_and_a_picture(result: hf.Result) -> None:
    html = result._repr_html_()
    assert html == result._repr_html_(), "no wall-clock time is in it"
    assert "CUA-PAA: 4 jobs on 8 nodes, order fcfs, backfilling easy" in html
    wait = result.summary()["wait_h"]
    assert f"<td>{wait:.1f}</td>" in html
    assert "engine" not in html
    picture = base64.b64decode(html.partition("base64,")[2].partition('"')[0])
    assert b"png" in picture.lower()
    assert len(html) < 200_000
    bare = hf.simulate(JOBS[:1], NODES, events=False)
    assert "1 job on 8 nodes" in bare._repr_html_()


@pytest.mark.system
def test_a_result_is_drawn_by_the_name_of_a_picture(result: hf.Result) -> None:
    for kind in KINDS:
        assert result.plot(kind).axes
    with pytest.raises(hf.InputError, match="unknown picture 'gant': did you mean gantt"):
        result.plot("gant")
    with pytest.raises(hf.InputError, match="start and end are for gantt"):
        result.plot(start="1h")
    with pytest.raises(hf.InputError, match="the window of time is empty"):
        result.plot("gantt", start="2h", end="1h")
