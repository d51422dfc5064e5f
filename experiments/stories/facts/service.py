"""Facts of an on-demand job"s service; times are ticks of the job table"s clock."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.stories.facts.amounts import NodeTicks, Ticks

__all__ = ["Gathering", "Helper", "OnDemand", "Plan", "Reserved"]


@dataclass(frozen=True, slots=True)
class Gathering:
    """An arrived on-demand job that had nodes promised by these jobs under warning."""

    since: Ticks
    until: Ticks
    jobs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Reserved:
    """Nodes that came to a reservation (or were taken from it), which then had ``total``; whose they were."""

    time: Ticks
    nodes: int
    total: int
    source: str
    job_id: int | None
    cause: str


@dataclass(frozen=True, slots=True)
class Plan:
    """An entry of the plan of a notice.

    ``what`` is ``expect`` or ``preempt``, ``outcome`` of the latter ``done``, ``dropped`` (not needed any more) or
    ``void`` (the job had ended, the reservation was over, or somebody else had preempted it).
    """

    what: str
    job_id: int
    nodes: int
    at: Ticks
    overhead: NodeTicks | None
    outcome: str
    reason: str


@dataclass(frozen=True, slots=True)
class Helper:
    """Who gave up nodes for it (``shrunk``, ``preempted``, ``planned``, ``tenant``); how many it got, where known."""

    time: Ticks
    job_id: int
    how: str
    nodes: int | None
    returned: int


@dataclass(frozen=True, slots=True)
class OnDemand:
    """Of an on-demand job that is served as one.

    Attributes
    ----------
    notice, estimated
        As announced; None: without notice.
    heard
        Whether anything followed from the notice.
    reserved
        What was reserved for it.
    plan
        What was planned.
    timed_out
        When it was no longer waited for.
    withdrawn
        When the notice was taken back.
    own
        Nodes that were reserved for it when it arrived, those lent to tenants included.
    lacking, room
        What it then lacked beyond these and the free ones, and what could be got at most; None: not recorded, or 0.
    gatherings
        Its waits for nodes under warning.
    helpers
        Who gave up nodes.
    instant
        Whether it started within the tolerance.
    """

    notice: Ticks | None
    estimated: Ticks | None
    heard: bool
    reserved: tuple[Reserved, ...]
    plan: tuple[Plan, ...]
    timed_out: Ticks | None
    withdrawn: Ticks | None
    own: int
    lacking: int | None
    room: int | None
    gatherings: tuple[Gathering, ...]
    helpers: tuple[Helper, ...]
    instant: bool | None
