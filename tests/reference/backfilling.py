"""Backfilling by reservations, as plain as it gets: everything is planned anew from the start times at each instant.

Shares no code with the simulator or with :mod:`tests.reference.easy`. All times are integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Replayed", "replay_strict", "replay_with_reservations"]


class Replayed(NamedTuple):
    """What became of the jobs, in trace order: when each started, and what it was promised at its submit."""

    start: list[int]
    promise: list[int]


def replay_with_reservations(
    submit: Sequence[int],
    nodes: Sequence[int],
    walltime: Sequence[int],
    runtime: Sequence[int],
    machine: int,
    depth: int | None = None,
    eligible: Sequence[int] | None = None,
) -> Replayed:
    """First come, first served; the first ``depth`` jobs that must wait hold reservations (None: all of them).

    "conservative backfilling [...] moves jobs forward only if they do not delay any previous job in the queue" (Mu'alem
    & Feitelson 2001). The promise of a job that holds no reservation at its submit is -1. A job is in the queue from
    when it is ``eligible`` (None: from its submit on), ordered by its submit.
    """
    arrival = submit if eligible is None else eligible
    jobs = sorted(range(len(submit)), key=lambda job: (submit[job], job))
    start: dict[int, int] = {}
    promise = [-1] * len(submit)
    now = -1
    while len(start) < len(submit):
        ends = {start[job] + runtime[job] for job in start}
        now = min(time for time in {*arrival, *ends} if time > now)
        # (from, until, nodes) of what runs, of what starts now, and of what is reserved.
        taken = [(now, start[job] + walltime[job], nodes[job]) for job in start if start[job] + runtime[job] > now]
        held = 0
        for job in jobs:
            if arrival[job] > now or job in start:
                continue
            times = sorted({now, *(until for _, until, _ in taken)})
            at = next(time for time in times if _fits(taken, time, time + walltime[job], nodes[job], machine))
            if at == now:
                start[job] = now
            elif depth is not None and held >= depth:
                continue
            else:
                held += 1
            taken.append((at, at + walltime[job], nodes[job]))
            if arrival[job] == now:
                promise[job] = at
    return Replayed([start[job] for job in range(len(submit))], promise)


def _fits(taken: list[tuple[int, int, int]], begin: int, end: int, size: int, machine: int) -> bool:
    """Whether so many nodes are free at each instant in between; their number only falls where something begins."""
    instants = {begin, *(first for first, _, _ in taken if begin <= first < end)}
    return all(size + sum(n for first, until, n in taken if first <= at < until) <= machine for at in instants)


def replay_strict(
    submit: Sequence[int],
    nodes: Sequence[int],
    runtime: Sequence[int],
    machine: int,
    eligible: Sequence[int] | None = None,
) -> list[int]:
    """First come, first served without backfilling: a job starts no earlier than the one before, once it fits.

    A job that is eligible after its submit does not keep others back until then.
    """
    if eligible is not None:
        return _replay_by_instants(submit, nodes, runtime, machine, eligible)
    start = [0] * len(submit)
    before = 0
    running: list[tuple[int, int]] = []  # (end, nodes)
    for job in sorted(range(len(submit)), key=lambda job: (submit[job], job)):
        at = max(before, submit[job])
        while sum(n for end, n in running if end > at) + nodes[job] > machine:
            at = min(end for end, _ in running if end > at)
        start[job] = before = at
        running.append((at + runtime[job], nodes[job]))
    return start


def _replay_by_instants(
    submit: Sequence[int], nodes: Sequence[int], runtime: Sequence[int], machine: int, eligible: Sequence[int]
) -> list[int]:
    """The same instant by instant."""
    start: dict[int, int] = {}
    order = sorted(range(len(submit)), key=lambda job: (submit[job], job))
    for now in range(max(eligible) + sum(runtime) + 1):
        free = machine - sum(nodes[job] for job in start if start[job] + runtime[job] > now)
        for job in order:
            if job in start or eligible[job] > now:
                continue
            if nodes[job] > free:
                break
            start[job] = now
            free -= nodes[job]
    return [start[job] for job in range(len(submit))]
