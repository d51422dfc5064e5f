"""Readers of the current Slurm queue: ``squeue --json``, or columns of ``squeue -o``.

Source: squeue(1); docs/forecast.md shows how to make the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.workloads.ground.errors import InputError, TraceError, format_value
from holdfast.workloads.ground.files import read_text
from holdfast.workloads.ground.numbers import decimal
from holdfast.workloads.ground.text_cells import number
from holdfast.workloads.ground.units import LARGEST_SIZE, LARGEST_TIME
from holdfast.workloads.logs.sacct_values import (
    ARRAY,
    expand_tasks,
    is_local,
    is_missing,
    parse_clock,
    parse_count,
    parse_job_id,
    parse_text,
    parse_time,
    state_of_job,
)
from holdfast.workloads.logs.slurm_json import jobs_of_document

__all__ = ["QUEUE_COLUMNS", "QueueRow", "has_local_dates", "looks_like_squeue", "parse_queue", "read_queue"]

#: Format of ``squeue -o`` for output that is not JSON.
QUEUE_COLUMNS = "%i|%T|%V|%S|%l|%D|%u|%a|%r"
#: What these columns are called in the output.
_ELIGIBLE = "ELIGIBLE_TIME"
_HEADS = ("JOBID", "STATE", "SUBMIT_TIME", "START_TIME", "TIME_LIMIT", "NODES", "USER", "ACCOUNT", "REASON")
#: Columns that may be there, too: %N, %C and %Q.
_MORE = ("NODELIST", "CPUS", "PRIORITY")
#: Headers of squeue that sacct does not have. Its default format has the first two.
_OWN = frozenset({"ST", "NODELIST(REASON)", "REASON", "SUBMIT_TIME", "START_TIME", "TIME_LIMIT", "TIME_LEFT"})
_RUNNING = frozenset({"RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED", "STAGE_OUT", "SIGNALING", "RESIZING"})
#: Reasons of pending jobs that do not stand in line yet.
_NOT_YET = ("dependency", "jobheld", "begintime", "held", "reservation", "jobarraytasklimit")
#: Most digits of a priority, and one.
_DIGITS = 13
#: A date as Slurm writes it, with the zone behind it, if there is one.
_DATE = re.compile(r"\b\d{4}-\d\d-\d\dT[0-9:.+Z-]+")
#: Slurm's numbers for no limit.
_NO_LIMIT = frozenset({"4294967294", "4294967295"})
#: A year: what a job without a limit may take [s].
_UNLIMITED = 365 * 86_400.0


@dataclass(frozen=True, slots=True)
class QueueRow:
    """A job in the queue.

    Attributes
    ----------
    job_id
        Its id; tasks of arrays have ids of their own.
    submit
        Submit time [s since 1970].
    start
        When it started [s since 1970]; None: it waits.
    nodes
        Nodes.
    walltime
        Time limit [s]; a year if there is none.
    user, account
        Names.
    eligible
        When it could start, or will be able to, if that is after its submit [s since 1970]; None: at its submit.
    node_list
        Names of the nodes that it runs on, as ``n[1-4,7]``; empty: it waits, or they are not recorded.
    billing
        Charge per second: its billable TRES, or its processors; 0: not recorded.
    priority
        Slurm's priority; 0: not recorded.
    planned
        Start of a waiting job by Slurm's own plan [s since 1970], as ``squeue --start`` prints it; None: it has none.
    """

    job_id: int
    submit: float
    start: float | None
    nodes: int
    walltime: float
    user: str
    account: str
    eligible: float | None = None
    node_list: str = ""
    billing: float = 0.0
    priority: int = 0
    planned: float | None = None

    @property
    def queued(self) -> float:
        """When it enters the queue [s since 1970]: its eligible time, or its submit."""
        return self.submit if self.eligible is None else self.eligible


def looks_like_squeue(text: str) -> bool:
    """Whether the first characters of a text are those of the output of squeue, in any format.

    >>> looks_like_squeue("JOBID PARTITION NAME USER ST TIME NODES NODELIST(REASON)"), looks_like_squeue("JobID|Submit")
    (True, False)
    """
    if text.lstrip().startswith("{"):
        return '"jobs"' in text and '"job_state"' in text
    # The long format begins with a date.
    return any("JOBID" in names and names & _OWN for names in map(_header_names, text.split("\n", 2)[:2]))


def has_local_dates(text: str) -> bool:
    """Whether columns of squeue have dates without a zone, which are the local time of the cluster.

    >>> has_local_dates("JOBID|STATE|SUBMIT_TIME|TIME_LIMIT\\n7|PENDING|2026-11-22T06:10:00|1:00:00")
    True
    >>> has_local_dates("JOBID|STATE|SUBMIT_TIME|TIME_LIMIT\\n7|PENDING|1795327800|1:00:00")
    False
    """
    # JSON has seconds; its dates are those in the words of users.
    return not text.lstrip().startswith("{") and any(map(is_local, _DATE.findall(text)))


def _header_names(line: str) -> set[str]:
    return set(line.replace("|", " ").split())


def read_queue(path: str | Path) -> tuple[list[QueueRow], int]:
    """Read the output of squeue.

    Parameters
    ----------
    path
        Output of ``squeue --json``, or of ``squeue -o "%i|%T|%V|%S|%l|%D|%u|%a|%r"`` with its header, perhaps with a
        column ELIGIBLE_TIME.

    Returns
    -------
    tuple
        The running and the waiting jobs, and how many pending jobs were left out because they do not stand in line yet
        (held, or waiting for another job or for a time).

    Raises
    ------
    TraceError
        With file and line, if something is missing or cannot be read.
    """
    return parse_queue(read_text(path), path)


def parse_queue(text: str, path: str | Path) -> tuple[list[QueueRow], int]:
    """Read the output of squeue from its text; see :func:`read_queue`. ``path`` is for messages."""
    rows: list[QueueRow] = []
    left_out = 0
    for line, cells in _records(text, path):
        try:
            state = state_of_job(cells["STATE"])
            if state == "PENDING" and cells["REASON"].lower().startswith(_NOT_YET):
                left_out += 1
            elif state in _RUNNING or state == "PENDING":
                rows += _parse_rows(cells, state in _RUNNING)
        except ValueError as error:
            if isinstance(error, InputError):
                raise
            raise TraceError(path, line, str(error)) from None
    return rows, left_out


def _records(text: str, path: str | Path) -> Iterator[tuple[int, Mapping[str, str]]]:
    if text.lstrip().startswith("{"):
        for line, item in jobs_of_document(text, path):
            if not isinstance(item, dict):
                raise TraceError(path, line, f"a job must be an object, not {format_value(item)}")
            yield line, _of_json(item)
        return
    lines = text.splitlines()
    head = [name.strip().upper() for name in lines[0].split("|")] if lines else []
    missing = [name for name in _HEADS if name not in head]
    if missing:
        lacks = f"no column {missing[0]}" if len(head) > 1 else "no columns between |"
        raise TraceError(path, 1, f'has {lacks}: make it with squeue -o "{QUEUE_COLUMNS}", or --json')
    places = {name: head.index(name) for name in (*_HEADS, _ELIGIBLE, *_MORE) if name in head}
    for line, row in enumerate(lines[1:], start=2):
        cells = row.split("|")
        if not row.strip():
            continue
        if len(cells) != len(head):
            raise TraceError(path, line, f"must have {len(head)} cells, as the header, not {len(cells)}")
        yield line, {name: cells[place].strip() for name, place in places.items()}


def _of_json(item: Mapping[str, Any]) -> dict[str, str]:
    """The columns of a JSON object, in any of the layouts of different versions."""

    def cell(name: str) -> str:
        value = item.get(name)
        if isinstance(value, dict):
            if value.get("infinite") is True:
                return "UNLIMITED"
            value = value.get("number") if value.get("set", True) else None
        elif isinstance(value, list):
            value = value[0] if value else None
        return "" if value is None or isinstance(value, bool | dict | list) else str(value)

    job_id, array, tasks = cell("job_id"), cell("array_job_id"), cell("array_task_string")
    task, component = cell("array_task_id"), cell("het_job_id")
    if array not in ("", "0") and (task or tasks):
        # Each task has a job_id of its own, too, which users do not see.
        job_id = f"{array}_{task}" if task else f"{array}_[{tasks.strip('[]')}]"
    elif component not in ("", "0"):
        job_id = f"{component}+{cell('het_job_offset') or 0}"
    limit = cell("time_limit")
    return {
        "JOBID": job_id,
        "STATE": cell("job_state"),
        "SUBMIT_TIME": cell("submit_time"),
        "START_TIME": cell("start_time"),
        # Minutes here; a clock in columns.
        "TIME_LIMIT": "UNLIMITED" if limit in ("", "UNLIMITED", *_NO_LIMIT) else f"{limit} min",
        "NODES": cell("node_count"),
        "USER": cell("user_name"),
        "ACCOUNT": cell("account"),
        "REASON": cell("state_reason"),
        _ELIGIBLE: cell("eligible_time"),
        "NODELIST": cell("nodes"),
        "BILLING": cell("billable_tres") or cell("cpus"),
    }


def _parse_rows(cells: Mapping[str, str], runs: bool) -> list[QueueRow]:
    submit = parse_time(cells["SUBMIT_TIME"], "SUBMIT_TIME")
    begin = parse_time(cells["START_TIME"], "START_TIME")
    start, planned = (begin, None) if runs else (None, begin)
    nodes = parse_count(cells["NODES"].partition("-")[0], "NODES")
    if submit is None:
        raise ValueError("SUBMIT_TIME must be a time")
    eligible = parse_time(cells.get(_ELIGIBLE, ""), _ELIGIBLE)
    for name, time in (("SUBMIT_TIME", submit), ("START_TIME", begin), (_ELIGIBLE, eligible)):
        if time is not None and not 0 < time <= LARGEST_TIME:
            raise ValueError(f"{name} must be a time from 1970 on, not {format_value(cells[name])}")
    if eligible is not None:
        # Of a job that was requeued the submit is the later one.
        eligible = None if eligible <= submit else eligible if start is None else min(eligible, start)
    if runs and start is None:
        raise ValueError("START_TIME of a running job must be a time")
    if not 1 <= nodes <= LARGEST_SIZE:
        raise ValueError(f"NODES must be from 1 to {LARGEST_SIZE:,}, not {format_value(cells['NODES'])}")
    limit = _parse_limit(cells["TIME_LIMIT"])
    owners = parse_text(cells["USER"]), parse_text(cells["ACCOUNT"])
    node_list = parse_text(cells.get("NODELIST", "")) if runs else ""
    billing = _billing(cells)
    rank = cells.get("PRIORITY", "")
    priority = int(rank) if rank.isdecimal() and len(rank) < _DIGITS else 0
    return [
        QueueRow(job_id, submit, start, nodes, limit, *owners, eligible, node_list, billing, priority, planned)
        for job_id in _parse_ids(cells["JOBID"])
    ]


def _billing(cells: Mapping[str, str]) -> float:
    """Charge of a job per second; 0: not recorded."""
    try:
        billing = decimal(cells.get("BILLING") or cells.get("CPUS") or "0")
    except ValueError:
        return 0.0
    return billing if 0 < billing <= LARGEST_TIME else 0.0


def _parse_limit(text: str) -> float:
    if is_missing(text):
        return _UNLIMITED
    minutes = text.removesuffix(" min")
    limit = parse_clock(text, "TIME_LIMIT") if minutes == text else 60 * number(minutes, "time_limit")
    if not 0 < limit <= LARGEST_TIME:
        raise ValueError(f"TIME_LIMIT must be above 0 and at most {LARGEST_TIME:,.0f} s, not {format_value(text)}")
    return limit


#: Most tasks of an array that are taken into a state.
_MOST_TASKS = 10_000


def _parse_ids(text: str) -> Sequence[int]:
    """The ids of a row: one, or those of the tasks of an array that wait."""
    array = ARRAY.fullmatch(text)
    if array is None:
        return [parse_job_id(text)]
    tasks = expand_tasks(array)
    if not tasks:
        raise ValueError(f"the tasks of the array {format_value(text)} cannot be determined: add squeue --array")
    count = sum(map(len, tasks))
    if count > _MOST_TASKS:
        raise ValueError(f"an array must have at most {_MOST_TASKS:,} waiting tasks, not {count:,}")
    return [job_id for part in tasks for job_id in part]
