"""Facts of the story of a job on a machine with partitions."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.experiments.stories.room_on_nodes import Room

__all__ = ["MachineFacts", "PreemptedRun"]


@dataclass(frozen=True)
class PreemptedRun:
    """A run that an outage or a mechanism ended, or the time that it had on the same nodes.

    Attributes
    ----------
    start, end
        Its times [s].
    nodes
        Names of its nodes.
    by
        Name of the outage; empty: none ended it.
    cause, ending
        Under a mechanism, why it got these nodes, and why it left them.
    """

    start: float
    end: float
    nodes: str
    by: str
    cause: str = ""
    ending: str = ""


@dataclass(frozen=True)
class MachineFacts:
    """What a story says. Times are seconds of the job table's clock, durations seconds.

    Attributes
    ----------
    job_id, partition, tier, nodes, taken
        The job, its partition with its tier, names of its nodes, and by resource what it took of each.
    placement, rule
        How nodes were chosen.
    backfills
        Whether jobs may start before one that cannot.
    submit, queued, start, end
        Its times; it waits from ``queued`` on.
    waited_limit, waited_nodes, waited_reservation
        How long a limit stopped it, nodes had no room, and it would have delayed a job before it.
    limit, limited_until
        The last limit that stopped it, and until when.
    delayed
        The last job that it would have delayed.
    promised, promised_at
        Its first reservation, and when it got that.
    at_queue, at_start
        Nodes of the partition with room when it last began to wait, and when it started.
    freed_by
        Jobs on its nodes that ended as it started.
    higher_tier, passed_by
        Jobs of a higher tier, and of others, that came later and started on nodes of the partition while it waited.
    cancelled
        Whether its user cancelled it, at its end.
    preempted, last_start
        Its runs before the last one, and the start of that, which ``partition``, ``nodes`` and ``at_start`` describe;
        None: ``start``.
    cause
        Why it got its last nodes, under a mechanism; empty: not known.
    """

    job_id: int
    partition: str
    tier: int
    nodes: str
    taken: dict[str, tuple[int, ...]]
    placement: str
    rule: str
    backfills: bool
    submit: float
    queued: float
    start: float
    end: float
    waited_limit: float
    waited_nodes: float
    waited_reservation: float
    limit: str | None
    limited_until: float | None
    delayed: int | None
    promised: float | None
    promised_at: float | None
    at_queue: Room
    at_start: Room
    freed_by: tuple[int, ...]
    higher_tier: tuple[int, ...]
    passed_by: tuple[int, ...]
    cancelled: bool
    preempted: tuple[PreemptedRun, ...] = ()
    last_start: float | None = None
    cause: str = ""
