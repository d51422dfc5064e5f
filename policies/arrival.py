"""Arrival strategies: where an arriving on-demand job gets the nodes that it still lacks.

Source: Fan et al., IPDPS 2022, section III-B.2; docs/model.md, "The six mechanisms". ``KNAPSACK`` and ``SKNAPSACK`` go
beyond the paper: they find the least loss, which PAA and SPAA approach greedily.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, cast

from policies.knapsack import Item, cheapest_cover
from policies.port import Preempt, Request, RunningJob, Shrink, SystemView
from workloads.ground.errors import InputError, ParameterError
from workloads.ground.registry import Registry, check_function
from workloads.table.job import MALLEABLE, ON_DEMAND

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
    """Finds nodes at the arrival of an on-demand job."""

    def room(self, view: SystemView, request: Request) -> int:
        """How many nodes it could get at most, beyond free nodes and the job's own reservation."""

    def make_room(self, view: SystemView, request: Request, missing: int) -> list[Preempt | Shrink]:
        """The actions that free ``missing`` nodes (at most ``room``); called after the job's tenants have gone."""

    # With a method ``begin()`` it makes the strategy of one simulation, which may remember what it has answered.


def _available(run: RunningJob) -> int:
    """Nodes that a preemption would free for another job: those that belong to no reservation."""
    return 0 if run.type is ON_DEMAND else run.nodes - run.borrowed


#: In which order PAA takes its victims, in which unit it compares their overheads, and how far SPAA shrinks.
_VICTIMS = ("least-loss", "malleable-first")
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
    overhead
        Unit in which overheads are compared: ``node-seconds``, or ``seconds``, whatever the size of the job.

    Raises
    ------
    ParameterError
        If there is no such order or unit.
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
        apart, in_seconds = self.victims == "malleable-first", self.overhead == "seconds"
        now = view.now
        # A loss is that of each node times the nodes.
        victims = sorted(
            (apart and run.type is not MALLEABLE, run.loss(now) // (run.nodes if in_seconds else 1), run.job_id, nodes)
            for run in view.running
            if (nodes := _available(run))
        )
        for _, _, job_id, nodes in victims:
            if missing <= 0:
                break
            actions.append(Preempt(job_id))
            missing -= nodes
        return actions


@dataclass(frozen=True)
class ShrinkPreemptAtArrival:
    """SPAA: shrink malleable jobs evenly if that suffices, else preempt as PAA does.

    Attributes
    ----------
    victims, overhead
        As of PAA.
    shrink
        ``even``: the jobs give up what is missing; ``minimum``: each gives up all that it can. It lends its even share
        of what is missing, and the rest is released.
    """

    victims: str = "least-loss"
    overhead: str = "node-seconds"
    shrink: str = "even"

    def __post_init__(self) -> None:
        self._preempting()
        _check("shrink", self.shrink, _SHRINKS)

    def _preempting(self) -> PreemptAtArrival:
        return PreemptAtArrival(self.victims, self.overhead)

    def room(self, view: SystemView, request: Request) -> int:
        # Each job that can be shrunk can be preempted, so preemption reaches furthest.
        return self._preempting().room(view, request)

    def make_room(self, view: SystemView, request: Request, missing: int) -> list[Preempt | Shrink]:
        spare = _shrinkable(view)
        if sum(spare.values()) < missing:
            return self._preempting().make_room(view, request, missing)
        shares = even_shares(spare, missing)
        if self.shrink == "minimum":
            lent = {job_id: shares.get(job_id, 0) for job_id in sorted(spare)}
            return [Shrink(job_id, nodes, surplus=spare[job_id] - nodes) for job_id, nodes in lent.items()]
        return [Shrink(job_id, nodes) for job_id, nodes in shares.items()]


@dataclass(frozen=True)
class WaitAtArrival:
    """WAIT: no running job makes room; the job waits at the front of the queue where free nodes do not suffice."""

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
        Whether malleable jobs give up nodes first, which loses nothing. Each job that is not preempted then gives what
        it can, so that a preemption brings only what shrinking would not: with these numbers of nodes it is again a
        covering knapsack, and its optimum is that of both together.

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
    """By how many nodes malleable jobs can shrink, where they can; tenants do not."""
    return {
        run.job_id: run.nodes - run.min_nodes
        for run in view.running
        if run.type is MALLEABLE and not run.borrowed and run.nodes > run.min_nodes
    }


def even_shares(spare: dict[int, int], missing: int) -> dict[int, int]:
    """Equal numbers of nodes from each job, capped by what it can give; the remainder one each, by id."""
    level, left, givers = 0, missing, len(spare)
    # Raise the common level from cap to cap until the next step would ask for more than is missing.
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
ARRIVALS.add("KNAPSACK", LeastLossAtArrival(), "preempt the running jobs that lose least in sum, exactly")
ARRIVALS.add("SKNAPSACK", LeastLossAtArrival(shrink=True), "shrink and preempt so that least is lost, exactly")
ARRIVALS.add("WAIT", WaitAtArrival(), "preempt nothing: wait for free nodes at the front of the queue")
ARRIVALS.alias(
    "learned",
    "policies.learned_arrival:LearnedAtArrival",
    "the answer that a network scores highest: learned model=FILE.npz",
)
