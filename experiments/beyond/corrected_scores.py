"""Scores of corrected forecasts and of the experts that they combine, at the same moments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from holdfast.experiments.beyond.log_sections import read_test
from holdfast.experiments.beyond.scores import within
from holdfast.experiments.forecast.experts import LEVELS
from holdfast.experiments.forecast.track_record import BackTest, correct_past
from holdfast.experiments.forecast.wait_quantiles import WaitQuantiles
from holdfast.experiments.statistics import clustered_interval, median_gap
from holdfast.experiments.study.experiment import Row
from holdfast.workloads.ground.random_streams import stream

__all__ = ["CORRECTED", "METHODS", "SUBMITTED", "WAITING", "inside", "method_errors", "score_rows", "summary", "thirds"]

#: Titles of the methods, the corrected forecast first.
METHODS: Mapping[str, str] = {
    "corrected": "corrected forecast",
    "simulation": "simulation",
    "nearest": "nearest jobs",
    "bounds": "QBETS-like",
}
CORRECTED = "corrected"
#: Jobs submitted at the time of the forecast, and jobs that had waited.
SUBMITTED, WAITING = "submitted", "waiting"
#: Logs count seconds: waits within a second are equal [s].
_SECOND = 1.0
_HOUR = 3600.0


def score_rows(rows: Sequence[Row], seed: int) -> list[Row]:
    """Correct the back-tests of one section by those before them, and score all methods where that is possible.

    Parameters
    ----------
    rows
        Back-tests of the section, with ``log``, ``schedule`` and ``week``.
    seed
        Seed of the ranks of a start among equal quantiles.

    Returns
    -------
    list of Row
        One for each method and test of a job that has started.
    """
    found: list[Row] = []
    ordered = sorted(rows, key=lambda row: (row["at_s"], row["waited_s"], row["wait_s"]))
    for jobs in (SUBMITTED, WAITING):
        own = [row for row in ordered if (row["waited_s"] > 0) == (jobs == WAITING)]
        tests = [read_test(row) for row in own]
        places, corrected = correct_past(tests)
        for place, quantiles in zip(places, corrected, strict=True):
            test = tests[place]
            common = {
                **{name: own[place][name] for name in ("log", "schedule", "week")},
                **{"jobs": jobs, "nodes": test.nodes, "queue": test.queue},
            }
            found += [{**common, **row} for row in _scores(test, quantiles, seed, common["log"], jobs, place)]
    return found


def _scores(test: BackTest, corrected: WaitQuantiles, seed: int, *key: Any) -> Iterator[Row]:
    for name in METHODS:
        forecast = corrected if name == CORRECTED else WaitQuantiles(LEVELS, test.quantiles[name])
        low, high = forecast.share_before(test.wait - _SECOND), forecast.share(test.wait + _SECOND)
        # A start that equals some quantiles has a random place among their levels.
        rank = low + (high - low) * float(stream(seed, "rank", name, *key).random())
        quantiles = forecast.report_quantiles()
        reported = {
            f"reported_{percent}": int(quantiles[first] - _SECOND <= test.wait <= quantiles[-1 - first] + _SECOND)
            for percent, first in ((50, 1), (90, 0))
        }
        yield {"method": name, "rank": rank, **reported, "error_s": abs(test.wait - quantiles[LEVELS.index(0.5)])}


def inside(rows: Sequence[Row], percent: int) -> list[float]:
    """100 for each row with its start inside the interval of ``percent`` per cent, else 0."""
    return [100.0 * within(row["rank"], percent) for row in rows]


def thirds(rows: Sequence[Row], column: str) -> list[list[Row]]:
    """Three parts of about equal length, by a column; equal values stay in the order of time."""
    order = np.argsort([row[column] for row in rows], kind="stable")
    return [[rows[place] for place in part.tolist()] for part in np.array_split(order, 3)]


def method_errors(rows: Sequence[Row]) -> dict[str, list[float]]:
    """Distances of the starts from the medians [h], by method, in the same order of moments."""
    return {name: [row["error_s"] / _HOUR for row in rows if row["method"] == name] for name in METHODS}


def summary(rows: Sequence[Row]) -> list[Row]:
    """A row for each schedule, kind of jobs and method: coverage, in thirds too, and median errors with intervals."""
    found: list[Row] = []
    groups: dict[tuple[str, str, str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["log"], row["schedule"], row["jobs"], row["method"]), []).append(row)
    for (log, schedule, jobs, method), own in groups.items():
        weeks = [row["week"] for row in own]
        if len(set(weeks)) < 2:
            continue
        errors = [row["error_s"] / _HOUR for row in own]
        line: dict[str, Any] = {"log": log, "schedule": schedule, "jobs": jobs, "method": method, "tests": len(own)}
        for percent in (50, 90):
            share = clustered_interval(inside(own, percent), weeks)
            line |= {f"inside_{percent}": share.mean, f"low_{percent}": share.low, f"high_{percent}": share.high}
            line[f"reported_{percent}"] = float(np.mean([100.0 * row[f"reported_{percent}"] for row in own]))
        for column in ("nodes", "queue"):
            for number, third in enumerate(thirds(own, column), 1):
                line[f"{column}_{number}_90"] = float(np.mean(inside(third, 90)))
        gap = median_gap(errors, np.zeros(len(errors)), weeks)
        found.append({**line, "median_h": gap.mean, "median_low_h": gap.low, "median_high_h": gap.high})
    return found
