"""Logs of Slurm, as ``sacct --parsable2`` exports them.

``SLURM_TIME_FORMAT=%s sacct -a -X -P -o JobIDRaw,User,Account,Partition,State,Submit,Start,End,ElapsedRaw,
TimelimitRaw,NNodes,NCPUS``; docs/guides/sacct.md says how the columns are read. They
are found by name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from workloads.ground.errors import ParameterError, TraceError, shown
from workloads.ground.fields import Columns, number, seconds_of_date, whole
from workloads.ground.files import read_text
from workloads.ground.lines import numbered_lines
from workloads.logs.intake import BROKEN_LINE, Intake, check_procs_per_node
from workloads.logs.trace import Trace

__all__ = ["looks_like_sacct", "parse_sacct", "read_sacct"]

#: What Slurm writes where it has no value.
_MISSING = frozenset({"", "unknown", "none", "n/a", "(null)", "invalid", "partition_limit", "unlimited", "infinite"})
_NEVER_STARTED = "never started"
_NOT_ENDED = frozenset({"RUNNING", "SUSPENDED", "RESIZING", "COMPLETING", "CONFIGURING", "STOPPED", "SIGNALING"})
_JOB_ID = re.compile(r"(\d{1,10})(?:([_+])(\d{1,10}))?")
#: What stands for the tasks of an array that were not started, as 123_[1-20,40-60:2%4].
_TASKS = re.compile(r"(\d{1,10})_\[([\d,:-]*)(,?\.\.\.)?(?:%\d+)?\]")
_TASK = re.compile(r"(\d{1,10})(?:-(\d{1,10}))?(?::(\d{1,10}))?")
#: The largest number of a job, or a component, and Slurm's largest number of a task.
_LARGEST_ID, _LARGEST_TASK = (1 << 31) - 1, 4_000_000
_CLOCK = re.compile(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+(?:\.\d+)?)")
#: Slurm shortens large counts unless --noconvert is given.
_SCALES = {"K": 1024, "M": 1024**2}


def read_sacct(path: str | Path, *, lenient: bool = False, procs_per_node: int | None = None) -> Trace:
    """Read a ``|``-separated sacct export with a header row.

    Left out and counted, besides what :class:`~workloads.logs.intake.Intake` leaves out: job steps, jobs that never
    started, jobs that had not ended. A task of an array, ``123_4``, gets the id 123 x 2^32 + 4; a component of a
    heterogeneous job, ``123+1``, gets 123 x 2^32 + 2^31 + 1. A job that was cancelled in the queue has no start, or its
    start is its end. One line ``123_[1-20]`` stands for the 20 tasks of an array that never started, and is counted so.

    Parameters
    ----------
    path
        Plain or gzip.
    lenient
        Count broken lines among the excluded instead of refusing the file.
    procs_per_node
        For an export without NNodes: a job takes ceil(NCPUS / p) nodes. None: the unit is the processor.

    Returns
    -------
    Trace
        In file order; times in seconds since 1970, ISO times without a zone taken as UTC; TimelimitRaw is in minutes.
        Size None.

    Raises
    ------
    TraceError
        If the file cannot be read, a column is missing, a line is broken, or no job is left.
    ParameterError
        If ``procs_per_node`` is not positive, or given for an export that counts nodes.
    """
    return parse_sacct(read_text(path), path, lenient=lenient, procs_per_node=procs_per_node)


def parse_sacct(text: str, path: str | Path, *, lenient: bool = False, procs_per_node: int | None = None) -> Trace:
    """Read an export from its text; see :func:`read_sacct`. ``path`` is for messages."""
    check_procs_per_node(procs_per_node)
    lines = ((place, line) for place, line in numbered_lines(text) if line and not line.isspace())
    first, names = next(lines)
    try:
        record = _SacctRecord(Columns(names.split("|")), procs_per_node)
    except ParameterError:
        raise
    except ValueError as error:
        raise TraceError(path, first, str(error)) from None
    intake = Intake()
    for place, line in lines:
        try:
            record.take(line.split("|"), intake)
        except ValueError as error:
            if not lenient:
                raise TraceError(path, place, str(error)) from None
            intake.excluded[BROKEN_LINE] += 1
    return intake.trace(path, "sacct", None, {"Unit": record.unit}, record.unit)


def looks_like_sacct(text: str) -> bool:
    """Whether the first line of a text is the header row of such an export."""
    names = text.lstrip().partition("\n")[0].lower().split("|")
    return len(names) > 1 and "submit" in names and bool({"jobid", "jobidraw"} & set(names))


class _SacctRecord:
    """One line of the export, by the names in its header."""

    def __init__(self, columns: Columns, procs_per_node: int | None) -> None:
        self.width = len(columns.names)
        self.job_id = columns.need("JobIDRaw", "JobID")
        self.task_ids = columns.find("JobID")
        self.submit = columns.need("Submit")
        self.start = columns.need("Start")
        self.end = columns.find("End")
        self.elapsed = columns.find("ElapsedRaw")
        self.clock = columns.find("Elapsed")
        columns.need("ElapsedRaw", "Elapsed", "End")
        self.minutes = columns.find("TimelimitRaw")
        self.limit = columns.find("Timelimit")
        self.state = columns.find("State")
        self.user = columns.find("User")
        self.project = columns.find("Account")
        counted = columns.find("NNodes", "AllocNodes", "ReqNodes")
        if counted is not None and procs_per_node is not None:
            raise ParameterError(
                "procs_per_node", "left out for an export with the column NNodes, which counts nodes", procs_per_node
            )
        self.asked = columns.find("ReqNodes") if counted is not None else columns.find("ReqCPUS")
        self.size = columns.need("NNodes", "NCPUS", "AllocCPUS", "ReqCPUS") if counted is None else counted
        self.per_node = procs_per_node or 1
        self.unit = "nodes" if counted is not None or procs_per_node is not None else "processors"

    def take(self, row: Sequence[str], intake: Intake) -> None:
        """Hand a line to the intake, or raise the ValueError of what is wrong with it."""
        if len(row) != self.width:
            raise ValueError(f"a line must have {self.width} fields like the header, not {len(row)}")
        ids = row[self.job_id if self.task_ids is None else self.task_ids].strip()
        array = _TASKS.fullmatch(ids)
        if array is None and "." in row[self.job_id]:
            intake.excluded["job step"] += 1
            return
        state = "" if self.state is None else row[self.state].strip().upper()
        state = state.split()[0].rstrip("+") if state else ""  # "CANCELLED by 1000"
        start = _time(row[self.start], "Start")
        end = start if self.end is None else _time(row[self.end], "End")
        if start is None or state == "PENDING" or (state == "CANCELLED" and self._never_ran(row, start, end)):
            tasks = () if array is None else _tasks(array)
            intake.excluded[_NEVER_STARTED] += sum(map(len, tasks)) or 1
            if array is not None and (array[3] or not tasks):
                intake.remarks["array of jobs not named in full: those named counted, or one"] += 1
            if state == "CANCELLED":
                # A line that is left out anyway may be wrong.
                with suppress(ValueError):
                    self._withdraw(row, intake, tasks)
            return
        if state in _NOT_ENDED or end is None:
            intake.excluded["not ended"] += 1
            return
        job_id = _job_id(row[self.job_id].strip())
        nodes = -(-_count(row[self.size], "the size") // self.per_node)
        submit = _time(row[self.submit], "Submit")
        walltime = self._walltime(row)
        user, project = self._owners(row)
        wait = None if submit is None else start - submit
        runtime = self._runtime(row, end - start)
        kept = intake.add(job_id, submit, nodes, runtime, walltime, wait, user, project, state == "TIMEOUT")
        if kept and state not in ("", "COMPLETED"):
            intake.remarks[f"state {state}"] += 1

    def _never_ran(self, row: Sequence[str], start: float, end: float | None) -> bool:
        """Whether a job that was cancelled in the queue: Slurm then writes the time of that as its start, too."""
        with suppress(ValueError):
            return end == start and self._runtime(row, 0.0) == 0
        return False

    def _owners(self, row: Sequence[str]) -> tuple[str, str]:
        """User and project."""
        user = _text(row[self.user]) if self.user is not None else ""
        return user, _text(row[self.project]) if self.project is not None else ""

    def _withdraw(self, row: Sequence[str], intake: Intake, tasks: tuple[range, ...]) -> None:
        """A job that was cancelled in the queue: its end is when."""
        submit = _time(row[self.submit], "Submit")
        end = None if self.end is None else _time(row[self.end], "End")
        wait = None if submit is None or end is None else end - submit
        # For a job that was given no nodes some versions count only those that it asked for.
        count = _count(row[self.size], "the size") or (0 if self.asked is None else _count(row[self.asked], "the size"))
        nodes = -(-count // self.per_node)
        job_id = tasks[0][0] if tasks else _job_id(row[self.job_id].strip())
        walltime = self._walltime(row)
        intake.withdraw(_NEVER_STARTED, job_id, submit, nodes, walltime, wait, *self._owners(row), tasks=tasks)

    def _runtime(self, row: Sequence[str], span: float) -> float:
        if self.elapsed is not None and not _missing(row[self.elapsed]):
            return number(row[self.elapsed], "ElapsedRaw")
        if self.clock is not None and not _missing(row[self.clock]):
            return _clock(row[self.clock], "Elapsed")
        return span

    def _walltime(self, row: Sequence[str]) -> float:
        if self.minutes is not None and not _missing(row[self.minutes]):
            return 60 * number(row[self.minutes], "TimelimitRaw")
        if self.limit is not None and not _missing(row[self.limit]):
            return _clock(row[self.limit], "Timelimit")
        return 0.0


def _missing(text: str) -> bool:
    return text.strip().lower() in _MISSING


def _text(text: str) -> str:
    return "" if _missing(text) else text.strip()


def _time(text: str, name: str) -> float | None:
    """Seconds since 1970 of an epoch or ISO time, None where there is none."""
    if _missing(text):
        return None
    try:
        return number(text, name) or None  # 0 is Slurm's "never"
    except ValueError:
        return seconds_of_date(text, name)


def _clock(text: str, name: str) -> float:
    """Seconds of ``[days-]hours:minutes:seconds`` or ``minutes:seconds``."""
    match = _CLOCK.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{name} must be a time such as 1-12:00:00, not {shown(text)}")
    days, hours, minutes, seconds = (float(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def _count(text: str, name: str) -> int:
    """A number of nodes or processors, also one such as ``4K``; 0 where there is none."""
    text = text.strip().upper()
    if _missing(text):
        return 0
    scale = _SCALES.get(text[-1])
    return whole(text, name) if scale is None else whole(repr(number(text[:-1], name) * scale), name)


def _job_id(text: str) -> int:
    match = _JOB_ID.fullmatch(text)
    if match is None:
        raise ValueError(f"the job id must be a number, or one such as 123_4, not {shown(text)}")
    job, kind, part = match.groups()
    if max(int(job), int(part or 0)) > _LARGEST_ID:
        raise ValueError(f"the numbers of a job id must be at most {_LARGEST_ID:,}, not those of {text}")
    return int(job) if part is None else (int(job) << 32) + (int(part) | (1 << 31 if kind == "+" else 0))


def _tasks(array: re.Match[str]) -> tuple[range, ...]:
    """Ids of the tasks that stand between the brackets; empty if these cannot be told."""
    job, named = int(array[1]), array[2].rstrip(",")
    tasks = []
    for part in named.split(","):
        match = _TASK.fullmatch(part)
        if match is None:
            return ()
        first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
        if not (first <= last <= _LARGEST_TASK and job <= _LARGEST_ID and step):
            return ()
        tasks.append(range((job << 32) + first, (job << 32) + last + 1, step))
    return tuple(tasks)
