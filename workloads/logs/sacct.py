"""Reader of Slurm logs exported by ``sacct``.

``SLURM_TIME_FORMAT=%s sacct -a -X -P -o JobIDRaw,User,Account,Partition,State,Submit,Eligible,Start,End,ElapsedRaw,
TimelimitRaw,NNodes,NCPUS``, or any other form of :mod:`holdfast.workloads.logs.sacct_formats`. Columns are found by
name; docs/guides/sacct.md describes how they are read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from holdfast.workloads.ground.errors import ParameterError, TraceError, format_value
from holdfast.workloads.ground.files import read_text
from holdfast.workloads.ground.text_cells import Columns, number
from holdfast.workloads.logs.cleaning import BROKEN_LINE, Intake, check_procs_per_node
from holdfast.workloads.logs.filters import Choice, Condition, find_columns
from holdfast.workloads.logs.node_names import NamedNodes
from holdfast.workloads.logs.sacct_cells import RestOfRecordError
from holdfast.workloads.logs.sacct_formats import AlignedForm, Form, detect_form, looks_like_sacct
from holdfast.workloads.logs.sacct_values import (
    ARRAY,
    CUT_ARRAY,
    expand_tasks,
    is_local,
    is_missing,
    is_part,
    parse_clock,
    parse_count,
    parse_job_id,
    parse_text,
    parse_time,
    state_of_job,
)
from holdfast.workloads.logs.trace import Trace
from holdfast.workloads.logs.work_shares import NOT_RECORDED, WorkShares, has_gpus

__all__ = ["COLUMNS", "EXAMPLE", "looks_like_sacct", "parse_sacct", "read_sacct"]

_ALL = Choice()
_HINT = "docs/guides/sacct.md has a command that exports all columns"
#: Columns of names that other logs have, too; any other name is that of a column.
COLUMNS = {
    **{"user": ("User",), "project": ("Account",), "partition": ("Partition",), "queue": ("Partition",)},
    **{"qos": ("QOS",), "state": ("State",), "name": ("JobName",)},
}
#: A small export.
EXAMPLE = (
    "JobID|JobName|User|Account|Partition|QOS|State|Submit|Eligible|Start|End|ElapsedRaw|TimelimitRaw|NNodes|NCPUS\n"
    "7|ocean|ada|climate|batch|normal|COMPLETED|1650000000|1650000000|1650000060|1650003660|3600|120|4|256\n"
)
_NEVER_STARTED = "never started"
#: A change of the clock to or from summer time [s], and the error of a difference of whole seconds.
_CLOCK_CHANGE, _ROUNDING = 3600.0, 1.0
_NOT_ENDED = frozenset({"RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING", "STOPPED", "SIGNALING"})
#: Columns in which a truncated cell is useless.
_EXACT = (
    *("JobIDRaw", "JobID", "Submit", "Eligible", "Start", "End"),
    *("ElapsedRaw", "Elapsed", "TimelimitRaw", "Timelimit"),
    *("NNodes", "AllocNodes", "ReqNodes", "NCPUS", "AllocCPUS", "ReqCPUS"),
)


def read_sacct(
    path: str | Path, *, lenient: bool = False, procs_per_node: int | None = None, choice: Choice = _ALL
) -> Trace:
    """Read an sacct export: columns separated by a character or aligned under dashes, or JSON.

    Excluded and counted, in addition to the exclusions of :class:`~holdfast.workloads.logs.cleaning.Intake`: job steps,
    jobs that never started, jobs that had not ended. A task of an array, ``123_4``, gets the id 123 x 2^32 + 4; a
    component of a heterogeneous job, ``123+1``, gets 123 x 2^32 + 2^31 + 1. A job that was cancelled in the queue has
    no start, or its start is its end. One line ``123_[1-20]`` stands for the 20 tasks of an array that never started,
    and is counted so. Each execution of a job that was requeued, and each part of one that was resized (``sacct -D``),
    is a job.

    Parameters
    ----------
    path
        Plain or gzip.
    lenient
        Count broken lines among the excluded instead of refusing the file.
    procs_per_node
        For an export without NNodes: a job takes ceil(NCPUS / p) nodes. None: the unit is the processor.
    choice
        Jobs that are read: conditions on any column. The unit ``processors`` takes NCPUS where there is NNodes, too.

    Returns
    -------
    Trace
        In file order; times in seconds since 1970, ISO times without a zone taken as UTC; TimelimitRaw is in minutes.
        Size None; ``header`` gives the number of nodes in NodeList (NodesNamed), if it has this column.

    Raises
    ------
    TraceError
        If the file cannot be read, a column is missing, a line is broken, or no job is left.
    ParameterError
        If ``procs_per_node`` is not positive, or given for an export that counts nodes.
    """
    return parse_sacct(read_text(path), path, lenient=lenient, procs_per_node=procs_per_node, choice=choice)


def parse_sacct(
    text: str,
    path: str | Path,
    *,
    lenient: bool = False,
    procs_per_node: int | None = None,
    choice: Choice = _ALL,
) -> Trace:
    """Read an export from its text; see :func:`read_sacct`. ``path`` is for messages."""
    check_procs_per_node(procs_per_node)
    form = detect_form(text, path)
    try:
        record = _SacctRecord(Columns(form.names), procs_per_node, isinstance(form, AlignedForm), choice)
    except ParameterError:
        raise
    except ValueError as error:
        hint = "" if "select by" in str(error) else f" ({_HINT})"
        raise TraceError(path, form.first or None, f"{error}{hint}") from None
    intake = Intake()
    for place, line in form.records():
        try:
            record.take(form.cells(line), intake)
        except RestOfRecordError:
            intake.excluded["rest of a line, after a line break in a text, without its beginning"] += 1
        except ValueError as error:
            if not lenient:
                raise TraceError(path, place, _cut_cell(form, line) or str(error)) from None
            intake.excluded[BROKEN_LINE] += 1
    return intake.trace(path, "sacct", None, record.header(choice), record.unit)


class _SacctRecord:
    """One line of the export, by the names in its header."""

    def __init__(self, columns: Columns, procs_per_node: int | None, aligned: bool, choice: Choice) -> None:
        self.chosen = find_columns(choice.conditions, columns, COLUMNS)
        self.nodes = NamedNodes()
        self.node_list = columns.find("NodeList")
        self.local = False
        self.aligned = aligned
        self.resized: set[int] = set()
        self.job_id = columns.need("JobIDRaw", "JobID")
        self.task_ids = columns.find("JobID")
        self.submit = columns.need("Submit")
        self.eligible = columns.find("Eligible")
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
        self.partition = columns.find("Partition")
        self.qos = columns.find("QOS")
        self.resources = columns.find("AllocTRES", "ReqTRES", "AllocGRES", "ReqGRES")
        self.shares = WorkShares()
        counted = columns.find("NNodes", "AllocNodes", "ReqNodes")
        if choice.unit == "processors":
            if procs_per_node is not None:
                raise ParameterError("procs_per_node", "left out where processors are the unit", procs_per_node)
            counted = None
        elif choice.unit == "nodes" and counted is None and procs_per_node is None:
            raise ValueError("nodes as the unit need a column NNodes, or procs_per_node")
        if counted is not None and procs_per_node is not None:
            raise ParameterError(
                "procs_per_node", "left out for an export with the column NNodes, which counts nodes", procs_per_node
            )
        self.asked = columns.find("ReqNodes") if counted is not None else columns.find("ReqCPUS")
        self.counts_processors = columns.find("NCPUS", "AllocCPUS", "ReqCPUS") is not None
        sizes = () if choice.unit == "processors" else ("NNodes",)
        self.size = columns.need(*sizes, "NCPUS", "AllocCPUS", "ReqCPUS") if counted is None else counted
        self.per_node = procs_per_node or 1
        self.unit = "nodes" if counted is not None or procs_per_node is not None else "processors"

    def take(self, row: Sequence[str], intake: Intake) -> None:
        """Pass a line to the intake, or raise a ValueError that describes the fault."""
        ids = row[self.job_id if self.task_ids is None else self.task_ids].strip()
        array = ARRAY.fullmatch(ids)
        if array is None and self._is_step(row):
            intake.excluded["job step"] += 1
            return
        for place, condition in self.chosen:
            cell = row[place]
            if not condition.holds(cell, *_readings(condition, cell)):
                intake.pass_over(condition, cell, (sum(map(len, expand_tasks(array))) if array else 0) or 1)
                return
        state = "" if self.state is None else state_of_job(row[self.state])
        start = parse_time(row[self.start], "Start")
        end = start if self.end is None else parse_time(row[self.end], "End")
        if start is None or state == "PENDING" or (state == "CANCELLED" and self._never_ran(row, start, end)):
            self._count_unstarted_jobs(row, ids, array, state, intake)
        elif state in _NOT_ENDED or end is None:
            intake.excluded["not ended"] += 1
        else:
            self._take_run(row, ids, state, start, end, intake)

    def _count_unstarted_jobs(
        self, row: Sequence[str], ids: str, array: re.Match[str] | None, state: str, intake: Intake
    ) -> None:
        """Count the jobs of a line that never started, and record those that were cancelled in the queue."""
        tasks = () if array is None else expand_tasks(array)
        intake.excluded[_NEVER_STARTED] += sum(map(len, tasks)) or 1
        if (array is not None and (array[3] or not tasks)) or CUT_ARRAY.fullmatch(ids):
            intake.remarks["array without all ids of its jobs (the named jobs count, or one)"] += 1
        if state == "CANCELLED":
            # A line that is left out anyway may be wrong.
            with suppress(ValueError):
                self._withdraw(row, ids, intake, tasks)

    def _take_run(self, row: Sequence[str], ids: str, state: str, start: float, end: float, intake: Intake) -> None:
        """Add a job that ran."""
        job_id = self._id(row, ids)
        nodes = -(-parse_count(row[self.size], "the size") // self.per_node)
        submit = parse_time(row[self.submit], "Submit")
        walltime = self._walltime(row)
        user, project = self._owners(row)
        runtime = self._runtime(row, end - start)
        if state == "RESIZING":
            self.resized.add(job_id)
        if submit is not None and start < submit and job_id in self.resized:
            # The part after a change of its size: submitted then, but with the start of the whole job.
            start, runtime, walltime = submit, end - submit, walltime - (submit - start)
        eligible = self._eligible(row, submit)
        if eligible is not None and eligible > start:
            intake.remarks["eligible after the start (the start is used)"] += 1
            eligible = start
        wait = None if submit is None else start - (submit if eligible is None else eligible)
        stopped, partition = state == "TIMEOUT", self._partition(row)
        node_list = "" if self.node_list is None else parse_text(row[self.node_list])
        qos = self._qos(row)
        kept = intake.add(
            job_id, submit, nodes, runtime, walltime, wait, user, project, stopped, partition=partition,
            eligible=eligible, node_list=node_list, qos=qos,
        )  # fmt: skip
        if kept:
            gpus = self.resources is not None and has_gpus(row[self.resources])
            self.shares.add(nodes * runtime, gpus=gpus, qos=qos)
            self._remark(row, state, user, project, intake)
            off = abs(end - start - self._runtime(row, end - start))
            if abs(off - _CLOCK_CHANGE) <= _ROUNDING and is_local(row[self.submit]):
                intake.remarks["the clock changed during the run (SLURM_TIME_FORMAT=%s avoids wrong waits)"] += 1

    def _remark(self, row: Sequence[str], state: str, user: str, project: str, intake: Intake) -> None:
        """Note what a job that is kept says of the log as a whole."""
        if self.node_list is not None:
            self.nodes.add(row[self.node_list])
        self.local = self.local or is_local(row[self.submit])
        if state not in ("", "COMPLETED"):
            intake.remarks[f"state {state}"] += 1
        if self.aligned:
            for name, text in (("User", user), ("Account", project)):
                if text.endswith("+"):
                    intake.remarks[f"{name} cut off by its column: names that begin alike count as one"] += 1

    def _id(self, row: Sequence[str], ids: str) -> int:
        """The id that Slurm's users know: JobID, where it is whole; the tasks of an array have one JobIDRaw each."""
        return parse_job_id(ids) if is_part(ids) else parse_job_id(row[self.job_id].strip())

    def _partition(self, row: Sequence[str]) -> str:
        return parse_text(row[self.partition]) if self.partition is not None else ""

    def _is_step(self, row: Sequence[str]) -> bool:
        """Whether a line is a step: 123.batch, or where the column is too narrow for that, a line without a user."""
        job = row[self.job_id]
        cut = self.aligned and self.user is not None and job.endswith("+")
        return "." in job or (cut and self.user is not None and not row[self.user])

    def header(self, choice: Choice) -> dict[str, str]:
        """Header entries that describe the log as a whole."""
        entries = {"Unit": self.unit, **self.shares.header()}
        if not self.counts_processors:
            entries[NOT_RECORDED] = "processors"
        if choice.conditions:
            entries["Where"] = choice.text
        if self.local:
            entries["Clock"] = "local"
        if self.nodes.count and self.unit == "nodes":
            entries["NodesNamed"] = str(self.nodes.count)
        return entries

    def _never_ran(self, row: Sequence[str], start: float, end: float | None) -> bool:
        """Whether a job that was cancelled in the queue: Slurm then writes the time of that as its start, too."""
        with suppress(ValueError):
            return end == start and self._runtime(row, 0.0) == 0
        return False

    def _eligible(self, row: Sequence[str], submit: float | None) -> float | None:
        """When a job could start, if that was after its submit; a job that was requeued was eligible before."""
        eligible = None if self.eligible is None else parse_time(row[self.eligible], "Eligible")
        return None if eligible is None or submit is None or eligible <= submit else eligible

    def _owners(self, row: Sequence[str]) -> tuple[str, str]:
        """User and project."""
        user = parse_text(row[self.user]) if self.user is not None else ""
        return user, parse_text(row[self.project]) if self.project is not None else ""

    def _qos(self, row: Sequence[str]) -> str:
        return "" if self.qos is None else parse_text(row[self.qos])

    def _withdraw(self, row: Sequence[str], ids: str, intake: Intake, tasks: tuple[range, ...]) -> None:
        """Record a job that was cancelled in the queue, at its end time."""
        submit = parse_time(row[self.submit], "Submit")
        end = None if self.end is None else parse_time(row[self.end], "End")
        eligible, wait = self._eligible(row, submit), None
        if submit is not None and end is not None:
            cell = "" if self.eligible is None else row[self.eligible].strip()
            if cell and parse_time(cell, "Eligible") is None:
                # Unknown, or 0: it was held until it was cancelled.
                eligible = end
            eligible = None if eligible is None else min(eligible, end)
            wait = end - (submit if eligible is None else max(submit, eligible))
        # For a job that was given no nodes some versions count only those that it asked for.
        count = parse_count(row[self.size], "the size") or (
            0 if self.asked is None else parse_count(row[self.asked], "the size")
        )
        nodes = -(-count // self.per_node)
        job_id = tasks[0][0] if tasks else self._id(row, ids)
        walltime = self._walltime(row)
        intake.withdraw(
            _NEVER_STARTED, job_id, submit, nodes, walltime, wait, *self._owners(row), tasks=tasks, eligible=eligible,
            qos=self._qos(row),
        )  # fmt: skip

    def _runtime(self, row: Sequence[str], span: float) -> float:
        if self.elapsed is not None and not is_missing(row[self.elapsed]):
            return number(row[self.elapsed], "ElapsedRaw")
        if self.clock is not None and not is_missing(row[self.clock]):
            return parse_clock(row[self.clock], "Elapsed")
        return span

    def _walltime(self, row: Sequence[str]) -> float:
        if self.minutes is not None and not is_missing(row[self.minutes]):
            return 60 * number(row[self.minutes], "TimelimitRaw")
        if self.limit is not None and not is_missing(row[self.limit]):
            return parse_clock(row[self.limit], "Timelimit")
        return 0.0


def _readings(condition: Condition, cell: str) -> Sequence[str]:
    """What a cell may be called otherwise: ``CANCELLED by 7`` is CANCELLED; a job may wait for several partitions."""
    if condition.kind == "state":
        return (state_of_job(cell),)
    return cell.split(",") if "," in cell else ()


def _cut_cell(form: Form, line: Any) -> str:
    """Describe a cell that a narrow column has truncated; empty if there is none."""
    if isinstance(form, AlignedForm):
        with suppress(ValueError):
            for name, cell in zip(form.names, form.cells(line), strict=True):
                if name in _EXACT and cell.endswith("+") and not is_missing(cell):
                    return (
                        f"{name} is cut off ({format_value(cell)}): export with -P, or with a wider column ({name}%30)"
                    )
    return ""
