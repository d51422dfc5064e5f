"""Simulation of plans as series of rigid jobs, each submitted when the previous one ends.

The simulator's stochastic jobs release their nodes as soon as they complete, and each next reservation goes to the
end of the queue. The papers leave both open. Both are options here, for jobs of one node that are served first come,
first served; since the simulator sees rigid jobs only, it needs no options for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from holdfast.policies.planning.plan_progress import Course, Schedule
from holdfast.simulator.simulation import simulate
from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.ground.units import to_seconds
from holdfast.workloads.table.job import Job, JobType

__all__ = ["RELEASES", "REQUEUES", "Release", "Requeue", "Reservation", "SeriesReplay", "replay_series", "series"]

Floats = npt.NDArray[np.float64]
Release = Literal["completion", "walltime"]
Requeue = Literal["end", "front"]
RELEASES: tuple[Release, ...] = ("completion", "walltime")
REQUEUES: tuple[Requeue, ...] = ("end", "front")


class Reservation(NamedTuple):
    """One reservation of a job, in the unit of its plan.

    Attributes
    ----------
    length
        Requested walltime.
    used
        Time until the job completes in it or, if it does not, until its end.
    """

    length: float
    used: float


@dataclass(frozen=True, eq=False)
class SeriesReplay:
    """Result of replaying series on a machine.

    Attributes
    ----------
    completions
        Completion of each job [s], shape (jobs,).
    occupied
        Node-seconds that all reservations occupied.
    """

    completions: Floats
    occupied: float


def series(schedule: Schedule, runtime: float) -> list[Reservation]:
    """Reservations that a job of a given runtime uses.

    Parameters
    ----------
    schedule
        The plan of the job, which is extended if the job outlives it.
    runtime
        Runtime in the unit of the plan.

    Examples
    --------
    >>> from holdfast.policies.planning.costs import CostModel
    >>> from holdfast.policies.planning.plan import ReservationPlan
    >>> plan = ReservationPlan([20, 40], [True, False], CostModel(checkpoint=7, restart=5))
    >>> [tuple(item) for item in series(Schedule(plan), 30.0)]
    [(27.0, 27.0), (25.0, 15.0)]
    """
    course = Course(schedule)
    found: list[Reservation] = []
    while runtime > (request := course.request()).milestone:
        found.append(Reservation(request.length, request.length))
        if request.checkpointed:
            course.save(request.milestone)
        else:
            course.miss()
    return [*found, Reservation(request.length, request.restart + runtime - request.saved)]


def replay_series(
    submits: Sequence[float],
    jobs: Sequence[Sequence[Reservation]],
    nodes: int,
    *,
    release: Release = "completion",
    requeue: Requeue = "end",
) -> SeriesReplay:
    """Run jobs of one node each, first come, first served.

    Parameters
    ----------
    submits
        Submit of each job [s], shape (jobs,).
    jobs
        The series of each [s].
    nodes
        Nodes of the machine.
    release
        A job gives its node back at its ``completion``, or the reservation holds it until its ``walltime`` is over.
    requeue
        The next reservation goes to the ``end`` of the queue, or keeps its place at the ``front``: it starts at once
        on the node that its job has.

    Raises
    ------
    ParameterError
        If an option is not legal, or there is no job.

    Examples
    --------
    One node: the second job waits for the completion of the first one, or for the end of its reservation.

    >>> jobs = [[Reservation(10.0, 4.0)], [Reservation(5.0, 5.0)]]
    >>> replay_series([0.0, 0.0], jobs, 1).completions.tolist()
    [4.0, 9.0]
    >>> replay_series([0.0, 0.0], jobs, 1, release="walltime").completions.tolist()
    [4.0, 15.0]
    """
    for name, value, legal in (("release", release, RELEASES), ("requeue", requeue, REQUEUES)):
        if value not in legal:
            raise ParameterError(name, " or ".join(legal), value)
    if not jobs:
        raise ParameterError("jobs", "one or more", len(jobs))
    table: list[Job] = []
    last: list[int] = []
    occupied = 0.0
    for submit, own in zip(submits, jobs, strict=True):
        stays = [(item.length, item.length if release == "walltime" else item.used) for item in own]
        occupied += sum(stay for _, stay in stays)
        if requeue == "front":
            stays = [(sum(length for length, _ in stays), sum(stay for _, stay in stays))]
        first = len(table)
        table += [
            Job(row, JobType.RIGID, submit, 1, min(stay, length), length, preceding=row - 1 if row > first else None)
            for row, (length, stay) in enumerate(stays, first)
        ]
        last.append(len(table) - 1)
    records = {record.job_id: record for record in simulate(table, nodes, events=False).records}
    # Time held beyond the completion is not part of the response time.
    held = np.array([own[-1].length - own[-1].used if release == "walltime" else 0.0 for own in jobs])
    ends = np.array([to_seconds(records[row].end or 0) for row in last])
    return SeriesReplay(ends - held, occupied)
