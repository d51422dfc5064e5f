"""Scores of wait forecasts: quantile errors, coverage and their means with confidence intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from holdfast.experiments.beyond.schedules import GENERATED, RECORDED, SIMULATED
from holdfast.experiments.statistics import Interval, clustered_interval, median_gap
from holdfast.experiments.study.experiment import Row
from holdfast.workloads.ground.random_streams import stream

__all__ = [
    "LEVELS",
    "METHODS",
    "OTHERS",
    "OURS",
    "SCHEDULES",
    "count_weeks",
    "method_rows",
    "rank",
    "score",
    "summary",
    "within",
]

Floats = npt.NDArray[np.float64]

#: Titles of the forecasting methods, by their names in tables.
METHODS: Mapping[str, str] = {
    "forecast": "forecast",
    "walltimes": "walltimes as runtimes",
    "week": "mean of the last week",
    "qbets": "QBETS-like",
    "nearest": "nearest jobs",
}
OURS, *OTHERS = METHODS
#: Levels of the quantiles with a pinball score, and of all reported quantiles.
_PINBALL = (0.1, 0.5, 0.9)
LEVELS = np.array([0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95])
#: Schedules (log, kind) in the order of the verdicts.
SCHEDULES = (
    (GENERATED, SIMULATED),
    *((log, kind) for kind in (SIMULATED, RECORDED) for log in ("kth", "theta", "blue")),
)


def score(quantiles: Floats, wait: float, *, interval: bool = True) -> dict[str, Any]:
    """Score forecast quantiles of a wait against the actual wait.

    Parameters
    ----------
    quantiles
        At the levels 0.05, 0.1, 0.25, 0.5, 0.75, 0.9 and 0.95 [s].
    wait
        Actual wait [s].
    interval
        Whether the quantiles form an interval rather than a point forecast.
    """
    at = dict(zip(LEVELS.tolist(), quantiles.tolist(), strict=True))
    middle = at[0.5]
    row: dict[str, Any] = {
        "told_s": middle,
        "error_s": abs(wait - middle),
        "log_error": abs(float(np.log10((wait + 60.0) / (middle + 60.0)))),
    }
    for level in _PINBALL:
        over = wait - at[level]
        row[f"pinball_{100 * level:02.0f}_s"] = max(level * over, (level - 1.0) * over)
    # A start within a second of an end of the interval is inside: the clock of logs counts seconds.
    inside = {50: (0.25, 0.75), 90: (0.05, 0.95)}
    for percent, (low, high) in inside.items():
        row[f"inside_{percent}"] = int(at[low] - 1.0 <= wait <= at[high] + 1.0) if interval else None
    return row


def rank(waits: Floats, wait: float, *key: Any) -> float:
    """Rank of a wait among the drawn ones, from 0 to 1, with ties broken at random so that it can be uniform."""
    seed, log, place = key
    rng = stream(seed, "rank", log, place)
    below = int(np.sum(waits < wait - 1.0))
    equal = int(np.sum(np.abs(waits - wait) <= 1.0))
    return float((below + rng.integers(0, equal + 1) + rng.random()) / (len(waits) + 1))


def within(rank: float, percent: int) -> int:
    """1 for a rank inside the central interval of ``percent`` per cent, else 0.

    With tied draws, a reported interval that ends at the tie contains more than its nominal share. Ranks avoid this,
    because ties are broken at random.
    """
    return int(abs(rank - 0.5) <= percent / 200)


def method_rows(rows: Sequence[Row], method: str) -> list[Row]:
    return [row for row in rows if row["method"] == method]


def count_weeks(rows: Sequence[Row]) -> int:
    return len({row["week"] for row in rows})


def summary(rows: Sequence[Row]) -> list[Row]:
    """A row for each schedule and method: errors, coverage and scores with 95 % intervals over weeks."""
    found: list[Row] = []
    for log, kind in SCHEDULES:
        for method in METHODS:
            own = [row for row in method_rows(rows, method) if (row["log"], row["schedule"]) == (log, kind)]
            if count_weeks(own) < 2:
                continue
            weeks = [row["week"] for row in own]
            row: dict[str, Any] = {"log": log, "schedule": kind, "method": method, "moments": len(own)}
            errors = np.array([item["error_s"] for item in own]) / 3600
            logs = np.array([item["log_error"] for item in own])
            for name, values in (("median_error_h", errors), ("median_log_error", logs)):
                row |= _bounds(name, median_gap(values, np.zeros(len(values)), weeks))
            means = {"mean_error_h": errors, "mean_log_error": logs}
            means |= {
                f"pinball_{100 * level:02.0f}_h": np.array([item[f"pinball_{100 * level:02.0f}_s"] for item in own])
                / 3600
                for level in _PINBALL
            }
            means |= {
                f"inside_{percent}": np.array([item[f"inside_{percent}"] for item in own], dtype=float)
                for percent in (50, 90)
                if own[0][f"inside_{percent}"] is not None
            }
            for name, values in means.items():
                row |= _bounds(name, clustered_interval(values, weeks))
            found.append(row)
    return found


def _bounds(name: str, found: Interval) -> dict[str, float]:
    return {name: found.mean, f"{name}_low": found.low, f"{name}_high": found.high}
