"""Morris' screening of the parameters that may reorder the mechanisms."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holdfast.experiments.beyond.sensitivity import FACTORS, METRICS, Sensitivity, elementary_effects, swap_shares
from holdfast.experiments.study.experiment import find_experiment, read_tables, run_experiment
from holdfast.experiments.study.rules import Outcome
from holdfast.experiments.study.simulation_cache import SIX
from holdfast.workloads.ground.errors import ParameterError


def _walk(trajectories: int, seed: int = 0) -> np.ndarray:
    """One parameter after the other, in a random order, from corner to corner."""
    rng, count = np.random.default_rng(seed), len(FACTORS)
    places = []
    for _ in range(trajectories):
        place = rng.integers(0, 2, count).astype(float)
        places.append(place.copy())
        for factor in rng.permutation(count):
            place[factor] = 1 - place[factor]
            places.append(place.copy())
    return np.array(places)


def test_effects_are_those_of_the_library() -> None:
    sample, analyze = pytest.importorskip("SALib.sample.morris"), pytest.importorskip("SALib.analyze.morris")
    problem = {"num_vars": len(FACTORS), "names": list(FACTORS), "bounds": [[0.0, 1.0]] * len(FACTORS)}
    places = sample.sample(problem, 5, num_levels=4, seed=3)
    values = np.sin(3 * places[:, 0]) + 5 * places[:, 1] * places[:, 2] - places[:, 6]
    found = elementary_effects(places, values)
    effects = analyze.analyze(problem, places, values, num_levels=4, seed=1)
    assert np.abs(found).mean(axis=0) == pytest.approx(np.asarray(effects["mu_star"]))
    assert found.mean(axis=0) == pytest.approx(np.asarray(effects["mu"]))


def test_effects_of_a_sum_are_its_coefficients() -> None:
    places, own = _walk(4), np.arange(1.0, 8.0)
    assert elementary_effects(places, places @ own) == pytest.approx(np.tile(own, (4, 1)))


def test_pairs_change_their_order_where_lines_cross() -> None:
    places = _walk(3)
    values = np.stack([places[:, 0], np.full(len(places), 0.5), np.full(len(places), 2.0)], axis=1)
    expected = np.zeros((3, len(FACTORS)))
    expected[:, 0] = 1 / 3
    assert swap_shares(places, values) == pytest.approx(expected)


def _rows(effect: str) -> list[dict[str, Any]]:
    """Advantages that one parameter moves, and all others a little."""
    rows = []
    names = list(FACTORS)
    for number, place in enumerate(_walk(6)):
        own = {f"place_{name}": float(at) for name, at in zip(names, place, strict=True)}
        for line, mechanism in enumerate(SIX):
            wave = 0.01 * sum(place) + 3.0 * place[names.index(effect)]
            value = 1.0 + (line - 2.5) * (1.0 - wave)
            rows.append(
                {"trajectory": number // 8, "step": number % 8, "trace": 0, **own, "mechanism": mechanism}
                | dict.fromkeys(METRICS, value)
            )
    return rows


@pytest.mark.parametrize(("effect", "outcome"), [("load", Outcome.HOLDS), ("setup", Outcome.FAILS)])
def test_verdicts_follow_the_parameter_that_moves_them(effect: str, outcome: Outcome) -> None:
    verdicts = find_experiment("beyond-sensitivity").judge({"": _rows(effect)})
    assert verdicts[0].outcome is outcome
    assert verdicts[4].outcome is outcome


def test_years_without_on_demand_jobs_are_not_compared() -> None:
    rows = [{**row, "instant_start_ratio_strict": None} for row in _rows("load")]
    outcomes = [verdict.outcome for verdict in find_experiment("beyond-sensitivity").judge({"": rows})]
    assert outcomes[2] is Outcome.NOT_COMPARABLE


def test_wrong_parameters() -> None:
    with pytest.raises(ParameterError, match="trajectories"):
        Sensitivity(trajectories=1)
    with pytest.raises(ParameterError, match="traces"):
        Sensitivity(traces=0)


@pytest.mark.system
def test_the_experiment_walks_one_parameter_at_a_time(tmp_path: Path) -> None:
    pytest.importorskip("SALib")
    parameters = Sensitivity(jobs=100, traces=1, trajectories=2)
    run_experiment(find_experiment("beyond-sensitivity"), parameters, 1, tmp_path, "0", workers=1)
    rows = read_tables("beyond-sensitivity", tmp_path)[""]
    assert len(rows) == 2 * 8 * 6
    points = [row for row in rows if row["mechanism"] == SIX[0]]
    for before, after in pairwise(points):
        if before["trajectory"] == after["trajectory"]:
            assert sum(before[name] != after[name] for name in FACTORS) == 1
    for name, scale in FACTORS.items():
        assert all(scale.low <= row[name] <= scale.high for row in rows)
