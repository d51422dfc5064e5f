"""Experiments for figures 3 and 9 of [S]: continuous distributions from samples, and CDFs that contradict PDFs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from holdfast.experiments.papers.incomplete.applications import applications
from holdfast.experiments.statistics import paired_interval
from holdfast.experiments.study.equivalence import most
from holdfast.experiments.study.experiment import Experiment, Row, Tables
from holdfast.experiments.study.rules import Above
from holdfast.experiments.study.verdicts import HYPOTHESIS, Statement, Verdict, figure, text
from holdfast.workloads.distributions.distribution import Distribution
from holdfast.workloads.distributions.named import truncated_normal
from holdfast.workloads.fits import (
    USUAL,
    Fit,
    Samples,
    fit_discrete,
    fit_interpolation,
    fit_polynomial,
    fit_usual,
)
from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.ground.random_streams import stream

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENTS"]

_SUSPECTS = ("pearson3", "rice")
#: Levels between which a density is integrated, because it may be infinite at the ends.
_INNER = (0.01, 0.99)
#: Smallest difference between CDF and integrated PDF that is not a rounding error.
_DISAGREES = 0.01


@dataclass(frozen=True)
class Steps:
    """Parameters of figure 3: a normal distribution on [minimum, maximum] [h], samples and repetitions."""

    samples: int = 20
    mean: float = 8.0
    std: float = 2.0
    minimum: float = 12.0
    maximum: float = 14.0
    repetitions: int = 100
    points: int = 400


def _measure_steps(parameters: Steps, seed: int) -> Tables:
    distribution = truncated_normal(parameters.mean, parameters.std, parameters.minimum, parameters.maximum)
    if min(parameters.samples, parameters.repetitions, parameters.points) < 2:
        raise ParameterError("samples, repetitions, points", "2 or more", parameters)
    times = np.linspace(parameters.minimum, parameters.maximum, parameters.points)
    curves: list[dict[str, Any]] = []
    distances = []
    for repetition in range(parameters.repetitions):
        raw = distribution.sample(stream(seed, "incomplete-fig3", repetition), parameters.samples)
        samples = Samples.of(raw, parameters.maximum)
        fits = [fit_discrete(samples), fit_interpolation(samples), fit_polynomial(samples)]
        if repetition == 0:
            # One parametric fit suffices, because the distances are about the step from discrete to continuous.
            shown = {
                "law": distribution,
                **{fit.method: fit.good() for fit in fits},
                "usual": fit_usual(samples)[0].good(),
            }
            curves = _curves(times, shown)
            drawn = [{"time_h": float(value)} for value in np.sort(raw)]
        distances += [
            {
                "repetition": repetition,
                "method": fit.method,
                "rms": _rms(fit, distribution, times),
                "falls": _falls(fit, times),
            }
            for fit in fits
        ]
    return {"": curves, "samples": drawn, "distances": distances}


def _curves(times: npt.NDArray[np.float64], distributions: dict[str, Distribution]) -> list[dict[str, Any]]:
    return [
        {"method": name, "time_h": float(time), "cdf": float(height)}
        for name, distribution in distributions.items()
        for time, height in zip(times, distribution.cdf(times), strict=True)
    ]


def _rms(fit: Fit, distribution: Distribution, times: npt.NDArray[np.float64]) -> float:
    """Root mean square distance between the CDF of a fit and the true CDF."""
    return float(np.sqrt(np.mean((fit.good().cdf(times) - distribution.cdf(times)) ** 2)))


def _falls(fit: Fit, times: npt.NDArray[np.float64]) -> int:
    """1 if the CDF decreases anywhere, else 0."""
    return int(bool(np.any(np.diff(fit.good().cdf(times)) < -1e-9)))


def _judge_steps(tables: Tables) -> list[Verdict]:
    rows = tables["distances"]
    methods = list(dict.fromkeys(row["method"] for row in rows))
    rms = {
        name: [row["rms"] for row in sorted(rows, key=lambda row: int(row["repetition"])) if row["method"] == name]
        for name in methods
    }
    nearer = {name: paired_interval(rms["discrete"], rms[name]) for name in methods if name != "discrete"}
    distances = ", ".join(f"{name} {np.mean(values):.3g}" for name, values in rms.items())
    distances += "; nearer by " + "; ".join(f"{name} {found.text('.3g')}" for name, found in nearer.items())
    falls = sum(row["falls"] for row in rows)
    near = Statement("the continuous CDFs are nearer to the law than the steps of the samples", "nearer", HYPOTHESIS)
    rises = Statement(
        "every CDF rises", "a cumulative function", figure("3", "its caption"), "each method only makes CDFs that rise"
    )
    draws = len(rows) // len(methods)
    remark = f"{draws} draws; a domain of 12 to 14 around a mean of 8 is the tail of the normal distribution"
    return [
        near.each(
            Above(quantity="the paired difference of the RMS distances"), nearer, f"RMS distance: {distances}", remark
        ),
        rises.exact_verdict(falls == 0, "holds if none falls anywhere", f"{falls} of {len(rows)} fall"),
    ]


def _draw_steps(tables: Tables) -> Figure:
    from holdfast.experiments.figures.canvas import COLUMN, new_figure, subplots
    from holdfast.experiments.figures.style import FONT, INK, dress

    looks = {
        "law": (INK, ":", "true law"),
        "discrete": ("#7F7F7F", "-", "discrete"),
        "interpolated": ("#D55E00", "--", "interpolated"),
        "polynomial": ("#E69F00", "-", "polynomial"),
        "usual": ("#0072B2", "-", "usual distribution"),
    }
    figure = new_figure(COLUMN * 1.4, 3.0)
    axes = subplots(figure)
    for method, (color, line, label) in looks.items():
        rows = [row for row in tables[""] if row["method"] == method]
        times, heights = [row["time_h"] for row in rows], [row["cdf"] for row in rows]
        axes.plot(
            times,
            heights,
            color=color,
            linestyle=line,
            linewidth=1.1,
            label=label,
            drawstyle="steps-post" if method == "discrete" else "default",
        )
    samples = [row["time_h"] for row in tables["samples"]]
    axes.plot(samples, [0.0] * len(samples), "|", color="#7F7F7F", markersize=6, clip_on=False)
    axes.set_ylim(0, 1.02)
    dress(axes, x="walltime (h)", y="P(X <= walltime)", title=f"{len(samples)} samples and laws made from them")
    axes.legend(fontsize=FONT["legend"], frameon=False, loc="lower right", labelcolor=INK)
    return figure


@dataclass(frozen=True)
class Densities:
    """Parameters of figure 9: parametric distributions fitted to samples of the applications."""

    samples: int = 500
    families: tuple[str, ...] = tuple(USUAL)
    points: int = 4000


def _measure_densities(parameters: Densities, seed: int) -> Tables:
    curves: list[dict[str, Any]] = []
    table = []
    for application in applications().values():
        raw = application.distribution.sample(stream(seed, "incomplete-fig9", application.name), parameters.samples)
        samples = Samples.of(raw)
        for fit in fit_usual(samples, parameters.families):
            if not fit.parameters:
                continue
            times, cdf, added = _integrate_density(fit, parameters.points)
            row = {"application": application.name, "family": fit.name, "refused": fit.reason_refused}
            gap = float(np.max(np.abs(cdf - added))) if times.size else None
            table.append({**row, "error": fit.error if np.isfinite(fit.error) else None, "gap": gap})
            if fit.name in _SUSPECTS:
                few = slice(None, None, max(1, times.size // 200))
                curves += [
                    {**row, "time_h": float(t), "cdf": float(f), "added": float(a)}
                    for t, f, a in zip(times[few], cdf[few], added[few], strict=True)
                ]
    return {"": table, "curves": curves}


def _integrate_density(fit: Fit, points: int) -> tuple[npt.NDArray[np.float64], ...]:
    """Times between two quantiles, scipy's CDF there, and the integral of its PDF from the first time."""
    from scipy import stats

    from holdfast.workloads.fits.fit import quiet

    with quiet():
        distribution: Any = getattr(stats, USUAL[fit.name].scipy_name)(**fit.parameters)
        first, last = distribution.ppf(_INNER)
        if not (np.isfinite(first) and np.isfinite(last) and first < last):
            return np.array([]), np.array([]), np.array([])
        times = np.linspace(first, last, points + 1)
        cdf = np.asarray(distribution.cdf(times))
        middle = np.asarray(distribution.pdf((times[1:] + times[:-1]) / 2))
        added = np.concatenate(([0.0], np.cumsum(middle * np.diff(times)))) + cdf[0]
    return times, cdf, added


