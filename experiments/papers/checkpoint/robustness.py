"""Experiment for figure 7 of the checkpoint paper: a LogNormal distribution with other means and deviations.

Costs are relative to those of the omniscient scheduler.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from holdfast.experiments.papers.checkpoint.paper_plans import FIVE, cells_for, equal_costs, look, make_plan
from holdfast.experiments.study.equivalence import count, most, reaches
from holdfast.experiments.study.experiment import Experiment, Tables
from holdfast.experiments.study.verdicts import Statement, Verdict, figure, text
from holdfast.workloads.distributions import bound_support, lognormal_from_moments

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENTS"]


@dataclass(frozen=True)
class RobustnessParameters:
    """Parameters of Fig. 7; times in hours.

    Attributes
    ----------
    mean, std
        Mean mu_o and deviation sigma_o of the distribution before truncation.
    factors
        Ratios mu / mu_o with sigma_o, and sigma / sigma_o with mu_o. The text of the paper does not give their range.
    overhead
        C = R = 600 s.
    epsilon
        Precision of Algorithm 1.
    most_cells
        Largest number of cells of Algorithm 1's grid; if it needs more, this number of cubic cells is used.
    most
        Largest tau of the search for the best one.
    """

    mean: float = 21.4
    std: float = 19.7
    factors: tuple[float, ...] = (0.1, 0.14, 0.2, 0.28, 0.4, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 5.0, 7.0, 10.0)
    overhead: float = 600.0 / 3600.0
    epsilon: float = 1.0
    most_cells: int = 20_000
    most: int = 1000


def _measure(parameters: RobustnessParameters, seed: int) -> Tables:
    costs = equal_costs(parameters.overhead)
    rows: list[dict[str, Any]] = []
    for varied in ("mean", "std"):
        for factor in parameters.factors:
            mean = parameters.mean * (factor if varied == "mean" else 1.0)
            std = parameters.std * (factor if varied == "std" else 1.0)
            distribution = bound_support(lognormal_from_moments(mean, std))
            grid = cells_for(distribution, parameters.epsilon, parameters.overhead, parameters.most_cells)
            for strategy in FIVE:
                plan = make_plan(strategy, distribution, costs, grid, parameters.most)
                rows.append(
                    {
                        "varied": varied,
                        "factor": factor,
                        "mean": mean,
                        "std": std,
                        "strategy": strategy,
                        "normalised": plan.normalised_cost(distribution),
                        "reservations": len(plan),
                        "cells": grid.n,
                        "grid": grid.kind,
                    }
                )
    return {"": rows}


#: Relative difference below which costs are equal: the line width of the figure.
_LINE = 0.01
#: Smallest cost ratio of a wide margin.
_WIDE = 1.2
#: Costs have converged to those of the omniscient scheduler if they exceed these by at most this share ...
_CONVERGED = 0.1
#: ... for a large mean / deviation, which is an order of magnitude above that of the fitted distribution.
_LARGE = 10.0


def _judge(tables: Tables) -> list[Verdict]:
    points: dict[tuple[str, float], dict[str, float]] = {}
    ratio: dict[tuple[str, float], float] = {}
    for row in tables[""]:
        at = (row["varied"], row["factor"])
        points.setdefault(at, {})[row["strategy"]] = row["normalised"]
        ratio[at] = row["mean"] / row["std"]
    least = min(min(own.values()) / own["optimal"] for own in points.values())
    best = Statement("DYN-PROG-COUNT always gives the best performance", "always", text("4.4"))
    farthest = max(points, key=lambda at: abs(points[at]["all-ckpt"] / points[at]["optimal"] - 1.0))
    apart = {at: abs(own["all-ckpt"] / own["optimal"] - 1.0) for at, own in points.items()}
    varied = "mean" if farthest[0] == "mean" else "deviation"
    measured = f"at most {100 * apart[farthest]:.2f} % apart ({varied} x {farthest[1]:g})"
    if ("mean", 1) in apart:
        measured += f"; {100 * apart['mean', 1]:.2f} % for the fitted distribution"
    same = Statement(
        "DYN-PROG-COUNT and ALL-CKPT perform the same", "lines overlap", figure("7", "its caption, and section 4.4")
    )
    periodic = Statement("ALL-CKPT-PER has better performance than NO-CKPT-PER", "better", text("4.4"))
    cheaper = sum(own["all-ckpt-periodic"] < own["no-ckpt-periodic"] for own in points.values())
    return [
        reaches(best, least, 0.995, "the least cost of another strategy over its own", f"{least:.4f} at least"),
        most(same, apart[farthest], _LINE, "the largest relative difference over all laws", measured),
        _wide(points),
        count(periodic, cheaper, len(points), "ALL-CKPT-PER costs less", "laws"),
        _converges(points, ratio),
    ]


_Points = Mapping[tuple[str, float], Mapping[str, float]]


def _wide(points: _Points) -> Verdict:
    statement = Statement("for the fitted law DYN-PROG-COUNT outperforms NO-CKPT by a wide margin", "wide", text("4.4"))
    if ("mean", 1) not in points:
        return statement.open("the fitted law was not measured")
    here = points["mean", 1]
    factor = here["no-ckpt"] / here["optimal"]
    return reaches(statement, factor, _WIDE, "the cost of NO-CKPT over its own", f"{factor:.2f} times as much")


def _converges(points: _Points, ratio: Mapping[tuple[str, float], float]) -> Verdict:
    statement = Statement(
        "when mean / deviation is large, the costs of all five strategies converge to the omniscient scheduler's",
        "1", text("4.4"),
    )  # fmt: skip
    rule = f"holds if all are at most {1 + _CONVERGED:g} at the largest mean / deviation, {_LARGE:g} or more"
    steadiest = max(ratio, key=lambda at: ratio[at])
    if ratio[steadiest] < _LARGE:
        return statement.open(f"no mean / deviation of {_LARGE:g} or more was measured", rule=rule)
    costs_text = ", ".join(f"{FIVE[name]} {cost:.3f}" for name, cost in points[steadiest].items())
    worst = max(points[steadiest].values())
    return statement.exact_verdict(worst <= 1 + _CONVERGED, rule, f"{costs_text} at {ratio[steadiest]:.1f}")


def _draw(tables: Tables) -> Figure:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    from holdfast.experiments.figures.canvas import PAGE, new_figure, subplots
    from holdfast.experiments.figures.style import dress, legend_above, panel_letters

    rows = tables[""]
    figure = new_figure(PAGE, 2.8)
    panels = subplots(figure, 1, 2)
    style = look(list(FIVE))
    labels = {"mean": "mean / original mean", "std": "deviation / original deviation"}
    for axes, varied in zip(panels, labels, strict=True):
        for strategy, title in FIVE.items():
            own = [row for row in rows if row["strategy"] == strategy and row["varied"] == varied]
            own.sort(key=lambda row: float(row["factor"]))
            x, y = [row["factor"] for row in own], [row["normalised"] for row in own]
            axes.plot(x, y, **style[strategy], linewidth=1.3, label=title)
        axes.axhline(1.0, color="#0000CC", linestyle=(0, (4, 3)), linewidth=1.0, label="omniscient")
        axes.set_xscale("log")
        axes.set_yscale("log")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axis.set_minor_formatter(NullFormatter())
        dress(axes, x=labels[varied], y="cost / omniscient", title=labels[varied].split(" / ")[0] + " varied")
    panel_letters(list(panels))
    handles, labels = panels[0].get_legend_handles_labels()
    legend_above(figure, handles, labels, columns=3)
    return figure


_CHOICES = (
    "The paper does not state the factors; `factors` is ours.",
    "Algorithm 1's grid is used up to `most_cells` cells; beyond, a cubic grid of that size.",
)

EXPERIMENTS: Sequence[Experiment] = (
    Experiment(
        id="checkpoint-fig7",
        title="A lognormal distribution with another mean or deviation, against the omniscient scheduler",
        question="Do the strategies keep their order when the application changes?",
        parameters=RobustnessParameters(),
        quick=RobustnessParameters(factors=(0.1, 0.3, 1.0, 3.0, 10.0), most_cells=4000),
        measure=_measure,
        judge=_judge,
        draw=_draw,
        choices=_CHOICES,
    ),
)
