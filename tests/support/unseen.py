"""Columns of experiments that neither a verdict nor a figure shows, each with the reason.

A changed file of a result is refused whatever the column: its digest is in the manifest. These are columns that a page
tells nothing of even where the manifest is written anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from holdfast.experiments.study.simulation_cache import COLUMNS

__all__ = ["UNSEEN", "excused_columns", "is_excused"]

_KEYS = ("trace", "repetition", "run", "job", "task", "seed")
_BATCH = ("all_done_s", "reservations", "reserved_s", "expected_cost_s")
_STRETCHES = ("execution_stretch", "response_stretch", "reserved_stretch")
_PLANS = ("samples", "checkpointed", "length", "restart", "work", "checkpoint", "memory")
_FITS = ("range_min", "score_normal", "score_gamma", "score_lognormal", "score_kernel")
_LOGS = ("mean_h", "least_h", "most_h", "optimum_h", "reservations", "interarrival_h")


def _of(experiment: str, table: str, *columns: str) -> list[str]:
    return [f"{experiment} {table}.{column}" for column in columns]


#: By reason: patterns of ``experiment table.column``; the main table has no name.
UNSEEN: Mapping[str, Sequence[str]] = {
    "says of what a row is: other names in the same order are the same repetitions": (
        *(f"* *.{name}" for name in _KEYS),
        *_of("beyond-advice", "", "queue"),
        *_of("beyond-forecast", "moments", "year"),
        *_of("beyond-honesty", "", "project"),
        *_of("checkpoint-fig[34]", "reservations", "reservation", "milestone"),
        *_of("hybrid-readings", "screening-checkpoints", "checkpoint_factor"),
        *_of("profiles-fig1[346]", "plans", "reservation", "milestone"),
    ),
    "kept of each simulation, whatever is asked: the page shows the metrics of its question": (
        *(f"{paper}-* {table}.{name}" for paper in ("hybrid", "beyond") for name in COLUMNS
          for table in ("", "*checkpoints", "screening", "draws", "finalists", "confirmation")),
        *_of("hybrid-readings", "finalists", "crowded_on_demand"),
        *_of("beyond-gpu", "", "gpu_hours", "held_gpu_share", "turnaround_on_demand_h"),
        *_of("beyond-machines", "mechanisms", "utilization"),
        *_of("beyond-stochastic", "", "stochastic_jobs", "reservations_per_job", "wasted_node_hours"),
        *_of("beyond-on-demand", "", "on_demand_work_share"),
        *_of("beyond-orders", "", "jobs"),
        *_of("beyond-honesty", "", "jobs"),
    ),
    "describes what was measured, not what came out": (
        *_of("profiles-*", "data", "runs"),
        *_of("incomplete-fig*", "data", "runs"),
        *_of("incomplete-readings", "data", "runs"),
        *_of("incomplete-readings", "", "jobs", "machine"),
        *_of("incomplete-fig[67]", "logs", *_LOGS),
        *_of("beyond-theta", "data", "jobs", "nodes", "days", "load", "groups"),
        *_of("beyond-forecast", "moments", "drawn", "at_once", "at_once_right", "impossible", "waiting"),
        *_of("beyond-sensitivity", "", "load", "on_demand_share", "min_share", "setup", "notice_lead",
             "accurate_share", "node_mtbf"),
        *_of("incomplete-fig8", "", "jobs", "work_node_hours", "machine"),
        *_of("profiles-fig1[36]", "settings", "tau", "earliest_start_min"),
        *_of("beyond-warmup", "truncation", "days"),
        *_of("profiles-fig17", "settings", "heavy_start_min", "factor", "first"),
        *_of("checkpoint*-table4", "", "printed_utilization_gain", "printed_stretch_gain"),
    ),
    "decides on recorded schedules, which small sizes leave out: thirds of sizes": _of("beyond-corrected", "", "nodes"),
    "computed from the main table, which the page is made of": (
        *_of("beyond-corrected", "summary", "*"),
        *_of("beyond-forecast", "summary", "*"),
        *_of("beyond-on-demand", "bearable", "traces"),
        *_of("beyond-theta", "carried", "tau_low", "tau_high"),
        *_of("checkpoint-fig8", "summary", "*"),
        *_of("checkpoint-64-fig8", "summary", "*"),
        *_of("checkpoint-table2", "stated", "denominator", "cells", "agrees", "relative_difference"),
    ),
    "what the main table, which the page is made of, is computed from": (
        *_of("checkpoint*-table4", "runs", "utilization", *_STRETCHES, "efficiency", "bound", "full", *_BATCH,
             "plan_checkpoints", "checkpoints_lost"),
        *_of("incomplete-table1", "draws", "optimum_h", "error", "reservations", "cost_h"),
        *_of("profiles-*", "fits", *_FITS, "peaks", "distance", "mean_s", "std_s"),
        *_of("profiles-fig1[346]", "plans", *_PLANS),
        *_of("profiles-fig1[36]", "starts", "samples", "tau", "start_min"),
        *_of("beyond-advice", "", "asked_h", "advised_h", "runtime_h"),
        *_of("beyond-forecast", "", "wait_s", "told_s", "pinball_*_s"),
        *_of("beyond-honesty", "", "honest_h", "declared_h", "all_lost_minutes"),
        *_of("incomplete-fig[4567]", "", "optimum_h", "error", "reservations", "cost_h"),
        *_of("incomplete-fig[67]", "", "outlived"),
    ),
    "stands beside the number that the page shows, as its error, its parts or another measure of the same": (
        *_of("checkpoint-table1", "", "median"),
        *_of("checkpoint-table2", "", "denominator", "cells", "relative_difference"),
        *_of("checkpoint-table3", "", "shape", "scale", "checkpoint_to_mean"),
        *_of("checkpoint-intro", "reservations", "from_work", "to_work"),
        *_of("checkpoint-fig3", "", "from_work", "to_work"),
        *_of("checkpoint-fig4", "reservations", "length", "restart", "checkpoint"),
        *_of("checkpoint-fig[57]", "", "reservations", "cells"),
        *_of("checkpoint-fig[56]", "", "cost"),
        *_of("checkpoint-fig5", "", "checkpoints"),
        *_of("checkpoint*-fig8", "", "bound", "full", *_BATCH, "plan_checkpoints", "checkpoints_lost"),
        *_of("checkpoint-fig9", "", "response_stretch", "reserved_stretch", "efficiency", "bound", "full", *_BATCH),
        *_of("hybrid-latency", "", "p50_ms", "p99_ms", "max_median_run_ms"),
        *_of("hybrid-victims", "", "covered_malleable", "uncovered_malleable", "rigid_jobs", "rigid_nodes"),
        *_of("hybrid-obs", "decisions", "runs", "p50_ms", "p99_ms", "max_median_run_ms", "max_ms",
             "runs_below_10_ms"),
        *_of("hybrid-fig1", "", "end"),
        *_of("hybrid-fig[34]", "", "jobs"),
        *_of("hybrid-fig[35]", "", "node_hours"),
        *_of("hybrid-fig7", "dumps", "rigid_jobs", "checkpoints_per_job"),
        *_of("incomplete-table1", "", "standard_error"),
        *_of("incomplete-fig8", "", "execution_stretch", "reservations"),
        *_of("incomplete-fig9", "", "error"),
        *_of("profiles-fig11", "", "normal, correlated", "best fit", "best fit, correlated"),
        *_of("profiles-fig1[346]", "", "utilization", "peak_request_gb", "reservations", "runs"),
        *_of("profiles-fig15", "readings", "mean_min"),
        *_of("profiles-fig17", "reservations", "length_min", "share"),
        *_of("profiles-fig17", "shares", "memory_gb"),
        *_of("profiles-fig18", "", "reservations"),
    ),
}  # fmt: skip


def is_excused(experiment: str, column: str) -> bool:
    """Whether a column, ``table.column``, is one of those."""
    return any(fnmatchcase(f"{experiment} {column}", pattern) for group in UNSEEN.values() for pattern in group)


def excused_columns(experiment: str) -> list[str]:
    """The patterns of columns that are listed for an experiment, by its own id or its number."""
    found = []
    for pattern in (pattern for group in UNSEEN.values() for pattern in group):
        name, _, column = pattern.partition(" ")
        if fnmatchcase(experiment, name) and not name.endswith("*"):
            found.append(column)
    return found
