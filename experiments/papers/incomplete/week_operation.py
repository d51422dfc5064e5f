"""Alternative readings of ambiguous sentences in [S] section VI-A, and the simulation of a week under each of them.

Every application of the laboratory needs one node. First come, first served and EASY therefore give the same schedule,
and there are no readings of the backfilling rule.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from holdfast.experiments.papers.incomplete.kept_starts import replay_windows
from holdfast.experiments.papers.incomplete.submissions import Week
from holdfast.experiments.planning.reservation_series import RELEASES, REQUEUES, Requeue, replay_series, series
from holdfast.policies.planning.plan import ReservationPlan
from holdfast.policies.planning.plan_progress import Schedule

__all__ = ["PRINTED", "WeekMeasure", "WeekOperation", "measures", "operations", "replay_week"]

_HOUR = 3600.0
#: Printed number of runs of the whole brain segmentation in a year; figure 6 also prints it for the functional QA.
PRINTED = 17416
_BASES = {
    "hpc": "",
    "hpc same": "against HPC that knows the same runs",
    "masi": "against MASI",
    "masi 2": "against MASI that doubles",
}


@dataclass(frozen=True, order=True)
class WeekOperation:
    """A reading of the operation of the machine and of the submissions.

    Attributes
    ----------
    release
        Release of a node: at the ``completion`` of the job; at the end of the ``walltime`` of its reservation (section
        III-A: "alpha = 1 and beta = gamma = 0", the cost is the reserved time); or planned starts in ``windows``
        (ScheduleFlow, :mod:`.kept_starts`).
    requeue
        Position of the next reservation, "a second reservation of size t2 > t1 is performed" (section III-A): the
        ``end`` of the queue, or its ``front``.
    runs
        Number of runs of the whole brain segmentation in a year.
    load
        Offered load, because the size of the machine is not printed.
    """

    release: Literal["completion", "walltime", "windows"] = "completion"
    requeue: Requeue = "end"
    runs: int = PRINTED
    load: float = 0.9

    @property
    def name(self) -> str:
        """What differs from the default, in words."""
        words = [
            {"completion": "", "walltime": "nodes held until the walltime", "windows": "windows of kept starts"}[
                self.release
            ],
            "requeued at the front" if self.requeue == "front" else "",
            f"{self.runs} runs of the whole brain" if self.runs != PRINTED else "",
            f"load {self.load:g}" if self.load != WeekOperation().load else "",
        ]
        return ", ".join(word for word in words if word) or "default"

    @property
    def label(self) -> str:
        """Short label of all settings."""
        release = {"completion": "released", "walltime": "held", "windows": "windows"}[self.release]
        queue = "" if self.release == "windows" else f", {self.requeue}"
        return f"{release}{queue}, {self.runs:,} runs, load {self.load:g}"


@dataclass(frozen=True, order=True)
class WeekMeasure:
    """A reading of the comparison, the utilisation and the makespan in [S].

    Attributes
    ----------
    base
        Strategy with which the continuous one is compared: ``hpc`` (the longest of all previous runs), ``hpc same``
        (the longest of the same runs), ``masi`` (1.5 times longer after a failure), ``masi 2`` ("doubling it", section
        II).
    utilization
        Work over the time of the machine until all jobs are ``done``, or over the time that reservations ``occupied``.
    makespan
        "Average job makespan": the ``response`` time, as in the list of metrics, or the time until ``all`` jobs are
        done.
    """

    base: str = "hpc"
    utilization: Literal["done", "occupied"] = "done"
    makespan: Literal["response", "all"] = "response"

    @property
    def name(self) -> str:
        """What differs from the default, in words."""
        words = [
            _BASES[self.base],
            "work over occupied time" if self.utilization == "occupied" else "",
            "makespan of the week" if self.makespan == "all" else "",
        ]
        return ", ".join(word for word in words if word) or "default"

    def base_name(self, samples: int) -> str:
        """Name of the base for a continuous strategy with a number of runs."""
        return f"hpc {samples}" if self.base == "hpc same" else self.base


def operations(runs: Sequence[int], loads: Sequence[float]) -> list[WeekOperation]:
    """All operations; windows have no variants of requeueing, because they manage the queue themselves."""
    queues = [WeekOperation(release, requeue) for release, requeue in itertools.product(RELEASES, REQUEUES)]
    queues.append(WeekOperation("windows"))
    return [
        WeekOperation(own.release, own.requeue, number, load)
        for number, load, own in itertools.product(runs, loads, queues)
    ]


def measures() -> list[WeekMeasure]:
    """All measures."""
    return [
        WeekMeasure(base, utilization, makespan)  # type: ignore[arg-type]
        for base, utilization, makespan in itertools.product(_BASES, ("done", "occupied"), ("response", "all"))
    ]


def replay_week(
    week: Week, plans: Mapping[str, ReservationPlan], machine: int, operation: WeekOperation
) -> dict[str, float]:
    """Simulate a week.

    Parameters
    ----------
    week
        Jobs of the week; each needs one node.
    plans
        Plan of each application [s].
    machine
        Number of nodes of the machine.
    operation
        Reading of the operation.

    Returns
    -------
    dict
        utilization and occupied_utilization (walltimes over the machine's time until all jobs are done, and over the
        time that reservations occupied), stretch and response_h (means), all_done_h (from the first submission to the
        last completion).
    """
    schedules = {name: Schedule(plan) for name, plan in plans.items()}
    submits, runtimes = _HOUR * week.submits, _HOUR * week.runtimes
    jobs = [series(schedules[name], run) for name, run in zip(week.applications, runtimes.tolist(), strict=True)]
    if operation.release == "windows":
        found = replay_windows(submits.tolist(), jobs, machine)
    else:
        found = replay_series(submits.tolist(), jobs, machine, release=operation.release, requeue=operation.requeue)
    response, elapsed = found.completions - submits, float(found.completions.max() - submits.min())
    work = float(runtimes.sum())
    return {
        "utilization": work / (machine * elapsed),
        "occupied_utilization": work / found.occupied,
        "stretch": float(np.mean(response / runtimes)),
        "response_h": float(response.mean()) / _HOUR,
        "all_done_h": elapsed / _HOUR,
    }
