"""The trace: what a log says of each job, before any type is assigned.

Readers (swf, alcf, sacct) and the generator all produce a :class:`Trace`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import NamedTuple

from workloads.ground.errors import ParameterError
from workloads.ground.numbers import decimal
from workloads.ground.units import LARGEST_SIZE

__all__ = ["Trace", "TraceJob", "Withdrawn", "epoch_of"]

#: No machine was older: an earlier date says that the clock of a trace does not begin in 1970 [s].
_EARLIEST = 315_532_800
#: The year 10,000, which no calendar of a program has [s].
_LATEST = 253_402_300_800


@dataclass(frozen=True, slots=True)
class TraceJob:
    """One job of a log, cleaned by :class:`~workloads.logs.intake.Intake`.

    Attributes
    ----------
    job_id
        As in the log; not necessarily unique or sorted.
    submit
        Submit time [s], on the log's own clock.
    nodes
        Requested size, in the unit of the trace.
    runtime
        min(recorded runtime, walltime) [s], > 0.
    walltime
        Requested wall time [s]; the recorded runtime where the log has none.
    killed
        Whether the recorded runtime was longer than the walltime.
    wait
        Recorded wait from :attr:`queued` to the start [s]; None if unknown.
    user, project
        Names or numbers as text; empty if unknown.
    preceding, think_time
        Number of the job on whose termination its submit depends, and the time between the two [s]; None if unknown.
    cancelled_at
        When it was withdrawn before it started [s]; None if it was not, or if such jobs are left out.
    running_since
        When it started, if it runs at the starting state that the trace was cut at [s]; else None.
    partition
        Partition or queue of the machine, as the log names it; empty if unknown.
    eligible
        When it could start for the first time, if that was after its submit [s]: until then a dependency, a begin time,
        a hold or the limit of an array kept it back. None: it was eligible at its submit, or the log does not say.
    node_list
        Names of the nodes that it ran on, as ``n[1-4,7]``; empty if unknown.
    qos
        Quality of service, as the log names it; empty if unknown.
    """

    job_id: int
    submit: float
    nodes: int
    runtime: float
    walltime: float
    killed: bool = False
    wait: float | None = None
    user: str = ""
    project: str = ""
    preceding: int | None = None
    think_time: float | None = None
    cancelled_at: float | None = None
    running_since: float | None = None
    partition: str = field(default="", compare=False)
    eligible: float | None = None
    node_list: str = field(default="", compare=False)
    qos: str = field(default="", compare=False)

    @property
    def queued(self) -> float:
        """When it enters the queue [s]: its eligible time, or its submit."""
        return self.submit if self.eligible is None else self.eligible

    @property
    def start(self) -> float | None:
        """Recorded start [s]; None if it is unknown, or the job was withdrawn before it started."""
        return None if self.wait is None or self.cancelled_at is not None else self.queued + self.wait


class Withdrawn(NamedTuple):
    """A job that never started because its user withdrew it.

    Attributes
    ----------
    place
        Before which of the jobs kept it stands in the file.
    reason
        Under which it is counted among the excluded.
    job
        The job; its runtime is not known, and set to its walltime, the most that it can be.
    tasks
        Numbers of the jobs of an array that one line of the log stands for; empty: the job alone.
    """

    place: int
    reason: str
    job: TraceJob
    tasks: tuple[range, ...] = ()

    @property
    def size(self) -> int:
        """How many jobs it stands for."""
        return sum(map(len, self.tasks)) if self.tasks else 1

    def jobs(self) -> Iterator[TraceJob]:
        """Each of them."""
        if not self.tasks:
            yield self.job
        for ids in self.tasks:
            for job_id in ids:
                yield replace(self.job, job_id=job_id)


@dataclass(frozen=True, repr=False)
class Trace:
    """A log of jobs in file order.

    Attributes
    ----------
    jobs
        The jobs kept, in file order: a tuple, or of long traces :class:`~workloads.logs.tracecolumns.TraceColumns`.
    nodes
        Size of the machine by the header, in the unit of the trace; None if it does not say.
    source
        Where it came from: a path, or the generator with its seed.
    format
        ``"swf"``, ``"alcf"``, ``"sacct"`` or ``"generated"``.
    header
        Directives of the file.
    excluded
        Jobs left out, counted by reason.
    remarks
        Oddities that were read all the same, counted by kind.
    withdrawn
        Those of the jobs left out that were withdrawn before they started
        (:func:`workloads.logs.withdrawals.keep_cancelled` takes them in).
    unit
        What sizes count, ``nodes`` or ``processors``: a log may count processors of nodes that have several.
    ended
        Of a log that was cut at a starting state: the jobs that had ended by then, for the usage of their accounts.
    """

    jobs: Sequence[TraceJob]
    nodes: int | None = None
    source: str = ""
    format: str = ""
    header: Mapping[str, str] = field(default_factory=dict)
    excluded: Mapping[str, int] = field(default_factory=dict)
    remarks: Mapping[str, int] = field(default_factory=dict)
    withdrawn: tuple[Withdrawn, ...] = ()
    unit: str = "nodes"
    ended: tuple[TraceJob, ...] = field(default=(), compare=False)

    def __repr__(self) -> str:
        machine = "a machine of unknown size" if self.nodes is None else f"{self.nodes:,} {self.unit}"
        origin = f"; {self.source}" if self.source else ""
        left_out = f"; {sum(self.excluded.values()):,} left out" if self.excluded else ""
        return f"Trace({len(self.jobs):,} jobs on {machine}{origin}{left_out})"

    def on_machine(self, nodes: int) -> Trace:
        """The trace as a machine of ``nodes`` nodes can run it: larger jobs are left out and counted.

        Raises
        ------
        ParameterError
            If ``nodes`` is not from 1 to the largest size.
        """
        if not 1 <= nodes <= LARGEST_SIZE:
            raise ParameterError("nodes", f"a number of nodes from 1 to {LARGEST_SIZE:,}", nodes)
        small = getattr(self.jobs, "up_to", None)
        kept = tuple(job for job in self.jobs if job.nodes <= nodes) if small is None else small(nodes)
        excluded, withdrawn = dict(self.excluded), self.withdrawn
        if len(kept) < len(self.jobs):
            reason = "larger than the machine"
            excluded[reason] = excluded.get(reason, 0) + len(self.jobs) - len(kept)
            if withdrawn:
                places = [0, *accumulate(job.nodes <= nodes for job in self.jobs)]
                withdrawn = tuple(item._replace(place=places[item.place]) for item in withdrawn)
        withdrawn = tuple(item for item in withdrawn if item.job.nodes <= nodes)
        return replace(self, jobs=kept, nodes=nodes, excluded=excluded, withdrawn=withdrawn)


def epoch_of(header: Mapping[str, str], first: float) -> float | None:
    """Seconds since 1970 at which the clock of a trace stands at 0; None: it is not known.

    Parameters
    ----------
    header
        Directives of a trace, perhaps with ``UnixStartTime``.
    first
        Its first submit [s].

    Examples
    --------
    >>> epoch_of({"UnixStartTime": "1546300800"}, 0.0), epoch_of({}, 1.6e9), epoch_of({}, 0.0)
    (1546300800.0, 0.0, None)
    """
    try:
        start = decimal(header.get("UnixStartTime") or "0")
    except ValueError:
        start = 0.0
    return start if _EARLIEST <= start + first < _LATEST else None
