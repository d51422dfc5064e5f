"""Hypotheses of experiments that no paper has: stated before anything is measured, judged trace by trace."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.experiment import Row
from experiments.papers.hybrid_evidence import Evidence, Finding, missing, outcome_of
from experiments.verdicts import Verdict

__all__ = ["Hypothesis", "Repeated", "percent", "verdicts"]

Floats = NDArray[np.float64]


def percent(metric: str) -> bool:
    """Whether a metric is a ratio that is shown in per cent.

    >>> percent("utilization"), percent("turnaround_rigid_h")
    (True, False)
    """
    return metric == "utilization" or "ratio" in metric or metric.endswith("_share")


class Repeated:
    """Rows of simulations, looked up by what was simulated, trace by trace.

    Parameters
    ----------
    rows
        With ``trace``, what was varied, and metrics.
    """

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows = list(rows)
        self.traces = sorted({row["trace"] for row in self._rows})

    def values(self, name: str) -> list[Any]:
        """The values of a column that is varied, sorted."""
        return sorted({row[name] for row in self._rows})

    def __call__(self, metric: str, **where: Any) -> Floats:
        """A metric in each trace, the mean over all rows that fit; ratios in per cent.

        Parameters
        ----------
        metric
            A column.
        **where
            Columns with the value, or the values, that they must have.

        Returns
        -------
        ndarray
            In the order of :attr:`traces`; NaN where the metric is not defined.

        Raises
        ------
        LookupError
            If there are no such rows of some trace.
        """
        legal = {name: value if isinstance(value, tuple) else (value,) for name, value in where.items()}
        found: dict[Any, list[float]] = {trace: [] for trace in self.traces}
        for row in self._rows:
            if all(row[name] in values for name, values in legal.items()):
                found[row["trace"]].append(float("nan") if row[metric] is None else float(row[metric]))
        if not found or not all(found.values()):
            raise LookupError(", ".join(f"{name} {value}" for name, value in where.items()) or "any trace")
        scale = 100.0 if percent(metric) else 1.0
        return scale * np.array([np.mean(values) for values in found.values()])


class Hypothesis(NamedTuple):
    """A statement that the measurements may contradict.

    Attributes
    ----------
    text
        What is expected.
    unit
        Of the effect.
    test
        From the measurements to the evidence; a LookupError means that they are not enough.
    """

    text: str
    unit: str
    test: Callable[[Repeated], Finding]


def verdicts(hypotheses: Iterable[Hypothesis], data: Repeated) -> list[Verdict]:
    """What the measurements say of each hypothesis; one whose sign they cannot tell does not hold."""
    return [_verdict(item, data) for item in hypotheses]


def _verdict(item: Hypothesis, data: Repeated) -> Verdict:
    try:
        found = item.test(data)
    except LookupError as error:
        found = missing(f"no simulations of {error}")
    measured = "-"
    if found.effect is not None:
        level = "is at least" in found.criterion
        pattern = ".0f" if item.unit == "node-hours" else ".2f"
        measured = f"{found.effect.text(pattern if level else '+' + pattern)} {item.unit}"
        measured += f", 95 % interval over {len(data.traces)} traces"
    state = {
        Evidence.UNDECIDED: "not decided",
        Evidence.CONTRADICTED: "the opposite is measured",
        Evidence.MISSING: "not measured",
        Evidence.SUPPORTED: "",
    }[found.evidence]
    criterion = f"holds if {found.criterion}" if found.criterion != "-" else ""
    remark = "; ".join(part for part in (state, criterion, found.detail) if part)
    return Verdict(item.text, "-", measured, outcome_of(found.evidence), remark)
