"""A plain queue: jobs of one processor each, first come first served, one reservation after the other."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from holdfast.policies.planning.plan import ReservationPlan

__all__ = ["completion_times", "reservation_lengths"]


def reservation_lengths(plan: ReservationPlan, runtime: float) -> list[float]:
    """How long each reservation of a job lasts, by the definition of the plan."""
    plan, saved, restart, found = plan.extend(runtime), 0.0, 0.0, []
    for milestone, checkpointed in zip(plan.milestones.tolist(), plan.checkpointed.tolist(), strict=True):
        if runtime <= milestone:
            return [*found, restart + runtime - saved]
        found.append(restart + milestone - saved + (plan.costs.checkpoint if checkpointed else 0.0))
        if checkpointed:
            saved, restart = milestone, plan.costs.restart
    raise AssertionError("a plan that ends before the job")


def completion_times(
    jobs: Sequence[Sequence[float]], processors: int, submits: Sequence[float] | None = None
) -> list[float]:
    """When each job is done; a job that is not goes behind all that wait.

    Parameters
    ----------
    jobs
        How long the reservations of each last.
    processors
        Of the machine.
    submits
        Of each job; default: all at 0.
    """
    coming = sorted((0.0 if submits is None else submits[row], row) for row in range(len(jobs)))
    waiting: list[tuple[float, int]] = []
    running: list[tuple[float, int]] = []
    step, ends = [0] * len(jobs), [0.0] * len(jobs)
    while coming or running:
        now = min(running[0][0] if running else float("inf"), coming[0][0] if coming else float("inf"))
        # The simulator counts microseconds: what is nearer is one instant.
        while running and running[0][0] <= now + 1e-6:
            _, row = heapq.heappop(running)
            step[row] += 1
            ends[row] = now
            if step[row] < len(jobs[row]):
                waiting.append((now, row))
        while coming and coming[0][0] <= now + 1e-6:
            waiting.append(coming.pop(0))
        waiting.sort()
        while waiting and len(running) < processors:
            _, row = waiting.pop(0)
            heapq.heappush(running, (now + jobs[row][step[row]], row))
    return ends
