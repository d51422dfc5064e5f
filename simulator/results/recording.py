"""A recorded simulation, either fresh from the simulator or read back from a directory.

Metrics, pictures, explanations and exports take a :class:`Recording` and do not ask where it comes from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt

from holdfast.policies.mechanism import BASELINE
from holdfast.policies.order import ORDERS, Order
from holdfast.simulator.machine.decisions import Decision
from holdfast.simulator.machine.event_log import Entry
from holdfast.simulator.machine.prior_state import PriorState
from holdfast.simulator.options import Options
from holdfast.simulator.results.pool import Pool
from holdfast.simulator.results.records import ABSENT, Accounting, JobRecord, Records, Samples, StochasticRecord
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.ticks import in_ticks, list_in_ticks
from holdfast.workloads.ground.trust import admit, trust
from holdfast.workloads.ground.units import to_ticks
from holdfast.workloads.ground.wording import count_text
from holdfast.workloads.outages.outage import Outage
from holdfast.workloads.table.job import Job, JobType
from holdfast.workloads.table.jobs import Jobs

if TYPE_CHECKING:
    from holdfast.simulator.machine.stochastic import ReservationRecord
    from holdfast.simulator.resources.machine_replay import MachineReplay

__all__ = [
    "NO_METRICS",
    "Recording",
    "all_reservations",
    "clock_origin",
    "down_at_samples",
    "down_spans",
    "has_down_nodes",
    "job_reservations",
    "level_changes",
    "requested_walltime",
    "requested_walltimes",
    "require_events",
]

_R = TypeVar("_R", bound="Recording")

NO_METRICS = "a result that was read back has no metrics: they are in the tables of its directory"


@dataclass(frozen=True, repr=False)
class Recording:
    """One simulation of a job table under a mechanism.

    A directory of ``holdfast run`` holds everything but the fields from ``booked`` on, which keep their defaults.

    Attributes
    ----------
    mechanism
        ``baseline`` or e.g. ``CUA-SPAA``.
    nodes
        Size of the machine.
    options
        How it was operated.
    table
        The job table that was simulated.
    records
        One for each job, in the order of the job table; times in ticks of the table's clock.
    entries
        The event log, in order of time; empty if it was switched off.
    samples
        (time, busy nodes, held nodes, waiting jobs, nodes they ask for) at the end of each instant.
    stochastic
        One for each stochastic job, in the order of the job table.
    origin
        Ticks of the job table's clock at which the simulated clock stands at 0.
    begin
        When a replay with a starting state began, in ticks of the table's clock; None: at the first submit.
    down
        (time, nodes that are down) from each change on; nothing where there are no outages.
    decisions
        What the event log does not hold, in order of time; None: it was not recorded.
    epoch
        Seconds since 1970 at which the job table's clock stands at 0; None: not known.
    zone
        What dates are in: UTC, or local time, where the log recorded that without its zone.
    unit
        What sizes count, ``nodes`` or ``processors``; names of fields and columns stay as they are.
    trusted
        Whether a queue order that the options name by its import path may be imported.
    prior
        Past usage, and nodes of running jobs, at the beginning of a replay with a starting state; None: not known.
    booked
        Where all node-ticks went (:attr:`accounting`); None: not known.
    losses
        (time, node-ticks) of each loss to a preemption.
    latencies
        Wall-clock seconds of each decision with its scheduling pass.
    engine_seconds
        Wall-clock seconds of the simulation alone.
    planning_seconds
        Wall-clock seconds of planning, which are not in ``engine_seconds`` nor in ``latencies``.
    outages
        Those that were given, and those that were drawn until the end; the event log names them by their place here.
    withdrawn
        Node-ticks of the runs that their users ended; None: the table withdraws no job.
    malleable_setup
        Node-ticks of the setups of malleable jobs that completed, at the sizes that they had then.
    label
        What sets it apart from the other runs of its result; empty: its mechanism alone.
    engine
        What computed it: ``simpy`` or ``compiled``.
    placements
        Nodes of the last run of each job, as bits of a whole number, under a backfilling rule on named nodes; None: the
        rule counts nodes.
    on_machine
        Partition and nodes of each job on a machine with partitions; None: the machine is one pool of equal nodes.
    pools
        Of a machine whose partitions were simulated as pools: each partition by name; empty: it was not.
    """

    mechanism: str
    nodes: int
    options: Options
    table: Sequence[Job]
    records: Records
    entries: Sequence[Entry] = ()
    samples: Samples = field(default_factory=lambda: Samples.of([]))
    stochastic: Sequence[StochasticRecord] = ()
    origin: int = 0
    begin: int | None = None
    down: Sequence[tuple[int, int]] = ()
    decisions: Sequence[Decision] | None = None
    epoch: float | None = field(default=None, compare=False)
    zone: str = field(default="UTC", compare=False)
    unit: str = field(default="nodes", compare=False, repr=False)
    trusted: bool = field(default=True, compare=False, repr=False)
    prior: PriorState | None = field(default=None, compare=False, repr=False)
    booked: Accounting | None = None
    losses: Sequence[tuple[int, int]] = ()
    latencies: Sequence[float] = ()
    engine_seconds: float = 0.0
    planning_seconds: float = 0.0
    outages: Sequence[Outage] = ()
    withdrawn: int | None = None
    malleable_setup: int = 0
    label: str = ""
    placements: Mapping[int, int] | None = field(default=None, compare=False, repr=False)
    engine: str = field(default="simpy", compare=False, repr=False)
    on_machine: MachineReplay | None = field(default=None, compare=False, repr=False)
    pools: Mapping[str, Pool] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        # Rows do wherever a recording is made by hand.
        for name, kind in (("records", Records), ("samples", Samples)):
            given = getattr(self, name)
            if not isinstance(given, kind):
                object.__setattr__(self, name, kind.of(given))

    def __repr__(self) -> str:
        operated = f"{count_text(self.nodes, 'nodes')}, {self.options.order}, {self.options.backfilling}"
        events = count_text(len(self.entries), "events") if self.entries else "no event log"
        return f"{type(self).__name__}({self.name}: {count_text(len(self.records), 'jobs')} on {operated}; {events})"

    @property
    def name(self) -> str:
        """Its label; without one its mechanism."""
        return self.label or self.mechanism

    @property
    def identity(self) -> dict[str, str]:
        """First cells of its rows in a table: its label, if it has one, and its mechanism."""
        own = {"label": self.label} if self.label else {}
        return {**own, "mechanism": self.mechanism}

    @cached_property
    def order(self) -> Order:
        """The queue order.

        Raises
        ------
        InputError
            If it cannot be had, or is not trusted.
        """
        with trust(self.trusted):
            return ORDERS[admit("order", self.options.order, "run.json", key="options.order")]

    @cached_property
    def job(self) -> dict[int, Job]:
        """The job table by job id."""
        return {job.job_id: job for job in self.table}

    @cached_property
    def record(self) -> dict[int, JobRecord]:
        """The records by job id."""
        return {record.job_id: record for record in self.records}

    @cached_property
    def _reservations(self) -> dict[int, Sequence[ReservationRecord]]:
        return {course.job_id: course.reservations for course in self.stochastic}

    @cached_property
    def opened(self) -> int | None:
        """From when on time and nodes are accounted for, in ticks of the table's clock; None: no job came."""
        if self.begin is not None:
            return self.begin
        submits = self.records.columns["submit"][self.records.came]
        return int(submits.min()) if len(submits) else None

    @cached_property
    def closed(self) -> int | None:
        """Until when they are: the last end of a job, in ticks of the table's clock; None: no job came."""
        # None is less than every time.
        last = int(self.records.columns["end"].max(initial=ABSENT))
        return None if last == ABSENT else last

    @property
    def accounting(self) -> Accounting:
        """Where all node-ticks went.

        Raises
        ------
        InputError
            If this was read back from a directory: the tables there hold its metrics.
        """
        if self.booked is None:
            raise InputError(NO_METRICS)
        return self.booked


