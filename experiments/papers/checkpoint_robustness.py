"""Figure 7 of the checkpoint paper: a LogNormal law with another mean or deviation, against the omniscient one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from experiments.experiment import Experiment, Tables
from experiments.papers.checkpoint_plans import FIVE, cells_for, equal_costs, look, planned
from experiments.verdicts import Verdict
from workloads.laws import bounded, lognormal_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENTS"]


@dataclass(frozen=True)
class RobustnessParameters:
    """Fig. 7; times in hours.

    Attributes
    ----------
    mean, std
        mu_o and sigma_o of the law before it is cut.
    factors
        mu / mu_o with sigma_o, and sigma / sigma_o with mu_o. The paper's range is not in its text.
    overhead
        C = R = 600 s.
    epsilon
        Of Algorithm 1.
    most_cells
        Algorithm 1's grid is taken up to here; beyond, so many cubic cells.
    most
        The best tau is searched in 1..most.
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
            law = bounded(lognormal_of(mean, std))
            grid = cells_for(law, parameters.epsilon, parameters.overhead, parameters.most_cells)
            for strategy in FIVE:
                plan = planned(strategy, law, costs, grid, parameters.most)
                rows.append(
                    {
                        "varied": varied,
                        "factor": factor,
                        "mean": mean,
                        "std": std,
                        "strategy": strategy,
                        "normalised": plan.normalised_cost(law),
                        "reservations": len(plan),
                        "cells": grid.n,
                        "grid": grid.kind,
                    }
                )
    return {"": rows}


def _judge(tables: Tables) -> list[Verdict]:
    rows = tables[""]
    points: dict[tuple[str, float], dict[str, float]] = {}
    ratio: dict[tuple[str, float], float] = {}
    for row in rows:
        at = (row["varied"], row["factor"])
        points.setdefault(at, {})[row["strategy"]] = row["normalised"]
        ratio[at] = row["mean"] / row["std"]
    least = min(min(own.values()) / own["optimal"] for own in points.values())
    here = points["mean", 1] if ("mean", 1) in points else next(iter(points.values()))
    farthest = max(points, key=lambda at: points[at]["all-ckpt"] / points[at]["optimal"])
    apart = points[farthest]["all-ckpt"] / points[farthest]["optimal"] - 1.0
    periodic = sum(own["all-ckpt-periodic"] <= own["no-ckpt-periodic"] * 1.0001 for own in points.values())
    steadiest = max(ratio, key=lambda at: ratio[at])
    calm = points[steadiest]
    spans = {"DYN-PROG-COUNT": ("optimal",), "all five strategies": tuple(FIVE)}
    return [
        Verdict.of(
            "DYN-PROG-COUNT always gives the best performance",
            "always",
            f"another strategy costs {least:.4f} times as much at least",
            least > 0.995,
        ),
        Verdict.of(
            "DYN-PROG-COUNT and ALL-CKPT are the same for the fitted law",
            "overlapping lines",
            f"{100 * (here['all-ckpt'] / here['optimal'] - 1.0):.2f} % apart",
            here["all-ckpt"] / here["optimal"] < 1.01,
        ),
        Verdict.of(
            "DYN-PROG-COUNT and ALL-CKPT are the same for all the laws",
            "overlapping lines",
            f"at most {100 * apart:.2f} % apart (mean x {farthest[1]:g})"
            if farthest[0] == "mean"
            else f"at most {100 * apart:.2f} % apart (deviation x {farthest[1]:g})",
            apart < 0.01,
        ),
        Verdict.of(
            "they outperform NO-CKPT by a wide margin (for the fitted law)",
            "wide",
            f"NO-CKPT costs {here['no-ckpt'] / here['optimal']:.2f} times as much",
            here["no-ckpt"] / here["optimal"] > 1.2,
        ),
        Verdict.of(
            "ALL-CKPT-PER has better performance than NO-CKPT-PER",
            "always",
            f"for {periodic} of {len(points)} laws",
            periodic == len(points),
        ),
        *(
            Verdict.of(
                f"when mean / deviation is large, the cost of {kind} converges to the omniscient scheduler's",
                "1",
                f"at most {max(calm[name] for name in names):.3f} at mean / deviation = {ratio[steadiest]:.1f}; "
                f"{max(here[name] for name in names):.3f} for the fitted law",
                all(calm[name] < 1.1 and calm[name] < here[name] for name in names),
            )
            for kind, names in spans.items()
        ),
    ]


def _draw(tables: Tables) -> Figure:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    from experiments.figures.style import PAGE, dress, legend_above, new_figure, panel_letters

    rows = tables[""]
    figure = new_figure(PAGE, 2.8)
    panels = figure.subplots(1, 2)
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
    "The range of the factors is not in the paper's text: `factors` is ours.",
    "Algorithm 1's grid is taken up to `most_cells` cells; where it asks for more, so many cubic ones.",
)

EXPERIMENTS: Sequence[Experiment] = (
    Experiment(
        id="checkpoint-fig7",
        title="A LogNormal law with another mean or deviation, against the omniscient scheduler",
        question="Do the strategies keep their order when the application changes?",
        parameters=RobustnessParameters(),
        quick=RobustnessParameters(factors=(0.1, 0.3, 1.0, 3.0, 10.0), most_cells=4000),
        measure=_measure,
        judge=_judge,
        draw=_draw,
        choices=_CHOICES,
    ),
)
