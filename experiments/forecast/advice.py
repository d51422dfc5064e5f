"""Advice: which request gives a job the least expected response time, given the machine's present state.

Every request is tried in the same drawn futures. Source: docs/forecast.md, "What to ask for".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from experiments.forecast.forecasts import LEVELS
from experiments.forecast.futures import Drawing, Future
from experiments.forecast.history import History
from experiments.forecast.requests import Request, candidates, scaled
from experiments.forecast.states import MachineState, SeenJob
from experiments.statistics import Interval, interval
from experiments.sweeps.execution import available_workers, spread
from policies.planning.costs import CostModel
from policies.planning.waits.model import WaitModel
from simulator.options import Options
from simulator.prospects import is_blind, starts_by_walltime
from workloads.ground.errors import InputError, ParameterError
from workloads.ground.numbers import is_whole
from workloads.ground.streams import stream
from workloads.ground.units import LARGEST_TIME
from workloads.laws import DiscreteLaw, Law, discretise, from_samples
from workloads.outages.failures import FailureRate
from workloads.table.job import Job, JobType

__all__ = ["Advice", "Saving", "advise"]

#: Cells of a continuous distribution of the runtime.
_CELLS = 500
#: Response times that differ by less are equal [s].
_SAME = 1.0


@dataclass(frozen=True)
class Saving:
    """By how much the expected response time of one request is below that of another.

    Attributes
    ----------
    total
        The difference [s], paired by draw, with its 95 % interval; > 0: less time.
    wait
        Its part in the wait for the first reservation [s].
    backfilling
        The part of ``wait`` that falls in draws in which the better request is backfilled [s].
    """

    total: Interval
    wait: float
    backfilling: float


@dataclass(frozen=True, eq=False)
class Advice:
    """Requests, and what became of each in each draw.

    Attributes
    ----------
    state
        The machine.
    requests
        What was tried; by size, then by walltime.
    waits
        Time from now to the start of each request in each draw [s], shape (draws, requests).
    backfilled
        Whether it was backfilled, shape (draws, requests).
    responses
        Time from now to the completion of the job in each draw [s], the waits of later requests being mean waits; shape
        (draws, requests).
    prices
        Mean waits of the past, which price the later requests.
    """

    state: MachineState
    requests: tuple[Request, ...]
    waits: npt.NDArray[np.float64]
    backfilled: npt.NDArray[np.bool_]
    responses: npt.NDArray[np.float64]
    prices: WaitModel

    def __repr__(self) -> str:
        best = self.best
        return f"<Advice: {best.nodes:,} nodes for {best.walltime / 3600:.3g} h, of {len(self.requests):,} requests>"

    @property
    def expected(self) -> npt.NDArray[np.float64]:
        """Expected response time of each request [s]: the mean wait of the draws, and the exact mean of the rest."""
        rest = np.array([request.rest for request in self.requests])
        expected: npt.NDArray[np.float64] = self.waits.mean(axis=0) + rest
        return expected

    @property
    def best(self) -> Request:
        """The request of least expected response time; of those within a second the own one, or else the longest on the
        fewest nodes."""
        expected = self.expected
        least = float(expected.min()) + _SAME
        equal = [request for request, time in zip(self.requests, expected, strict=True) if time <= least]
        return min(equal, key=lambda request: ("own" not in request.names, request.nodes, -request.walltime))

    def named(self, name: str) -> Request | None:
        """The request that stands for ``own``, ``planner`` or ``reserved``; None: there is none."""
        return next((request for request in self.requests if name in request.names), None)

    def gain(self, over: Request, request: Request | None = None) -> Saving:
        """What a request gains over another.

        Parameters
        ----------
        over
            The other one.
        request
            The better one; None: the best.
        """
        better = self.requests.index(self.best if request is None else request)
        other = self.requests.index(over)
        waits = self.waits[:, other] - self.waits[:, better]
        rest = over.rest - self.requests[better].rest
        mean = float(waits.mean())
        # One draw has no spread to tell.
        total = (interval(waits) if len(waits) > 1 else Interval(mean, mean, mean)).shifted(rest)
        backfilling = np.where(self.backfilled[:, better], waits, 0.0)
        return Saving(total, mean, float(backfilling.mean()))

    def rows(self) -> list[dict[str, Any]]:
        """A row for each request; times in seconds from now."""
        own, planner, best = self.named("own"), self.named("planner"), self.best
        expected, rows = self.expected, []
        for place, request in enumerate(self.requests):
            row: dict[str, Any] = {
                "nodes": request.nodes,
                "walltime": request.walltime,
                "names": list(request.names),
                "best": request is best,
                "wait": float(self.waits[:, place].mean()),
                "backfilled": float(self.backfilled[:, place].mean()),
                "completes": request.completes,
                "checkpoint": request.saves,
                "next_walltime": request.next,
                "response": float(expected[place]),
            }
            for name, values in (("wait", self.waits), ("response", self.responses)):
                for level in LEVELS:
                    value = np.quantile(values[:, place], level, method="inverted_cdf")
                    row[f"{name}_p{100 * level:02.0f}"] = float(value)
            for name, other in (("own", own), ("planner", planner)):
                if other is not None:
                    gain = self.gain(other, request).total
                    row |= {f"gain_{name}": gain.mean, f"gain_{name}_low": gain.low, f"gain_{name}_high": gain.high}
            rows.append(row)
        return rows


@dataclass(frozen=True)
class _Task:
    """Some draws for a worker, and the walltimes to try at each size."""

    drawing: Drawing
    draws: range
    job: SeenJob
    walltimes: Mapping[int, Sequence[float]]
    options: Mapping[str, object]


def advise(
    state: MachineState,
    history: History,
    *,
    nodes: int,
    walltime: float | None = None,
    runtimes: Law | npt.ArrayLike | None = None,
    walltimes: Sequence[float] | None = None,
    sizes: Mapping[int, float] | None = None,
    checkpoint: float | None = None,
    restart: float = 0.0,
    user: str = "",
    project: str = "",
    prices: WaitModel | None = None,
    draws: int = 200,
    seed: int = 0,
    workers: int | None = 1,
    arrivals: str = "weeks",
    horizon: float = 7 * 86_400.0,
    failures: FailureRate | None = None,
    **options: object,
) -> Advice:
    """Find the request of least expected response time for a job that is submitted now.

    Parameters
    ----------
    state
        The machine now, without the job.
    history
        Runs that had ended by then.
    nodes
        Size of the job.
    walltime
        Walltime that the user would ask for [s]; None: not known, and then ``runtimes`` must be given.
    runtimes
        Distribution of the runtime [s], or runtimes of past runs; None: that of the job's group in the history, where a
        killed run needs its walltime and no more.
    walltimes
        Walltimes to try beside these [s]; None: a grid from quantiles of the runtime.
    sizes
        Other sizes at which the job can run, and the runtime there over that at ``nodes``.
    checkpoint, restart
        Times to write a checkpoint and to read it [s]. Without ``checkpoint`` what a killed run has done is lost.
    user, project
        Names of the job, for its group and the order of the queue.
    prices
        Mean waits that price the requests after the first; None: fitted to the history.
    draws, seed, workers, arrivals, horizon, failures, **options
        As of :func:`~experiments.forecast.forecasts.forecast`.

    Returns
    -------
    Advice
        ``.best``, ``.rows()``, ``.gain(advice.named("own"))``.

    Raises
    ------
    InputError
        If a parameter is not legal, or neither ``walltime`` nor ``runtimes`` is given.
    """
    if not is_whole(draws, 1):
        raise ParameterError("draws", "a whole number of at least 1", draws)
    if walltime is None and runtimes is None:
        raise InputError("give the walltime that you would ask for, or runtimes of the job")
    if walltime is not None:
        _checked(walltime, "walltime")
    settings = Options.of(**options)
    law = _law(history, SeenJob(0, state.at, nodes, walltime or 1.0, user, project), runtimes)
    waits = history.waits if prices is None else prices
    saving = checkpoint is not None
    costs = CostModel(checkpoint=checkpoint or 0.0, restart=restart)
    requests: list[Request] = []
    for size, factor in {nodes: 1.0, **(sizes or {})}.items():
        _check_size(size, factor, state)
        tried = walltimes if walltimes is None else [_checked(time) * factor for time in walltimes]
        own = walltime if size == nodes else None
        paid = waits.apply(costs, size)
        requests += candidates(scaled(law, factor), size, paid, saving=saving, own=own, walltimes=tried)
    requests.sort(key=attrgetter("nodes", "walltime"))
    asked, job_id = state.with_job(nodes, max(request.walltime for request in requests), user, project)
    drawing = Drawing(asked, history, Future(arrivals, horizon, failures), draws, seed)
    given = {"order": settings.order, "backfilling": settings.backfilling, **options}
    by_size = {
        size: [request.walltime for request in group] for size, group in groupby(requests, key=attrgetter("nodes"))
    }
    count = min(draws, workers or available_workers())
    ends = [draws * number // count for number in range(count + 1)]
    tasks = [_Task(drawing, range(low, high), asked.jobs[-1], by_size, given) for low, high in pairwise(ends)]
    found = np.array([row for rows in spread(_tried, tasks, workers) for row in rows])
    levels = 1.0 - stream(seed, "forecast", "runtime", job_id).random(draws)
    drawn = np.asarray(law.isf(levels), dtype=float)
    factors = {nodes: 1.0, **(sizes or {})}
    delays = found[:, :, 0] - state.at
    rests = np.column_stack([request.rest_of(drawn * factors[request.nodes]) for request in requests])
    return Advice(state, tuple(requests), delays, found[:, :, 1] > 0, delays + rests, waits)


def _tried(task: _Task) -> list[list[tuple[float, bool]]]:
    """Start of each request [s] and whether it was backfilled, in some draws."""
    drawing, options = task.drawing, Options.of(**task.options)
    found = []
    for draw in task.draws:
        row: list[tuple[float, bool]] = []
        for size, walltimes in task.walltimes.items():
            sketch = drawing.sketch(options, (task.job.job_id, size)) if is_blind(options) else None
            if sketch is None:
                row += _simulated(task, draw, size, walltimes)
            else:
                row += drawing.sketched(sketch, draw, [task.job.job_id], walltimes)[1]
        found.append(row)
    return found


def _simulated(task: _Task, draw: int, size: int, walltimes: Sequence[float]) -> list[tuple[float, bool]]:
    """The same for the requests of one size, by full simulations."""
    state, asked = task.drawing.state, task.job
    others = [job for job in task.drawing.table(draw) if job.job_id != asked.job_id]
    job = Job(asked.job_id, JobType.RIGID, asked.submit, size, 1.0, 1.0, user=asked.user, project=asked.project)
    return starts_by_walltime(
        others,
        state.nodes,
        state.at,
        job,
        walltimes,
        origin=state.origin,
        outages=state.outages,
        failures=task.drawing.failures(draw),
        **task.options,
    )


def _law(history: History, job: SeenJob, runtimes: Law | npt.ArrayLike | None) -> DiscreteLaw:
    if runtimes is None:
        return history.law_of(job)
    return discretise(runtimes, _CELLS) if isinstance(runtimes, Law) else from_samples(runtimes)


def _check_size(size: int, factor: float, state: MachineState) -> None:
    if not (is_whole(size, 1) and size <= state.nodes):
        raise ParameterError("nodes", f"a whole number from 1 to the {state.nodes:,} nodes of the machine", size)
    if not 0 < factor <= LARGEST_TIME:
        raise ParameterError(f"runtime on {size:,} nodes", "a multiple above 0 of the runtime", factor)


def _checked(walltime: float, name: str = "walltimes") -> float:
    if not 0 < walltime <= LARGEST_TIME:
        raise ParameterError(
            name, "durations above 0 [s]" if name == "walltimes" else "a duration above 0 [s]", walltime
        )
    return walltime
