"""Notice strategies: what to do when an on-demand job announces itself.

Source: hybrid-workload-scheduling, section III-B.1; hybrid-workloads.md, section 4. A strategy answers with a ``Hold``
to open a reservation, which then collects what finished jobs release, and with a plan; without a ``Hold`` the notice is
ignored.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from policies.port import TOLERANCE, Action, Expect, Hold, Preempt, Request, RunningJob, SystemView
from workloads.job import JobType
from workloads.registry import Registry, function_of
from workloads.units import SECOND

__all__ = ["NOTICES", "NoticeStrategy", "collect", "ignore", "plan"]

NoticeStrategy = Callable[[SystemView, Request], "list[Action]"]


def ignore(view: SystemView, request: Request) -> list[Action]:
    """N: the notice is ignored."""
    return []


def collect(view: SystemView, request: Request) -> list[Action]:
    """CUA, collect until actual arrival: reserve free nodes, then what others release."""
    return [Hold(_holdable(view, request))]


@dataclass(frozen=True)
class _Plan:
    """CUP, collect until predicted arrival: what free nodes do not cover is planned from walltimes, once.

    Attributes
    ----------
    warning
        How long before the estimated arrival a malleable job is warned [s].
    """

    warning: float = 120.0

    def __call__(self, view: SystemView, request: Request) -> list[Action]:
        held = _holdable(view, request)
        actions: list[Action] = [Hold(held)]
        gap = request.nodes - held
        if gap <= 0:
            return actions
        eligible = [run for run in view.running if not run.planned and not run.borrowed]
        due = request.estimated_arrival + TOLERANCE
        expected = sorted((run.expected_end, run.job_id, run.nodes) for run in eligible if run.expected_end <= due)
        for _, job_id, nodes in expected:
            if gap <= 0:
                return actions
            actions.append(Expect(job_id))
            gap -= nodes
        victims = []
        for run in eligible:
            if run.expected_end > due and run.type is not JobType.ON_DEMAND:
                overhead, at, reason = self._preemption(view.now, request.estimated_arrival, run)
                victims.append((overhead, run.job_id, run.nodes, at, reason))
        for _, job_id, nodes, at, reason in sorted(victims):
            if gap <= 0:
                break
            actions.append(Preempt(job_id, at, reason=reason))
            gap -= nodes
        return actions

    def _preemption(self, now: int, arrival: int, run: RunningJob) -> tuple[int, int, str]:
        """The planned overhead of a run [node-ticks], when it would be preempted, and why then."""
        if run.type is JobType.MALLEABLE:
            at = max(now, arrival - round(self.warning * SECOND))
            return run.nodes * run.setup, at, "in time for its warning"
        if run.period is not None:
            ready = run.start + run.setup
            cycles = (arrival - ready) // run.period
            # By its period alone: how many dumps it really takes follows from its runtime, which is not known.
            checkpointed = ready + cycles * run.period
            if cycles >= 1 and checkpointed >= now:
                return run.nodes * run.setup, checkpointed, "right after a checkpoint"
        return run.loss(arrival), arrival, "no checkpoint comes before"


def _holdable(view: SystemView, request: Request) -> int:
    """Free nodes that the reservation may begin with: none while an on-demand job waits for them."""
    return 0 if view.on_demand_waits else min(view.free, request.nodes)


#: CUP with the model's two-minute warning.
plan = _Plan()

NOTICES: Registry[NoticeStrategy] = Registry(
    "notice strategy", "holdfast.notices", function_of("the view and the on-demand job")
)
NOTICES.add("N", ignore, "the notice is ignored")
NOTICES.add("CUA", collect, "collect until actual arrival: reserve free nodes, then what others release")
NOTICES.add("CUP", plan, "collect until predicted arrival: expect releases, and plan preemptions for the rest")
