"""Sentences that answer a comparison over seeds: the best configuration, and the decided differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from experiments.recordings.answer_sentences import fill, quantity_text
from experiments.sweeps.aggregates import SHOWN, configuration_keys
from experiments.terminal import escape
from simulator.results.catalogue import metric
from workloads.ground.columns import Better, Metric
from workloads.ground.wording import join_words

__all__ = ["best_configuration_sentence", "decided_differences_sentence"]

Row = Mapping[str, Any]
#: Most configurations that a sentence names.
_NAMED = 6


def best_configuration_sentence(rows: Sequence[Row], names: Sequence[str] = ()) -> str:
    """Say which configuration is the best by the first shown metric, and which the worst.

    Parameters
    ----------
    rows
        Rows of :func:`~experiments.sweeps.aggregates.aggregate_rows`.
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
    return fill(f"Best by {shown.title}: {values[0]}; worst: {values[1]}.")


def decided_differences_sentence(rows: Sequence[Row], names: Sequence[str] = ()) -> str:
    """Say which configurations are better, and which worse, than the reference by the first shown metric.

    Parameters
    ----------
    rows
        Rows of :func:`~experiments.sweeps.aggregates.difference_rows`.
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
    return fill(f"Compared with {escape(str(own[0]['against']))}, the {shown.title} is {'; '.join(parts)}.")


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
