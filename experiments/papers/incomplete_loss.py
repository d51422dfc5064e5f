"""Figures 4 and 5 of [S]: the expected loss of strategies made from 10 to 510 samples."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from experiments.experiment import Experiment, Row, Tables
from experiments.papers.incomplete_applications import applications
from experiments.papers.incomplete_estimators import Setting, measure_losses
from experiments.verdicts import Outcome, Verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["CHOICES", "EXPERIMENTS", "PUBLISHED", "Summary", "summaries"]

#: Not an estimator: in each repetition the polynomial or the usual distribution, whichever is cheaper under the true
#: law. It is the "continuous" series of [S], and nobody who has only samples can know it.
PUBLISHED = "continuous, as published"
_FIGURE_4 = ("normal", "wide", "exponential")
_FIGURE_5 = ("two-mode",)

#: Optimal costs [h] that the published results hold (the paper prints none).
_OPTIMA = {"normal": 11.9374, "wide": 14.956, "exponential": 4.830}
#: Losses of the published results on the truncated normal law, by estimator and number of samples.
_RESULTS = {
    "discrete": {10: 0.103, 60: 0.03, 110: 0.016, 510: 0.005},
    "usual": {10: 0.047, 60: 0.015, 110: 0.0045, 510: 0.0006},
}
#: As many samples as the figures end with, and no fewer.
_MANY = 500


@dataclass(frozen=True)
class Summary:
    """Losses of an estimator over the repetitions.

    Attributes
    ----------
    mean, standard_error, low, median, high
        Of the loss; low, median and high are the quartiles.
    number
        Of repetitions.
    failed
        Repetitions without a law that could be planned with.
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


#: By application, estimator and number of samples.
Summaries = Mapping[tuple[str, str, int], Summary]


def summaries(rows: Sequence[Row]) -> dict[tuple[str, str, int], Summary]:
    """Losses by application, estimator and number of samples, in the order of the rows; :data:`PUBLISHED` added."""
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


def _shown(found: Summaries, application: str, size: int) -> str:
    """What all estimators lose at that many samples."""
    names = dict.fromkeys(estimator for name, estimator, samples in found if (name, samples) == (application, size))
    return ", ".join(f"{name} {_percent(found[application, name, size])}" for name in names)


def _below(found: Summaries, application: str, size: int, most: float, printed: str) -> list[Verdict]:
    """Whether the published series loses no more than that, and whether a user with samples alone does not, either."""
    title = applications()[application].title
    remarks = {
        PUBLISHED: "judged by the published series, which knows the true law; the next line is what a user gets",
        "chosen": "judged by the law that cross-validation chooses among all fits",
    }
    claims = {
        PUBLISHED: f"{title}: {size} runs are enough to lose {printed}",
        "chosen": f"{title}: a user who has only the samples needs no more than {size} runs to lose {printed}",
    }
    verdicts = []
    for name, claim in claims.items():
        series = found.get((application, name, size))
        if series is None:
            verdicts.append(Verdict(claim, printed, "not measured", Outcome.NOT_COMPARABLE))
        else:
            told = _shown(found, application, size)
            verdicts.append(Verdict.of(claim, printed, told, series.mean <= most, remarks[name]))
    return verdicts


def _dominates(found: Summaries, application: str) -> Verdict:
    """Whether continuous laws lose less than the samples themselves, for every number of samples."""
    sizes = sorted({samples for name, _, samples in found if name == application})
    names = ("polynomial", "usual", PUBLISHED)
    counts = dict.fromkeys(names, 0)
    for name in names:
        for size in sizes:
            ours, discrete = found.get((application, name, size)), found[application, "discrete", size]
            counts[name] += ours is not None and ours.mean < discrete.mean
    told = ", ".join(f"{name} at {count} of {len(sizes)} sizes" for name, count in counts.items())
    claim = f"{applications()[application].title}: continuous strategies dominate the discrete one"
    number = found[application, "discrete", sizes[0]].number
    remark = f"means of {number} repetitions; the series is the one that knows the true law"
    holds = min(counts.values()) == len(sizes)
    return Verdict.of(claim, "clearly dominating", f"lower mean loss: {told}", holds, remark)


def _optimum(rows: Sequence[Row], application: str) -> Verdict:
    optimum = next(row["optimum_h"] for row in rows if row["application"] == application)
    printed = _OPTIMA[application]
    claim = f"{applications()[application].title}: optimal cost"
    remark = "the number is in the published results, not in the paper"
    return Verdict.of(claim, f"{printed} h", f"{optimum:.4f} h", abs(optimum / printed - 1) < 1e-3, remark)


