"""Shares of the node-hours that each user or project had in a window of time."""

from __future__ import annotations

from collections import Counter

from holdfast.experiments.recordings.time_windows import Window
from holdfast.simulator.results.recording import Recording
from holdfast.simulator.results.run_table import runs
from holdfast.workloads.ground.wording import in_unit, join_words

__all__ = ["node_share_sentence", "node_shares"]

#: Users that the sentence names.
_NAMED = 3


def node_shares(recording: Recording, by: str, window: Window | None = None) -> dict[str, float]:
    """Shares of the used node-time of a window, largest first; ties by name.

    Parameters
    ----------
    recording
        A recording; without an event log each job counts from its start to its end.
    by
        ``user`` or ``project``.
    window
        Time that counts; None: everything.

    Returns
    -------
    dict
        Share of each user or project, > 0; empty if nothing ran.

    Raises
    ------
    InputError
        If the window is not legal.
    """
    opens, closes = (window or Window()).bounds(recording)
    names = {job.job_id: getattr(job, by) for job in recording.table}
    used: Counter[str] = Counter()
    for job_id, start, end, nodes in _pieces(recording):
        used[names[job_id]] += nodes * max(0, min(end, closes) - max(start, opens))
    total = used.total()
    return {name: time / total for name, time in sorted(used.items(), key=lambda item: (-item[1], item[0])) if time}


def _pieces(recording: Recording) -> list[tuple[int, int, int, int]]:
    """Job, begin, end and nodes of each time in which the nodes of a job did not change [ticks of the simulation]."""
    if recording.entries:
        return [(run.job_id, *piece) for run in runs(recording) for piece in run.pieces]
    return [
        (record.job_id, record.start - recording.origin, record.end - recording.origin, record.nodes)
        for record in recording.records
        if record.start is not None and record.end is not None
    ]


def node_share_sentence(recording: Recording, window: Window | None = None) -> str:
    """Sentence on the users with most node-hours; on projects where no user is known."""
    for by in ("user", "project"):
        shares = node_shares(recording, by, window)
        if set(shares) - {""}:
            break
    else:
        return "The log names neither users nor projects."
    named = [(name, share) for name, share in shares.items() if name][:_NAMED]
    parts = [f"{name} {'had ' * (name == named[0][0])}{100 * share:.0f} %" for name, share in named]
    others = len(shares) - len(named)
    if others:
        parts.append(f"{others:,} other{'s' * (others != 1)} {100 * (1 - sum(share for _, share in named)):.0f} %")
    return in_unit(f"Of the used node-hours, {by} {join_words(parts)}.", recording.unit)
