"""Comparison of the ranking of choices on one kind of traces with their ranking on another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.experiments.statistics import Interval
from holdfast.experiments.study.evidence import difference
from holdfast.experiments.study.experiment import Row
from holdfast.experiments.study.measurement_table import Measured
from holdfast.experiments.study.rules import AtLeast
from holdfast.experiments.study.simulation_cache import SIX
from holdfast.experiments.study.verdicts import Outcome, Statement, Verdict
from holdfast.workloads.ground.random_streams import stream

__all__ = [
    "SAME_ORDER",
    "SAME_RANKING",
    "by_dataset",
    "compare_rankings",
    "judge_ranking",
    "rank_correlation",
    "same_ranking",
    "tau",
]

Floats = NDArray[np.float64]

#: The rule of :func:`judge_ranking`.
SAME_ORDER = (
    "holds if no decided pair is reversed and more than half are the same, does not hold if one is reversed, undecided "
    "where the second trace leaves too many pairs open"
)
#: The rule where one side has no repetitions.
SAME_RANKING = AtLeast(0.5, "Kendall's tau")
_RESAMPLES = 400


def by_dataset(rows: Iterable[Row]) -> dict[str, Measured]:
    """Measurements by dataset."""
    own: dict[str, list[Row]] = {}
    for row in rows:
        own.setdefault(str(row["dataset"]), []).append(row)
    return {name: Measured(lines) for name, lines in own.items()}


def compare_rankings(first: Measured, second: Measured, metric: str) -> dict[str, Any]:
    """Compare the order of the six mechanisms on two sides.

    Each pair of mechanisms is compared on both sides, by repetition. ``decided`` counts the pairs with a significant
    order on the first side; of these, ``same`` have the same order on the second side, ``reversed`` the opposite one,
    and ``open`` no significant one. ``tau``, ``tau_low`` and ``tau_high``: Kendall's, of the means, with its interval
    (:func:`rank_correlation`).
    """
    signs = [_signs(data, metric) for data in (first, second)]
    pairs = [(a, b) for a, b in zip(*signs, strict=True) if a]
    tables = [np.array([data(metric, mechanism) for mechanism in SIX]).T for data in (first, second)]
    found = rank_correlation(*tables)
    return {
        "decided": len(pairs),
        "same": sum(a == b for a, b in pairs),
        "reversed": sum(a == -b for a, b in pairs),
        "open": sum(b == 0 for _, b in pairs),
        "tau": None if found is None else found.mean,
        "tau_low": None if found is None else found.low,
        "tau_high": None if found is None else found.high,
    }


def judge_ranking(row: Mapping[str, Any]) -> tuple[Outcome, str]:
    """The outcome by :data:`SAME_ORDER` of a row of :func:`compare_rankings`, and what was measured, in words."""
    measured = (
        f"of {row['decided']} decided pairs {row['same']} the same, {row['open']} open, {row['reversed']} reversed"
    )
    if row["tau"] is not None and row.get("tau_low") is not None:
        measured += f"; tau {Interval(row['tau'], row['tau_low'], row['tau_high']).text('+.2f')}"
    if not row["decided"]:
        return Outcome.NOT_COMPARABLE, measured
    same = 2 * row["same"] > row["decided"]
    return (Outcome.FAILS if row["reversed"] else Outcome.HOLDS if same else Outcome.UNDECIDED), measured


def _signs(data: Measured, metric: str) -> list[int]:
    """For each pair of mechanisms: 1 if the first has more, -1 if less, 0 if undecided."""
    signs = []
    for place, name in enumerate(SIX):
        for other in SIX[place + 1 :]:
            effect = difference(data(metric, name), data(metric, other), 1).effect
            signs.append(0 if effect is None else int(effect.positive) - int(effect.negative))
    return signs


def tau(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Kendall's rank correlation (tau-b); None if one side is constant."""
    if not np.isfinite([*a, *b]).all():
        return None
    (found,) = _taus(np.array([a], dtype=float), np.array([b], dtype=float)).tolist()
    return None if np.isnan(found) else float(found)


def _taus(a: Floats, b: Floats) -> Floats:
    """Kendall's tau-b of each row of a with that of b; NaN where one of them has no order."""
    first, second = np.triu_indices(a.shape[1], 1)
    left, right = (np.sign(table[:, first] - table[:, second]) for table in (a, b))
    with np.errstate(invalid="ignore"):
        found: Floats = (left * right).sum(axis=1) / np.sqrt((left**2).sum(axis=1) * (right**2).sum(axis=1))
    return found


def rank_correlation(first: Floats, second: Floats) -> Interval | None:
    """Kendall's tau of the mean values on both sides, with a bootstrap interval over the repetitions.

    Parameters
    ----------
    first, second
        Values of the same choices on either side, shape (repetitions, choices). A side of one repetition is taken as it
        is: then the interval says nothing of another one.

    Returns
    -------
    Interval
        By Student's t with the standard error of the resamples, and a degree of freedom less than repetitions of the
        side that has fewer, but for a single one; None if no side is repeated, or one has no order.

    References
    ----------
    A. C. Davison, D. V. Hinkley, "Bootstrap Methods and their Application" (1997), chapter 2.
    """
    repeated = [len(side) for side in (first, second) if len(side) > 1]
    value = tau(*(_means(side, np.arange(len(side))[None, :])[0].tolist() for side in (first, second)))
    if value is None or not repeated:
        return None
    tables = [_means(side, _resamples(len(side), place)) for place, side in enumerate((first, second))]
    taus = _taus(*tables)
    taus = taus[np.isfinite(taus)]
    if len(taus) < 2:
        return None
    error = 0.0 if taus.min() == taus.max() else float(taus.std(ddof=1))
    return Interval(value, value, value, error, min(repeated) - 1, bounds=(-1.0, 1.0)).at(0.95)


def _means(side: Floats, chosen: NDArray[np.int64]) -> Floats:
    """The mean of each choice over the repetitions chosen, those that are not defined left out."""
    known = np.isfinite(side)
    with np.errstate(invalid="ignore"):
        found: Floats = np.where(known, side, 0.0)[chosen].sum(axis=1) / known[chosen].sum(axis=1)
    return found


@cache
def _resamples(count: int, side: int) -> NDArray[np.int64]:
    """Repetitions of each resample, the same for all rankings."""
    return stream(0, "bootstrap", "rankings", side).integers(0, count, (_RESAMPLES, count))


def same_ranking(statement: Statement, first: Floats, second: Floats) -> Verdict:
    """Verdict on whether choices rank the same on both sides, by :data:`SAME_RANKING`.

    Parameters
    ----------
    statement
        What is judged.
    first, second
        As of :func:`rank_correlation`; the second is one log.
    """
    found = rank_correlation(first, second) if first.shape[1] > 2 else None
    if found is None:
        reason = "fewer than three orders or two repetitions, or no order differs from another"
        return statement.open(reason, rule=SAME_RANKING.words)
    measured = f"tau {found.text('+.2f')} over {first.shape[1]} orders"
    return statement.judge(SAME_RANKING, found, measured, "one log: the interval is over the generated years")
