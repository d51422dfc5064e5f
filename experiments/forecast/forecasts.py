"""Forecasts of the start times of all waiting jobs of a state, from many simulations of sampled workloads.

One simulation gives one sample for every job of the state. Source: docs/forecast.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from holdfast.experiments.forecast.experts import LEVELS, waited_time
from holdfast.experiments.forecast.history import History
from holdfast.experiments.forecast.machine_requests import MachineRequests
from holdfast.experiments.forecast.machine_state import MachineState
from holdfast.experiments.forecast.sampled_workloads import Drawing, Future
from holdfast.experiments.forecast.seen_job import SeenJob
from holdfast.experiments.forecast.track_record import Quality, TrackRecord, limit_probability
from holdfast.experiments.sweeps.execution import spread
from holdfast.simulator.options import Options
from holdfast.simulator.start_times import first_starts
from holdfast.workloads.ground.errors import InputError, ParameterError
from holdfast.workloads.ground.numbers import is_whole
from holdfast.workloads.ground.wording import count_text
from holdfast.workloads.outages.failures import FailureRate

__all__ = ["LEVELS", "WITHIN", "Forecast", "forecast", "machine_starts", "simulate_starts"]

_Found = TypeVar("_Found")

#: Times within which the probability of a start is reported [s].
WITHIN = (3_600.0, 4 * 3_600.0, 24 * 3_600.0)
#: Span of future arrivals drawn at first [s]; it is extended if the awaited jobs have not started.
_REACH = 2 * 3_600.0


@dataclass(frozen=True, eq=False)
class Forecast:
    """Start times of jobs of a state in each draw.

    Attributes
    ----------
    state
        The state.
    ids
        Ids of the requested jobs, shape (jobs,).
    starts, ends
        Start and end of each of them in each draw [s on the clock of the log], shape (draws, jobs).
    waiting
        Ids of all waiting jobs, including the requested ones, shape (waiting,).
    others
        Start of each of these in each draw [s], shape (draws, waiting).
    record
        Back-tests of such forecasts; empty: their quality is unknown.
    """

    state: MachineState
    ids: tuple[int, ...]
    starts: npt.NDArray[np.float64]
    ends: npt.NDArray[np.float64]
    waiting: tuple[int, ...]
    others: npt.NDArray[np.float64]
    record: TrackRecord = field(default_factory=TrackRecord)

    def __repr__(self) -> str:
        return f"<Forecast of {count_text(len(self.ids), 'jobs')}, {count_text(len(self.starts), 'draws')}>"

    @property
    def waits(self) -> npt.NDArray[np.float64]:
        """Time from now to the start of each job in each draw [s], shape (draws, jobs)."""
        waits: npt.NDArray[np.float64] = self.starts - self.state.at
        return waits

    def job(self, job_id: int) -> SeenJob:
        """A job of the state."""
        return next(job for job in self.state.jobs if job.job_id == job_id)

    def has_waited(self, job_id: int) -> bool:
        """Whether a job was in the queue before the time of the state."""
        return waited_time(self.state, self.job(job_id)) > 0

    def qualities(self, ids: Sequence[int] | None = None) -> list[Quality]:
        """Quality of the forecasts of jobs like these, submitted ones first; None: all jobs of the forecast."""
        kinds = {self.has_waited(job_id) for job_id in (self.ids if ids is None else ids)}
        return [self.record.quality(waiting) for waiting in sorted(kinds)]

    def rows(self) -> list[dict[str, Any]]:
        """A row for each job: its request, quantiles of the time to its start and end [s], and probabilities.

        Quantiles are those of the draws: the smallest value that is not below the level's share of them. Probabilities
        are shares of the draws, kept away from 0 and 1
        (:func:`holdfast.experiments.forecast.track_record.limit_probability`). Where there are enough back-tests,
        starts and probabilities are corrected by them, ``corrected`` is true, the starts of the draws are
        ``simulated_p05`` and so on, and ends are shifted like the starts.
        """
        return [dict(row) for row in self._rows]

    @cached_property
    def _rows(self) -> list[dict[str, Any]]:
        # The table and the file both need them; to correct 121 jobs with 100,000 in the past takes 1 s.
        columns: dict[str, list[float]] = {}
        for name, values in (("start", self.waits), ("end", self.ends - self.state.at)):
            for level, found in zip(LEVELS, np.quantile(values, LEVELS, axis=0, method="inverted_cdf"), strict=True):
                columns[f"{name}_p{100 * level:02.0f}"] = found.tolist()
        draws, tests = len(self.starts), [self.record.quality(self.has_waited(job_id)).count for job_id in self.ids]
        for time in WITHIN:
            shares = np.mean(self.waits <= time, axis=0).tolist()
            columns[f"start_within_{time / 3600:g}h"] = [
                limit_probability(share, draws, count) for share, count in zip(shares, tests, strict=True)
            ]
        jobs = {job.job_id: job for job in self.state.jobs}
        rows: list[dict[str, Any]] = []
        for place, job_id in enumerate(self.ids):
            job = jobs[job_id]
            request = {
                "job_id": job_id,
                "nodes": job.nodes,
                "walltime": job.walltime,
                "waited": self.state.at - job.submit,
            }
            row = {**request, **{name: values[place] for name, values in columns.items()}}
            rows.append({**row, **self._correct(job, row)})
        return rows

    def _correct(self, job: SeenJob, row: Mapping[str, Any]) -> dict[str, Any]:
        """Fields of a row that the back-tests correct."""
        names = [f"p{100 * level:02.0f}" for level in LEVELS]
        simulated = [row[f"start_{name}"] for name in names]
        corrected = self.record.correct(self.state, job, simulated)
        found: dict[str, Any] = {"corrected": corrected is not None}
        found |= {f"simulated_{name}": value for name, value in zip(names, simulated, strict=True)}
        if corrected is None:
            return found
        quantiles = corrected.report_quantiles()
        found |= {f"start_{name}": value for name, value in zip(names, quantiles, strict=True)}
        shifted = [row[f"end_{name}"] + new - old for name, new, old in zip(names, quantiles, simulated, strict=True)]
        ends = np.maximum.accumulate(shifted).tolist()
        found |= {f"end_{name}": value for name, value in zip(names, ends, strict=True)}
        tests = self.record.quality(self.has_waited(job.job_id)).count
        for time in WITHIN:
            found[f"start_within_{time / 3600:g}h"] = limit_probability(corrected.share(time), len(self.starts), tests)
        return found

    def before(self, job_id: int, least: float = 0.5) -> list[tuple[int, float]]:
        """Waiting jobs that usually start before a given one: ids and shares of the draws, the largest share first."""
        place = self.ids.index(job_id)
        shares = np.mean(self.others < self.starts[:, [place]], axis=0)
        found = [(other, float(share)) for other, share in zip(self.waiting, shares, strict=True) if share >= least]
        return sorted(found, key=lambda item: (-item[1], item[0]))

    def queue(self, times: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Number of the presently waiting jobs that still wait at given times.

        Parameters
        ----------
        times
            Times from now [s], shape (times,).

        Returns
        -------
        numpy.ndarray
            Shape (draws, times).
        """
        at = self.state.at + np.atleast_1d(np.asarray(times, dtype=float))
        left: npt.NDArray[np.int64] = np.sum(self.others[:, None, :] > at[None, :, None], axis=2)
        return left


