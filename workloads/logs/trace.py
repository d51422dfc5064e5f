"""The trace: the jobs of a log before job types are assigned.

All readers of logs and the generator produce a :class:`Trace`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.ground.numbers import decimal
from holdfast.workloads.ground.row_views import Rows
from holdfast.workloads.ground.units import LARGEST_SIZE
from holdfast.workloads.ground.wording import count_text

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Trace", "TraceJob", "TraceJobs", "Withdrawn", "place_withdrawn_jobs", "trace_epoch"]

#: No machine was older: an earlier date says that the clock of a trace does not begin in 1970 [s].
_EARLIEST = 315_532_800
#: The year 10,000, which no calendar of a program has [s].
_LATEST = 253_402_300_800


@dataclass(frozen=True, slots=True)
class TraceJob:
    """One job of a log, cleaned by :class:`~holdfast.workloads.logs.cleaning.Intake`.

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
        Number of the job that must terminate before its submit, and the time between the two [s]; None if unknown.
    cancelled_at
        When it was cancelled before it started [s]; None if it was not, or if such jobs are left out.
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
    job_class
        What the column of the types holds (:mod:`holdfast.workloads.hybrid.recorded_types`); empty if there is none.
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
    job_class: str = field(default="", compare=False)

    @property
    def queued(self) -> float:
        """When it enters the queue [s]: its eligible time, or its submit."""
        return self.submit if self.eligible is None else self.eligible

    @property
    def start(self) -> float | None:
        """Recorded start [s]; None if it is unknown, or the job was cancelled before it started."""
        return None if self.wait is None or self.cancelled_at is not None else self.queued + self.wait


class TraceJobs(Rows[TraceJob]):
    """The jobs of a trace."""

    row = TraceJob
    kinds: ClassVar[Mapping[str, Any]] = {
        **dict.fromkeys(TraceJob.__dataclass_fields__, "time"),
        **{"job_id": "whole", "nodes": "whole", "preceding": "number", "killed": "flag"},
        **dict.fromkeys(("user", "project", "partition", "node_list", "qos", "job_class"), "text"),
    }

    @property
    def queued(self) -> NDArray[np.float64]:
        """When each enters the queue [s], shape (n,)."""
        submit, eligible = self.column("submit"), self.columns.get("eligible")
        return submit if eligible is None else np.where(np.isnan(eligible), submit, eligible)

    @property
    def starts(self) -> NDArray[np.float64]:
        """Recorded start of each [s], NaN if it is unknown or the job was cancelled before it started, shape (n,)."""
        starts: NDArray[np.float64] = self.queued + self.column("wait")
        cancelled = self.columns.get("cancelled_at")
        return starts if cancelled is None else np.where(np.isnan(cancelled), starts, np.nan)


