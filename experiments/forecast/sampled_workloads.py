"""Job tables sampled from a state: runtimes and future arrivals are drawn at random.

In each draw, the random numbers of a job are the same for all alternatives that are compared (common random numbers).
Source: docs/forecast.md.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from holdfast.experiments.forecast.history import History
from holdfast.experiments.forecast.machine_requests import MachineRequests
from holdfast.experiments.forecast.machine_state import MachineState
from holdfast.experiments.forecast.runtime_correlation import INDEPENDENT, similar_groups
from holdfast.experiments.forecast.seen_job import SeenJob
from holdfast.experiments.sweeps.execution import available_workers
from holdfast.simulator.fast_starts import FastStarts, PresentJob, has_fast_starts
from holdfast.simulator.options import Options
from holdfast.workloads.ground.errors import ParameterError, UnknownNameError
from holdfast.workloads.ground.random_streams import stream
from holdfast.workloads.ground.ticks import in_ticks
from holdfast.workloads.ground.units import LARGEST_TIME, to_seconds, to_ticks
from holdfast.workloads.machines.request import ResourceRequest
from holdfast.workloads.outages.failures import FailureRate
from holdfast.workloads.table.job import Job

__all__ = ["ARRIVALS", "Drawing", "Future"]

#: Kinds of arrivals after the state.
ARRIVALS = ("none", "weeks")
#: Period of the submissions, a week [s].
_WEEK = 7 * 86_400.0
#: Number of future jobs drawn at first.
_PIECE = 64
#: Remaining time of a job over its walltime [s], because schedulers check about once a minute.
_GRACE = 60.0
#: Distance of the ids of future jobs from those of the state; ids of added jobs lie between.
_OTHERS = 1_000_000
#: Number of jobs for which start times take about as long to simulate as a process takes to start.
_WORTH_A_WORKER = 200_000


@dataclass(frozen=True)
class Future:
    """How the future is drawn.

    Attributes
    ----------
    arrivals
        ``weeks``: each future week has the submits of a random past week; ``none``: nothing is submitted.
    horizon
        How long jobs are submitted [s].
    failures
        Failure rate of the nodes, with independent failures in each draw; its seed is ignored. None: no failures.
    """

    arrivals: str = "weeks"
    horizon: float = 7 * 86_400.0
    failures: FailureRate | None = None

    def __post_init__(self) -> None:
        if self.arrivals not in ARRIVALS:
            raise UnknownNameError("kind of arrivals", self.arrivals, ARRIVALS)
        if not 0 < self.horizon <= LARGEST_TIME:
            raise ParameterError("horizon", "a duration above 0", self.horizon)


class Drawing:
    """All draws of a state, each made on demand.

    Parameters
    ----------
    state
        The state.
    history
        Runs completed by then; None: every runtime equals the walltime, and no jobs arrive.
    future
        How the future is drawn.
    draws
        How many.
    seed
        Seed of every random choice.
    machine
        Requests of the jobs, on a machine with partitions and shared nodes; None: one pool of equal nodes.
    """

    def __init__(
        self,
        state: MachineState,
        history: History | None,
        future: Future,
        draws: int,
        seed: int,
        machine: MachineRequests | None = None,
    ) -> None:
        self.state = state
        self.machine = machine
        self.draws = draws
        self._history = history
        self._future = future
        self._seed = seed
        self._fast_starts: dict[tuple[Options, tuple[int, int] | None], FastStarts] = {}
        #: Common factors of related jobs, by group.
        self._common: dict[tuple[object, ...], npt.NDArray[np.float64]] = {}
        #: Runtime of each job of the state in each draw [s], shape (draws, jobs).
        self.runtimes = self._draw_runtimes()

    def _draw_runtimes(self) -> npt.NDArray[np.float64]:
        jobs, at, draws = self.state.jobs, self.state.at, self.draws
        runtimes = np.empty((draws, len(jobs)))
        for place, job in enumerate(jobs):
            elapsed = 0.0 if job.start is None else at - job.start
            if self._history is None:
                runtimes[:, place] = job.walltime if elapsed < job.walltime else elapsed + _GRACE
            else:
                runtimes[:, place] = self._history.runtimes(job, self.levels(job), elapsed)
        return runtimes

    def levels(self, job: SeenJob) -> npt.NDArray[np.float64]:
        """Probability of a longer runtime of a job in each draw, in (0, 1).

        Their normal scores are correlated as in past states.
        """
        alike = INDEPENDENT if self._history is None else self._history.runtime_correlation
        user, request = similar_groups(job.user, job.walltime, job.nodes)
        # Each job has a separate stream, so that its numbers do not depend on the other jobs.
        own = stream(self._seed, "forecast", "runtime", job.job_id).standard_normal(self.draws)
        scores = alike.mean + alike.spread * (
            math.sqrt(alike.anyone) * self._scores("anyone")
            + math.sqrt(alike.user - alike.anyone) * self._scores(*user)
            + math.sqrt(alike.request - alike.user) * self._scores("same", *request)
            + math.sqrt(1.0 - alike.request) * own
        )
        return np.array([0.5 * math.erfc(score) for score in (math.sqrt(0.5) * scores).tolist()])

    def _scores(self, *names: object) -> npt.NDArray[np.float64]:
        """Common normal score of a group of jobs in each draw."""
        if names not in self._common:
            rng = stream(self._seed, "forecast", "alike", *map(str, names))
            self._common[names] = rng.standard_normal(self.draws)
        return self._common[names]

    @property
    def horizon(self) -> float:
        """How long jobs are submitted [s]; 0: not at all."""
        return self._future.horizon if self._history is not None and self._future.arrivals == "weeks" else 0.0

    def failures(self, draw: int) -> FailureRate | None:
        """The failures of one draw; None: there are none."""
        rate = self._future.failures
        if rate is None:
            return None
        return replace(rate, seed=int(stream(self._seed, "forecast", "failures", draw).integers(1 << 62)))

    def table(self, draw: int, reach: float = math.inf) -> list[Job]:
        """The job table of one draw: running jobs with their starts, waiting jobs, and future ones.

        Parameters
        ----------
        draw
            Its number.
        reach
            Span of future arrivals that is drawn [s]; a longer span begins with the same jobs.
        """
        return [job for job, _ in self.rows(draw, reach)]

    def rows(self, draw: int, reach: float = math.inf) -> Iterator[tuple[Job, int | None]]:
        """The rows of :meth:`table`; each future job with the number in the history of the job that it repeats."""
        for job, time in zip(self.state.jobs, self.runtimes[draw].tolist(), strict=True):
            yield job.job_with_runtime(time), None
        number = max((job.job_id for job in self.state.jobs), default=0) + _OTHERS
        for seen, submit, runtime in self._future_jobs(draw, min(reach, self.horizon)):
            yield replace(seen, job_id=number, submit=submit).job_with_runtime(runtime), seen.job_id
            number += 1

    def _future_jobs(self, draw: int, horizon: float) -> Iterator[tuple[SeenJob, float, float]]:
        """Future jobs by submit: the past job that each repeats, its submit, and its runtime [s]."""
        for history, first, submits, runtimes in self._weeks(draw, horizon):
            jobs = history.submitted[first : first + len(submits)]
            for seen, submit, runtime in zip(jobs, submits.tolist(), runtimes.tolist(), strict=True):
                if seen.nodes <= self.state.nodes:
                    yield seen, submit, runtime

    def _coming_ticks(self, draw: int) -> Iterator[npt.NDArray[np.int64]]:
        """Submits [ticks of the simulated clock], nodes, walltimes and runtimes [ticks] of future jobs, by submit.

        Pieces of shape (4, jobs).
        """
        zero, most = self._zero, self.state.nodes
        for history, first, submits, runtimes in self._weeks(draw, self.horizon):
            own = slice(first, first + len(submits))
            nodes, walltimes = history.submitted.nodes[own], history.submitted.walltimes[own]
            piece = np.array((in_ticks(submits) - zero, nodes, in_ticks(walltimes), in_ticks(runtimes)))
            yield piece[:, nodes <= most]

    def _weeks(
        self, draw: int, horizon: float
    ) -> Iterator[tuple[History, int, npt.NDArray[np.float64], npt.NDArray[np.float64]]]:
        """Future jobs by week: index of the first in the history, submits and runtimes [s]."""
        state, history = self.state, self._history
        if history is None or not horizon:
            return
        weeks = int((state.at - history.submits[0]) // _WEEK) if history.submits.size else 0
        if not weeks:
            return
        rng = stream(self._seed, "forecast", "arrivals", draw)
        for week in range(math.ceil(horizon / _WEEK)):
            # The window begins whole weeks before the state, so that the hours of the week agree.
            back = int(rng.integers(1, weeks + 1))
            opens = state.at - back * _WEEK
            first, last = np.searchsorted(history.submits, [opens, opens + _WEEK], side="right").tolist()
            levels = 1.0 - rng.random(last - first)
            submits = history.submits[first:last] + (back + week) * _WEEK
            count = int(np.searchsorted(submits, state.at + horizon, side="right"))
            # In pieces of growing size, because most draws end within the week.
            begin, size = 0, _PIECE
            while begin < count:
                end = min(begin + size, count)
                runtimes = history.draw_runtimes(first + begin, first + end, levels[begin:end])
                yield history, first + begin, submits[begin:end], runtimes
                begin, size = end, 4 * size

    def with_request(self, job_id: int, nodes: int, walltime: float, request: ResourceRequest) -> Drawing:
        """The same draws on a machine, with another size, walltime [s] and request of a waiting job."""
        if self.machine is None:
            raise ValueError("one pool of nodes has no requests")
        changed = copy.copy(self)
        place = next(place for place, job in enumerate(self.state.jobs) if job.job_id == job_id)
        jobs = list(self.state.jobs)
        jobs[place] = replace(jobs[place], nodes=nodes, walltime=walltime)
        changed.state = replace(self.state, jobs=tuple(jobs))
        changed.machine = self.machine.with_request(job_id, request)
        # A job of the simulator never runs longer than its walltime.
        changed.runtimes = self.runtimes.copy()
        np.minimum(changed.runtimes[:, place], walltime, out=changed.runtimes[:, place])
        return changed

    def divide_draws(self, workers: int | None, options: Options, simulations: int = 1) -> list[range]:
        """Distribute the draws over workers, using fewer workers if starting them would take longer than the draws.

        Parameters
        ----------
        workers
            Processes at most; None: one for each core.
        options
            Order, backfilling, ...
        simulations
            Number of simulations in a draw.
        """
        count = min(self.draws, workers or available_workers())
        if self.fast_starts(options) is not None:
            count = min(count, max(1, self.draws * simulations * len(self.state.jobs) // _WORTH_A_WORKER))
        ends = [self.draws * number // count for number in range(count + 1)]
        return [range(low, high) for low, high in pairwise(ends)]

    def fast_starts(self, options: Options, resized: tuple[int, int] | None = None) -> FastStarts | None:
        """Fast simulation of the draws that yields only start times; None: the options need a full simulation.

        Parameters
        ----------
        options
            Order, backfilling, ...
        resized
            Id of a waiting job and its changed number of nodes; None: no change.
        """
        slow = self.machine is not None or self.state.outages or self._future.failures is not None
        if slow or not has_fast_starts(options):
            return None
        made = self._fast_starts.get((options, resized))
        if made is None:
            zero, at = self._zero, to_ticks(self.state.at)
            jobs = [
                PresentJob(
                    to_ticks(job.submit) - zero,
                    resized[1] if resized is not None and resized[0] == job.job_id else job.nodes,
                    to_ticks(job.walltime),
                    None if job.start is None else to_ticks(job.start) - zero,
                )
                for job in self.state.jobs
            ]
            made = FastStarts(jobs, self.state.nodes, max(0, at - zero), options, self.draws)
            self._fast_starts[options, resized] = made
        return made

    def drawn_starts(
        self, simulation: FastStarts, draw: int, awaited: Collection[int], walltimes: Sequence[float] = ()
    ) -> tuple[dict[int, float], list[tuple[float, bool]]]:
        """Start times in one draw by a fast simulation.

        Parameters
        ----------
        simulation
            The fast simulation.
        draw
            Number of the draw.
        awaited
            Ids of waiting jobs.
        walltimes
            Walltimes to try the only awaited job with [s], ascending.

        Returns
        -------
        tuple
            Start of each awaited job [s], by id; start with each walltime, and whether the job was backfilled.
        """
        zero = self._zero
        ids = frozenset(awaited)
        places = {job.job_id: place for place, job in enumerate(self.state.jobs) if job.job_id in ids}
        starts, tried = simulation.starts(
            in_ticks(self.runtimes[draw]), self._coming_ticks(draw), places.values(), list(map(to_ticks, walltimes))
        )
        found = {job_id: to_seconds(int(starts[place]) + zero) for job_id, place in places.items()}
        return found, [(to_seconds(at + zero), backfilled) for at, backfilled in tried]

    @cached_property
    def _zero(self) -> int:
        """Zero of the simulated clock [ticks of the log's clock]."""
        first = min((to_ticks(job.submit) for job in self.state.jobs), default=0)
        return first if self.state.origin is None else min(first, to_ticks(self.state.origin))
