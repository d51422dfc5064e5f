"""Sentences that answer what a comparison of results was made for: which run is best, and which users gain or lose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from holdfast.experiments.recordings.gain_rows import ALL
from holdfast.experiments.recordings.summaries import by_label
from holdfast.experiments.statistics import Interval
from holdfast.experiments.tables import is_known
from holdfast.experiments.terminal import escape, fill
from holdfast.simulator.results.catalogue import metric
from holdfast.workloads.ground.columns import Metric
from holdfast.workloads.ground.wording import join_words

__all__ = ["best_run_sentence", "gains_sentence", "quantity_text"]

#: Growth of the largest value or of the 99th percentile that counts as harm.
_HARM = 1.1
#: Most groups of one verdict that a sentence names.
_NAMED = 3
#: Names of the groups of jobs in a sentence, by the attribute that makes them.
_GROUPS: Mapping[str, str] = {
    "qos": "QOS",
    "size": "size classes",
    "type": "job types",
    "hour": "hours of submission",
}


def quantity_text(shown: Metric, value: float) -> str:
    """A value of a metric with its unit.

    >>> quantity_text(metric("wait_h"), 1.25), quantity_text(metric("instant_start_ratio"), 0.985)
    ('1.2 h', '98.5 %')
    """
    digits = 2 if shown.digits is None else shown.digits
    unit = "" if shown.unit in ("", "-") else f" {shown.unit}"
    return f"{value * shown.scale:,.{digits}f}{unit}"


def best_run_sentence(summaries: Sequence[Mapping[str, Any]]) -> str:
    """Say which of several runs has the shortest mean wait, with its longest wait, and which most instant starts.

    Parameters
    ----------
    summaries
        Rows as :func:`holdfast.simulator.results.metrics.summarize` returns; the first run is what others are compared
        with.

    Returns
    -------
    str
        Empty if there is nothing to compare, or no run differs.
    """
    rows = [row for row in by_label(summaries) if is_known(row.get("wait_h")) and is_known(row.get("wait_max_h"))]
    if len(rows) < 2:
        return ""
    parts = []
    if len({row["wait_h"] for row in rows}) > 1:
        best, first = min(rows, key=lambda row: row["wait_h"]), rows[0]
        least, own = _waits([best, first])
        text = f"{escape(best['mechanism'])} has the shortest mean wait, {least}"
        parts.append(text if best is first else f"{text}; {escape(first['mechanism'])} has {own}")
    known = [row for row in rows if is_known(row.get("instant_start_ratio"))]
    if len({row["instant_start_ratio"] for row in known}) > 1:
        most = max(row["instant_start_ratio"] for row in known)
        names = [escape(row["mechanism"]) for row in known if row["instant_start_ratio"] == most]
        share = quantity_text(metric("instant_start_ratio"), most)
        under = join_words(names) if len(names) <= _NAMED else f"{len(names)} of {len(known)} runs"
        parts.append(f"{'most' if parts else 'Most'} on-demand jobs start instantly under {under}, {share}")
    return fill(f"{'; '.join(parts)}.") if parts else ""


def _waits(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Mean and longest wait of each run; all means have one unit, and all longest waits."""
    texts = []
    for name in ("wait_h", "wait_max_h"):
        unit, scale = ("min", 60.0) if max(row[name] for row in rows) < 1 else ("h", 1.0)
        texts.append([f"{row[name] * scale:,.1f} {unit}" for row in rows])
    return [f"{mean} (longest {longest})" for mean, longest in zip(*texts, strict=True)]


def gains_sentence(
    first: str, second: str, rows: Sequence[Mapping[str, Any]], by: str, unit: str, scale: float, cluster: str
) -> str:
    """Say what a second result changes for the same jobs, and which groups gain or lose.

    Parameters
    ----------
    first, second
        Names of the results.
    rows
        Rows of one metric as :class:`~holdfast.experiments.recordings.paired_comparison.Gains` has them.
    by
        Attribute that groups the jobs; empty: no groups.
    unit, scale
        Unit of the metric in the sentence; scale from the unit of the rows.
    cluster
        Length of the blocks of dependent jobs.
    """
    row = next(row for row in rows if row["group"] == ALL)
    shown = metric(row["metric"])
    name, named = shown.title, f"with {escape(second)} than with {escape(first)}"
    if row["verdict"] in ("gains", "loses"):
        more = "longer" if unit in ("h", "min") else "larger"
        less = "shorter" if unit in ("h", "min") else "smaller"
        word, sign = (less, -1.0) if row["verdict"] == "gains" else (more, 1.0)
        text = f"The {name} is {word} {named}, by {_size(row, sign * scale)} {unit}".rstrip()
        harm = _harm(row, unit, scale) if row["verdict"] == "gains" else ""
        text = f"{text}, but {harm}." if harm else f"{text}."
    elif row["verdict"] == "equal":
        text = f"The {name} of each job is the same with {escape(second)} as with {escape(first)}."
    else:
        size = f"{_size(row, scale, '+')} {unit}".rstrip()
        text = (
            f"It is undecided whether the {name} differs between {escape(first)} and {escape(second)} ({size}): the "
            f"{cluster}s of this log differ too much."
        )
    return fill(" ".join(filter(None, [text, _group_sentence([one for one in rows if one is not row], by)])))


def _size(row: Mapping[str, Any], scale: float, sign: str = "") -> str:
    """Size of a difference with its interval."""
    value = row["difference"] * scale
    if row["low"] is None or row["high"] is None:
        return f"{value:{sign},.2f}"
    low, high = sorted((row["low"] * scale, row["high"] * scale))
    return Interval(value, low, high).text(f"{sign}.2f")


def _harm(row: Mapping[str, Any], unit: str, scale: float) -> str:
    """What gets worse while the mean gets better; empty: nothing."""
    single = metric(row["metric"]).title.removeprefix("mean ")
    largest = "longest" if unit in ("h", "min") else "largest"
    found = [
        f"{title} is {row[f'second_{end}'] * scale:,.1f} in place of {row[f'first_{end}'] * scale:,.1f} {unit}".rstrip()
        for end, title in (("p99", f"the 99th percentile of the {single}"), ("longest", f"the {largest} {single}"))
        if row[f"second_{end}"] > _HARM * row[f"first_{end}"]
    ]
    return join_words(found)


def _group_sentence(groups: Sequence[Mapping[str, Any]], by: str) -> str:
    """Say how many groups lose and gain, and name those with the most of it in total."""
    if not groups:
        return ""
    groups = sorted(groups, key=lambda row: -row["jobs"] * row["difference"])
    losers = [str(row["group"]) for row in groups if row["verdict"] == "loses"]
    winners = [str(row["group"]) for row in reversed(groups) if row["verdict"] == "gains"]
    rest = len(groups) - len(losers) - len(winners)
    parts = [
        f"{len(names)} {verb if len(names) != 1 else f'{verb}s'} ({_some(names)})"
        for names, verb in ((losers, "lose"), (winners, "gain"))
        if names
    ]
    if rest:
        parts.append(f"{rest} {'is' if rest == 1 else 'are'} undecided or equal")
    return f"Of {len(groups)} {_GROUPS.get(by, f'{by}s')}, {join_words(parts)}."


def _some(names: Sequence[str]) -> str:
    shown = [escape(name) for name in names[:_NAMED]]
    return ", ".join([*shown, *(["..."] if len(names) > _NAMED else [])])