def require_events(recording: _R) -> _R:
    """The recording.

    Raises
    ------
    InputError
        If it has no event log.
    """
    if not recording.entries:
        raise InputError("this result has no event log; simulate with events=True")
    return recording


def requested_walltime(recording: Recording, job: Job) -> int:
    """Walltime of a job at its requested size [ticks]; under the baseline that of the trace."""
    as_traced = recording.mechanism == BASELINE and job.type is not JobType.STOCHASTIC
    walltime = job.trace_walltime if as_traced else None
    return to_ticks(job.walltime if walltime is None else walltime)


def requested_walltimes(recording: Recording) -> npt.NDArray[np.int64]:
    """:func:`requested_walltime` of each job of the table, shape (jobs,) [ticks]."""
    table = Jobs.of(recording.table)
    walltimes = table.column("walltime")
    if recording.mechanism == BASELINE:
        traced = table.column("trace_walltime")
        walltimes = np.where(np.isnan(traced) | table.are(JobType.STOCHASTIC), walltimes, traced)
    return np.array(list_in_ticks(walltimes.tolist()), np.int64)


def all_reservations(recording: Recording) -> list[ReservationRecord]:
    """Reservations of stochastic jobs, job by job."""
    return [item for course in recording.stochastic for item in course.reservations]


def job_reservations(recording: Recording, job_id: int) -> Sequence[ReservationRecord]:
    """Reservations of a stochastic job, in the order of their submits; of other jobs none."""
    return recording._reservations.get(job_id, ())


def down_spans(recording: Recording) -> Iterator[tuple[int, int, int]]:
    """(start, end, nodes that were down) within the time that is accounted for; ticks of the simulated clock."""
    if not recording.down or recording.opened is None or recording.closed is None:
        return
    first, last = recording.opened - recording.origin, recording.closed - recording.origin
    for (time, nodes), (then, _) in pairwise([*recording.down, (last, 0)]):
        start, end = max(first, time), min(last, then)
        if nodes and start < end:
            yield start, end, nodes


def has_down_nodes(recording: Recording) -> bool:
    """Whether nodes were down in the time that is accounted for."""
    return any(True for _ in down_spans(recording))


def down_at_samples(recording: Recording) -> npt.NDArray[np.int64]:
    """Nodes that were down at the end of each instant of the samples."""
    times, nodes = np.array([(0, 0), *recording.down], np.int64).T
    found: npt.NDArray[np.int64] = nodes[np.searchsorted(times[1:], recording.samples.column(0), side="right")]
    return found


def level_changes(levels: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """(Time, level) from each change on, beginning at level 0; of several at one time the last counts.

    >>> level_changes([(0, 0), (3, 5), (3, 4), (6, 4), (9, 0)])
    [(3, 4), (9, 0)]
    """
    found: list[tuple[int, int]] = []
    for time, level in levels:
        if found and found[-1][0] == time:
            found.pop()
        if level != (found[-1][1] if found else 0):
            found.append((time, level))
    return found


def clock_origin(jobs: Iterable[Job]) -> int:
    """Where the simulated clock begins: at the first submit or notice of the table [ticks of its own clock]."""
    table = Jobs.of(jobs)
    times = np.concatenate((table.column("submit"), table.column("notice")))
    return int(in_ticks(np.nanmin(times))) if not np.isnan(times).all() else 0
