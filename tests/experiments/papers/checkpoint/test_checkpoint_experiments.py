"""The experiments of the checkpoint paper: they run, their numbers are right, and their verdicts can fail."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from holdfast.experiments.papers.checkpoint.paper_plans import (
    Cells,
    cells_for,
    equal_costs,
    least_cost,
    limit_cost,
    make_plan,
)
from holdfast.experiments.papers.checkpoint.periodic import as_published_costs
from holdfast.experiments.papers.checkpoint.published_values import APPLICATIONS, TABLE_2
from holdfast.experiments.papers.checkpoint.workload import application_distribution
from holdfast.experiments.study.experiment import all_experiments, read_tables, run_experiment
from holdfast.experiments.study.verdicts import Outcome
from holdfast.policies.planning.costs import CostModel
from holdfast.policies.planning.plan import ReservationPlan
from holdfast.policies.planning.strategies import optimal
from holdfast.workloads.distributions import TABLE_1, bound_support, exponential, pareto, uniform
from holdfast.workloads.ground.errors import ParameterError
from tests.support.alterations import never_flips

SHORT = ("exponential", "beta")
#: Sizes with which each experiment takes well under a second.
TINY: dict[str, dict[str, Any]] = {
    "checkpoint-intro": {"cells": 400, "jobs": 200},
    "checkpoint-fig3": {},
    "checkpoint-fig4": {},
    "checkpoint-table1": {"distributions": ("gamma", "uniform"), "points": 20},
    "checkpoint-table3": {"points": 20},
    "checkpoint-claims": {
        "distributions": SHORT,
        "epsilons": (3.0,),
        "cells": 400,
        "trials": 20,
        "overheads": (0.1, 0.35),
    },
    "checkpoint-fig5": {"overheads": (0.05, 0.4, 1.0), "epsilon": 3.0, "most_cells": 300, "most": 40},
    "checkpoint-fig6": {"distributions": SHORT, "epsilons": (1.0, 3.0, 10.0)},
    "checkpoint-table2": {"distributions": SHORT, "cells": 300},
    "checkpoint-fig7": {"factors": (0.3, 1.0, 3.0), "most_cells": 300, "most": 40},
}


@pytest.fixture(scope="module")
def experiment_directory(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The directory of an experiment that was run once, small."""
    root = tmp_path_factory.mktemp("checkpoint")
    known = all_experiments()

    def directory(name: str) -> Path:
        if not (root / name).exists():
            (root / name).mkdir()
            item = known[name]
            run_experiment(item, replace(item.parameters, **TINY[name]), 0, root / name, "0", workers=1)
        return root / name

    return directory


def verdicts_of(name: str, tables: Any) -> dict[str, Outcome]:
    return {verdict.claim: verdict.outcome for verdict in all_experiments()[name].judge(tables)}


def outcome_of(name: str, tables: Any, words: str) -> Outcome:
    (found,) = [outcome for claim, outcome in verdicts_of(name, tables).items() if words in claim]
    return found


@pytest.mark.system
@pytest.mark.parametrize("name", TINY)
def test_each_experiment_runs(experiment_directory: Callable[[str], Path], name: str) -> None:
    directory = experiment_directory(name)
    tables = read_tables(name, directory)
    assert verdicts_of(name, tables)
    assert never_flips(all_experiments()[name], tables) == []
    assert json.loads((directory / f"{name}.json").read_text())["experiment"] == name
    drawn = all_experiments()[name].draw is not None
    assert (directory / f"{name}.png").exists() == drawn


def test_all_of_the_paper_but_the_cluster_is_here() -> None:
    assert {name for name in all_experiments() if name.startswith("checkpoint-")} >= set(TINY)


def test_the_introduction_to_the_last_digit(experiment_directory: Callable[[str], Path]) -> None:
    tables = read_tables("checkpoint-intro", experiment_directory("checkpoint-intro"))
    costs = {row["sequence"]: row for row in tables[""]}
    rounded = {name: round(row["cost_rounded"], 6) for name, row in costs.items() if name != "optimal"}
    assert rounded == {"S1": 80.0, "S2": 47.2, "S3": 41.54, "S3~": 42.32, "S3 without the second": 49.78}
    # The same from scipy's distribution and sums on paper.
    distribution = stats.lognorm(0.7321, scale=math.exp(2.7084))
    a, b = distribution.cdf(20) / distribution.cdf(80), distribution.cdf(40) / distribution.cdf(80)
    assert costs["S2"]["cost"] == pytest.approx(20 * a + 100 * (1 - a), rel=1e-12)
    assert costs["S3"]["cost"] == pytest.approx(27 * a + 54 * (b - a) + 121 * (1 - b), rel=1e-12)
    assert costs["S3~"]["cost"] == pytest.approx(27 * a + 61 * (b - a) + 108 * (1 - b), rel=1e-12)
    assert costs["optimal"]["cost"] == pytest.approx(38.698, abs=2e-3)
    outcomes = verdicts_of("checkpoint-intro", tables)
    assert [claim for claim, outcome in outcomes.items() if outcome == Outcome.FAILS] == [
        "the printed law has the printed probabilities of 0 to 20, 20 to 40 and 40 to 80",
        "E(S3~), with the printed probabilities",
    ]
    costs["S3"]["cost_rounded"] = 41.55
    assert outcome_of("checkpoint-intro", tables, "E(S3), ") == Outcome.FAILS


