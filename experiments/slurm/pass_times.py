"""Times of Slurm's passes around the events of jobs, as far as the starts of a replay show them.

Without ``CompleteWait`` Slurm also makes passes while nodes complete. Such a pass can start a job elsewhere, and sees
these nodes neither idle nor free; which nodes a job gets, and whether it starts, then depends on fractions of a second.
"""

from __future__ import annotations

from typing import NamedTuple

from holdfast.experiments.slurm.decision_pace import Pace
from holdfast.experiments.slurm.placed_replay import PlacedReplay

__all__ = ["PassDelays", "measure_delays"]

#: Later starts are not taken for those of the pass that follows an event [s].
_LONGEST = 3.0
#: Time from a pass that finds nodes completing until they are free, where no later start shows it [s].
_COMPLETES = 0.4


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
    """

    submit: float
    release: float
    completing: float | None = None


def measure_delays(replay: PlacedReplay, pace: Pace) -> dict[int, PassDelays]:
    """Measure the delays of each job.

    Parameters
    ----------
    replay
        What Slurm did. Only the times and nodes of starts are used, not which job started.
    pace
        Delays where no start shows them.

    Returns
    -------
    dict of int to PassDelays
        By job id.
    """
    found = {}
    for job in replay.jobs:
        same, other = [], []
        for start in replay.jobs:
            if start.submit <= job.end <= start.start <= job.end + _LONGEST:
                delays = other if set(start.nodes).isdisjoint(job.nodes) else same
                delays.append(start.start - job.end)
        early = min(other) if other and (not same or min(other) < min(same)) else None
        if same:
            release = min(same)
        elif early is not None:
            release = early + _COMPLETES
        else:
            release = pace.release
        found[job.job_id] = PassDelays(job.wait if job.wait < _LONGEST else pace.submit, release, early)
    return found
