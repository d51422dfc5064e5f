"""Paired differences of one metric by group, with intervals, and the verdict on each group."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.experiments.statistics import Interval, clustered_interval, holm, interval
from holdfast.simulator.results.order_statistics import Ranked

__all__ = ["ALL", "GAIN_COLUMNS", "JOINT", "gain_rows", "judge"]

GAIN_COLUMNS = (
    *("group", "jobs", "metric", "first", "second", "difference", "low", "high"),
    *("shorter", "longer", "p_value", "verdict", "first_longest", "second_longest", "first_p99", "second_p99"),
)
#: Bounds of intervals that exclude 0 where Holm's method decides: for figures, in no table.
JOINT = ("joint_low", "joint_high")
#: Group of all jobs.
ALL = "all jobs"
_LEVEL = 0.05


def gain_rows(
    metric: str,
    first: NDArray[np.float64],
    second: NDArray[np.float64],
    clusters: NDArray[np.int64],
    groups: Mapping[str, Sequence[int]],
    draws: NDArray[np.int64] | None = None,
) -> list[dict[str, Any]]:
    """Compare a metric of the same jobs in two results, for all jobs and for each group.

    Parameters
    ----------
    metric
        Its name.
    first, second
        Values of each job, shape (n,).
    clusters
        Block of dependent jobs of each job, shape (n,).
    groups
        Places of the jobs of each group.
    draws
        Which random draw of the workload each value belongs to, shape (n,); None: nothing is random. The variance
        between draws adds to that between blocks; a single draw has no interval.

    Returns
    -------
    list of dict
        Rows with the columns :data:`GAIN_COLUMNS`, all jobs first. A group ``gains`` or ``loses`` if its difference is
        significant at 5 % by Holm's method over the groups, is ``equal`` if no job differs, else ``undecided``. The
        bounds :data:`JOINT` are of the interval at the level by which Holm's method judges the row.
    """
    rows, means = [], []
    for name, places in {ALL: range(len(first)), **groups}.items():
        chosen = np.asarray(places, np.int64)
        drawn = None if draws is None else draws[chosen]
        row, mean = _row(name, metric, first[chosen], second[chosen], clusters[chosen], drawn)
        rows.append(row)
        means.append(mean)
    raw = [row["p_value"] for row in rows]
    judge(rows[:1])
    judge([row for row in rows[1:] if row["p_value"] is not None])
    for row, mean, p_value in zip(rows, means, raw, strict=True):
        bounds = (None, None) if mean is None else _joint_bounds(mean, p_value, row["p_value"], len(groups))
        row |= dict(zip(JOINT, bounds, strict=True))
    return rows


def _joint_bounds(mean: Interval, raw: float, adjusted: float, groups: int) -> tuple[float, float]:
    """Bounds at the level that Holm's method asks of a p-value: the interval excludes 0 where it decides."""
    times = adjusted / raw if raw and adjusted < 1.0 else float(max(groups, 1))
    joint = mean.at(1.0 - _LEVEL / max(times, 1.0))
    return joint.low, joint.high


def _row(
    group: str,
    metric: str,
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    clusters: NDArray[np.int64],
    draws: NDArray[np.int64] | None,
) -> tuple[dict[str, Any], Interval | None]:
    differences = b - a
    row: dict[str, Any] = {
        "group": group,
        "jobs": len(a),
        "metric": metric,
        "first": float(a.mean()),
        "second": float(b.mean()),
        "difference": float(differences.mean()),
        "low": None,
        "high": None,
        "shorter": float((differences < 0).mean()),
        "longer": float((differences > 0).mean()),
        "p_value": 1.0 if not differences.any() else None,
        "verdict": "undecided" if differences.any() else "equal",
        "first_longest": float(a.max()),
        "second_longest": float(b.max()),
        "first_p99": Ranked(a).quantile(0.99),
        "second_p99": Ranked(b).quantile(0.99),
    }
    mean = _mean(differences, clusters, draws)
    if mean is not None:
        row |= {"low": mean.low, "high": mean.high}
        row["p_value"] = min(1.0, 2 * min(mean.p_above(0.0), mean.p_below(0.0)))
    return row, mean


def _mean(
    differences: NDArray[np.float64], clusters: NDArray[np.int64], draws: NDArray[np.int64] | None
) -> Interval | None:
    """The mean difference with its interval; None if there is one block or one draw alone."""
    if clusters.min() == clusters.max():
        return None
    mean = clustered_interval(differences, clusters)
    if draws is None:
        return mean
    names = np.unique(draws)
    if len(names) < 2:
        return None
    between = interval([float(differences[draws == name].mean()) for name in names])
    error, freedom = math.hypot(mean.error, between.error), min(mean.freedom, between.freedom)
    return replace(mean, error=error, freedom=freedom).at(0.95)


def judge(rows: Sequence[dict[str, Any]]) -> None:
    """Adjust the p-values of rows for their number, and put in the verdicts: rows without p-value stay undecided."""
    for row, adjusted in zip(rows, holm([row["p_value"] or 0.0 for row in rows]), strict=True):
        if row["p_value"] is None:
            continue
        row["p_value"] = adjusted
        if row["verdict"] != "equal" and adjusted < _LEVEL:
            row["verdict"] = "gains" if row["difference"] < 0 else "loses"