def test_the_anatomy_is_checked(experiment_directory: Callable[[str], Path]) -> None:
    tables = read_tables("checkpoint-fig4", experiment_directory("checkpoint-fig4"))
    assert set(verdicts_of("checkpoint-fig4", tables).values()) == {Outcome.HOLDS}
    tables["reservations"][1]["work"] += 0.5
    assert outcome_of("checkpoint-fig4", tables, "t_k = T_k") == Outcome.FAILS
    tables[""][-1]["end"] += 1.0
    assert outcome_of("checkpoint-fig3", tables, "without a gap") == Outcome.FAILS


def test_the_printed_densities_are_checked(experiment_directory: Callable[[str], Path]) -> None:
    tables = read_tables("checkpoint-table1", experiment_directory("checkpoint-table1"))
    assert set(verdicts_of("checkpoint-table1", tables).values()) == {Outcome.HOLDS}
    next(point for point in tables["densities"] if point["law"] == "gamma")["density"] *= 1.01
    assert outcome_of("checkpoint-table1", tables, "Gamma") == Outcome.FAILS


def test_the_applications() -> None:
    for name, mean in (("Qball", 185.9), ("FCA", 423.0)):
        application = APPLICATIONS[name]
        low, high = application.minimum, application.maximum
        whole = stats.gamma(application.shape, low, application.scale)
        mass, moment = whole.cdf(high), whole.expect(lambda t: t, ub=high)
        assert application_distribution(application).mean() == pytest.approx(moment / mass, rel=1e-6)
        assert application_distribution(application).mean() == pytest.approx(mean, abs=0.1)
    # The Weibull distribution of an enormous shape, moved by its scale, is the Gumbel distribution that is used.
    diffusion = APPLICATIONS["SD"]
    moved = stats.weibull_min(diffusion.shape, diffusion.location - diffusion.scale, diffusion.scale)
    at = np.array([3000.0, 5000.0, 7000.0])
    ends = moved.cdf([diffusion.minimum, diffusion.maximum])
    expected = (moved.cdf(at) - ends[0]) / (ends[1] - ends[0])
    np.testing.assert_allclose(application_distribution(diffusion).cdf(at), expected, atol=1e-4)


def test_nothing_beats_the_floor() -> None:
    for name in ("exponential", "uniform", "weibull"):
        distribution, costs = bound_support(TABLE_1[name]), replace(equal_costs(0.1), beta=0.5, gamma=0.05)
        best, floor = limit_cost(distribution, costs, 500), least_cost(distribution, costs, 500)
        assert 0.98 * best < floor < best
    # One cell: every job takes no time, and still pays for a reservation.
    assert least_cost(uniform(1.0, 3.0), CostModel(gamma=0.5), 1) == pytest.approx(1.5)


def test_algorithm_1_gives_way_where_it_would_take_too_long() -> None:
    distribution = uniform(1.0, 20.0)
    assert (cells_for(distribution, 1.0, 0.1, 600).n, cells_for(distribution, 1.0, 0.1, 600).kind) == (
        570,
        "equal-time",
    )
    assert (cells_for(distribution, 0.1, 0.1, 600).n, cells_for(distribution, 0.1, 0.1, 600).kind) == (600, "cubic")


def test_the_papers_own_grids_are_planned_for_beyond_what_users_may_ask_for(monkeypatch: pytest.MonkeyPatch) -> None:
    distribution, costs = uniform(1.0, 20.0), equal_costs(0.1)
    plan = optimal(distribution, costs, n=570, grid="equal-time")
    monkeypatch.setattr("holdfast.policies.planning.strategies.MOST_OPTIMAL", 500)
    with pytest.raises(ParameterError, match="from 1 to 500"):
        optimal(distribution, costs, n=570, grid="equal-time")
    assert make_plan("optimal", distribution, costs, Cells(570, "equal-time")) == plan


def test_theorem_3_can_fail(experiment_directory: Callable[[str], Path]) -> None:
    tables = read_tables("checkpoint-claims", experiment_directory("checkpoint-claims"))
    name = "checkpoint-claims"
    assert outcome_of(name, tables, "cost(DPC") == outcome_of(name, tables, "E(S~)") == Outcome.HOLDS
    tables[""][0]["cost"] *= 4.1
    assert outcome_of(name, tables, "cost(DPC") == Outcome.FAILS
    tables["lemma1"][0]["worst"] = 4.01
    assert outcome_of(name, tables, "E(S~)") == Outcome.FAILS
    for row in tables["gain"]:
        row["all-ckpt"] = row["no-ckpt"] = 1.2 * row["optimal"]
    assert outcome_of(name, tables, "the gain of a mix") == Outcome.FAILS


