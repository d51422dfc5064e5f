"""Aggregation of runs over seeds for each configuration, and differences between configurations.

The rows are those of ``summary.csv``, from a sweep or from a run with several values of an option. The varied
parameters identify a configuration; those in :data:`REPETITIONS` distinguish its repetitions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from holdfast.experiments.recordings.summaries import is_metric
from holdfast.experiments.recordings.variants import in_label_order, make_label
from holdfast.experiments.statistics import Interval, interval, paired_interval
from holdfast.experiments.tables import render_parts
from holdfast.simulator.results.catalogue import metric
from holdfast.workloads.ground.columns import Better, Metric, Quantity
from holdfast.workloads.ground.errors import InputError, ParameterError, UnknownNameError
from holdfast.workloads.ground.numbers import decimal

__all__ = [
    "REPETITIONS",
    "SHOWN",
    "aggregate_rows",
    "aggregate_table",
    "configuration_keys",
    "difference_rows",
    "difference_table",
    "filter_rows",
    "parse_reference",
    "select_metrics",
    "varying_parameters",
]

#: Parameters that distinguish repetitions of a configuration.
REPETITIONS = ("generator_seed", "assignment_seed", "seed")
#: Columns that identify a run and are not parameters.
_NAMES = ("run", "label", "varied")
#: Default metrics of a terminal table, where present.
SHOWN = (
    *("wait_h", "wait_p99_h", "wait_max_h", "bounded_slowdown", "instant_start_ratio"),
    "utilization_to_last_submit",
)
#: Headings of metrics with long titles: a group, and a heading below it.
_HEADS = {"utilization_to_last_submit": ("utilisation until", "last submit")}
#: Largest number of printed rows.
_PRINTED = 40

Row = Mapping[str, Any]
#: A configuration: the values of its keys.
Values = tuple[Any, ...]


def varying_parameters(rows: Sequence[Row], repetitions: Sequence[str] = REPETITIONS) -> list[str]:
    """Varied parameters other than repetitions, in the order of a label.

    A parameter that depends on others, such as the machine size of a trace, is excluded.
    """
    found: list[str] = []
    names = [name for name in (rows[0] if rows else ()) if name not in (*_NAMES, *repetitions) and not is_metric(name)]
    if rows and rows[0].get("generator_seed") is not None:
        names = [name for name in names if name != "workload"]  # its name is its seed
    # The instant tolerance follows the warning, and a trace determines its machine.
    for name in sorted(names, key=lambda name: name == "instant_tolerance"):
        if len({row[name] for row in rows}) > 1:
            by_others: dict[Values, set[Any]] = {}
            for row in rows:
                by_others.setdefault(_values(row, found), set()).add(row[name])
            if not found or any(len(values) > 1 for values in by_others.values()):
                found.append(name)
    return in_label_order(dict.fromkeys(found))


def _values(row: Row, names: Iterable[str]) -> Values:
    return tuple(row[name] for name in names)


def _cells(rows: Sequence[Row], keys: Sequence[str], repetitions: Sequence[str]) -> dict[Values, dict[Values, Row]]:
    """The rows of each configuration by repetition."""
    found: dict[Values, dict[Values, Row]] = {}
    for row in rows:
        found.setdefault(_values(row, keys), {})[_values(row, [name for name in repetitions if name in row])] = row
    return found


def select_metrics(rows: Sequence[Row], names: Sequence[str] = ()) -> list[Metric]:
    """Selected metrics; by default all that occur in any run.

    Raises
    ------
    InputError
        If no metric has a requested name.
    """
    there = [name for name in (rows[0] if rows else ()) if is_metric(name)]
    for name in names:
        if name not in there:
            raise UnknownNameError("metric", name, there)
    return [metric(name) for name in names or there if any(_number(row[name]) is not None for row in rows)]


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def _spread(shown: Metric, values: Sequence[float]) -> dict[str, float | None]:
    if len(values) < 2:
        return {"mean": values[0], "low": None, "high": None}
    mean = interval(values, bounds=(0.0, shown.most / shown.scale))
    return {"mean": mean.mean, "low": mean.low, "high": mean.high}


def aggregate_rows(rows: Sequence[Row], repetitions: Sequence[str] = REPETITIONS) -> list[dict[str, Any]]:
    """A row for each configuration and metric.

    Returns
    -------
    list of dict
        The keys of the configuration, ``metric``, ``n`` (its runs that have this metric), and ``mean``, ``low`` and
        ``high``: mean and 95 % interval in the unit of the summary; without an interval where n is 1.
    """
    keys = varying_parameters(rows, repetitions)
    metrics = select_metrics(rows)
    found = []
    for values, cell in _cells(rows, keys, repetitions).items():
        for shown in metrics:
            numbers = [number for row in cell.values() if (number := _number(row[shown.name])) is not None]
            if numbers:
                label = {"metric": shown.name, "n": len(numbers), **_spread(shown, numbers)}
                found.append({**dict(zip(keys, values, strict=True)), **label})
    return found


def parse_reference(rows: Sequence[Row], text: str, repetitions: Sequence[str] = REPETITIONS) -> dict[str, Any]:
    """The values that ``--against`` names, of parameters that vary.

    Parameters
    ----------
    rows, repetitions
        Rows of a summary; parameters that are repetitions.
    text
        ``order=fcfs``, or several separated by commas; a value that only one parameter has may stand alone.

    Raises
    ------
    InputError
        If a parameter does not vary, or has no such value.
    """
    keys = varying_parameters(rows, repetitions)
    found: dict[str, Any] = {}
    for word in text.split(","):
        name, equals, value = (part.strip() for part in word.partition("="))
        if not equals:
            value = name
            having = [key for key in keys if _among(rows, key, value)]
            if len(having) != 1:
                raise ParameterError("--against", f"KEY=VALUE with a key that varies ({_list_keys(keys)})", text)
            name = having[0]
        name = name.replace("-", "_")
        if name not in keys:
            raise UnknownNameError("key that varies", name, keys)
        values = _among(rows, name, value)
        if not values:
            known = ", ".join(dict.fromkeys(str(row[name]) for row in rows))
            raise ParameterError(f"--against {name}", f"one of its values, {known}", value)
        found[name] = values[0]
    return found


def _list_keys(keys: Sequence[str]) -> str:
    return ", ".join(keys) or "none does"


def _among(rows: Sequence[Row], key: str, text: str) -> list[Any]:
    """The matching value of a key as a list of one; numbers are compared by value."""

    def same(value: Any) -> bool:
        try:
            return str(value) == text or decimal(str(value)) == decimal(text)
        except (TypeError, ValueError):
            return False

    return [row[key] for row in rows if same(row[key])][:1]


def filter_rows(rows: Sequence[Row], where: Sequence[str]) -> list[Row]:
    """The rows in which each named parameter has one of its values, ``order=fcfs,sjf``.

    Raises
    ------
    InputError
        If there is no such parameter or value.
    """
    chosen = list(rows)
    for word in where:
        name, _, values = (part.strip() for part in word.partition("="))
        name = name.replace("-", "_")
        if not rows or name not in rows[0] or is_metric(name):
            raise UnknownNameError("key", name, [key for key in (rows[0] if rows else ()) if not is_metric(key)])
        wanted = []
        for text in values.split(","):
            found = _among(rows, name, text.strip())
            if not found:
                known = ", ".join(dict.fromkeys(str(row[name]) for row in rows))
                raise ParameterError(f"--where {name}", f"values of it, {known}", text)
            wanted += found
        chosen = [row for row in chosen if row[name] in wanted]
    if not chosen:
        raise InputError(f"no run is left with {', '.join(where)}")
    return chosen


def difference_rows(
    rows: Sequence[Row], against: Mapping[str, Any], repetitions: Sequence[str] = REPETITIONS
) -> list[dict[str, Any]]:
    """A row for each metric of each configuration that differs from the reference only in these keys.

    Parameters
    ----------
    rows, repetitions
        Rows of a summary; parameters that are repetitions.
    against
        Keys and their values in the reference.

    Returns
    -------
    list of dict
        The keys, ``against`` (label of the reference), ``metric``, ``n`` (pairs), ``difference``, ``low`` and ``high``:
        mean and 95 % interval of the configuration less the reference over the repetitions of both; and ``verdict``:
        ``better``, ``worse`` or ``undecided``, empty where a pair has no interval or the metric no better direction.
    """
    keys = varying_parameters(rows, repetitions)
    cells = _cells(rows, keys, repetitions)
    metrics = select_metrics(rows)
    found = []
    for values, cell in cells.items():
        own = dict(zip(keys, values, strict=True))
        of_reference = _values({**own, **against}, keys)
        reference = cells.get(of_reference)
        # Runs may have failed, so that a key of the reference has a single value left.
        if of_reference == values or reference is None:
            continue
        both = [repetition for repetition in cell if repetition in reference]
        for shown in metrics:
            pairs = [(_number(cell[one][shown.name]), _number(reference[one][shown.name])) for one in both]
            known = [(a, b) for a, b in pairs if a is not None and b is not None]
            if known:
                label = {"against": make_label(against), "metric": shown.name, "n": len(known)}
                found.append({**own, **label, **_difference(shown, known)})
    return found


def _difference(shown: Metric, pairs: Sequence[tuple[float, float]]) -> dict[str, Any]:
    if len(pairs) < 2:
        return {"difference": pairs[0][0] - pairs[0][1], "low": None, "high": None, "verdict": None}
    mean = paired_interval([a for a, _ in pairs], [b for _, b in pairs])
    verdict: str | None = "undecided"
    if shown.better is Better.NEITHER:
        verdict = None
    elif mean.positive or mean.negative:
        verdict = "better" if mean.positive == (shown.better is Better.MORE) else "worse"
    elif mean.decided:
        verdict = "equal"
    return {"difference": mean.mean, "low": mean.low, "high": mean.high, "verdict": verdict}


_FIXED = ("against", "metric", "n", "mean", "difference", "low", "high", "verdict")


def aggregate_table(rows: Sequence[Row], names: Sequence[str] = (), unit: str = "nodes") -> str:
    """The aggregates as text: a line for each configuration, a column for each metric; wide tables are in parts.

    Parameters
    ----------
    rows
        Rows of :func:`aggregate_rows`.
    names
        Metrics; by default the most important ones.
    unit
        What sizes count: ``nodes`` or ``processors``.
    """
    return _table(rows, names, "mean", "", unit)


def difference_table(rows: Sequence[Row], names: Sequence[str] = (), unit: str = "nodes") -> str:
    """The rows of :func:`difference_rows` as text. A ``*`` marks intervals that exclude 0."""
    return _table(rows, names, "difference", "+", unit)


def _table(rows: Sequence[Row], names: Sequence[str], value: str, sign: str, unit: str) -> str:
    there = dict.fromkeys(row["metric"] for row in rows)
    chosen = [metric(name) for name in names or SHOWN if name in there]
    keys = configuration_keys(rows[0]) if rows else []
    lines: dict[Values, dict[str, Any]] = {}
    for row in rows:
        line = lines.setdefault(_values(row, keys), {**{key: _text(row[key]) for key in keys}, "n": 0})
        line["n"] = max(line["n"], row["n"])
        star = "*" if row.get("verdict") in ("better", "worse") else ""
        line[row["metric"]] = _mean_text(row, value, sign) + star
    named: list[Quantity | str] = [*(Quantity(key, key.replace("_", " ")) for key in keys), "n"]
    columns = [_column(item, item.difference if sign else item.unit) for item in chosen]
    shown_lines = list(lines.values())[:_PRINTED]
    more = f"\n... and {len(lines) - _PRINTED:,} more" if len(lines) > _PRINTED else ""
    return render_parts(shown_lines, named, columns, unit) + more


def _mean_text(row: Row, value: str, sign: str) -> str:
    """A mean with its interval, if it is known, in the unit and with the digits of the metric."""
    shown = metric(row["metric"])
    pattern = f"{sign}.{2 if shown.digits is None else shown.digits}f"
    if row["low"] is None or math.isnan(row["low"]):
        return f"{row[value] * shown.scale:{pattern}}"
    return Interval(row[value], row["low"], row["high"]).text(pattern, shown.scale)


def configuration_keys(row: Row) -> list[str]:
    """The parameters that tell a configuration from the others in rows of aggregates or differences."""
    return [name for name in row if name not in _FIXED]


def _column(item: Metric, unit: str) -> Quantity:
    group, head = _HEADS.get(item.name, ("", item.title))
    return Quantity(item.name, head, unit, group=group)


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else "-" if value is None else str(value)
