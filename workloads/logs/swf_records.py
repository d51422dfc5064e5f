"""Records of the Standard Workload Format as columns, parsed by a compiled loop, and line by line where that stops."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields

import numpy as np
from numpy.typing import NDArray

from holdfast.workloads.ground.errors import format_value
from holdfast.workloads.ground.object_code import object_code
from holdfast.workloads.ground.row_views import Codes
from holdfast.workloads.ground.text_cells import number, whole
from holdfast.workloads.logs.alea import parse_further
from holdfast.workloads.logs.swf_loop import FIELDS as _WIDTH
from holdfast.workloads.logs.swf_loop import KINDS
from holdfast.workloads.logs.swf_loop import read_lines as read_plain_lines

__all__ = ["MORE", "OF_ALEA", "Lines", "read_lines"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

#: What stands after the 18 fields of a line: columns of Alea, or others.
OF_ALEA, MORE = 1, 2
#: The last field, think time, is missing in some logs; what comes after it is not read.
_LEAST_FIELDS, _FIELDS = 17, 18
#: Lines that are read at a time.
_ROWS = 1 << 14
#: Bytes from which loading the loop takes less time than reading line by line; and compiling it in each process.
_LOAD_FROM, _COMPILE_FROM = 1 << 18, 1 << 25
_NAMES = (
    *("job number", "submit time", "wait time", "run time", "allocated processors", "average CPU time"),
    *("used memory", "requested processors", "requested time", "requested memory", "status", "user", "group"),
    *("executable", "queue", "partition", "preceding job", "think time"),
)
_MICRO = 1e6
#: The loop reads fewer digits.
_LARGEST_STATUS = 10**12


@dataclass
class Lines:
    """Some jobs of a log, as columns of shape (n,).

    Attributes
    ----------
    job_id, procs, preceding, line
        Job number; requested processors, else the allocated; preceding job, 0 for none; number of the line.
    submit, wait, runtime, walltime, think_time
        [s]; unknown are negative.
    status
        As it stands.
    allocated
        Whether the allocated processors were taken, since there is no request.
    memory, properties
        Whether memory is requested, and nodes with properties.
    further
        0, :data:`OF_ALEA` or :data:`MORE`.
    numbers
        User, group, executable, queue and partition, shape (n, 5); status, shape (n,).
    cells
        The fields as they stand, of the rows that are not whole numbers.
    broken
        Rows before which there is a broken line.
    fault
        The number of the line after these that is broken, and what is wrong with it.
    """

    job_id: Ints
    procs: Ints
    preceding: Ints
    line: Ints
    submit: Floats
    wait: Floats
    runtime: Floats
    walltime: Floats
    think_time: Floats
    status: Floats
    allocated: Mask
    memory: Mask
    properties: Mask
    further: Ints
    numbers: Ints
    cells: dict[int, Sequence[str]]
    broken: list[int] = field(default_factory=list)
    fault: tuple[int, str] | None = None

    def select(self, rows: Ints) -> Lines:
        """Some of them, in their order."""
        if len(rows) == len(self.line):
            return self
        new = {int(row): place for place, row in enumerate(rows.tolist()) if row in self.cells} if self.cells else {}
        columns = {item.name: getattr(self, item.name)[rows] for item in fields(self) if item.name not in _APART}
        return Lines(**columns, cells={place: self.cells[row] for row, place in new.items()})

    def codes(self, place: int, codes: Codes, *, signed: bool = False) -> NDArray[np.int32]:
        """A field as codes of its texts; unless ``signed``, a negative number is an empty text."""
        values = self.numbers[:, place - 11]
        if place == 10:
            # A status beyond is not a whole number of 9 digits, so that its text is among the cells.
            values = np.clip(self.status, -_LARGEST_STATUS, _LARGEST_STATUS).astype(np.int64)
        if signed:
            found, places = np.unique(values, return_inverse=True)
            coded = np.array([codes.code(str(value)) for value in found.tolist()] or [0], np.int32)[places]
        else:
            coded = codes.of_numbers(values)
        for row, cells in self.cells.items():
            text = cells[place]
            coded[row] = codes.code(text if signed or not _is_negative(text, place) else "")
        return coded


_APART = ("cells", "broken", "fault")


def _is_negative(text: str, place: int) -> bool:
    return text.startswith("-") if place == 14 else float(text) < 0


def read_lines(blocks: Iterable[bytes], lenient: bool) -> Iterator[Lines]:
    """The jobs of a log.

    Parameters
    ----------
    blocks
        Whole lines in UTF-8, which end with ``\\n``.
    lenient
        Whether broken lines are counted; else the lines up to the first are the last, and name its fault.
    """
    table, state = np.zeros(_ROWS * _WIDTH, np.int64), np.zeros(3, np.int64)
    line = 1
    for text in blocks:
        data = np.frombuffer(text, np.uint8)
        loop = _loop(len(text))
        begin = 0
        while begin < len(text):
            lines = _Block(table, lenient)
            begin, line = lines.read(text, data, begin, line, loop, state)
            found = lines.columns()
            yield found
            if found.fault is not None:
                return


def _loop(length: int) -> Callable[..., None] | None:
    """The compiled loop, if ``length`` bytes justify loading it."""
    if length < _LOAD_FROM:
        return None
    return object_code(read_plain_lines, KINDS, compiles=length >= _COMPILE_FROM)


class _Block:
    """Lines while they are read."""

    def __init__(self, table: Ints, lenient: bool) -> None:
        self._table, self._lenient = table, lenient
        self._count = 0
        self._exact: dict[int, tuple[tuple[float, ...], list[str]]] = {}
        self._broken: list[int] = []
        self._fault: tuple[int, str] | None = None

    def read(
        self, text: bytes, data: NDArray[np.uint8], begin: int, line: int, loop: Callable[..., None] | None, state: Ints
    ) -> tuple[int, int]:
        """Read from a place on, until the block is full; the place and the line after it."""
        while begin < len(text) and self._count < _ROWS and self._fault is None:
            if loop is not None:
                rest = self._table[self._count * _WIDTH :]
                loop(data, begin, len(text), line, rest, _ROWS - self._count, state)
                count, begin, line = state.tolist()
                self._count += count
                if begin >= len(text) or self._count == _ROWS:
                    break
            end = text.find(b"\n", begin)
            end = len(text) if end < 0 else end
            self._take(text[begin:end].decode("utf-8", "surrogateescape"), line)
            begin, line = end + 1, line + 1
        return begin, line

    def _take(self, text: str, line: int) -> None:
        """Read one line, whatever it is."""
        cells = text.split(None, _FIELDS)
        if not cells or cells[0].startswith(";"):
            return
        try:
            values = _values(cells, text)
        except ValueError as error:
            if self._lenient:
                self._broken.append(self._count)
            else:
                self._fault = line, str(error)
            return
        self._exact[self._count] = values, cells
        row = self._count * _WIDTH
        self._table[row : row + _WIDTH] = 0
        self._table[row + _WIDTH - 1] = line
        self._count += 1

    def columns(self) -> Lines:
        """What has been read, and none of it is needed any longer."""
        table = self._table[: self._count * _WIDTH].reshape(-1, _WIDTH)
        asked, given = table[:, 7], table[:, 4]
        without, preceding = asked <= 0, np.maximum(table[:, 16], 0)
        found = Lines(
            job_id=table[:, 0].copy(), procs=np.where(without, given, asked), preceding=preceding,
            line=table[:, 18].copy(), submit=table[:, 1] / _MICRO, wait=table[:, 2] / _MICRO,
            runtime=table[:, 3] / _MICRO, walltime=table[:, 8] / _MICRO,
            think_time=np.where(preceding > 0, table[:, 17] / _MICRO, -1.0),
            status=table[:, 10].astype(np.float64), allocated=without & (given > 0), memory=table[:, 9] > 0,
            properties=np.zeros(self._count, np.bool_), further=np.zeros(self._count, np.int64),
            numbers=table[:, 11:16].copy(), cells={}, broken=self._broken, fault=self._fault,
        )  # fmt: skip
        if self._exact:
            rows = list(self._exact)
            columns = zip(*(values for values, _ in self._exact.values()), strict=True)
            for name, values in zip(_EXACT, columns, strict=True):
                column = getattr(found, name)
                column[rows] = np.array(values, column.dtype)
            found.cells = {row: cells for row, (_, cells) in self._exact.items()}
        return found


#: The columns that :func:`_values` gives, in its order.
_EXACT = (
    *("job_id", "procs", "allocated", "submit", "wait", "runtime", "walltime", "status", "preceding", "think_time"),
    *("memory", "properties", "further"),
)


def _values(cells: list[str], text: str) -> tuple[float, ...]:
    """Parse the values of a line, with the queue of Alea if there is one, or raise a ValueError."""
    _check(cells, text)
    job_id = whole(cells[0], "field 1 (job number)")
    procs, taken = whole(cells[7], "a number of processors"), False
    if procs <= 0:
        procs = whole(cells[4], "a number of processors")
        taken = procs > 0
    further = parse_further(cells[_FIELDS]) if len(cells) > _FIELDS else None
    if further is not None and further.queue:
        cells[14] = further.queue
    preceding, think = 0, -1.0
    if further is None and cells[16] != "-1":
        preceding, think = _before(cells)
    after = 0 if len(cells) <= _FIELDS else MORE if further is None else OF_ALEA
    return (
        job_id, procs, taken, float(cells[1]), float(cells[2]), float(cells[3]), float(cells[8]), float(cells[10]),
        preceding, think, cells[9][0] not in "-0", further is not None and further.properties, after,
    )  # fmt: skip


def _check(cells: Sequence[str], text: str) -> None:
    """Raise the ValueError of the first field that is none."""
    if len(cells) < _LEAST_FIELDS:
        raise ValueError(f"a job must have 17 or more fields, not {len(cells)}: {format_value(text.strip())}")
    # All of a line at once, and one by one only to find the fault.
    try:
        sound = math.isfinite(sum(map(float, cells[:_FIELDS]))) and "_" not in text
    except ValueError:
        sound = False
    if not sound:
        for place, (cell, name) in enumerate(zip(cells, _NAMES, strict=False), start=1):
            number(cell, f"field {place} ({name})")


def _before(cells: Sequence[str]) -> tuple[int, float]:
    """Preceding job and think time, fields 17 and 18; jobs are counted from 1."""
    job = float(cells[16])
    if job < 1 or not job.is_integer():
        return 0, -1.0
    think = float(cells[17]) if len(cells) >= _FIELDS else -1.0
    return whole(cells[16], "field 17 (preceding job)"), think
