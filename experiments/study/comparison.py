"""Paired comparison of strategies on the same instances, and verdicts on the gain of one over another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from experiments.statistics import Interval, interval, paired_interval
from experiments.study.experiment import Row
from experiments.study.measurement_table import in_order
from experiments.study.rules import Above
from experiments.study.verdicts import Statement, Verdict
from workloads.ground.columns import Better, Metric

__all__ = ["everywhere", "gain", "interval_text", "mean_interval"]


def mean_interval(rows: Sequence[Row], metric: Metric, strategy: str, **where: object) -> Interval:
    """The mean of a metric over the runs of one strategy that have these values; its interval ends at what can be."""
    bounds = (0.0, metric.most / metric.scale)
    return interval(in_order(rows, metric.name, strategy=strategy, **where), bounds=bounds)


def gain(rows: Sequence[Row], metric: Metric, first: str, second: str, **where: object) -> Interval:
    """By how much the first strategy is better than the second on the same instances, in the unit of the metric."""
    a, b = (in_order(rows, metric.name, strategy=name, **where) for name in (first, second))
    return paired_interval(a, b) if metric.better is Better.MORE else paired_interval(b, a)


def interval_text(metric: Metric, found: Interval, sign: str = "") -> str:
    """An interval of a metric as it is shown; with ``sign="+"`` of a difference, which of per cents is in points."""
    text = found.text(f"{sign}.{metric.digits}f", metric.scale)
    unit = metric.difference if sign else metric.unit
    return f"{text} {unit}" if unit else text


def everywhere(statement: Statement, metric: Metric, gains: Mapping[str, Interval], remark: str = "") -> Verdict:
    """The verdict on a gain that is said of several cases: each must be positive, a negative one refutes it.

    Parameters
    ----------
    statement
        What is judged.
    metric
        Name of the gains.
    gains
        By what they are of.
    remark
        Further remarks.
    """
    gains_text = "; ".join(f"{name} {interval_text(metric, found, '+')}" for name, found in gains.items())
    doubtful = [name for name, found in gains.items() if not found.decided]
    remarks = [f"not decided: {', '.join(doubtful)}"] if doubtful else []
    remarks += [remark] if remark else []
    return statement.each(Above(quantity="the paired gain"), gains, f"better by {gains_text}", "; ".join(remarks))
