"""Futures: job tables that may follow from a state, with runtimes and future arrivals drawn at random.

Draw by draw the random numbers of a job are the same for all alternatives that are compared. Source: docs/forecast.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from experiments.forecast.history import History
from experiments.forecast.states import MachineState, SeenJob
from workloads.ground.errors import ParameterError, UnknownNameError
from workloads.ground.streams import stream
from workloads.ground.units import LARGEST_TIME
from workloads.table.job import Job, JobType

__all__ = ["ARRIVALS", "Drawing", "Future"]

#: Where the jobs come from that are submitted after the state.
ARRIVALS = ("none", "weeks")
#: A week, after which submits resemble themselves [s].
_WEEK = 7 * 86_400.0
#: What a job over its walltime still has [s]: schedulers look every minute or so.
_GRACE = 60.0
#: Ids of jobs to come begin so far after those of the state, where the ids of jobs that are added have their place.
_OTHERS = 1_000_000


@dataclass(frozen=True)
class Future:
    """How the future is drawn.

    Attributes
    ----------
    arrivals
        ``weeks``: in each week to come the submits of a random week before; ``none``: nothing is submitted.
    horizon
        How long jobs are submitted [s].
    """

    arrivals: str = "weeks"
    horizon: float = 7 * 86_400.0

    def __post_init__(self) -> None:
        if self.arrivals not in ARRIVALS:
            raise UnknownNameError("kind of arrivals", self.arrivals, ARRIVALS)
        if not 0 < self.horizon <= LARGEST_TIME:
            raise ParameterError("horizon", "a duration above 0", self.horizon)


class Drawing:
    """All draws of a state; a draw is made when it is asked for.

    Parameters
    ----------
    state
        The state.
    history
        Runs completed by then; None: every runtime is the walltime, and nothing is submitted later.
    future
        How the future is drawn.
    draws
        How many.
    seed
        Seed of every random choice.
    """

    def __init__(self, state: MachineState, history: History | None, future: Future, draws: int, seed: int) -> None:
        self.state = state
        self.draws = draws
        self._history = history
        self._future = future
        self._seed = seed
        #: Runtime of each job of the state in each draw [s], shape (draws, jobs).
        self.runtimes = self._drawn()

    def _drawn(self) -> npt.NDArray[np.float64]:
        jobs, at, draws = self.state.jobs, self.state.at, self.draws
        runtimes = np.empty((draws, len(jobs)))
        for place, job in enumerate(jobs):
            elapsed = 0.0 if job.start is None else at - job.start
            if self._history is None:
                runtimes[:, place] = job.walltime if elapsed < job.walltime else elapsed + _GRACE
            else:
                # A stream for each job: the others keep their numbers when one more is asked for.
                levels = 1.0 - stream(self._seed, "forecast", "runtime", job.job_id).random(draws)
                runtimes[:, place] = self._history.runtimes(job, levels, elapsed)
        return runtimes

    @property
    def horizon(self) -> float:
        """How long jobs are submitted [s]; 0: nothing is."""
        return self._future.horizon if self._history is not None and self._future.arrivals == "weeks" else 0.0

    def table(self, draw: int, reach: float = math.inf) -> list[Job]:
        """The job table of one draw: running jobs with their starts, waiting ones, and those to come.

        Parameters
        ----------
        draw
            Its number.
        reach
            Jobs to come are made for so long [s]; those made are the same for any reach.
        """
        table = [_job(job, time) for job, time in zip(self.state.jobs, self.runtimes[draw].tolist(), strict=True)]
        if self._history is not None and self.horizon:
            table += self._coming(self._history, draw, min(reach, self.horizon))
        return table

    def _coming(self, history: History, draw: int, horizon: float) -> list[Job]:
        state = self.state
        weeks = int((state.at - history.submits[0]) // _WEEK) if history.submits.size else 0
        if not weeks:
            return []
        rng = stream(self._seed, "forecast", "arrivals", draw)
        number = max((job.job_id for job in state.jobs), default=0) + _OTHERS
        found: list[Job] = []
        for week in range(math.ceil(horizon / _WEEK)):
            # The same hours of the week: the window begins whole weeks before the state.
            back = int(rng.integers(1, weeks + 1))
            opens = state.at - back * _WEEK
            first, last = np.searchsorted(history.submits, [opens, opens + _WEEK], side="right").tolist()
            levels = 1.0 - rng.random(last - first)
            latest = state.at + horizon - (back + week) * _WEEK
            last = min(last, int(np.searchsorted(history.submits, latest, side="right")))
            levels = levels[: max(0, last - first)]
            runtimes = history.runtimes_of_submitted(first, first + len(levels), levels).tolist()
            for seen, runtime in zip(history.submitted[first : first + len(levels)], runtimes, strict=True):
                submit = seen.submit + (back + week) * _WEEK
                if submit <= state.at + horizon and seen.nodes <= state.nodes:
                    found.append(_job(replace(seen, job_id=number + len(found), submit=submit), runtime))
        return found


def _job(job: SeenJob, runtime: float) -> Job:
    return Job(
        job.job_id,
        JobType.RIGID,
        job.submit,
        job.nodes,
        runtime,
        max(job.walltime, runtime),
        user=job.user,
        project=job.project,
        running_since=job.start,
    )
