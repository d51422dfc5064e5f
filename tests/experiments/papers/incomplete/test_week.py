"""A week of six applications on a machine: against a plain queue, and with verdicts that can go either way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holdfast.experiments import cli
from holdfast.experiments.papers.incomplete.logs import FIGURE_6, generate_log, list_applications
from holdfast.experiments.papers.incomplete.submissions import draw_week, draw_widths, make_plans, run_week
from holdfast.experiments.study.experiment import Resources, find_experiment, read_tables, run_experiment
from holdfast.experiments.study.verdicts import Outcome
from holdfast.workloads.ground.random_streams import stream
from tests.reference.queue import completion_times, reservation_lengths

FEW = ("norm", "gamma")
NAME = "incomplete-fig8"
SMALL: dict[str, Any] = {"applications": ("cerebellum", "connectivity"), "samples": (10,), "loads": (0.9,),
                         "widest": (1, 4), "repetitions": 2, "families": FEW, "cells": 40}  # fmt: skip


@pytest.mark.system
def test_a_week_is_a_piece_of_the_year() -> None:
    week = draw_week(FIGURE_6, (10, 60), 1, 0)
    own = int(stream(1, "incomplete", "week", 0).integers(2**31))
    jobs = np.array(week.applications)
    for name in FIGURE_6:
        log, mine = generate_log(name, own), week.runtimes[jobs == name]
        start = len(week.past[name])
        assert len(mine) == round(list_applications()[name].runs * 7 / 365)
        assert start >= 60
        np.testing.assert_array_equal(np.concatenate((week.past[name], mine)), log.times[: start + len(mine)])
        for number in (10, 60):
            drawn = week.drawn[name, number]
            assert drawn.size == number
            assert np.isin(drawn, week.past[name]).all()
    assert (np.diff(week.submits) >= 0).all()
    assert 0 <= week.submits[0] < week.submits[-1] <= 168
    again, other = draw_week(FIGURE_6, (10, 60), 1, 0), draw_week(FIGURE_6, (10, 60), 1, 1)
    np.testing.assert_array_equal(week.runtimes, again.runtimes)
    assert not np.array_equal(week.runtimes, other.runtimes)


def test_what_each_strategy_knows() -> None:
    week = draw_week(("cerebellum", "connectivity"), (10,), 2, 0)
    plans = make_plans(week, (10,), FEW, 40)
    assert list(plans) == ["hpc", "masi", "hpc 10", "continuous 10"]
    for name, past in week.past.items():
        assert plans["hpc"][name].milestones.tolist() == [pytest.approx(3600 * past.max())]
        assert plans["hpc 10"][name].milestones[0] == pytest.approx(3600 * week.drawn[name, 10].max())
        masi = plans["masi"][name].milestones
        assert masi[0] == pytest.approx(3600 * past[-10:].mean())
        assert masi[1] == pytest.approx(1.5 * masi[0])
        continuous = plans["continuous 10"][name]
        assert not continuous.checkpointed.any()
        assert continuous.milestones[-1] >= 3600 * week.drawn[name, 10].max() * (1 - 1e-9)
        # All of them go on 1.5 times longer.
        for own in plans.values():
            longer = own[name].extend(1e6).milestones
            assert longer[-1] / longer[-2] == pytest.approx(1.5)


@pytest.mark.parametrize("strategy", ["hpc", "masi", "continuous 10", "omniscient"])
def test_a_week_is_a_plain_queue(strategy: str) -> None:
    week = draw_week(("cerebellum", "connectivity"), (10,), 2, 0)
    plans = make_plans(week, (10,), FEW, 40).get(strategy, {})
    times, submits = 3600 * week.runtimes, 3600 * week.submits
    ones = np.ones(len(times), dtype=np.int64)
    # Two nodes for what takes one third of one, then all too few: nobody waits, and then everybody.
    for machine in (2, 1):
        found = run_week(week, plans, ones, machine)
        jobs = [
            reservation_lengths(plans[name], time) if plans else [time]
            for name, time in zip(week.applications, times.tolist(), strict=True)
        ]
        ends = np.array(completion_times(jobs, machine, submits.tolist()))
        assert found["stretch"] == pytest.approx(float(((ends - submits) / times).mean()), rel=1e-6)
        assert found["response_h"] == pytest.approx(float((ends - submits).mean()) / 3600, rel=1e-6)
        span = float(ends.max() - submits.min())
        assert found["all_done_h"] == pytest.approx(span / 3600, rel=1e-6)
        assert found["utilization"] == pytest.approx(float(times.sum()) / (machine * span), rel=1e-6)
        assert found["execution_stretch"] == pytest.approx(float(np.mean([sum(job) for job in jobs] / times)), rel=1e-6)


def test_what_is_reserved_counts_nodes() -> None:
    week = draw_week(("cerebellum",), (10,), 2, 0)
    nodes = draw_widths(len(week.runtimes), 8, 0, 0)
    plans = make_plans(week, (10,), FEW, 40)["hpc 10"]
    found = run_week(week, plans, nodes, 16)
    asked = 0.0
    for runtime, width in zip((3600 * week.runtimes).tolist(), nodes.tolist(), strict=True):
        plan = plans["cerebellum"].extend(runtime)
        asked += width * float(plan.length[: len(reservation_lengths(plan, runtime))].sum())
    assert found["reserved_ratio"] == pytest.approx(asked / (3600 * float(week.runtimes @ nodes)), rel=1e-6)
    assert run_week(week, {}, nodes, 16)["reserved_ratio"] == pytest.approx(1.0)


def test_widths_are_powers_of_two() -> None:
    widths = draw_widths(4000, 8, 1, 0)
    assert sorted(set(widths.tolist())) == [1, 2, 4, 8]
    assert min(np.bincount(widths)[[1, 2, 4, 8]]) > 880
    assert set(draw_widths(50, 1, 1, 0).tolist()) == {1}


@pytest.mark.system
def test_the_experiment_runs(tmp_path: Path) -> None:
    item = find_experiment(NAME)
    parameters = replace(item.quick, **SMALL)
    verdicts = run_experiment(item, parameters, 1, tmp_path, "0", workers=1)
    # Generated logs are comparable with nothing.
    assert {verdict.outcome for verdict in verdicts} == {Outcome.NOT_COMPARABLE}
    assert all("there it" in verdict.remark for verdict in verdicts)
    rows = read_tables(NAME, tmp_path)[""]
    assert len(rows) == 2 * 2 * 5
    for row in rows:
        # A machine has whole nodes, as many as the widest job at least.
        assert row["machine"] >= max(1, row["work_node_hours"] / (168 * 0.9) - 0.5)
        assert row["machine"] <= max(4, row["work_node_hours"] / (168 * 0.9) + 0.5)
        if row["strategy"] == "omniscient":
            assert row["execution_stretch"] == pytest.approx(1.0, abs=1e-8)
    alone, shared = (item.measure(parameters, 1, Resources(tmp_path / f"{count}", workers=count)) for count in (1, 2))
    assert [dict(row) for row in shared[""]] == [dict(row) for row in alone[""]]


def test_defaults_are_the_papers() -> None:
    setting = find_experiment(NAME).parameters
    assert setting.samples == (10, 60, 110)
    assert setting.applications == FIGURE_6
    assert set(setting.loads) == {0.7, 0.9, 1.1}


@pytest.mark.parametrize(
    "setting", ["applications=foo", "samples=705", "samples=1", "repetitions=1", "families=foo", "loads=0", "widest=0"]
)
def test_wrong_settings_are_one_sentence(setting: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    few = ["--set", "applications=cerebellum", "--set", "repetitions=2", "--set", "families=norm"]
    assert cli.main(["experiment", NAME, "-o", str(tmp_path), "--quick", *few, "--set", setting]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
    assert not list(tmp_path.iterdir())


def _tables(values: Mapping[str, Mapping[str, float]], loads: tuple[float, ...] = (0.9,)) -> dict[str, Any]:
    """Rows of HPC and what others are of it, by column."""
    base = {"utilization": 0.4, "stretch": 10.0, "response_h": 20.0, "all_done_h": 200.0, "reserved_ratio": 3.0}
    rows = []
    for load in loads:
        for place in range(4):
            for name in ("hpc", "hpc 10", "hpc 110", "masi", "continuous 10", "continuous 110", "omniscient"):
                own = {key: value * (1 + place) * values.get(name, {}).get(key, 1.0) for key, value in base.items()}
                rows.append({"load": load, "widest": 1, "repetition": place, "strategy": name, **own})
    return {"": rows, "data": [{"measured": 1, "runs": len(rows), "why": ""}]}


def _outcomes(tables: Mapping[str, Any]) -> list[Outcome]:
    return [verdict.outcome for verdict in find_experiment(NAME).judge(tables)]


def test_the_verdicts_can_go_either_way() -> None:
    good: dict[str, dict[str, float]] = {
        "continuous 10": {"stretch": 0.7},
        "continuous 110": {"response_h": 0.66, "all_done_h": 0.68, "utilization": 1.5, "reserved_ratio": 0.5},
    }
    assert _outcomes(_tables(good)) == [Outcome.HOLDS] * 6
    assert _outcomes(_tables({})) == [Outcome.FAILS] * 6
    # Better, but not by as much.
    short = {
        "continuous 10": {"stretch": 0.8},
        "continuous 110": {"response_h": 0.8, "all_done_h": 0.8, "utilization": 1.4, "reserved_ratio": 0.7},
    }
    assert _outcomes(_tables(short)) == [Outcome.FAILS] * 4 + [Outcome.HOLDS, Outcome.FAILS]
    # The first case is judged, the others are told.
    tables = _tables(good, (0.9, 0.7))
    for row in tables[""]:
        if row["load"] == 0.7 and row["strategy"] == "continuous 10":
            row["stretch"] *= 2
    first = find_experiment(NAME).judge(tables)[0]
    assert first.outcome == Outcome.HOLDS
    assert "load 0.9, 1 node a job: -30 [-30, -30] %; load 0.7, 1 node a job: +40 [+40, +40] %" in first.measured


def test_a_change_that_is_not_decided_is_undecided() -> None:
    tables = _tables({"continuous 10": {"stretch": 0.3}})
    for row in tables[""]:
        if row["strategy"] == "continuous 10" and row["repetition"] == 0:
            row["stretch"] *= 50
    first = find_experiment(NAME).judge(tables)[0]
    assert first.outcome == Outcome.UNDECIDED
