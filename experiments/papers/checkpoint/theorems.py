"""Experiment that tests statements in the text of the checkpoint paper: Theorem 3, Lemma 1 and the gain of a mix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from holdfast.experiments.papers.checkpoint.paper_plans import (
    NAMES,
    Cells,
    equal_costs,
    least_cost,
    limit_cost,
    make_plan,
    table_distributions,
)
from holdfast.experiments.study.equivalence import POINTS, close, count, most
from holdfast.experiments.study.experiment import Experiment, Row, Tables
from holdfast.experiments.study.verdicts import Statement, Verdict, text
from holdfast.policies.planning.plan import ReservationPlan
from holdfast.policies.planning.strategies import STRATEGIES
from holdfast.workloads.distributions import Distribution, algorithm_1_size
from holdfast.workloads.ground.random_streams import stream

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENTS"]


@dataclass(frozen=True)
class ClaimParameters:
    """Parameters; times in hours.

    Attributes
    ----------
    distributions
        Names of Table 1.
    overhead
        C = R for Theorem 3 and Lemma 1.
    epsilons
        Precisions of Theorem 3 and Lemma 1.
    cells
        Number of cubic cells for the converged optimum, the lower bound of all plans, and the gain.
    trials
        Number of random sequences for Lemma 1, for each distribution and epsilon.
    overheads
        Durations C = R for the gain of a mix, as multiples of the mean.
    """

    distributions: tuple[str, ...] = tuple(NAMES)
    overhead: float = 0.1
    epsilons: tuple[float, ...] = (0.1, 0.3, 1.0, 3.0)
    cells: int = 8000
    trials: int = 1000
    overheads: tuple[float, ...] = (0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 1.0)


def _measure(parameters: ClaimParameters, seed: int) -> Tables:
    distributions = table_distributions(parameters.distributions)
    return {
        "": [row for name, distribution in distributions.items() for row in _theorem_3(name, distribution, parameters)],
        "lemma1": [
            row
            for name, distribution in distributions.items()
            for row in _lemma_1(name, distribution, parameters, seed)
        ],
        "gain": [row for name, distribution in distributions.items() for row in _gain(name, distribution, parameters)],
    }


def _theorem_3(name: str, distribution: Distribution, parameters: ClaimParameters) -> list[dict[str, Any]]:
    """Cost of DYN-PROG-COUNT(epsilon) on Algorithm 1's grid against the optimum and the lower bound."""
    overhead = parameters.overhead
    costs = equal_costs(overhead)
    best, floor = limit_cost(distribution, costs, parameters.cells), least_cost(distribution, costs, parameters.cells)
    rows = []
    for epsilon in parameters.epsilons:
        n = algorithm_1_size(distribution, epsilon, alpha=1.0, checkpoint=overhead, restart=overhead)
        cost = make_plan("optimal", distribution, costs, Cells(n, "equal-time")).expected_cost(distribution)
        rows.append({"law": name, "epsilon": epsilon, "cells": n, "cost": cost, "converged": best, "floor": floor})
    return rows


def _lemma_1(name: str, distribution: Distribution, parameters: ClaimParameters, seed: int) -> list[dict[str, Any]]:
    """Replace the reservations of random sequences up to min(R, epsilon E[X]) by one reservation of that length."""
    rng = stream(seed, "checkpoint-claims", name)
    rows = []
    for epsilon in parameters.epsilons:
        start = min(parameters.overhead, epsilon * distribution.mean())
        if start >= distribution.upper:
            continue
        worst = 0.0
        for _ in range(parameters.trials):
            costs = replace(
                equal_costs(parameters.overhead),
                beta=float(rng.choice([0.0, 1.0])),
                gamma=float(rng.choice([0.0, 0.1])),
            )
            early = np.unique(start * (1.0 - rng.random(rng.integers(1, 4))))
            late = np.unique(np.maximum(np.asarray(distribution.ppf(rng.random(rng.integers(0, 6)))), start * 1.001))
            late = np.append(late[late < distribution.upper], distribution.upper)
            flags = rng.random(early.size + late.size) < 0.5
            flags[-1] = False
            before = ReservationPlan(np.concatenate((early, late)), flags, costs)
            after = ReservationPlan(
                np.concatenate(([start], late)), np.concatenate(([False], flags[early.size :])), costs
            )
            worst = max(worst, after.expected_cost(distribution) / before.expected_cost(distribution))
        rows.append({"law": name, "epsilon": epsilon, "trials": parameters.trials, "worst": worst})
    return rows


