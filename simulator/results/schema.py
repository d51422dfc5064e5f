"""Schema: the columns of a result's tables, each defined once.

CSV files, Parquet tables and DataFrames are made by these definitions, and directories are read back by them. The
tables of metrics are in :mod:`simulator.results.metrics` and :mod:`simulator.results.reservations`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

from simulator.results.loggedruns import runs
from simulator.results.recording import Recording
from simulator.results.records import JobRecord
from workloads.ground.errors import ParameterError, shown
from workloads.ground.fields import number, whole
from workloads.ground.units import COSTS, LARGEST_TIME, SECOND, format_seconds, to_ticks
from workloads.table.job import JobType

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "DECISIONS",
    "ELIGIBLE",
    "EVENTS",
    "JOBS",
    "RESERVATIONS",
    "RUNS",
    "STUDIED_JOBS",
    "TIMELINE",
    "Field",
    "Kind",
    "Schema",
    "instant_ticks",
    "job_schema",
    "jobs_schema",
    "timeline_schema",
]

#: Whole numbers; texts; numbers; ticks, in tables seconds; times on the simulated clock, in tables on the job table's.
Kind = Literal["whole", "text", "number", "ticks", "clock"]
#: From here on [ticks] a 64-bit float of seconds no longer tells one tick from the next.
_INEXACT = 2**33 * SECOND
#: Node-seconds of the largest machine over the largest time, some times over.
_MOST = 1e24


class Field(NamedTuple):
    """A column.

    Attributes
    ----------
    name
        In the head of the table.
    kind
        Kind of its values.
    unit
        In tables; empty: none.
    source
        Where the value of a row comes from: an attribute or a place in the record, or, if it is derived from others, a
        function of the recording and the record.
    """

    name: str
    kind: Kind
    unit: str
    source: str | int | Callable[[Recording, Any], Any]

    @property
    def derived(self) -> bool:
        """Whether it follows from other columns, so that nobody need read it."""
        return callable(self.source)

    def values(self, recording: Recording, rows: Iterable[Any]) -> list[Any]:
        """The value of each row, as it stands in tables."""
        return list(map(self._getter(recording), rows))

    def _getter(self, recording: Recording) -> Callable[[Any], Any]:
        source, origin = self.source, recording.origin if self.kind == "clock" else 0
        get: Callable[[Any], Any]
        if callable(source):
            get = lambda row: source(recording, row)  # noqa: E731  # one of three
        else:
            get = attrgetter(source) if isinstance(source, str) else itemgetter(source)
        if self.kind not in ("ticks", "clock"):
            return get

        def seconds(row: Any) -> float | None:
            ticks = get(row)
            return None if ticks is None else (ticks + origin) / SECOND

        return seconds

    def parse(self, text: str, name: str) -> Any:
        """The value in a cell that is not empty; ticks exactly.

        Raises
        ------
        ValueError
            With a sentence that says what is legal and what came.
        """
        if self.kind == "whole":
            return whole(text, name)
        value = number(text, name)
        if self.kind == "number":
            return value
        if abs(value) > _MOST:
            raise ValueError(f"{name} must be a number of at most {_MOST:g}, not {shown(text)}")
        ticks = to_ticks(value)
        return ticks if -_INEXACT < ticks < _INEXACT else round(Decimal(text.strip()) * SECOND)


@dataclass(frozen=True)
class Schema:
    """The columns of a table, and what its rows are made from.

    Attributes
    ----------
    fields
        In order.
    of
        What each row is made from.
    """

    fields: tuple[Field, ...]
    of: Callable[[Recording], Sequence[Any]]

    @property
    def names(self) -> tuple[str, ...]:
        """Head of the table."""
        return tuple(item.name for item in self.fields)

    def extended(self, fields: Iterable[Field], *names: str) -> Self:
        """The same with more columns, or with only those columns, in that order."""
        known = {item.name: item for item in (*self.fields, *fields)}
        return type(self)(tuple(known[name] for name in names or known), self.of)

    def rows(self, recording: Recording) -> Iterator[dict[str, Any]]:
        """The rows of a file; ticks that no float of seconds holds are an exact text."""
        getters = [item._getter(recording) for item in self.fields]
        exact = [(item.name, item.source) for item in self.fields if item.kind == "ticks" and not item.derived]
        names = self.names
        for record in self.of(recording):
            row = dict(zip(names, [get(record) for get in getters], strict=True))
            for name, source in exact:
                value = row[name]
                if value is not None and value * SECOND >= _INEXACT:
                    row[name] = format_seconds(getattr(record, str(source)))
            yield row

    def frame(self, recording: Recording) -> pd.DataFrame:
        """All rows as a DataFrame, whose ``attrs["units"]`` tells the units of its columns."""
        import pandas as pd

        records = self.of(recording)
        values = {item.name: item.values(recording, records) for item in self.fields}
        frame = pd.DataFrame(
            {item.name: pd.Series(values[item.name], dtype=_dtype(item, values[item.name])) for item in self.fields}
        )
        frame.attrs["units"] = {item.name: item.unit for item in self.fields if item.unit}
        return frame


def _dtype(item: Field, values: Sequence[Any]) -> str:
    """What a column of a DataFrame holds; a whole number that may be missing is a float, as pandas has it."""
    if item.kind == "text":
        return "object"
    return "int64" if item.kind == "whole" and None not in values else "float64"


def _ran(record: JobRecord) -> bool:
    """Whether a job came and nobody withdrew it."""
    return record.start is not None and record.end is not None and record.status != "cancelled"


def instant_ticks(recording: Recording, instant_tolerance: float | None) -> int:
    """How late an on-demand job may start and still count as started instantly [ticks]; None: by the warning."""
    if instant_tolerance is None:
        instant_tolerance = recording.options.warning
    if not 0 <= instant_tolerance <= LARGEST_TIME:
        raise ParameterError("instant_tolerance", f"a duration {COSTS}", instant_tolerance)
    return to_ticks(instant_tolerance)


def job_schema(instant_tolerance: float | None = None) -> Schema:
    """One row a job, as in ``jobs-*.csv``; None where a value is not defined.

    Parameters
    ----------
    instant_tolerance
        How late an on-demand job may start and still count as started instantly [s]; None: the warning.
    """

    def instant(recording: Recording, record: JobRecord) -> int | None:
        if record.type is not JobType.ON_DEMAND or not _ran(record):
            return None
        return int(record.wait <= instant_ticks(recording, instant_tolerance))

    return Schema(
        (
            Field("job_id", "whole", "", "job_id"),
            Field("type", "text", "", lambda _, record: record.type.value),
            Field("submit", "ticks", "s", "submit"),
            Field("start", "ticks", "s", "start"),
            Field("end", "ticks", "s", "end"),
            Field("nodes", "whole", "nodes", "nodes"),
            Field("turnaround", "ticks", "s", lambda _, record: record.turnaround if _ran(record) else None),
            Field("wait", "ticks", "s", lambda _, record: record.wait if _ran(record) else None),
            Field("instant", "whole", "", instant),
            Field("preemptions", "whole", "", "preemptions"),
            Field("shrinks", "whole", "", "shrinks"),
            Field("status", "text", "", "status"),
            Field("lost_node_seconds", "ticks", "node-s", "lost"),
        ),
        lambda recording: recording.records,
    )


#: One row a job, with the warning as the tolerance of instant starts.
JOBS = job_schema()
#: From when on a job waits. Tables of jobs have this column where any job became eligible after its submit.
ELIGIBLE = Field("eligible", "ticks", "s", "queued")


def jobs_schema(recording: Recording, schema: Schema = JOBS) -> Schema:
    """A table of jobs, with :data:`ELIGIBLE` after the submits where any job of the recording was held."""
    if not recording.held:
        return schema
    after = schema.names.index("submit") + 1
    return schema.extended((ELIGIBLE,), *schema.names[:after], ELIGIBLE.name, *schema.names[after:])


def _of_job(name: str) -> Callable[[Recording, JobRecord], Any]:
    """What a column of the job table holds for the job of a record."""
    return lambda recording, record: getattr(recording.job[record.job_id], name)


def _slowdown(recording: Recording, record: JobRecord) -> float | None:
    return record.turnaround / record.runtime if _ran(record) and record.runtime else None


def _bounded(recording: Recording, record: JobRecord) -> float | None:
    return record.bounded_slowdown if _ran(record) else None


#: One row a job with all that a study needs: what was asked for, by whom, and what became of it.
STUDIED_JOBS = JOBS.extended(
    (
        Field("user", "text", "", _of_job("user")),
        Field("project", "text", "", _of_job("project")),
        Field("partition", "text", "", _of_job("partition")),
        Field("application", "text", "", _of_job("application")),
        Field("min_nodes", "whole", "nodes", _of_job("min_nodes")),
        Field("runtime", "ticks", "s", "runtime"),
        Field("walltime", "ticks", "s", lambda recording, record: recording.walltime(recording.job[record.job_id])),
        Field("slowdown", "number", "", _slowdown),
        Field("bounded_slowdown", "number", "", _bounded),
    ),
    *("job_id", "type", "user", "project", "partition", "application", "submit", "start", "end", "nodes"),
    *(
        "min_nodes",
        "runtime",
        "walltime",
        "wait",
        "turnaround",
        "slowdown",
        "bounded_slowdown",
        "instant",
        "preemptions",
        "shrinks",
        "status",
    ),
    "lost_node_seconds",
)

#: One row a run, made from a :class:`~simulator.results.loggedruns.LoggedRun`.
RUNS = Schema(
    (
        Field("job_id", "whole", "", "job_id"),
        Field("number", "whole", "", "number"),
        Field("start", "clock", "s", "start"),
        Field("end", "clock", "s", "end"),
        Field("nodes", "whole", "nodes", "nodes"),
        Field("node_seconds", "ticks", "node-s", "node_ticks"),
        Field("warned", "clock", "s", "warned"),
        Field("cause", "text", "", "cause"),
        Field("ending", "text", "", "ending"),
    ),
    lambda recording: sorted(runs(recording), key=lambda run: (run.start, run.job_id)),
)

#: The event log.
EVENTS = Schema(
    (
        Field("time", "clock", "s", "time"),
        Field("event", "text", "", "event"),
        Field("job_id", "whole", "", "job_id"),
        Field("before", "whole", "nodes", "before"),
        Field("after", "whole", "nodes", "after"),
        Field("cause", "text", "", "cause"),
    ),
    lambda recording: recording.entries,
)

#: The machine over time: a row for each instant, valid until the next; its record is a sample and the nodes down then.
TIMELINE = Schema(
    (
        Field("time", "clock", "s", 0),
        Field("busy", "whole", "nodes", 1),
        Field("held", "whole", "nodes", 2),
        Field("idle", "whole", "nodes", lambda recording, sample: recording.nodes - sample[1] - sample[2] - sample[5]),
        Field("waiting_jobs", "whole", "", 3),
        Field("waiting_nodes", "whole", "nodes", 4),
    ),
    lambda recording: [
        (*sample, down) for sample, down in zip(recording.samples, recording.down_at_samples(), strict=True)
    ],
)

#: What was decided beside the event log.
DECISIONS = Schema(
    (
        Field("time", "clock", "s", "time"),
        Field("decision", "text", "", "decision"),
        Field("job_id", "whole", "", "job_id"),
        Field("other", "whole", "", "other"),
        Field("count", "whole", "nodes", "nodes"),
        Field("at", "clock", "s", "at"),
        Field("loss_node_seconds", "ticks", "node-s", "loss"),
        Field("why", "text", "", "why"),
    ),
    lambda recording: recording.decisions or (),
)

#: The reservations of stochastic jobs, job by job. The time of each went into ``restart``, ``work`` and ``checkpoint``;
#: ``milestone`` is the work that the plan expected at its end, ``saved`` the work behind the last good checkpoint then.
RESERVATIONS = Schema(
    (
        Field("job_id", "whole", "", "job_id"),
        Field("application", "text", "", lambda recording, item: recording.job[item.job_id].application),
        Field("number", "whole", "", "number"),
        Field("submit", "ticks", "s", "submit"),
        Field("start", "ticks", "s", "start"),
        Field("end", "ticks", "s", "end"),
        Field("nodes", "whole", "nodes", "nodes"),
        Field("length", "ticks", "s", "length"),
        Field("restart", "ticks", "s", "restart"),
        Field("work", "ticks", "s", "work"),
        Field("checkpoint", "ticks", "s", "checkpoint"),
        Field("milestone", "ticks", "s", "milestone"),
        Field("saved", "ticks", "s", "saved"),
        Field("ending", "text", "", "ending"),
        Field("memory_gb", "number", "GB", "memory"),
    ),
    lambda recording: recording.reservation_records,
)


def timeline_schema(recording: Recording) -> Schema:
    """:data:`TIMELINE`, with the nodes that were down where any were."""
    return TIMELINE.extended([Field("down", "whole", "nodes", 5)] if recording.had_down() else [])
