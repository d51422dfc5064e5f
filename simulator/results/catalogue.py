"""The catalogue of metrics: name, unit, scale, better direction, definition and source of each result column.

Summaries take their columns from here; tables, figures, sweeps, verdicts and the page of metrics read the units.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Any

from workloads.ground.columns import Better, Metric

__all__ = ["CATALOGUE", "Group", "columns", "metric"]


class Group(StrEnum):
    """Where a metric is measured."""

    SUMMARY = "every simulation"
    OUTAGES = "simulations with outages"
    STOCHASTIC = "simulations with stochastic jobs"
    CANCELLATIONS = "simulations with cancelled jobs"
    TYPES = "jobs of one type"
    ACCOUNTING = "node-hours of a simulation by use"
    SWEEPS = "runs of a sweep"
    LOOP = "rounds of a loop"
    STUDY = "experiments"


_MODEL = "model.md, Metrics"
_LIFE = "model.md, Life of jobs"
_OUTAGES = "model.md, Outages"
_FAN = "Hybrid workloads, IV-D"

_LESS, _MORE = Better.LESS, Better.MORE
_ALL, _STOCHASTIC_JOBS = "all jobs", "stochastic jobs"
_SHARE: Mapping[str, Any] = {"unit": "%", "scale": 100.0, "digits": 1}
_HOURS: Mapping[str, Any] = {"unit": "h", "digits": 1}
_COST: Mapping[str, Any] = {"unit": "h", "digits": 2}
_NODE_HOURS: Mapping[str, Any] = {"unit": "node-hours", "digits": 0}
_MILLISECONDS: Mapping[str, Any] = {"unit": "ms", "digits": 2}
_SECONDS: Mapping[str, Any] = {"unit": "s", "digits": 1}
_RATIO: Mapping[str, Any] = {"digits": 2}


def _entry(name: str, title: str, of: str, better: Better, definition: str, source: str, **shown: Any) -> Metric:
    return Metric(name, title=title, of=of, better=better, definition=definition, source=source, **shown)


def _turnaround(name: str, jobs: str) -> Metric:
    definition = f"Mean time from first submit (on-demand jobs: arrival) to completion, over {jobs}."
    return _entry(name, "average turnaround", jobs, _LESS, definition, _FAN, **_HOURS)


def _preempted(name: str, jobs: str) -> Metric:
    definition = f"Share of the {jobs} that were preempted at least once; a preemption counts when its warning begins."
    return _entry(name, "preempted", jobs, _LESS, definition, _FAN, **_SHARE)


def _stochastic(name: str, title: str, better: Better, definition: str, **shown: Any) -> Metric:
    return _entry(name, title, _STOCHASTIC_JOBS, better, definition, _MODEL, **shown)


_WAITS = (
    _entry(
        "wait_h",
        "mean wait",
        _ALL,
        _LESS,
        "Mean time from first submit, or from eligibility where that is later, to first start.",
        _MODEL,
        **_HOURS,
    ),
    _entry("wait_median_h", "median wait", _ALL, _LESS, "Median of the waits.", _MODEL, **_HOURS),
    _entry("wait_p95_h", "95 % wait less", _ALL, _LESS, "95th percentile of the waits.", _MODEL, **_HOURS),
    _entry("wait_max_h", "longest wait", _ALL, _LESS, "Longest wait.", _MODEL, **_HOURS),
)
_SLOWDOWN = _entry(
    "bounded_slowdown", "bounded slowdown", _ALL, _LESS,
    "Mean of max(1, turnaround / max(undisturbed runtime, 10 s)).", _MODEL, **_RATIO,
)  # fmt: skip
_SHRUNK = _entry(
    "shrink_ratio", "shrunk", "malleable jobs", _LESS, "Share of the malleable jobs that were shrunk at least once.",
    _FAN, **_SHARE,
)  # fmt: skip
_JOBS = _entry("jobs", "jobs", _ALL, Better.NEITHER, "Jobs that are measured: no no-shows, none that was cancelled.",
               _MODEL)  # fmt: skip

_ENTRIES: Mapping[Group, Iterable[Metric]] = {
    Group.SUMMARY: (
        _JOBS,
        _turnaround("turnaround_h", _ALL),
        *(_turnaround(f"turnaround_{name}_h", f"{name.replace('_', '-')} jobs") for name in
          ("rigid", "malleable", "on_demand")),
        _WAITS[0],
        _SLOWDOWN,
        _entry("instant_start_ratio", "started instantly", "on-demand jobs", _MORE,
               "Share of the on-demand jobs that start within the tolerance (default: the warning) of their arrival.",
               _FAN, **_SHARE),
        _entry("instant_start_ratio_strict", "started at once, 0 s", "on-demand jobs", _MORE,
               "Share of the on-demand jobs that start at their arrival.", _FAN, **_SHARE),
        _preempted("preemption_ratio_rigid", "rigid jobs"),
        _preempted("preemption_ratio_malleable", "malleable jobs"),
        _SHRUNK,
        *_WAITS[1:],
        _entry("makespan_h", "makespan", _ALL, _LESS, "Time from the first submit to the last completion.", _MODEL,
               **_HOURS),
        _entry("utilization", "utilisation", "machine", _MORE,
               "Node-seconds occupied less those lost, over N times the time from the first submit to the last "
               "completion.", _FAN, **_SHARE),
        _entry("utilization_to_last_submit", "utilisation until the last submit", "machine", _MORE,
               "The same from the first to the last submit: what happens after it, until the last job has ended, does "
               "not count. A loss counts at its preemption.", _MODEL, **_SHARE),
        _entry("lost_node_hours", "lost", "machine", _LESS,
               "Node-hours of setups that were preempted, of unsaved compute, of partial checkpoints and of warnings.",
               _MODEL, **_NODE_HOURS),
        _entry("decision_ms_p99", "decision, 99th percentile", "scheduler", _LESS,
               "99th percentile of the wall-clock time of a decision with its scheduling pass.", _FAN, **_MILLISECONDS),
        _entry("decision_ms_max", "longest decision", "scheduler", _LESS,
               "Longest wall-clock time of a decision with its scheduling pass.", _FAN, **_MILLISECONDS),
        _entry("engine_seconds", "engine", "simulator", _LESS, "Wall-clock time of the simulation.", _MODEL,
               **_SECONDS),
    ),
    Group.OUTAGES: (
        _entry("down_node_hours", "down", "machine", _LESS, "Node-hours during which nodes were down.", _OUTAGES,
               **_NODE_HOURS),
        _entry("utilization_available", "utilisation of the nodes that were up", "machine", _MORE,
               "The utilisation over the node-time that was not down.", _OUTAGES, **_SHARE),
    ),
    Group.STOCHASTIC: (
        _turnaround("turnaround_stochastic_h", _STOCHASTIC_JOBS),
        _preempted("preemption_ratio_stochastic", _STOCHASTIC_JOBS),
        _stochastic("stretch", "average stretch", _LESS, "Mean of turnaround over true runtime.", **_RATIO),
        _stochastic("execution_stretch", "execution stretch", _LESS,
                    "Mean of the time used in reservations over true runtime.", **_RATIO),
        _stochastic("reservations_per_job", "reservations a job", _LESS, "Mean number of reservations.", **_RATIO),
        _stochastic("reserved_node_hours", "reserved", _LESS, "Node-hours asked for.", **_NODE_HOURS),
        _stochastic("used_node_hours", "used", _LESS, "Node-hours used in reservations.", **_NODE_HOURS),
        _stochastic("wasted_node_hours", "wasted", _LESS,
                    "Node-hours used in reservations that neither completed the job nor saved work.", **_NODE_HOURS),
        _stochastic("expected_cost_h", "expected cost", _LESS,
                    "Mean cost of the plan under the distribution that it was made for.", **_COST),
        _stochastic("planned_cost_h", "planned cost", _LESS, "Mean cost of the plan for the true runtime.", **_COST),
        _stochastic("paid_cost_h", "paid cost", _LESS,
                    "Mean cost of the reservations; a preempted one costs as if only the time used was asked for.",
                    **_COST),
        _stochastic("requested_memory_gb", "requested memory", _LESS,
                    "Mean memory asked for, weighted by the length of the reservations.", unit="GB", digits=1),
        _stochastic("memory_kills", "killed for memory", _LESS, "Reservations that ended for want of memory.",
                    digits=0),
        _entry("work_utilization", "utilisation by work", "machine", _MORE,
               "True runtimes times nodes of all jobs, over N times the time from the first submit to the last "
               "completion.", _MODEL, **_SHARE),
        _entry("planning_seconds", "planning", "simulator", _LESS, "Wall-clock time of making plans.", _MODEL,
               **_SECONDS),
    ),
    Group.CANCELLATIONS: (
        _entry("cancelled_jobs", "cancelled", _ALL, Better.NEITHER, "Jobs that were cancelled.", _LIFE),
        _entry("cancelled_started", "cancelled after their start", _ALL, Better.NEITHER,
               "Cancelled jobs that had started.", _LIFE),
        _entry("cancelled_node_hours", "cancelled", _ALL, Better.NEITHER,
               "Node-hours of the runs that a cancellation ended.", _LIFE, **_NODE_HOURS),
    ),
    Group.TYPES: (
        _JOBS, _turnaround("turnaround_h", _ALL), *_WAITS, _SLOWDOWN,
        _preempted("preemption_ratio", "jobs"), _SHRUNK,
    ),
    Group.ACCOUNTING: tuple(
        _entry(f"{name}_node_hours", name, "machine", better, definition, _MODEL, **_NODE_HOURS)
        for name, better, definition in (
            ("compute", _MORE, "Node-hours of work that lasted."),
            ("setup", _LESS, "Node-hours of setups of runs that were not preempted in them."),
            ("checkpoint", _LESS, "Node-hours of checkpoints that were completed."),
            ("lost", _LESS, "Node-hours of preempted setups, unsaved compute, partial checkpoints, wasted time."),
            ("warning", _LESS, "Node-hours between warning and preemption."),
            ("held", _LESS, "Node-hours of nodes that were reserved, or gathered for an on-demand job."),
            ("idle", _LESS, "Node-hours of free nodes."),
            ("down", _LESS, "Node-hours of nodes that were down."),
        )
    ),
    Group.SWEEPS: (
        _entry("delayed_on_demand", "delayed", "on-demand jobs", _LESS,
               "On-demand jobs that did not start instantly.", "Hybrid workloads, V-A, observation 9"),
        _entry("crowded_on_demand", "crowded out", "on-demand jobs", _LESS,
               "Delayed on-demand jobs that exceed the machine together with the on-demand jobs that run or gather "
               "nodes at their arrival.",
               "Hybrid workloads, V-A, observation 9"),
        _entry("node_hours", "undisturbed work", _ALL, Better.NEITHER,
               "Nodes times undisturbed runtime of the jobs of one type submitted in one week.", _MODEL, **_NODE_HOURS),
        _entry("decision_ms_p50", "median decision", "scheduler", _LESS,
               "Median of the wall-clock time of a decision with its scheduling pass.", _FAN, **_MILLISECONDS),
        _entry("prepare_seconds", "preparation", "simulator", _LESS, "Wall-clock time of making the job table.",
               "sweeps.md", **_SECONDS),
        _entry("run_seconds", "run", "simulator", _LESS, "Wall-clock time of the run with its preparation.",
               "sweeps.md", **_SECONDS),
        _entry("worker_peak_mib", "memory of the worker", "simulator", _LESS,
               "Most memory that the worker process has had so far.", "sweeps.md", unit="MiB", digits=0),
    ),
    Group.LOOP: (
        _entry("regret", "regret", "plans", _LESS,
               "By how much the plans cost more than plans made for the fitted waits, as a share.", "planner.md",
               **_SHARE),
        _entry("alpha", "price of a reserved second", "plans", Better.NEITHER,
               "The alpha that the plans of the round are made for.", "planner.md", digits=3),
        _entry("beta", "price of a used second", "plans", Better.NEITHER,
               "The beta that the plans of the round are made for.", "planner.md", digits=3),
        _entry("gamma_h", "price of a reservation", "plans", Better.NEITHER,
               "The gamma that the plans of the round are made for.", "planner.md", **_COST),
        _entry("fitted_alpha", "fitted price of a reserved second", "waits", Better.NEITHER,
               "The alpha fitted to the waits of the round.", "planner.md", digits=3),
        _entry("fitted_gamma_h", "fitted price of a reservation", "waits", Better.NEITHER,
               "The gamma fitted to the waits of the round.", "planner.md", **_COST),
    ),
}  # fmt: skip

#: Each group's metrics by name, in the order of the columns.
CATALOGUE: Mapping[Group, Mapping[str, Metric]] = {
    group: {item.name: replace(item, where=group) for item in entries} for group, entries in _ENTRIES.items()
}
_BY_NAME = {name: found for group in reversed([*CATALOGUE.values()]) for name, found in group.items()}


def metric(name: str) -> Metric:
    """The metric of a column; of one that several groups have, that of the first.

    Raises
    ------
    KeyError
        If there is none of that name.
    """
    return _BY_NAME[name]


def columns(group: Group) -> tuple[str, ...]:
    """The columns of a group, in their order."""
    return tuple(CATALOGUE[group])
