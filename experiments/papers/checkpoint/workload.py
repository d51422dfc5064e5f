"""Experiments for Tables 1 and 3 of the checkpoint paper: the runtime distributions and the applications."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from holdfast.experiments.papers.checkpoint.paper_plans import NAMES, table_distributions
from holdfast.experiments.papers.checkpoint.published_values import APPLICATIONS, PrintedApplication
from holdfast.experiments.study.equivalence import most, reaches
from holdfast.experiments.study.experiment import Experiment, Tables
from holdfast.experiments.study.verdicts import Statement, Verdict, table
from holdfast.workloads.distributions import TABLE_1, Array, Distribution, from_scipy, gamma, truncate, weibull
from holdfast.workloads.ground.errors import UnknownNameError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENTS", "PRINTED_DENSITIES", "application_distribution"]

_ROOT = math.sqrt(2.0 * math.pi)
#: Tolerance for equal densities, because the computed ones are differences of the distribution function.
_SAME = 1e-4
#: Smallest probability of the support for which a distribution counts as inside.
_INSIDE = 0.99
#: Densities f(t) as printed in Table 1, with the printed parameters [1/h].
PRINTED_DENSITIES: Mapping[str, Callable[[Array], Array]] = {
    "exponential": lambda t: np.exp(-t),
    "weibull": lambda t: 0.5 * t**-0.5 * np.exp(-(t**0.5)),
    "gamma": lambda t: 2.0**2 / math.gamma(2.0) * t * np.exp(-2.0 * t),
    "lognormal": lambda t: np.exp(-((np.log(t) - 3.0) ** 2) / (2 * 0.5**2)) / (t * 0.5 * _ROOT),
    "pareto": lambda t: 3.0 * 1.5**3 / t**4,
    "truncated-normal": lambda t: (
        math.sqrt(2.0 / math.pi)
        / math.sqrt(2.0)
        * np.exp(-0.5 * ((t - 8.0) / math.sqrt(2.0)) ** 2)
        / (1.0 - math.erf((1.0 - 8.0) / (math.sqrt(2.0) * math.sqrt(2.0))))
    ),
    "uniform": lambda t: np.full_like(t, 1.0 / 19.0),
    "beta": lambda t: t * (1.0 - t) * math.gamma(4.0),
    "bounded-pareto": lambda t: 2.1 * t**-3.1 / (1.0 - (1.0 / 20.0) ** 2.1),
}


@dataclass(frozen=True)
class DistributionParameters:
    """Parameters of Table 1; times in hours.

    Attributes
    ----------
    distributions
        Names of Table 1.
    points
        Number of quantiles at which densities are compared and drawn.
    """

    distributions: tuple[str, ...] = tuple(NAMES)
    points: int = 200


def _measure_distributions(parameters: DistributionParameters, seed: int) -> Tables:
    rows: list[dict[str, Any]] = []
    densities: list[dict[str, Any]] = []
    for name, distribution in table_distributions(parameters.distributions).items():
        whole = TABLE_1[name]
        rows.append(
            {
                "law": name,
                "lower": whole.lower,
                "upper": whole.upper if math.isfinite(whole.upper) else None,
                "cut_at": distribution.upper,
                "mean": distribution.mean(),
                "median": float(distribution.ppf(0.5)),
                "q99": float(distribution.isf(0.01)),
            }
        )
        # Densities are compared at inner quantiles, where they are smooth.
        levels = (np.arange(parameters.points) + 0.5) / parameters.points
        at = np.unique(np.asarray(whole.ppf(levels)))
        step = 1e-5 * np.minimum(at - whole.lower, (whole.upper - at) if math.isfinite(whole.upper) else at)
        ours = (np.asarray(whole.cdf(at + step)) - np.asarray(whole.cdf(at - step))) / (2 * step)
        printed = PRINTED_DENSITIES[name](at)
        densities += [
            {"law": name, "t": t, "density": f, "printed": p}
            for t, f, p in zip(at.tolist(), ours.tolist(), printed.tolist(), strict=True)
        ]
    return {"": rows, "densities": densities}


def _judge_distributions(tables: Tables) -> list[Verdict]:
    verdicts = []
    for row in tables[""]:
        own = [point for point in tables["densities"] if point["law"] == row["law"]]
        apart = max(abs(point["density"] / point["printed"] - 1.0) for point in own)
        upper = "inf" if row["upper"] is None else f"{row['upper']:g}"
        claim = f"{NAMES[row['law']]}: the density is the printed one"
        statement = Statement(claim, "f(t)", table("1"), "the distribution is implemented from this formula")
        measured = (
            f"at most {apart:.1e} apart; support [{row['lower']:g}, {upper}] h, mean {row['mean']:.4g} h, "
            f"cut at {row['cut_at']:.5g} h"
        )
        verdicts.append(most(statement, apart, _SAME, "the largest relative difference of the densities", measured))
    return verdicts


def _draw_distributions(tables: Tables) -> Figure:
    from holdfast.experiments.figures.canvas import PAGE, new_figure, subplots
    from holdfast.experiments.figures.style import INK, dress

    rows = tables[""]
    lines = math.ceil(len(rows) / 3)
    figure = new_figure(PAGE, 1.5 * lines)
    panels = subplots(figure, lines, min(3, len(rows)), squeeze=False).ravel()
    for axes, row in zip(panels, rows, strict=False):
        own = [point for point in tables["densities"] if point["law"] == row["law"]]
        axes.plot([point["t"] for point in own], [point["density"] for point in own], color="#0072B2", linewidth=1.2)
        axes.axvline(row["mean"], color=INK, linewidth=0.7, linestyle="--")
        axes.set_xlim(row["lower"] if row["upper"] is not None else 0.0, row["upper"] or row["q99"])
        # The density of the Weibull distribution is unbounded at 0.
        top = min(max(point["density"] for point in own), 4 * own[len(own) // 4]["density"])
        axes.set_ylim(0, 1.05 * max(top, own[len(own) // 2]["density"]))
        dress(axes, x="t (h)", y="f(t) (1/h)", title=NAMES[row["law"]])
    for axes in panels[len(rows) :]:
        axes.set_visible(False)
    return figure


def application_distribution(application: PrintedApplication) -> Distribution:
    """The distribution of an application's walltimes [s], shifted to its location and truncated to its support.

    Notes
    -----
    A Weibull distribution with a very large shape k, shifted to a location m, approaches a Gumbel distribution (of the
    minimum) with the scale ``scale / k``: exp(-(1 + (t - m) / scale)^k) -> exp(-exp((t - m) k / scale)).
    """
    low, high = application.minimum, application.maximum
    from scipy import stats

    if application.distribution == "gamma":
        moved = stats.gamma(application.shape, application.location, application.scale)
    else:
        moved = stats.gumbel_l(application.location, application.scale / application.shape)
    return truncate(from_scipy(moved), low, high)


@dataclass(frozen=True)
class ApplicationParameters:
    """Parameters of Table 3; times in seconds.

    Attributes
    ----------
    applications
        Names of rows.
    points
        Number of points of each survival curve.
    """

    applications: tuple[str, ...] = tuple(APPLICATIONS)
    points: int = 200


def _measure_applications(parameters: ApplicationParameters, seed: int) -> Tables:
    rows: list[dict[str, Any]] = []
    curves: list[dict[str, Any]] = []
    for name in parameters.applications:
        if name not in APPLICATIONS:
            raise UnknownNameError("application", name, APPLICATIONS)
        application = APPLICATIONS[name]
        distribution = application_distribution(application)
        printed: Distribution = gamma(application.shape, application.scale)
        if application.distribution == "weibull":
            printed = weibull(application.scale, application.shape)
        inside = float(printed.sf(application.minimum)) - float(printed.sf(application.maximum))
        rows.append(
            {
                "application": name,
                "title": application.title,
                "law": application.distribution,
                "shape": application.shape,
                "scale": application.scale,
                "minimum": application.minimum,
                "maximum": application.maximum,
                "location": application.location,
                "checkpoint": application.checkpoint,
                "restart": application.restart,
                "mean": distribution.mean(),
                "median": float(distribution.ppf(0.5)),
                "checkpoint_to_mean": application.checkpoint / distribution.mean(),
                "mass_as_printed": inside,
            }
        )
        at = np.linspace(application.minimum, application.maximum, parameters.points)
        curves += [
            {"application": name, "t": t, "survival": survival}
            for t, survival in zip(at.tolist(), np.asarray(distribution.sf(at)).tolist(), strict=True)
        ]
    return {"": rows, "survival": curves}


def _judge_applications(tables: Tables) -> list[Verdict]:
    verdicts = []
    for row in tables[""]:
        inside = row["mass_as_printed"]
        own = [point["survival"] for point in tables["survival"] if point["application"] == row["application"]]
        held = f"mean {row['mean']:.4g} s, median {row['median']:.4g} s with location {row['location']:g} s"
        support = f"[{row['minimum']:g}, {row['maximum']:g}] s"
        statement = Statement(
            f"{row['application']}: the law as printed, without a location, lies in its support", support, table("3")
        )
        remark = "" if inside >= _INSIDE else "a location is added: the paper prints none"
        quantity = "the probability of the support under the printed law"
        verdicts.append(
            reaches(statement, inside, _INSIDE, quantity, f"{100 * inside:.1f} % of it does; {held}", remark)
        )
        claim = f"{row['application']}: the law that is used ends with its support"
        statement = Statement(claim, support, table("3"), "the distribution is truncated to the support")
        verdicts.append(
            statement.exact_verdict(
                abs(own[0] - 1.0) < 1e-9 and own[-1] == 0.0,
                "holds if P(X > a) = 1 and P(X > b) = 0",
                f"{own[0]:.3g}, {own[-1]:.3g}",
            )
        )
    return verdicts


def _draw_applications(tables: Tables) -> Figure:
    from holdfast.experiments.figures.canvas import PAGE, new_figure, subplots
    from holdfast.experiments.figures.style import INK, dress

    rows = tables[""]
    figure = new_figure(PAGE, 2.0)
    for axes, row in zip(subplots(figure, 1, len(rows), squeeze=False).ravel(), rows, strict=True):
        own = [point for point in tables["survival"] if point["application"] == row["application"]]
        axes.plot([point["t"] / 60 for point in own], [point["survival"] for point in own], color="#0072B2", lw=1.3)
        axes.axvline(row["mean"] / 60, color=INK, linewidth=0.7, linestyle="--")
        title = f"{row['application']}: C = {row['checkpoint']:g} s, R = {row['restart']:g} s"
        dress(axes, x="walltime (min)", y="P(X > t)", title=title)
    return figure


EXPERIMENTS: Sequence[Experiment] = (
    Experiment(
        id="checkpoint-table1",
        title="The nine distributions of the evaluation",
        question="Are these the distributions of the paper?",
        parameters=DistributionParameters(),
        quick=DistributionParameters(),
        measure=_measure_distributions,
        judge=_judge_distributions,
        draw=_draw_distributions,
    ),
    Experiment(
        id="checkpoint-table3",
        title="The three neuroscience applications",
        question="Which applications do the experiments use?",
        parameters=ApplicationParameters(),
        quick=ApplicationParameters(),
        measure=_measure_applications,
        judge=_judge_applications,
        draw=_draw_applications,
    ),
)
