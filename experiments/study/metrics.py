"""Metrics that experiments compute themselves, in addition to those of :mod:`holdfast.simulator.results.catalogue`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from holdfast.simulator.results.catalogue import metric
from holdfast.workloads.ground.columns import Better, Metric
from holdfast.workloads.ground.errors import InputError

__all__ = ["BATCH", "BEYOND", "HYBRID", "PROFILES", "WEEK", "find_metric"]

_R, _S, _P = "[R], section 5", "[S], section VI-A", "[P], section 4.2"
_BEYOND = "experiments/beyond.md"


def _by_name(items: Iterable[Metric]) -> Mapping[str, Metric]:
    return {item.name: item for item in items}


def _stretch(name: str, title: str, definition: str) -> Metric:
    return Metric(name, title=title, of="stochastic jobs", better=Better.LESS, definition=definition, source=_R,
                  digits=3)  # fmt: skip


_UTILIZATION = replace(metric("work_utilization"), name="utilization", title="utilisation")

#: Metrics of a batch of jobs submitted together.
BATCH = _by_name(
    (
        replace(_UTILIZATION, source=_R),
        _stretch("execution_stretch", "execution stretch", "Mean of the time used in reservations over true runtime."),
        _stretch("response_stretch", "response stretch (waits included)", "Mean of turnaround over true runtime."),
        _stretch("reserved_stretch", "reserved stretch", "Mean of the time asked for over true runtime."),
        Metric(
            "efficiency", unit="%", scale=100.0, digits=1, title="work / processor time", of="machine",
            better=Better.MORE, definition="True runtimes over all processor time that was used.", source=_R,
        ),
    )
)  # fmt: skip

#: Metrics of the jobs of a week.
WEEK = _by_name(
    (
        replace(_UTILIZATION, source=_S),
        replace(metric("stretch"), source=_S),
        replace(metric("turnaround_h"), name="response_h", title="average job makespan (response time)", source=_S),
        replace(metric("makespan_h"), name="all_done_h", title="makespan of the week", digits=0, source=_S),
        Metric(
            "reserved_ratio", digits=2, title="reserved node-hours / work", of="stochastic jobs", better=Better.LESS,
            definition="Node-hours asked for over those of the true runtimes.", source=_S,
        ),
    )
)  # fmt: skip

#: Metrics of an application's runs under a plan.
PROFILES = _by_name(
    Metric(name, unit=unit, title=title, of="runs", better=better, definition=definition, source=_P)
    for name, title, unit, better, definition in (
        ("reservation_min", "reservation time", "min", Better.LESS, "Mean time that a run asks for."),
        ("utilization", "utilisation", "", Better.MORE, "Mean of the work of a run over the time asked for."),
        ("memory_gb", "requested memory", "GB", Better.LESS,
         "Mean memory asked for by the reservations of a run, weighted by their length."),
    )
)  # fmt: skip

#: Metrics of simulations for the hybrid paper.
HYBRID = _by_name(
    (
        replace(
            metric("utilization"), name="compute_utilization", title="useful computation",
            definition="Node-hours of work that lasted, over N times the time from the first submit to the last "
            "completion. Setups and checkpoints do not count.",
            source="Hybrid workloads, V-C, observation 13",
        ),
    )
)  # fmt: skip

#: Metrics of the experiments beyond the papers.
BEYOND = _by_name(
    Metric(name, unit=unit, scale=100.0 if unit == "%" else 1.0, title=title, of=of, better=better,
           definition=definition, source=_BEYOND)
    for name, title, of, unit, better, definition in (
        ("turnaround_others_h", "average turnaround", "other jobs", "h", Better.LESS,
         "Mean turnaround of the jobs that are not stochastic."),
        ("reserved_per_work", "reserved / worked", "stochastic jobs", "", Better.LESS,
         "Node-hours asked for over those of the true runtimes."),
        ("lost_h", "lost by declaring rigid", "project", "h", Better.LESS,
         "Mean turnaround of the project's jobs when they are declared rigid, less that when they are malleable."),
        ("longer_share", "projects that lose", "projects", "%", Better.LESS,
         "Share of the projects with jobs that take longer when they are declared rigid."),
        ("preempted_more_share", "preempted more often", "project", "%", Better.LESS,
         "Share of the project's jobs that are preempted when declared rigid, less that when malleable."),
        ("others_lost_minutes", "lost by the others", "other jobs", "min", Better.LESS,
         "Mean turnaround of the other jobs when one project declares its jobs rigid, less that when it does not."),
        ("all_lost_minutes", "lost by all", "all jobs", "min", Better.LESS,
         "Mean turnaround of all jobs when one project declares its jobs rigid, less that when it does not."),
        ("lost_gpu_share", "lost GPU-hours", "machine", "%", Better.LESS,
         "GPU-hours lost to preemptions, with warnings, over those used."),
    )
)  # fmt: skip


_OWN = {**HYBRID, **BEYOND}


def find_metric(name: str) -> Metric:
    """The metric of a column of simulations, of :data:`HYBRID`, or of :data:`BEYOND`.

    Raises
    ------
    InputError
        If no metric has that name.
    """
    try:
        return _OWN[name] if name in _OWN else metric(name)
    except KeyError:
        raise InputError(f"no metric is named {name}") from None
