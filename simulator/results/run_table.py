"""Table of runs: for each job, every period from a start to its end or preemption, derived from the event log."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from holdfast.simulator.machine.event_log import Entry
from holdfast.simulator.results.recording import Recording, require_events

__all__ = ["LoggedRun", "runs", "runs_by_job"]

#: Events that change the nodes of a run, with the warning, which leaves them unchanged; and events that end it.
_CHANGES = frozenset({"shrink", "expand", "warn"})
_ENDINGS = frozenset({"complete", "kill", "preempt", "expire", "cancel"})


class LoggedRun(NamedTuple):
    """One run of a job; its duration may be zero.

    Attributes
    ----------
    job_id, number
        Job, and number of the run, from 1. Each reservation of a stochastic job is a run.
    start, end
        Ticks of the simulated clock, including a warning and any time before the replay began.
    nodes
        At its start.
    pieces
        (start, end, nodes) of its periods with constant nodes, none of them empty; a warning begins a new period.
    warned
        Begin of its warning; None: there was none.
    cause, ending
        Cause of its start, and the event that ended it.
    """

    job_id: int
    number: int
    start: int
    end: int
    nodes: int
    pieces: tuple[tuple[int, int, int], ...]
    warned: int | None
    cause: str
    ending: str

    @property
    def node_ticks(self) -> int:
        """Nodes times ticks."""
        return sum((end - start) * nodes for start, end, nodes in self.pieces)


class _OpenRun:
    """A run that has not ended yet."""

    __slots__ = ("begun", "nodes", "pieces", "since", "start", "warned")

    def __init__(self, begun: Entry, start: int) -> None:
        self.begun = begun
        self.start = self.since = start
        self.nodes = begun.after
        self.pieces: list[tuple[int, int, int]] = []
        self.warned: int | None = None

    def resize(self, now: int, nodes: int) -> None:
        if now > self.since:
            self.pieces.append((self.since, now, self.nodes))
        self.since, self.nodes = now, nodes


def runs(recording: Recording) -> Iterator[LoggedRun]:
    """All runs, in the order in which they end.

    Parameters
    ----------
    recording
        A recording with its event log.

    Raises
    ------
    InputError
        If the event log was switched off.
    """
    going: dict[int, _OpenRun] = {}
    numbers: dict[int, int] = {}
    for entry in require_events(recording).entries:
        now, event, job_id = entry.time, entry.event, entry.job_id
        if event == "start":
            since = recording.record[job_id].start
            # A job that was running when the replay began is logged as started then.
            early = job_id not in numbers and since is not None
            going[job_id] = _OpenRun(entry, since - recording.origin if early and since is not None else now)
            numbers[job_id] = numbers.get(job_id, 0) + 1
        elif job_id not in going:
            continue
        elif event in _CHANGES:
            going[job_id].resize(now, entry.after)
            if event == "warn":
                going[job_id].warned = now
        elif event in _ENDINGS:
            run = going.pop(job_id)
            run.resize(now, 0)
            begun, number = run.begun, numbers[job_id]
            pieces = tuple(run.pieces)
            yield LoggedRun(job_id, number, run.start, now, begun.after, pieces, run.warned, begun.cause, event)


def runs_by_job(recording: Recording) -> dict[int, list[LoggedRun]]:
    """The :func:`runs` of each job that started, in the order of their starts."""
    found: dict[int, list[LoggedRun]] = {}
    for run in runs(recording):
        found.setdefault(run.job_id, []).append(run)
    return found
