"""Runs: what each job did from a start to the next end, from the event log."""

from __future__ import annotations

from typing import NamedTuple

from simulator.machine.eventlog import Entry
from simulator.results.recording import Recording

__all__ = ["ENDINGS", "Run", "runs_of"]

#: The events that end a run.
ENDINGS = ("complete", "kill", "preempt", "expire", "cancel")


class Run(NamedTuple):
    """One run of a job; it may have been as short as nothing.

    Attributes
    ----------
    job_id, number
        Job, and number of its run, from 1. Each reservation of a stochastic job is a run.
    start, end
        Ticks of the simulated clock; a warning is part of the run, and so is what was before the replay began.
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


def runs_of(recording: Recording) -> dict[int, list[Run]]:
    """The runs of each job that ever started, in the order of their starts.

    Parameters
    ----------
    recording
        With its event log.
    """
    found: dict[int, list[Run]] = {}
    # Of runs that go on: the entry of the start, the last change of its nodes, node-ticks up to it, and nodes since.
    open_runs: dict[int, tuple[Entry, int, int, int]] = {}
    for entry in recording.with_events().entries:
        event, job_id = entry.event, entry.job_id
        if event == "start":
            start, since = entry.time, recording.record[job_id].start
            # A job that was running when the replay began is logged as started then.
            if job_id not in found and since is not None:
                start = since - recording.origin
            open_runs[job_id] = entry._replace(time=start), start, 0, entry.after
        elif event in ("shrink", "expand"):
            begun, changed, spent, nodes = open_runs[job_id]
            open_runs[job_id] = begun, entry.time, spent + nodes * (entry.time - changed), entry.after
        elif event in ENDINGS and job_id in open_runs:
            begun, changed, spent, nodes = open_runs.pop(job_id)
            before = found.setdefault(job_id, [])
            spent += nodes * (entry.time - changed)
            number = len(before) + 1
            before.append(Run(job_id, number, begun.time, entry.time, spent, begun.after, begun.cause, event))
    return found
