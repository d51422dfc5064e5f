"""Starts in a recorded schedule that first come, first served with EASY backfilling would not have made.

A schedule that follows the rule has none.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from holdfast.experiments.beyond.schedules import EASY, RECORDED
from holdfast.experiments.beyond.scores import OURS, method_rows
from holdfast.experiments.forecast.log_cursor import Past
from holdfast.experiments.study.experiment import Tables
from holdfast.simulator.fast_starts import FastStarts, PresentJob
from holdfast.simulator.options import Options
from holdfast.workloads.ground.units import to_seconds, to_ticks

__all__ = ["Departures", "count_departures", "in_hindsight", "why"]

#: Shorter waits are ignored, because logs count whole minutes [s].
_MINUTE = 60.0
#: Part of the draws before and after a 90 % interval.
_TAIL = 0.05
#: Number of later jobs in one block.
_PIECE = 500


class Departures(NamedTuple):
    """Frequencies of departures from the rule.

    Attributes
    ----------
    waited
        Jobs that waited for more than a minute.
    overtaken
        Share of these that were overtaken by a later job with at least as many nodes and at least as long a walltime.
        By order and backfilling alone the earlier job would have started first.
    held
        Share of these that waited for more than a minute at the head of the queue although enough nodes were free.
    held_time
        Share of the time with a queue in which its first job was held.
    """

    waited: int
    overtaken: float
    held: float
    held_time: float


def count_departures(past: Past) -> Departures:
    """Count the departures of a schedule.

    Parameters
    ----------
    past
        The schedule. Jobs that never started do not count.
    """
    started = np.flatnonzero(np.isfinite(past.starts))
    submits, starts, ends = past.submits[started], past.starts[started], past.ends[started]
    nodes, walltimes = past.requests[started].T
    times = np.concatenate((ends, submits, starts))
    # Within one instant nodes are released first, and jobs start last.
    kinds = np.repeat([0, 1, 2], len(started))
    jobs = np.tile(np.arange(len(started)), 3)
    order = np.lexsort((jobs, kinds, times))
    waits = starts - submits > _MINUTE
    overtaken, held = np.zeros(len(started), dtype=bool), np.zeros(len(started), dtype=bool)
    #: The waiting jobs, by submit: places are ordered so.
    queue: list[int] = []
    free, queued, idle = float(past.nodes), 0.0, 0.0
    now = float(times[order[0]]) if len(order) else 0.0
    for event in order.tolist():
        time, kind, job = float(times[event]), int(kinds[event]), int(jobs[event])
        if time > now and queue:
            queued += time - now
            if nodes[queue[0]] <= free:
                idle += time - now
                # Until the next event, which may be its own start.
                held[queue[0]] |= time - now > _MINUTE
        now = time
        if kind == 0:
            free += nodes[job]
        elif kind == 1:
            queue.append(job)
        else:
            queue.remove(job)
            free -= nodes[job]
            before = np.array([other for other in queue if other < job], dtype=int)
            before = before[starts[before] > starts[job] + _MINUTE]
            overtaken[before[(nodes[before] <= nodes[job]) & (walltimes[before] <= walltimes[job])]] = True
    count = int(waits.sum())
    share = 1.0 / count if count else 0.0
    return Departures(
        count,
        share * float((overtaken & waits).sum()),
        share * float((held & waits).sum()),
        idle / queued if queued else 0.0,
    )


def in_hindsight(past: Past, place: int) -> float:
    """Start time of a job if the machine had followed the rule from its submission on [s].

    Parameters
    ----------
    past
        The schedule.
    place
        Place of the job, which started at some time.

    Returns
    -------
    float
        Simulated with the true runtimes and the actual later jobs, except those that never started.
    """
    at, zero = float(past.submits[place]), float(past.submits[0])
    ran = np.isfinite(past.starts)
    ran[place] = True
    known = [
        other
        for other in np.flatnonzero(ran & (past.submits <= at)).tolist()
        if other == place or past.ends[other] > at
    ]

    def ticks(time: float) -> int:
        return to_ticks(time - zero)

    runtimes = past.ends - past.starts
    jobs = [
        PresentJob(
            ticks(past.submits[other]),
            int(past.requests[other, 0]),
            to_ticks(past.requests[other, 1]),
            ticks(past.starts[other]) if other != place and past.starts[other] <= at else None,
        )
        for other in known
    ]
    first = int(np.searchsorted(past.submits, at, side="right"))
    own = known.index(place)
    times = [
        to_ticks(runtimes[other] if job.start is not None else min(runtimes[other], past.requests[other, 1]))
        for other, job in zip(known, jobs, strict=True)
    ]
    simulation = FastStarts(jobs, past.nodes, ticks(at), Options.of(**EASY))
    starts, _ = simulation.starts(np.array(times), _later(past, first, ran, zero), {own})
    return zero + to_seconds(int(starts[own]))


def _later(past: Past, first: int, ran: npt.NDArray[np.bool_], zero: float) -> Iterator[npt.NDArray[np.int64]]:
    """Blocks of submits, nodes, walltimes and runtimes [ticks] of the jobs from that place on that ran."""
    for begin in range(first, len(past), _PIECE):
        these = np.arange(begin, min(begin + _PIECE, len(past)))
        these = these[ran[these]]
        nodes, walltimes = past.requests[these].T
        times = (past.submits[these] - zero, walltimes, np.minimum((past.ends - past.starts)[these], walltimes))
        submits, limits, runtimes = (list(map(to_ticks, row.tolist())) for row in times)
        yield np.array((submits, nodes.astype(np.int64), limits, runtimes))


def why(tables: Tables, log: str) -> str:
    """Describe how a recorded schedule departs from the rule; empty if it was not measured.

    Parameters
    ----------
    tables
        Of the measurement: the moments with their ranks, ``moments``, ``hindsight`` and ``departures``.
    log
        The log.
    """
    rows = [row for row in tables.get("departures", ()) if row["log"] == log]
    if not rows:
        return ""
    here = (log, RECORDED)
    moments = next(row for row in tables["moments"] if (row["log"], row["schedule"]) == here)
    ranks = np.array([row["rank"] for row in method_rows(tables[""], OURS) if (row["log"], row["schedule"]) == here])
    errors = [row["error_s"] for row in tables["hindsight"] if row["log"] == log]
    early, late = np.mean(ranks < _TAIL), np.mean(ranks > 1.0 - _TAIL)
    at_once = moments["at_once_right"] / max(1, moments["at_once"])
    return (
        f"{100 * early:.0f} % started before the interval, {100 * late:.0f} % after; with the true runtimes and "
        f"arrivals the rule itself is {np.median(errors) / 3600:.2f} h off (median); of the jobs that start at once by "
        f"the rule {100 * at_once:.0f} % did; of those that waited {100 * rows[0]['overtaken']:.0f} % were overtaken; "
        f"for {100 * rows[0]['held_time']:.0f} % of the time with a queue its first job waited beside enough free nodes"
    )
