"""Options for aggregating runs over seeds: the reference run of comparisons, and the metrics shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from holdfast.workloads.ground.errors import UnknownNameError
from holdfast.workloads.ground.parameters import Parameter, Values

__all__ = ["AGAINST", "METRICS", "Metrics", "print_aggregates"]


def _metrics(text: str) -> tuple[str, ...]:
    from holdfast.experiments.recordings.summaries import is_metric
    from holdfast.simulator.results.catalogue import CATALOGUE, Group

    names = tuple(name.strip() for name in text.split(","))
    for name in names:
        if not is_metric(name):
            raise UnknownNameError("metric", name, list(CATALOGUE[Group.SUMMARY]))
    return names


#: Reference configuration of comparisons.
AGAINST = Parameter(
    "configuration to compare the others with, as order=fcfs or order=fcfs,backfilling=easy",
    default="none",
    metavar="KEY=VALUE",
)
#: Metrics to show; empty: the default ones.
METRICS = Parameter(
    "metrics to show, separated by commas, as wait_h,wait_p95_h",
    default="wait_h, wait_p99_h, wait_max_h, bounded_slowdown, instant_start_ratio, utilization_to_last_submit",
)
Metrics = Annotated[tuple[str, ...], Values("NAME", _metrics)]


def print_aggregates(
    aggregates: Sequence[Mapping[str, Any]],
    differences: Sequence[Mapping[str, Any]],
    metrics: Sequence[str],
    unit: str = "nodes",
) -> None:
    """Print means and differences, if there are any."""
    if not aggregates and not differences:
        return
    from holdfast.experiments.sweeps.aggregate_sentences import (
        best_configuration_sentence,
        decided_differences_sentence,
        starvation_sentence,
    )
    from holdfast.experiments.sweeps.aggregates import aggregate_table, difference_table

    if aggregates:
        if not differences:
            _print_sentence(best_configuration_sentence(aggregates, metrics))
        print(aggregate_table(aggregates, metrics, unit))
        if any(row["n"] > 1 for row in aggregates):
            print("mean over n runs [95 % interval]")
        _print_sentence(starvation_sentence(aggregates))
    if differences:
        print()
        _print_sentence(decided_differences_sentence(differences, metrics))
        print(f"{difference_table(differences, metrics, unit)}")
        intervals = ", mean over n pairs of runs [95 % interval]; * excludes 0"
        print(f"difference from {differences[0]['against']}" + (intervals if differences[0]["n"] > 1 else ""))


def _print_sentence(sentence: str) -> None:
    """Print an answer, if there is one."""
    if sentence:
        print(sentence)
