"""Runs on the second machine of section 4.4 of the profiles paper, and the factors that transfer plans to it.

The runs on the KNL machine are not public. They are derived from runs on the Haswell machine, with slowdowns of each
phase drawn from the printed ranges.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from holdfast.experiments.papers.profiles.shared_data import task_runs
from holdfast.experiments.study.parameters import data_file
from holdfast.policies.planning.memory_plan import MemoryModel
from holdfast.policies.planning.plan import ReservationPlan
from holdfast.policies.planning.scaled_plan import transfer_plan
from holdfast.workloads.chains.chain import TaskChain
from holdfast.workloads.chains.checkpoint_device import CheckpointDevice
from holdfast.workloads.chains.runs import TaskRuns
from holdfast.workloads.ground.errors import ParameterError, UnknownNameError
from holdfast.workloads.ground.random_streams import stream

__all__ = [
    "DRAWN",
    "HERE",
    "THERE",
    "V2",
    "Machines",
    "Scaling",
    "Slowdowns",
    "TwoMachines",
    "measure_scaling",
    "move_plan",
    "slow_runs",
]

HERE, THERE = "Haswell", "KNL"
V2 = "mem-all-ckpt-v2"
DRAWN = "slowdowns on KNL are drawn from the printed ranges"
_SCALES = ("printed", "measured")


@dataclass(frozen=True)
class TwoMachines:
    """Common parameters of figures 17 and 18.

    Attributes
    ----------
    tasks
        CSV file of measured runs (:func:`holdfast.workloads.chains.runs.read_slant_tasks`); empty: drawn runs.
    runs
        Number of drawn runs.
    segmentation, others
        Ranges of slowdowns on the other machine; see :class:`Slowdowns`.
    samples
        Sizes of the samples of past runs.
    scales
        Kinds of factors: ``"printed"`` (1.7, and 1.1 for the first reservation of V2), ``"measured"`` (on calibration
        runs), or both.
    calibration
        Number of calibration runs on the other machine.
    tau
        Threshold of M_tau, and of the first reservation of V2.
    n
        Number of values of the discretised walltime.
    granularity
        Unit of memory requests [GB].
    """

    tasks: str = data_file("slant/slant_drd_tasks.csv")
    runs: int = 88
    segmentation: tuple[float, ...] = (2.3, 2.5)
    others: tuple[float, ...] = (1.0, 1.6)
    samples: tuple[int, ...] = (5, 10, 20, 50)
    scales: tuple[str, ...] = _SCALES
    calibration: int = 5
    tau: float = 0.1
    n: int = 1000
    granularity: float = 1.0


@dataclass(frozen=True)
class Slowdowns:
    """Ranges of the slowdown of each phase on the other machine.

    Attributes
    ----------
    segmentation
        Range for the deep-learning phase, which is "relatively constant".
    others
        Range for the phases before and after it, which depend on the quality of the image and are drawn separately.

    Raises
    ------
    ParameterError
        If a range is not two ascending numbers > 0.
    """

    segmentation: tuple[float, ...] = (2.3, 2.5)
    others: tuple[float, ...] = (1.0, 1.6)

    def __post_init__(self) -> None:
        for name in ("segmentation", "others"):
            found = getattr(self, name)
            if len(found) != 2 or not 0 < found[0] <= found[1] < np.inf:
                raise ParameterError(name, "two rising numbers > 0", found)


@dataclass(frozen=True)
class Scaling:
    """Factors for the reservations.

    Attributes
    ----------
    factor
        Factor of all reservations.
    first
        Factor of the first reservation of Mem-All-Ckpt V2.
    """

    factor: float = 1.7
    first: float = 1.1


def slow_runs(runs: TaskRuns, heavy: int, slowdowns: Slowdowns, rng: np.random.Generator) -> TaskRuns:
    """Make runs with the same inputs on the other machine.

    Parameters
    ----------
    runs
        Runs on the first machine.
    heavy
        Index of the segmentation task; the tasks before it are one phase, the tasks after it another.
    slowdowns
        Ranges of uniform distributions.
    rng
        Generator of the slowdowns, one for each run and phase.

    Returns
    -------
    TaskRuns
        Runs with the same memory: "the memory footprint was identical over the different phases" (section 4.2.1).
    """
    low, high = slowdowns.others
    before, after = rng.uniform(low, high, (2, len(runs), 1))
    low, high = slowdowns.segmentation
    factors = np.empty_like(runs.durations)
    factors[:, :heavy], factors[:, heavy + 1 :] = before, after
    factors[:, heavy] = rng.uniform(low, high, len(runs))
    return replace(runs, durations=runs.durations * factors)


def measure_scaling(here: TaskRuns, there: TaskRuns, heavy: int) -> Scaling:
    """Measure the factors on a few runs with the same inputs on both machines (step ii of section 4.4).

    Notes
    -----
    The factor of all reservations is the average slowdown of the total time. The factor of the first reservation of V2
    is the smallest slowdown of the phase before the segmentation, "to guarantee that it happens" there. The expected
    minimum of five uniform numbers in [1, 1.6] is 1.1, the printed factor.
    """
    total = float(there.walltimes.sum() / here.walltimes.sum())
    if heavy == 0:
        return Scaling(total, total)
    before = there.ends[:, heavy - 1] / here.ends[:, heavy - 1]
    return Scaling(total, float(before.min()))


class Machines:
    """Runs on both machines, and the inputs of plans.

    Parameters
    ----------
    parameters
        Parameters of the experiment.
    seed
        Seed of all draws.

    Attributes
    ----------
    runs
        Runs on the first machine.
    heavy
        Index of the segmentation, the task with the largest memory.
    device
        Checkpoint device, the same on both machines (section 4.2.1).
    """

    def __init__(self, parameters: TwoMachines, seed: int) -> None:
        if parameters.calibration < 1:
            raise ParameterError("calibration", "at least 1", parameters.calibration)
        if not parameters.samples or min(parameters.samples) < 2:
            raise ParameterError("samples", "numbers of past runs, 2 or more", parameters.samples)
        for scale in parameters.scales:
            if scale not in _SCALES:
                raise UnknownNameError("kind of factors", scale, _SCALES)
        self.parameters, self.seed = parameters, seed
        self.runs = task_runs(parameters.tasks, parameters.runs, seed)
        self.heavy = int(self.runs.peaks.mean(axis=0).argmax())
        self.device = CheckpointDevice()
        self._slowdowns = Slowdowns(parameters.segmentation, parameters.others)

    def stream(self, *names: str | int) -> np.random.Generator:
        """Random stream of these experiments."""
        return stream(self.seed, "profiles", "two machines", *names)

    def slow_down(self, runs: TaskRuns, *names: str | int) -> TaskRuns:
        """Make runs on the other machine; the names identify the random stream."""
        return slow_runs(runs, self.heavy, self._slowdowns, self.stream("slowdowns", *names))

    def past(self, samples: int, repetition: int) -> tuple[TaskRuns, MemoryModel]:
        """Past runs, equal to those in figures 13 and 14, and their memory model."""
        past = self.runs.draw(samples, stream(self.seed, "profiles-fig13", samples, repetition))
        chain = TaskChain.from_runs(past)
        return past, MemoryModel(chain, self.device, self.parameters.tau, self.parameters.granularity)

    def scaling(self, scale: str, *names: str | int) -> Scaling:
        """The printed factors, or factors measured on a few runs."""
        if scale == "printed":
            return Scaling()
        here = self.runs.draw(self.parameters.calibration, self.stream("few", *names))
        return measure_scaling(here, self.slow_down(here, "few", *names), self.heavy)


def move_plan(plan: ReservationPlan, scaling: Scaling, *, overheads: bool = True) -> ReservationPlan:
    """Scale a plan for the other machine; see :func:`holdfast.policies.planning.scaled_plan.transfer_plan`."""
    return transfer_plan(plan, scaling.factor, scaling.first if plan.strategy == V2 else None, overheads=overheads)