def _results(found: Summaries, estimator: str) -> Verdict:
    """Whether the mean losses are those of the published results: within three standard errors, not twice as large."""
    claim = f"{applications()['normal'].title}: loss of the {estimator} method"
    printed = {n: loss for n, loss in _RESULTS[estimator].items() if ("normal", estimator, n) in found}
    if not printed:
        return Verdict(claim, "", "not measured", Outcome.NOT_COMPARABLE)
    ours = {n: found["normal", estimator, n] for n in printed}
    # The published means are of 100 repetitions, with a spread as ours; they are known to their last digit only. Where
    # single draws lose a hundred times more than the rest, standard errors are too wide to tell anything.
    close = [
        abs(item.mean - printed[n])
        <= min(3 * item.standard_error * math.sqrt(1 + item.number / 100), printed[n])
        + 0.5 * 10.0 ** -_decimals(printed[n])
        for n, item in ours.items()
    ]
    return Verdict.of(
        claim,
        ", ".join(f"{loss:g} at {n}" for n, loss in printed.items()),
        ", ".join(f"{item.mean:.2g} +- {item.standard_error:.1g} at {n}" for n, item in ours.items()),
        all(close),
        f"{sum(close)} of {len(close)} within three standard errors of the published results, and not twice as large; "
        f"medians are {', '.join(f'{item.median:.2g}' for item in ours.values())}",
    )


def _decimals(value: float) -> int:
    return len(f"{value:g}".partition(".")[2])


def _at_the_end(found: Summaries, application: str, last: int) -> Verdict:
    """What is said of many samples: with the low variance it stays above 1 %, with the high one it does not."""
    low = application == "normal"
    claim = "low variance: it is hard to get below 1 %" if low else "high variance: very close to the optimum"
    printed = "above 1 %" if low else "close to 0"
    if last < _MANY:
        return Verdict(claim, printed, f"measured up to {last} runs only", Outcome.NOT_COMPARABLE)
    above = found[application, PUBLISHED, last].mean > 0.01
    remark = f"{last} runs; judged by the published series, close to 0 being within 1 %"
    return Verdict.of(claim, printed, _shown(found, application, last), above == low, remark)


def _judge_figure_4(tables: Tables) -> list[Verdict]:
    rows = tables[""]
    found = summaries(rows)
    last = max(samples for _, _, samples in found)
    verdicts = [_optimum(rows, name) for name in _FIGURE_4]
    verdicts += [_results(found, estimator) for estimator in _RESULTS]
    for name in ("normal", "wide"):
        verdicts += [*_below(found, name, 10, 0.065, "6 %"), *_below(found, name, 60, 0.035, "3 %")]
    # "From as little as 10 previous runs, to be within 5 %" is said of the exponential law, too.
    verdicts += _below(found, "exponential", 10, 0.055, "5 %")
    verdicts += [_dominates(found, name) for name in _FIGURE_4]
    verdicts += [_at_the_end(found, "normal", last), _at_the_end(found, "wide", last)]
    sizes = sorted({samples for _, _, samples in found})
    better = [
        found[name, "semi-clairvoyant", n].mean <= found[name, "usual", n].mean
        for name in _FIGURE_4
        for n in sizes
        if (name, "semi-clairvoyant", n) in found and (name, "usual", n) in found
    ]
    verdicts.append(
        Verdict.of(
            "the semi-clairvoyant estimator is better than the usual distributions",
            "expected",
            f"at {sum(better)} of {len(better)} points",
            all(better),
        )
    )
    return verdicts


def _judge_figure_5(tables: Tables) -> list[Verdict]:
    rows = tables[""]
    found = summaries(rows)
    sizes = sorted({samples for _, _, samples in found})
    first = found["two-mode", PUBLISHED, sizes[0]]
    needed = next((n for n in sizes if found["two-mode", PUBLISHED, n].mean <= 0.035), None)
    return [
        _dominates(found, "two-mode"),
        Verdict.of(
            "two behaviours need more samples than one (60 runs to lose 3 %)",
            "more than 60",
            f"{'never' if needed is None else needed} runs to lose 3 %, {_percent(first)} at {sizes[0]}",
            needed is None or needed > 60,
            "judged by the published series: polynomial or distribution, whichever is cheaper under the true law",
        ),
    ]


def _draw(tables: Tables) -> Figure:
    from experiments.figures.losses import plot_losses

    found = summaries(tables[""])
    titles = {name: applications()[name].title for name in dict.fromkeys(name for name, _, _ in found)}
    return plot_losses(found, titles)


_QUICK = Setting(sizes=(10, 60, 510), repetitions=2, chosen_repetitions=0)

#: Of all experiments on the synthetic applications.
CHOICES = (
    "The user knows an upper bound of the runtime (section III): it is the last reservation of every strategy, and "
    "fitted laws that end do so there (`ends`).",
    "The paper's continuous series takes in each draw whichever law is cheaper under the true one, which nobody can "
    "know who has only samples; the series chosen by cross-validation takes it from the samples alone.",
)

EXPERIMENTS = (
    Experiment(
        "incomplete-fig4",
        "Loss against the number of samples: truncated normal and exponential laws",
        "How many past runs does one need to plan almost as well as who knows the law?",
        Setting(),
        _QUICK,
        lambda setting, seed: {"": measure_losses(_FIGURE_4, setting, seed)},
        _judge_figure_4,
        _draw,
        choices=CHOICES,
    ),
    Experiment(
        "incomplete-fig5",
        "Loss against the number of samples: an application with two behaviours",
        "Does a law fitted to samples still help when no usual distribution is the right one?",
        Setting(),
        _QUICK,
        lambda setting, seed: {"": measure_losses(_FIGURE_5, setting, seed)},
        _judge_figure_5,
        _draw,
        choices=CHOICES,
    ),
)
