"""Advice on which request minimises a job's expected response time, given the machine's present state.

All requests are simulated in the same sampled workloads. Source: docs/forecast.md, "What to ask for".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from holdfast.experiments.forecast.corrected_waits import correct_waits
from holdfast.experiments.forecast.forecasts import LEVELS
from holdfast.experiments.forecast.history import History
from holdfast.experiments.forecast.machine_requests import MachineRequests
from holdfast.experiments.forecast.machine_state import MachineState
from holdfast.experiments.forecast.requests import (
    LaterWaits,
    Request,
    candidate_walltimes,
    plan_with_first_walltime,
    scale_distribution,
)
from holdfast.experiments.forecast.sampled_workloads import Drawing, Future
from holdfast.experiments.forecast.seen_job import SeenJob
from holdfast.experiments.forecast.track_record import TrackRecord
from holdfast.experiments.forecast.what_if import simulate_requests
from holdfast.experiments.statistics import Interval, interval
from holdfast.policies.planning.costs import CostModel
from holdfast.policies.planning.waits.model import WaitModel
from holdfast.simulator.options import Options
from holdfast.workloads.distributions import DiscreteDistribution, Distribution, discretise, from_samples
from holdfast.workloads.ground.errors import InputError, ParameterError
from holdfast.workloads.ground.numbers import is_whole
from holdfast.workloads.ground.units import LARGEST_TIME
from holdfast.workloads.ground.wording import count_text
from holdfast.workloads.machines.request import ResourceRequest
from holdfast.workloads.outages.failures import FailureRate

__all__ = ["Advice", "Saving", "advise"]

#: Cells of a continuous distribution of the runtime.
_CELLS = 500
#: Response times that differ by less are equal [s].
_SAME = 1.0


@dataclass(frozen=True)
class Saving:
    """Reduction of the expected response time by one request compared with another.

    Attributes
    ----------
    total
        The difference [s], paired by draw, with its 95 % interval; > 0: less time.
    wait
        Its part that comes from the wait for the first reservation [s].
    backfilling
        The part of ``wait`` from draws in which the better request is backfilled [s].
    """

    total: Interval
    wait: float
    backfilling: float


@dataclass(frozen=True, eq=False)
class Advice:
    """Requests, with their waits and response times in each draw.

    Attributes
    ----------
    state
        The machine.
    requests
        Simulated requests; by size, then by walltime.
    waits
        Time from now to the start of each request in each draw [s], shape (draws, requests).
    backfilled
        Whether it was backfilled, shape (draws, requests).
    responses
        Time from now to the completion of the job in each draw [s], the waits of later requests being mean waits; shape
        (draws, requests).
    later
        Mean waits that price the later requests, by size.
    simulated
        Waits of the simulation alone [s], shape as of ``waits``; None: no waits were corrected by back-tests.
    """

    state: MachineState
    requests: tuple[Request, ...]
    waits: npt.NDArray[np.float64]
    backfilled: npt.NDArray[np.bool_]
    responses: npt.NDArray[np.float64]
    later: Mapping[int, LaterWaits]
    simulated: npt.NDArray[np.float64] | None = None

    def __repr__(self) -> str:
        best = self.best
        return f"<Advice: {best.nodes:,} nodes for {best.walltime / 3600:.3g} h, of {len(self.requests):,} requests>"

    @property
    def expected(self) -> npt.NDArray[np.float64]:
        """Expected response time of each request [s]: mean wait over the draws plus the exact mean of the rest."""
        rest = np.array([request.rest for request in self.requests])
        expected: npt.NDArray[np.float64] = self.waits.mean(axis=0) + rest
        return expected

    @property
    def best(self) -> Request:
        """The request of least expected response time; among nearly equal ones the user's, or that of fewest nodes."""
        expected = self.expected
        least = float(expected.min()) + _SAME
        equal = [request for request, time in zip(self.requests, expected, strict=True) if time <= least]
        return min(equal, key=lambda request: ("own" not in request.names, request.nodes, -request.walltime))

    def request_for(self, name: str) -> Request | None:
        """The request named ``own``, ``planner`` or ``reserved``; None: there is none."""
        return next((request for request in self.requests if name in request.names), None)

    def gain(self, over: Request, request: Request | None = None) -> Saving:
        """The gain of a request over another.

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
        # One draw has no spread.
        total = (interval(waits) if len(waits) > 1 else Interval(mean, mean, mean)).shift(rest)
        backfilling = np.where(self.backfilled[:, better], waits, 0.0)
        return Saving(total, mean, float(backfilling.mean()))

    def rows(self) -> list[dict[str, Any]]:
        """A row for each request; times in seconds from now."""
        own, planner, best = self.request_for("own"), self.request_for("planner"), self.best
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
            columns = [("wait", self.waits), ("response", self.responses)]
            if self.simulated is not None:
                columns.append(("simulated", self.simulated))
            for name, values in columns:
                for level in LEVELS:
                    value = np.quantile(values[:, place], level, method="inverted_cdf")
                    row[f"{name}_p{100 * level:02.0f}"] = float(value)
            for name, other in (("own", own), ("planner", planner)):
                if other is not None:
                    gain = self.gain(other, request).total
                    row |= {f"gain_{name}": gain.mean, f"gain_{name}_low": gain.low, f"gain_{name}_high": gain.high}
            rows.append(row)
        return rows


def advise(
    state: MachineState,
    history: History,
    *,
    nodes: int | None = None,
    walltime: float | None = None,
    job: int | None = None,
    runtimes: Distribution | npt.ArrayLike | None = None,
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
    record: TrackRecord | None = None,
    machine: MachineRequests | None = None,
    requests: Mapping[int, ResourceRequest] | None = None,
    **options: object,
) -> Advice:
    """Find the request of least expected response time for a job that is submitted now, or that waits.

    Parameters
    ----------
    state
        The machine now, without the job that is submitted.
    history
        Runs that had ended by then.
    nodes
        Size of the job.
    walltime
        Walltime that the user would ask for [s]; None: not known, and then ``runtimes`` must be given.
    job
        Id of a waiting job, in place of ``nodes``, ``walltime``, ``user`` and ``project``. It keeps its place in the
        queue, and walltimes up to its own are tried: users may lower the limit of a waiting job, but not raise it.
    runtimes
        Distribution of the runtime [s], or runtimes of past runs; None: that of the job's group in the history, where
        the runtime of a killed run is its walltime.
    walltimes
        Additional walltimes to try [s]; None: a grid from quantiles of the runtime.
    sizes
        Other sizes at which the job can run, with the runtime relative to that at ``nodes``.
    checkpoint, restart
        Times to write a checkpoint and to read it [s]. Without ``checkpoint`` the work of a killed run is lost.
    user, project
        Names of the job, for its group and the order of the queue.
    prices
        Mean waits of the requests after the first; None: those of the history, or of the draws where these are longer.
    requests
        What a job that is submitted now asks of the ``machine`` at each of its sizes, which count the machine's unit.
        Walltimes that no partition of a request allows are not tried.
    draws, seed, workers, arrivals, horizon, failures, record, machine, **options
        As of :func:`~holdfast.experiments.forecast.forecasts.forecast`. With enough back-tests the waits of each size
        are corrected as the forecast of the own request there, or of the longest one.

    Returns
    -------
    Advice
        ``.best``, ``.rows()``, ``.gain(advice.request_for("own"))``.

    Raises
    ------
    InputError
        If a parameter is not legal, or neither ``walltime`` nor ``runtimes`` is given.
    """
    if not is_whole(draws, 1):
        raise ParameterError("draws", "a whole number of at least 1", draws)
    waiting = None
    if job is not None:
        if nodes is not None or walltime is not None or sizes or user or project:
            raise InputError(f"job {job} has its nodes, walltime, user and project; give none of them")
        waiting = state.waiting_job(job)
        nodes, walltime, user, project = waiting.nodes, waiting.walltime, waiting.user, waiting.project
    if nodes is None:
        raise InputError("give the nodes of the job, or the id of a waiting one")
    if walltime is None and runtimes is None:
        raise InputError("give the walltime that you would ask for, or runtimes of the job")
    if walltime is not None:
        _check_walltime(walltime, "walltime")
    settings = Options.of(**options)
    distribution = _distribution(history, SeenJob(0, state.at, nodes, walltime or 1.0, user, project), runtimes)
    costs = CostModel(checkpoint=checkpoint or 0.0, restart=restart)
    asked = _Job(distribution, costs, checkpoint is not None, prices or history.waits, walltimes)
    factors = {nodes: 1.0, **(sizes or {})}
    node_requests = dict(requests or {})
    tried: list[_Size] = []
    for size, factor in sorted(factors.items()):
        _check_size(size, factor, state)
        found = asked.at(size, factor, walltime if size == nodes else None)
        if waiting is not None:
            tried.append(found.keep([time for time in found.walltimes if time <= waiting.walltime]))
        elif machine is not None:
            tried.append(found.keep(machine.legal_walltimes(node_requests[size], found.walltimes, user)))
        else:
            tried.append(found)
    longest = max(time for found in tried for time in found.walltimes)
    if waiting is not None:
        present, job_id = state, waiting.job_id
        if machine is not None:
            node_requests = {nodes: machine.present[job_id]}
    elif machine is not None:
        machine, present, job_id = machine.with_job(state, node_requests[nodes], longest, user, project)
    else:
        present, job_id = state.with_job(nodes, longest, user, project)
    tried_job = present.waiting_job(job_id)
    drawing = Drawing(present, history, Future(arrivals, horizon, failures), draws, seed, machine)
    rules = {"order": settings.order, "backfilling": settings.backfilling, **options}
    lists = {found.nodes: list(found.walltimes) for found in tried}
    starts = simulate_requests(drawing, tried_job, lists, rules, workers, node_requests)
    simulated = starts[:, :, 0] - state.at
    own_request = {} if walltime is None or walltime not in lists[nodes] else {nodes: walltime}
    delays = correct_waits(simulated, record, present, tried_job, lists, own_request)
    if prices:
        # Waits given by a file are used as they are.
        later = {found.nodes: LaterWaits(found.past.alpha, found.past.gamma) for found in tried}
    else:
        later = _longer_waits(tried, delays, walltime)
    priced = [request for found in tried for request in asked.requests(found, later[found.nodes])]
    drawn = np.asarray(distribution.isf(drawing.levels(tried_job)), dtype=float)
    rests = np.column_stack([request.time_to_completion(drawn * factors[request.nodes]) for request in priced])
    corrected = None if delays is simulated else simulated
    return Advice(state, tuple(priced), delays, starts[:, :, 1] > 0, delays + rests, later, corrected)


@dataclass(frozen=True, eq=False)
class _Size:
    """A size at which the job can run.

    Attributes
    ----------
    nodes
        The size.
    factor
        Runtime relative to that at the first size.
    distribution
        Distribution of the runtime [s].
    past
        Prices of requests, with the mean waits of the past.
    walltimes
        Walltimes to try [s], ascending, with the roles of each.
    """

    nodes: int
    factor: float
    distribution: DiscreteDistribution
    past: CostModel
    walltimes: Mapping[float, tuple[str, ...]]

    def keep(self, walltimes: Sequence[float]) -> _Size:
        """The size with these of its walltimes."""
        return replace(self, walltimes={time: self.walltimes[time] for time in walltimes})


@dataclass(frozen=True, eq=False)
class _Job:
    """The job at any size.

    Attributes
    ----------
    distribution
        Distribution of the runtime at the first size [s].
    costs
        Times to write a checkpoint and to read it [s].
    saving
        Whether it writes checkpoints.
    waits
        Mean waits of the past, or of a file.
    walltimes
        Walltimes to try at the first size [s]; None: a grid.
    """

    distribution: DiscreteDistribution
    costs: CostModel
    saving: bool
    waits: WaitModel
    walltimes: Sequence[float] | None

    def at(self, nodes: int, factor: float, own: float | None) -> _Size:
        """The job at a size, with all walltimes to try; ``own`` is that of the user."""
        walltimes = self.walltimes
        if walltimes is not None:
            walltimes = [_check_walltime(time) * factor for time in walltimes]
        distribution, past = scale_distribution(self.distribution, factor), self.waits.apply(self.costs, nodes)
        found = candidate_walltimes(distribution, past, saving=self.saving, own=own, walltimes=walltimes)
        return _Size(nodes, factor, distribution, past, found)

    def requests(self, size: _Size, later: LaterWaits) -> list[Request]:
        """The requests at a size, each with the plan that begins with it, where later ones wait as given."""
        paid = later.apply(self.costs)
        found = []
        for time, names in size.walltimes.items():
            plan = plan_with_first_walltime(size.distribution, time, paid, saving=self.saving)
            found.append(Request(size.nodes, time, names, plan, size.distribution))
        return found


def _longer_waits(
    sizes: Sequence[_Size], waits: npt.NDArray[np.float64], walltime: float | None
) -> dict[int, LaterWaits]:
    """The longer of past and present mean waits at each size.

    Parameters
    ----------
    sizes
        The sizes.
    waits
        Present waits of all requests [s], by size, then by walltime, shape (draws, requests).
    walltime
        Walltime of the user at the first size, at which both are compared [s]; None: the longest of each size.
    """
    found, first = {}, 0
    for size in sizes:
        times = list(size.walltimes)
        means = waits[:, first : first + len(times)].mean(axis=0)
        at = max(times) if walltime is None else walltime * size.factor
        found[size.nodes] = LaterWaits.longer(size.past, times, means, at)
        first += len(times)
    return found


def _distribution(
    history: History, job: SeenJob, runtimes: Distribution | npt.ArrayLike | None
) -> DiscreteDistribution:
    if runtimes is None:
        return history.runtime_distribution(job)
    return discretise(runtimes, _CELLS) if isinstance(runtimes, Distribution) else from_samples(runtimes)


def _check_size(size: int, factor: float, state: MachineState) -> None:
    if not (is_whole(size, 1) and size <= state.nodes):
        raise ParameterError("nodes", f"a whole number from 1 to the {state.nodes:,} nodes of the machine", size)
    if not 0 < factor <= LARGEST_TIME:
        raise ParameterError(f"runtime on {count_text(size, 'nodes')}", "a multiple above 0 of the runtime", factor)


def _check_walltime(walltime: float, name: str = "walltimes") -> float:
    if not 0 < walltime <= LARGEST_TIME:
        raise ParameterError(
            name, "durations above 0 [s]" if name == "walltimes" else "a duration above 0 [s]", walltime
        )
    return walltime
