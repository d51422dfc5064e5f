"""Runs on the second machine of section 4.4 of the profiles paper, and the factors that transfer plans to it.

The runs on the KNL machine are not public. They are derived from runs on the Haswell machine with a slowdown per phase,
drawn from the printed ranges.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from experiments.papers.profiles.shared_data import task_runs
from experiments.study.parameters import data_file
from policies.planning.memory_plan import MemoryModel
from policies.planning.plan import ReservationPlan
from policies.planning.scaled_plan import transfer_plan
from workloads.chains.chain import TaskChain
from workloads.chains.device import CheckpointDevice
from workloads.chains.runs import TaskRuns
from workloads.ground.errors import ParameterError, UnknownNameError
from workloads.ground.streams import stream

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
        A CSV file of measured runs (:func:`workloads.chains.runs.read_slant_tasks`); empty: drawn runs.
    runs
        Number of drawn runs.
    segmentation, others
        Ranges of the slowdowns on the other machine; see :class:`Slowdowns`.
    samples
        Sizes of the samples of past runs.
    scales
        One or both of ``"printed"`` (1.7, the first reservation of V2 by 1.1) and ``"measured"`` on calibration runs.
    calibration
        Number of calibration runs on the other machine.
    tau
        Threshold of M_tau, and of the first reservation of V2.
    n
        Values of the discretised walltime.
    granularity
        Memory requests are multiples of this [GB].
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
    """Ranges of the phases' slowdown on the other machine.

    Attributes
    ----------
    segmentation
        The deep-learning phase, which computes: "relatively constant".
    others
        The phases before and after it, drawn separately: they depend on the quality of the image.

    Raises
    ------
    ParameterError
        If a range is not two rising numbers > 0.
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
    """Make runs of the same inputs on the other machine.

    Parameters
    ----------
    runs
        On the first machine.
    heavy
        Index of the segmentation task; the tasks before it form one phase, those after it another.
    slowdowns
        Ranges of uniform distributions.
    rng
        Random generator of one slowdown for each run and phase.

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
    """Measure the factors on a few runs of the same inputs on both machines (step ii of section 4.4).

    Notes
    -----
    All reservations are scaled by the average slowdown of the total time, the first one of V2 by the least slowdown of
    the phase before the segmentation, "to guarantee that it happens" there. The expected minimum of five uniform
    numbers in [1, 1.6] is 1.1, the printed factor.
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
        On the first machine.
    heavy
        Index of the segmentation, the task with the most memory.
    device
        Checkpoint device, on either machine (section 4.2.1).
    """

    def __init__(self, parameters: TwoMachines, seed: int) -> None:
        if parameters.calibration < 1:
            raise ParameterError("calibration", "at least 1", parameters.calibration)
        if not parameters.samples or min(parameters.samples) < 2:
            raise ParameterError("samples", "numbers of past runs, 2 or more", parameters.samples)
        for scale in parameters.scales:
            if scale not in _SCALES:
                raise UnknownNameError("way to scale", scale, _SCALES)
        self.parameters, self.seed = parameters, seed
        self.runs = task_runs(parameters.tasks, parameters.runs, seed)
        self.heavy = int(self.runs.peaks.mean(axis=0).argmax())
        self.device = CheckpointDevice()
        self._slowdowns = Slowdowns(parameters.segmentation, parameters.others)

    def stream(self, *names: str | int) -> np.random.Generator:
        """Random stream of these experiments."""
        return stream(self.seed, "profiles", "two machines", *names)

    def slow_down(self, runs: TaskRuns, *names: str | int) -> TaskRuns:
        """Runs on the other machine; the names identify the draw."""
        return slow_runs(runs, self.heavy, self._slowdowns, self.stream("slowdowns", *names))

    def past(self, samples: int, repetition: int) -> tuple[TaskRuns, MemoryModel]:
        """Past runs, the same as in figures 13 and 14, and their memory model."""
        past = self.runs.draw(samples, stream(self.seed, "profiles-fig13", samples, repetition))
        chain = TaskChain.from_runs(past)
        return past, MemoryModel(chain, self.device, self.parameters.tau, self.parameters.granularity)

    def scaling(self, scale: str, *names: str | int) -> Scaling:
        """The printed factors, or those measured on a few runs."""
        if scale == "printed":
            return Scaling()
        here = self.runs.draw(self.parameters.calibration, self.stream("few", *names))
        return measure_scaling(here, self.slow_down(here, "few", *names), self.heavy)


def move_plan(plan: ReservationPlan, scaling: Scaling, *, overheads: bool = True) -> ReservationPlan:
    """The plan for the other machine; see :func:`policies.planning.scaled_plan.transfer_plan`."""
    return transfer_plan(plan, scaling.factor, scaling.first if plan.strategy == V2 else None, overheads=overheads)
