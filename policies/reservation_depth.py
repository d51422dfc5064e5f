"""A scheduling pass in which several waiting jobs hold reservations on one availability profile.

The pass visits the jobs in queue order. Jobs start as long as enough nodes are free. The first job that does not fit,
and the following ones up to the reservation depth, get reservations at the earliest time at which they can run to their
walltimes without delaying earlier reservations. The other jobs start if they delay no reservation. Sources: see
:mod:`holdfast.policies.backfilling`.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from typing import NamedTuple

from holdfast.policies.availability_profile import Profile
from holdfast.policies.list_queue import as_queue
from holdfast.policies.port import Promise, Start, SystemView, WaitingJob
from holdfast.policies.shadow_time import NEVER, available_releases
from holdfast.workloads.table.job import ON_DEMAND

__all__ = ["Outlook", "availability_profile", "in_order", "plan_queue", "releases_beside"]

#: (time, tie-break, nodes).
Release = tuple[int, int, int]


class Outlook(NamedTuple):
    """The planning depth of a rule.

    Attributes
    ----------
    depth
        Number of waiting jobs with a reservation; None: all of them.
    largest
        Whether the reservation of a malleable job has the largest size at its earliest start, or its minimum size, as
        for the head under EASY.
    by_runtime
        Whether the length of a candidate is its actual runtime.
    whole
        Whether malleable jobs start in queue order, and have reservations, only at their requested sizes.
    """

    depth: int | None
    largest: bool = False
    by_runtime: bool = False
    whole: bool = False


def in_order(view: SystemView, *, whole: bool = False) -> list[Start]:
    """The jobs that start before the first job that must wait; ``whole``: at their requested sizes only."""
    starts: list[Start] = []
    free = view.free
    profile = availability_profile(view) if view.windows and view.queue else None
    for job in view.queue:
        size = job.nodes if job.nodes < free else free
        if profile is not None:
            size = profile.largest(job, size)
        if size < (job.nodes if whole else job.min_nodes):
            break
        starts.append(Start(job.job_id, size))
        free -= size
        if profile is not None:
            profile.take(view.now, view.now + job.limit(size), size)
    return starts


def plan_queue(view: SystemView, outlook: Outlook, promises: list[Promise] | None = None) -> list[Start]:
    """Plan the queue and return the jobs to start now, in order.

    Parameters
    ----------
    view
        The machine.
    outlook
        The planning depth.
    promises
        List that receives the reservations; None: plan only as far as it affects the starts.
    """
    queue, now, free = list(view.queue), view.now, view.free
    starts = in_order(view, whole=outlook.whole)
    heads = len(starts)
    if heads == len(queue):
        return starts
    for start in starts:
        free -= start.nodes
    # Jobs that may still start. Jobs after the last of them need no plan.
    if promises is None and free < as_queue(view.queue).least:
        return starts
    candidates = [place for place in range(heads + 1, len(queue)) if queue[place].min_nodes <= free] if free else []
    if not candidates and promises is None:
        return starts
    started = [
        (now + job.limit(start.nodes), job.job_id, start.nodes) for job, start in zip(queue, starts, strict=False)
    ]
    profile = availability_profile(view, started, queue[heads])
    bare = availability_profile(view, started, queue[heads]) if outlook.by_runtime and view.windows else None
    room = _Room(now, profile, bare, outlook.by_runtime)
    left = len(queue) if outlook.depth is None else outlook.depth
    for place in range(heads, len(queue)):
        job = queue[place]
        # The first job is known not to fit.
        size = room.largest(job, free) if place > heads else 0
        if size:
            starts.append(Start(job.job_id, size, "backfilled"))
            room.take(job, size)
            free -= size
        elif left:
            left -= 1
            promise = _reserve(profile, job, outlook)
            if promises is not None and promise.at < NEVER:
                promises.append(promise)
        else:
            continue
        if promises is None:
            while candidates and (candidates[-1] <= place or not room.largest(queue[candidates[-1]], free)):
                candidates.pop()
            if not candidates:
                break
    return starts


class _Room(NamedTuple):
    """The nodes that waiting jobs may take now.

    Attributes
    ----------
    now
        Time of the pass.
    profile
        Availability beside reservations.
    bare
        Availability by walltimes and without reservations, where the profile goes by runtimes and there are windows,
        which require walltimes; None: the profile is enough.
    by_runtime
        Whether the profile goes by runtimes.
    """

    now: int
    profile: Profile
    bare: Profile | None
    by_runtime: bool

    def largest(self, job: WaitingJob, free: int) -> int:
        """The largest size at which a job can start on the free nodes; 0: it cannot."""
        if job.min_nodes > free:
            return 0
        size = self.profile.largest(job, job.nodes if job.nodes < free else free, by_runtime=self.by_runtime)
        while self.bare is not None and size:
            allowed = self.bare.largest(job, size)
            if allowed == size:
                break
            size = self.profile.largest(job, allowed, by_runtime=True) if allowed else 0
        return size

    def take(self, job: WaitingJob, size: int) -> None:
        """Take the nodes of a job that starts."""
        self.profile.take(self.now, self.now + (job.duration(size) if self.by_runtime else job.limit(size)), size)
        if self.bare is not None:
            self.bare.take(self.now, self.now + job.limit(size), size)


def _reserve(profile: Profile, job: WaitingJob, outlook: Outlook) -> Promise:
    """Reserve nodes for a job at the earliest time at which it can run to its walltime, if there is one."""
    if outlook.largest:
        at, size = profile.earliest_and_largest(job)
    else:
        size = job.nodes if outlook.whole else job.min_nodes
        at = profile.earliest(size, job.limit(size))
    if at < NEVER:
        profile.reserve(at, job.limit(size), size)
    return Promise(job.job_id, at, size)


def availability_profile(view: SystemView, started: Sequence[Release] = (), head: WaitingJob | None = None) -> Profile:
    """The availability profile of a machine, without reservations for waiting jobs.

    Parameters
    ----------
    view
        The machine at the start of the pass.
    started
        (expected end, tie-break, nodes) of the jobs that this pass has started.
    head
        First job that still waits; None: the first in the queue.
    """
    if head is None and view.queue:
        head = view.queue[0]
    free = view.free - sum(nodes for _, _, nodes in started)
    return Profile(view.now, free, releases_beside(view, started, head), view.windows)


def releases_beside(view: SystemView, started: Sequence[Release], head: WaitingJob | None) -> Sequence[Release]:
    """The releases available to the queue, including those of the jobs started in this pass."""
    releases = view.releases
    if started:
        releases = list(releases)
        for release in started:
            insort(releases, release)
    # Open reservations collect no nodes while an on-demand job waits; such a job is the first in the queue.
    collecting = head is None or head.type is not ON_DEMAND
    return available_releases(view, releases, collecting=collecting)
