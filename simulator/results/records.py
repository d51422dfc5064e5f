"""Records: what a simulation leaves behind, as plain tuples."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from simulator.clock.instants import Sample
from simulator.machine.decisions import Decision
from simulator.machine.eventlog import Entry
from simulator.machine.stochastic import ReservationRecord
from simulator.options import Options
from workloads.outages.outage import Outage
from workloads.table.job import Job, JobType

if TYPE_CHECKING:
    from policies.planning.planbook import Planned

__all__ = ["STATES", "Accounting", "JobRecord", "Records", "StochasticRecord"]


class JobRecord(NamedTuple):
    """What became of one job; times in ticks of the job table's clock.

    Attributes
    ----------
    job_id, type, nodes
        As in the job table; under the baseline the type is only a label.
    submit, start, end
        First submit (of an on-demand job the actual arrival), first start, completion; None of a no-show.
    runtime
        Undisturbed runtime.
    preemptions, shrinks
        How often.
    status
        ``completed``, ``killed`` (at its walltime), ``no_show``, or ``cancelled`` (withdrawn by its user: ``end`` is
        when, and ``start`` is None if it waited).
    lost
        Node-ticks that preemptions have cost, and of a stochastic job reservations without a good end.
    """

    job_id: int
    type: JobType
    submit: int | None
    start: int | None
    end: int | None
    nodes: int
    runtime: int
    preemptions: int
    shrinks: int
    status: str
    lost: int


class StochasticRecord(NamedTuple):
    """The reservations of a stochastic job.

    Attributes
    ----------
    job_id, application, strategy
        As in the job table; ``strategy`` is its column ``plan``.
    runtime
        True runtime [ticks].
    planned
        Its plan, and the cost that was expected of it.
    reservations
        In the order of their submits; the last one completed.
    """

    job_id: int
    application: str
    strategy: str
    runtime: int
    planned: Planned
    reservations: tuple[ReservationRecord, ...]


class Accounting(NamedTuple):
    """Node-ticks from the first submit to the last completion; they sum to N x elapsed exactly.

    Attributes
    ----------
    compute, setup, checkpoint
        Of all runs; the setup of a run that was preempted is lost.
    lost, warning
        To preemptions: setups, unsecured compute and partial dumps; to reservations that saved nothing; and the time
        under warning.
    held
        Reserved, or waiting for a warned victim.
    idle
        Neither occupied nor held.
    down
        Taken away by maintenance or failures.
    """

    compute: int
    setup: int
    checkpoint: int
    lost: int
    warning: int
    held: int
    idle: int
    down: int = 0

    def told(self) -> dict[str, int]:
        """By name; ``down`` only where nodes were."""
        named = self._asdict()
        if not self.down:
            del named["down"]
        return named


#: Where node-ticks go on a machine that is always there.
STATES = Accounting._fields[:-1]


@dataclass(frozen=True)
class Records:
    """What a simulation has shown.

    Attributes
    ----------
    mechanism
        ``baseline`` or e.g. ``CUA-SPAA``.
    nodes
        Size of the machine.
    options
        How it was operated.
    records
        One for each job, in the order of the job table.
    entries
        The event log, in order of time; empty if it was switched off.
    samples
        (time, busy nodes, held nodes, waiting jobs, nodes they ask for) at the end of each instant.
    accounting
        Where all node-ticks went.
    losses
        (time, node-ticks) of each loss to a preemption.
    latencies
        Wall-clock seconds of each decision with its scheduling pass.
    engine_seconds
        Wall-clock seconds of the simulation alone.
    origin
        Ticks of the job table's clock at which the simulated clock stands at 0.
    planning_seconds
        Wall-clock seconds of planning, which are not in ``engine_seconds`` nor in ``latencies``.
    stochastic
        One for each stochastic job, in the order of the job table.
    outages
        Those that were given, and those that were drawn until the end; the event log tells of them by their place here.
    down
        (time, nodes that are down) from each change on; nothing where there are no outages.
    table
        The job table that was simulated.
    decisions
        What the event log does not tell, in order of time; None: it was not recorded.
    begin
        When a replay with a starting state began, in ticks of the table's clock; None: at the first submit.
    withdrawn
        Node-ticks of the runs that their users ended; None: the table withdraws no job.
    malleable_setup
        Node-ticks of the setups of malleable jobs that completed, at the sizes that they had then.
    """

    mechanism: str
    nodes: int
    options: Options
    records: Sequence[JobRecord]
    entries: Sequence[Entry]
    samples: Sequence[Sample]
    accounting: Accounting
    losses: Sequence[tuple[int, int]]
    latencies: Sequence[float]
    engine_seconds: float
    origin: int
    planning_seconds: float = 0.0
    stochastic: Sequence[StochasticRecord] = ()
    outages: Sequence[Outage] = ()
    down: Sequence[tuple[int, int]] = ()

    def down_at_samples(self) -> list[int]:
        """Nodes that were down at the end of each instant of the samples."""
        times = [time for time, _ in self.down]
        nodes = [0, *(nodes for _, nodes in self.down)]
        return [nodes[bisect_right(times, sample[0])] for sample in self.samples]

    table: Sequence[Job] = ()
    decisions: Sequence[Decision] | None = None
    begin: int | None = None
    withdrawn: int | None = None
    malleable_setup: int = 0

    @property
    def opened(self) -> int | None:
        """From when on time and nodes are accounted for, in ticks of the table's clock; None: no job came."""
        if self.begin is not None:
            return self.begin
        return min((record.submit for record in self.records if record.submit is not None), default=None)
