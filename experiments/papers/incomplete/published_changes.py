"""Relative changes printed in [S] section VI-A, their values under each reading, and the nearest reading."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.experiments.papers.incomplete.week_operation import WeekMeasure, WeekOperation, measures
from holdfast.experiments.statistics import Interval, geometric_ratio
from holdfast.experiments.study.experiment import Row
from holdfast.experiments.study.measurement_table import in_order, rows_where

__all__ = [
    "CHOICE",
    "JUDGEMENT",
    "LITTLE",
    "MAKESPAN_CHANGE",
    "MORE",
    "STRETCH_CHANGE",
    "UTILIZATION_CHANGE",
    "Changes",
    "change",
    "list_operations",
    "measure_changes",
    "nearest",
    "rows_under",
]

#: Numbers of known runs in the two printed cases.
LITTLE, MORE = 10, 110
#: Printed changes from the base.
STRETCH_CHANGE, MAKESPAN_CHANGE, UTILIZATION_CHANGE = -0.25, -0.33, 0.5
#: Names of the weeks for choosing the reading, and of those for judging it.
CHOICE, JUDGEMENT = "choice", "judgement"


@dataclass(frozen=True)
class Changes:
    """Changes from the base strategy to the continuous one under one reading.

    Attributes
    ----------
    stretch
        Change of the stretch with 10 runs.
    makespan, utilization
        Changes with 110 runs.
    little
        Change of the utilisation from 110 runs to 10.
    """

    stretch: Interval
    makespan: Interval
    utilization: Interval
    little: Interval

    @property
    def distance(self) -> float:
        """Distance of the means from the printed changes, as a sum of logarithms; the stretch counts only if above."""
        apart = [
            math.log((1.0 + found.mean) / (1.0 + printed))
            for found, printed in (
                (self.stretch, STRETCH_CHANGE),
                (self.makespan, MAKESPAN_CHANGE),
                (self.utilization, UTILIZATION_CHANGE),
            )
        ]
        return max(0.0, apart[0]) + abs(apart[1]) + abs(apart[2])


def change(rows: Sequence[Row], column: str, strategy: str, base: str) -> Interval:
    """Relative change of a column from a base to a strategy, as the geometric mean over the weeks."""
    own, other = (in_order(rows, column, strategy=name) for name in (strategy, base))
    return geometric_ratio(own, other)


def rows_under(rows: Sequence[Row], stage: str, operation: WeekOperation) -> list[Row]:
    """The rows of a stage under one operation."""
    return rows_where(
        rows, stage=stage, release=operation.release, requeue=operation.requeue, runs=operation.runs,
        load=operation.load,
    )  # fmt: skip


def measure_changes(rows: Sequence[Row], measure: WeekMeasure) -> Changes:
    """Changes in the rows of one operation."""
    little, more = f"continuous {LITTLE}", f"continuous {MORE}"
    used = "utilization" if measure.utilization == "done" else "occupied_utilization"
    time = "response_h" if measure.makespan == "response" else "all_done_h"
    base = measure.base_name(MORE)
    return Changes(
        change(rows, "stretch", little, measure.base_name(LITTLE)),
        change(rows, time, more, base),
        change(rows, used, more, base),
        change(rows, used, little, more),
    )


def list_operations(rows: Sequence[Row]) -> list[WeekOperation]:
    """Operations in some rows, in order of first appearance."""
    keys = dict.fromkeys((row["release"], row["requeue"], row["runs"], row["load"]) for row in rows)
    return [WeekOperation(release, requeue, int(runs), float(load)) for release, requeue, runs, load in keys]


def nearest(rows: Sequence[Row]) -> list[tuple[WeekOperation, WeekMeasure, Changes]]:
    """All readings, ordered by their distance from the printed changes on the weeks for choosing, the nearest first."""
    found = []
    for operation in list_operations(rows):
        own = rows_under(rows, CHOICE, operation)
        found += [(operation, measure, measure_changes(own, measure)) for measure in measures()]
    return sorted(found, key=lambda item: item[2].distance)
