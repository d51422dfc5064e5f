"""Runs summed up over seeds: means, intervals, paired differences, and the keys that vary."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from holdfast.experiments.cli import main
from holdfast.experiments.figures.study.aggregates import plot_aggregates, plot_differences, undrawn
from holdfast.experiments.sweeps import make_sweep, run_sweep
from holdfast.experiments.sweeps.aggregates import (
    aggregate_rows,
    aggregate_table,
    difference_rows,
    difference_table,
    filter_rows,
    parse_reference,
    varying_parameters,
)
from holdfast.experiments.tables import read_csv
from holdfast.workloads.ground.errors import InputError

WAITS = {
    ("fcfs", "easy"): [3.0, 5.0, 4.0],
    ("sjf", "easy"): [1.0, 4.0, 2.5],
    ("fcfs", "none"): [9.0, 9.5, 11.0],
    ("sjf", "none"): [9.1, 9.4, 11.1],
}
ROWS: list[dict[str, Any]] = [
    {
        "run": f"{order}{rule}{seed}", "label": f"{order} / {rule}", "generator_seed": seed, "workload": f"seed {seed}",
        "order": order, "backfilling": rule, "warning": 120.0, "wait_h": wait, "utilization": 0.99 + 0.01 * seed / 3,
        "instant_start_ratio": None,
    }
    for (order, rule), waits in WAITS.items() for seed, wait in enumerate(waits)
]  # fmt: skip


def test_keys_are_what_varies_and_is_no_repetition() -> None:
    assert varying_parameters(ROWS) == ["order", "backfilling"]
    assert varying_parameters(ROWS, ()) == ["order", "backfilling", "generator_seed"]
    # What another key decides is none.
    assert varying_parameters([{**row, "nodes": 8 if row["order"] == "sjf" else 16} for row in ROWS]) == [
        "order",
        "backfilling",
    ]
    assert varying_parameters([]) == []


def test_means_and_intervals_are_those_of_student() -> None:
    rows = aggregate_rows(ROWS)
    assert {row["metric"] for row in rows} == {"wait_h", "utilization"}  # no run has the third one
    for row in rows:
        if row["metric"] == "wait_h":
            waits = WAITS[row["order"], row["backfilling"]]
            low, high = stats.t.interval(0.95, 2, np.mean(waits), stats.sem(waits))
            assert (row["n"], row["mean"]) == (3, pytest.approx(np.mean(waits)))
            assert (row["low"], row["high"]) == (pytest.approx(max(low, 0.0)), pytest.approx(high))
        else:
            assert row["high"] <= 1.0  # of a share
    alone = aggregate_rows([row for row in ROWS if row["generator_seed"] == 1])
    assert all(row["n"] == 1 and row["low"] is None for row in alone)


def test_differences_are_paired() -> None:
    rows = [row for row in difference_rows(ROWS, {"order": "fcfs"}) if row["metric"] == "wait_h"]
    assert [(row["order"], row["backfilling"], row["against"]) for row in rows] == [
        ("sjf", "easy", "fcfs"),
        ("sjf", "none", "fcfs"),
    ]
    for row in rows:
        gains = np.subtract(WAITS["sjf", row["backfilling"]], WAITS["fcfs", row["backfilling"]])
        low, high = stats.t.interval(0.95, 2, gains.mean(), stats.sem(gains))
        assert (row["difference"], row["low"], row["high"]) == pytest.approx((gains.mean(), low, high))
    assert [row["verdict"] for row in rows] == ["better" if row["high"] < 0 else "undecided" for row in rows]
    assert len({row["verdict"] for row in rows}) == 2
    # Seeds that one side lacks are no pairs.
    fewer = [row for row in ROWS if (row["order"], row["generator_seed"]) != ("fcfs", 0)]
    assert {row["n"] for row in difference_rows(fewer, {"order": "fcfs"})} == {2}


def test_a_reference_is_not_compared_with_itself() -> None:
    left = [row for row in ROWS if row["backfilling"] == "easy"]  # the runs with the other rule failed
    assert difference_rows(left, {"backfilling": "easy"}) == []


def test_a_reference_is_named_by_key_and_value() -> None:
    assert parse_reference(ROWS, "order=sjf,backfilling=none") == {"order": "sjf", "backfilling": "none"}
    assert parse_reference(ROWS, "sjf") == {"order": "sjf"}
    for text, sentence in (
        ("warning=120", "unknown key that varies 'warning'"),
        ("order=wfp3", "--against order must be one of its values, fcfs, sjf, not 'wfp3'"),
        ("120", "--against must be KEY=VALUE with a key that varies"),
    ):
        with pytest.raises(InputError, match=sentence):
            parse_reference(ROWS, text)
    numbers = [{"nodes": nodes, "wait_h": 1.0} for nodes in (8, 16)]
    assert parse_reference(numbers, "nodes=8.0") == {"nodes": 8}


def test_some_runs_are_chosen() -> None:
    assert {row["order"] for row in filter_rows(ROWS, ["order=sjf", "backfilling=easy,none"])} == {"sjf"}
    for where, sentence in (("ordr=sjf", "unknown key 'ordr': did you mean order"), ("order=x", "not 'x'")):
        with pytest.raises(InputError, match=sentence):
            filter_rows(ROWS, [where])


def test_tables_show_units_and_mark_what_is_decided() -> None:
    text = aggregate_table(aggregate_rows(ROWS))
    assert "fcfs   easy         3  4.0 [1.5, 6.5]" in text
    marked = difference_table(difference_rows(ROWS, {"backfilling": "none"}), ["wait_h"])
    assert "mean wait" in marked
    assert marked.count("*") == 2
    assert "utilisation" not in marked


def test_all_values_are_within_their_panels() -> None:
    # Later rows of panels have larger values, and long headings.
    more = [
        {**row, "notice_mix": mix, "checkpoint_variation": share, "wait_h": factor * row["wait_h"]}
        for row in ROWS
        for mix, share, factor in (("W1", 0.123456, 1), ("W2", 0.123456, 50), ("W1", 0.234567, 200))
    ]
    figure = plot_aggregates(aggregate_rows(more))
    figure.draw_without_rendering()
    for axes in figure.axes:
        low, high = axes.get_xlim()
        points = np.concatenate(
            [line.get_xdata() for line in axes.get_lines() if line.get_marker() not in ("", "None")]
        )
        assert low <= points.min() and points.max() <= high
    widths = [axes.get_position().width for axes in figure.axes]
    assert min(widths) == pytest.approx(max(widths))
    assert widths[0] > 0.3


def test_a_figure_has_a_column_for_each_metric_and_a_row_for_each_facet() -> None:
    figure = plot_aggregates(aggregate_rows(ROWS))
    assert [axes.get_title("left") for axes in figure.axes] == ["Mean wait (h)", "Utilisation (%)"]
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == ["fcfs", "sjf"]
    more = [{**row, "nodes": nodes, "wait_h": row["wait_h"] * nodes} for row in ROWS for nodes in (8, 16, 32)]
    figure = plot_aggregates(aggregate_rows(more), ["wait_h"])
    assert len(figure.axes) == 2
    assert figure.axes[1].get_xlabel() == "Nodes"
    points = {tuple(line.get_ydata()) for line in figure.axes[0].get_lines() if len(line.get_xdata()) == 3}
    means = {tuple(8 * 2**k * np.mean(WAITS[order, "easy"]) for k in range(3)) for order in ("fcfs", "sjf")}
    assert {tuple(np.round(point, 9)) for point in points} >= {tuple(np.round(mean, 9)) for mean in means}
    assert len(plot_differences(difference_rows(ROWS, {"order": "fcfs"})).axes) == 2
    assert undrawn(aggregate_rows(ROWS)) == ""
    with pytest.raises(InputError, match="unknown metric 'wait'"):
        plot_aggregates(aggregate_rows(ROWS), ["wait"])
    with pytest.raises(InputError, match="no configurations to draw"):
        plot_aggregates([])


def test_what_a_figure_cannot_show_is_reported() -> None:
    many = [
        {"order": order, "tenants": tenants, "mix": f"W{mix}", "wait_h": 1.0 + mix}
        for order in ("fcfs", "sjf", "wfp3") for tenants in ("any", "fits", "none") for mix in range(9)
    ]  # fmt: skip
    rows = aggregate_rows(many)
    assert undrawn(rows) == ""  # nine mixes, three orders, three rows of panels
    more = aggregate_rows([{**row, "expansion": name} for row in many for name in ("none", "even", "greedy")])
    assert "9 combinations of tenants x expansion, of which the first 6 are drawn" in undrawn(more)
    assert len(plot_aggregates(more).axes) == 6


@pytest.mark.system
def test_a_sweep_is_summed_up_in_files_and_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sweep = make_sweep(workload={"seeds": "0:2", "jobs": 40}, mechanisms="baseline", options={"order": ["fcfs", "sjf"]})
    result = run_sweep(sweep, tmp_path, workers=1, against="order=fcfs")
    for name, rows in (("aggregates", result.aggregates), ("differences", result.differences)):
        written = read_csv(tmp_path / f"{name}.csv")
        assert written == [dict(row) for row in rows]
    waits = {(row["order"], row["generator_seed"]): row["wait_h"] for row in result.summary}
    (row,) = [row for row in result.differences if row["metric"] == "wait_h"]
    assert row["difference"] == pytest.approx(np.mean([waits["sjf", k] - waits["fcfs", k] for k in (0, 1)]))
    assert main(["plot", str(tmp_path)]) == 0
    assert capsys.readouterr().out == (
        "aggregates: aggregates.png, aggregates.pdf\ndifferences: differences.png, differences.pdf\n"
    )
    assert main(["plot", str(tmp_path), "--against", "sjf", "--metrics", "wait_h", "--where", "order=sjf,fcfs"]) == 0
    assert "difference from sjf" in capsys.readouterr().out
    with pytest.raises(InputError, match="one of its values, fcfs, sjf, not 'wfp3'"):
        run_sweep(sweep, tmp_path / "other", workers=1, against="order=wfp3")
    assert not (tmp_path / "other").exists()
