"""Logs of Slurm, as ``sacct --parsable2`` exports them.

``SLURM_TIME_FORMAT=%s sacct -a -X -P -o JobIDRaw,User,Account,Partition,State,Submit,Start,End,ElapsedRaw,
TimelimitRaw,NNodes,NCPUS``; read as formats.md, "Slurm sacct". Columns are found by name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from workloads.errors import ParameterError, TraceError
from workloads.fields import Columns, number, seconds_of_date, shown, whole
from workloads.files import read_text
from workloads.intake import BROKEN_LINE, Intake, check_procs_per_node
from workloads.trace import Trace

__all__ = ["looks_like_sacct", "parse_sacct", "read_sacct"]

#: What Slurm writes where it has no value.
_MISSING = frozenset({"", "unknown", "none", "n/a", "(null)", "invalid", "partition_limit", "unlimited", "infinite"})
_NEVER_STARTED = "never started"
_NOT_ENDED = frozenset({"RUNNING", "SUSPENDED", "RESIZING", "COMPLETING", "CONFIGURING", "STOPPED", "SIGNALING"})
_JOB_ID = re.compile(r"(\d+)(?:([_+])(\d+))?")
_CLOCK = re.compile(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+(?:\.\d+)?)")
#: Slurm shortens large counts unless --noconvert is given.
_SCALES = {"K": 1024, "M": 1024**2}


def read_sacct(path: str | Path, *, lenient: bool = False, procs_per_node: int | None = None) -> Trace:
    """Read a ``|``-separated sacct export with a header row.

    Left out and counted, besides what rule 1 of easy-backfilling.md leaves out: job steps, jobs that never started,
    jobs that had not ended. A task of an array, ``123_4``, gets the id 123 x 2^32 + 4; a component of a
    heterogeneous job, ``123+1``, gets 123 x 2^32 + 2^31 + 1.

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
    lines = text.split("\n")
    first = next(index for index, line in enumerate(lines) if line.strip())
    try:
        record = _Record(Columns(lines[first].split("|")), procs_per_node)
    except ParameterError:
        raise
    except ValueError as error:
        raise TraceError(path, first + 1, str(error)) from None
    intake = Intake()
    for index in range(first + 1, len(lines)):
        line = lines[index].rstrip("\r")
        if not line.strip():
            continue
        try:
            record.take(line.split("|"), intake)
        except ValueError as error:
            if not lenient:
                raise TraceError(path, index + 1, str(error)) from None
            intake.excluded[BROKEN_LINE] += 1
    return intake.trace(path, "sacct", None, {"Unit": record.unit})


def looks_like_sacct(text: str) -> bool:
    """Whether the first line of a text is the header row of such an export."""
    names = text.lstrip().partition("\n")[0].lower().split("|")
    return len(names) > 1 and "submit" in names and bool({"jobid", "jobidraw"} & set(names))


class _Record:
    """One line of the export, by the names in its header."""

    def __init__(self, columns: Columns, procs_per_node: int | None) -> None:
        self.width = len(columns.names)
        self.job_id = columns.need("JobIDRaw", "JobID")
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
        self.size = columns.need("NNodes", "NCPUS", "AllocCPUS", "ReqCPUS") if counted is None else counted
        self.per_node = procs_per_node or 1
        self.unit = "nodes" if counted is not None or procs_per_node is not None else "processors"

    def take(self, row: Sequence[str], intake: Intake) -> None:
        """Hand a line to the intake, or raise the ValueError of what is wrong with it."""
        if len(row) != self.width:
            raise ValueError(f"a line must have {self.width} fields like the header, not {len(row)}")
        if "." in row[self.job_id]:
            intake.excluded["job step"] += 1
            return
        state = "" if self.state is None else row[self.state].strip().upper()
        state = state.split()[0].rstrip("+") if state else ""  # "CANCELLED by 1000"
        start = _time(row[self.start], "Start")
        if state == "PENDING" or start is None:
            intake.excluded[_NEVER_STARTED] += 1
            if state == "CANCELLED":
                # What is wrong with a line that is left out anyway is nobody's business.
                with suppress(ValueError):
                    self._withdraw(row, intake)
            return
        end = start if self.end is None else _time(row[self.end], "End")
        if state in _NOT_ENDED or end is None:
            intake.excluded["not ended"] += 1
            return
        job_id = _job_id(row[self.job_id].strip())
        nodes = -(-_count(row[self.size], "the size") // self.per_node)
        submit = _time(row[self.submit], "Submit")
        walltime = self._walltime(row)
        user = _text(row[self.user]) if self.user is not None else ""
        project = _text(row[self.project]) if self.project is not None else ""
        wait = None if submit is None else start - submit
        runtime = self._runtime(row, end - start)
        kept = intake.add(job_id, submit, nodes, runtime, walltime, wait, user, project, state == "TIMEOUT")
        if kept and state not in ("", "COMPLETED"):
            intake.remarks[f"state {state}"] += 1

    def _withdraw(self, row: Sequence[str], intake: Intake) -> None:
        """A job that was cancelled in the queue: its end is when."""
        submit = _time(row[self.submit], "Submit")
        end = None if self.end is None else _time(row[self.end], "End")
        wait = None if submit is None or end is None else end - submit
        nodes = -(-_count(row[self.size], "the size") // self.per_node)
        user = _text(row[self.user]) if self.user is not None else ""
        project = _text(row[self.project]) if self.project is not None else ""
        job_id = _job_id(row[self.job_id].strip())
        intake.withdraw(_NEVER_STARTED, job_id, submit, nodes, self._walltime(row), wait, user, project)

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
    return int(job) if part is None else (int(job) << 32) + (int(part) | (1 << 31 if kind == "+" else 0))
