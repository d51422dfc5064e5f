"""Facts: what a story is told from. Sentences are made of nothing else.

Times are ticks of the job table"s clock.
"""

from __future__ import annotations

from dataclasses import dataclass

from experiments.stories.facts.amounts import NodeTicks, Ticks
from experiments.stories.facts.service import Gathering, Helper, OnDemand, Plan, Reserved
from experiments.stories.facts.waits import Happening, Interval, Occupancy, PartOfWait, Passing, Promise, Wait

__all__ = [
    "Cause",
    "Facts",
    "Gathering",
    "Happening",
    "Helper",
    "Interval",
    "Loan",
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
    "Wait",
]


@dataclass(frozen=True, slots=True)
class Cause:
    """Why: as :class:`experiments.stories.reading.causes.Cause`, and the words of the policy if it has any."""

    kind: str
    job_id: int | None
    text: str
    reason: str = ""


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
    windows
        Whether there were outages that a rule has to leave nodes for: maintenance, advance reservations.
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
    windows: bool
    waits: tuple[Wait, ...]
    runs: tuple[Run, ...]
    loans: tuple[Loan, ...]
    on_demand: OnDemand | None
    others: tuple[Other, ...]
