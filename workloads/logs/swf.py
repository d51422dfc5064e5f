"""The Standard Workload Format, version 2.2: reading; it is written by :mod:`workloads.logs.swflines`.

Source: Chapin et al., "Benchmarks and standards for the evaluation of parallel job schedulers", JSSPP 1999, and the
Parallel Workloads Archive. Cleaned by :mod:`workloads.logs.intake`.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from workloads.ground.errors import ParameterError, TraceError, shown
from workloads.ground.fields import number, whole
from workloads.ground.files import read_text
from workloads.ground.lines import blocks_of_lines, numbered_lines
from workloads.ground.longfiles import blocks_of_file, comments_of_file
from workloads.logs.alea import further_of, machine_beside
from workloads.logs.choice import Choice, Condition
from workloads.logs.intake import BROKEN_LINE, NO_RUNTIME, Intake, check_procs_per_node
from workloads.logs.swfheader import machine_of, read_header, sizes_of
from workloads.logs.swflines import CANCELLED, CONVERSION, write_swf
from workloads.logs.trace import Trace
from workloads.logs.workshares import WorkShares

__all__ = ["looks_like_swf", "parse_swf", "read_long_swf", "read_swf", "write_swf"]

#: The last field, think time, is missing in some logs; what comes after it is not read.
_LEAST_FIELDS, _FIELDS = 17, 18
#: A line of 18 numbers is shorter than this, and so is the largest float.
_LONG = 300
_NAMES = (
    "job number",
    "submit time",
    "wait time",
    "run time",
    "allocated processors",
    "average CPU time",
    "used memory",
    "requested processors",
    "requested time",
    "requested memory",
    "status",
    "user",
    "group",
    "executable",
    "queue",
    "partition",
    "preceding job",
    "think time",
)
_STATUS = {0: "failed", 2: "partial record", 3: "partial record", 4: "partial record", 5: "cancelled"}
#: Fields to select by.
_FIELD_OF = {"user": 11, "project": 12, "executable": 13, "queue": 14, "partition": 15, "state": 10}
_STATES = {"failed": "0", "completed": "1", "cancelled": "5"}
_ALL = Choice()
#: Preceding job and think time of a job without a dependency.
_NOBODY = (None, None)
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
    Status is not looked at: a job that failed or was cancelled while it ran held its nodes all the same. The one
    exception are partial records (status 2 to 4) of a job whose summary stands above them; they would count twice.
    A job that was cancelled (status 5) and did not run is among ``withdrawn``: it waited, and then its user gave up.
    """
    return parse_swf(read_text(path), path, lenient=lenient, procs_per_node=procs_per_node, choice=choice)


def parse_swf(
    text: str,
    path: str | Path,
    *,
    lenient: bool = False,
    procs_per_node: int | None = None,
    choice: Choice = _ALL,
) -> Trace:
    """Read a log from its text; see :func:`read_swf`. ``path`` is for messages."""
    check_procs_per_node(procs_per_node)
    blocks = blocks_of_lines(text)
    return _parsed(read_header(text), blocks, path, Intake(), lenient, procs_per_node, choice)


def read_long_swf(
    path: str | Path, *, lenient: bool = False, procs_per_node: int | None = None, choice: Choice = _ALL
) -> Trace:
    """Read a log of any length, whose text is never in memory as a whole; see :func:`read_swf`.

    Returns
    -------
    Trace
        Its jobs are :class:`~workloads.logs.tracecolumns.TraceColumns`: they have no recorded waits and no
        dependencies. ``withdrawn`` is empty.
    """
    # Other logs are read without numpy.
    from workloads.logs.longintake import LongIntake

    check_procs_per_node(procs_per_node)
    header = read_header(comments_of_file(path))
    return _parsed(header, blocks_of_file(path), path, LongIntake(), lenient, procs_per_node, choice)


