"""Times and threads of Slurm's passes around the events of jobs, as far as the starts of a replay show them.

Without ``CompleteWait`` Slurm also makes passes while nodes complete. Such a pass can start a job elsewhere, and sees
these nodes neither idle nor free; which nodes a job gets, and whether it starts, then depends on fractions of a second.
So does the thread that comes first, main scheduler or backfill: they choose among other nodes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from holdfast.experiments.slurm.decision_pace import Pace
from holdfast.experiments.slurm.placed_replay import PlacedReplay

__all__ = ["PassDelays", "measure_delays"]

#: Later starts are not taken for those of the pass that follows an event [s].
_LONGEST = 3.0
#: Time from a pass that finds nodes completing until they are free, where no later start shows it [s].
_COMPLETES = 0.4
#: Times so close to each other are equal: sums of seconds differ in their last bits [s].
_EQUAL = 1e-6
#: Least time from a pass to the next one of its thread (``bf_interval=1``) [s].
_NEXT_PASS = 1.0


class PassDelays(NamedTuple):
    """Delays around one job [s].

    Attributes
    ----------
    submit
        From its submission until a pass sees it.
    release
        From its end until its nodes can be used and a pass has run.
    completing
        From its end to a pass at which its nodes still complete; None: no start shows such a pass.
    submit_by, release_by
        Thread that makes the pass after its submission, and after its end, ``main`` or ``backfill``; empty: unknown.
    starts
        Times of the starts that follow the first one of the pass after its end, from that one on.
    """

    submit: float
    release: float
    completing: float | None = None
    submit_by: str = ""
    release_by: str = ""
    starts: tuple[float, ...] = ()


def measure_delays(replay: PlacedReplay, pace: Pace) -> dict[int, PassDelays]:
    """Measure the delays of each job.

    Parameters
    ----------
    replay
        What Slurm did. Only the times, nodes and threads of starts are used, not which job started.
    pace
        Delays where no start shows them.

    Returns
    -------
    dict of int to PassDelays
        By job id.
    """
    found = {}
    every = sorted(job.start for job in replay.jobs)
    for job in replay.jobs:
        same: list[tuple[float, str]] = []
        other: list[float] = []
        for start in replay.jobs:
            if start.queued <= job.end <= start.start <= job.end + job.completing + _LONGEST:
                delay = start.start - job.end
                if set(start.nodes).isdisjoint(job.nodes):
                    other.append(delay)
                else:
                    same.append((delay, start.by))
        release, by = min(same, default=(pace.release, ""))
        early = min(other) if other and (not same or min(other) < release) else None
        if not same and early is not None:
            release = early + _COMPLETES
        at_once = job.wait < _LONGEST
        starts = _starts_of_pass(every, job.end + min(same)[0]) if same else ()
        submit = job.wait if at_once else pace.submit
        found[job.job_id] = PassDelays(submit, release, early, job.by if at_once else "", by, starts)
    return found


def _starts_of_pass(every: Sequence[float], first: float) -> tuple[float, ...]:
    """Times from the first start of a pass to those that follow one another within a second."""
    found = [0.0]
    for start in every[bisect_right(every, first + _EQUAL) :]:
        if start - first - found[-1] >= _NEXT_PASS:
            break
        found.append(start - first)
    return tuple(found[1:])
