"""Experiments for figures 1 and 2 of [S]: the runtime behaviour of applications, on generated data.

The data of the Vanderbilt laboratory are not public. The generated applications have the numbers of runs printed in [S]
and the shapes described there: one has walltimes from a parametric distribution, one has several behaviours, and one
has a walltime that depends on more than its input size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from holdfast.experiments.papers.incomplete.logs import list_applications
from holdfast.experiments.papers.profiles.shared_data import elsewhere
from holdfast.experiments.study.equivalence import most, reaches
from holdfast.experiments.study.experiment import Experiment, Row, Tables
from holdfast.experiments.study.verdicts import Statement, Verdict, text
from holdfast.workloads.distributions.distribution import Distribution
from holdfast.workloads.distributions.mixture import mixture
from holdfast.workloads.distributions.named import lognormal_from_moments
from holdfast.workloads.fits import Samples, fit_polynomial, fit_usual
from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.ground.random_streams import stream

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENTS"]

#: Largest absolute correlation that counts as no correlation.
_NONE = 0.1
_NOT_PUBLIC = "generated: the data of the paper are not public"


@dataclass(frozen=True)
class Behaviour:
    """Parameters of figure 1: runs of the two generated applications [S, Figure 6], bins of the histograms, degree."""

    runs: tuple[int, ...] = (17416, 3774)
    bins: int = 50
    points: int = 300
    degree: int = 10


def _example_applications() -> dict[str, tuple[str, Distribution]]:
    """Title and walltime distribution [h] of each application of Figure 1, by name."""
    logged = list_applications()
    return {
        "qa": ("one behaviour", logged["functional-qa"].distribution),
        "segmentation": ("several behaviours", logged["deep-brain"].distribution),
    }


def _measure_behaviour(parameters: Behaviour, seed: int) -> Tables:
    generated = _example_applications()
    if len(parameters.runs) != len(generated) or min(parameters.runs) < 10:
        raise ParameterError("runs", f"{len(generated)} numbers of at least 10", parameters.runs)
    histogram: list[dict[str, Any]] = []
    curves: list[dict[str, Any]] = []
    fits: list[dict[str, Any]] = []
    for (name, (_, distribution)), number in zip(generated.items(), parameters.runs, strict=True):
        times = distribution.sample(stream(seed, "incomplete-fig1", name), number)
        counts, edges = np.histogram(times, bins=parameters.bins)
        histogram += [
            {"application": name, "from_h": float(left), "to_h": float(right), "runs": int(count)}
            for left, right, count in zip(edges[:-1], edges[1:], counts, strict=True)
        ]
        samples = Samples.of(times)
        grid = np.linspace(0.0, times.max(), parameters.points)
        found = {"usual": fit_usual(samples)[0], "polynomial": fit_polynomial(samples, parameters.degree)}
        heights = {"runs": np.searchsorted(np.sort(times), grid, side="right") / number}
        for method, fit in found.items():
            heights[method] = np.asarray(fit.good().cdf(grid))
            fits.append({"application": name, "method": method, "fit": fit.name, "rms": fit.error**0.5})
        curves += [
            {"application": name, "method": method, "time_h": float(time), "cdf": float(height)}
            for method, column in heights.items()
            for time, height in zip(grid, column, strict=True)
        ]
    return {"": fits, "curves": curves, "histogram": histogram}


def _judge_behaviour(tables: Tables) -> list[Verdict]:
    verdicts = []
    for name, method, claim in (
        ("qa", "usual", "a usual distribution fits the one application best"),
        ("segmentation", "polynomial", "a polynomial fits the other one well"),
    ):
        rows = sorted((row for row in tables[""] if row["application"] == name), key=lambda row: float(row["rms"]))
        fits = ", ".join(f"{row['fit']} {row['rms']:.2g}" for row in rows)
        statement = Statement(claim, "the best fit", text("IV, of figure 1"))
        verdict = statement.exact_verdict(
            rows[0]["method"] == method, "holds if its CDF has the smallest RMS error", f"RMS error of the CDF: {fits}"
        )
        verdicts.append(elsewhere(verdict, _NOT_PUBLIC))
    return verdicts


def _draw_behaviour(tables: Tables) -> Figure:
    from holdfast.experiments.figures.canvas import PAGE, new_figure, subplots
    from holdfast.experiments.figures.style import INK, dress, legend_above, panel_letters

    figure = new_figure(PAGE, 4.4)
    panels = subplots(figure, 2, 2)
    looks = {"runs": (INK, "-", "runs"), "usual": ("#0072B2", "--", "usual"), "polynomial": ("#E69F00", "--", "")}
    for (left, right), (name, (title, _)) in zip(panels, _example_applications().items(), strict=True):
        bars = _application_rows(tables["histogram"], name)
        widths = [row["to_h"] - row["from_h"] for row in bars]
        left.bar([row["from_h"] for row in bars], [row["runs"] for row in bars], widths, align="edge", color="#B8B8B8")
        total = sum(row["runs"] for row in bars)
        dress(left, x="walltime (h)", y="runs (number)", title=f"{title}: {total:,} generated runs", grid="y")
        for method, (color, line, label) in looks.items():
            rows = [row for row in _application_rows(tables["curves"], name) if row["method"] == method]
            times, heights = [row["time_h"] for row in rows], [row["cdf"] for row in rows]
            wide = 2.6 if method == "runs" else 1.1
            alpha = 0.35 if method == "runs" else 1.0
            right.plot(
                times, heights, color=color, linestyle=line, linewidth=wide, alpha=alpha, label=label or "polynomial"
            )
        best = min((row for row in tables[""] if row["application"] == name), key=lambda row: row["rms"])
        dress(right, x="walltime (h)", y="P(X <= walltime)", title=f"nearest: {best['fit']}")
        right.set_ylim(0, 1.02)
    panel_letters(list(panels.flat))
    handles, labels = panels[0, 1].get_legend_handles_labels()
    legend_above(figure, handles, labels)
    return figure


def _application_rows(rows: Sequence[Row], application: str) -> list[Row]:
    return [row for row in rows if row["application"] == application]


@dataclass(frozen=True)
class Inputs:
    """Parameters of figure 2: runs of generated cortical surface modelling [S, Figure 6], bins of the input size."""

    runs: int = 2411
    bins: int = 10


def _measure_inputs(parameters: Inputs, seed: int) -> Tables:
    if parameters.bins < 1 or parameters.runs < 20 * parameters.bins:
        raise ParameterError("runs", f"at least 20 for each of the {parameters.bins} bins", parameters.runs)
    rng = stream(seed, "incomplete-fig2")
    sizes = lognormal_from_moments(15.0, 5.0).sample(rng, parameters.runs)
    # The time depends mainly on the convergence of the surface, and little on the size of the image.
    hard = mixture([lognormal_from_moments(1.0, 0.3), lognormal_from_moments(4.0, 2.0)], [2, 1]).sample(
        rng, parameters.runs
    )
    times = hard * (sizes / 15.0) ** 0.3 * lognormal_from_moments(4.0, 1.0).sample(rng, parameters.runs)
    rows = [{"size_mb": float(size), "time_h": float(time)} for size, time in zip(sizes, times, strict=True)]
    edges = np.quantile(sizes, np.linspace(0.0, 1.0, parameters.bins + 1))
    bands = []
    for left, right in pairwise(edges):
        inside = times[(sizes >= left) & (sizes <= right)]
        low, middle, high = np.quantile(inside, [0.05, 0.5, 0.95])
        bands.append(
            {"from_mb": float(left), "to_mb": float(right), "low_h": float(low), "median_h": float(middle)}
            | {"high_h": float(high), "least_h": float(inside.min()), "most_h": float(inside.max())}
        )
    return {"": rows, "bands": bands}


def _judge_inputs(tables: Tables) -> list[Verdict]:
    sizes = np.array([row["size_mb"] for row in tables[""]])
    times = np.array([row["time_h"] for row in tables[""]])
    ranks = [np.argsort(np.argsort(values)) for values in (sizes, times)]
    correlation = float(np.corrcoef(ranks[0], ranks[1])[0, 1])
    spreads = [float(np.log10(row["most_h"] / row["least_h"])) for row in tables["bands"]]
    orders = Statement(
        "the execution time varies by orders of magnitude for the same input size", "several orders of magnitude",
        text("II, of figure 2"),
    )  # fmt: skip
    size = Statement("the walltime has no correlation with the input size", "no correlation", text("II"))
    measured = f"{min(spreads):.1f} to {max(spreads):.1f} orders of magnitude within a tenth of the sizes"
    quantity = "the least number of orders of magnitude within a tenth of the sizes"
    verdicts = [
        reaches(orders, min(spreads), 2.0, quantity, measured),
        most(size, abs(correlation), _NONE, "the rank correlation without its sign", f"{correlation:.2f}"),
    ]
    return [elsewhere(verdict, _NOT_PUBLIC) for verdict in verdicts]


def _draw_inputs(tables: Tables) -> Figure:
    from holdfast.experiments.figures.canvas import COLUMN, new_figure, subplots
    from holdfast.experiments.figures.style import INK, dress, legend_above

    figure = new_figure(COLUMN * 1.4, 3.0)
    axes = subplots(figure)
    axes.plot(
        [row["size_mb"] for row in tables[""]],
        [row["time_h"] for row in tables[""]],
        ".",
        color="#56B4E9",
        markersize=2.5,
        label="run",
    )
    for number, row in enumerate(tables["bands"]):
        ends = [row["from_mb"], row["to_mb"]]
        axes.plot(ends, [row["median_h"]] * 2, color=INK, linewidth=1.4, label="" if number else "median")
        axes.fill_between(
            ends,
            row["low_h"],
            row["high_h"],
            color="#0072B2",
            alpha=0.15,
            linewidth=0,
            label="" if number else "90 % of the runs of a size",
        )
    axes.set_yscale("log")
    title = f"surface modelling: {len(tables['']):,} generated runs"
    dress(axes, x="input size (MB)", y="execution time (h)", title=title)
    handles, labels = axes.get_legend_handles_labels()
    legend_above(figure, handles, labels)
    return figure


_CHOICES = (
    "The data of the Vanderbilt laboratory are not public. Generated applications have the printed numbers of runs "
    "and the described shapes.",
)

EXPERIMENTS = (
    Experiment(
        "incomplete-fig1",
        "Behaviour of two applications, and two fits (generated data)",
        "Which kind of distribution fits an application with one behaviour, and one with several?",
        Behaviour(),
        Behaviour(),
        _measure_behaviour,
        _judge_behaviour,
        _draw_behaviour,
        choices=_CHOICES,
    ),
    Experiment(
        "incomplete-fig2",
        "Input size against execution time (generated data)",
        "Does the input size determine the execution time?",
        Inputs(),
        Inputs(),
        _measure_inputs,
        _judge_inputs,
        _draw_inputs,
        choices=_CHOICES,
    ),
)
