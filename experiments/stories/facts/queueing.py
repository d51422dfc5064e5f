"""Facts of a time in the queue."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.experiments.stories.facts.quantities import Moment, NodeTicks, Ticks

__all__ = ["AtHead", "InstantEvent", "Occupancy", "PartOfWait", "Passing", "Promise", "Wait"]


@dataclass(frozen=True, slots=True)
class AtHead:
    """A time at the head of the queue; ``by`` is the job that then took its place, None if it started."""

    since: Moment
    until: Moment
    by: int | None


@dataclass(frozen=True, slots=True)
class InstantEvent:
    """What happened in an instant to another job; ``by`` is how much earlier than its walltime it ended.

    An outage has a negative id, and its kind says everything.
    """

    kind: str
    job_id: int
    by: Ticks = 0


@dataclass(frozen=True, slots=True)
class Promise:
    """From ``time`` on it was promised a start at ``at`` (None: no longer), and what happened in that instant."""

    time: Moment
    at: Moment | None
    when: tuple[InstantEvent, ...] = ()


@dataclass(frozen=True, slots=True)
class Passing:
    """A job from behind that started; ``how`` is the cause of the start."""

    time: Moment
    job_id: int
    nodes: int
    how: str


@dataclass(frozen=True, slots=True)
class PartOfWait:
    """A part of a wait.

    Attributes
    ----------
    kind
        ``full``: fewer nodes than it needs were idle; ``held``: enough were, but too many of them were held for
        on-demand jobs; ``turn``: enough were free, and another job stood first; ``first``: enough were free, and it
        stood first itself.
    ticks
        Total duration.
    jobs
        The jobs that nodes were held for, that stood first, or that stood before it in the scheduling pass and started
        after it as tenants of reserved nodes; longest first.
    outages
        Advance reservations that held nodes; longest first.
    """

    kind: str
    ticks: Ticks
    jobs: tuple[int, ...]
    outages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Occupancy:
    """A share of the machine while fewer nodes than needed were idle.

    Attributes
    ----------
    kind
        ``before``: runs that had begun before the job came; ``ahead``: jobs from before it in the queue;
        ``on-demand``: such jobs that did not wait in the queue; ``passed``: jobs from behind it; ``down``: nodes out
        of service; ``idle``: idle nodes, too few to be of use.
    node_ticks
        Node-time of that kind; those of all kinds sum to the machine's.
    jobs
        The jobs that ran, most node-time first.
    """

    kind: str
    node_ticks: NodeTicks
    jobs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Wait:
    """A time in the queue.

    Attributes
    ----------
    since, until, why, cause
        ``submit``, ``requeue``, ``wait`` (an on-demand job that could not get its nodes) or ``next``; the log's cause.
    needs
        The fewest nodes that do.
    free
        Free nodes when it had come.
    ahead, ahead_nodes
        The jobs that then stood before it, and the nodes that they asked for.
    first
        When it stood first in the queue.
    promises
        What it was promised, whenever that changed.
    passed_by
        Jobs that stood behind it and started.
    parts
        They sum to the wait.
    occupancy
        Use of the machine while fewer nodes were idle than it needs.
    """

    since: Moment
    until: Moment
    why: str
    cause: str
    needs: int
    free: int
    ahead: tuple[int, ...]
    ahead_nodes: int
    first: tuple[AtHead, ...]
    promises: tuple[Promise, ...]
    passed_by: tuple[Passing, ...]
    parts: tuple[PartOfWait, ...]
    occupancy: tuple[Occupancy, ...]