@dataclass(frozen=True)
class _Task:
    """Some draws for a worker."""

    drawing: Drawing
    draws: range
    options: Mapping[str, object]


def forecast(
    state: MachineState,
    history: History | None,
    *,
    jobs: Sequence[int] | None = None,
    draws: int = 200,
    seed: int = 0,
    workers: int | None = 1,
    arrivals: str = "weeks",
    horizon: float = 7 * 86_400.0,
    failures: FailureRate | None = None,
    record: TrackRecord | None = None,
    machine: MachineRequests | None = None,
    **options: object,
) -> Forecast:
    """Forecast when waiting jobs start.

    Parameters
    ----------
    state
        The machine now.
    history
        Runs that had ended by then; None: every job runs for its walltime and none is submitted, as ``squeue --start``
        assumes.
    jobs
        Ids of waiting jobs; None: all.
    draws
        Number of simulations, >= 1.
    seed
        Seed of every random choice.
    workers
        Processes; the result does not depend on it. None: one for each core.
    arrivals
        ``weeks``: jobs are submitted as in a random earlier week; ``none``: no jobs are submitted.
    horizon
        How long jobs are submitted [s].
    failures
        Failure rate of the nodes; None: no failures. End times assume that the job itself does not fail.
    record
        Back-tests of such forecasts (:func:`holdfast.experiments.forecast.back_test_cache.find_record`); None: none
        were made.
    machine
        Requests of the jobs, on a machine with partitions and shared nodes
        (:meth:`holdfast.experiments.forecast.machine_requests.MachineRequests.from_log`); None: one pool of equal
        nodes.
    **options
        Fields of :class:`holdfast.simulator.Options`: ``order``, ``backfilling``, ...

    Returns
    -------
    Forecast
        Starts and ends in each draw.

    Raises
    ------
    InputError
        If a job does not wait, or a parameter is not legal.
    """
    if not is_whole(draws, 1):
        raise ParameterError("draws", "a whole number of at least 1", draws)
    if machine is not None and failures is not None:
        raise ParameterError("failures", "left out on a machine", failures)
    settings = Options.of(**options)
    waiting = tuple(job.job_id for job in state.waiting)
    asked = waiting if jobs is None else tuple(jobs)
    for job_id in asked:
        state.waiting_job(job_id)
    if not asked:
        reason = f"; {state.describe_excluded_jobs()}" if state.left_out else ""
        raise InputError(f"{state.source}: no job waits at {state.at:,.0f} s{reason}")
    drawing = Drawing(state, history, Future(arrivals, horizon, failures), draws, seed, machine)
    given = {"order": settings.order, "backfilling": settings.backfilling, **options}
    # One task for each worker: each needs the whole history.
    tasks = [_Task(drawing, some, given) for some in drawing.divide_draws(workers, Options.of(**given))]
    starts = np.array([row for rows in spread(_simulate_draws, tasks, len(tasks)) for row in rows])
    places = {job_id: place for place, job_id in enumerate(waiting)}
    columns = {job.job_id: place for place, job in enumerate(state.jobs)}
    mine = starts[:, [places[job_id] for job_id in asked]]
    ends = mine + drawing.runtimes[:, [columns[job_id] for job_id in asked]]
    return Forecast(state, asked, mine, ends, waiting, starts, record or TrackRecord())


