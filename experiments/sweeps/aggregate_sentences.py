"""Sentences that answer a comparison over seeds: the best configuration, the decided differences, and starvation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from holdfast.experiments.recordings.answer_sentences import quantity_text
from holdfast.experiments.sweeps.aggregates import SHOWN, configuration_keys
from holdfast.experiments.terminal import escape, fill
from holdfast.simulator.results.catalogue import metric
from holdfast.workloads.ground.columns import Better, Metric
from holdfast.workloads.ground.wording import join_words

__all__ = ["best_configuration_sentence", "decided_differences_sentence", "starvation_sentence"]

Row = Mapping[str, Any]
#: Most configurations that a sentence names.
_NAMED = 6


def best_configuration_sentence(rows: Sequence[Row], names: Sequence[str] = ()) -> str:
    """Say which configuration is the best by the first shown metric, and which the worst.

    Parameters
    ----------
    rows
        Rows of :func:`~holdfast.experiments.sweeps.aggregates.aggregate_rows`.
    names
        Metrics to show; by default the most important ones.

    Returns
    -------
    str
        Empty if there is one configuration, no difference, or the metric has no better direction.
    """
    found = _first_metric(rows, names)
    if found is None:
        return ""
    shown, own = found
    known = [row for row in own if row["mean"] is not None]
    if len({row["mean"] for row in known}) < 2:
        return ""
    ends = [pick(known, key=lambda row: row["mean"]) for pick in (min, max)]
    best, worst = reversed(ends) if shown.better is Better.MORE else ends
    values = [f"{quantity_text(shown, row['mean'])} with {_configuration(row)}" for row in (best, worst)]
    return fill(f"Best by {shown.subject}: {values[0]}; worst: {values[1]}.")


def decided_differences_sentence(rows: Sequence[Row], names: Sequence[str] = ()) -> str:
    """Say which configurations are better, and which worse, than the reference by the first shown metric.

    Parameters
    ----------
    rows
        Rows of :func:`~holdfast.experiments.sweeps.aggregates.difference_rows`.
    names
        Metrics to show; by default the most important ones.

    Returns
    -------
    str
        Empty if no difference has an interval.
    """
    found = _first_metric(rows, names)
    if found is None:
        return ""
    shown, own = found
    parts = []
    for verdict in ("better", "worse", "undecided", "equal"):
        configurations = [_configuration(row) for row in own if row["verdict"] == verdict]
        if configurations:
            listed = (
                join_words(configurations) if len(configurations) <= _NAMED else f"{len(configurations)} configurations"
            )
            parts.append(f"{verdict} with {listed}")
    if not parts:
        return ""
    return fill(f"Compared with {escape(str(own[0]['against']))}, the {shown.subject} is {'; '.join(parts)}.")


def starvation_sentence(rows: Sequence[Row]) -> str:
    """Say under which configurations jobs starve, whatever metrics are shown; empty if there are none.

    >>> row = {"n": 3, "metric": "starved", "mean": 1.5, "low": 0.0, "high": 3.1}
    >>> starvation_sentence([{"order": "fcfs", **row, "mean": 0.0}, {"order": "sjf", **row}])
    'starved, mean over the runs: 1.5 jobs with sjf started more than a week after the first start of a later job'
    """
    own = [row for row in rows if row["metric"] == "starved" and (row["mean"] or 0) > 0]
    if not own:
        return ""
    most = sorted(own, key=lambda row: -row["mean"])[:_NAMED]
    found = [f"{row['mean']:,.3g} jobs with {_configuration(row)}" for row in most]
    if len(own) > _NAMED:
        found.append(f"fewer with {len(own) - _NAMED:,} others")
    about = "started more than a week after the first start of a later job"
    return fill(f"starved, mean over the runs: {join_words(found)} {about}")


def _first_metric(rows: Sequence[Row], names: Sequence[str]) -> tuple[Metric, list[Row]] | None:
    """The first shown metric that the rows have and that has a better direction, with its rows."""
    for name in names or SHOWN:
        own = [row for row in rows if row["metric"] == name]
        if own and metric(name).better is not Better.NEITHER:
            return metric(name), own
    return None


def _configuration(row: Row) -> str:
    """Values that tell a configuration from the others."""
    return escape(" / ".join(str(row[key]) for key in configuration_keys(row)))
