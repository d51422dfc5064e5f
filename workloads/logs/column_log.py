"""Reader of CSV and Parquet job tables of other sites, with columns named by role: PM100, F-DATA and others."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

from holdfast.workloads.ground.errors import ParameterError, TraceError
from holdfast.workloads.ground.files import decode_text
from holdfast.workloads.ground.lines import lines_with_ends
from holdfast.workloads.ground.numbers import decimal
from holdfast.workloads.ground.text_cells import Columns, number, seconds_of_date, whole
from holdfast.workloads.logs.cleaning import BROKEN_LINE, Intake, check_procs_per_node
from holdfast.workloads.logs.column_roles import LAYOUTS, ColumnNames, Role, find_layout, parse_roles
from holdfast.workloads.logs.filters import Choice, find_columns
from holdfast.workloads.logs.sacct_values import is_local, parse_clock, parse_text, state_of_job
from holdfast.workloads.logs.trace import Trace
from holdfast.workloads.logs.work_shares import NOT_RECORDED, WorkShares, has_gpus
from holdfast.workloads.table.job_table import PARQUET_MAGIC

__all__ = ["column_names", "looks_like_layout", "parse_columns"]

_ALL = Choice()
#: Rows that are read at once.
_BLOCK = 50_000
#: What pandas writes if there is nothing, and how Slurm says in a number that there is no limit.
_NOTHING = frozenset(("nan", "nat", "<na>", "4294967294", "4294967295", "4294967295.0", "4294967294.0"))

#: Columns that hold GPUs of a job, if no role says which one does.
_GPUS = ("gpus", "num_gpus", "num_gpus_alloc", "num_gpu", "gpu_num", "gpu_count", "ngpus")


def parse_columns(
    data: bytes,
    path: str | Path,
    *,
    lenient: bool = False,
    procs_per_node: int | None = None,
    choice: Choice = _ALL,
    columns: ColumnNames | None = None,
) -> Trace:
    """Read a table of jobs from its content.

    Excluded and counted, in addition to the exclusions of :class:`~holdfast.workloads.logs.cleaning.Intake`: jobs
    without a start (never started) or an end (not ended).

    Parameters
    ----------
    data, path
        CSV or Parquet, decompressed; its name for messages.
    lenient
        Count broken rows among the excluded instead of refusing the file.
    procs_per_node
        For a table that counts processors: a job takes ceil(processors / p) nodes. None: the unit is the processor.
    choice
        Jobs that are read: conditions on any column, by its name or its role.
    columns
        Columns by role (:func:`~holdfast.workloads.logs.column_roles.parse_roles`); None: those of the
        recognised layout.

    Returns
    -------
    Trace
        In file order. Times are dates (without a zone taken as UTC) or numbers; durations are numbers or
        ``[days-]hours:minutes:seconds``. Ids that are not numbers become the numbers of the rows, from 1. Size None.

    Raises
    ------
    TraceError
        If the file cannot be read, a column is missing, a row is broken, or no job is left.
    ParameterError, UnknownNameError
        If ``columns`` is not legal, or ``procs_per_node`` or the unit does not go with them.
    """
    check_procs_per_node(procs_per_node)
    names = column_names(data, path)
    if columns is None:
        columns = find_layout(names)
        if columns is None:
            raise TraceError(path, None, f"the columns are those of neither {' nor '.join(LAYOUTS)}; name them with "
                             "--columns submit=COLUMN,...")  # fmt: skip
    try:
        record = _Record(Columns(names), columns, procs_per_node, choice)
    except ValueError as error:
        if isinstance(error, ParameterError):
            raise
        raise TraceError(path, None, str(error)) from None
    intake = Intake()
    for where, row in _rows(data, path, record.used):
        try:
            record.take(row, intake)
        except ValueError as error:
            if not lenient:
                line = where if isinstance(where, int) else None
                raise TraceError(path, line, str(error) if line else f"{where}: {error}") from None
            intake.excluded[BROKEN_LINE] += 1
    return intake.trace(path, "columns", None, record.header(choice), record.unit)


def column_names(data: bytes, path: str | Path) -> list[str]:
    """Names of the columns of a CSV or Parquet file.

    Raises
    ------
    TraceError
        If it is neither.
    """
    if data.startswith(PARQUET_MAGIC):
        from holdfast.workloads.table.parquet import parquet_blocks

        return parquet_blocks(data, path, 1)[0]
    try:
        return [name.strip().lower() for name in next(csv.reader(lines_with_ends(decode_text(data, path))), [])]
    except csv.Error as error:
        raise TraceError(path, 1, str(error)) from None


def looks_like_layout(text: str) -> bool:
    """Whether the first line of a text is the header row of a known layout."""
    return find_layout(text.partition("\n")[0].split(",")) is not None


def _rows(data: bytes, path: str | Path, used: Sequence[int]) -> Iterator[tuple[int | str, Sequence[str]]]:
    """The used cells of each row as text, with its line, or in words the row if there are no lines."""
    if data.startswith(PARQUET_MAGIC):
        from holdfast.workloads.table.parquet import parquet_blocks

        _, blocks = parquet_blocks(data, path, _BLOCK, used)
        place = 0
        for columns, _ in blocks:
            for cells in zip(*columns, strict=True):
                place += 1
                yield f"row {place:,}", cells
        return
    rows = csv.reader(lines_with_ends(decode_text(data, path)))
    width = len(next(rows, []))
    try:
        for row in rows:
            if row:
                if len(row) != width:
                    raise TraceError(path, rows.line_num, f"a row must have {width} fields like the header, "
                                     f"not {len(row)}")  # fmt: skip
                yield rows.line_num, [row[place] for place in used]
    except csv.Error as error:
        raise TraceError(path, rows.line_num, str(error)) from None


def _some(text: str) -> bool:
    """Whether a number of GPUs, or a text of Slurm's trackable resources, says that there are any."""
    try:
        return decimal(text or "0") > 0
    except ValueError:
        return has_gpus(text)