def _simulate_draws(task: _Task) -> list[list[float]]:
    """Start of each waiting job in some draws [s]."""
    waiting = [job.job_id for job in task.drawing.state.waiting]
    found = []
    for draw in task.draws:
        starts = simulate_starts(task.drawing, draw, waiting, task.options)
        found.append([starts[job_id] for job_id in waiting])
    return found


def simulate_starts(
    drawing: Drawing, draw: int, awaited: Sequence[int], options: Mapping[str, object]
) -> dict[int, float]:
    """Simulate one draw until certain jobs have started.

    Parameters
    ----------
    drawing
        The sampled workloads.
    draw
        Index of the draw.
    awaited
        Ids of waiting jobs.
    options
        As of :func:`forecast`.

    Returns
    -------
    dict
        Start of each of them [s], by id.
    """
    state = drawing.state
    simulation = drawing.fast_starts(Options.of(**options))
    if simulation is not None:
        return drawing.drawn_starts(simulation, draw, awaited)[0]
    if drawing.machine is not None:
        return {job_id: start for job_id, (start, _) in machine_starts(drawing, draw, awaited, options).items()}

    def simulate(reach: float) -> dict[int, float]:
        starts = first_starts(
            drawing.table(draw, reach), state.nodes, state.at, awaited, origin=state.origin,
            outages=state.outages, failures=drawing.failures(draw), prior=state.prior, **options,
        )  # fmt: skip
        return {job_id: starts[job_id] for job_id in awaited}

    return _simulate_far_enough(drawing, simulate, lambda starts: max(starts.values()))


def machine_starts(
    drawing: Drawing, draw: int, awaited: Sequence[int], options: Mapping[str, object]
) -> dict[int, tuple[float, bool]]:
    """The same on a machine with partitions: start of each job [s], and whether it was backfilled, by id."""
    machine, ids = drawing.machine, frozenset(awaited)
    assert machine is not None
    return _simulate_far_enough(
        drawing,
        lambda reach: machine.first_starts(drawing.rows(draw, reach), drawing.state, ids, options),
        lambda starts: max(start for start, _ in starts.values()),
    )


def _simulate_far_enough(
    drawing: Drawing, simulate: Callable[[float], _Found], latest: Callable[[_Found], float]
) -> _Found:
    """A simulation with future arrivals until the last start [s]: jobs submitted after it cannot change it."""
    at, reach = drawing.state.at, _REACH
    while True:
        found = simulate(reach)
        last = latest(found)
        if reach >= drawing.horizon or last <= at + reach:
            return found
        reach = max(4 * reach, 2 * (last - at))
