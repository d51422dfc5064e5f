"""Notice strategies: what to do when an on-demand job announces itself.

Source: hybrid-workload-scheduling, section III-B.1; hybrid-workloads.md, section 4. A strategy answers with a ``Hold``
to open a reservation, which then collects what finished jobs release, and with a plan; without a ``Hold`` the notice is
ignored. ``WEIGH`` is not the paper's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from policies.port import TOLERANCE, Action, Expect, Hold, Preempt, Request, RunningJob, SystemView
from workloads.errors import ParameterError
from workloads.job import JobType
from workloads.registry import Registry, function_of
from workloads.units import SECOND

__all__ = ["NOTICES", "NoticeStrategy", "Weigh", "collect", "ignore", "plan"]

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
                overhead, at, reason = self.preemption(view.now, request.estimated_arrival, run)
                victims.append((overhead, run.job_id, run.nodes, at, reason))
        for _, job_id, nodes, at, reason in sorted(victims):
            if gap <= 0:
                break
            actions.append(Preempt(job_id, at, reason=reason))
            gap -= nodes
        return actions

    def preemption(self, now: int, arrival: int, run: RunningJob) -> tuple[int, int, str]:
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


class _Source(NamedTuple):
    """Where nodes may come from.

    Attributes
    ----------
    cost
        Of each of the nodes [ticks].
    job_id
        Whose they are; free ones are nobody's, those that no waiting job could use before the others.
    nodes
        How many there are.
    action
        What is to be done; None: they are free, or the arrival strategy will find them.
    """

    cost: int
    job_id: int
    nodes: int
    action: Expect | Preempt | None = None


_UNWANTED, _WANTED = -2, -1


@dataclass(frozen=True)
class Weigh:
    """WEIGH: hold nodes, or preempt right after a checkpoint, where that costs less than preempting at the arrival.

    Each node that the job will need can come from one of five sources. By the estimated arrival T, in lost node-seconds
    for each node, ``price`` being what a second of holding it idle costs:

    ====================================================  =======================================
    a free node that no waiting job could use             0
    a free node that waiting jobs could use               price x (T - now)
    one of a run whose walltime ends at e, before T       price x (T - e)
    one of a rigid run, preempted after a checkpoint at c setup + price x (T - c)
    one of a run that is preempted at T                   its loss at T / nodes; of a malleable run
                                                          setup + warning
    ====================================================  =======================================

    Cheapest first until there are enough; jobs that turn out superfluous are left out again, the dearest first.
    Nodes of the last kind are left for the arrival strategy to find. If all come from there, the notice is ignored.

    Attributes
    ----------
    price
        Lost node-seconds that a node-second of holding is worth. At 0 all that can be held is held.
    warning
        How long a preempted malleable job stays on its nodes [s].
    """

    price: float = 0.5
    warning: float = 120.0

    def __post_init__(self) -> None:
        if not (isinstance(self.price, int | float) and math.isfinite(self.price) and self.price >= 0):
            raise ParameterError("price", "a finite number, at least 0", self.price)

    def __call__(self, view: SystemView, request: Request) -> list[Action]:
        chosen: list[_Source] = []
        missing = request.nodes
        for source in sorted(self._sources(view, request)):
            if missing <= 0:
                break
            if source.job_id < 0:
                source = source._replace(nodes=min(source.nodes, missing))
            chosen.append(source)
            missing -= source.nodes
        for source in sorted(chosen, key=lambda item: (-item.cost * item.nodes, item)):
            if source.job_id >= 0 and missing + source.nodes <= 0:
                chosen.remove(source)
                missing += source.nodes
        held = sum(source.nodes for source in chosen if source.job_id < 0)
        actions: list[Action] = [source.action for source in chosen if source.action is not None]
        return [Hold(held), *actions] if held or actions else []

    def _sources(self, view: SystemView, request: Request) -> list[_Source]:
        now, arrival = view.now, request.estimated_arrival
        holdable = _holdable(view, request)
        unwanted = min(holdable, view.free - _wanted(view))
        sources = [
            _Source(0, _UNWANTED, unwanted),
            _Source(self._holding(arrival - now), _WANTED, holdable - unwanted),
        ]
        for run in view.running:
            if run.planned or run.borrowed:
                continue
            if run.expected_end <= arrival + TOLERANCE:
                cost = self._holding(arrival - run.expected_end)
                sources.append(_Source(cost, run.job_id, run.nodes, Expect(run.job_id)))
            elif run.type is JobType.MALLEABLE:
                sources.append(_Source(run.setup + round(self.warning * SECOND), run.job_id, run.nodes))
            elif run.type is not JobType.ON_DEMAND:
                overhead, at, reason = plan.preemption(now, arrival, run)
                early = overhead // run.nodes + self._holding(arrival - at)
                late = run.loss(arrival) // run.nodes
                if at < arrival and early < late:
                    sources.append(_Source(early, run.job_id, run.nodes, Preempt(run.job_id, at, reason=reason)))
                else:
                    sources.append(_Source(late, run.job_id, run.nodes))
        return [source for source in sources if source.nodes]

    def _holding(self, ticks: int) -> int:
        return round(self.price * max(0, ticks))


def _wanted(view: SystemView) -> int:
    """Free nodes that the waiting jobs could use, those that find enough of them, in queue order."""
    free = view.free
    for job in view.queue:
        if job.min_nodes <= free:
            free -= min(job.nodes, free)
            if not free:
                break
    return view.free - free


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
NOTICES.add("WEIGH", Weigh(), "hold or plan only what costs less than preempting at the arrival, by price=0.5")
