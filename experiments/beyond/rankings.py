"""Rankings: whether the order of some choices on one kind of traces is their order on another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from experiments.study.evidence import difference, mean_of
from experiments.study.experiment import Row
from experiments.study.measured import Measured
from experiments.study.simulated import SIX
from experiments.study.verdicts import Outcome

__all__ = ["SAME_ORDER", "SAME_RANKING", "by_dataset", "carried", "tau", "told"]

#: The rule of :func:`told`.
SAME_ORDER = (
    "holds if no decided pair is reversed and more than half are the same, does not hold if one is reversed, undecided "
    "where the second trace leaves too many pairs open"
)
#: The rule where one side has no repetitions.
SAME_RANKING = "holds if Kendall's tau is at least 0.5"


def by_dataset(rows: Iterable[Row]) -> dict[str, Measured]:
    """The measurements of each dataset."""
    own: dict[str, list[Row]] = {}
    for row in rows:
        own.setdefault(str(row["dataset"]), []).append(row)
    return {name: Measured(lines) for name, lines in own.items()}


def carried(first: Measured, second: Measured, metric: str) -> dict[str, Any]:
    """How the order of the six mechanisms carries over.

    Each two mechanisms are compared on both sides, repetition by repetition. ``decided``: pairs whose order the first
    side tells; of these ``same`` (the second tells the same), ``reversed`` and ``open``. ``tau``: Kendall's, of the
    means.
    """
    signs = [_signs(data, metric) for data in (first, second)]
    pairs = [(a, b) for a, b in zip(*signs, strict=True) if a]
    means = [[mean_of(data(metric, mechanism)) for mechanism in SIX] for data in (first, second)]
    return {
        "decided": len(pairs),
        "same": sum(a == b for a, b in pairs),
        "reversed": sum(a == -b for a, b in pairs),
        "open": sum(b == 0 for _, b in pairs),
        "tau": tau(*means),
    }


def told(row: Mapping[str, Any]) -> tuple[Outcome, str]:
    """The outcome by :data:`SAME_ORDER` of a row of :func:`carried`, and what was measured, in words."""
    measured = (
        f"of {row['decided']} decided pairs {row['same']} the same, {row['open']} open, {row['reversed']} reversed"
    )
    if row["tau"] is not None:
        measured += f"; tau {row['tau']:+.2f}"
    if not row["decided"]:
        return Outcome.NOT_COMPARABLE, measured
    same = 2 * row["same"] > row["decided"]
    return (Outcome.FAILS if row["reversed"] else Outcome.HOLDS if same else Outcome.UNDECIDED), measured


def _signs(data: Measured, metric: str) -> list[int]:
    """For each two mechanisms 1 if the first has more, -1 if less, 0 if that is not decided."""
    signs = []
    for place, name in enumerate(SIX):
        for other in SIX[place + 1 :]:
            effect = difference(data(metric, name), data(metric, other), 1).effect
            signs.append(0 if effect is None else int(effect.positive) - int(effect.negative))
    return signs


def tau(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Kendall's rank correlation (tau-b); None where one side has no order."""
    from scipy.stats import kendalltau

    if len(set(a)) < 2 or len(set(b)) < 2 or not np.isfinite([*a, *b]).all():
        return None
    return float(kendalltau(a, b).statistic)
