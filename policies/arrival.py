"""Arrival strategies: the sources of the nodes that an arriving on-demand job still lacks.

Source: Fan et al., IPDPS 2022, section III-B.2; docs/model.md, "The six mechanisms". ``KNAPSACK`` and ``SKNAPSACK`` go
beyond the paper: they find the least loss, which PAA and SPAA approach greedily.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, cast

from holdfast.policies.knapsack import Item, cheapest_cover
from holdfast.policies.port import Preempt, Request, RunningJob, Shrink, SystemView
from holdfast.workloads.ground.errors import InputError, ParameterError
from holdfast.workloads.ground.registry import Registry, check_function
from holdfast.workloads.table.job import MALLEABLE, ON_DEMAND

__all__ = [
    "ARRIVALS",
    "ArrivalStrategy",
    "LeastLossAtArrival",
    "PreemptAtArrival",
    "ShrinkPreemptAtArrival",
    "WaitAtArrival",
    "even_shares",
]


class ArrivalStrategy(Protocol):
    """Strategy that frees nodes for an arriving on-demand job."""

    def room(self, view: SystemView, request: Request) -> int:
        """Maximum number of nodes that the strategy could free, beyond free nodes and the reservation of the job."""

    def make_room(self, view: SystemView, request: Request, missing: int) -> list[Preempt | Shrink]:
        """Actions that free ``missing`` nodes (at most ``room``); called after the tenants of the job have left."""

    # A method ``begin()`` returns the strategy for one simulation, which may keep state.


def _available(run: RunningJob) -> int:
    """Nodes that a preemption would free for another job: those that belong to no reservation."""
    return 0 if run.type is ON_DEMAND else run.nodes - run.borrowed


#: Orders of victims that schedulers use which do not know overheads: key of a run, the smallest goes first, and its
#: reason in words. Slurm has ``preempt_youngest_first``; Kueue and Volcano take low priorities first.
_ORDERS: Mapping[str, tuple[Callable[[RunningJob], int], str]] = {
    "youngest": (lambda run: -run.start, "its run is the youngest"),
    "oldest": (lambda run: run.start, "its run is the oldest"),
    "lowest-priority": (lambda run: -run.submit, "it has the lowest priority: its submit is the latest"),
}
#: Legal values: PAA's order of victims, its unit of overheads, and SPAA's amount of shrinking.
_VICTIMS = ("least-loss", "malleable-first", *_ORDERS)
_OVERHEADS = ("node-seconds", "seconds")
_SHRINKS = ("even", "minimum")


def _check(name: str, value: str, legal: tuple[str, ...]) -> None:
    if value not in legal:
        raise ParameterError(name, " or ".join(legal), value)


@dataclass(frozen=True)
class PreemptAtArrival:
    """PAA: preempt running rigid and malleable jobs in ascending preemption overhead.

    Attributes
    ----------
    victims
        ``least-loss``: all jobs in one order; ``malleable-first``: malleable jobs in this order, then rigid ones.
        Regardless of overheads, with ties by id: ``youngest`` or ``oldest``, by the start of the run, and
        ``lowest-priority``, the latest submit first, since FCFS gives priority by submit.
    overhead
        Unit in which overheads are compared: ``node-seconds``, or ``seconds`` regardless of the job size.

    Raises
    ------
    ParameterError
        If the order or the unit is unknown.
    """

    victims: str = "least-loss"
    overhead: str = "node-seconds"

    def __post_init__(self) -> None:
        _check("victims", self.victims, _VICTIMS)
        _check("overhead", self.overhead, _OVERHEADS)

    def room(self, view: SystemView, request: Request) -> int:
        return sum([_available(run) for run in view.running if not run.owes(request.job_id)])

    def make_room(self, view: SystemView, request: Request, missing: int) -> list[Preempt | Shrink]:
        actions: list[Preempt | Shrink] = []
        reason = _ORDERS[self.victims][1] if self.victims in _ORDERS else ""
        for *_, job_id, nodes in self._victims(view):
            if missing <= 0:
                break
            actions.append(Preempt(job_id, reason=reason))
            missing -= nodes
        return actions

    def _victims(self, view: SystemView) -> list[tuple[int, int, int, int]]:
        """Two keys of each job, its id and its nodes, in the order of preemption."""
        running = ((run, nodes) for run in view.running if (nodes := _available(run)))
        if self.victims in _ORDERS:
            key, _ = _ORDERS[self.victims]
            return sorted((0, key(run), run.job_id, nodes) for run, nodes in running)
        apart, in_seconds = self.victims == "malleable-first", self.overhead == "seconds"
        now = view.now
        # The loss is the loss per node times the number of nodes.
        return sorted(
            (apart and run.type is not MALLEABLE, run.loss(now) // (run.nodes if in_seconds else 1), run.job_id, nodes)
            for run, nodes in running
        )


@dataclass(frozen=True)
class ShrinkPreemptAtArrival:
    """SPAA: shrink malleable jobs evenly if that suffices, else preempt as PAA does.

    Attributes
    ----------
    victims, overhead
        As in PAA.
    shrink
        ``even``: the jobs give up the missing nodes in equal shares; ``minimum``: each shrinks to its minimum, lends
        its equal share of the missing nodes, and releases the rest.
    """

    victims: str = "least-loss"
    overhead: str = "node-seconds"
    shrink: str = "even"

    def __post_init__(self) -> None:
        self._preempt_strategy()
        _check("shrink", self.shrink, _SHRINKS)

    def _preempt_strategy(self) -> PreemptAtArrival:
        return PreemptAtArrival(self.victims, self.overhead)

    def room(self, view: SystemView, request: Request) -> int:
        # Every job that can be shrunk can also be preempted, so preemption frees the most nodes.
        return self._preempt_strategy().room(view, request)

    def make_room(self, view: SystemView, request: Request, missing: int) -> list[Preempt | Shrink]:
        spare = _shrinkable(view)
        if sum(spare.values()) < missing:
            return self._preempt_strategy().make_room(view, request, missing)
        shares = even_shares(spare, missing)
        if self.shrink == "minimum":
            lent = {job_id: shares.get(job_id, 0) for job_id in sorted(spare)}
            return [Shrink(job_id, nodes, surplus=spare[job_id] - nodes) for job_id, nodes in lent.items()]
        return [Shrink(job_id, nodes) for job_id, nodes in shares.items()]


@dataclass(frozen=True)
class WaitAtArrival:
    """WAIT: leave running jobs alone; if free nodes do not suffice, the job waits at the front of the queue."""

    def room(self, view: SystemView, request: Request) -> int:
        return 0

    def make_room(self, view: SystemView, request: Request, missing: int) -> list[Preempt | Shrink]:
        return []


@dataclass(frozen=True)
class LeastLossAtArrival:
    """Preempt the set of running jobs with the least total loss: a covering knapsack, solved exactly.

    Attributes
    ----------
    shrink
        Whether malleable jobs shrink first, which loses no work. Each job that is not preempted then gives up all nodes
        that it can, so a preemption adds only the nodes beyond these. With these weights the problem is again a
        covering knapsack, and its optimum is the joint optimum.

    Notes
    -----
    A malleable job loses its setup and, as in the accounting (docs/model.md, Metrics), the time under warning.
    """

    shrink: bool = False

    def room(self, view: SystemView, request: Request) -> int:
        return PreemptAtArrival().room(view, request)

    def make_room(self, view: SystemView, request: Request, missing: int) -> list[Preempt | Shrink]:
        spare = _shrinkable(view) if self.shrink else {}
        items = []
        for run in view.running:
            nodes = _available(run) - spare.get(run.job_id, 0)
            if nodes:
                loss = run.loss(view.now) + (run.nodes * view.warning if run.type is MALLEABLE else 0)
                items.append(Item(loss, run.job_id, nodes))
        victims = cheapest_cover(items, missing - sum(spare.values()))
        actions: list[Preempt | Shrink] = []
        for item in victims:
            actions.append(Preempt(item.key, reason="one of those that lose least in sum"))
            missing -= item.weight + spare.pop(item.key, 0)
        if missing > 0:
            actions += [Shrink(job_id, nodes) for job_id, nodes in even_shares(spare, missing).items()]
        return actions


def _shrinkable(view: SystemView) -> dict[int, int]:
    """Number of nodes by which each malleable job can shrink, if any; tenants do not shrink."""
    return {
        run.job_id: run.nodes - run.min_nodes
        for run in view.running
        if run.type is MALLEABLE and not run.borrowed and run.nodes > run.min_nodes
    }


def even_shares(spare: dict[int, int], missing: int) -> dict[int, int]:
    """Equal shares from each job, limited by its spare nodes; the remainder is taken one node each, by id."""
    level, left, givers = 0, missing, len(spare)
    # Raise the common level from cap to cap until the next step would exceed the missing nodes.
    for cap in sorted(spare.values()):
        step = min(cap - level, left // givers)
        left -= step * givers
        level += step
        if level < cap:
            break
        givers -= 1
    shares: dict[int, int] = {}
    for job_id in sorted(spare):
        share = min(spare[job_id], level)
        if left and spare[job_id] > level:
            share += 1
            left -= 1
        if share:
            shares[job_id] = share
    return shares


def _strategy(plugin: Any) -> ArrivalStrategy:
    if callable(getattr(plugin, "ready", None)):
        plugin = plugin.ready()
    if not all(callable(getattr(plugin, method, None)) for method in ("room", "make_room")):
        raise InputError("an arrival strategy has the methods room and make_room")
    check_function(plugin, "the view", "the on-demand job", method="room")
    check_function(plugin, "the view", "the on-demand job", "the missing nodes", method="make_room")
    return cast(ArrivalStrategy, plugin)


ARRIVALS: Registry[ArrivalStrategy] = Registry("arrival strategy", "holdfast.arrivals", _strategy)
ARRIVALS.add("PAA", PreemptAtArrival(), "preempt running jobs in ascending preemption overhead")
ARRIVALS.add("SPAA", ShrinkPreemptAtArrival(), "shrink malleable jobs evenly if that suffices, else preempt")
ARRIVALS.add("KNAPSACK", LeastLossAtArrival(), "preempt the running jobs with the least total loss, exactly")
ARRIVALS.add("SKNAPSACK", LeastLossAtArrival(shrink=True), "shrink and preempt with the least total loss, exactly")
ARRIVALS.add("WAIT", WaitAtArrival(), "preempt nothing: wait for free nodes at the front of the queue")
ARRIVALS.alias(
    "learned",
    "holdfast.policies.learned_arrival:LearnedAtArrival",
    "the strategy that a network scores highest: learned model=FILE.npz",
)
