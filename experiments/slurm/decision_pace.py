"""Pace of a Slurm: how long its scheduler takes from an event to a decision.

On a fast clock, and on a busy machine, the time until nodes have completed and a pass has run is seconds, which add up
along a chain of jobs that wait for each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from holdfast.experiments.slurm.placed_replay import PlacedJob, PlacedReplay
from holdfast.experiments.slurm.recorded_replay import Replay, ReplayedJob

__all__ = ["Pace", "measure_pace"]

#: Longer times from an event to a start are waits for something else [s].
_LONGEST = 10.0


class Pace(NamedTuple):
    """Times from an event to the decision that follows [s].

    Attributes
    ----------
    release
        From the end of a job until its nodes have completed and a pass has run.
    submit
        From a submission until a pass sees the job.
    """

    release: float = 0.0
    submit: float = 0.0


def measure_pace(replay: Replay | PlacedReplay, interval: float = 0.0) -> Pace:
    """Measure the pace of a replay: medians over the starts that follow an event within seconds.

    Parameters
    ----------
    replay
        What Slurm did.
    interval
        Time between two passes of the backfill thread, if starts wait for it [s]; then starts of the main scheduler
        alone say how long nodes take, and a submission is seen at the next pass.
    """
    jobs: Sequence[ReplayedJob | PlacedJob] = replay.jobs
    ends = sorted(job.end for job in jobs)
    after_end: list[float] = []
    after_submit: list[float] = []
    place, last = 0, float("-inf")
    for job in sorted(jobs, key=lambda job: job.start):
        while place < len(ends) and ends[place] <= job.start:
            last = ends[place]
            place += 1
        delay = job.start - max(last, job.queued)
        if delay <= _LONGEST and (not interval or job.by == "main"):
            (after_submit if job.queued > last else after_end).append(delay)
    release = round(median(after_end), 3) if after_end else 0.0
    return Pace(release, round(median(after_submit), 3) if after_submit and not interval else 0.0)
