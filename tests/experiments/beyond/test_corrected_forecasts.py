"""Corrected forecasts of sections of logs: the measurement at a tiny size, scores and verdicts on made rows."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from holdfast.experiments.beyond.corrected_forecasts import EXPERIMENTS, CorrectedForecasts
from holdfast.experiments.beyond.corrected_scores import CORRECTED, METHODS, score_rows, thirds
from holdfast.experiments.beyond.log_sections import Section, run_moments
from holdfast.experiments.forecast.experts import EXPERTS, LEVELS
from holdfast.experiments.study.experiment import Resources, Row, read_tables, run_experiment
from holdfast.experiments.study.verdicts import Outcome
from holdfast.simulator import simulate
from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.hybrid.assignment import as_rigid
from holdfast.workloads.logs.swf import write_swf
from holdfast.workloads.theta.generator import generate
from holdfast.workloads.theta.year import ThetaYear

(EXPERIMENT,) = EXPERIMENTS
SMALL = CorrectedForecasts(moments=9, jobs=300, years=1, year_jobs=300)


def test_moments_of_all_parts_are_of_the_log_and_different() -> None:
    (section,) = SMALL.sections(3)
    assert section == Section("generated", "simulated", "", 300, 0, 20_003)
    many = replace(SMALL, moments=250)
    assert [part.count for part in many.parts(section, 3)] == [83, 83, 84]
    trace = generate(ThetaYear(jobs=300), section.seed)
    schedule = simulate(as_rigid(trace), trace.nodes or 0, events=False, order="fcfs", backfilling="easy")
    starts = np.array([record.start for record in schedule.records], dtype=float) / 1e6
    seen: list[float] = []
    for part in replace(SMALL, moments=250).parts(section, 3)[1:]:
        rows = run_moments(replace(part, count=4))
        submitted = [row["at_s"] for row in rows if row["waited_s"] == 0]
        assert 0 < len(submitted) <= 4
        assert min(submitted) > max(seen, default=0.0)
        seen += submitted
        for row in rows:
            if row["started"]:
                assert np.min(np.abs(starts - (row["at_s"] + row["wait_s"]))) < 1e-5


def made_rows(count: int, spread: float, seed: int = 0) -> list[Row]:
    """Back-tests of log-normal waits: the simulation is exact but for its spread, the other experts are far off."""
    rng = np.random.default_rng(seed)
    rows: list[Row] = []
    normal = np.array([-1.645, -0.674, 0.0, 0.674, 1.645])
    for number in range(count):
        for waited in (0.0, 50.0):
            middle = rng.normal(8.0, 1.0)
            exact = np.exp(middle + spread * normal)
            rows.append(
                {
                    **{"log": "kth", "schedule": "recorded", "week": number // 20, "at_s": 1e4 * number},
                    **{"waited_s": waited, "wait_s": float(np.exp(rng.normal(middle, 1.0))), "started": 1},
                    **{"nodes": int(rng.integers(1, 64)), "queue": int(rng.integers(1, 99))},
                    **dict.fromkeys(EXPERTS, " ".join(map(repr, (exact * 50).tolist()))),
                    "simulation": " ".join(map(repr, exact.tolist())),
                }
            )
    return rows


def test_too_narrow_intervals_are_corrected_and_experts_scored_beside() -> None:
    rows = score_rows(made_rows(300, 0.3), 0)
    for jobs in ("submitted", "waiting"):
        own = [row for row in rows if row["jobs"] == jobs]
        # The first 20 have too few before them.
        assert len(own) == 280 * len(METHODS)
        shares = {
            name: np.mean([abs(row["rank"] - 0.5) <= 0.45 for row in own if row["method"] == name]) for name in METHODS
        }
        assert shares[CORRECTED] == pytest.approx(0.9, abs=0.05)
        # The 90 % interval of a spread of 0.3 holds 38 % of a normal distribution with deviation 1.
        assert shares["simulation"] == pytest.approx(0.38, abs=0.07)
        errors = {name: np.median([row["error_s"] for row in own if row["method"] == name]) for name in METHODS}
        assert errors["nearest"] > 5 * errors[CORRECTED]


@pytest.mark.parametrize("wait", [0.0, 1.0])
def test_a_start_among_equal_quantiles_has_a_random_place(wait: float) -> None:
    # A log counts whole seconds: a wait of one second equals a forecast of none.
    rows = made_rows(200, 1.0)
    zeros = " ".join(["0.0"] * len(LEVELS))
    rows = [{**row, "wait_s": wait, "simulation": zeros} for row in rows]
    ranks = [row["rank"] for row in score_rows(rows, 0) if row["method"] == "simulation"]
    assert np.histogram(ranks, 4, (0, 1))[0] == pytest.approx([90] * 4, abs=30)


def test_thirds_are_of_equal_length() -> None:
    rows = [{"queue": value, "number": number} for number, value in enumerate((3, 1, 1, 1, 2, 9, 9))]
    assert [[row["number"] for row in part] for part in thirds(rows, "queue")] == [[1, 2, 3], [4, 0], [5, 6]]


@cache
def exact_scores() -> list[Row]:
    return score_rows(made_rows(200, 1.0), 0)


def scored_rows(times: int) -> list[Row]:
    """Scores of 200 moments, 180 of which have enough before them, the same again in later weeks."""
    return [{**row, "week": row["week"] + 100 * time} for time in range(times) for row in exact_scores()]


@pytest.mark.parametrize(("times", "expected"), [(6, Outcome.HOLDS), (1, Outcome.UNDECIDED)])
def test_coverage_needs_enough_forecasts(times: int, expected: Outcome) -> None:
    verdicts = EXPERIMENT.judge({"": scored_rows(times)})
    assert [verdict.outcome for verdict in verdicts[:2]] == [expected] * 2
    # Of the other logs there is nothing.
    assert {verdict.outcome for verdict in verdicts[4:]} == {Outcome.NOT_COMPARABLE}
    assert len(verdicts) == 4 + 7


def test_a_wrong_share_fails_and_medians_are_beside_the_best_expert() -> None:
    rows = scored_rows(6)
    worse = [
        {**row, "rank": 0.99 if row["method"] == CORRECTED and row["week"] % 4 == 0 else row["rank"]} for row in rows
    ]
    half, most, each, _ = EXPERIMENT.judge({"": worse})[:4]
    assert (half.outcome, most.outcome, each.outcome) == (Outcome.FAILS,) * 3
    better = [{**row, "error_s": row["error_s"] / (2 if row["method"] == CORRECTED else 1)} for row in rows]
    verdict = EXPERIMENT.judge({"": better})[3]
    assert verdict.outcome is Outcome.HOLDS
    assert verdict.measured.startswith("submitted, simulation -")


@pytest.mark.system
def test_a_log_is_measured_in_pieces_and_the_picture_drawn(tmp_path: Path) -> None:
    trace = generate(ThetaYear(jobs=400), 1)
    result = simulate(as_rigid(trace), trace.nodes or 0, events=False)
    waits = [float(round(wait)) for wait in result.jobs.wait.to_numpy()]
    jobs = tuple(replace(job, wait=wait) for job, wait in zip(trace.jobs, waits, strict=True))
    write_swf(replace(trace, jobs=jobs), tmp_path / "log.swf")
    parameters = replace(SMALL, moments=60, year_jobs=400, kth=str(tmp_path / "log.swf"))
    run_experiment(EXPERIMENT, parameters, 0, tmp_path / "out", "0", workers=2)
    pieces = sorted((tmp_path / "out" / "runs" / "pieces").iterdir())
    assert len(pieces) == 2
    tables = read_tables(EXPERIMENT.id, tmp_path / "out")
    assert {(row["log"], row["schedule"]) for row in tables[""]} == {("kth", "recorded"), ("generated", "simulated")}
    assert (tmp_path / "out" / "beyond-corrected.png").is_file()
    assert EXPERIMENT.measure(parameters, 0, Resources(tmp_path / "out" / "runs", 1))["summary"] == tables["summary"]


def test_parameters_are_checked() -> None:
    with pytest.raises(ParameterError, match="at least 1"):
        CorrectedForecasts(moments=0)
