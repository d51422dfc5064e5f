"""The Standard Workload Format, version 2.2: reading and writing.

Source: Chapin et al., "Benchmarks and standards for the evaluation of parallel job schedulers", JSSPP 1999, and the
Parallel Workloads Archive. Read as formats.md, "SWF 2.2", and cleaned by rule 1 of easy-backfilling.md.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from workloads.errors import TraceError
from workloads.fields import number, shown, whole
from workloads.files import read_text
from workloads.intake import BROKEN_LINE, NO_RUNTIME, Intake, check_procs_per_node
from workloads.swflines import CONVERSION, SwfJob, number_names, write_lines
from workloads.trace import Trace
from workloads.units import to_ticks

__all__ = ["looks_like_swf", "parse_swf", "read_swf", "write_swf"]

#: The last field, think time, is missing in some logs; what comes after it is nobody's.
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
_CANCELLED = 5
#: Preceding job and think time of a job that depends on nobody.
_NOBODY = (None, None)
_DIRECTIVE = re.compile(r";\s{0,4}([A-Za-z]\w*)\s*:(?!//)\s*(.*)")
_JOB = re.compile(r"\s*-?\d+(?:\s+[^\s,|]+){16}")
_NUMBER = re.compile(r"\d+")
#: Directives that stay true when a log is cleaned or cut.
_CARRIED = (
    *("Computer", "Installation", "Acknowledge", "Information", "Preemption"),
    *("UnixStartTime", "TimeZone", "TimeZoneString"),
)


def read_swf(path: str | Path, *, lenient: bool = False, procs_per_node: int | None = None) -> Trace:
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
    return parse_swf(read_text(path), path, lenient=lenient, procs_per_node=procs_per_node)


def parse_swf(text: str, path: str | Path, *, lenient: bool = False, procs_per_node: int | None = None) -> Trace:
    """Read a log from its text; see :func:`read_swf`. ``path`` is for messages."""
    check_procs_per_node(procs_per_node)
    lines = _lines(text)
    header = _header(lines)
    ours = header.get("Conversion", "").startswith(CONVERSION)
    per_node = procs_per_node or 1
    intake = Intake()
    add, excluded, remarks = intake.add, intake.excluded, intake.remarks
    # Sizes, limits and states repeat; a look-up costs a fifth of a conversion.
    sizes, limits, names = _Sizes(), _Limits(), _Names()
    statuses: Counter[float] = Counter()
    plain = _only_plain_numbers(lines)
    summary = -1
    for index, line in enumerate(lines):
        fields = line.split()
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
        except ValueError as error:
            if not lenient:
                raise TraceError(path, index + 1, _fault(fields, line, error)) from None
            excluded[BROKEN_LINE] += 1
            continue
        if len(fields) > _FIELDS:
            remarks["more than 18 fields: the rest not read"] += 1
        if status in (2, 3, 4):
            if job_id == summary:
                excluded["partial record of the job above"] += 1
                continue
        else:
            summary = job_id
        nodes = -(-procs // per_node)
        stopped = ours and status == 0
        # Almost nobody depends on anybody.
        before = _NOBODY if fields[16] == "-1" else _before(fields)
        if (
            add(job_id, submit, nodes, runtime, walltime, wait, user, group, stopped)
            if before is _NOBODY
            else add(job_id, submit, nodes, runtime, walltime, wait, user, group, stopped, *before)
        ):
            statuses[status] += 1
        elif status == _CANCELLED and not runtime > 0:
            intake.withdraw(NO_RUNTIME, job_id, submit, nodes, walltime, wait, user, group, *before)
    if not ours:
        for status, count in sorted(statuses.items()):
            if status not in (-1, 1):
                remarks[f"status {status:g} ({_STATUS.get(int(status), 'not defined')})"] = count
    return intake.trace(path, "swf", _machine(header, procs_per_node), header)


def looks_like_swf(text: str) -> bool:
    """Whether the first lines of a text are those of such a log: a header, or a job among them."""
    lines = list(filter(str.strip, _lines(text)))
    return bool(lines) and (lines[0].startswith(";") or any(map(_JOB.match, lines)))


def write_swf(trace: Trace, path: str | Path, *, note: str = "") -> None:
    """Write a trace in the Standard Workload Format.

    What :func:`read_swf` makes of the file is equal in ``jobs`` and ``nodes``, where users and projects are numbers.
    Other names are numbered in the order of their first appearance. Nothing in the file depends on when or where it is
    written.

    Parameters
    ----------
    trace
        Sizes are written as requested and as allocated processors; status is 0 for a job killed at its walltime, 5
        for one withdrawn before it started, else 1.
    path
        Compressed if the name ends in ``.gz``.
    note
        A sentence for the header.

    Raises
    ------
    OutputError
        If it cannot be written.
    """
    users, users_renamed = number_names([job.user for job in trace.jobs])
    groups, groups_renamed = number_names([job.project for job in trace.jobs])
    notes = [note] if note else []
    notes.append(f"written by {CONVERSION}; status 0 = killed at the requested time, the run time is cut there")
    for what, renamed in (("users", users_renamed), ("groups (projects)", groups_renamed)):
        if renamed:
            notes.append(f"{what} are numbered in the order of their first appearance")
    notes += [f"left out: {count} jobs, {reason}" for reason, count in trace.excluded.items()]
    before = trace.header.get("Conversion", CONVERSION)
    if not before.startswith(CONVERSION):
        notes.append(f"converted before by {before}")
    lines = [
        SwfJob(
            job_id=job.job_id,
            submit=to_ticks(job.submit),
            wait=None if job.wait is None else to_ticks(job.wait),
            runtime=to_ticks(job.runtime) if job.cancelled_at is None else 0,
            allocated=job.nodes,
            requested=job.nodes,
            walltime=to_ticks(job.walltime),
            status=_CANCELLED if job.cancelled_at is not None else 0 if job.killed else 1,
            user=user,
            group=group,
            preceding=job.preceding,
            think_time=None if job.think_time is None else to_ticks(job.think_time),
        )
        for job, user, group in zip(trace.jobs, users, groups, strict=True)
    ]
    write_lines(path, _directives(trace, notes), lines)


def _lines(text: str) -> list[str]:
    # Not splitlines(): that also breaks at form feeds, and the line numbers would not be the editor's.
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n") if "\r" in text else text.split("\n")


def _header(lines: Sequence[str]) -> dict[str, str]:
    """Directives by name; repeated ones and their continuation lines are joined by newlines."""
    header: dict[str, str] = {}
    key = ""
    for line in lines:
        if not line.startswith(";"):
            continue
        match = _DIRECTIVE.match(line)
        if match:
            key, value = match[1], match[2].strip()
        else:
            value = line[1:].strip()
            if not value or not line[1:].startswith(("  ", "\t")):
                key = ""
        if key:
            header[key] = f"{header[key]}\n{value}" if key in header else value
    return header


def _machine(header: Mapping[str, str], procs_per_node: int | None) -> int | None:
    """Size of the machine (easy-backfilling.md, last paragraph); None where the header does not say."""

    def size(name: str) -> int:
        # Some headers explain themselves: "MaxProcs: 1152 (144 nodes of 8)".
        match = _NUMBER.match(header.get(name, "").lstrip())
        return int(match[0]) if match else 0

    if procs_per_node is None:
        return size("MaxProcs") or size("MaxNodes") or None
    return size("MaxNodes") or math.ceil(size("MaxProcs") / procs_per_node) or None


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

    This one look at the whole file replaces a conversion of each of the many fields that nobody reads: without
    letters there is no nan, no inf, no 1e999 and no word, and in a short line no number beyond the largest float.
    The lines of any other file are checked field by field.
    """
    if max(map(len, lines)) > _LONG:
        return False
    jobs = "\n".join([line for line in lines if not line.startswith(";")])
    return not jobs.encode().translate(None, b"0123456789.- \t\r\n")


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


def _directives(trace: Trace, notes: Sequence[str]) -> list[tuple[str, str]]:
    known = {key: trace.header[key] for key in _CARRIED if key in trace.header}
    sizes = [("MaxNodes", str(trace.nodes)), ("MaxProcs", str(trace.nodes))] if trace.nodes else []
    return [
        ("Version", "2.2"),
        *((key, value) for key, value in known.items() if key != "UnixStartTime"),
        ("Conversion", CONVERSION),
        ("MaxJobs", str(len(trace.jobs))),
        ("MaxRecords", str(len(trace.jobs))),
        ("UnixStartTime", known.get("UnixStartTime", "0")),
        *sizes,
        *(("Note", text) for text in notes),
    ]
