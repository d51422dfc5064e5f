"""Formats of an sacct export: each yields rows of cells under the names of Slurm's columns.

``sacct`` separates columns by a character (``-P``, ``-p``, ``--delimiter``), aligns them under a line of dashes (the
default), or prints ``--json``.
"""

from __future__ import annotations

import csv
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from holdfast.workloads.ground.errors import TraceError, format_value
from holdfast.workloads.ground.lines import numbered_lines
from holdfast.workloads.logs.sacct_cells import CellFit, RestOfRecordError
from holdfast.workloads.logs.slurm_json import jobs_of_document

__all__ = ["AlignedForm", "Form", "detect_form", "looks_like_sacct"]

#: Columns that the reader uses, as Slurm writes them.
_USED = (
    *("JobID", "JobIDRaw", "Submit", "Start", "End", "Elapsed", "ElapsedRaw", "Timelimit", "TimelimitRaw", "State"),
    *("User", "Account", "Partition", "QOS", "NNodes", "AllocNodes", "ReqNodes", "NCPUS", "AllocCPUS", "ReqCPUS"),
    *("NodeList", "JobName", "Eligible"),
)
_KNOWN = frozenset(name.lower() for name in _USED)
#: All columns of sacct together have two thousand.
_LONGEST_HEADER = 100_000
#: A column may cut its own name, too; shorter beginnings do not say which column it is.
_SHORTEST_NAME = 6
_DASHES = re.compile(r"-+(?: +-+)* *")
_NO_MINUTES = ("4294967294", "4294967295")
_NAME = re.compile(r"[A-Za-z0-9]+")
#: Lines over which the texts of one record go.
_MOST_LINES = 100


class Form(ABC):
    """One form of an export.

    Attributes
    ----------
    names
        Names of the columns.
    first
        Line of the header row; 0: there is none.
    """

    names: Sequence[str]
    first: int

    @abstractmethod
    def records(self) -> Iterator[tuple[int, Any]]:
        """Each record as it stands, with its line."""

    @abstractmethod
    def cells(self, record: Any) -> Sequence[str]:
        """The cells of a record; a ValueError with a sentence if it is none."""


def detect_form(text: str, path: str | Path) -> Form:
    """Detect the form of an export.

    Raises
    ------
    TraceError
        If it is none.
    """
    if text.lstrip()[:1] == "{":
        return _JsonForm(text, path)
    lines = ((line, row) for line, row in numbered_lines(text) if row and not row.isspace())
    first, header = next(lines)
    second, dashes = next(lines, (first, ""))
    if max(len(header), len(dashes)) > _LONGEST_HEADER:
        raise TraceError(path, first, f"the header row must have at most {_LONGEST_HEADER:,} characters")
    if _DASHES.fullmatch(dashes.strip()) and not set(header) & set("|,;\t"):
        return AlignedForm(text, path, first, header, second, dashes)
    return _DelimitedForm(text, first, header)


def looks_like_sacct(text: str) -> bool:
    """Whether the first characters of a text are those of such an export.

    >>> looks_like_sacct("JobID,Submit,Start"), looks_like_sacct("job_id,submit,nodes")
    (True, False)
    """
    text = text.lstrip()
    if text.startswith("{"):
        if '"jobs"' in text and ('"submission"' in text or '"association"' in text):
            return True
        # An error in place of jobs is Slurm's, too.
        return '"errors"' in text
    names = {name.lower() for name in _NAME.findall(text.partition("\n")[0])}
    return bool(names & {"jobid", "jobidraw"}) and len(names & _KNOWN) > 1


