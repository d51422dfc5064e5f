"""Experiments for figures 4 and 5 of [S]: the expected loss of strategies made from 10 to 510 samples."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from holdfast.experiments.papers.incomplete.applications import applications
from holdfast.experiments.papers.incomplete.draws import PUBLISHED, Draws
from holdfast.experiments.papers.incomplete.estimators import Setting, measure_losses
from holdfast.experiments.statistics import Interval
from holdfast.experiments.study.equivalence import ROUNDING, close
from holdfast.experiments.study.experiment import Experiment, Row, Tables
from holdfast.experiments.study.rules import Above, AtLeast, AtMost, Near, together
from holdfast.experiments.study.verdicts import Source, Statement, Verdict, reference, text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["CHOICES", "EXPERIMENTS", "PUBLISHED", "Summary", "summaries"]

_FIGURE_4 = ("normal", "wide", "exponential")
_FIGURE_5 = ("two-mode",)

#: Optimal costs of the reference of this project [h], because the paper does not print them.
_OPTIMA = {"normal": 11.9374, "wide": 14.956, "exponential": 4.830}
#: Losses of this reference for the truncated normal distribution, by estimator and number of samples.
_RESULTS = {
    "discrete": {10: 0.103, 60: 0.03, 110: 0.016, 510: 0.005},
    "usual": {10: 0.047, 60: 0.015, 110: 0.0045, 510: 0.0006},
}
_REFERENCE = reference("computed without the planner and the fits")
#: Relative margin of a loss of the reference, in addition to the rounding of its last digit.
_MARGIN = 0.25
#: Bounds of "very close to optimal" and of "hard to get below".
_CLOSE = 0.01
#: Largest number of samples in the figures.
_MANY = 500


@dataclass(frozen=True)
class Summary:
    """Summary of an estimator's losses over the repetitions.

    Attributes
    ----------
    mean, standard_error, low, median, high
        Statistics of the loss; low, median and high are its quartiles.
    number
        Number of repetitions.
    failed
        Number of repetitions without a usable distribution.
    """

    mean: float
    standard_error: float
    low: float
    median: float
    high: float
    number: int
    failed: int

    @classmethod
    def of(cls, losses: Sequence[float], failed: int = 0) -> Summary:
        """Summary of at least one loss."""
        values = np.array(losses)
        low, median, high = np.quantile(values, [0.25, 0.5, 0.75])
        error = float(values.std(ddof=1) / math.sqrt(values.size)) if values.size > 1 else math.inf
        return cls(float(values.mean()), error, float(low), float(median), float(high), values.size, failed)


#: Summaries by application, estimator and number of samples.
Summaries = Mapping[tuple[str, str, int], Summary]


def summaries(rows: Sequence[Row]) -> dict[tuple[str, str, int], Summary]:
    """Summaries by application, estimator and number of samples, in the order of the rows, with :data:`PUBLISHED`."""
    groups: dict[tuple[str, str, int], list[float]] = {}
    failed: dict[tuple[str, str, int], int] = {}
    best: dict[tuple[str, int, int], float] = {}
    for row in rows:
        key = (row["application"], row["estimator"], row["samples"])
        if row["loss"] is None:
            failed[key] = failed.get(key, 0) + 1
            continue
        groups.setdefault(key, []).append(row["loss"])
        if row["estimator"] in ("polynomial", "usual"):
            draw = (row["application"], row["samples"], row["repetition"])
            best[draw] = min(best.get(draw, math.inf), row["loss"])
    for (application, samples, _), loss in best.items():
        groups.setdefault((application, PUBLISHED, samples), []).append(loss)
    return {key: Summary.of(losses, failed.get(key, 0)) for key, losses in groups.items()}


def _percent(summary: Summary) -> str:
    error = f" +- {100 * summary.standard_error:.1f}" if math.isfinite(summary.standard_error) else ""
    return f"{100 * summary.mean:.2g}{error} %"


def _loss_text(found: Summaries, application: str, size: int) -> str:
    """Text with the losses of all estimators for a number of samples."""
    names = dict.fromkeys(estimator for name, estimator, samples in found if (name, samples) == (application, size))
    return ", ".join(f"{name} {_percent(found[application, name, size])}" for name in names)


def _below(tables: Tables, application: str, size: int, bound: float, source: Source) -> list[Verdict]:
    """Judge whether the loss of the published series, and of an estimator from samples alone, is at most a bound."""
    title, printed = applications()[application].title, f"{100 * bound:.0f} %"
    remarks = {
        PUBLISHED: "judged by the published series, for the true distribution; the next line is what a user gets",
        "chosen": "judged by the distribution that cross-validation chooses among all fits",
    }
    claims = {
        PUBLISHED: f"{title}: {size} runs are enough to lose {printed}",
        "chosen": f"{title}: a user who has only the samples needs no more than {size} runs to lose {printed}",
    }
    rule = AtMost(bound + ROUNDING, "the mean loss", "%", 100)
    draws = Draws(tables[""])
    verdicts = []
    for name, claim in claims.items():
        statement = Statement(claim, printed, source)
        loss = draws.mean(application, name, size)
        if loss is None:
            verdicts.append(statement.open("fewer than two draws were measured", rule=rule.words))
        else:
            measured = f"{loss.text('.2g', 100)} % ({_loss_text(summaries(tables['']), application, size)})"
            verdicts.append(statement.judge(rule, loss, measured, remarks[name]))
    return verdicts


def _dominates(tables: Tables, application: str) -> Verdict:
    """Judge whether continuous distributions have lower losses than the discrete one, for every number of samples."""
    draws = Draws(tables[""])
    names = ("polynomial", "usual", PUBLISHED)
    sizes = draws.sizes(application)
    found = {(name, size): draws.less(application, name, "discrete", size) for name in names for size in sizes}
    gains = {f"{name} at {size}": item for (name, size), item in found.items() if item is not None}
    counts = {
        name: sum(item is not None and item.positive for (other, _), item in found.items() if other == name)
        for name in names
    }
    worse = [case for case, item in gains.items() if item.negative]
    statement = Statement(
        f"{applications()[application].title}: continuous strategies dominate the discrete one", "clearly dominating",
        text("V-A"),
    )  # fmt: skip
    rule = Above(quantity="the paired difference of the losses")
    if len(gains) < len(found):
        return statement.open("fewer than two draws of some were measured", rule=rule.words)
    measured = ", ".join(f"{name} beyond doubt at {number} of {len(sizes)} sizes" for name, number in counts.items())
    remark = f"worse beyond doubt: {', '.join(worse)}" if worse else ""
    return statement.each(rule, gains, f"lower loss: {measured}", remark)


def _optimum(rows: Sequence[Row], application: str) -> Verdict:
    optimum = next(row["optimum_h"] for row in rows if row["application"] == application)
    known = _OPTIMA[application]
    claim = f"{applications()[application].title}: optimal cost"
    known_result = "a known result of the same computation: it tests the code"
    statement = Statement(claim, f"{known} h", _REFERENCE, known_result)
    return close(statement, optimum, known, 1e-3 * known, f"{optimum:.4f} h", unit="h")


def _results(tables: Tables, estimator: str) -> Verdict:
    """Judge whether the mean losses are equal to those of the reference, for each number of samples."""
    draws = Draws(tables[""])
    losses = {n: draws.mean("normal", estimator, n) for n in _RESULTS[estimator]}
    found = {n: item for n, item in losses.items() if item is not None}
    known = {n: loss for n, loss in _RESULTS[estimator].items() if n in found or not found}
    statement = Statement(
        f"{applications()['normal'].title}: loss of the {estimator} method",
        ", ".join(f"{loss:g} at {n}" for n, loss in known.items()), _REFERENCE,
    )  # fmt: skip
    rule = (
        f"holds if the 90 % interval of each mean loss lies within {100 * _MARGIN:g} % of the reference's and its "
        "rounding (two one-sided tests), does not hold if a 95 % interval lies outside, after Holm"
    )
    if not found:
        return statement.open("none of these numbers of samples was measured twice", rule=rule)
    decisions = [
        Near(known[n], _MARGIN * known[n] + 0.5 * 10.0 ** -_decimals(known[n])).decide(item)
        for n, item in found.items()
    ]
    measured = ", ".join(f"{item.text('.2g')} at {n}" for n, item in found.items())
    return statement.verdict(together(decisions), rule, measured)


def _decimals(value: float) -> int:
    return len(f"{value:g}".partition(".")[2])


def _at_the_end(tables: Tables, application: str) -> Verdict:
    """Judge the loss with many samples: above 1 % with the low variance, below with the high one."""
    draws = Draws(tables[""])
    low, last = application == "normal", draws.sizes(application)[-1]
    claim = "low variance: it is hard to get below 1 %" if low else "high variance: very close to the optimum"
    statement = Statement(claim, "above 1 %" if low else "very close", text("V-A"))
    rule = (AtLeast if low else AtMost)(_CLOSE, "the mean loss from the most samples", "%", 100)
    loss = draws.mean(application, PUBLISHED, last)
    if last < _MANY or loss is None:
        return statement.open(f"measured up to {last} runs only, or once", rule=rule.words)
    measured = f"{loss.text('.2g', 100)} % from {last} runs ({_loss_text(summaries(tables['']), application, last)})"
    return statement.judge(rule, loss, measured, "judged by the published series")


def _semi(tables: Tables) -> Verdict:
    draws = Draws(tables[""])
    found = {
        f"{name} at {size}": draws.less(name, "semi-clairvoyant", "usual", size)
        for name in _FIGURE_4
        for size in draws.sizes(name)
    }
    gains = {case: item for case, item in found.items() if item is not None}
    statement = Statement(
        "the semi-clairvoyant estimator is better than the usual distributions", "expected", text("V")
    )
    rule = Above(quantity="the paired difference of the losses")
    if not gains:
        return statement.open("fewer than two draws were measured", rule=rule.words)
    better, worse = (sum(sign(item) for item in gains.values()) for sign in (_positive, _negative))
    return statement.each(rule, gains, f"beyond doubt better at {better} of {len(gains)} points, worse at {worse}")


def _positive(found: Interval) -> bool:
    return found.positive


def _negative(found: Interval) -> bool:
    return found.negative


def _judge_figure_4(tables: Tables) -> list[Verdict]:
    verdicts = [_optimum(tables[""], name) for name in _FIGURE_4]
    verdicts += [_results(tables, estimator) for estimator in _RESULTS]
    for name in ("normal", "wide"):
        verdicts += _below(tables, name, 10, 0.06, text("V-A"))
        verdicts += _below(tables, name, 60, 0.03, text("V-A"))
    # "From as little as 10 previous runs, to be within 5%" also refers to the exponential distribution.
    verdicts += _below(tables, "exponential", 10, 0.05, Source("abstract"))
    verdicts += [_dominates(tables, name) for name in _FIGURE_4]
    return [*verdicts, _at_the_end(tables, "normal"), _at_the_end(tables, "wide"), _semi(tables)]


def _judge_figure_5(tables: Tables) -> list[Verdict]:
    draws = Draws(tables[""])
    found = {size: draws.mean("two-mode", PUBLISHED, size) for size in draws.sizes("two-mode")}
    statement = Statement("two behaviours need more samples than one (60 runs to lose 3 %)", "more", text("V-A"))
    rule = Above(0.03 + ROUNDING, "the mean loss from 60 samples", "%", 100)
    at_60 = found.get(60)
    dominates = _dominates(tables, "two-mode")
    if at_60 is None:
        return [dominates, statement.open("60 samples were not measured twice", rule=rule.words)]
    measured = ", ".join(f"{item.text('.2g', 100)} % at {size}" for size, item in found.items() if item is not None)
    return [dominates, statement.judge(rule, at_60, measured, "judged by the published series")]


def _draw(tables: Tables) -> Figure:
    from holdfast.experiments.figures.planning.losses import plot_losses

    found = summaries(tables[""])
    titles = {name: applications()[name].title for name in dict.fromkeys(name for name, _, _ in found)}
    return plot_losses(found, titles)


_QUICK = Setting(sizes=(10, 60, 510), repetitions=2, chosen_repetitions=0)

#: Choices of all experiments on the synthetic applications.
CHOICES = (
    "The user knows an upper bound of the runtime (section III): the last reservation of every strategy, and the "
    "end of fitted distributions that have one (`ends`).",
    "The paper's continuous series takes, in each draw, the fit with the lower true cost, which cannot be known "
    "from samples. The series chosen by cross-validation uses the samples alone.",
)

EXPERIMENTS = (
    Experiment(
        "incomplete-fig4",
        "Loss against the number of samples: truncated normal and exponential distributions",
        "How many past runs does a plan need to be almost as good as one from the true distribution?",
        Setting(),
        _QUICK,
        lambda setting, seed, resources: {"": measure_losses(_FIGURE_4, setting, seed, resources=resources)},
        _judge_figure_4,
        _draw,
        choices=CHOICES,
        stores=True,
    ),
    Experiment(
        "incomplete-fig5",
        "Loss against the number of samples: an application with two behaviours",
        "Does a fitted distribution still help when no usual distribution is right?",
        Setting(),
        _QUICK,
        lambda setting, seed, resources: {"": measure_losses(_FIGURE_5, setting, seed, resources=resources)},
        _judge_figure_5,
        _draw,
        choices=CHOICES,
        stores=True,
    ),
)