def test_the_verdicts_of_figure_5_can_fail(experiment_directory: Callable[[str], Path]) -> None:
    name = "checkpoint-fig5"
    tables = read_tables(name, experiment_directory(name))
    assert outcome_of(name, tables, "costs least") == Outcome.HOLDS
    for row in tables[""]:
        if row["strategy"] == "no-ckpt":
            row["normalised"] = 0.9
    assert outcome_of(name, tables, "costs least") == Outcome.FAILS
    assert outcome_of(name, tables, "Exponential: for small C = R") == Outcome.FAILS
    assert outcome_of(name, tables, "BoundedPareto: between thresholds") == Outcome.FAILS


def test_the_verdicts_of_figure_6_can_fail(experiment_directory: Callable[[str], Path]) -> None:
    name = "checkpoint-fig6"
    assert outcome_of(name, read_tables(name, experiment_directory(name)), "almost all") == Outcome.NOT_COMPARABLE

    def outcomes(usual: float, heavy: float, cells: int) -> list[Outcome]:
        costs = {"exponential": usual, "weibull": heavy}
        rows = [
            {"law": distribution, "epsilon": epsilon, "cells": cells, "normalised": cost if epsilon == 1 else 1.0}
            for distribution, cost in costs.items()
            for epsilon in (0.1, 1.0)
        ]
        return list(verdicts_of(name, {"": rows}).values())

    assert outcomes(1.005, 1.2, 500) == [Outcome.HOLDS] * 3
    assert outcomes(1.02, 1.001, 2000) == [Outcome.FAILS] * 3


def test_the_verdicts_of_figure_7_can_fail(experiment_directory: Callable[[str], Path]) -> None:
    name = "checkpoint-fig7"
    tables = read_tables(name, experiment_directory(name))
    assert outcome_of(name, tables, "best performance") == Outcome.HOLDS
    for row in tables[""]:
        row["normalised"] = {"optimal": 2.0, "all-ckpt": 1.5}.get(row["strategy"], 1.7 + 0.1 * len(row["strategy"]))
    verdicts = verdicts_of(name, tables)
    assert verdicts["DYN-PROG-COUNT always gives the best performance"] == Outcome.FAILS
    assert outcome_of(name, tables, "converge") == Outcome.NOT_COMPARABLE
    for row in tables[""]:
        row["mean"] *= 10
    assert outcome_of(name, tables, "converge") == Outcome.FAILS


@pytest.mark.system
def test_table_2_counts_its_cells(experiment_directory: Callable[[str], Path]) -> None:
    name = "checkpoint-table2"
    tables = read_tables(name, experiment_directory(name))
    words = "correctly, with gamma = 0.1 h"
    assert outcome_of(name, tables, words) == Outcome.NOT_COMPARABLE  # two distributions are not the table
    exponential_cells = [row for row in tables[""] if row["law"] == "exponential"]
    assert sum(row["agrees"] for row in exponential_cells) >= 14
    assert sum(len(row.costs) + 2 for pair in TABLE_2.values() for row in pair) == 144
    whole = [
        {
            "law": distribution,
            "strategy": column,
            "cell": cell,
            "measured": value,
            "printed": value,
            "relative_difference": 0.0,
        }
        for distribution, pair in TABLE_2.items()
        for column, row in zip(("ALL-CKPT-PER", "NO-CKPT-PER"), pair, strict=True)
        for cell, value in [("best tau", row.best_tau), ("best", row.best)]
        + [(f"tau={tau}", cost) for tau, cost in zip((1, 200, 400, 600, 800, 1000), row.costs, strict=True)]
    ]
    tables[""] = whole
    assert outcome_of(name, tables, words) == Outcome.HOLDS
    whole[5]["measured"] += 0.02
    assert outcome_of(name, tables, words) == Outcome.FAILS
    (measured,) = [v.measured for v in all_experiments()[name].judge(tables) if words in v.claim]
    assert measured == "143 of 144"


def test_the_published_slips_are_as_described() -> None:
    costs, distribution = equal_costs(0.1, 0.1), bound_support(pareto(1.5, 3.0))
    whole = pareto(1.5, 3.0)
    for tau in (1, 2, 5):
        ends = np.linspace(distribution.lower, distribution.upper, tau + 1)[1:]
        correct = ReservationPlan(ends, False, costs)
        needed = np.concatenate(([1.0], whole.sf(ends[:-1])))
        slip = 1.5 * needed[1:].sum()
        (published,) = as_published_costs(distribution, whole, costs, [tau], checkpointed=False)
        assert published == pytest.approx(float((correct.length + 0.1) @ needed) - slip, rel=1e-12)
        flags = np.arange(tau) < tau - 1
        (published,) = as_published_costs(distribution, whole, costs, [tau], checkpointed=True)
        assert published == pytest.approx(float((ReservationPlan(ends, flags, costs).length + 0.1) @ needed), rel=1e-12)
    # Where a = 0 and nothing is cut off, the slips do nothing.
    short = bound_support(exponential(1.0))
    (published,) = as_published_costs(short, short, costs, [7], checkpointed=True)
    correct = ReservationPlan(np.arange(1, 8) * short.upper / 7, np.arange(7) < 6, costs)
    assert published == pytest.approx(correct.expected_cost(short), rel=1e-12)
