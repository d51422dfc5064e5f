"""Phases of every run (setup, compute, checkpoint, loss, warning), from the event log and the job table.

The simulator books node-ticks when a run ends. Here they are placed in time, so that their integral over time equals
:class:`~holdfast.simulator.results.records.Accounting`, to the tick. Source: docs/model.md, "Metrics".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from holdfast.experiments.recordings.time_windows import accounting_start
from holdfast.policies.mechanism import BASELINE
from holdfast.simulator.machine.actual_outcomes import CANCELLED, COMPLETED, SAVED
from holdfast.simulator.machine.job_factory import job_state
from holdfast.simulator.machine.job_state import JobState
from holdfast.simulator.machine.stochastic import ReservationRecord
from holdfast.simulator.results.integrals import integral
from holdfast.simulator.results.recording import Recording, down_spans
from holdfast.simulator.results.records import Accounting
from holdfast.simulator.results.run_table import LoggedRun, runs
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.table.job import JobType

__all__ = ["Phase", "UseOfTime", "phases", "use_of_time"]

Ints = npt.NDArray[np.int64]

#: Ends after which no time counts as lost: a cancellation by the user is not a loss caused by other jobs.
_GOOD = frozenset({"complete", "kill", "cancel"})


class Phase(NamedTuple):
    """A period in which all nodes of a run had one use.

    Attributes
    ----------
    job_id
        Job of the run.
    start, end
        Ticks of the simulated clock.
    nodes
        Number of nodes.
    use
        ``compute``, ``setup``, ``checkpoint``, ``lost`` or ``warning``.
    """

    job_id: int
    start: int
    end: int
    nodes: int
    use: str


def phases(recording: Recording) -> Iterator[Phase]:
    """The phases of all runs, run by run in the order in which they end.

    Parameters
    ----------
    recording
        A recording with its event log.

    Yields
    ------
    Phase
        Phases of positive length.

    Raises
    ------
    InputError
        If the event log was switched off.
    """
    # In order: a reservation that is preempted as it starts may start again in the same instant.
    reserved = {course.job_id: iter(course.reservations) for course in recording.stochastic}
    states: dict[int, JobState] = {}
    for run in runs(recording):
        job = recording.job[run.job_id]
        if job.type is JobType.STOCHASTIC:
            reservation = next(reserved.get(run.job_id, iter(())), None)
            if reservation is None:
                raise InputError(f"the event log has a run of job {run.job_id} that the table of reservations lacks")
            yield from _reservation(run, reservation)
            continue
        state = states.get(run.job_id)
        if state is None:
            baseline = recording.mechanism == BASELINE
            state = job_state(job, 0, 0, recording.origin, recording.options, baseline=baseline)
            states[run.job_id] = state
        good = run.ending in _GOOD
        phases = _malleable if state.type is JobType.MALLEABLE else _fixed_phases
        yield from phases(run, state, good=good)


def _cut(job_id: int, start: int, nodes: int, parts: Iterable[tuple[int, str]]) -> Iterator[Phase]:
    for length, use in parts:
        if length > 0:
            yield Phase(job_id, start, start + length, nodes, use)
        start += length


def _fixed_phases(run: LoggedRun, job: JobState, *, good: bool) -> Iterator[Phase]:
    """Setup, then alternating compute and dump; a stop loses the setup and all work since the last dump."""
    elapsed = run.end - run.start
    inside = max(0, elapsed - job.setup)
    cycles = min(inside // job.period, job.dumps) if job.period else 0
    setup = min(elapsed, job.setup)
    turns = [(job.interval, "compute"), (job.cost, "checkpoint")] * cycles
    rest = elapsed - setup - cycles * job.period
    # A cancellation may come in the middle of a dump.
    compute = min(rest, job.interval) if cycles < job.dumps else rest
    nodes = run.pieces[0][2] if run.pieces else 0
    parts = [(setup, "setup"), *turns, (compute, "compute"), (rest - compute, "checkpoint")]
    if not good:
        parts = [(setup, "lost"), *turns, (rest, "lost")]
    yield from _cut(job.job_id, run.start, nodes, parts)
    if not good:
        # Work that the next run need not repeat.
        job.compute -= cycles * job.interval
        job.dumps -= cycles


def _malleable(run: LoggedRun, job: JobState, *, good: bool) -> Iterator[Phase]:
    """Setup, then work at any size; under warning no work is done, and the setup is lost."""
    ready = run.start + job.setup
    for start, end, nodes in run.pieces:
        if run.warned is not None and start >= run.warned:
            parts = [(end - start, "warning")]
        else:
            setup = max(0, min(end, ready) - start)
            parts = [(setup, "setup" if good and run.warned is None else "lost"), (end - start - setup, "compute")]
        yield from _cut(job.job_id, start, nodes, parts)


def _reservation(run: LoggedRun, record: ReservationRecord) -> Iterator[Phase]:
    """Restart, work and checkpoint of a reservation that completes its job or saves work; any other is lost."""
    parts = [(record.restart, "setup"), (record.work, "compute"), (record.checkpoint, "checkpoint")]
    if record.ending not in (COMPLETED, SAVED, CANCELLED):
        parts = [(record.end - record.start, "lost")]
    yield from _cut(run.job_id, run.start, record.nodes, parts)


class UseOfTime(NamedTuple):
    """Uses of the nodes of a machine over time, as step functions.

    Attributes
    ----------
    times
        Ticks since the first submit (or the begin of a replay with a starting state), ascending from 0 to the last
        completion, shape (m + 1,).
    nodes
        Nodes between two times by use, in the order of :class:`~holdfast.simulator.results.records.Accounting`, each of
        shape (m,).
    """

    times: Ints
    nodes: Mapping[str, Ints]

    def node_ticks(self) -> dict[str, int]:
        """Integrals over the whole time."""
        spans = np.diff(self.times)
        return {use: integral(level, spans) for use, level in self.nodes.items()}


def use_of_time(recording: Recording) -> UseOfTime:
    """Compute the uses of the nodes from the first submit to the last completion.

    Parameters
    ----------
    recording
        A recording with its event log.

    Returns
    -------
    UseOfTime
        The uses sum to the size of the machine at all times, and their integrals equal the accounting exactly.

    Raises
    ------
    InputError
        If the event log was switched off, or no job ran.
    """
    found = list(phases(recording))
    # Time before the begin of a replay with a starting state is not accounted for.
    first = accounting_start(recording)
    last = first if recording.closed is None else recording.closed - recording.origin
    changes: dict[str, list[tuple[int, int]]] = {use: [] for use in Accounting._fields}
    for phase in found:
        if phase.end > first:
            changes[phase.use] += ((max(first, phase.start), phase.nodes), (phase.end, -phase.nodes))
    for before, after in pairwise(recording.samples):
        # Before the first submit a notice may hold nodes; that time is not accounted for.
        start, end = max(first, before[0]), min(last, after[0])
        if before[2] and start < end:
            changes["held"] += ((start, before[2]), (end, -before[2]))
    for start, end, nodes in down_spans(recording):
        changes["down"] += ((start, nodes), (end, -nodes))
    times = np.unique(np.array([first, last, *(time for items in changes.values() for time, _ in items)], np.int64))
    levels = {use: _levels(items, times) for use, items in changes.items()}
    levels["idle"] = recording.nodes - np.sum([level for use, level in levels.items() if use != "idle"], axis=0)
    return UseOfTime(times - first, levels)


def _levels(changes: Sequence[tuple[int, int]], times: Ints) -> Ints:
    """The sum of all changes up to each time but the last."""
    steps = np.zeros(len(times), np.int64)
    if changes:
        at, by = np.array(changes, np.int64).T
        np.add.at(steps, np.searchsorted(times, at), by)
    return np.cumsum(steps)[:-1]
