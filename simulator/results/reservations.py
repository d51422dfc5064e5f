"""Metrics of stochastic jobs: what their reservations took, wasted and cost.

Source: docs/model.md, "Metrics".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from policies.mechanism import BASELINE
from simulator.machine.actual_outcomes import CANCELLED, COMPLETED, OVER_MEMORY, PREEMPTED, SAVED
from simulator.machine.stochastic import ReservationRecord
from simulator.results.catalogue import Group, columns
from simulator.results.recording import Recording
from simulator.results.records import JobRecord, StochasticRecord
from workloads.ground.units import SECOND, to_ticks
from workloads.table.job import JobType

__all__ = [
    "JOB_COLUMNS",
    "SUMMARY_COLUMNS",
    "stochastic_rows",
    "summarize_stochastic",
    "work_utilization",
]

_HOUR = 3600 * SECOND
#: That its user gave up is no fault of a reservation.
_NOT_WASTED = (COMPLETED, SAVED, CANCELLED)

JOB_COLUMNS = (
    *("job_id", "application", "plan", "strategy", "runs_known", "runtime", "stretch", "execution_stretch"),
    *("reservations", "reserved", "used", "wasted", "expected_cost", "planned_cost", "paid_cost"),
    *("requested_memory_gb", "memory_kills"),
)
#: Of a run, beside :data:`simulator.results.metrics.SUMMARY_COLUMNS`.
SUMMARY_COLUMNS = columns(Group.STOCHASTIC)


def stochastic_rows(result: Recording) -> Iterator[dict[str, object]]:
    """A row for each stochastic job; seconds, and costs in the seconds that its prices make of them.

    ``strategy`` is what made the plan (``walltime`` while too few runs were known), ``expected_cost`` what the plan
    costs on average under the law that it was made for, ``planned_cost`` what it costs for this runtime where nothing
    goes wrong, and ``paid_cost`` what was paid: a preempted reservation costs as if it had been asked for no longer
    than it lasted.
    """
    responses = {record.job_id: record for record in result.records}
    planned = _planned_costs(result.stochastic)
    for course, planned_cost in zip(result.stochastic, planned, strict=True):
        made, items, runtime = course.planned, course.reservations, course.runtime
        cancelled = responses[course.job_id].status == "cancelled"
        used, reserved = sum(map(_used, items)), sum(item.length for item in items)
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
            "wasted": sum(_used(item) for item in items if item.ending not in _NOT_WASTED) / SECOND,
            "expected_cost": made.expected_cost,
            "planned_cost": planned_cost,
            "paid_cost": math.fsum(_price(course, item) for item in items),
            "requested_memory_gb": _memory(items),
            "memory_kills": sum(item.ending == OVER_MEMORY for item in items),
        }


def summarize_stochastic(result: Recording, records: Sequence[JobRecord]) -> dict[str, float]:
    """The columns of :data:`SUMMARY_COLUMNS`.

    Parameters
    ----------
    result
        Result of a simulation with stochastic jobs.
    records
        The jobs that are measured. Node-hours, memory kills and costs are those of these jobs, too; only
        ``work_utilization`` is of the whole simulation: true runtimes times nodes of all jobs over N times the time
        from the first submit to the last completion.
    """
    chosen = {record.job_id: record for record in records}
    rows = [row for row in stochastic_rows(result) if row["job_id"] in chosen]
    jobs = [chosen[int(str(row["job_id"]))] for row in rows]
    nodes = np.array([record.nodes for record in jobs], dtype=float)

    def mean(name: str) -> float:
        values = [float(str(row[name])) for row in rows if row[name] is not None]
        return float(np.mean(values)) if values else math.nan

    def node_hours(name: str) -> float:
        return float(nodes @ np.array([float(str(row[name])) for row in rows])) / 3600

    def of(measure: Callable[[JobRecord], float]) -> float:
        return float(np.mean([measure(record) for record in jobs])) if jobs else math.nan

    values = (
        of(lambda record: record.turnaround) / _HOUR,
        of(lambda record: record.preemptions > 0),
        mean("stretch"),
        mean("execution_stretch"),
        mean("reservations"),
        node_hours("reserved"),
        node_hours("used"),
        node_hours("wasted"),
        mean("expected_cost") / 3600,
        mean("planned_cost") / 3600,
        mean("paid_cost") / 3600,
        mean("requested_memory_gb"),
        float(sum(int(str(row["memory_kills"])) for row in rows)),
        work_utilization(result),
        result.planning_seconds,
    )
    return dict(zip(SUMMARY_COLUMNS, values, strict=True))


def _used(item: ReservationRecord) -> int:
    return item.end - item.start


def _price(course: StochasticRecord, item: ReservationRecord) -> float:
    used = _used(item) / SECOND
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
