"""Backfilling rules. A rule makes one scheduling pass over the queue.

Sources: Mu'alem & Feitelson, IEEE TPDS 12(6), 2001; docs/model.md, "Backfilling", also on malleable jobs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from holdfast.policies.array_queue_pass import ManyJobs
from holdfast.policies.list_queue import as_queue
from holdfast.policies.port import TOLERANCE, Promise, Start, SystemView
from holdfast.policies.reservation_depth import Outlook, in_order, plan_queue
from holdfast.policies.shadow_time import NEVER, find_shadow
from holdfast.policies.slurm_backfill import SlurmBackfill
from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.ground.ranges import Range, legal
from holdfast.workloads.ground.registry import Registry, function_adapter, plugin_parameters
from holdfast.workloads.ground.units import LARGEST_SIZE

__all__ = ["BACKFILLING", "Backfilling", "Conservative", "Easy", "Strict", "backfilling"]

#: A scheduling pass: returns the jobs to start now, in order. A rule may also have a method ``promises(view)``, which
#: returns the :class:`~holdfast.policies.port.Promise` of each job that holds a reservation; scheduling does not need
#: it. A method ``begin()`` returns the rule for one simulation, which may keep state between passes. If that rule has a
#: method ``inherit(places)``, it is called before the first pass with the nodes of the jobs that already run, and its
#: mapping ``placements`` is kept with the result (:class:`holdfast.policies.slurm_backfill.NamedMachine`).
Backfilling = Callable[[SystemView], "list[Start]"]


@dataclass(frozen=True)
class Strict:
    """No backfilling: no job passes the first one that must wait."""

    def __call__(self, view: SystemView) -> list[Start]:
        """Return the jobs to start now, in order."""
        return in_order(view)

    def promises(self, view: SystemView) -> list[Promise]:
        """The reservation of the first job that must wait."""
        return Easy().promises(view)


@dataclass(frozen=True)
@legal(depth=Range(1, LARGEST_SIZE, whole=True, unit="jobs"))
class Easy:
    """EASY backfilling: the first jobs that must wait hold reservations, recomputed at every pass.

    Attributes
    ----------
    length
        Length of a candidate: its ``walltime``, or (as in CQSim's public code) its actual ``runtime``.
    depth
        Number of waiting jobs with a reservation. 1 is EASY; larger values as in Chiang, Arpaci-Dusseau & Vernon (JSSPP
        2002) and the parameter RESERVATIONDEPTH of Maui (Jackson, Snell & Clement, JSSPP 2001).
    head
        Size that a malleable job needs to start in queue order, and that is reserved for it: its ``minimum``, or its
        ``requested`` size. A backfilled job may start at its minimum or above.
    """

    length: Literal["walltime", "runtime"] = "walltime"
    depth: int = 1
    head: Literal["minimum", "requested"] = "minimum"

    def __post_init__(self) -> None:
        if self.head not in ("minimum", "requested"):
            raise ParameterError("head", "minimum or requested", self.head)
        if self.length not in ("walltime", "runtime"):
            raise ParameterError("length", "walltime or runtime", self.length)

    def __call__(self, view: SystemView) -> list[Start]:
        """The jobs to start now, in this order."""
        starts = self._starts_beside_head(view) if self.depth == 1 else None
        return plan_queue(view, self._outlook()) if starts is None else starts

    def _starts_beside_head(self, view: SystemView) -> list[Start] | None:
        """The starts of a pass if no run reaches the first window; None if a run would.

        A job that ends before a window can ignore it, and most passes are far from any window. A single reservation
        needs no plan over time, which would double the processor time of a replay (Theta 2022: 1.35 s instead of
        0.59 s).
        """
        queue, free = as_queue(view.queue), view.free
        window = view.windows[0].start if view.windows else NEVER
        now, whole = view.now, self.head == "requested"
        starts: list[Start] = []
        for head in queue:
            if head.min_nodes > free or (whole and head.nodes > free):
                break
            size = head.nodes if head.nodes <= free else free
            if window < NEVER and now + head.limit(size) > window:
                return None
            starts.append(Start(head.job_id, size))
            free -= size
        else:
            return starts
        # No waiting job needs fewer nodes. Most passes end here, without computing the shadow time.
        if free < queue.least:
            return starts
        candidates = queue.candidates(len(starts) + 1, free)
        if not candidates:
            return starts
        ends = [(now + job.limit(own.nodes), own.job_id, own.nodes) for own, job in zip(starts, queue, strict=False)]
        needed = head.nodes if whole else head.min_nodes
        shadow, extra = find_shadow(view, head, free, ends, needed - head.kept)
        if shadow == NEVER and view.kept:
            # The head waits for nodes that are held for jobs with an unknown resume time: backfilled jobs could delay
            # it repeatedly.
            return starts
        if window < NEVER and shadow + head.limit(needed) > window:
            return None
        by_runtime = self.length == "runtime"
        latest = shadow + TOLERANCE - now
        longest = NEVER if by_runtime else latest
        candidates.narrow(free, longest, extra)
        for job in candidates:
            least = job.min_nodes
            # Most candidates fail here at every size, because free and extra nodes only decrease during a pass.
            if least > free or (least > extra and job.walltime > longest):
                continue
            # For rigid jobs size == nodes == least, so that the same rule holds for both types.
            size = job.nodes if job.nodes < free else free
            length = job.duration(size) if by_runtime else job.walltime if size == job.nodes else job.limit(size)
            if length > latest:
                size = min(size, extra)
                if size < least:
                    continue
                extra -= size
            if window < NEVER and now + job.limit(size) > window:
                return None
            starts.append(Start(job.job_id, size, "backfilled"))
            free -= size
            if free < queue.least:
                break
            candidates.narrow(free, longest, extra)
        return starts

    def promises(self, view: SystemView) -> list[Promise]:
        """The reservations of the first jobs that must wait after this pass."""
        if self.depth > 1 or view.windows:
            promises: list[Promise] = []
            plan_queue(view, self._outlook(), promises)
            return promises
        free = view.free
        started: list[tuple[int, int, int]] = []
        for job in view.queue:
            needed = job.nodes if self.head == "requested" else job.min_nodes
            if needed > free:
                needed -= job.kept
                at = find_shadow(view, job, free, sorted(started), needed).time
                return [Promise(job.job_id, at, needed)] if at < NEVER else []
            size = min(job.nodes, free)
            started.append((view.now + job.limit(size), job.job_id, size))
            free -= size
        return []

    def begin(self) -> Easy | ManyJobs:
        """Return the rule for one simulation."""
        plain = self.depth > 1 and self.length == "walltime" and self.head == "minimum"
        return ManyJobs(self._outlook()) if plain else self

    def _outlook(self) -> Outlook:
        return Outlook(self.depth, by_runtime=self.length == "runtime", whole=self.head == "requested")


@dataclass(frozen=True)
class Conservative:
    """Conservative backfilling: every job that must wait holds a reservation, and no job passes that would delay one.

    Each pass makes a new plan for the whole queue, in queue order. Feitelson & Weil, "Utilization and predictability in
    scheduling the IBM SP2 with backfilling", IPPS 1998; Mu'alem & Feitelson, IEEE TPDS 12(6), 2001.
    """

    def __call__(self, view: SystemView) -> list[Start]:
        """The jobs to start now, in this order."""
        return plan_queue(view, _CONSERVATIVE)

    def promises(self, view: SystemView) -> list[Promise]:
        """The reservations of all jobs that must wait."""
        promises: list[Promise] = []
        plan_queue(view, _CONSERVATIVE, promises)
        return promises

    def begin(self) -> ManyJobs:
        """The rule of one simulation."""
        return ManyJobs(_CONSERVATIVE)


_CONSERVATIVE = Outlook(None, largest=True)

BACKFILLING: Registry[Backfilling] = Registry("backfilling rule", "holdfast.backfilling", function_adapter("the view"))
BACKFILLING.add("easy", Easy(), "EASY: jobs that do not delay the first depth=1 jobs that must wait")
BACKFILLING.add("conservative", Conservative(), "jobs that delay no waiting job before them")
BACKFILLING.add("none", Strict(), "no job passes the first one that must wait")
BACKFILLING.add(
    "slurm", SlurmBackfill(), "jobs that delay no waiting job before them, each planned on particular nodes"
)


def backfilling(name: str, length: str = "walltime", head: str = "minimum") -> Backfilling:
    """Look up a backfilling rule and set the length of candidates and the reserved size of the head.

    Raises
    ------
    UnknownNameError
        If the name is unknown.
    ParameterError
        If the rule does not support the requested length or size.
    """
    rule = BACKFILLING[name]
    changes: dict[str, str] = {}
    for option, parameter, value, default in (
        ("backfill_length", "length", length, "walltime"),
        ("malleable_head", "head", head, "minimum"),
    ):
        if value != default:
            if parameter not in plugin_parameters(rule):
                raise ParameterError(option, f"{default} with the backfilling rule {name}", value)
            changes[parameter] = value
    return cast(Backfilling, replace(cast(Any, rule), **changes)) if changes else rule