def _parsed(
    told: tuple[dict[str, str], dict[str, int]],
    blocks: Iterable[tuple[int, list[str]]],
    path: str | Path,
    intake: Intake,
    lenient: bool,
    procs_per_node: int | None,
    choice: Choice,
) -> Trace:
    """A log from its header and its lines."""
    header, places = told
    if choice.unit == "processors" and procs_per_node is not None:
        raise ParameterError("procs_per_node", "left out where processors are the unit", procs_per_node)
    if choice.unit == "nodes" and procs_per_node is None:
        procs_per_node = _each_node(header, path)
    chosen = [(_FIELD_OF[one.kind], _by_number(one, header)) for one in _known(choice, path)]
    ours = header.get("Conversion", "").startswith(CONVERSION)
    per_node = procs_per_node or 1
    machine = machine_of(header, places, procs_per_node, path, intake if lenient else None)
    add, excluded, remarks = intake.add, intake.excluded, intake.remarks
    # Sizes, limits and states repeat; a look-up costs a fifth of a conversion.
    sizes, limits, names = _Sizes(), _Limits(), _Names()
    statuses: Counter[float] = Counter()
    plain_work = memory_work = property_work = 0.0
    queues: dict[str, float] = defaultdict(float)
    summary = -1
    of_alea = False
    for first, lines in blocks:
        plain = _only_plain_numbers(lines)
        for index, line in enumerate(lines, first):
            fields = line.split(None, _FIELDS)
            if not fields or fields[0].startswith(";"):
                continue
            try:
                if not plain or len(fields) < _LEAST_FIELDS:
                    _check(fields, line)
                job_id = whole(fields[0], "field 1 (job number)")
                submit, wait, runtime = float(fields[1]), float(fields[2]), float(fields[3])
                procs, walltime, status = sizes[fields[7]], limits[fields[8]], limits[fields[10]]
                user, group = names[fields[11]], names[fields[12]]
                if procs <= 0:
                    procs = sizes[fields[4]]
                    if procs > 0:
                        remarks["no requested processors: the allocated taken"] += 1
                further = further_of(fields[_FIELDS]) if len(fields) > _FIELDS else None
                if further is not None and further.queue:
                    fields[14] = further.queue
                if chosen and _passed_over(fields, chosen, intake):
                    continue
                # Almost no job depends on another.
                before = _NOBODY if fields[16] == "-1" else _before(fields)
                if len(fields) > _FIELDS:
                    if further is not None:
                        before, of_alea = _NOBODY, True
                        remarks["columns of Alea: fields 17 and 18 are no dependencies there"] += 1
                    else:
                        remarks["more than 18 fields: the rest not read"] += 1
                if status in (2, 3, 4):
                    if job_id == summary:
                        excluded["partial record of the job above"] += 1
                        continue
                else:
                    summary = job_id
                nodes = -(-procs // per_node)
                stopped = ours and status == 0
                partition = names[fields[15]]
                if (
                    add(job_id, submit, nodes, runtime, walltime, wait, user, group, stopped, partition=partition)
                    if before is _NOBODY
                    else add(job_id, submit, nodes, runtime, walltime, wait, user, group, stopped, *before, partition)
                ):
                    statuses[status] += 1
                    queues[fields[14]] += nodes * runtime
                    if further is not None and further.properties:
                        property_work += nodes * runtime
                    # By requested memory; -1 and 0: none is known.
                    if fields[9][0] in "-0":
                        plain_work += nodes * runtime
                    else:
                        memory_work += nodes * runtime
                elif status == CANCELLED and not runtime > 0:
                    intake.withdraw(NO_RUNTIME, job_id, submit, nodes, walltime, wait, user, group, *before)
            except ValueError as error:
                if not lenient:
                    raise TraceError(path, index, _fault(fields, line, error)) from None
                excluded[BROKEN_LINE] += 1
    if not ours:
        for status, count in sorted(statuses.items()):
            if status not in (-1, 1):
                remarks[f"status {status:g} ({_STATUS.get(int(status), 'not defined')})"] = count
    shares = WorkShares()
    shares.add(plain_work)
    shares.add(memory_work, memory=True)
    shares.add_properties(property_work)
    shares.add_queues({name: work for name, work in queues.items() if not name.startswith("-")})
    header.update(shares.header())
    size, unit = machine
    if of_alea and procs_per_node is None:
        if choice.unit == "nodes":
            raise TraceError(path, None, "counts processors of nodes of several sizes: give procs_per_node")
        unit = "processors"
        beside = machine_beside(path) if size is None else None
        if beside is not None:
            size, header["MachineFile"] = beside
    if choice.unit is not None:
        unit = choice.unit
    if choice.conditions:
        header["Where"] = choice.told
        size = None if choice.asks_for("partition") else size
    return intake.trace(path, "swf", size, header, unit)


def _known(choice: Choice, path: str | Path) -> Sequence[Condition]:
    """The conditions, if all are on fields that the format has."""
    for one in choice.conditions:
        if one.kind not in _FIELD_OF:
            names = ", ".join(sorted(_FIELD_OF))
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


def _passed_over(fields: Sequence[str], chosen: Sequence[tuple[int, Condition]], intake: Intake) -> bool:
    """Whether a job does not fulfil a condition; it is counted then."""
    for place, condition in chosen:
        if not condition.holds(fields[place]):
            intake.pass_over(condition, fields[place])
            return True
    return False


def _each_node(header: Mapping[str, str], path: str | Path) -> int | None:
    """Processors of a node, as the size of the machine in both says; None: the log counts nodes."""
    procs, nodes = sizes_of(header)
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


class _Sizes(dict[str, int]):
    """Numbers of processors by their text."""

    def __missing__(self, text: str) -> int:
        self[text] = value = whole(text, "a number of processors")
        return value


class _Limits(dict[str, float]):
    """Numbers by their text."""

    def __missing__(self, text: str) -> float:
        self[text] = value = float(text)
        return value


class _Names(dict[str, str]):
    """Users and groups by their text, empty for the -1 of an unknown one; equal names share one string."""

    def __missing__(self, text: str) -> str:
        self[text] = name = "" if float(text) < 0 else text
        return name


def _only_plain_numbers(lines: Sequence[str]) -> bool:
    """Whether the job lines are made of digits, dots and minus signs alone.

    This one look at many lines replaces a conversion of each of the many fields that are not read: without
    letters there is no nan, no inf, no 1e999 and no word, and in a short line no number beyond the largest float.
    Any other lines are checked field by field.
    """
    if len(max(lines, key=len)) > _LONG:
        return False
    jobs = "\n".join([line for line in lines if not line.startswith(";")])
    # A long log comes as it is read, with bytes that are no text as surrogates.
    return not jobs.encode("utf-8", "surrogateescape").translate(None, b"0123456789.- \t\r\n")


def _check(fields: Sequence[str], line: str) -> None:
    """Raise the ValueError of the first field that is none."""
    if len(fields) < _LEAST_FIELDS:
        raise ValueError(f"a job must have 17 or more fields, not {len(fields)}: {shown(line.strip())}")
    # All of a line at once, and one by one only to find the fault.
    try:
        sound = math.isfinite(sum(map(float, fields[:_FIELDS]))) and "_" not in line
    except ValueError:
        sound = False
    if not sound:
        for place, (text, name) in enumerate(zip(fields, _NAMES, strict=False), start=1):
            number(text, f"field {place} ({name})")


def _before(fields: Sequence[str]) -> tuple[int | None, float | None]:
    """Preceding job and think time, fields 17 and 18; jobs are counted from 1."""
    job = float(fields[16])
    if job < 1 or not job.is_integer():
        return _NOBODY
    think = float(fields[17]) if len(fields) >= _FIELDS else -1.0
    return whole(fields[16], "field 17 (preceding job)"), think if think >= 0 else None


def _fault(fields: Sequence[str], line: str, error: ValueError) -> str:
    """What is wrong with a line that raised this error; with the field named, if it is one that is no number."""
    try:
        _check(fields, line)
    except ValueError as named:
        return str(named)
    return str(error)
