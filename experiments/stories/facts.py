"""Facts: what a story is told from. Sentences are made of nothing else.

Times are ticks of the job table's clock. As JSON they are seconds, and node-ticks node-seconds.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from workloads.units import SECOND

__all__ = [
    "Cause",
    "Facts",
    "Gathering",
    "Happening",
    "Helper",
    "Interval",
    "Loan",
    "NodeTicks",
    "Occupancy",
    "OnDemand",
    "Other",
    "PartOfWait",
    "Passing",
    "Plan",
    "Promise",
    "Reserved",
    "Resize",
    "Run",
    "Slot",
    "Stop",
    "Ticks",
    "Wait",
    "as_json",
]

#: A time or a duration, and an amount of the machine; :func:`as_json` knows them by these names.
Ticks = int
NodeTicks = int


@dataclass(frozen=True, slots=True)
class Cause:
    """Why: as :class:`experiments.stories.causes.Cause`, and the words of the policy if it has any."""

    kind: str
    job_id: int | None
    text: str
    reason: str = ""


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
    """As :class:`experiments.stories.waits.Part`; ``outages`` are advance reservations that nodes were held for."""

    kind: str
    ticks: Ticks
    jobs: tuple[int, ...]
    outages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Occupancy:
    """As :class:`experiments.stories.waits.Occupants`."""

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


@dataclass(frozen=True, slots=True)
class Gathering:
    """An arrived on-demand job that had nodes promised by these jobs under warning."""

    since: Ticks
    until: Ticks
    jobs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Resize:
    """A shrink or an expansion."""

    time: Ticks
    before: int
    after: int
    cause: Cause


@dataclass(frozen=True, slots=True)
class Stop:
    """A preemption.

    Attributes
    ----------
    time, vacated
        When it began, and when the nodes were given up (after a warning).
    cause
        Why.
    lost, lost_to_warning
        What it cost.
    checkpoints, secured
        That this run had written, and the compute time behind them.
    overhead
        What the arrival strategy saw that it would cost, or the plan; None: not recorded.
    spared, spared_overhead
        Of those that could have been preempted instead, the one that would have cost least.
    """

    time: Ticks
    vacated: Ticks
    cause: Cause
    lost: NodeTicks
    lost_to_warning: NodeTicks
    checkpoints: int
    secured: Ticks
    overhead: NodeTicks | None = None
    spared: int | None = None
    spared_overhead: NodeTicks | None = None


@dataclass(frozen=True, slots=True)
class Slot:
    """A reservation of a stochastic job, as it ended; ``saved`` is the work saved after it."""

    number: int
    length: Ticks
    ending: str
    work: Ticks
    saved: Ticks


@dataclass(frozen=True, slots=True)
class Run:
    """A time on nodes.

    Attributes
    ----------
    start, nodes, cause
        Of the run.
    wait
        Which of the job's waits it ended; None: it had not waited in the queue.
    returned
        Nodes that an on-demand job gave back to it for this start.
    tenant_of
        (on-demand job, nodes) that it borrowed.
    resizes
        In order.
    end, ending
        When it gave up its nodes, and the event of the log.
    early
        By how much it ended before its walltime was over.
    checkpoints
        That it wrote.
    lost
        If it reached its end and yet saved nothing (a stochastic job).
    stop
        Its preemption; None: it went on to its end.
    slot
        Of a stochastic job.
    """

    start: Ticks
    nodes: int
    cause: Cause
    wait: int | None
    returned: int
    tenant_of: tuple[tuple[int, int], ...]
    resizes: tuple[Resize, ...]
    end: Ticks
    ending: str
    early: Ticks
    checkpoints: int
    lost: NodeTicks
    stop: Stop | None
    slot: Slot | None


@dataclass(frozen=True, slots=True)
class Loan:
    """Nodes given up for an on-demand job, and those that it gave back."""

    time: Ticks
    borrower: int
    nodes: int
    returned: int
    returned_at: Ticks | None


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


@dataclass(frozen=True, slots=True)
class Other:
    """An entry of the log that is not understood, as it is."""

    time: Ticks
    event: str
    before: int
    after: int
    cause: str


@dataclass(frozen=True, slots=True)
class Facts:
    """All of a job's story.

    Attributes
    ----------
    job_id, type, nodes, min_nodes, walltime, runtime
        As in the job table; the last two as this mechanism takes them.
    mechanism, order, backfilling, machine
        What was simulated.
    submit, start, end
        First submit (of an on-demand job its arrival), first start, completion; None of a no-show.
    wait
        ``start - submit``.
    status, preemptions, shrinks, lost
        As in the table of jobs.
    told
        Whether decisions were recorded: without them there are no promises, loans and overheads.
    outages
        Whether the machine had outages.
    waits, runs, loans, on_demand, others
        What happened.
    """

    job_id: int
    type: str
    nodes: int
    min_nodes: int
    walltime: Ticks
    runtime: Ticks
    mechanism: str
    order: str
    backfilling: str
    machine: int
    submit: Ticks | None
    start: Ticks | None
    end: Ticks | None
    wait: Ticks | None
    status: str
    preemptions: int
    shrinks: int
    lost: NodeTicks
    told: bool
    outages: bool
    waits: tuple[Wait, ...]
    runs: tuple[Run, ...]
    loans: tuple[Loan, ...]
    on_demand: OnDemand | None
    others: tuple[Other, ...]


def as_json(facts: Any) -> Any:
    """Facts as numbers, texts, lists and objects.

    >>> as_json(Interval(500_000, 3_000_000, None))
    {'since': 0.5, 'until': 3.0, 'by': None}
    """
    if isinstance(facts, tuple):
        return [as_json(item) for item in facts]
    if not is_dataclass(facts):
        return facts
    shown = {}
    for item in fields(facts):
        value = getattr(facts, item.name)
        if value is not None and "Ticks" in str(item.type):
            value = value / SECOND
        shown[item.name.replace("ticks", "seconds")] = as_json(value)
    return shown
