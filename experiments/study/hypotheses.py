"""Hypotheses of experiments that no paper has: stated before anything is measured, judged trace by trace."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.study.evidence import Finding, judged, missing
from experiments.study.experiment import Row
from experiments.study.verdicts import HYPOTHESIS, Statement, Verdict

__all__ = ["Hypothesis", "Repeated", "hypothesis", "percent", "verdicts"]

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
        Unit of the effect.
    test
        From the measurements to the evidence; a LookupError means that they are not enough.
    """

    text: str
    unit: str
    test: Callable[[Repeated], Finding]


def hypothesis(text: str) -> Statement:
    """A statement of ours, beside which nothing is printed."""
    return Statement(text, "", HYPOTHESIS)


def verdicts(hypotheses: Iterable[Hypothesis], data: Repeated) -> list[Verdict]:
    """What the measurements say of each hypothesis."""
    return [_verdict(item, data) for item in hypotheses]


def _verdict(item: Hypothesis, data: Repeated) -> Verdict:
    try:
        found = item.test(data)
    except LookupError as error:
        found = missing(f"no simulations of {error}")
    over = f"over {len(data.traces)} traces" if found.effect is not None else ""
    return judged(hypothesis(item.text), item.unit, found, over)
