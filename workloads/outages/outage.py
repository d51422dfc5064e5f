"""Outages: time windows in which nodes are unavailable, or available only to certain jobs.

Maintenance is a window that is known in advance. A failure is not known in advance: it affects nodes at one place of
the machine and lasts until they are repaired. An advance reservation keeps nodes free for certain jobs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from holdfast.workloads.ground.errors import InputError, format_value
from holdfast.workloads.ground.numbers import is_number, is_whole
from holdfast.workloads.ground.units import LARGEST_TIME, SECOND, TIMES, to_ticks
from holdfast.workloads.table.job import Job

__all__ = ["Outage", "OutageKind", "check_outages", "first_outage_fault"]

#: Legal treatments of jobs that still run when a window begins.
_RUNNING = ("preempt", "wait")


class OutageKind(StrEnum):
    """The kind of an outage."""

    MAINTENANCE = "maintenance"
    FAILURE = "failure"
    RESERVATION = "reservation"


@dataclass(frozen=True, slots=True)
class Outage:
    """One outage. Times are on the clock of the job table.

    Attributes
    ----------
    kind
        Kind: maintenance, failure or advance reservation.
    start, end
        Time span in which nodes are unavailable or reserved [s]; a failure ends with the repair.
    nodes
        Number of nodes. On a pool of equal nodes, which have no names, a window may use any of them.
    announced
        Windows: time at which the scheduler learns of the window [s]; None: from the beginning.
    running
        Windows: treatment of jobs that still run on needed nodes. ``preempt``: preempt jobs, smallest loss first;
        ``wait``: wait for nodes that jobs release.
    place
        Failures: position of the first failed node as a share of the machine, in [0, 1). The failure affects ``nodes``
        consecutive nodes in a fixed order, in which the first node follows the last.
    name
        Name of the outage in messages and tables.
    jobs, users, projects
        Reservations: jobs, users and projects that may use the nodes; a job must be in one of the three.
    on
        On a machine with partitions: the partition or the nodes (in Slurm's syntax) of which it takes ``nodes``
        (:mod:`holdfast.workloads.outages.places`); empty: all nodes.
    """

    kind: OutageKind
    start: float
    end: float
    nodes: int = 1
    announced: float | None = None
    running: str = "preempt"
    place: float | None = None
    name: str = ""
    jobs: tuple[int, ...] = field(default=())
    users: tuple[str, ...] = field(default=())
    projects: tuple[str, ...] = field(default=())
    on: str = ""

    def admits(self, job: Job) -> bool:
        """Whether a job may run in this reservation."""
        return (
            job.job_id in self.jobs
            or (bool(job.user) and job.user in self.users)
            or (bool(job.project) and job.project in self.projects)
        )


def check_outages(
    outages: Sequence[Outage], nodes: int | None = None, jobs: Iterable[Job] | None = None, *, named: bool = False
) -> None:
    """Reject invalid outages.

    Parameters
    ----------
    outages
        Outages in any order.
    nodes
        Number of nodes of the machine; None: not checked.
    jobs
        Jobs of the workload; None: not checked.
    named
        Whether the nodes of the machine have names.

    Raises
    ------
    InputError
        If an outage is invalid; names the first such outage, the legal values and the value.

    Examples
    --------
    >>> check_outages([Outage(OutageKind.MAINTENANCE, 0.0, 1800.0, 0)])
    Traceback (most recent call last):
    holdfast.workloads.ground.errors.InputError: nodes of outage 1 must be a whole number >= 1, not 0
    """
    fault = first_outage_fault(outages, nodes)
    if fault is not None:
        raise InputError(fault[1])
    for number, outage in enumerate(outages, start=1):
        if outage.on and not named:
            raise InputError(
                f"on of outage {number} must be empty without a machine (--machine), not {format_value(outage.on)}"
            )
    absent = {job_id for outage in outages for job_id in outage.jobs}
    if absent and jobs is not None:
        absent -= {job.job_id for job in jobs}
        for number, outage in enumerate(outages, start=1):
            for job_id in outage.jobs:
                if job_id in absent:
                    raise InputError(f"jobs of outage {number} must be in the job table, and there is no job {job_id}")


def first_outage_fault(outages: Sequence[Outage], nodes: int | None = None) -> tuple[int, str] | None:
    """Index of the first invalid outage, and a message; None if all are valid."""
    most = math.inf if nodes is None else nodes
    for index, outage in enumerate(outages):
        try:
            broken = _broken_rule(outage, most)
        except (TypeError, AttributeError) as error:
            return index, f"outage {index + 1} holds a value of the wrong kind ({error})"
        if broken is not None:
            name, legal = broken
            received = getattr(outage, name)
            received = "missing" if received is None or received == () else format_value(received)
            return index, f"{name} of outage {index + 1} must be {legal}, not {received}"
    return _find_overload(outages, most)


def _broken_rule(outage: Outage, most: float) -> tuple[str, str] | None:
    """Field and rule that the outage breaks. Comparisons are written so that NaN fails them."""
    if type(outage.kind) is not OutageKind:
        return "kind", f"an OutageKind ({', '.join(OutageKind)})"
    return _broken_extent(outage, most) or _broken_kind(outage) or _broken_owners(outage)


def _broken_extent(outage: Outage, most: float) -> tuple[str, str] | None:
    """Rules of its time span and size."""
    start, end, size = outage.start, outage.end, outage.nodes
    if not _is_time(start):
        return "start", TIMES
    if not (_is_time(end) and to_ticks(end) > to_ticks(start)):
        return "end", f"later than its start of {start} s, and at most {LARGEST_TIME:,.0f} s"
    if not is_whole(size, 1, numpy=True):
        return "nodes", "a whole number >= 1"
    if size > most:
        return "nodes", f"at most the {most:,} nodes of the machine"
    return None


def _broken_kind(outage: Outage) -> tuple[str, str] | None:
    """Rules of fields that only windows or only failures have."""
    announced, place = outage.announced, outage.place
    if outage.running not in _RUNNING:
        return "running", " or ".join(_RUNNING)
    if outage.kind is OutageKind.FAILURE:
        if announced is not None:
            return "announced", "missing for a failure, which is not known before"
        if place is None or not 0 <= place < 1:
            return "place", "a number from 0 to below 1 for a failure"
    elif place is not None:
        return "place", f"missing for a {outage.kind}"
    elif announced is not None and not (_is_time(announced) and announced <= outage.start):
        return "announced", f"at most its start of {outage.start} s"
    return None


def _broken_owners(outage: Outage) -> tuple[str, str] | None:
    given = next((name for name in ("jobs", "users", "projects") if getattr(outage, name)), None)
    if outage.kind is OutageKind.RESERVATION:
        return None if given else ("jobs", "given for a reservation, or users or projects")
    return (given, f"missing for a {outage.kind}") if given else None


def _is_time(value: object) -> bool:
    return is_number(value) and -LARGEST_TIME <= value <= LARGEST_TIME


def _find_overload(outages: Sequence[Outage], most: float) -> tuple[int, str] | None:
    """Windows that overlap and together need more than the machine."""
    steps: list[tuple[int, int, int, int]] = []
    for index, outage in enumerate(outages):
        if outage.kind is not OutageKind.FAILURE:
            # At equal times, windows that end release nodes before others begin.
            steps += [(to_ticks(outage.start), 1, index, outage.nodes), (to_ticks(outage.end), 0, index, -outage.nodes)]
    used = 0
    for at, begins, index, nodes in sorted(steps):
        used += nodes
        if begins and used > most:
            return index, (
                f"nodes of outage {index + 1} must leave room for the windows that it overlaps: "
                f"at {at / SECOND:g} s they take {used:,} of the {most:,} nodes"
            )
    return None
