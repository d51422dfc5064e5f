"""The catalogue of metrics has every column that is reported, and everything that shows a metric reads it there."""

from __future__ import annotations

import ast

import pytest

from holdfast.experiments.planning.closed_loop import COLUMNS as LOOP_COLUMNS
from holdfast.experiments.study.measurement_table import Measured
from holdfast.experiments.study.metrics import BATCH, BEYOND, PROFILES, WEEK, find_metric
from holdfast.experiments.study.report.reference import PAGE, metrics_page
from holdfast.experiments.sweeps import table
from holdfast.simulator import simulate
from holdfast.simulator.results.catalogue import CATALOGUE, Group, metric
from holdfast.simulator.results.metrics import summarize, summarize_types
from holdfast.simulator.results.records import STATES
from holdfast.workloads.ground.columns import Better
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.outages.outage import Outage, OutageKind
from holdfast.workloads.table.job import Job, JobType
from tests.places import ROOT
from tests.support.sources import syntax_tree

#: Identities, not numbers.
_LABELS = {"mechanism", "type", "week", "round", "stable"}
_EXPERIMENTS = (BATCH, WEEK, PROFILES, BEYOND)


def _metric_names(*groups: Group) -> set[str]:
    return {name for group in groups for name in CATALOGUE[group]}


def test_every_column_of_a_summary_is_in_the_catalogue() -> None:
    jobs = [
        Job(1, JobType.RIGID, 0.0, 2, 100.0, 100.0),
        Job(2, JobType.RIGID, 1.0, 2, 100.0, 100.0, cancelled_at=50.0),
        Job(3, JobType.STOCHASTIC, 0.0, 1, 10.0, 50.0, plan="maximum", application="a"),
    ]
    result = simulate(jobs, 4, outages=[Outage(OutageKind.MAINTENANCE, 500.0, 600.0, 1)])
    names = set(summarize(result)) - _LABELS
    assert names == _metric_names(Group.SUMMARY, Group.OUTAGES, Group.STOCHASTIC, Group.CANCELLATIONS)
    assert {name for row in summarize_types(result) for name in row} - _LABELS == _metric_names(Group.TYPES)


def test_every_column_of_sweeps_and_loops_is_in_the_catalogue() -> None:
    tables = (table.SUMMARY, table.TYPES, table.ACCOUNTING, table.WEEKS, table.TIMINGS)
    measured = {name for columns in tables for name in columns} - {*table.PARAMETERS, *_LABELS}
    known = _metric_names(Group.SUMMARY, Group.STOCHASTIC, Group.TYPES, Group.ACCOUNTING, Group.SWEEPS)
    assert measured == known - {"down_node_hours"}
    assert set(LOOP_COLUMNS) - _LABELS <= _metric_names(Group.SUMMARY, Group.STOCHASTIC, Group.LOOP)
    assert _metric_names(Group.ACCOUNTING) == {f"{name}_node_hours" for name in (*STATES, "down")}


def test_entries_are_whole_and_one_name_means_one_unit() -> None:
    seen: dict[str, tuple[str, float]] = {}
    for group in CATALOGUE.values():
        for name, item in group.items():
            assert item.definition.endswith(".") and item.title and item.of and item.source, name
            assert seen.setdefault(name, (item.unit, item.scale)) == (item.unit, item.scale), name
    for group in _EXPERIMENTS:
        assert all(item.definition.endswith(".") and item.source for item in group.values())


@pytest.mark.system
def test_no_study_and_no_figure_makes_or_guesses_a_unit() -> None:
    """Outside the catalogue no metric is made, and no unit is read from a name."""
    names = ("catalogue", "job_metrics", "metric_groups", "metrics", "reservations")
    made = {"experiments/study/metrics.py", *(f"simulator/results/{name}.py" for name in names)}
    for path in [*(ROOT / "experiments").rglob("*.py"), *(ROOT / "simulator").rglob("*.py")]:
        for node in ast.walk(syntax_tree(path)):
            if isinstance(node, ast.Call):
                name = ast.unparse(node.func)
                assert name != "Metric" or str(path.relative_to(ROOT)) in made, path
                if name.endswith((".endswith", ".partition")) and node.args:
                    assert ast.unparse(node.args[0]) not in {"'_h'", "'_share'", "'_ratio'", "'_hours'", "' ('"}, path
            if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In):
                assert ast.unparse(node.left) not in {"'ratio'", "'_ratio'"}, path


def test_the_page_is_what_the_catalogue_says() -> None:
    again = "write it again: python -m holdfast.experiments.study.report.reference"
    assert (ROOT / PAGE).read_text(encoding="utf-8") == metrics_page(), again


def test_measured_values_come_as_the_catalogue_shows_them() -> None:
    rows = [
        {"trace": trace, "mechanism": name, "mix": mix, "utilization": 0.1 * trace, "bounded_slowdown": 3.0,
         "lost_node_hours": 10.0, "longer_share": 0.5, "made_up": 1.0}
        for trace in (2, 1)
        for name in ("a", "b")
        for mix in ("x", "y")
    ]  # fmt: skip
    data = Measured(rows)
    assert data("utilization", "a").tolist() == pytest.approx([10.0, 20.0])
    assert data("bounded_slowdown", ("a", "b"), "x").tolist() == [3.0, 3.0]  # a ratio, but no share
    assert data("longer_share", mix="y").tolist() == [50.0, 50.0]
    assert data.total("lost_node_hours").tolist() == [40.0, 40.0]
    with pytest.raises(LookupError, match="mechanism a or c"):
        data("utilization", ("a", "c"))
    with pytest.raises(LookupError, match="mechanism a, mix x or y"):  # one of its mixes is not there in one trace
        Measured(rows[1:])("utilization", "a", ("x", "y"))
    with pytest.raises(InputError, match="no metric is named made_up"):
        data("made_up")


def test_better_stands_once() -> None:
    assert metric("utilization").better is Better.MORE and metric("wait_h").better is Better.LESS
    assert {name for name, item in BEYOND.items() if find_metric(name) is not item} == set()