class _DelimitedForm(Form):
    """Columns between separators, with a header row."""

    def __init__(self, text: str, first: int, header: str) -> None:
        self._text, self.first, self._header = text, first, header
        between = Counter(mark for part in _NAME.split(header)[1:-1] if (mark := part.strip(' "')))
        self._mark = between.most_common(1)[0][0] if between else "|"
        # A spreadsheet puts quotes around what holds a comma. Slurm puts none, and a name may hold one.
        self._quoted = len(self._mark) == 1 and self._mark != "|"
        self.names = self._split(header)
        self._fit = CellFit(self.names, self._mark)

    def records(self) -> Iterator[tuple[int, str]]:
        """Each record with its line; lines of one record are joined again, since a text may hold line breaks."""
        # Lines that have not been yielded: one whole record, or lines that are none yet.
        held: list[tuple[int, str]] = []
        whole = True
        for line, row in numbered_lines(self._text):
            if line <= self.first or not row or row.isspace() or row == self._header:
                continue
            begins = self._is_whole(row)
            if whole and held and not begins:
                whole = not self._only_seems_whole(held[0][1])
                if whole and self._goes_on(row):
                    held = [(held[0][0], f"{held[0][1]}\n{row}")]
                    continue
            if not whole:
                begins = begins and self._fit.begins(self._split(row)[: len(self.names)])
                together = "\n".join([*(part for _, part in held), row])
                if not begins and self._is_whole(together):
                    held, whole = [(held[0][0], together)], True
                    continue
                if not begins and len(held) < _MOST_LINES:
                    held.append((line, row))
                    continue
            yield from held
            held, whole = [(line, row)], begins
        yield from held

    def _is_whole(self, record: str) -> bool:
        """Whether these are the cells of a record."""
        cells = self._split(record)
        if len(cells) == len(self.names) and "\n" not in record:
            return True
        try:
            return self._fit.fit(cells) is not None
        except ValueError:
            return "\n" not in record  # with a fault, which cells() says

    def _goes_on(self, row: str) -> bool:
        """Whether a line is the rest of a text at the end of the record above."""
        return self._fit.goes_on(self._split(row))

    def _only_seems_whole(self, record: str) -> bool:
        """Whether a record has as many cells as the header only by separators in a text that goes on in the next line.

        It is asked where the next line begins no record: to ask it of each line takes a fifth of the reading.
        """
        cells = self._split(record)
        return len(cells) == len(self.names) and not self._fit.begins(cells)

    def cells(self, record: str) -> Sequence[str]:
        cells = self._split(record)
        if len(cells) == len(self.names):
            return cells
        fitting = self._fit.fit(cells)
        if fitting is None:
            if self._fit.is_rest(cells):
                raise RestOfRecordError("a line must have a beginning: this is the rest of a text with a line break")
            raise ValueError(f"a line must have {len(self.names)} fields like the header, not {len(cells)}")
        return fitting

    def _split(self, row: str) -> list[str]:
        if self._quoted and '"' in row:
            with suppress(csv.Error):
                return next(csv.reader([row], delimiter=self._mark))
        return row.split(self._mark)


class AlignedForm(Form):
    """Columns as wide as the dashes below their names; what is longer is cut, with a ``+`` at its end."""

    def __init__(self, text: str, path: str | Path, first: int, header: str, second: int, dashes: str) -> None:
        self._text, self.first, self._second = text, first, second
        self._header, self._dashes = header, dashes
        self._spans = [match.span() for match in re.finditer("-+", dashes)]
        if len(header.rstrip()) > len(dashes.rstrip()):
            raise TraceError(path, first, "the names of the columns must stand over the line of dashes")
        self.names = [_full_name(header[begin:end].strip(), end - begin) for begin, end in self._spans]

    def records(self) -> Iterator[tuple[int, str]]:
        for line, row in numbered_lines(self._text):
            if line > self._second and row and not row.isspace() and row not in (self._header, self._dashes):
                yield line, row

    def cells(self, record: str) -> Sequence[str]:
        if record.isascii():
            cells = self._cut(record)
        else:
            # Slurm counts bytes, newer versions count characters.
            cells = self._cut(record.encode("utf-8", "surrogateescape").decode("latin-1"))
            if cells is not None:
                cells = [cell.encode("latin-1").decode("utf-8", "replace") for cell in cells]
            else:
                cells = self._cut(record)
        if cells is None:
            raise ValueError("the columns of a line must stand under the line of dashes")
        return cells

    def _cut(self, record: str) -> list[str] | None:
        """The cells, or None if one of them reaches beyond its dashes."""
        end = 0
        for begin, after in self._spans:
            if record[end:begin].strip():
                return None
            end = after
        return None if record[end:].strip() else [record[begin:end].strip() for begin, end in self._spans]


def _full_name(name: str, width: int) -> str:
    """The name of a column, also where the column is narrower than its name."""
    if len(name) < width or len(name) < _SHORTEST_NAME or name.lower() in _KNOWN:
        return name
    whole = [known for known in _USED if known.lower().startswith(name.lower())]
    return whole[0] if len(whole) == 1 else name