def _gain(name: str, distribution: Distribution, parameters: ClaimParameters) -> list[dict[str, Any]]:
    """Costs of the three dynamic programs for several C = R."""
    rows = []
    for multiple in parameters.overheads:
        costs = equal_costs(multiple * distribution.mean())
        row: dict[str, Any] = {"law": name, "multiple": multiple, "overhead": multiple * distribution.mean()}
        for strategy in ("optimal", "all-ckpt", "no-ckpt"):
            row[strategy] = STRATEGIES[strategy](
                distribution, costs, n=parameters.cells // 4, grid="cubic"
            ).expected_cost(distribution)
        rows.append(row)
    return rows


#: Gains of a mix up to this share are ignored.
_GAIN = 0.01


def _judge(tables: Tables) -> list[Verdict]:
    verdicts = [_theorem(tables[""], epsilon) for epsilon in sorted({row["epsilon"] for row in tables[""]})]
    verdicts.append(_lemma(tables["lemma1"]))
    gains = list(tables["gain"])
    distributions = list(dict.fromkeys(row["law"] for row in gains))
    top = {
        distribution: max((row for row in gains if row["law"] == distribution), key=_gain_of_mix)
        for distribution in distributions
    }
    shown = ", ".join(
        f"{NAMES[distribution]} {100 * _gain_of_mix(row):.1f} % at {row['overhead']:.3g} h"
        for distribution, row in top.items()
    )
    mixing = [distribution for distribution in distributions if _gain_of_mix(top[distribution]) > _GAIN]
    some = Statement(
        "for some C = R a mix of reservations with and without checkpoints is better than both variants, for each law",
        "there exist thresholds", text("4.3"),
    )  # fmt: skip
    up_to = Statement("the gain of a mix over both variants is up to 10 %, over all laws", "10 %", text("4.3"))
    return [
        *verdicts,
        count(some, len(mixing), len(distributions), f"the largest gain is over {100 * _GAIN:g} %", shown),
        close(
            up_to, max(_gain_of_mix(row) for row in top.values()), 0.1, POINTS, f"at most {shown}", unit="%", scale=100
        ),
    ]


def _theorem(rows: Sequence[Row], epsilon: float) -> Verdict:
    """Judge Theorem 3 by the lower bound, which is a stricter test than the optimum."""
    own = [row for row in rows if row["epsilon"] == epsilon]
    worst = max(own, key=lambda row: row["cost"] / row["floor"])
    claim = f"cost(DPC({epsilon:g})) is at most {1 + epsilon:g} times the optimum, {len(own)} laws"
    measured = (
        f"{worst['cost'] / worst['converged']:.4f} of the converged optimum, at most "
        f"{worst['cost'] / worst['floor']:.4f} of any ({NAMES[worst['law']]}, {worst['cells']} cells)"
    )
    statement = Statement(claim, f"{1 + epsilon:g}", text("3.3, Theorem 3"))
    quantity = "the largest cost over that which no plan can beat"
    return most(statement, worst["cost"] / worst["floor"], 1 + epsilon, quantity, measured)


def _lemma(rows: Sequence[Row]) -> Verdict:
    worst = max(rows, key=lambda row: row["worst"] / (1 + row["epsilon"]))
    statement = Statement(
        f"E(S~) <= (1 + epsilon) E(S), on {sum(row['trials'] for row in rows)} random sequences",
        "E(S~) <= (1 + epsilon) E(S)", text("3.3, Lemma 1"),
    )  # fmt: skip
    return statement.exact_verdict(
        all(row["worst"] <= (1 + row["epsilon"]) * (1 + 1e-12) for row in rows),
        "holds if no sequence costs more than 1 + epsilon times as much",
        f"at most {worst['worst']:.4f} where {1 + worst['epsilon']:g} is allowed ({NAMES[worst['law']]})",
    )


