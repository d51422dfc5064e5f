"""Logs of the Argonne Leadership Computing Facility: DIM_JOB_COMPOSITE tables of Theta, Mira and Polaris.

They are public at https://reports.alcf.anl.gov/data/. Columns are found by name, because their order and some names
have changed over the years.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from holdfast.workloads.ground.errors import ParameterError, TraceError
from holdfast.workloads.ground.files import read_text
from holdfast.workloads.ground.lines import lines_with_ends
from holdfast.workloads.ground.text_cells import Columns, number, seconds_of_date, whole
from holdfast.workloads.logs.cleaning import BROKEN_LINE, Intake
from holdfast.workloads.logs.filters import Choice, find_columns
from holdfast.workloads.logs.trace import Trace
from holdfast.workloads.logs.work_shares import NOT_RECORDED

__all__ = ["COLUMNS", "EXAMPLE", "looks_like_alcf", "parse_alcf", "read_alcf"]

_JOB_ID = ("COBALT_JOBID", "JOBID", "JOB_ID")
_USER = ("USERNAME_GENID", "COBALT_USERNAME_GENID", "COBALT_USER_NAME_GENID", "USER_GENID", "COBALT_USER_GENID")
_PROJECT = ("PROJECT_NAME_GENID", "COBALT_PROJECT_NAME_GENID", "PROJECT_GENID", "COBALT_PROJECT_GENID")
_REQUESTED = ("NODES_REQUESTED", "REQUESTED_NODES")
_USED = ("NODES_USED", "USED_NODES")
_CORES = ("CORES_REQUESTED", "CORES_USED")
#: Columns by the names that conditions have for them in all logs.
COLUMNS = {
    **{"user": _USER, "project": _PROJECT, "name": ("JOB_NAME",), "state": ("EXIT_STATUS",)},
    **dict.fromkeys(("queue", "partition"), ("QUEUE_NAME",)),
}
#: A small table.
EXAMPLE = (
    "JOB_NAME,COBALT_JOBID,MACHINE_NAME,QUEUED_TIMESTAMP,START_TIMESTAMP,START_DATE_ID,END_TIMESTAMP,USERNAME_GENID,"
    "PROJECT_NAME_GENID,QUEUE_NAME,WALLTIME_SECONDS,RUNTIME_SECONDS,NODES_USED,NODES_REQUESTED,EXIT_STATUS\n"
    "a.theta,300001,theta,2019-01-31 23:00:00,2019-02-01 00:00:00.5,20190201,2019-02-01 01:00:00.5,U1,P1,default,"
    "7200.0,3600.0,128.0,130.0,0\n"
)
_ALL = Choice()
#: Nodes of the machines; a remark in the header, never taken for the size: partitions and years differ.
_MACHINES = {"theta": "4392", "mira": "49152", "polaris": "560"}


def read_alcf(
    path: str | Path, *, lenient: bool = False, procs_per_node: int | None = None, choice: Choice = _ALL
) -> Trace:
    """Read a DIM_JOB_COMPOSITE table.

    Excluded and counted, in addition to the exclusions of :class:`~holdfast.workloads.logs.cleaning.Intake`: jobs of
    debug queues, jobs without a walltime, jobs that never started (START_DATE_ID = 0 or no start).

    Parameters
    ----------
    path
        CSV, plain or gzip.
    lenient
        Count broken lines among the excluded instead of refusing the file.
    procs_per_node
        Only None: the table counts nodes.
    choice
        Jobs that are read: conditions on any column, also by the names queue, user, project and name. A condition on
        the queue takes debug queues in. The unit ``processors`` takes CORES_REQUESTED, else CORES_USED.

    Returns
    -------
    Trace
        In file order; times in seconds since 1970, the table's local time taken as UTC. Size None; ``header`` holds the
        machine's name (Computer) and, as a remark, the nodes of the machine of that name (ComputerNodes).

    Raises
    ------
    TraceError
        If the file cannot be read, a column is missing, a line is broken, or no job is left.
    ParameterError
        If ``procs_per_node`` is given.
    """
    return parse_alcf(read_text(path), path, lenient=lenient, procs_per_node=procs_per_node, choice=choice)


def parse_alcf(
    text: str,
    path: str | Path,
    *,
    lenient: bool = False,
    procs_per_node: int | None = None,
    choice: Choice = _ALL,
) -> Trace:
    """Read a table from its text; see :func:`read_alcf`. ``path`` is for messages."""
    if procs_per_node is not None:
        raise ParameterError("procs_per_node", "left out for an ALCF log, which counts nodes", procs_per_node)
    rows = csv.reader(lines_with_ends(text))
    line = 1
    try:
        record = _CobaltRecord(Columns(next(rows)), choice)
        intake = Intake()
        line = rows.line_num + 1
        for row in rows:
            if row:
                try:
                    record.take(row, intake)
                except ValueError as error:
                    if not lenient:
                        raise TraceError(path, line, str(error)) from None
                    intake.excluded[BROKEN_LINE] += 1
            line = rows.line_num + 1
    except TraceError:
        raise
    except (ValueError, csv.Error) as error:
        raise TraceError(path, line, str(error)) from None
    header = _header(sorted(record.machines), choice)
    if not record.counts_processors:
        header[NOT_RECORDED] = "processors"
    return intake.trace(path, "alcf", None, header, choice.unit or "nodes")


def _header(machines: Sequence[str], choice: Choice) -> dict[str, str]:
    """What is known of a log of these machines."""
    header = {}
    if machines:
        header["Computer"] = ", ".join(machines)
    if choice.conditions:
        header["Where"] = choice.text
    if choice.unit != "processors" and len(machines) == 1 and machines[0].lower() in _MACHINES:
        header["ComputerNodes"] = _MACHINES[machines[0].lower()]
    return header


def looks_like_alcf(text: str) -> bool:
    """Whether the first line of a text is the header row of such a table."""
    names = text[: text.find("\n") + 1 or None].upper()
    return "QUEUED_TIMESTAMP" in names and "RUNTIME_SECONDS" in names


class _CobaltRecord:
    """One row of the table, by the names in its header."""

    def __init__(self, columns: Columns, choice: Choice) -> None:
        self.width = len(columns.names)
        self.chosen = find_columns(choice.conditions, columns, COLUMNS)
        self.debugging = choice.asks_for("queue", "partition", "queue_name")
        self.job_id = columns.need(*_JOB_ID)
        self.queued = columns.need("QUEUED_TIMESTAMP")
        self.start = columns.need("START_TIMESTAMP")
        self.runtime = columns.need("RUNTIME_SECONDS")
        self.walltime = columns.need("WALLTIME_SECONDS")
        self.counts_processors = columns.find(*_CORES) is not None
        requested, used = (_CORES[:1], _CORES[1:]) if choice.unit == "processors" else (_REQUESTED, _USED)
        self.requested = columns.find(*requested)
        self.used = columns.find(*used) if self.requested is not None else columns.need(*requested, *used)
        self.started = columns.find("START_DATE_ID")
        self.queue = columns.find("QUEUE_NAME")
        self.user = columns.find(*_USER)
        self.project = columns.find(*_PROJECT)
        self.machine = columns.find("MACHINE_NAME")
        self.machines: set[str] = set()

    def take(self, row: Sequence[str], intake: Intake) -> None:
        """Pass a row to the intake, or raise a ValueError that describes the fault."""
        if len(row) != self.width:
            raise ValueError(f"a row must have {self.width} fields like the header, not {len(row)}")
        for place, condition in self.chosen:
            if not condition.holds(row[place]):
                intake.pass_over(condition, row[place])
                return
        job_id = whole(row[self.job_id], "the job id")
        runtime = number(row[self.runtime] or "0", "RUNTIME_SECONDS")
        walltime = number(row[self.walltime] or "0", "WALLTIME_SECONDS")
        nodes = self._size(row, intake)
        if self.machine is not None and row[self.machine].strip():
            self.machines.add(row[self.machine].strip())
        if not self.debugging and self.queue is not None and "debug" in row[self.queue].lower():
            intake.excluded["debug queue"] += 1
        elif not row[self.start].strip() or (
            self.started is not None and number(row[self.started] or "0", "START_DATE_ID") == 0
        ):
            intake.excluded["never started"] += 1
        elif nodes > 0 and runtime > 0 and walltime <= 0:
            intake.excluded["walltime <= 0"] += 1
        else:
            queued = row[self.queued].strip()
            submit = seconds_of_date(queued, "QUEUED_TIMESTAMP") if queued else None
            wait = None if submit is None else seconds_of_date(row[self.start], "START_TIMESTAMP") - submit
            if wait is not None and wait < 0:
                intake.remarks["started before it was queued (wait unknown)"] += 1
            user = row[self.user].strip() if self.user is not None else ""
            project = row[self.project].strip() if self.project is not None else ""
            queue = "" if self.queue is None else row[self.queue].strip()
            intake.add(job_id, submit, nodes, runtime, walltime, wait, user, project, partition=queue)

    def _size(self, row: Sequence[str], intake: Intake) -> int:
        """The size that was requested, or else used."""
        nodes = 0
        if self.requested is not None:
            nodes = whole(row[self.requested] or "0", "the number of requested nodes")
        if nodes <= 0 and self.used is not None:
            nodes = whole(row[self.used] or "0", "the number of used nodes")
            if nodes > 0 and self.requested is not None:
                intake.remarks["without requested nodes (the used nodes count)"] += 1
        return nodes
