"""Reader of the Standard Workload Format, version 2.2; :mod:`holdfast.workloads.logs.swf_writer` writes it.

Source: Chapin et al., "Benchmarks and standards for the evaluation of parallel job schedulers", JSSPP 1999, and the
Parallel Workloads Archive. Cleaned by :mod:`holdfast.workloads.logs.cleaning`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.workloads.ground.errors import ParameterError, TraceError
from holdfast.workloads.ground.files import blocks_of_file, plain_bytes, read_bytes
from holdfast.workloads.ground.lines import numbered_lines
from holdfast.workloads.ground.row_views import Codes
from holdfast.workloads.logs.alea import machine_beside
from holdfast.workloads.logs.cleaning import (
    BROKEN_LINE,
    NO_RUNTIME,
    Intake,
    OutOfBoundsError,
    Records,
    Tally,
    check_procs_per_node,
)
from holdfast.workloads.logs.filters import Choice, Condition
from holdfast.workloads.logs.swf_header import header_machine_size, header_sizes, read_header
from holdfast.workloads.logs.swf_records import MORE, OF_ALEA, Lines, read_lines
from holdfast.workloads.logs.swf_writer import CANCELLED, CONVERSION, write_swf
from holdfast.workloads.logs.trace import Trace
from holdfast.workloads.logs.work_shares import WorkShares

__all__ = ["EXAMPLE", "FIELDS", "looks_like_swf", "parse_swf", "read_long_swf", "read_swf", "write_swf"]

Mask = NDArray[np.bool_]

_STATUS = {0: "failed", 2: "partial record", 3: "partial record", 4: "partial record", 5: "cancelled"}
#: Fields, counted from 0, by the names that conditions have for them.
FIELDS = {"user": 11, "project": 12, "executable": 13, "queue": 14, "partition": 15, "state": 10}
#: A small log.
EXAMPLE = "; Version: 2.2\n; MaxNodes: 16\n1 0 60 3600 4 -1 -1 4 7200 -1 1 1 1 -1 1 1 -1 -1\n"
_STATES = {"failed": "0", "completed": "1", "cancelled": "5"}
_ALL = Choice()
_JOB = re.compile(r"\s*-?\d+(?:\s+[^\s,|]+){16}")


def read_swf(
    path: str | Path, *, lenient: bool = False, procs_per_node: int | None = None, choice: Choice = _ALL
) -> Trace:
    """Read a log in the Standard Workload Format.

    Parameters
    ----------
    path
        Plain or gzip.
    lenient
        Count broken lines among the excluded instead of refusing the file.
    procs_per_node
        Convert processors to nodes: the machine has MaxNodes (or MaxProcs / p) nodes, a job takes ceil(procs / p).
        None: sizes as they stand, on a machine of MaxProcs, else MaxNodes.
    choice
        Jobs that are read: conditions on user, group (or project), executable, queue, partition or status. A queue or
        partition is its number, or its name in the header. The unit ``nodes`` takes the processors of a node from
        MaxProcs and MaxNodes. Of a log of some partitions the size of the machine is not known.

    Returns
    -------
    Trace
        In file order, times in seconds on the log's own clock.

    Raises
    ------
    TraceError
        If the file cannot be read, a line is broken, or no job is left.
    ParameterError
        If ``procs_per_node`` is not positive.

    Notes
    -----
    Status is ignored, because a job that failed or was cancelled while running held its nodes all the same. The
    exception are partial records (status 2 to 4) below the summary of the same job, which would count twice. A job
    that was cancelled (status 5) and did not run is in ``withdrawn``: it waited until its user cancelled it.
    """
    return parse_swf(read_bytes(path), path, lenient=lenient, procs_per_node=procs_per_node, choice=choice)


def parse_swf(
    data: bytes | str,
    path: str | Path,
    *,
    lenient: bool = False,
    procs_per_node: int | None = None,
    choice: Choice = _ALL,
) -> Trace:
    """Read a log from its content; see :func:`read_swf`. ``path`` is for messages."""
    content = plain_bytes(data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data, path)
    return _parse_blocks(lambda: [content], path, lenient, procs_per_node, choice)


def read_long_swf(
    path: str | Path, *, lenient: bool = False, procs_per_node: int | None = None, choice: Choice = _ALL
) -> Trace:
    """Read a log of any length without holding its text in memory; see :func:`read_swf`."""
    return _parse_blocks(lambda: blocks_of_file(path), path, lenient, procs_per_node, choice)


def _parse_blocks(
    blocks: Callable[[], Iterable[bytes]], path: str | Path, lenient: bool, procs_per_node: int | None, choice: Choice
) -> Trace:
    """Parse a log from its blocks of lines, in two passes."""
    check_procs_per_node(procs_per_node)
    header, places = read_header(blocks())
    if choice.unit == "processors" and procs_per_node is not None:
        raise ParameterError("procs_per_node", "left out where processors are the unit", procs_per_node)
    if choice.unit == "nodes" and procs_per_node is None:
        procs_per_node = _each_node(header, path)
    chosen = [(FIELDS[one.kind], _by_number(one, header)) for one in _check_conditions(choice, path)]
    log = _Log(chosen, header.get("Conversion", "").startswith(CONVERSION), procs_per_node or 1, lenient)
    size, unit = header_machine_size(header, places, procs_per_node, path, log.intake if lenient else None)
    for lines in read_lines(blocks(), lenient):
        try:
            log.take(lines)
        except OutOfBoundsError as error:
            raise TraceError(path, int(lines.line[error.row]), str(error)) from None
        if lines.fault is not None:
            raise TraceError(path, *lines.fault)
    if not log.ours:
        log.tell_states()
    header.update(log.shares())
    if log.of_alea and procs_per_node is None:
        if choice.unit == "nodes":
            raise TraceError(path, None, "counts processors of nodes of several sizes: give procs_per_node")
        unit = "processors"
        beside = machine_beside(path) if size is None else None
        if beside is not None:
            size, header["MachineFile"] = beside
    if choice.unit is not None:
        unit = choice.unit
    if choice.conditions:
        header["Where"] = choice.text
        size = None if choice.asks_for("partition") else size
    return log.intake.trace(path, "swf", size, header, unit)


class _Log:
    """The parsed part of a log.

    Parameters
    ----------
    chosen
        Fields and the conditions on them.
    ours
        Whether Holdfast wrote it: a status of 0 then says that the job was stopped at its walltime.
    per_node
        Processors of a node.
    lenient
        Whether jobs that are out of bounds are counted as broken lines.
    """

    def __init__(self, chosen: Sequence[tuple[int, Condition]], ours: bool, per_node: int, lenient: bool) -> None:
        self.intake, self.ours, self.of_alea = Intake(), ours, False
        self._chosen, self._per_node, self._lenient = chosen, per_node, lenient
        self._summary = -1
        self._tally = Tally()
        self._statuses: Counter[float] = Counter()
        self._queues = Codes()
        #: Work of the jobs kept, their queues, and whether they ask for memory and for properties of nodes.
        self._kept: tuple[list[NDArray[Any]], ...] = [], [], [], []

    def take(self, lines: Lines) -> None:
        """Take some lines."""
        intake, tally = self.intake, self._tally
        tally.note(intake.remarks, "no requested processors: the allocated taken", lines.allocated)
        for fault in lines.broken:
            which = np.zeros(len(lines.line) + 1, np.bool_)
            which[fault] = True
            tally.note(intake.excluded, BROKEN_LINE, which)
        left = self._choose(lines)
        alea, more = left & (lines.further == OF_ALEA), left & (lines.further == MORE)
        self.of_alea |= bool(alea.any())
        tally.note(intake.remarks, "columns of Alea: fields 17 and 18 are no dependencies there", alea)
        tally.note(intake.remarks, "more than 18 fields: the rest not read", more)
        left &= ~self._find_partial_records(lines, left)
        places = np.flatnonzero(left)
        found = lines.select(places)
        nodes = -(-found.procs // self._per_node)
        codes = intake.codes
        stopped = found.status == 0 if self.ours else np.zeros(len(places), np.bool_)
        user, group, partition = (found.codes(field, codes) for field in (11, 12, 15))
        records = Records(
            found.job_id, found.submit, nodes, found.runtime, found.walltime, found.wait, user, group, stopped,
            found.preceding, found.think_time, partition,
        )  # fmt: skip
        before = intake.taken
        inner = Tally()
        try:
            kept = intake.take(records, inner, lenient=self._lenient)
        except OutOfBoundsError as error:
            raise OutOfBoundsError(int(places[error.row]), str(error)) from None
        tally.take(inner, places)
        tally.count()
        self._withdraw(found, records, kept, before)
        self._statuses.update(found.status[kept].tolist())
        queue = found.codes(14, self._queues)
        # The products of jobs that are left out may be too large for a number.
        work = nodes[kept] * found.runtime[kept]
        parts: Sequence[NDArray[Any]] = (work, queue[kept], found.memory[kept], found.properties[kept])
        for collected, part in zip(self._kept, parts, strict=True):
            collected.append(part)

    def _choose(self, lines: Lines) -> Mask:
        """Which lines fulfil all conditions; the others are counted under the first that they do not."""
        left = np.ones(len(lines.line), np.bool_)
        for field, condition in self._chosen:
            texts = Codes()
            codes = lines.codes(field, texts, signed=True)
            holds = np.array([condition.holds(text) for text in texts.names] or [True])
            passed = left & ~holds[codes]
            for code in dict.fromkeys(codes[passed].tolist()):
                self.intake.see_other(condition, texts.names[code])
            self._tally.note(self.intake.excluded, condition.reason, passed)
            left &= ~passed
        return left

    def _find_partial_records(self, lines: Lines, left: Mask) -> Mask:
        """Which lines are partial records of the job summarised above them."""
        places = np.flatnonzero(left)
        partial = np.isin(lines.status[places], (2, 3, 4))
        above = np.maximum.accumulate(np.where(partial, -1, np.arange(len(places))))
        ids = lines.job_id[places]
        same = partial & np.where(above < 0, ids == self._summary, ids[above] == ids)
        if len(above) and above[-1] >= 0:
            self._summary = int(ids[above[-1]])
        repeated = np.zeros(len(left), np.bool_)
        repeated[places[same]] = True
        self._tally.note(self.intake.excluded, "partial record of the job above", repeated)
        return repeated

    def _withdraw(self, found: Lines, records: Records, kept: Mask, before: int) -> None:
        """Remember the jobs that their users cancelled before they started."""
        names = self.intake.codes.names
        gone = ~kept & (found.status == CANCELLED) & ~(found.runtime > 0)
        places = before + np.cumsum(kept)
        for row in np.flatnonzero(gone).tolist():
            preceding, think = int(records.preceding[row]), float(records.think_time[row])
            self.intake.withdraw(
                NO_RUNTIME, int(records.job_id[row]), float(records.submit[row]), int(records.nodes[row]),
                float(records.walltime[row]), float(records.wait[row]), names[records.user[row]],
                names[records.project[row]], preceding or None, think if preceding and think >= 0 else None,
                place=int(places[row]),
            )  # fmt: skip

    def tell_states(self) -> None:
        """Remark what states jobs ended in."""
        for status, count in sorted(self._statuses.items()):
            if status not in (-1, 1):
                self.intake.remarks[f"status {status:g} ({_STATUS.get(int(status), 'not defined')})"] = count

    def shares(self) -> dict[str, str]:
        """Entries of the header on memory, properties of nodes and queues."""
        shares = WorkShares()
        work, queue, memory, properties = (np.concatenate(parts or [np.zeros(0)]) for parts in self._kept)
        if len(work):
            # A sum with weights adds one after the other.
            plain, with_memory = np.bincount(memory.astype(np.int64), work, 2).tolist()
            shares.add(plain)
            shares.add(with_memory, memory=True)
            shares.add_properties(float(np.bincount(properties.astype(np.int64), work, 2)[1]))
            sums = np.bincount(queue, work, len(self._queues.names)).tolist()
            # Same as numpy.unique, which would also import masked arrays.
            found = set(np.flatnonzero(np.bincount(queue)).tolist())
            queue_work = {name: sums[code] for code, name in enumerate(self._queues.names) if name and code in found}
            shares.add_queues(queue_work)
        return shares.header()


def _check_conditions(choice: Choice, path: str | Path) -> Sequence[Condition]:
    """The conditions, if all are on fields that the format has."""
    for one in choice.conditions:
        if one.kind not in FIELDS:
            names = ", ".join(sorted(FIELDS))
            raise TraceError(path, None, f"has no column {one.name} to select by: choose from {names}")
    return choice.conditions


def _by_number(condition: Condition, header: Mapping[str, str]) -> Condition:
    """The condition with the numbers for names that the header explains, or that the format has for states."""
    names = dict(_STATES) if condition.kind == "state" else {}
    if condition.kind in ("queue", "partition"):
        # "Queue: 1 express": number and name.
        for line in header.get(condition.kind.capitalize(), "").split("\n"):
            words = line.replace(":", " ").split()
            if len(words) > 1 and words[0].isdecimal():
                names[words[1].strip('",;').casefold()] = words[0]
    numbers = tuple(names[value.casefold()] for value in condition.values if value.casefold() in names)
    return condition.also(numbers)


def _each_node(header: Mapping[str, str], path: str | Path) -> int | None:
    """Processors of a node, as the size of the machine in both says; None: the log counts nodes."""
    procs, nodes = header_sizes(header)
    if not procs or procs == nodes:
        return None
    if not nodes or procs % nodes:
        raise TraceError(path, None, "does not say how many processors a node has: give procs_per_node")
    return procs // nodes


def looks_like_swf(text: str) -> bool:
    """Whether the first lines of a text are those of such a log: a header, or a job among them."""
    begun = False
    for _, line in numbered_lines(text):
        if line.strip():
            if not begun and line.startswith(";"):
                return True
            begun = True
            if _JOB.match(line):
                return True
    return False
