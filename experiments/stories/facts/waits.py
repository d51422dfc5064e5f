"""Facts of a time in the queue; times are ticks of the job table"s clock."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.stories.facts.amounts import NodeTicks, Ticks

__all__ = ["Happening", "Interval", "Occupancy", "PartOfWait", "Passing", "Promise", "Wait"]


@dataclass(frozen=True, slots=True)
class Interval:
    """From ... until; ``by`` is who took its place then, None if it started."""

    since: Ticks
    until: Ticks
    by: int | None


@dataclass(frozen=True, slots=True)
class Happening:
    """What happened in an instant to another job; ``by`` is how much earlier than its walltime it ended.

    Of an outage the kind says it all, and the id is negative.
    """

    kind: str
    job_id: int
    by: Ticks = 0


@dataclass(frozen=True, slots=True)
class Promise:
    """From ``time`` on it was promised a start at ``at`` (None: no longer), and what happened in that instant."""

    time: Ticks
    at: Ticks | None
    when: tuple[Happening, ...] = ()


@dataclass(frozen=True, slots=True)
class Passing:
    """A job from behind that started; ``how`` is the cause of the start."""

    time: Ticks
    job_id: int
    nodes: int
    how: str


@dataclass(frozen=True, slots=True)
class PartOfWait:
    """As :class:`experiments.stories.gathering.waits.Part`; ``outages`` are advance reservations that held nodes."""

    kind: str
    ticks: Ticks
    jobs: tuple[int, ...]
    outages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Occupancy:
    """As :class:`experiments.stories.gathering.waits.Occupants`."""

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
        Who then stood before it, and what they asked for.
    first
        When it stood first in the queue.
    promises
        What it was promised, whenever that changed.
    passed_by
        Who stood behind it and started.
    parts
        They sum to the wait.
    occupancy
        Who had the machine while fewer nodes were idle than it needs.
    """

    since: Ticks
    until: Ticks
    why: str
    cause: str
    needs: int
    free: int
    ahead: tuple[int, ...]
    ahead_nodes: int
    first: tuple[Interval, ...]
    promises: tuple[Promise, ...]
    passed_by: tuple[Passing, ...]
    parts: tuple[PartOfWait, ...]
    occupancy: tuple[Occupancy, ...]
