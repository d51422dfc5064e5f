"""Paired comparison of strategies on the same instances, and verdicts on the gain of one over another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from holdfast.experiments.statistics import Interval, interval, paired_interval
from holdfast.experiments.study.experiment import Row
from holdfast.experiments.study.measurement_table import in_order
from holdfast.experiments.study.rules import Above
from holdfast.experiments.study.verdicts import Statement, Verdict
from holdfast.workloads.ground.columns import Better, Metric

__all__ = ["everywhere", "gain", "interval_text", "mean_interval"]


def mean_interval(rows: Sequence[Row], metric: Metric, strategy: str, **where: object) -> Interval:
    """Mean of a metric over the selected runs of a strategy, with its interval clipped to the metric's range."""
    bounds = (0.0, metric.most / metric.scale)
    return interval(in_order(rows, metric.name, strategy=strategy, **where), bounds=bounds)


def gain(rows: Sequence[Row], metric: Metric, first: str, second: str, **where: object) -> Interval:
    """Paired gain of the first strategy over the second on the same instances, in the unit of the metric."""
    a, b = (in_order(rows, metric.name, strategy=name, **where) for name in (first, second))
    return paired_interval(a, b) if metric.better is Better.MORE else paired_interval(b, a)


def interval_text(metric: Metric, found: Interval, sign: str = "") -> str:
    """Text of an interval of a metric; ``sign="+"`` marks a difference, which is in points for percentages."""
    text = found.text(f"{sign}.{metric.digits}f", metric.scale)
    unit = metric.difference if sign else metric.unit
    return f"{text} {unit}" if unit else text


def everywhere(statement: Statement, metric: Metric, gains: Mapping[str, Interval], remark: str = "") -> Verdict:
    """Verdict on a gain claimed for several cases: all must be positive, and a negative one refutes it.

    Parameters
    ----------
    statement
        Statement to judge.
    metric
        Metric of the gains.
    gains
        Gains by case.
    remark
        Further remarks.
    """
    gains_text = "; ".join(f"{name} {interval_text(metric, found, '+')}" for name, found in gains.items())
    doubtful = [name for name, found in gains.items() if not found.decided]
    remarks = [f"not decided: {', '.join(doubtful)}"] if doubtful else []
    remarks += [remark] if remark else []
    return statement.each(Above(quantity="the paired gain"), gains, f"better by {gains_text}", "; ".join(remarks))
