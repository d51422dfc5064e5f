"""Notice strategies, which prepare nodes when an on-demand job gives advance notice.

Source: Fan et al., IPDPS 2022, section III-B.1; docs/model.md, "The six mechanisms". A strategy returns a ``Hold`` to
open a reservation, which then collects the nodes of jobs that end, and a plan. Without a ``Hold`` the notice
is ignored. ``WEIGH`` goes beyond the paper.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from holdfast.policies.knapsack import Item, cheapest_cover
from holdfast.policies.list_queue import as_queue
from holdfast.policies.port import TOLERANCE, Action, Expect, Hold, Preempt, Request, RunningJob, SystemView
from holdfast.workloads.ground.ranges import Range, legal
from holdfast.workloads.ground.registry import Registry, function_adapter
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.table.job import MALLEABLE, ON_DEMAND

__all__ = ["NOTICES", "NoticeStrategy", "Weigh", "collect", "ignore", "plan"]

NoticeStrategy = Callable[[SystemView, Request], "list[Action]"]


def ignore(view: SystemView, request: Request) -> list[Action]:
    """N: ignore the notice."""
    return []


def collect(view: SystemView, request: Request) -> list[Action]:
    """CUA, collect until actual arrival: reserve free nodes, then nodes that other jobs release."""
    return [Hold(_holdable(view, request))]


def plan(view: SystemView, request: Request) -> list[Action]:
    """CUP, collect until predicted arrival: plan nodes beyond the free ones once, from walltimes."""
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
        if run.expected_end > due and run.type is not ON_DEMAND:
            overhead, at, reason = _preemption(view, request.estimated_arrival, run)
            victims.append((overhead, run.job_id, run.nodes, at, reason))
    for _, job_id, nodes, at, reason in sorted(victims):
        if gap <= 0:
            break
        actions.append(Preempt(job_id, at, reason=reason))
        gap -= nodes
    return actions


def _preemption(view: SystemView, arrival: int, run: RunningJob) -> tuple[int, int, str]:
    """The planned overhead of a run [node-ticks], the time of its preemption, and the reason for that time."""
    if run.type is MALLEABLE:
        return run.nodes * run.setup, max(view.now, arrival - view.warning), "in time for its warning"
    if run.period is not None:
        ready = run.start + run.setup
        cycles = (arrival - ready) // run.period
        # Only the period is used: the actual number of checkpoints depends on the runtime, which is not known.
        checkpointed = ready + cycles * run.period
        if cycles >= 1 and checkpointed >= view.now:
            return run.nodes * run.setup, checkpointed, "right after a checkpoint"
    return run.loss(arrival), arrival, "no checkpoint comes before"


@dataclass(frozen=True)
@legal(price=Range(0, 1e6))
class Weigh:
    """WEIGH: reserve at the notice only if that costs less than preempting at the arrival.

    Until the estimated arrival T, nodes come from these sources, with costs in lost seconds per node:

    * free node that no waiting job can use: 0;
    * node released at e < T when a walltime ends: ``price`` x (T - e) with a reservation, T - e without;
    * free node that waiting jobs can use: ``price`` x (T - now) with a reservation, T - now without;
    * node of a rigid run, preempted for a reservation right after its last checkpoint at c < T: its setup and
      ``price`` x (T - c);
    * node of a run that is preempted at T: the loss of the run divided by its nodes; for a malleable run, its setup and
      the warning.

    Without a reservation, waiting jobs take the nodes that become free, and preempting such a job at T loses at most
    its progress until then. While no job waits, nodes stay free and holding them costs nothing: both costs are 0. A
    reservation takes nodes of the first kind and, at any cost, collects those of the second kind until it is complete.
    Among the other sources, the cheapest set of indivisible jobs is chosen exactly (:mod:`holdfast.policies.knapsack`).
    The strategy opens a reservation if that is cheaper, or equally cheap without a preemption at the arrival.

    Attributes
    ----------
    price
        Cost of holding a node for a second, in lost node-seconds. More than 1 is advisable if on-demand jobs may arrive
        late, less than 1 if tenants use most of the held nodes.
    """

    price: float = 1.0

    def __call__(self, view: SystemView, request: Request) -> list[Action]:
        sources = _Sources(view, request, self.price)
        reserving, expected, chosen = sources.weigh_reservation()
        ignoring = sources.cost_without_reservation()
        preempted = [item for item in chosen if item.key in sources.late]
        held = sources.unwanted + sum(item.weight for item in chosen if item.key not in sources.late)
        plans = [
            Preempt(item.key, sources.early[item.key].at, reason="right after a checkpoint")
            for item in preempted
            if item.cost < sources.late[item.key].cost
        ]
        preempts_at_arrival = len(plans) < len(preempted)
        if reserving > ignoring or (reserving == ignoring and preempts_at_arrival):
            return []
        hour = 3600 * SECOND
        reason = f"worth {reserving / hour:.1f} lost node-hours, preempting at the arrival {ignoring / hour:.1f}"
        return [Hold(held, reason=reason), *expected, *plans]


class _Sources:
    """Nodes for a request, and what they cost [node-ticks].

    Parameters
    ----------
    view, request
        The machine at the notice, and the request.
    price
        As of :class:`Weigh`.

    Attributes
    ----------
    unwanted
        Free nodes that no waiting job can use.
    late, early
        Preemptions of each job that runs beyond the estimated arrival: at the arrival, and before.
    """

    def __init__(self, view: SystemView, request: Request, price: float) -> None:
        self._arrival = arrival = request.estimated_arrival
        self._until_arrival = max(0, arrival - view.now)
        # While no job waits, free nodes stay free: neither holding them nor taking them at the arrival costs anything.
        self._holding_price, self._progress_price = (price, 1) if view.queue else (0.0, 0)
        holdable = _holdable(view, request)
        self.unwanted = min(holdable, view.free - _usable_nodes(view))
        self._wanted_by_jobs = holdable - self.unwanted
        self._missing = request.nodes - self.unwanted
        due = arrival + TOLERANCE
        eligible = [run for run in view.running if not run.planned and not run.borrowed]
        self._leaving = sorted((run.expected_end, run.job_id, run.nodes) for run in eligible if run.expected_end <= due)
        staying = [run for run in eligible if run.expected_end > due and run.type is not ON_DEMAND]
        self.late = {run.job_id: Item(_late(view, arrival, run), run.job_id, run.nodes) for run in staying}
        self.early = {run.job_id: _early(view, arrival, run, self._holding_price) for run in staying}

    def weigh_reservation(self) -> tuple[int, list[Expect], list[Item]]:
        """The cost of a reservation, the jobs whose end it expects, and the free nodes and victims that it takes."""
        expected: list[Expect] = []
        cost, left = 0, self._missing
        for end, job_id, nodes in self._leaving:
            if left <= 0:
                break
            expected.append(Expect(job_id))
            cost += min(nodes, left) * round(self._holding_price * max(0, self._arrival - end))
            left -= nodes
        victims = [Item(min(item.cost, self.early[key].cost), key, item.weight) for key, item in self.late.items()]
        free_nodes = _pieces(self._wanted_by_jobs, round(self._holding_price * self._until_arrival))
        chosen = _cheapest(victims + free_nodes, left)
        return cost + sum(item.cost for item in chosen), expected, chosen

    def cost_without_reservation(self) -> int:
        """The cost without a reservation: a job that starts meanwhile loses at most its progress until the arrival."""
        successors = [
            Item(self._progress_price * nodes * max(0, self._arrival - end), job_id, nodes)
            for end, job_id, nodes in self._leaving
        ]
        successors += _pieces(self._wanted_by_jobs, self._progress_price * self._until_arrival)
        return sum(item.cost for item in _cheapest([*self.late.values(), *successors], self._missing))


class _EarlyPreemption(NamedTuple):
    """A preemption before the arrival: its cost, with that of holding the nodes until then, and its time."""

    cost: int
    at: int


def _late(view: SystemView, arrival: int, run: RunningJob) -> int:
    """Loss of a run that is preempted at the arrival."""
    if run.type is MALLEABLE:
        return run.nodes * (run.setup + view.warning)
    return run.loss(arrival)


def _early(view: SystemView, arrival: int, run: RunningJob, price: float) -> _EarlyPreemption:
    """The preemption of a rigid run after its last checkpoint before the arrival."""
    if run.type is not MALLEABLE:
        overhead, at, _ = _preemption(view, arrival, run)
        if at < arrival:
            return _EarlyPreemption(overhead + run.nodes * round(price * (arrival - at)), at)
    return _EarlyPreemption(_NEVER, arrival)


#: A cost larger than any actual cost.
_NEVER = 1 << 90


def _pieces(nodes: int, cost: int) -> list[Item]:
    """Split nodes into pieces of 1, 2, 4, ... nodes, the sums of which give every number up to ``nodes``."""
    pieces: list[Item] = []
    while nodes > 0:
        piece = min(nodes, 1 << len(pieces))
        pieces.append(Item(cost * piece, -1 - len(pieces), piece))
        nodes -= piece
    return pieces


def _cheapest(items: list[Item], missing: int) -> list[Item]:
    """The cheapest sufficient selection, or all items if none is sufficient."""
    return cheapest_cover(items, min(missing, sum(item.weight for item in items)))


def _usable_nodes(view: SystemView) -> int:
    """Number of free nodes that waiting jobs could use, in queue order."""
    free = view.free
    for job in as_queue(view.queue).candidates(0, free):
        if job.min_nodes <= free:
            free -= min(job.nodes, free)
            if not free:
                break
    return view.free - free


def _holdable(view: SystemView, request: Request) -> int:
    """Number of free nodes for a new reservation: none while an on-demand job waits for nodes."""
    return 0 if view.on_demand_waits else min(view.free, request.nodes)


NOTICES: Registry[NoticeStrategy] = Registry(
    "notice strategy", "holdfast.notices", function_adapter("the view", "the on-demand job")
)
NOTICES.add("N", ignore, "the notice is ignored")
NOTICES.add("CUA", collect, "collect until actual arrival: reserve free nodes, then nodes that other jobs release")
NOTICES.add("CUP", plan, "collect until predicted arrival: expect releases, and plan preemptions for the rest")
NOTICES.add("WEIGH", Weigh(), "reserve only if that costs less than preempting at the arrival, by price=1")