class _Record:
    """One row, by the roles of its columns."""

    def __init__(self, columns: Columns, given: ColumnNames, procs_per_node: int | None, choice: Choice) -> None:
        self.roles = parse_roles(given, columns.names)
        gpus = None if "gpus" in self.roles else columns.find(*_GPUS)
        if gpus is not None:
            self.roles["gpus"] = Role(columns.names[gpus])
        same = {name: (role.column,) for name, role in self.roles.items()}
        chosen = find_columns(choice.conditions, columns, {**same, "queue": same.get("partition", ("queue",))})
        places: dict[str, int] = {}
        for name, role in self.roles.items():
            place = columns.find(role.column)
            if place is None:
                listed = ", ".join(columns.names[:20])
                raise ValueError(f"there is no column {role.column} ({name}); the columns are {listed}")
            places[name] = place
        #: Places in the file of the columns that are read.
        self.used = sorted({*places.values(), *(place for place, _ in chosen)})
        at = {place: number for number, place in enumerate(self.used)}
        self.at = {name: at[place] for name, place in places.items()}
        self.chosen = [(at[place], condition) for place, condition in chosen]
        self.row = 0
        self.local = False
        self.shares = WorkShares()
        self._count(procs_per_node, choice)

    def _count(self, procs_per_node: int | None, choice: Choice) -> None:
        """Choose the column for the size of a job."""
        nodes, processors = "nodes" in self.at, "processors" in self.at
        if choice.unit == "processors":
            if not processors:
                raise ValueError("processors as the unit need a column of the role processors")
            if procs_per_node is not None:
                raise ParameterError("procs_per_node", "left out where processors are the unit", procs_per_node)
            nodes = False
        elif nodes and procs_per_node is not None:
            raise ParameterError("procs_per_node", "left out for a table that counts nodes", procs_per_node)
        elif choice.unit == "nodes" and not nodes and procs_per_node is None:
            raise ValueError("nodes as the unit need a column of the role nodes, or procs_per_node")
        self.size = "nodes" if nodes else "processors"
        self.per_node = procs_per_node or 1
        self.unit = "nodes" if nodes or procs_per_node is not None else "processors"

    def header(self, choice: Choice) -> dict[str, str]:
        """Header entries that describe the log as a whole."""
        entries = {"Unit": self.unit, **self.shares.header()}
        if "processors" not in self.at:
            entries[NOT_RECORDED] = "processors"
        if choice.conditions:
            entries["Where"] = choice.text
        if self.local:
            entries["Clock"] = "local"
        return entries

    def take(self, row: Sequence[str], intake: Intake) -> None:
        """Pass a row to the intake, or raise a ValueError that describes the fault."""
        self.row += 1
        for place, condition in self.chosen:
            if not condition.holds(row[place]):
                intake.pass_over(condition, row[place])
                return
        start, end = self._instant(row, "start"), self._instant(row, "end")
        runtime = self._span(row, "runtime")
        if start is None and "start" in self.at:
            intake.excluded["never started"] += 1
            return
        if runtime is None and start is not None and end is not None:
            runtime = end - start
        if runtime is None:
            intake.excluded["not ended"] += 1
            return
        submit = self._instant(row, "submit")
        wait, eligible = self._wait(row, submit, start, intake)
        nodes = -(-whole(self._text(row, self.size) or "0", f"the number of {self.size}") // self.per_node)
        state = state_of_job(self._text(row, "state"))
        kept = intake.add(
            self._id(row, intake), submit, nodes, runtime, self._span(row, "walltime") or 0.0, wait,
            self._text(row, "user"), self._text(row, "project"), state == "TIMEOUT",
            partition=self._text(row, "partition"), eligible=eligible, qos=self._text(row, "qos"),
            job_class=self._text(row, "type"),
        )  # fmt: skip
        if kept:
            self.shares.add(nodes * runtime, qos=self._text(row, "qos"), gpus=_some(self._text(row, "gpus")))
        if kept and state not in ("", "COMPLETED"):
            intake.remarks[f"state {state}"] += 1
        if kept and not self.local:
            self.local = is_local(row[self.at["submit"]])

    def _wait(
        self, row: Sequence[str], submit: float | None, start: float | None, intake: Intake
    ) -> tuple[float | None, float | None]:
        """The wait, which counts from the eligible time if that is after the submit, and the eligible time."""
        wait = self._span(row, "wait")
        if wait is None and submit is not None and start is not None:
            wait = start - submit
            if wait < 0:
                intake.remarks["started before it was submitted (wait unknown)"] += 1
        eligible = self._instant(row, "eligible")
        if eligible is None or submit is None or eligible <= submit or wait is None or wait < 0:
            return wait, eligible
        if eligible > submit + wait:
            intake.remarks["eligible after the start (the start is used)"] += 1
            eligible = submit + wait
        return wait - (eligible - submit), eligible

    def _text(self, row: Sequence[str], name: str) -> str:
        """The text of a cell; empty if there is no such column."""
        if name not in self.at:
            return ""
        text = row[self.at[name]]
        if not text[:1].isdigit():
            text = parse_text(text)
        return "" if text.lower() in _NOTHING else text

    def _instant(self, row: Sequence[str], name: str) -> float | None:
        """Seconds since 1970."""
        text = self._text(row, name)
        if not text:
            return None
        # Dates are recognised by their punctuation: most cells are dates, and raising an error is slow.
        if "-" in text[1:] and ":" in text:
            return seconds_of_date(text, name)
        try:
            return number(text, name) * self.roles[name].scale
        except ValueError:
            return seconds_of_date(text, name)

    def _span(self, row: Sequence[str], name: str) -> float | None:
        text = self._text(row, name)
        if not text:
            return None
        return parse_clock(text, name) if ":" in text else number(text, name) * self.roles[name].scale

    def _id(self, row: Sequence[str], intake: Intake) -> int:
        text = self._text(row, "id")
        try:
            return whole(text, "id")
        except ValueError:
            if text:
                intake.remarks["id is not a number (the row number is used)"] += 1
            return self.row