def _gain_of_mix(row: Row) -> float:
    """Relative gain of the optimum over the better of ALL-CKPT and NO-CKPT."""
    return float(min(row["all-ckpt"], row["no-ckpt"]) / row["optimal"] - 1.0)


def _draw(tables: Tables) -> Figure:
    """Draw the bound of Theorem 3 with the measured costs, and the gain of a mix of both kinds of reservations."""
    from matplotlib.lines import Line2D

    from holdfast.experiments.figures.canvas import PAGE, new_figure, subplots
    from holdfast.experiments.figures.style import FONT, INK, dress, legend_above, panel_letters

    names = list(dict.fromkeys(row["law"] for row in tables[""]))
    epsilons = sorted({row["epsilon"] for row in tables[""]})
    multiples = sorted({row["multiple"] for row in tables["gain"]})
    figure = new_figure(PAGE, 1.3 + 0.2 * len(names))
    left, right = subplots(figure, 1, 2, sharey=True, width_ratios=(1, 1.35))
    looks = dict(zip(epsilons, zip("os^DvP", ("#7DBCE8", "#3FAF8C", "#BC7311", "#1F1F1F"), strict=False), strict=False))
    for epsilon, (marker, color) in looks.items():
        left.axvline(100 * epsilon, color=color, linestyle="--", linewidth=0.9)
        for row in tables[""]:
            if row["epsilon"] == epsilon:
                above = max(100 * (row["cost"] / row["floor"] - 1), 1e-3)
                left.plot([above], [names.index(row["law"])], marker, color=color, markersize=4)
    left.set_xscale("log")
    dress(left, x="Cost above what no plan can beat (%)", title="Theorem 3: dashed, what it allows", grid="x")
    left.set_yticks(range(len(names)), [NAMES[name] for name in names])
    left.set_ylim(len(names) - 0.5, -0.5)
    gains = np.full((len(names), len(multiples)), np.nan)
    for row in tables["gain"]:
        gains[names.index(row["law"]), multiples.index(row["multiple"])] = 100 * _gain_of_mix(row)
    most = float(np.nanmax(gains))
    right.imshow(gains, cmap="Blues", vmin=0, vmax=max(most, 1.0), aspect="auto")
    for (place, column), gain in np.ndenumerate(gains):
        if gain >= 0.5:
            right.text(
                column, place, f"{gain:.0f}", ha="center", va="center", fontsize=FONT["note"],
                color="white" if gain > 0.6 * most else INK,
            )  # fmt: skip
    right.set_xticks(range(len(multiples)), [f"{multiple:g}" for multiple in multiples])
    dress(right, x="C = R (multiples of the mean runtime)", title="Gain of a mix over the better variant (%)",
          grid="none")  # fmt: skip
    right.tick_params(labelsize=FONT["note"], axis="x", labelrotation=45)
    for axes in (left, right):
        axes.tick_params(axis="y", length=0)
    panel_letters([left, right])
    handles = [Line2D([], [], marker=marker, color=color, linestyle="none") for marker, color in looks.values()]
    legend_above(figure, handles, [f"epsilon = {epsilon:g}" for epsilon in looks])
    return figure


_CHOICES = ("Theorem 3 is tested against a lower bound of all plans, which is stricter than the optimum.",)

EXPERIMENTS: Sequence[Experiment] = (
    Experiment(
        id="checkpoint-claims",
        title="Statements of the text: Theorem 3, Lemma 1, the gain of a mix",
        question="Do the paper's guarantees hold when they are computed?",
        parameters=ClaimParameters(),
        quick=ClaimParameters(
            epsilons=(1.0, 3.0), cells=4000, trials=50, overheads=(0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0)
        ),
        measure=_measure,
        judge=_judge,
        draw=_draw,
        choices=_CHOICES,
    ),
)
