"""Backfilling: one scheduling pass over the queue.

Source: easy-backfilling.md (after Mu'alem & Feitelson, IEEE TPDS 12(6), 2001); malleable jobs by hybrid-workloads.md,
section 3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from policies.port import TOLERANCE, Start, SystemView
from policies.shadow import shadow_of
from workloads.errors import ParameterError
from workloads.registry import Registry, function_of, parameters_of

__all__ = ["BACKFILLING", "Backfilling", "Easy", "backfilling"]

#: The jobs to start now, in this order: one scheduling pass.
Backfilling = Callable[[SystemView], "list[Start]"]


@dataclass(frozen=True)
class Easy:
    """EASY: the head of the queue holds the only reservation, recomputed at every pass.

    Attributes
    ----------
    length
        What a candidate is judged by: its walltime, or (as CQSim's public code does) its true runtime.
    """

    length: Literal["walltime", "runtime"] = "walltime"

    def __post_init__(self) -> None:
        if self.length not in ("walltime", "runtime"):
            raise ParameterError("length", "walltime or runtime", self.length)

    def __call__(self, view: SystemView) -> list[Start]:
        """The jobs to start now, in this order."""
        queue = view.queue
        free = view.free
        now = view.now
        starts: list[Start] = []
        for job in queue:
            if job.min_nodes > free:
                break
            size = job.nodes if job.nodes < free else free
            starts.append(Start(job.job_id, size))
            free -= size
        else:
            return starts
        # Most passes end here: looking for anybody who fits is far cheaper than the shadow time.
        heads = len(starts)
        fitting = [job for job in queue[heads + 1 :] if job.min_nodes <= free] if free else []
        if not fitting:
            return starts
        ends = [
            (now + job.limit(start.nodes), job.job_id, start.nodes)
            for job, start in zip(queue[:heads], starts, strict=True)
        ]
        shadow, extra = shadow_of(view, queue[heads], free, ends)
        by_runtime = self.length == "runtime"
        latest = shadow + TOLERANCE - now
        if not by_runtime:
            # Most candidates fail here, whatever size they would get: free and extra nodes only become fewer.
            fitting = [job for job in fitting if job.walltime <= latest or job.min_nodes <= extra]
        for job in fitting:
            least = job.min_nodes
            if least > free:
                continue
            # For rigid jobs size == nodes == least, so one rule serves both kinds.
            size = job.nodes if job.nodes < free else free
            if (job.duration(size) if by_runtime else job.limit(size)) > latest:
                size = min(size, extra)
                if size < least:
                    continue
                extra -= size
            starts.append(Start(job.job_id, size, "backfilled"))
            free -= size
            if not free:
                break
        return starts


BACKFILLING: Registry[Backfilling] = Registry("backfilling rule", "holdfast.backfilling", function_of("the view"))
BACKFILLING.add("easy", Easy(), "EASY: whoever does not delay the first job that must wait")


def backfilling(name: str, length: str = "walltime") -> Backfilling:
    """The rule of that name, judging candidates by that length.

    Raises
    ------
    UnknownNameError
        If there is no such rule.
    ParameterError
        If it does not look at runtimes, and should.
    """
    rule = BACKFILLING[name]
    if length == "walltime":
        return rule
    if "length" not in parameters_of(rule):
        raise ParameterError("backfill_length", f"walltime with the backfilling rule {name}", length)
    return cast(Backfilling, replace(cast(Any, rule), length=length))
