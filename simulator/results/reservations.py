"""Metrics of stochastic jobs: time used and wasted in reservations, and costs.

Source: docs/model.md, "Metrics".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from holdfast.policies.mechanism import BASELINE
from holdfast.simulator.machine.actual_outcomes import CANCELLED, COMPLETED, OVER_MEMORY, PREEMPTED, SAVED
from holdfast.simulator.results.metric_groups import (
    COST,
    HOUR,
    LESS,
    MODEL,
    MORE,
    NODE_HOURS,
    RATIO,
    SECONDS,
    SHARE,
    preemption_metric,
    turnaround_metric,
)
from holdfast.simulator.results.recording import Recording
from holdfast.simulator.results.records import JobRecord, StochasticRecord
from holdfast.workloads.ground.columns import Metric
from holdfast.workloads.ground.units import SECOND, to_ticks
from holdfast.workloads.table.job import JobType

if TYPE_CHECKING:
    from holdfast.simulator.machine.stochastic import ReservationRecord

__all__ = [
    "JOB_COLUMNS",
    "STOCHASTIC_METRICS",
    "StochasticJobs",
    "stochastic_rows",
    "work_utilization",
]

_JOBS = "stochastic jobs"
#: That its user gave up is no fault of a reservation.
_NOT_WASTED = (COMPLETED, SAVED, CANCELLED)

JOB_COLUMNS = (
    *("job_id", "application", "plan", "strategy", "runs_known", "runtime", "stretch", "execution_stretch"),
    *("reservations", "reserved", "used", "wasted", "expected_cost", "planned_cost", "paid_cost"),
    *("requested_memory_gb", "memory_kills"),
)


def stochastic_rows(result: Recording) -> Iterator[dict[str, Any]]:
    """A row for each stochastic job; seconds, and costs in the seconds that its prices make of them.

    ``strategy`` is what made the plan (``walltime`` while too few runs were known), ``expected_cost`` what the plan
    costs on average under the distribution that it was made for, ``planned_cost`` what it costs for this runtime where
    nothing goes wrong, and ``paid_cost`` what was paid: a preempted reservation costs as if it had been asked for no
    longer than it lasted.
    """
    responses = {record.job_id: record for record in result.records}
    planned = _planned_costs(result.stochastic)
    for course, planned_cost in zip(result.stochastic, planned, strict=True):
        made, items, runtime = course.planned, course.reservations, course.runtime
        cancelled = responses[course.job_id].status == "cancelled"
        used, reserved = sum(map(_duration, items)), sum(item.length for item in items)
        yield {
            "job_id": course.job_id,
            "application": course.application,
            "plan": course.strategy,
            "strategy": made.plan.strategy,
            "runs_known": made.runs,
            "runtime": runtime / SECOND,
            "stretch": None if cancelled else responses[course.job_id].turnaround / runtime,
            "execution_stretch": None if cancelled else used / runtime,
            "reservations": len(items),
            "reserved": reserved / SECOND,
            "used": used / SECOND,
            "wasted": sum(_duration(item) for item in items if item.ending not in _NOT_WASTED) / SECOND,
            "expected_cost": made.expected_cost,
            "planned_cost": planned_cost,
            "paid_cost": math.fsum(_price(course, item) for item in items),
            "requested_memory_gb": _memory(items),
            "memory_kills": sum(item.ending == OVER_MEMORY for item in items),
        }


class StochasticJobs:
    """The stochastic jobs of a simulation that are measured, with their rows of :func:`stochastic_rows`.

    Parameters
    ----------
    result
        Result of a simulation with stochastic jobs.
    records
        The jobs that are measured, of all types.
    """

    def __init__(self, result: Recording, records: Sequence[JobRecord]) -> None:
        chosen = {record.job_id: record for record in records}
        self.result = result
        self.rows = [row for row in stochastic_rows(result) if row["job_id"] in chosen]
        self.records = [chosen[row["job_id"]] for row in self.rows]
        self._nodes = np.array([record.nodes for record in self.records], dtype=float)

    def mean(self, name: str) -> float:
        """Mean of a column of the rows that have it; NaN of none."""
        return _mean([float(row[name]) for row in self.rows if row[name] is not None])

    def mean_of_records(self, measure: Callable[[JobRecord], float]) -> float:
        """Mean of a function of the records; NaN of no records."""
        return _mean([measure(record) for record in self.records])

    def node_hours(self, name: str) -> float:
        """A column of times weighted with the nodes of the jobs."""
        return float(self._nodes @ np.array([float(row[name]) for row in self.rows])) / 3600


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else math.nan


def _metric(
    name: str, title: str, definition: str, measure: Callable[[StochasticJobs], float], **changes: object
) -> Metric:
    described = {"of": _JOBS, "better": LESS, "source": MODEL, **changes}
    return Metric(name, title=title, definition=definition, measure=measure, **described)  # type: ignore[arg-type]


def _mean_hours(name: str) -> Callable[[StochasticJobs], float]:
    return lambda jobs: jobs.mean(name) / 3600


#: Metrics of a simulation with stochastic jobs, in the order of the columns; functions of :class:`StochasticJobs`.
STOCHASTIC_METRICS = (
    turnaround_metric("turnaround_stochastic_h", _JOBS,
                      lambda jobs: jobs.mean_of_records(lambda record: record.turnaround) / HOUR),
    preemption_metric("preemption_ratio_stochastic", _JOBS,
                      lambda jobs: jobs.mean_of_records(lambda record: record.preemptions > 0)),
    _metric("stretch", "average stretch", "Mean of turnaround over true runtime.",
            lambda jobs: jobs.mean("stretch"), **RATIO),
    _metric("execution_stretch", "execution stretch", "Mean of the time used in reservations over true runtime.",
            lambda jobs: jobs.mean("execution_stretch"), **RATIO),
    _metric("reservations_per_job", "reservations a job", "Mean number of reservations.",
            lambda jobs: jobs.mean("reservations"), **RATIO),
    _metric("reserved_node_hours", "reserved", "Node-hours asked for.",
            lambda jobs: jobs.node_hours("reserved"), **NODE_HOURS),
    _metric("used_node_hours", "used", "Node-hours used in reservations.",
            lambda jobs: jobs.node_hours("used"), **NODE_HOURS),
    _metric("wasted_node_hours", "wasted",
            "Node-hours used in reservations that neither completed the job nor saved work.",
            lambda jobs: jobs.node_hours("wasted"), **NODE_HOURS),
    _metric("expected_cost_h", "expected cost",
            "Mean cost of the plan under the distribution that it was made for.", _mean_hours("expected_cost"), **COST),
    _metric("planned_cost_h", "planned cost", "Mean cost of the plan for the true runtime.",
            _mean_hours("planned_cost"), **COST),
    _metric("paid_cost_h", "paid cost",
            "Mean cost of the reservations; a preempted one costs as if only the time used was asked for.",
            _mean_hours("paid_cost"), **COST),
    _metric("requested_memory_gb", "requested memory",
            "Mean memory asked for, weighted by the length of the reservations.",
            lambda jobs: jobs.mean("requested_memory_gb"), unit="GB", digits=1),
    _metric("memory_kills", "killed for memory", "Reservations that ended for want of memory.",
            lambda jobs: float(sum(row["memory_kills"] for row in jobs.rows)), digits=0),
    # Unlike the others, this one is over the whole simulation.
    _metric("work_utilization", "utilisation by work",
            "True runtimes times nodes of all jobs, over N times the time from the first submit to the last "
            "completion.", lambda jobs: work_utilization(jobs.result), of="machine", better=MORE, **SHARE),
    _metric("planning_seconds", "planning", "Wall-clock time of making plans.",
            lambda jobs: jobs.result.planning_seconds, of="simulator", **SECONDS),
)  # fmt: skip


def _duration(item: ReservationRecord) -> int:
    return item.end - item.start


def _price(course: StochasticRecord, item: ReservationRecord) -> float:
    used = _duration(item) / SECOND
    length = used if item.ending in (PREEMPTED, CANCELLED) else item.length / SECOND
    costs = course.planned.plan.costs
    return costs.alpha * length + costs.beta * used + costs.gamma


def _memory(items: Sequence[ReservationRecord]) -> float | None:
    """Memory asked for, weighted by the length of the reservations ("Profiles of upcoming HPC Applications", 4.2.2)."""
    # A plan in fractions of a tick may ask for no time at all.
    asked = [(item.memory, max(1, item.length)) for item in items if item.memory is not None]
    return sum(memory * length for memory, length in asked) / sum(length for _, length in asked) if asked else None


def _planned_costs(courses: Sequence[StochasticRecord]) -> list[float]:
    """What the plan of each job costs for its runtime; all jobs of a plan at once."""
    of_plan: dict[int, list[int]] = {}
    for place, course in enumerate(courses):
        of_plan.setdefault(id(course.planned.plan), []).append(place)
    costs = [math.nan] * len(courses)
    for places in of_plan.values():
        plan = courses[places[0]].planned.plan
        found = plan.paid_cost([courses[place].runtime / SECOND for place in places])
        for place, cost in zip(places, found.tolist(), strict=True):
            costs[place] = cost
    return costs


def work_utilization(result: Recording) -> float:
    """True runtimes times nodes of all jobs, over N times the time from the first submit to the last completion.

    The setup of a malleable job takes its time at any size, and counts with the nodes that the job had in it. Of a job
    that was withdrawn nothing counts, of one that ran already what was left to do.
    """
    came = [record for record in result.records if record.end is not None and record.submit is not None]
    opened = result.opened or 0
    malleable = result.table if result.mechanism != BASELINE else ()
    setups = {job.job_id: to_ticks(job.setup) for job in malleable if job.type is JobType.MALLEABLE}
    elapsed = max(record.end or 0 for record in came) - opened
    work = result.malleable_setup
    for record in came:
        if record.status != "cancelled":
            setup = setups.get(record.job_id, 0)
            before = max(0, opened - record.start - setup) if record.start is not None else 0
            work += record.nodes * (record.runtime - setup - before)
    return work / (result.nodes * elapsed) if elapsed else math.nan
