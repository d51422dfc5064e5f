"""Facts of an on-demand job that is served as one."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.experiments.stories.facts.quantities import Moment, NodeTicks

__all__ = ["Gain", "Gathering", "Helper", "OnDemand", "Plan"]


@dataclass(frozen=True, slots=True)
class Gathering:
    """An arrived on-demand job that had nodes promised by these jobs under warning."""

    since: Moment
    until: Moment
    jobs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Gain:
    """Nodes that come to a reservation.

    Attributes
    ----------
    time, nodes, total
        When, how many, and how many it then had.
    source
        ``free``, ``ended``, ``preempted``, ``left over`` (by another on-demand job), ``outage`` (that is over),
        ``taken`` (they are lost again), or ``unknown``.
    job_id
        The job that had them.
    cause
        As the log has it.
    """

    time: Moment
    nodes: int
    total: int
    source: str
    job_id: int | None
    cause: str


@dataclass(frozen=True, slots=True)
class Plan:
    """An entry of the plan of a notice.

    ``what`` is ``expect`` or ``preempt``, ``outcome`` of the latter ``done``, ``dropped`` (not needed any more) or
    ``void`` (the job had ended, the reservation was over, or it had been preempted already).
    """

    what: str
    job_id: int
    nodes: int
    at: Moment
    overhead: NodeTicks | None
    outcome: str
    reason: str


@dataclass(frozen=True, slots=True)
class Helper:
    """A job that gave up nodes for it (``shrunk``, ``preempted``, ``planned``, ``tenant``); how many, where known."""

    time: Moment
    job_id: int
    how: str
    nodes: int | None
    returned: int


@dataclass(frozen=True, slots=True)
class OnDemand:
    """The service of an on-demand job.

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
        Jobs that gave up nodes.
    instant
        Whether it started within the tolerance.
    """

    notice: Moment | None
    estimated: Moment | None
    heard: bool
    reserved: tuple[Gain, ...]
    plan: tuple[Plan, ...]
    timed_out: Moment | None
    withdrawn: Moment | None
    own: int
    lacking: int | None
    room: int | None
    gatherings: tuple[Gathering, ...]
    helpers: tuple[Helper, ...]
    instant: bool | None
