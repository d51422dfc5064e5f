"""Strategies compared on the same instances: by how much one is better, and what that says of a statement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from experiments.statistics import Interval, interval, paired, ratio
from experiments.study.experiment import Row
from experiments.study.rules import Above
from experiments.study.verdicts import Statement, Verdict
from workloads.ground.errors import InputError

__all__ = ["Metric", "column_of", "everywhere", "gain", "mean_of", "relative_gain"]


@dataclass(frozen=True)
class Metric:
    """A column of a table of runs.

    Attributes
    ----------
    column
        Its name; rows also have ``strategy`` and ``repetition``.
    title
        In texts.
    higher
        Whether more is better.
    scale, unit
        How it is shown: multiplied by that, in that unit.
    pattern
        Format of a shown number.
    """

    column: str
    title: str
    higher: bool
    scale: float = 1.0
    unit: str = ""
    pattern: str = ".2f"

    def shown(self, found: Interval, sign: str = "") -> str:
        """Text of an interval of this metric; with ``sign="+"`` of a difference, which of per cents is in points."""
        text = found.text(f"{sign}{self.pattern}", self.scale)
        unit = "points" if sign and self.unit == "%" else self.unit
        return f"{text} {unit}" if unit else text


def column_of(rows: Sequence[Row], name: str, strategy: str, **where: object) -> list[float]:
    """A column of one strategy's runs, ordered by repetition.

    Parameters
    ----------
    rows
        One for each strategy and instance.
    name
        Name of the column.
    strategy
        Name of the runs.
    **where
        What other columns must be.

    Raises
    ------
    InputError
        If there is no such row, or two of one repetition.
    """
    own = [
        row for row in rows if row["strategy"] == strategy and all(row[key] == value for key, value in where.items())
    ]
    own.sort(key=lambda row: int(row["repetition"]))
    told = ", ".join(f"{key} {value}" for key, value in where.items())
    if not own:
        raise InputError(f"there are no runs of {strategy} with {told}" if told else f"there are no runs of {strategy}")
    if len({row["repetition"] for row in own}) < len(own):
        raise InputError(f"{strategy} has two runs of the same repetition with {told}")
    return [float(row[name]) for row in own]


def mean_of(rows: Sequence[Row], metric: Metric, strategy: str, **where: object) -> Interval:
    """A metric of one strategy; parameters as :func:`column_of`."""
    return interval(column_of(rows, metric.column, strategy, **where))


def gain(rows: Sequence[Row], metric: Metric, first: str, second: str, **where: object) -> Interval:
    """By how much the first strategy is better than the second on the same instances, in the unit of the metric."""
    a, b = (column_of(rows, metric.column, name, **where) for name in (first, second))
    return paired(a, b) if metric.higher else paired(b, a)


def relative_gain(rows: Sequence[Row], metric: Metric, first: str, second: str, **where: object) -> Interval:
    """The same as a share: first / second - 1, or second / first - 1 where less is better."""
    a, b = (column_of(rows, metric.column, name, **where) for name in (first, second))
    return ratio(a, b) if metric.higher else ratio(b, a)


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
    told = "; ".join(f"{name} {metric.shown(found, '+')}" for name, found in gains.items())
    doubtful = [name for name, found in gains.items() if not found.decided]
    remarks = [f"not decided: {', '.join(doubtful)}"] if doubtful else []
    remarks += [remark] if remark else []
    return statement.each(Above(quantity="the paired gain"), gains, f"better by {told}", "; ".join(remarks))
