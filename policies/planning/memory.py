"""Plans that know the tasks of an application: checkpoints sized by its memory, and a memory request a reservation.

Source: [P], "Profiles of upcoming HPC Applications and their Impact on Reservation Strategies" (Inria RR-9359),
section 4. Whatever unit of time the chain is in, the device must be in too: seconds with its defaults.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from policies.planning.costs import CostModel
from policies.planning.optimal import cheapest
from policies.planning.plan import ReservationPlan
from policies.planning.strategies import STRATEGIES
from workloads.chains.chain import TaskChain
from workloads.chains.device import CheckpointDevice
from workloads.chains.fits import fit_law
from workloads.chains.runs import TaskRuns
from workloads.errors import ParameterError
from workloads.laws import DiscreteLaw, Law, bounded, discretise, truncate

__all__ = ["MemoryModel", "flat_costs", "mem_all_ckpt", "mem_all_ckpt_v2", "walltime_cells", "with_flat_memory"]

Floats = npt.NDArray[np.float64]

#: Points between two milestones at which the memory is looked up.
_LOOKS = 256


@dataclass(frozen=True)
class MemoryModel:
    """The memory that a job needs over time, and what its checkpoints take.

    Attributes
    ----------
    chain
        The application.
    device
        What a checkpoint costs.
    tau
        Of M_tau(t): memory that is needed with probability ``tau`` or less is not asked for.
    granularity
        Memory is asked for in multiples of this [GB], and checkpoints are sized for what was asked for: the peak of a
        task differs by some tenths of a GB from run to run. 0: as measured.
    of_running
        Probabilities among the jobs that still run, not among all ([P] takes all).
    """

    chain: TaskChain
    device: CheckpointDevice = field(default_factory=CheckpointDevice)
    tau: float = 0.1
    granularity: float = 1.0
    of_running: bool = False

    def __post_init__(self) -> None:
        if not (math.isfinite(self.granularity) and self.granularity >= 0):
            raise ParameterError("granularity", "finite and >= 0 [GB]", self.granularity)

    def requested(self, gigabytes: npt.ArrayLike) -> Floats:
        """What is asked for where so much is needed."""
        needed = np.asarray(gigabytes, dtype=float)
        if self.granularity == 0:
            return needed
        # 15.000000000000002 GB are 15 GB.
        return np.asarray(np.ceil(needed / self.granularity - 1e-9) * self.granularity, dtype=float)

    def at(self, times: npt.ArrayLike) -> Floats:
        """Memory to ask for at each time, any shape."""
        at = np.asarray(times, dtype=float)
        quantile = self.chain.memory_quantile(at.ravel(), self.tau, of_running=self.of_running)
        return self.requested(quantile.reshape(at.shape))

    @property
    def peak(self) -> float:
        """Memory to ask for where nothing is known but the peak of the application."""
        return float(self.requested(self.chain.memory.max()))

    def requests(self, milestones: npt.ArrayLike) -> Floats:
        """Memory of each reservation: the most that its part of the run needs, shape (m,)."""
        ends = np.asarray(milestones, dtype=float)
        begins = np.concatenate(([0.0], ends[:-1]))
        # From just after the begin to the end: Equation 2 counts a task up to its very end.
        parts = np.arange(1, _LOOKS + 1) / _LOOKS
        needed: Floats = self.at(begins[:, None] + parts * (ends - begins)[:, None]).max(axis=1)
        return needed

    def costs(self, prices: CostModel, *, restart_varies: bool = False) -> CostModel:
        """These prices with the checkpoints of this model; restarts read the largest image, or that of their time."""
        restart: Any = float(self.device.restart(self.peak))
        if restart_varies:

            def restart(milestones: Floats) -> Floats:
                return np.asarray(self.device.restart(self.at(milestones)), dtype=float)

        def checkpoint(milestones: Floats) -> Floats:
            return np.asarray(self.device.checkpoint(self.at(milestones)), dtype=float)

        return replace(prices, checkpoint=checkpoint, restart=restart)


def flat_costs(model: MemoryModel, prices: CostModel | None = None) -> CostModel:
    """Prices with checkpoints and restarts of the peak memory: what strategies that know no tasks reckon with."""
    peak = model.peak
    return replace(
        prices or CostModel(),
        checkpoint=float(model.device.checkpoint(peak)),
        restart=float(model.device.restart(peak)),
    )


def with_flat_memory(plan: ReservationPlan, model: MemoryModel) -> ReservationPlan:
    """A plan that asks for the peak memory in every reservation."""
    return replace(plan, memory=np.full(len(plan), model.peak))


def walltime_cells(law: Law, n: int = 1000, tail: float = 1e-7) -> DiscreteLaw:
    """The walltime on n equally spaced values of [0, Q(1 - tail)], as section 4.1.1 of [P] has it."""
    whole = law if law.lower >= 0 else truncate(law, lower=0.0)
    return discretise(bounded(whole, tail), n, "equal-time")


def mem_all_ckpt(
    law: Law | TaskRuns | TaskChain,
    costs: CostModel | None = None,
    *,
    chain: TaskChain | None = None,
    device: CheckpointDevice | None = None,
    tau: float = 0.1,
    granularity: float = 1.0,
    of_running: bool = False,
    restart_varies: bool = False,
    n: int = 1000,
) -> ReservationPlan:
    """Mem-All-Ckpt: all reservations checkpointed, each checkpoint sized by the memory needed at its time.

    Parameters
    ----------
    law
        Law of the walltime, with ``chain``; or a chain, whose own walltime counts; or past runs, from which both are
        made as in [P]: normal walltime, normal tasks.
    costs
        Prices; its checkpoint and restart are replaced by those of the device.
    chain
        The application where ``law`` is the law of its walltime.
    device
        What a checkpoint of a given volume takes.
    tau, granularity, of_running
        Of :class:`MemoryModel`.
    restart_varies
        A restart takes the time of its own image; else that of the largest one, as in [P].
    n
        Values of the discretised walltime; a discrete law stays as it is.

    Returns
    -------
    ReservationPlan
        With the memory of each reservation.

    Raises
    ------
    ParameterError
        If ``law`` says nothing of tasks and ``chain`` is missing, or a parameter is illegal.

    Notes
    -----
    S(i) = min over j > i of S(j) + (R_i + v_j - v_i + C_j) P(Y > v_i), where nothing is read at i = 0 and nothing is
    written at the last value. As printed in [P], C_i and R are charged at i = 0: the checkpoint at the *begin* of the
    reservation, and a restart of nothing.
    """
    cells, model = _modelled(law, chain, device, tau, granularity, of_running, n)
    whole = model.costs(costs or CostModel(), restart_varies=restart_varies)
    found = cheapest(cells.values, cells.probabilities, whole, "all")
    return _planned(found.milestones, whole, model, "mem-all-ckpt")


def mem_all_ckpt_v2(
    law: Law | TaskRuns | TaskChain,
    costs: CostModel | None = None,
    *,
    chain: TaskChain | None = None,
    device: CheckpointDevice | None = None,
    tau: float = 0.1,
    start_tau: float | None = None,
    granularity: float = 1.0,
    of_running: bool = False,
    restart_varies: bool = False,
    n: int = 1000,
) -> ReservationPlan:
    """Mem-All-Ckpt V2: a first reservation that ends before the task with the most memory is likely to have begun.

    Parameters
    ----------
    start_tau
        The first reservation ends at the time by which that task has begun with this probability; ``tau`` by default.
    law, costs, chain, device, tau, granularity, of_running, restart_varies, n
        Of :func:`mem_all_ckpt`.

    Returns
    -------
    ReservationPlan
        With the memory of each reservation; the first asks for what the tasks before need. It is the plan of
        :func:`mem_all_ckpt` where the task with the most memory is the first, or has begun before any time > 0.

    Notes
    -----
    [P], section 4.2.3, where the length (25 min for SLANT) is read off a figure. The rest of the plan is the cheapest
    for a job that was checkpointed there. A job whose heavy task begins earlier stops before it; see
    :func:`policies.planning.execution.execute`.
    """
    cells, model = _modelled(law, chain, device, tau, granularity, of_running, n)
    whole = model.costs(costs or CostModel(), restart_varies=restart_varies)
    first = model.chain.start_quantile(model.chain.peak_task, tau if start_tau is None else start_tau)
    later = cells.values > first
    alive = cells.probabilities[later].sum()
    if not (first > 0 and alive > 0):
        return replace(mem_all_ckpt(cells, costs, chain=model.chain, device=model.device, tau=tau,
                                    granularity=granularity, of_running=of_running, restart_varies=restart_varies),
                       strategy="mem-all-ckpt-v2")
    # What is left is the same problem from a later zero; that its first reservation begins with a restart, too, costs
    # every plan the same.
    checkpoint, restart = whole.checkpoint, whole.restart
    rest = replace(whole, checkpoint=_later(checkpoint, first), restart=_later(restart, first))
    found = cheapest(cells.values[later] - first, cells.probabilities[later] / alive, rest, "all")
    milestones = np.concatenate(([first], found.milestones + first))
    plan = _planned(milestones, whole, model, "mem-all-ckpt-v2")
    # Before the heavy task only the tasks before it count, whatever M_tau says at the last instant.
    before = model.requested(model.chain.memory[: model.chain.peak_task].max())
    memory = np.array(plan.memory, dtype=float)
    memory[0] = min(float(memory[0]), float(before))
    return replace(plan, memory=memory)


def _later(duration: Any, shift: float) -> Any:
    """A duration as a function of the time since ``shift``."""
    return (lambda times: duration(np.asarray(times, dtype=float) + shift)) if callable(duration) else duration


def _modelled(
    law: Law | TaskRuns | TaskChain,
    chain: TaskChain | None,
    device: CheckpointDevice | None,
    tau: float,
    granularity: float,
    of_running: bool,
    n: int,
) -> tuple[DiscreteLaw, MemoryModel]:
    """The discrete walltime, and the memory over time."""
    walltime: Law
    if isinstance(law, TaskRuns):
        chain = chain or TaskChain.from_runs(law)
        walltime = fit_law(law.walltimes)
    elif isinstance(law, TaskChain):
        chain, walltime = chain or law, law.walltime
    elif chain is None:
        raise ParameterError("chain", "the tasks of the application, which a law of its walltime does not tell", chain)
    else:
        walltime = law
    cells = walltime if isinstance(walltime, DiscreteLaw) else walltime_cells(walltime, n)
    return cells, MemoryModel(chain, device or CheckpointDevice(), tau, granularity, of_running)


def _planned(milestones: Floats, costs: CostModel, model: MemoryModel, strategy: str) -> ReservationPlan:
    flags = np.arange(milestones.size) < milestones.size - 1
    return ReservationPlan(
        milestones, flags, costs, strategy, model.requests(milestones), extension_checkpointed=True
    )


STRATEGIES.add("mem-all-ckpt", mem_all_ckpt)
STRATEGIES.add("mem-all-ckpt-v2", mem_all_ckpt_v2)