class Withdrawn(NamedTuple):
    """A job that never started because its user cancelled it.

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
        """Number of jobs that it represents."""
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
        The jobs kept, in file order. Any sequence of jobs may be given.
    nodes
        Size of the machine by the header, in the unit of the trace; None if it does not say.
    source
        Where it came from: a path, or the generator with its seed.
    format
        Name of the format (:data:`holdfast.workloads.logs.readers.READERS`), or ``"generated"``.
    header
        Directives of the file.
    excluded
        Jobs left out, counted by reason.
    remarks
        Oddities that were read all the same, counted by kind.
    withdrawn
        Those of the jobs left out that were cancelled before they started
        (:func:`holdfast.workloads.logs.cancellations.keep_cancelled_jobs` takes them in).
    unit
        What sizes count, ``nodes`` or ``processors``: a log may count processors of nodes that have several.
    ended
        Of a log that was cut at a starting state: the jobs that had ended by then, for the usage of their accounts.
    """

    jobs: TraceJobs
    nodes: int | None = None
    source: str = ""
    format: str = ""
    header: Mapping[str, str] = field(default_factory=dict)
    excluded: Mapping[str, int] = field(default_factory=dict)
    remarks: Mapping[str, int] = field(default_factory=dict)
    withdrawn: tuple[Withdrawn, ...] = ()
    unit: str = "nodes"
    ended: tuple[TraceJob, ...] = field(default=(), compare=False)

    if TYPE_CHECKING:

        def __init__(
            self,
            jobs: Sequence[TraceJob],
            nodes: int | None = None,
            source: str = "",
            format: str = "",
            header: Mapping[str, str] = ...,
            excluded: Mapping[str, int] = ...,
            remarks: Mapping[str, int] = ...,
            withdrawn: tuple[Withdrawn, ...] = (),
            unit: str = "nodes",
            ended: tuple[TraceJob, ...] = (),
        ) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "jobs", TraceJobs.of(self.jobs))

    def __repr__(self) -> str:
        machine = "a machine of unknown size" if self.nodes is None else count_text(self.nodes, self.unit)
        origin = f"; {self.source}" if self.source else ""
        left_out = f"; {sum(self.excluded.values()):,} left out" if self.excluded else ""
        return f"Trace({count_text(len(self.jobs), 'jobs')} on {machine}{origin}{left_out})"

    @property
    def frame(self) -> pd.DataFrame:
        """The jobs as a table, one row for each: the fields of :class:`TraceJob` that the log records [s, nodes].

        :func:`holdfast.simulate` takes it, after any change to its rows, as it takes the trace. Dependencies are left
        out: a table with them would be simulated with them, and a trace is not. Each access makes a new table.
        """
        import pandas as pd

        jobs = self.jobs
        needed = ("job_id", "submit", "nodes", "runtime", "walltime")
        known = {}
        for name, kind in jobs.kinds.items():
            if name in ("preceding", "think_time"):
                continue
            values: Any = jobs.texts(name) if kind == "text" else jobs.column(name)
            if name in needed or (any(values) if kind == "text" else np.nan_to_num(values).any()):
                known[name] = values
        return pd.DataFrame(known)

    def on_machine(self, nodes: int) -> Trace:
        """The trace as a machine of ``nodes`` nodes can run it: larger jobs are left out and counted.

        Raises
        ------
        ParameterError
            If ``nodes`` is not from 1 to the largest size.
        """
        if not 1 <= nodes <= LARGEST_SIZE:
            raise ParameterError("nodes", f"a number of nodes from 1 to {LARGEST_SIZE:,}", nodes)
        small = self.jobs.column("nodes") <= nodes
        kept, excluded, withdrawn = self.jobs, dict(self.excluded), self.withdrawn
        if not small.all():
            kept = kept.select(small)
            reason = "larger than the machine"
            excluded[reason] = excluded.get(reason, 0) + len(self.jobs) - len(kept)
            withdrawn = place_withdrawn_jobs(withdrawn, small)
        withdrawn = tuple(item for item in withdrawn if item.job.nodes <= nodes)
        return replace(self, jobs=kept, nodes=nodes, excluded=excluded, withdrawn=withdrawn)


def place_withdrawn_jobs(withdrawn: Iterable[Withdrawn], kept: NDArray[np.bool_]) -> tuple[Withdrawn, ...]:
    """Withdrawn jobs in their places among those of the jobs that are kept."""
    places = np.concatenate(([0], np.cumsum(kept)))
    return tuple(item._replace(place=int(places[item.place])) for item in withdrawn)


def trace_epoch(header: Mapping[str, str], first: float) -> float | None:
    """Seconds since 1970 at which the clock of a trace stands at 0; None: it is not known.

    Parameters
    ----------
    header
        Directives of a trace, perhaps with ``UnixStartTime``.
    first
        Its first submit [s].

    Examples
    --------
    >>> trace_epoch({"UnixStartTime": "1546300800"}, 0.0), trace_epoch({}, 1.6e9), trace_epoch({}, 0.0)
    (1546300800.0, 0.0, None)
    """
    try:
        start = decimal(header.get("UnixStartTime") or "0")
    except ValueError:
        start = 0.0
    return start if _EARLIEST <= start + first < _LATEST else None
