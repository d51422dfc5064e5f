"""Plans for task chains: checkpoint sizes depend on the application's memory, and each reservation requests memory.

Source: [P], "Profiles of upcoming HPC Applications and their Impact on Reservation Strategies" (Inria RR-9359),
section 4. The chain and the device must use the same unit of time: seconds with the defaults of the device.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from holdfast.policies.planning.costs import CostModel
from holdfast.policies.planning.discretisation import as_discrete
from holdfast.policies.planning.optimal import cheapest
from holdfast.policies.planning.plan import ReservationPlan
from holdfast.workloads.chains.chain import TaskChain
from holdfast.workloads.chains.checkpoint_device import CheckpointDevice
from holdfast.workloads.chains.runs import TaskRuns
from holdfast.workloads.chains.task_fits import fit_distribution
from holdfast.workloads.distributions import Distribution
from holdfast.workloads.ground.errors import ParameterError

__all__ = ["MemoryModel", "flat_costs", "mem_all_ckpt", "mem_all_ckpt_v2", "with_flat_memory"]

Floats = npt.NDArray[np.float64]

#: Number of points between two milestones at which the memory is evaluated.
_LOOKS = 256


@dataclass(frozen=True)
class MemoryModel:
    """The memory that a job needs over time, and the duration of its checkpoints.

    Attributes
    ----------
    chain
        The application.
    device
        Device that writes the checkpoints.
    tau
        The tau of M_tau(t): memory that is needed with probability ``tau`` or less is not requested.
    granularity
        Unit of requests and checkpoint sizes [GB], because the peak of a task varies by some tenths of a GB between
        runs. 0: no rounding.
    of_running
        Whether probabilities are conditional on jobs that still run ([P] uses all jobs).
    """

    chain: TaskChain
    device: CheckpointDevice = field(default_factory=CheckpointDevice)
    tau: float = 0.1
    granularity: float = 1.0
    of_running: bool = False

    def __post_init__(self) -> None:
        if not (math.isfinite(self.granularity) and self.granularity >= 0):
            raise ParameterError("granularity", "finite and >= 0 [GB]", self.granularity)

    def round_up(self, gigabytes: npt.ArrayLike) -> Floats:
        """Round needed memory up to a request [GB]."""
        needed = np.asarray(gigabytes, dtype=float)
        if self.granularity == 0:
            return needed
        # The tolerance makes 15.000000000000002 GB a request of 15 GB.
        return np.asarray(np.ceil(needed / self.granularity - 1e-9) * self.granularity, dtype=float)

    def at(self, times: npt.ArrayLike) -> Floats:
        """Memory to request at each time, in the shape of ``times`` [GB]."""
        at = np.asarray(times, dtype=float)
        quantile = self.chain.memory_quantile(at.ravel(), self.tau, of_running=self.of_running)
        return self.round_up(quantile.reshape(at.shape))

    @property
    def peak(self) -> float:
        """Memory to request if only the peak of the application is known."""
        return float(self.round_up(self.chain.memory.max()))

    def requests(self, milestones: npt.ArrayLike) -> Floats:
        """Memory request of each reservation, the largest need in its part of the run, shape (m,) [GB]."""
        ends = np.asarray(milestones, dtype=float)
        begins = np.concatenate(([0.0], ends[:-1]))
        # Points are from just after the start to the end, because Equation 2 includes the end of a task.
        parts = np.arange(1, _LOOKS + 1) / _LOOKS
        needed: Floats = self.at(begins[:, None] + parts * (ends - begins)[:, None]).max(axis=1)
        return needed

    def costs(self, prices: CostModel, *, restart_varies: bool = False) -> CostModel:
        """Prices with the checkpoint times of this model; restarts read the largest checkpoint, or the last one."""
        restart: Any = float(self.device.restart(self.peak))
        if restart_varies:

            def restart(milestones: Floats) -> Floats:
                return np.asarray(self.device.restart(self.at(milestones)), dtype=float)

        def checkpoint(milestones: Floats) -> Floats:
            return np.asarray(self.device.checkpoint(self.at(milestones)), dtype=float)

        return replace(prices, checkpoint=checkpoint, restart=restart)


def flat_costs(model: MemoryModel, prices: CostModel | None = None) -> CostModel:
    """Prices with checkpoints and restarts of the peak memory, for strategies that ignore tasks."""
    peak = model.peak
    return replace(
        prices or CostModel(),
        checkpoint=float(model.device.checkpoint(peak)),
        restart=float(model.device.restart(peak)),
    )


def with_flat_memory(plan: ReservationPlan, model: MemoryModel) -> ReservationPlan:
    """The plan with a request for the peak memory in every reservation."""
    return replace(plan, memory=np.full(len(plan), model.peak))


def mem_all_ckpt(
    distribution_or_runs: TaskRuns | TaskChain | Distribution | npt.ArrayLike,
    costs: CostModel,
    *,
    chain: TaskChain | None = None,
    device: CheckpointDevice | None = None,
    tau: float = 0.1,
    granularity: float = 1.0,
    of_running: bool = False,
    restart_varies: bool = False,
    n: int | None = None,
    grid: str | None = None,
) -> ReservationPlan:
    """Mem-All-Ckpt: all reservations end with checkpoints, which have the size of the memory needed at their times.

    Parameters
    ----------
    distribution_or_runs
        One of: runs with tasks, from which normal distributions of the walltime and the tasks are made as in [P]; a
        chain, which has its own walltime; a distribution of the walltime, or past walltimes, together with ``chain``.
        Without a chain, the application is one task of unknown memory, and the plan is that of ALL-CKPT (section 4.2.2
        of [P]).
    costs
        Prices; if there is a chain, checkpoint and restart are replaced by those of the device.
    chain
        Task chain of the application, if ``distribution_or_runs`` is only its walltime.
    device
        Device that determines the duration of a checkpoint from its volume.
    tau, granularity, of_running
        As in :class:`MemoryModel`.
    restart_varies
        Whether a restart takes the time for its own checkpoint instead of that for the largest one, as in [P].
    n, grid
        Discretisation of a continuous distribution ([P]: 1000, ``"equal-time"``); see
        :func:`holdfast.policies.planning.discretisation.as_discrete`.

    Returns
    -------
    ReservationPlan
        Plan with a memory request for each reservation.

    Notes
    -----
    S(i) = min over j > i of S(j) + (R_i + v_j - v_i + C_j) P(Y > v_i), without a restart at i = 0 and without a
    checkpoint at the last value. The formula printed in [P] charges C_i and R at i = 0: a checkpoint at the start of
    the reservation, and a restart without a checkpoint to read.

    Examples
    --------
    >>> from holdfast.workloads.chains.synthetic import slant_like
    >>> runs = slant_like(50, np.random.default_rng(1))
    >>> mem_all_ckpt(runs, CostModel()).memory.tolist()[:2]
    [52.0, 11.0]
    """
    walltime, model = _make_model(distribution_or_runs, chain, MemorySettings(device, tau, granularity, of_running))
    whole = costs if model is None else model.costs(costs, restart_varies=restart_varies)
    distribution = as_discrete(walltime, whole, n, grid)
    found = cheapest(distribution.values, distribution.probabilities, whole, "all", distribution.survival)
    return _make_plan(found.milestones, whole, model, "mem-all-ckpt")


def mem_all_ckpt_v2(
    distribution_or_runs: TaskRuns | TaskChain | Distribution | npt.ArrayLike,
    costs: CostModel,
    *,
    start_tau: float | None = None,
    chain: TaskChain | None = None,
    device: CheckpointDevice | None = None,
    tau: float = 0.1,
    granularity: float = 1.0,
    of_running: bool = False,
    restart_varies: bool = False,
    n: int | None = None,
    grid: str | None = None,
) -> ReservationPlan:
    """Mem-All-Ckpt V2: the first reservation ends before the task with the largest memory is likely to have begun.

    Parameters
    ----------
    start_tau
        Probability that this task has begun by the end of the first reservation; by default ``tau``.
    distribution_or_runs, costs, chain, device, tau, granularity, of_running, restart_varies, n, grid
        As in :func:`mem_all_ckpt`.

    Returns
    -------
    ReservationPlan
        Plan with a memory request for each reservation; the first one is the need of the tasks before the heavy one. If
        the task with the largest memory begins at once, the plan is that of :func:`mem_all_ckpt`.

    Notes
    -----
    Source: [P], section 4.2.3, which reads the length (25 min for SLANT) from a figure. The rest of the plan is the
    cheapest for a job with a checkpoint at this time. A job with a heavy task that begins earlier stops before it; see
    :func:`holdfast.policies.planning.memory_execution.execute`.
    """
    walltime, model = _make_model(distribution_or_runs, chain, MemorySettings(device, tau, granularity, of_running))
    whole = costs if model is None else model.costs(costs, restart_varies=restart_varies)
    distribution = as_discrete(walltime, whole, n, grid)
    heavy = 0 if model is None else model.chain.peak_task
    first = 0.0 if model is None else model.chain.start_quantile(heavy, tau if start_tau is None else start_tau)
    later = distribution.values > first
    alive = float(distribution.sf(first))
    if model is None or not (first > 0 and alive > 0):
        found = cheapest(distribution.values, distribution.probabilities, whole, "all", distribution.survival)
        return _make_plan(found.milestones, whole, model, "mem-all-ckpt-v2")
    # The rest is the same problem with a later origin. Its first reservation also begins with a restart, which adds the
    # same cost to every plan.
    rest = replace(whole, checkpoint=_later(whole.checkpoint, first), restart=_later(whole.restart, first))
    left = distribution.probabilities[later] / distribution.probabilities[later].sum()
    found = cheapest(distribution.values[later] - first, left, rest, "all", distribution.survival[later] / alive)
    plan = _make_plan(np.concatenate(([first], found.milestones + first)), whole, model, "mem-all-ckpt-v2")
    # The first reservation needs only the memory of the tasks before the heavy one, even if M_tau is larger at its end.
    before = float(model.round_up(model.chain.memory[:heavy].max()))
    memory = np.array(plan.memory, dtype=float)
    memory[0] = min(memory[0], before)
    return replace(plan, memory=memory)


@dataclass(frozen=True)
class MemorySettings:
    """Settings of a :class:`MemoryModel` other than its chain."""

    device: CheckpointDevice | None
    tau: float
    granularity: float
    of_running: bool


def _later(duration: Any, shift: float) -> Any:
    """A duration as a function of the time since ``shift``."""
    return (lambda times: duration(np.asarray(times, dtype=float) + shift)) if callable(duration) else duration


def _make_model(
    distribution_or_runs: TaskRuns | TaskChain | Distribution | npt.ArrayLike,
    chain: TaskChain | None,
    settings: MemorySettings,
) -> tuple[Distribution | npt.ArrayLike, MemoryModel | None]:
    """The walltime, and a model of the memory over time (None: unknown)."""
    walltime: Any = distribution_or_runs
    if isinstance(distribution_or_runs, TaskRuns):
        chain = chain or TaskChain.from_runs(distribution_or_runs)
        walltime = fit_distribution(distribution_or_runs.walltimes)
    elif isinstance(distribution_or_runs, TaskChain):
        chain = chain or distribution_or_runs
        walltime = distribution_or_runs.walltime
    if chain is None:
        return walltime, None
    device = settings.device or CheckpointDevice()
    return walltime, MemoryModel(chain, device, settings.tau, settings.granularity, settings.of_running)


def _make_plan(milestones: Floats, costs: CostModel, model: MemoryModel | None, strategy: str) -> ReservationPlan:
    flags = np.arange(milestones.size) < milestones.size - 1
    memory = None if model is None else model.requests(milestones)
    return ReservationPlan(milestones, flags, costs, strategy, memory, extension_checkpointed=True)
