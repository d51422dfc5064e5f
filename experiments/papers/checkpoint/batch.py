"""Simulation of a batch of jobs from the applications of Table 3 (checkpoint paper, section 5).

All jobs are submitted at once. The paper's platform is Slurm on 256 hardware threads; here the scheduler is first come,
first served with EASY backfilling on 256 processors, one for each job. The paper's processor has 64 cores; therefore
there are also experiments with 64. All random numbers of an instance are drawn once, so that all strategies have
the same jobs in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from holdfast.experiments.papers.checkpoint.published_values import APPLICATIONS
from holdfast.experiments.papers.checkpoint.workload import application_distribution
from holdfast.experiments.study.experiment import Tables
from holdfast.experiments.study.metrics import BATCH
from holdfast.experiments.study.verdicts import Verdict
from holdfast.policies.planning.costs import CostModel
from holdfast.policies.planning.plan import ReservationPlan
from holdfast.policies.planning.strategies import STRATEGIES
from holdfast.simulator.machine.actual_outcomes import UNSAVED
from holdfast.simulator.results.metrics import summarize
from holdfast.simulator.results.reservations import stochastic_rows
from holdfast.simulator.simulation import simulate
from holdfast.workloads.distributions import Distribution
from holdfast.workloads.ground.errors import ParameterError, UnknownNameError
from holdfast.workloads.ground.random_streams import stream
from holdfast.workloads.table.job import Job, JobType

__all__ = [
    "EFFICIENCY",
    "EXECUTION",
    "METRICS",
    "OMNISCIENT",
    "RESERVED",
    "RESPONSE",
    "SMALL_MACHINE",
    "STRATEGY_COLORS",
    "STRATEGY_NAMES",
    "UTILIZATION",
    "Instance",
    "check_batch",
    "draw_instance",
    "find_distribution",
    "judge_on",
    "plan_for",
    "run_batch",
]

#: Cores of the paper's processor, with four hardware threads each.
SMALL_MACHINE = 64
#: Strategy that requests the true runtimes: the best utilisation for this order of submission.
OMNISCIENT = "omniscient"
#: The paper's names of the strategies, by the planner's names.
STRATEGY_NAMES: Mapping[str, str] = {
    "optimal": "DYN-PROG-COUNT",
    "all-ckpt": "ALL-CKPT",
    "masi": "HPC",
    OMNISCIENT: "omniscient",
}
STRATEGY_COLORS: Mapping[str, str] = {
    "optimal": "#0072B2",
    "all-ckpt": "#E69F00",
    "masi": "#7F7F7F",
    OMNISCIENT: "#FFFFFF",
}
#: Growth factor of the reservations of the HPC strategy (section 5.1).
_FACTOR = 1.5

UTILIZATION, EXECUTION, RESPONSE, RESERVED, EFFICIENCY = BATCH.values()
#: Strategies, the paper's two first.
METRICS = tuple(BATCH.values())


@dataclass(frozen=True, eq=False)
class Instance:
    """Jobs that are submitted at once.

    Attributes
    ----------
    applications
        Application of each job, in the order of submission, shape (jobs,).
    runtimes
        Runtime of each job [s], shape (jobs,).
    past
        Last runs of each application for HPC [s].
    seed
        Seed for the variation of checkpoint and restart times.
    """

    applications: tuple[str, ...]
    runtimes: npt.NDArray[np.float64]
    past: Mapping[str, npt.NDArray[np.float64]]
    seed: int


@cache
def find_distribution(application: str) -> Distribution:
    """The runtime distribution of an application of Table 3 [s]."""
    return application_distribution(APPLICATIONS[application])


def check_batch(applications: Sequence[str], **numbers: int) -> None:
    """Check the settings of a batch before simulations begin.

    Raises
    ------
    UnknownNameError
        If an application is not in Table 3.
    ParameterError
        If a number is less than 1, or there are fewer than 2 repetitions, which an interval needs.
    """
    for name in applications:
        if name not in APPLICATIONS:
            raise UnknownNameError("application", name, APPLICATIONS)
    for name, value in numbers.items():
        least = 2 if name in ("repetitions", "runs") else 1
        if value < least:
            raise ParameterError(name, f"a whole number of at least {least}", value)


def draw_instance(counts: Mapping[str, int], past: int, seed: int, repetition: int) -> Instance:
    """Draw an instance: the given number of jobs of each application, in random order.

    Parameters
    ----------
    counts
        Jobs by application.
    past
        Number of earlier runs of each application.
    seed, repetition
        Seed and number of the repetition, which determine the instance.
    """
    names = [name for name, count in counts.items() for _ in range(count)]
    drawn = [
        find_distribution(name).sample(stream(seed, "batch", name, "runtimes", repetition), count)
        for name, count in counts.items()
    ]
    order = stream(seed, "batch", "order", repetition).permutation(len(names))
    known = {
        name: find_distribution(name).sample(stream(seed, "batch", name, "past", repetition), past) for name in counts
    }
    return Instance(
        tuple(names[place] for place in order),
        np.concatenate(drawn)[order],
        known,
        int(stream(seed, "batch", "variation", repetition).integers(2**31)),
    )


def _costs(application: str, overhead: float) -> CostModel:
    """RESERVATIONONLY, with the C and R of Table 3 times a factor [s]."""
    printed = APPLICATIONS[application]
    return CostModel(checkpoint=overhead * printed.checkpoint, restart=overhead * printed.restart)


@cache
def _of_distribution(strategy: str, application: str, overhead: float) -> ReservationPlan:
    return STRATEGIES[strategy](find_distribution(application), _costs(application, overhead))


def plan_for(strategy: str, application: str, past: npt.NDArray[np.float64], overhead: float = 1.0) -> ReservationPlan:
    """Make the plan of a strategy, from the distribution (DYN-PROG-COUNT and ALL-CKPT) or from past runs (HPC).

    Parameters
    ----------
    strategy
        ``"optimal"``, ``"all-ckpt"`` or ``"masi"``.
    application
        Application of Table 3.
    past
        Last runs of the application [s].
    overhead
        C and R as multiples of those of Table 3.
    """
    if strategy == "masi":
        return STRATEGIES["masi"](past, _costs(application, overhead), k=past.size, factor=_FACTOR)
    return _of_distribution(strategy, application, overhead)


def judge_on(where: str, judge: Callable[[Tables], Sequence[Verdict]]) -> Callable[[Tables], list[Verdict]]:
    """Make a judge with claims that end with ``where``, the name of the machine (empty: the paper's machine)."""
    return lambda tables: [replace(verdict, claim=f"{verdict.claim}{where}") for verdict in judge(tables)]


def run_batch(
    instance: Instance,
    strategy: str,
    processors: int,
    *,
    overhead: float = 1.0,
    variation: float = 0.0,
    mode: str = "absorbed",
    carried_out: Callable[[ReservationPlan], ReservationPlan] | None = None,
) -> dict[str, Any]:
    """Run an instance under one strategy.

    Parameters
    ----------
    instance
        The jobs; each takes one processor.
    strategy
        One of :data:`STRATEGY_NAMES`.
    processors
        Number of processors of the machine.
    overhead
        C and R as multiples of those of Table 3.
    variation, mode
        Variation and mode of checkpoints and restarts: :class:`holdfast.simulator.options.Options`.
    carried_out
        Function that changes a plan for its execution; None: unchanged.

    Returns
    -------
    dict
        A row with these columns: strategy; utilization (all walltimes over processors times the time to run all);
        execution_stretch, response_stretch, reserved_stretch (used time, turnaround, and requested time over walltime,
        means over the jobs); efficiency (all walltimes over all used processor time: the utilisation of a queue that
        never ends); bound (upper bound of the utilisation of any schedule, given by the longest job); full (share of
        the time with all processors busy); all_done_s; reservations (per job); reserved_s and expected_cost_s (per
        job, measured and expected by the planner); plan_checkpoints (in the plan of a job); checkpoints_lost (per job).
    """
    plans, expected = _plans(instance, strategy, overhead)
    if carried_out is not None:
        plans = {name: carried_out(plan) for name, plan in plans.items()}
    # The plans contain C and R.
    jobs = [
        Job(row, JobType.STOCHASTIC, 0.0, 1, runtime, runtime, application=name,
            plan=f"job {row}" if strategy == OMNISCIENT else name)
        for row, (name, runtime) in enumerate(zip(instance.applications, instance.runtimes.tolist(), strict=True))
    ]  # fmt: skip
    result = simulate(
        jobs, processors, events=False, plans=plans,
        checkpoint_variation=variation, checkpoint_mode=mode, seed=instance.seed,
    )  # fmt: skip
    summary, rows = summarize(result), list(stochastic_rows(result))

    def mean(values: Sequence[Any]) -> float:
        return float(np.mean([float(value) for value in values]))

    times, busy = (np.array([sample[place] for sample in result.samples], dtype=float) for place in (0, 1))
    spans = np.diff(times)
    lost = [[item.ending for item in course.reservations].count(UNSAVED) for course in result.stochastic]
    return {
        "strategy": strategy,
        "utilization": summary["work_utilization"],
        "execution_stretch": summary["execution_stretch"],
        "response_stretch": summary["stretch"],
        "reserved_stretch": mean([float(str(row["reserved"])) / float(str(row["runtime"])) for row in rows]),
        "efficiency": instance.runtimes.sum() / sum(float(str(row["used"])) for row in rows),
        "bound": min(1.0, float(instance.runtimes.sum() / (processors * instance.runtimes.max()))),
        "full": float(spans[busy[:-1] == processors].sum() / spans.sum()),
        "all_done_s": float(summary["makespan_h"]) * 3600.0,
        "reservations": summary["reservations_per_job"],
        "reserved_s": mean([row["reserved"] for row in rows]),
        "expected_cost_s": mean([expected[name] for name in instance.applications]),
        "plan_checkpoints": mean([course.planned.plan.checkpointed.sum() for course in result.stochastic]),
        "checkpoints_lost": mean(lost),
    }


def _plans(instance: Instance, strategy: str, overhead: float) -> tuple[dict[str, ReservationPlan], dict[str, float]]:
    """Plans by name, and their expected costs by application."""
    names = dict.fromkeys(instance.applications)
    if strategy == OMNISCIENT:
        costs = CostModel()
        runtimes = enumerate(instance.runtimes.tolist())
        own = {f"job {row}": ReservationPlan([runtime], False, costs, OMNISCIENT) for row, runtime in runtimes}
        return own, {name: find_distribution(name).mean() for name in names}
    plans = {name: plan_for(strategy, name, instance.past[name], overhead) for name in names}
    return plans, {name: plan.expected_cost(find_distribution(name)) for name, plan in plans.items()}
