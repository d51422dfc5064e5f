"""Metric levels printed in hybrid-workload-scheduling, each with the one rule by which all experiments judge it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.experiments.study.evidence import Finding, finite_mean, near
from holdfast.experiments.study.measurement_table import Measured
from holdfast.experiments.study.simulation_cache import SIX
from holdfast.experiments.study.verdicts import Source, table, text
from holdfast.policies.mechanism import BASELINE

__all__ = ["LEVELS", "Level", "level", "printed_level"]

Floats = NDArray[np.float64]

#: Margins of equality with a printed level: 5 % of a duration, 1 point of a share. Fixed before the measurement.
_MARGIN_HOURS, _MARGIN_POINTS = 0.05, 1.0
_OF_BASELINE, _HIGHEST, _MEAN = "baseline", "highest", "mean"


def level(values: Mapping[str, Floats], printed: float, unit: str) -> Finding:
    """Test whether each level equals the printed one within the margin of its unit."""
    return near(values, printed, _margin(printed, unit), unit)


def _margin(printed: float, unit: str) -> float:
    return _MARGIN_POINTS if unit == "%" else round(_MARGIN_HOURS * printed, 6)


class Level(NamedTuple):
    """A level that the paper prints.

    Attributes
    ----------
    name, title
        Name in the code, and title.
    printed, unit
        Printed value, and its unit, h or %.
    source
        Source of the printed value.
    metric, of
        Metric, and its aggregation: baseline, highest mean of any mechanism and mix, or mean over the six mechanisms.
    """

    name: str
    title: str
    printed: float
    unit: str
    source: Source
    metric: str
    of: str

    @property
    def margin(self) -> float:
        """Margin of equality: 5 % of a duration, 1 point of a share."""
        return _margin(self.printed, self.unit)

    @property
    def difference(self) -> str:
        """Unit of a difference."""
        return "points" if self.unit == "%" else self.unit

    def away(self, value: float) -> float:
        """Deviation of a value from the printed value, in margins."""
        return (value - self.printed) / self.margin

    def values(self, data: Measured) -> Floats:
        """Measured level by trace.

        Raises
        ------
        LookupError
            If simulations are missing.
        """
        return self._cell(data)[1]

    def finding(self, data: Measured) -> Finding:
        """Finding of these measurements; errors as for :meth:`values`."""
        name, values = self._cell(data)
        return self.judge(values, f"highest: {name}" if name else "")

    def judge(self, values: Floats, detail: str = "") -> Finding:
        """Finding of given values by trace."""
        return replace(level({"": values}, self.printed, self.unit), detail=detail)

    def _cell(self, data: Measured) -> tuple[str, Floats]:
        if self.of == _OF_BASELINE:
            return "", data(self.metric, BASELINE)
        if self.of == _MEAN:
            return "", data(self.metric, SIX)
        cells = {f"{name} on {mix}": data(self.metric, name, mix) for name in SIX for mix in data.values("mix")}
        top = max(cells, key=lambda cell: finite_mean(cells[cell]))
        return top, cells[top]


_TABLE, _TEXT = table("II"), text("V-A")
#: The baseline has no warning period within which a start counts as instant: its jobs start at once or wait.
LEVELS: Sequence[Level] = (
    Level("baseline_turnaround", "turnaround, baseline", 15.6, "h", _TABLE, "turnaround_h", _OF_BASELINE),
    Level("baseline_utilisation", "utilisation, baseline", 83.93, "%", _TABLE, "utilization", _OF_BASELINE),
    Level(
        "baseline_instant", "instant starts (0 s), baseline", 22.69, "%", _TABLE, "instant_start_ratio_strict",
        _OF_BASELINE,
    ),
    Level("worst_turnaround", "turnaround, worst mean", 22.0, "h", _TEXT, "turnaround_h", _HIGHEST),
    Level("best_utilisation", "utilisation, best mean", 90.0, "%", _TEXT, "utilization", _HIGHEST),
    Level("instant", "instant starts, mean", 98.0, "%", _TEXT, "instant_start_ratio", _MEAN),
)  # fmt: skip


def printed_level(name: str) -> Level:
    """The level with a given name."""
    return next(item for item in LEVELS if item.name == name)
