"""Runs: what each job did from a start to the next end, from the event log alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from simulator.eventlog import Entry

__all__ = ["ENDINGS", "Run", "runs_of"]

#: The events that end a run.
ENDINGS = ("complete", "kill", "preempt", "expire")


class Run(NamedTuple):
    """One run of a job; it may have been as short as nothing.

    Attributes
    ----------
    job_id, number
        Whose, and which of the job's, from 1. Of a stochastic job each reservation is a run.
    start, end
        Ticks of the simulated clock; a warning is part of the run.
    node_ticks
        Nodes times ticks.
    nodes
        At its start.
    cause, ending
        Why it was started, and the event that ended it.
    """

    job_id: int
    number: int
    start: int
    end: int
    node_ticks: int
    nodes: int
    cause: str
    ending: str


def runs_of(entries: Iterable[Entry]) -> dict[int, list[Run]]:
    """The runs of each job that ever started, in the order of their starts.

    Parameters
    ----------
    entries
        An event log.
    """
    found: dict[int, list[Run]] = {}
    # Of runs that go on: the entry of the start, the last change of its nodes, node-ticks up to it, and nodes since.
    open_runs: dict[int, tuple[Entry, int, int, int]] = {}
    for entry in entries:
        event, job_id = entry.event, entry.job_id
        if event == "start":
            open_runs[job_id] = entry, entry.time, 0, entry.after
        elif event in ("shrink", "expand"):
            start, since, spent, nodes = open_runs[job_id]
            open_runs[job_id] = start, entry.time, spent + nodes * (entry.time - since), entry.after
        elif event in ENDINGS:
            start, since, spent, nodes = open_runs.pop(job_id)
            before = found.setdefault(job_id, [])
            spent += nodes * (entry.time - since)
            number = len(before) + 1
            before.append(Run(job_id, number, start.time, entry.time, spent, start.after, start.cause, event))
    return found