def _judge_densities(tables: Tables) -> list[Verdict]:
    rows = [row for row in tables[""] if row["gap"] is not None]
    place = text("B.3 of the appendix, of figure 9")
    verdicts = []
    for name in _SUSPECTS:
        gaps = {row["application"]: row["gap"] for row in rows if row["family"] == name}
        largest = ", ".join(f"{application} {gap:.2g}" for application, gap in gaps.items())
        statement = Statement(f"{name}: the CDF that scipy gives does not correspond with the PDF", "often", place)
        rule = f"holds if CDF and added-up PDF differ by over {_DISAGREES:g} for an application"
        reason = "it is about the scipy of 2019; measured with the scipy that is installed"
        verdicts.append(statement.open(reason, f"largest difference: {largest}" if gaps else "it was not fitted", rule))
    others = Statement("the other distributions agree with themselves", "only pearson3 and rice removed", place)
    reason = "it is about the scipy of 2019; measured with the scipy that is installed"
    verdicts.append(others.open(reason, _worst([row for row in rows if row["family"] not in _SUSPECTS])))
    if rows:
        own = Statement(
            "the distributions that are fitted here agree with themselves, pearson3 and rice among them",
            f"to {_DISAGREES:g}", HYPOTHESIS,
        )  # fmt: skip
        gap = max(row["gap"] for row in rows)
        verdicts.append(most(own, gap, _DISAGREES, "the largest difference of CDF and added-up PDF", _worst(rows)))
    return verdicts


