"""Placement of jobs: which nodes each job had, and when, derived from the event log by best fit.

The simulation counts nodes and does not number them: nodes are alike, so that any numbering with the right counts is
equally valid. This one keeps nodes together: jobs take the narrowest sufficient gap from the lowest number on,
on-demand jobs and nodes held for them from the highest. A tenant runs on nodes of reservations, which get the same
nodes back, and an on-demand job starts on the nodes that were held for it.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby

from holdfast.experiments.placement.holdings import DOWN, HELD, RUN, WARNED, Holdings, Span
from holdfast.experiments.placement.ranges import best_fit, common, highest, lowest, size, union, without
from holdfast.simulator.machine.event_log import Entry
from holdfast.simulator.results.recording import Recording, require_events

__all__ = ["DOWN", "HELD", "RUN", "WARNED", "Span", "place_nodes"]


def place_nodes(result: Recording) -> list[Span]:
    """Number the nodes of all runs, reservations and outages in the event log of a simulation.

    Parameters
    ----------
    result
        A result with its event log, in memory or read back from a directory.

    Returns
    -------
    list of Span
        Spans in the order of their ends. At any time, no node is in two of them, each run has the number of nodes in
        the log, and the number of held nodes equals that in the samples of the result.

    Raises
    ------
    InputError
        If the event log was switched off.
    """
    machine = Holdings(require_events(result).nodes, result.record)
    held = {sample[0]: sample[2] for sample in result.samples}
    for now, entries in groupby(result.entries, key=lambda entry: entry.time):
        for entry in entries:
            happen = _EVENTS.get(entry.event)
            if happen is not None:
                happen(machine, entry)
        if now in held:
            machine.settle(held[now], now)
    # A simulation ends with the last job, but a reservation may still be open.
    for key in list(machine.holders):
        machine.release(key, result.entries[-1].time)
    return machine.spans


def _start(machine: Holdings, entry: Entry) -> None:
    job_id, now = entry.job_id, entry.time
    machine.runs[job_id] = machine.runs.get(job_id, 0) + 1
    nodes = highest(machine.release((HELD, job_id), now), entry.after)
    machine.lent.pop(job_id, None)
    machine.gathering.pop(job_id, None)
    for key in machine.find_lenders(entry.cause):
        drawn = best_fit(machine.of(key), min(size(machine.of(key)), entry.after - size(nodes)))
        machine.hold(key, without(machine.of(key), drawn), now)
        machine.lent[key[1]] = union(machine.lent.get(key[1], ()), drawn)
        nodes = union(nodes, drawn)
    machine.hold((RUN, job_id), nodes, now)
    _grow(machine, entry)


def _grow(machine: Holdings, entry: Entry) -> None:
    """Expand a run to the number of nodes in the entry."""
    key = RUN, entry.job_id
    nodes = machine.of(key)
    machine.hold(key, union(nodes, machine.take(entry.after - size(nodes), entry.job_id, entry.time)), entry.time)


def _shrink(machine: Holdings, entry: Entry) -> None:
    """Shrink a run by its highest nodes."""
    key = RUN, entry.job_id
    nodes = machine.of(key)
    machine.hold(key, lowest(nodes, entry.after), entry.time)


def _warn(machine: Holdings, entry: Entry) -> None:
    key = RUN, entry.job_id
    machine.hold(key, machine.of(key), entry.time, kind=WARNED)


def _end(machine: Holdings, entry: Entry) -> None:
    machine.release((RUN, entry.job_id), entry.time, entry.event)


def _notice(machine: Holdings, entry: Entry) -> None:
    """Open a reservation."""
    machine.hold((HELD, entry.job_id), (), entry.time)


def _reserve(machine: Holdings, entry: Entry) -> None:
    """Change a reservation: it grows, by returned nodes first, or an outage takes some of its nodes."""
    job_id, count = entry.job_id, entry.after - entry.before
    if count < 0:
        machine.trim((HELD, job_id), -count, entry.time)
        return
    lent = machine.lent.get(job_id, ())
    back = common(lent, machine.free)
    back = best_fit(back, min(count, size(back)))
    machine.hold((HELD, job_id), union(machine.of((HELD, job_id)), back), entry.time)
    machine.lent[job_id] = without(lent, back)
    machine.top_up(job_id, count - size(back), entry.time)


def _gather(machine: Holdings, entry: Entry) -> None:
    """Hold the nodes of an arrived job that waits for more."""
    machine.gathering[entry.job_id] = None
    machine.lent.pop(entry.job_id, None)
    machine.top_up(entry.job_id, entry.after - size(machine.of((HELD, entry.job_id))), entry.time)


def _down(machine: Holdings, entry: Entry) -> None:
    """Take nodes down for an outage."""
    key = DOWN, entry.job_id
    nodes = machine.of(key)
    machine.hold(key, union(nodes, machine.take(entry.after - size(nodes), entry.job_id, entry.time)), entry.time)


def _up(machine: Holdings, entry: Entry) -> None:
    machine.release((DOWN, entry.job_id), entry.time)


def _give_up(machine: Holdings, entry: Entry) -> None:
    """Close a reservation without its job."""
    machine.release((HELD, entry.job_id), entry.time)
    machine.lent.pop(entry.job_id, None)
    machine.gathering.pop(entry.job_id, None)


def _cancel(machine: Holdings, entry: Entry) -> None:
    """Release the nodes of a cancelled job, which may be running, gathering nodes, or have none."""
    _end(machine, entry)
    _give_up(machine, entry)


#: Handlers of the events that change nodes. To support another kind of holder, add its events here.
_EVENTS: dict[str, Callable[[Holdings, Entry], None]] = {
    "start": _start,
    "expand": _grow,
    "shrink": _shrink,
    "warn": _warn,
    "preempt": _end,
    "expire": _end,
    "complete": _end,
    "kill": _end,
    "cancel": _cancel,
    "notice": _notice,
    "reserve": _reserve,
    "gather": _gather,
    "wait": _give_up,
    "time-out": _give_up,
    "withdraw": _give_up,
    "close": _give_up,
    "down": _down,
    "up": _up,
}
