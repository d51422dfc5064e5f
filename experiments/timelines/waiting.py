"""Waiting times from the event log: times in the queue, and the first job of the queue over time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from holdfast.experiments.timelines.phases import phases
from holdfast.simulator.results.recording import Recording, all_reservations, requested_walltime, require_events
from holdfast.workloads.table.job import JobType

__all__ = ["Stay", "heads", "levels", "stays"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Stay(NamedTuple):
    """A period that a job spent in the queue.

    Attributes
    ----------
    job_id
        The job.
    start, end
        Submit or requeue, and start or cancellation, in ticks of the simulated clock.
    nodes
        Requested size.
    node_ticks
        Requested size times the remaining walltime.
    urgent
        Whether it is an on-demand job at the front of the queue.
    submit
        First submit; for a stochastic job, submit of the waiting reservation [ticks of the simulated clock].
    row
        Row in the job table.
    """

    job_id: int
    start: int
    end: int
    nodes: int
    node_ticks: int
    urgent: bool
    submit: int
    row: int


def stays(recording: Recording) -> list[Stay]:
    """All periods that jobs spent in the queue, sorted by start, without those of zero length.

    Parameters
    ----------
    recording
        A recording with its event log.

    Raises
    ------
    InputError
        If the event log was switched off.
    """
    require_events(recording)
    served = recording.mechanism != "baseline"
    rows = {job.job_id: row for row, job in enumerate(recording.table)}
    done = _secured_compute(recording)
    lengths = {(item.job_id, item.start - recording.origin): item.length for item in all_reservations(recording)}
    begun: dict[int, int] = {}
    submits: dict[int, int] = {}
    # Under a mechanism, an arriving on-demand job is in the queue only if the log has a wait event.
    arrived: set[int] = set()
    found: list[Stay] = []
    for entry in recording.entries:
        job_id, now = entry.job_id, entry.time
        if job_id not in rows:
            continue  # an outage
        job = recording.job[job_id]
        on_demand = served and job.type is JobType.ON_DEMAND
        if entry.event == "hold" and not on_demand:
            submits[job_id] = now
        elif entry.event == "submit":
            if job_id not in submits or (job.type is JobType.STOCHASTIC and entry.cause != "eligible"):
                submits[job_id] = now
            if not on_demand:
                begun[job_id] = now
            else:
                arrived.add(job_id)
        elif entry.event == "requeue" or (entry.event == "wait" and job_id in arrived):
            begun[job_id] = now
        elif entry.event in ("start", "gather", "cancel") and job_id in begun:
            # A job that gathers nodes or is cancelled has left the queue.
            since = begun.pop(job_id)
            if now == since:
                continue
            length = lengths.get((job_id, now))
            left = (
                length * job.nodes
                if length is not None
                else requested_walltime(recording, job) * job.nodes - done.get((job_id, now), 0)
            )
            # A job that was running when the replay began has no submit in the log.
            submit = submits.get(job_id, (recording.record[job_id].submit or 0) - recording.origin)
            found.append(Stay(job_id, since, now, job.nodes, left, on_demand, submit, rows[job_id]))
    return sorted(found, key=lambda stay: (stay.start, stay.row))


def _secured_compute(recording: Recording) -> dict[tuple[int, int], int]:
    """Node-ticks of compute secured by checkpoints before a start, by job and start."""
    again = {record.job_id for record in recording.records if record.preemptions}
    total: dict[int, int] = dict.fromkeys(again, 0)
    ends: dict[int, list[tuple[int, int]]] = {job_id: [] for job_id in again}
    for phase in phases(recording) if again else ():
        if phase.job_id in again and phase.use == "compute":
            total[phase.job_id] += (phase.end - phase.start) * phase.nodes
            ends[phase.job_id].append((phase.end, total[phase.job_id]))
    found: dict[tuple[int, int], int] = {}
    for entry in recording.entries:
        if entry.event == "start" and entry.job_id in again:
            before = [done for end, done in ends[entry.job_id] if end <= entry.time]
            found[entry.job_id, entry.time] = before[-1] if before else 0
    return found


def levels(found: Sequence[Stay]) -> tuple[Ints, Ints, Ints, Floats]:
    """Numbers of waiting jobs, their nodes and node-ticks over time.

    Returns
    -------
    times, jobs, nodes, node_ticks : ndarray
        Each value holds from its time to the next; shape (n,), the last values are 0. Node-ticks, which may need more
        than 64 bits, are summed exactly and then rounded to floats.
    """
    if not found:
        nothing = np.zeros(1, np.int64)
        return nothing, nothing, nothing, nothing.astype(np.float64)
    start, end = (np.array([getattr(stay, name) for stay in found], np.int64) for name in ("start", "end"))
    times = np.unique(np.concatenate((start, end)))
    places = [np.searchsorted(times, ends).tolist() for ends in (start, end)]
    courses = []
    for weights in ([1] * len(found), [stay.nodes for stay in found], [stay.node_ticks for stay in found]):
        steps = [0] * len(times)
        for begins, ends, weight in zip(*places, weights, strict=True):
            steps[begins] += weight
            steps[ends] -= weight
        courses.append(list(accumulate(steps)))
    jobs, nodes, work = courses
    return times, np.array(jobs, np.int64), np.array(nodes, np.int64), np.array(work, np.float64)


def heads(found: Sequence[Stay]) -> Iterator[tuple[int, int, Stay]]:
    """First job of the queue under first come, first served: on-demand jobs by arrival, then others by first submit.

    Parameters
    ----------
    found
        By start.

    Yields
    ------
    tuple of int, int and Stay
        Begin, end and job; nothing while the queue is empty.
    """
    queue: list[tuple[bool, int, int, Stay]] = []
    place, now = 0, 0
    while place < len(found) or queue:
        if not queue:
            now = max(now, found[place].start)
        while place < len(found) and found[place].start <= now:
            stay = found[place]
            heappush(queue, (not stay.urgent, stay.submit, stay.row, stay))
            place += 1
        while queue and queue[0][3].end <= now:
            heappop(queue)
        if not queue:
            continue
        head = queue[0][3]
        # Until it leaves, or a job arrives that may precede it.
        until = min(head.end, found[place].start) if place < len(found) else head.end
        yield now, until, head
        now = until