def _worst(rows: Sequence[Row]) -> str:
    """Describe the largest difference between CDF and integrated PDF, with its distribution."""
    worst = max(rows, key=lambda row: float(row["gap"]), default=None)
    if worst is None:
        return "none was fitted"
    return f"largest difference: {worst['gap']:.2g}, of {worst['family']} ({worst['application']})"


def _draw_densities(tables: Tables) -> Figure:
    from holdfast.experiments.figures.canvas import COLUMN, PAGE, new_figure, subplots
    from holdfast.experiments.figures.style import INK, dress, legend_above, panel_letters

    names = list(dict.fromkeys(row["family"] for row in tables["curves"]))
    figure = new_figure(PAGE if len(names) > 1 else COLUMN, 2.7)
    panels = subplots(figure, 1, len(names), squeeze=False)[0]
    colors = dict(zip(applications(), ("#0072B2", "#009E73", "#D55E00", "#CC79A7"), strict=True))
    for axes, name in zip(panels, names, strict=True):
        for application, color in colors.items():
            rows = _fit_rows(tables["curves"], name, application)
            times = [row["time_h"] for row in rows]
            axes.plot(times, [row["cdf"] for row in rows], color=color, linewidth=2.6, alpha=0.35)
            axes.plot(times, [row["added"] for row in rows], color=color, linewidth=0.9, linestyle="--")
        axes.set_ylim(0, 1.02)
        dress(axes, x="walltime (h)", y="P(X <= walltime)" if axes is panels[0] else "", title=name)
    panel_letters(list(panels))
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], color=color, linewidth=2) for color in colors.values()]
    handles += [Line2D([], [], color=INK, linewidth=2.6, alpha=0.35), Line2D([], [], color=INK, linestyle="--")]
    legend_above(figure, handles, [*colors, "CDF", "PDF, added up"])
    return figure


def _fit_rows(rows: Sequence[Row], family: str, application: str) -> list[Row]:
    return [row for row in rows if (row["family"], row["application"]) == (family, application)]


EXPERIMENTS = (
    Experiment(
        "incomplete-fig3",
        "From a discrete to a continuous distribution function",
        "How does one get from samples to a distribution, and is the result nearer to the true one?",
        Steps(),
        Steps(repetitions=20),
        _measure_steps,
        _judge_steps,
        _draw_steps,
    ),
    Experiment(
        "incomplete-fig9",
        "Distributions whose CDF and PDF disagree",
        "Are all distributions of scipy correct?",
        Densities(),
        Densities(),
        _measure_densities,
        _judge_densities,
        _draw_densities,
    ),
)
