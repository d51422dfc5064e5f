"""Alternative readings of ambiguous sentences in [R] section 5, and the simulation of a batch under each of them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from holdfast.experiments.papers.checkpoint.batch import Instance, find_distribution, plan_for
from holdfast.experiments.planning.reservation_series import RELEASES, REQUEUES, Release, Requeue, replay_series, series
from holdfast.policies.planning.plan_progress import Schedule
from holdfast.workloads.ground.random_streams import stream

__all__ = ["STRETCHES", "UTILIZATIONS", "BatchMeasure", "BatchOperation", "measures", "operations", "replay_batch"]

Past = Literal["common", "own"]
#: Candidate columns for "utilization", with the difference from the default in words.
UTILIZATIONS: Mapping[str, str] = {
    "utilization": "",
    "used_utilization": "walltimes over time used",
    "reserved_utilization": "walltimes over reserved time",
    "job_utilization": "mean over the jobs of walltime over reserved time",
}
#: Candidate columns for "stretch".
STRETCHES: Mapping[str, str] = {
    "execution_stretch": "",
    "response_stretch": "response time over walltime",
    "reserved_stretch": "reserved time over walltime",
}


@dataclass(frozen=True)
class BatchOperation:
    """A reading of the execution of the batch.

    Attributes
    ----------
    release
        Time at which a job releases its processor: its ``completion``, or the end of the ``walltime`` of its
        reservation ("the RESERVATIONONLY cost model, with alpha = 1, beta = gamma = 0").
    requeue
        Position of the next reservation: the ``end`` of the queue, or its ``front``.
    past
        "The average of the last 5 runs": the same five runs for all jobs of an application, or ``own`` runs for each.
    processors
        Number of processors: "a 256-thread Intel processor", which has 64 cores.
    """

    release: Release = "completion"
    requeue: Requeue = "end"
    past: Past = "common"
    processors: int = 256

    @property
    def name(self) -> str:
        """What differs from the default, in words."""
        words = [
            "processors held until the walltime" if self.release == "walltime" else "",
            "requeued at the front" if self.requeue == "front" else "",
            "last runs of each job" if self.past == "own" else "",
            f"{self.processors} processors" if self.processors != BatchOperation().processors else "",
        ]
        return ", ".join(word for word in words if word) or "default"


@dataclass(frozen=True)
class BatchMeasure:
    """A reading of utilisation and stretch in [R].

    Attributes
    ----------
    utilization
        "The ratio between the sum of all job walltimes and the total time required to execute them": one of
        :data:`UTILIZATIONS`.
    stretch
        "The ratio between the total execution time of a job and its actual walltime": one of :data:`STRETCHES`.
    """

    utilization: str = "utilization"
    stretch: str = "execution_stretch"

    @property
    def name(self) -> str:
        """What differs from the default, in words."""
        words = [UTILIZATIONS[self.utilization], STRETCHES[self.stretch]]
        return ", ".join(word for word in words if word) or "default"


def operations(processors: tuple[int, ...]) -> list[BatchOperation]:
    """All operations."""
    pasts: tuple[Past, ...] = ("common", "own")
    return [
        BatchOperation(release, requeue, past, number)
        for number, past, release, requeue in itertools.product(processors, pasts, RELEASES, REQUEUES)
    ]


def measures() -> list[BatchMeasure]:
    """All measures."""
    return [BatchMeasure(utilization, stretch) for utilization, stretch in itertools.product(UTILIZATIONS, STRETCHES)]


def replay_batch(instance: Instance, strategy: str, operation: BatchOperation) -> dict[str, float]:
    """Run an instance under one strategy.

    Parameters
    ----------
    instance
        Jobs, all submitted at once; each needs one processor.
    strategy
        ``"optimal"``, ``"all-ckpt"`` or ``"masi"``.
    operation
        Reading of the execution.

    Returns
    -------
    dict
        Values of the columns in :data:`UTILIZATIONS` and :data:`STRETCHES`.
    """
    schedules = _schedules(instance, strategy, operation.past)
    runtimes = instance.runtimes
    jobs = [series(schedule, runtime) for schedule, runtime in zip(schedules, runtimes.tolist(), strict=True)]
    found = replay_series(
        [0.0] * len(jobs), jobs, operation.processors, release=operation.release, requeue=operation.requeue
    )
    reserved = np.array([sum(item.length for item in own) for own in jobs])
    used = np.array([sum(item.used for item in own) for own in jobs])
    work = float(runtimes.sum())
    return {
        "utilization": work / (operation.processors * float(found.completions.max())),
        "used_utilization": work / float(used.sum()),
        "reserved_utilization": work / float(reserved.sum()),
        "job_utilization": float(np.mean(runtimes / reserved)),
        "execution_stretch": float(np.mean(used / runtimes)),
        "response_stretch": float(np.mean(found.completions / runtimes)),
        "reserved_stretch": float(np.mean(reserved / runtimes)),
    }


def _schedules(instance: Instance, strategy: str, past: Past) -> list[Schedule]:
    """The plan of each job."""
    if strategy == "masi" and past == "own":
        found = []
        for job, name in enumerate(instance.applications):
            runs = find_distribution(name).sample(
                stream(instance.seed, "batch", "own past", job), instance.past[name].size
            )
            found.append(Schedule(plan_for(strategy, name, runs)))
        return found
    known = {name: Schedule(plan_for(strategy, name, runs)) for name, runs in instance.past.items()}
    return [known[name] for name in instance.applications]
