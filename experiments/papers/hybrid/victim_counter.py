"""Arrival strategy that decides like PAA or SPAA, and counts preempted jobs and jobs that could have been spared.

An option covers another reading of SPAA: a lender is "guaranteed to expand to [its] original size" (observation 6), so
lenders can be exempt from preemption.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields

from holdfast.policies.arrival import PreemptAtArrival, ShrinkPreemptAtArrival
from holdfast.policies.port import Preempt, Request, RunningJob, Shrink, SystemView
from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.table.job import MALLEABLE, RIGID

__all__ = ["Counts", "Watching", "latest"]

#: Jobs that SPAA may exempt from preemption if shrinking does not suffice.
_SPARED = ("none", "lenders", "malleable")


@dataclass
class Counts:
    """Counts of the decisions of an arrival strategy in one simulation.

    Attributes
    ----------
    covered, uncovered
        Number of arrivals that lacked nodes, which malleable jobs could (covered) or could not supply by shrinking.
    covered_rigid, covered_malleable, uncovered_rigid, uncovered_malleable
        Number of jobs preempted at these arrivals.
    spared_rigid
        Number of rigid jobs that PAA would have preempted at arrivals for which malleable jobs were shrunk.
    rigid_jobs, rigid_nodes, malleable_jobs, malleable_nodes
        Running jobs and their nodes, summed over all these arrivals.
    """

    covered: int = 0
    uncovered: int = 0
    covered_rigid: int = 0
    covered_malleable: int = 0
    uncovered_rigid: int = 0
    uncovered_malleable: int = 0
    spared_rigid: int = 0
    rigid_jobs: int = 0
    rigid_nodes: int = 0
    malleable_jobs: int = 0
    malleable_nodes: int = 0

    def items(self) -> Iterator[tuple[str, int]]:
        """Counts by name."""
        return ((item.name, getattr(self, item.name)) for item in fields(self))


#: Counts of the latest simulation in this process.
_latest = [Counts()]


def latest() -> Counts:
    """Counts of the last simulation with :class:`Watching` in this process."""
    return _latest[-1]


@dataclass(frozen=True)
class Watching:
    """Wrapper of PAA or SPAA that counts their decisions.

    Attributes
    ----------
    arrival
        ``PAA`` or ``SPAA``.
    victims, overhead, shrink
        Parameters of these strategies (:mod:`holdfast.policies.arrival`).
    spared
        Running jobs that SPAA does not preempt: ``none``, ``lenders`` (malleable jobs below their requested size) or
        all ``malleable`` jobs. If the nodes of other jobs do not suffice, the arriving job waits.

    Raises
    ------
    ParameterError
        If a value is not legal.
    """

    arrival: str = "PAA"
    victims: str = "least-loss"
    overhead: str = "node-seconds"
    shrink: str = "even"
    spared: str = "none"

    def __post_init__(self) -> None:
        if self.arrival not in ("PAA", "SPAA"):
            raise ParameterError("arrival", "PAA or SPAA", self.arrival)
        if self.spared not in _SPARED:
            raise ParameterError("spared", " or ".join(_SPARED), self.spared)
        self._shrink_strategy()

    def _shrink_strategy(self) -> ShrinkPreemptAtArrival:
        return ShrinkPreemptAtArrival(self.victims, self.overhead, self.shrink)

    def begin(self) -> _Watch:
        """Start the strategy for one simulation."""
        _latest[:] = [Counts()]
        return _Watch(self, PreemptAtArrival(self.victims, self.overhead), self._shrink_strategy(), latest())

    def room(self, view: SystemView, request: Request) -> int:
        return self.begin().room(view, request)

    def make_room(self, view: SystemView, request: Request, missing: int) -> list[Preempt | Shrink]:
        return self.begin().make_room(view, request, missing)


@dataclass
class _Part:
    """View of the machine restricted to some of the running jobs."""

    running: Sequence[RunningJob]
    now: int


@dataclass
class _Watch:
    """A counted strategy in one simulation."""

    how: Watching
    preempting: PreemptAtArrival
    shrinking: ShrinkPreemptAtArrival
    counts: Counts = field(default_factory=Counts)

    def room(self, view: SystemView, request: Request) -> int:
        room = self.preempting.room(self._victims(view), request)  # type: ignore[arg-type]  # all that it looks at
        return max(room, _shrinkable(view)) if self.how.arrival == "SPAA" else room

    def make_room(self, view: SystemView, request: Request, missing: int) -> list[Preempt | Shrink]:
        covered = _shrinkable(view) >= missing
        shrinks = covered and self.how.arrival == "SPAA"
        if shrinks:
            actions = self.shrinking.make_room(view, request, missing)
            self._count(view, covered, actions, self.preempting.make_room(view, request, missing))
        else:
            actions = self.preempting.make_room(self._victims(view), request, missing)  # type: ignore[arg-type]
            self._count(view, covered, actions, ())
        return actions

    def _victims(self, view: SystemView) -> _Part:
        spared = self.how.spared if self.how.arrival == "SPAA" else "none"
        return _Part(
            [
                run
                for run in view.running
                if run.type is not MALLEABLE or spared == "none" or (spared == "lenders" and run.nodes == run.max_nodes)
            ],
            view.now,
        )

    def _count(
        self,
        view: SystemView,
        covered: bool,
        actions: Sequence[Preempt | Shrink],
        instead: Sequence[Preempt | Shrink],
    ) -> None:
        own, kinds = self.counts, {run.job_id: run.type for run in view.running}
        victims = [kinds[action.job_id] for action in actions if isinstance(action, Preempt)]
        rigid, malleable = victims.count(RIGID), victims.count(MALLEABLE)
        if covered:
            own.covered += 1
            own.covered_rigid += rigid
            own.covered_malleable += malleable
        else:
            own.uncovered += 1
            own.uncovered_rigid += rigid
            own.uncovered_malleable += malleable
        own.spared_rigid += sum(kinds[action.job_id] is RIGID for action in instead)
        for run in view.running:
            if run.type is RIGID:
                own.rigid_jobs += 1
                own.rigid_nodes += run.nodes
            elif run.type is MALLEABLE:
                own.malleable_jobs += 1
                own.malleable_nodes += run.nodes


def _shrinkable(view: SystemView) -> int:
    """Number of nodes that malleable jobs can supply by shrinking to their minimum; tenants do not shrink."""
    return sum(
        run.nodes - run.min_nodes
        for run in view.running
        if run.type is MALLEABLE and not run.borrowed and run.nodes > run.min_nodes
    )
