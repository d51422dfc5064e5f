"""Four plug-ins for Holdfast: a queue order, a backfilling rule, an arrival strategy and a reservation strategy.

They are those of docs/plugins.md, which tells what they may see and what they may answer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from holdfast.policies.arrival import PreemptAtArrival
from holdfast.policies.planning.costs import CostModel
from holdfast.policies.planning.discretisation import as_distribution
from holdfast.policies.planning.plan import ReservationPlan
from holdfast.policies.port import Preempt, Request, Shrink, Start, SystemView, WaitingJob
from holdfast.workloads.distributions import Distribution
from holdfast.workloads.table.job import JobType


@dataclass(frozen=True)
class AgedShortest:
    """Shortest walltime first; a job becomes shorter while it waits, so that no long one waits for ever."""

    pace: float = 1.0

    def __call__(self, job: WaitingJob, now: int) -> float:
        return job.walltime - self.pace * (now - job.submit)


def narrow(view: SystemView) -> list[Start]:
    """In order; once a job must wait, only small ones."""
    free, blocked, starts = view.free, False, []
    for job in view.queue:
        ends = all(view.now + job.walltime <= window.start for window in view.windows)
        if ends and job.nodes <= free and (not blocked or job.nodes <= 4):
            starts.append(Start(job.job_id, job.nodes))
            free -= job.nodes
        else:
            blocked = True
    return starts


class YoungestFirst(PreemptAtArrival):
    """Preempt rigid and malleable jobs, the one that started last before the others."""

    def make_room(self, view: SystemView, request: Request, missing: int) -> list[Preempt | Shrink]:
        actions: list[Preempt | Shrink] = []
        for run in sorted(view.running, key=lambda run: (-run.start, run.job_id)):
            nodes = 0 if run.type is JobType.ON_DEMAND else run.nodes - run.borrowed
            if missing > 0 and nodes:
                actions.append(Preempt(run.job_id, reason="it started last"))
                missing -= nodes
        return actions


def halving(distribution_or_runs: Distribution | ArrayLike, costs: CostModel, *, steps: int = 4) -> ReservationPlan:
    """To the median runtime, then to the median of those that are left, and so on; each with a checkpoint."""
    distribution = as_distribution(distribution_or_runs)
    milestones = distribution.ppf(1 - 0.5 ** np.arange(1, steps + 1))
    return ReservationPlan(np.unique(milestones), True, costs, "halving")