class _JsonForm(Form):
    """``sacct --json``: an object for each job, in a layout that differs between versions."""

    names = (
        *("JobIDRaw", "JobID", "JobName", "User", "Account", "Partition", "QOS", "State", "Submit", "Start", "End"),
        *("ElapsedRaw", "TimelimitRaw", "NNodes", "NCPUS", "ReqNodes", "ReqCPUS", "NodeList", "AllocTRES", "Eligible"),
    )
    first = 0

    def __init__(self, text: str, path: str | Path) -> None:
        self._text, self._path = text, path

    def records(self) -> Iterator[tuple[int, Any]]:
        return jobs_of_document(self._text, self._path)

    def cells(self, record: Any) -> Sequence[str]:
        if not isinstance(record, dict):
            raise ValueError(f"a job must be an object, not {format_value(record)}")
        times = _inner(record, "time")
        return (
            _cell(record, "job_id"),
            _job_name(record),
            _cell(record, "name"),
            _cell(record, "user") or _cell(_inner(record, "association"), "user"),
            _cell(record, "account"),
            _cell(record, "partition"),
            _cell(record, "qos"),
            _cell(_inner(record, "state"), "current"),
            _cell(times, "submission"),
            _cell(times, "start"),
            _cell(times, "end"),
            _cell(times, "elapsed"),
            _limit(times),
            _resource_count(record, "allocated", "node") or _cell(record, "allocation_nodes"),
            _resource_count(record, "allocated", "cpu"),
            _resource_count(record, "requested", "node"),
            _resource_count(record, "requested", "cpu") or _cell(_inner(record, "required"), "CPUs"),
            _cell(record, "nodes"),
            _generic(record),
            _cell(times, "eligible"),
        )


def _job_name(record: dict[str, Any]) -> str:
    """The id as the column JobID has it: of a task of an array, of tasks not started, of a component."""
    array, het = _inner(record, "array"), _inner(record, "het")
    whole, component = _cell(array, "job_id"), _cell(het, "job_id")
    if whole not in ("", "0"):
        task, tasks = _cell(array, "task_id"), _cell(array, "task")
        if task:
            return f"{whole}_{task}"
        if tasks:
            return f"{whole}_[{tasks.strip('[]')}]"
    if component not in ("", "0"):
        return f"{component}+{_cell(het, 'job_offset') or 0}"
    return _cell(record, "job_id")


def _inner(holder: dict[str, Any], name: str) -> dict[str, Any]:
    """An object in another one; empty if it is not there."""
    value = holder.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ValueError(f"{name} must be an object, not {format_value(value)}")
    return value


def _cell(holder: dict[str, Any], name: str) -> str:
    """A value as the column has it; newer versions say of numbers whether they are set, and give lists of states."""
    value = holder.get(name)
    if isinstance(value, dict):
        value = "UNLIMITED" if value.get("infinite") is True else value.get("number") if value.get("set") else None
    elif isinstance(value, list):
        value = value[0] if value else None
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"{name} must be a number or a text, not {format_value(value)}")
    return str(value)


def _limit(times: dict[str, Any]) -> str:
    """The walltime in minutes; Slurm's own numbers for no value and for infinity are no minutes."""
    limit = _cell(times, "limit")
    return "" if limit in _NO_MINUTES else limit


def _resource_count(record: dict[str, Any], kind: str, resource: str) -> str:
    """Amount of a resource that a job got or requested, from its trackable resources; empty if not recorded."""
    listed = _inner(record, "tres").get(kind) or []
    if not isinstance(listed, list):
        raise ValueError(f"{kind} must be a list, not {format_value(listed)}")
    for item in listed:
        if isinstance(item, dict) and item.get("type") == resource:
            return _cell(item, "count")
    return ""


def _generic(record: dict[str, Any]) -> str:
    """Generic resources that a job was given, as the column AllocTRES has them."""
    listed = _inner(record, "tres").get("allocated")
    if not isinstance(listed, list):
        return ""
    items = [item for item in listed if isinstance(item, dict) and item.get("type") == "gres"]
    return ",".join(f"gres/{_cell(item, 'name')}={_cell(item, 'count')}" for item in items)
