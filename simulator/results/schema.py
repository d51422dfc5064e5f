"""Schemas of the result tables: each column is declared once.

CSV files, Parquet tables and DataFrames are written by these definitions, and directories are read back by them. The
tables of metrics are in :mod:`holdfast.simulator.results.metrics` and :mod:`holdfast.simulator.results.reservations`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np

from holdfast.simulator.results.recording import (
    Recording,
    all_reservations,
    down_at_samples,
    has_down_nodes,
    requested_walltimes,
)
from holdfast.simulator.results.records import ABSENT, SLOWDOWN_BOUND, STATUSES, TYPES, Records, Samples, whole_column
from holdfast.simulator.results.run_table import runs
from holdfast.workloads.ground.errors import ParameterError, format_value
from holdfast.workloads.ground.text_cells import number, whole
from holdfast.workloads.ground.ticks import in_ticks
from holdfast.workloads.ground.units import COSTS, LARGEST_TIME, SECOND, format_seconds, to_ticks
from holdfast.workloads.table.job import JobType
from holdfast.workloads.table.jobs import Jobs

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "DECISIONS",
    "ELIGIBLE",
    "EVENTS",
    "JOBS",
    "LARGEST_SECONDS",
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
    "optional",
    "timeline_schema",
]

#: Kinds of values: integers; texts; numbers; ticks (in tables: seconds); times on the simulated clock (in tables: on
#: the job table's clock).
Kind = Literal["whole", "text", "number", "ticks", "clock"]
#: Below this [ticks], a 64-bit float represents every integer.
_EXACT = 2**53
#: Number formats that :meth:`Field.parse_column` tries in turn.
_USUAL = re.compile("[0-9.-]*", re.ASCII)
#: Values that the indices in columns of records refer to.
_NAMES = {"type": np.array([kind.value for kind in TYPES], object), "status": np.array(STATUSES, object)}
#: From here on [ticks], adjacent ticks are the same 64-bit float of seconds.
_INEXACT = 2**33 * SECOND
#: The largest time of a result [s]: a multiple of the node-seconds of the largest machine over the longest time.
LARGEST_SECONDS = 1e24


class Field(NamedTuple):
    """A column.

    Attributes
    ----------
    name
        Name in the header of the table.
    kind
        Kind of its values.
    unit
        Unit in tables; empty: none.
    source
        Source of the column: a name or an index in the rows or, if it is derived from others, a function of the
        recording and the rows.
    """

    name: str
    kind: Kind
    unit: str
    source: str | int | Callable[[Recording, Any], Any]

    @property
    def derived(self) -> bool:
        """Whether it is derived from other columns, so that readers can skip it."""
        return callable(self.source)

    def column(self, recording: Recording, rows: Any) -> Any:
        """The column for some rows, shape (rows,).

        Returns
        -------
        numpy.ndarray or list
            Integers and ticks as from :func:`~holdfast.simulator.results.records.whole_column`; texts and numbers as a
            list, with None.
        """
        source: Any = self.source
        if callable(source):
            values = source(recording, rows)
        elif isinstance(rows, Records | Samples):
            values = rows.column(source)
            names = _NAMES.get(source)
            if names is not None:
                values = names[values].tolist()
        else:
            values = list(map(attrgetter(source), rows))
        if self.kind in ("text", "number"):
            return values.tolist() if isinstance(values, np.ndarray) else values
        if not isinstance(values, np.ndarray):
            return whole_column(values)
        # A job id may be the smallest 64-bit integer.
        if self.name == "job_id" and len(values) and values.dtype != object and values.min() == ABSENT:
            return values.astype(object)
        return values

    def values(self, recording: Recording, rows: Any) -> Any:
        """The column as in tables, with times in seconds; missing values are None, or NaN among floats."""
        column = self.column(recording, rows)
        if self.kind in ("text", "number"):
            return column
        absent = column == (None if column.dtype == object else ABSENT)
        if self.kind == "whole":
            return column if not absent.any() else [None if value is None else int(value) for value in optional(column)]
        origin = recording.origin if self.kind == "clock" else 0
        if column.dtype == object or (len(column) and _largest(column[~absent]) + abs(origin) >= _EXACT):
            # Divided exactly, as Python does.
            return np.array([
                np.nan if value is None else (value + origin) / SECOND for value in optional(column)
            ])  # fmt: skip
        seconds = (column + origin if origin else column) / SECOND
        if absent.any():
            seconds[absent] = np.nan
        return seconds

    def cells(self, recording: Recording, rows: Any) -> tuple[str, list[Any] | None]:
        """The cells of the column in a file, not quoted: a printf format, and its values.

        Without values, all cells are equal. Filling a line of formats takes two thirds of the time of formatting and
        joining cells. Ticks that a float of seconds cannot represent are written as exact decimals.
        """
        column = self.column(recording, rows)
        if self.kind in ("text", "number"):
            return "%s", ["" if value is None or value != value else str(value) for value in column]
        if column.dtype != object and len(column) and bool((column == column[0]).all()):
            return self._text(optional(column[:1])[0], recording).replace("%", "%%"), None
        missing = column == (None if column.dtype == object else ABSENT)
        if not missing.any():
            if self.kind == "whole":
                return "%d", column.tolist()
            if column.dtype != object and _largest(column) + abs(recording.origin) < _INEXACT // 2:
                ticks = column + recording.origin if self.kind == "clock" else column
                seconds, rest = np.divmod(ticks, SECOND)
                return ("%s", (ticks / SECOND).tolist()) if rest.any() else ("%d.0", seconds.tolist())
        return "%s", [self._text(value, recording) for value in optional(column)]

    def _text(self, value: int | None, recording: Recording) -> str:
        """A cell with an integer or ticks."""
        if value is None:
            return ""
        if self.kind == "whole":
            return str(value)
        seconds = (value + (recording.origin if self.kind == "clock" else 0)) / SECOND
        exact = self.kind == "ticks" and not self.derived and seconds * SECOND >= _INEXACT
        return format_seconds(value) if exact else repr(seconds)

    def parse_column(self, cells: Sequence[str]) -> Any:
        """Parse all cells at once, if they are written as usual; an empty cell is None.

        Returns values as :meth:`column`, or None if any cell is unusual: then :meth:`parse` checks cell by cell.
        """
        if self.kind == "text":
            return list(cells)
        known = [cell for cell in cells if cell] if "" in cells else cells
        if self.kind == "number" or not _USUAL.fullmatch("".join(known)):
            return None
        try:
            if self.kind == "whole":
                found = np.array(list(map(int, known)), np.int64)
            else:
                seconds = np.array(list(map(float, known)))
                if float(np.abs(seconds).max(initial=0)) >= _INEXACT // SECOND:
                    return None
                found = in_ticks(seconds)
        except (ValueError, OverflowError):
            return None
        if len(known) == len(cells):
            return found
        column = np.full(len(cells), ABSENT)
        column[np.array([bool(cell) for cell in cells])] = found
        return column

    def parse(self, text: str, name: str) -> Any:
        """Parse a non-empty cell; ticks exactly.

        Raises
        ------
        ValueError
            With a sentence on the legal values and the one found.
        """
        if self.kind == "whole":
            return whole(text, name)
        value = number(text, name)
        if self.kind == "number":
            return value
        if abs(value) > LARGEST_SECONDS:
            raise ValueError(f"{name} must be a number of at most {LARGEST_SECONDS:g}, not {format_value(text)}")
        ticks = to_ticks(value)
        if -_INEXACT < ticks < _INEXACT:
            return ticks
        from decimal import Decimal

        return round(Decimal(text.strip()) * SECOND)


@dataclass(frozen=True)
class Schema:
    """The columns of a table, and the source of its rows.

    Attributes
    ----------
    fields
        In order.
    of
        Source of the rows.
    """

    fields: tuple[Field, ...]
    of: Callable[[Recording], Sequence[Any]]

    @property
    def names(self) -> tuple[str, ...]:
        """Header of the table."""
        return tuple(item.name for item in self.fields)

    def extend(self, fields: Iterable[Field], *names: str) -> Self:
        """A schema with additional columns, restricted to ``names`` in their order if given."""
        known = {item.name: item for item in (*self.fields, *fields)}
        return type(self)(tuple(known[name] for name in names or known), self.of)

    def rows(self, recording: Recording) -> Iterator[dict[str, Any]]:
        """Iterate over the rows."""
        rows = self.of(recording)
        columns = [item.values(recording, rows) for item in self.fields]
        lists = [column.tolist() if isinstance(column, np.ndarray) else column for column in columns]
        names = self.names
        for values in zip(*lists, strict=True):
            yield {
                name: None if type(value) is float and value != value else value
                for name, value in zip(names, values, strict=True)
            }

    def frame(self, recording: Recording) -> pd.DataFrame:
        """All rows as a DataFrame; ``attrs["units"]`` holds the units of its columns."""
        import pandas as pd

        rows = self.of(recording)
        values = {item.name: item.values(recording, rows) for item in self.fields}
        frame = pd.DataFrame(
            {item.name: pd.Series(values[item.name], dtype=_dtype(item, values[item.name])) for item in self.fields}
        )
        frame.attrs["units"] = {item.name: item.unit for item in self.fields if item.unit}
        return frame


def _largest(column: Any) -> int:
    """The largest absolute value in a 64-bit column."""
    return max(int(column.max()), -int(column.min())) if len(column) else 0


def optional(column: Any) -> list[int | None]:
    """Python integers, with None for ``ABSENT``."""
    values = column.tolist()
    return values if column.dtype == object else [None if value == ABSENT else value for value in values]


def _dtype(item: Field, values: Any) -> str:
    """Type of a column of a DataFrame; integers that may be missing are floats, as in pandas."""
    if item.kind == "text":
        return "object"
    return "int64" if item.kind == "whole" and isinstance(values, np.ndarray) else "float64"


def _where(there: Any, values: Any) -> Any:
    """Values, with None where there is none."""
    return np.where(there, values, ABSENT)


def instant_ticks(recording: Recording, instant_tolerance: float | None) -> int:
    """Delay up to which a start of an on-demand job counts as instant [ticks]; None: the warning."""
    if instant_tolerance is None:
        instant_tolerance = recording.options.warning
    if not 0 <= instant_tolerance <= LARGEST_TIME:
        raise ParameterError("instant_tolerance", f"a duration {COSTS}", instant_tolerance)
    return to_ticks(instant_tolerance)


def job_schema(instant_tolerance: float | None = None) -> Schema:
    """Schema with one row per job, as in ``jobs-*.csv``; undefined values are None.

    Parameters
    ----------
    instant_tolerance
        Delay up to which a start of an on-demand job counts as instant [s]; None: the warning.
    """

    def instant(recording: Recording, records: Records) -> Any:
        started = records.wait <= instant_ticks(recording, instant_tolerance)
        return _where(records.ran & records.are(JobType.ON_DEMAND), started)

    return Schema(
        (
            Field("job_id", "whole", "", "job_id"),
            Field("type", "text", "", lambda _, records: _NAMES["type"][records.column("type")]),
            Field("submit", "ticks", "s", "submit"),
            Field("start", "ticks", "s", "start"),
            Field("end", "ticks", "s", "end"),
            Field("nodes", "whole", "nodes", "nodes"),
            Field("turnaround", "ticks", "s", lambda _, records: _where(records.ran, records.turnaround)),
            Field("wait", "ticks", "s", lambda _, records: _where(records.ran, records.wait)),
            Field("instant", "whole", "", instant),
            Field("preemptions", "whole", "", "preemptions"),
            Field("shrinks", "whole", "", "shrinks"),
            Field("status", "text", "", "status"),
            Field("lost_node_seconds", "ticks", "node-s", "lost"),
        ),
        lambda recording: recording.records,
    )


#: One row per job, with the warning as the tolerance of instant starts.
JOBS = job_schema()
#: Time from which a job waits. Tables of jobs have this column if any job became eligible after its submit.
ELIGIBLE = Field("eligible", "ticks", "s", "queued")


def jobs_schema(recording: Recording, schema: Schema = JOBS) -> Schema:
    """Schema of a table of jobs, with :data:`ELIGIBLE` after the submits if any job of the recording was held."""
    if not recording.records.held:
        return schema
    after = schema.names.index("submit") + 1
    return schema.extend((ELIGIBLE,), *schema.names[:after], ELIGIBLE.name, *schema.names[after:])


def _of_job(name: str) -> Callable[[Recording, Records], Any]:
    """A column of the job table, which has the same order as the records."""

    def values(recording: Recording, _: Records) -> list[Any]:
        jobs = Jobs.of(recording.table)
        return jobs.texts(name) if jobs.kinds[name] == "text" else jobs.column(name).tolist()

    return values


def _slowdown(_: Recording, records: Records) -> list[float | None]:
    runtimes = records.column("runtime")
    return _ratios(records, runtimes, records.ran & (runtimes > 0))


def _bounded_slowdown(_: Recording, records: Records) -> list[float | None]:
    ratios = _ratios(records, np.maximum(records.column("runtime"), SLOWDOWN_BOUND), records.ran)
    return [None if ratio is None else max(1.0, ratio) for ratio in ratios]


def _ratios(records: Records, lengths: Any, there: Any) -> list[float | None]:
    """Turnaround over a length, divided as Python divides integers."""
    rows = zip(records.turnaround.tolist(), lengths.tolist(), there.tolist(), strict=True)
    return [turnaround / length if has else None for turnaround, length, has in rows]


#: One row per job with all that a study needs: request, user and outcome.
STUDIED_JOBS = JOBS.extend(
    (
        Field("user", "text", "", _of_job("user")),
        Field("project", "text", "", _of_job("project")),
        Field("partition", "text", "", _of_job("partition")),
        Field("application", "text", "", _of_job("application")),
        Field("min_nodes", "whole", "nodes", _of_job("min_nodes")),
        Field("runtime", "ticks", "s", "runtime"),
        Field("walltime", "ticks", "s", lambda recording, _: requested_walltimes(recording)),
        Field("slowdown", "number", "", _slowdown),
        Field("bounded_slowdown", "number", "", _bounded_slowdown),
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

#: One row per run, made from a :class:`~holdfast.simulator.results.run_table.LoggedRun`.
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


def _idle(recording: Recording, samples: Samples) -> Any:
    return recording.nodes - samples.column(1) - samples.column(2) - down_at_samples(recording)


#: State of the machine over time: one row per instant, valid until the next.
TIMELINE = Schema(
    (
        Field("time", "clock", "s", 0),
        Field("busy", "whole", "nodes", 1),
        Field("held", "whole", "nodes", 2),
        Field("idle", "whole", "nodes", _idle),
        Field("waiting_jobs", "whole", "", 3),
        Field("waiting_nodes", "whole", "nodes", 4),
    ),
    lambda recording: recording.samples,
)

#: Recorded decisions.
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


def _applications(recording: Recording, items: Sequence[Any]) -> list[str]:
    return [recording.job[item.job_id].application for item in items]


#: The reservations of stochastic jobs, job by job. ``restart``, ``work`` and ``checkpoint`` divide the time of each;
#: ``milestone`` is the work that the plan expected at its end, ``saved`` the work secured by a checkpoint then.
RESERVATIONS = Schema(
    (
        Field("job_id", "whole", "", "job_id"),
        Field("application", "text", "", _applications),
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
    lambda recording: all_reservations(recording),
)


def timeline_schema(recording: Recording) -> Schema:
    """:data:`TIMELINE`, with the nodes that were down if there were any."""
    down = Field("down", "whole", "nodes", lambda recording, _: down_at_samples(recording))
    return TIMELINE.extend([down] if has_down_nodes(recording) else [])
