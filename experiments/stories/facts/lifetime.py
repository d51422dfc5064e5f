"""The facts of one job, from which its story is written: runs, preemptions, loans, and all of them together.

Times are ticks, those of :class:`Facts` on the clock of the job table.
"""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.experiments.stories.facts.quantities import Moment, NodeTicks, Ticks
from holdfast.experiments.stories.facts.queueing import Wait
from holdfast.experiments.stories.facts.service import OnDemand

__all__ = ["Cause", "Facts", "Loan", "Other", "Resize", "RunFacts", "Slot", "Stop"]


@dataclass(frozen=True, slots=True)
class Cause:
    """A cause of the event log.

    Attributes
    ----------
    kind
        ``in order``, ``backfilled``, ``tenant``, ``arrival``, ``returned`` (nodes that an on-demand job gives back),
        ``resumes`` (likewise, and they were held for it),
        ``made room`` (for an on-demand job, by its arrival strategy), ``planned`` (likewise, by its plan),
        ``dismissed`` (a tenant, because the on-demand job has come), ``warning over``, ``next reservation``,
        ``runs already`` (when the replay begins), ``none``, or ``other``.
    job_id
        The job that it names.
    text
        As the log has it.
    reason
        The words of the policy, if it has any.
    """

    kind: str
    job_id: int | None
    text: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Resize:
    """A shrink or an expansion."""

    time: Moment
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
        Checkpoints that this run had written, and the compute time behind them.
    overhead
        What the arrival strategy saw that it would cost, or the plan; None: not recorded.
    spared, spared_overhead
        The cheapest of the jobs that could have been preempted instead, and what it would have lost.
    """

    time: Moment
    vacated: Moment
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
class RunFacts:
    """A time on nodes.

    Attributes
    ----------
    start, nodes, cause
        Start, size and cause of the run.
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
        Checkpoints that it wrote.
    lost
        If it reached its end and yet saved nothing (a stochastic job).
    stop
        Its preemption; None: it went on to its end.
    slot
        The reservation of a stochastic job.
    """

    start: Moment
    nodes: int
    cause: Cause
    wait: int | None
    returned: int
    tenant_of: tuple[tuple[int, int], ...]
    resizes: tuple[Resize, ...]
    end: Moment
    ending: str
    early: Ticks
    checkpoints: int
    lost: NodeTicks
    stop: Stop | None
    slot: Slot | None


@dataclass(frozen=True, slots=True)
class Loan:
    """Nodes given up for an on-demand job, and those that it gave back."""

    time: Moment
    borrower: int
    nodes: int
    returned: int
    returned_at: Moment | None


@dataclass(frozen=True, slots=True)
class Other:
    """An entry of the log that is not understood, as it is."""

    time: Moment
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
    eligible
        When it became eligible, if that was after its submit; else None.
    wait
        From then, or from its submit, to its start.
    status, preemptions, shrinks, lost
        As in the table of jobs.
    has_decisions
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
    submit: Moment | None
    eligible: Moment | None
    start: Moment | None
    end: Moment | None
    wait: Ticks | None
    status: str
    preemptions: int
    shrinks: int
    lost: NodeTicks
    has_decisions: bool
    windows: bool
    waits: tuple[Wait, ...]
    runs: tuple[RunFacts, ...]
    loans: tuple[Loan, ...]
    on_demand: OnDemand | None
    others: tuple[Other, ...]

    @property
    def arrival(self) -> Moment | None:
        """When it could start for the first time."""
        return self.submit if self.eligible is None else self.eligible
