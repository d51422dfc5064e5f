"""Jobs of a log with their resource requests: SWF (also of Alea), sacct, and tables with named columns."""

from __future__ import annotations

import csv
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from holdfast.workloads.ground.errors import TraceError
from holdfast.workloads.ground.files import decode_text, read_bytes
from holdfast.workloads.ground.lines import lines_with_ends
from holdfast.workloads.ground.numbers import decimal, integer
from holdfast.workloads.ground.text_cells import Columns, seconds_of_date
from holdfast.workloads.logs.cancellations import keep_cancelled_jobs
from holdfast.workloads.logs.cleaning import NO_WALLTIME
from holdfast.workloads.logs.filters import Choice, Where
from holdfast.workloads.logs.job_selection import select
from holdfast.workloads.logs.readers import read_trace
from holdfast.workloads.logs.request_layouts import Layout, get_layout, layout_of_columns, roles_of_requests
from holdfast.workloads.logs.sacct_formats import detect_form, looks_like_sacct
from holdfast.workloads.logs.sacct_values import ARRAY, expand_tasks, is_part, parse_job_id, parse_text
from holdfast.workloads.logs.swf import looks_like_swf
from holdfast.workloads.logs.trace import Trace, TraceJob
from holdfast.workloads.machines.request import ResourceRequest
from holdfast.workloads.requests.raw_request import FRACTION, request_of_row
from holdfast.workloads.table.job_table import looks_like_job_table
from holdfast.workloads.table.parquet import parquet_blocks

__all__ = ["LogRequests", "RecordedJob", "is_job_table", "read_requests"]

_PARQUET = b"PAR1"
_BLOCK = 50_000
BROKEN = "requests that cannot be read (one core is used)"
#: Cells of a table that has no such time.
_NO_TIME = frozenset(("", "none", "nan", "nat", "null", "-1"))
#: A part of Alea's requests: number of nodes, processors of each, and properties.
_CHUNK = re.compile(r"(\d{1,9})(?::ppn=(\d{1,9}))?((?::[^:#+]+)*)(#excl)?")


class RecordedJob(NamedTuple):
    """A job of a log with its resource request.

    Attributes
    ----------
    job_id
        As in the log.
    submit
        When it was submitted, or became eligible after that [s].
    walltime, runtime
        [s].
    start
        Recorded start [s]; None: unknown.
    user
        Empty: unknown.
    request
        Its resource request.
    """

    job_id: int
    submit: float
    walltime: float
    runtime: float
    start: float | None
    user: str
    request: ResourceRequest


@dataclass(frozen=True)
class LogRequests:
    """The jobs of a log.

    Attributes
    ----------
    jobs
        In the order of the log.
    remarks
        Remarks on the interpretation of values, with counts.
    title
        What the log is, for people.
    excluded
        Jobs that were left out, by reason.
    log
        The trace that the jobs come from, job by job; None: they come from a table of a known layout.
    """

    jobs: tuple[RecordedJob, ...]
    remarks: Counter[str]
    title: str
    excluded: Counter[str]
    log: Trace | None = field(default=None, compare=False, repr=False)

    @property
    def fraction_share(self) -> float:
        """Share of the jobs that request a fraction of a GPU."""
        return self.remarks[FRACTION] / len(self.jobs) if self.jobs else 0.0

    @property
    def trace(self) -> Trace:
        """The jobs as a trace, one for each of ``jobs``; sizes count cores."""
        if self.log is not None:
            return self.log
        jobs = [
            TraceJob(
                job.job_id, job.submit, _cores(job.request), job.runtime, job.walltime, user=job.user,
                wait=None if job.start is None or job.start < job.submit else job.start - job.submit,
                partition=job.request.partitions[0] if job.request.partitions else "", qos=job.request.qos,
                project=job.request.account,
            )
            for job in self.jobs
        ]  # fmt: skip
        return Trace(jobs, source=self.title, format="columns", excluded=self.excluded, unit="processors")


def _cores(request: ResourceRequest) -> int:
    return (request.tasks or request.nodes or 1) * request.cores


def read_requests(
    path: str | Path,
    *,
    columns: str | None = None,
    lenient: bool = False,
    where: Where | None = None,
    format: str | None = None,
    cancelled: bool = False,
) -> LogRequests:
    """Read a log with the requests of its jobs.

    Parameters
    ----------
    path
        SWF, sacct, or a CSV or Parquet table with named columns.
    columns
        Of a table: the name of a layout (:data:`holdfast.workloads.logs.request_layouts.LAYOUTS`), or columns by role
        as for :func:`~holdfast.workloads.logs.readers.read_trace`, also of ``tasks``, ``tasks_per_node``, ``cores``,
        ``memory``, ``gpus``, ``features``, ``account``, ``exclusive`` and ``begin``.
    lenient
        Count broken lines of a log instead of refusing it.
    where
        Jobs that are read, as in :func:`~holdfast.workloads.logs.readers.read_trace`.
    format
        Format of the log; None: recognised by the content.
    cancelled
        Whether jobs that were cancelled before they started are kept
        (:func:`holdfast.workloads.logs.cancellations.keep_cancelled_jobs`); tables of a known layout record none.

    Raises
    ------
    InputError
        If it cannot be read.
    """
    data = read_bytes(path)
    names = _names(data, path)
    layout = get_layout(columns) if columns is not None and "=" not in columns else None
    if columns is None and format is None:
        layout = layout_of_columns(names)
    if layout is not None:
        return _select_jobs(_table_jobs(data, path, layout), where, path)
    if columns is not None:
        trace = read_trace(path, columns=_known_roles(columns), lenient=lenient, where=where, format=format)
        return _join(trace, _by_roles(data, path, columns), path, cancelled)
    text = decode_text(data, path)
    if looks_like_sacct(text[:100_000]):
        trace = read_trace(path, lenient=lenient, where=where, format=format)
        return _join(trace, _of_sacct(text, path), path, cancelled)
    if format == "swf" or (format is None and looks_like_swf(text[:100_000])):
        trace = read_trace(path, lenient=lenient, unit="processors", where=where, format=format)
        return _join(trace, _of_swf(text), path, cancelled)
    trace = read_trace(path, lenient=lenient, where=where, format=format)
    trace = keep_cancelled_jobs(trace) if cancelled else trace
    return _join(trace, _of_sizes(trace), path, cancelled)


def is_job_table(path: str | Path) -> bool:
    """Whether a file is a job table, and not a log."""
    data = read_bytes(path)
    if data.startswith(_PARQUET):
        return layout_of_columns(_names(data, path)) is None
    return looks_like_job_table(decode_text(data, path)[:100_000])


def _of_sizes(trace: Trace) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Raw columns of a log that records nothing but sizes."""
    for job in trace.jobs:
        size = {"nodes" if trace.unit == "nodes" else "processors": str(job.nodes)}
        yield job.job_id, {**size, "partition": job.partition, "qos": job.qos, "account": job.project}


def _select_jobs(log: LogRequests, where: Where | None, path: str | Path) -> LogRequests:
    """The wanted jobs of a table."""
    choice = Choice.of(where)
    if not choice:
        return log
    trace = log.trace
    # The selection keeps no places: numbers stand for them, and for the ids.
    numbered = replace(trace, jobs=trace.jobs.with_columns(job_id=np.arange(len(trace.jobs))))
    chosen = select(numbered, choice, path)
    if not isinstance(chosen, Trace):
        raise TraceError(path, None, "is a job table, but a log is required")
    places = chosen.jobs.column("job_id").tolist()
    return replace(log, jobs=tuple(log.jobs[place] for place in places), excluded=Counter(chosen.excluded))


def _join(
    trace: Trace, rows: Iterator[tuple[int, Mapping[str, str]]], path: str | Path, cancelled: bool
) -> LogRequests:
    """The jobs that a reader keeps, with their requests by id."""
    remarks: Counter[str] = Counter()
    # A line of cancelled jobs of an array is the request of each.
    lines: dict[int, int] = {}
    if cancelled:
        lines = {job.job_id: item.job.job_id for item in trace.withdrawn for job in item.jobs()}
        trace = keep_cancelled_jobs(trace)
    table = trace.jobs
    ids = table.column("job_id").tolist()
    wanted = {*ids, *lines.values()}
    requests: dict[int, ResourceRequest] = {}
    for job_id, raw in rows:
        if job_id in wanted:
            requests[job_id], noted = _request(tuple(raw.items()))
            remarks.update(noted)
    if not requests:
        raise TraceError(path, None, "its jobs have no requests that can be read")
    asked = [
        requests.get(lines.get(job_id, job_id)) or ResourceRequest(tasks=nodes)
        for job_id, nodes in zip(ids, table.column("nodes").tolist(), strict=True)
    ]
    times = [column.tolist() for column in (table.queued, table.column("walltime"), table.column("runtime"))]
    starts = [None if math.isnan(start) else start for start in table.starts.tolist()]
    jobs = tuple(map(RecordedJob, ids, *times, starts, table.texts("user"), asked))
    return LogRequests(jobs, remarks, Path(path).name, Counter(trace.excluded), trace)


@lru_cache(4096)  # most jobs ask for what another one did
def _request(columns: tuple[tuple[str, str], ...]) -> tuple[ResourceRequest, Mapping[str, int]]:
    """The request in raw columns, and remarks on their interpretation."""
    remarks: Counter[str] = Counter()
    try:
        return request_of_row(dict(columns), remarks), remarks
    except ValueError:
        remarks[BROKEN] += 1
        return ResourceRequest(), remarks


# SWF.


def _of_swf(text: str) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Raw columns of each line; a queue is read as a QOS, so that limits may be for it."""
    for line in text.splitlines():
        if line.lstrip().startswith(";"):
            continue
        fields = line.split(None, 18)
        if len(fields) < 16:
            continue
        try:
            job_id = integer(fields[0])
            used, asked = decimal(fields[4]), decimal(fields[7])
            memory = decimal(fields[9])
        except ValueError:
            continue
        processors = int(asked if asked > 0 else used)
        raw = {"processors": str(processors), "account": fields[12]}
        if len(fields) > 18 and fields[18].startswith("{"):
            raw |= _of_alea(fields[18], processors)
            if memory > 0:
                # Alea's own unit: bytes of a node.
                raw["memory"] = repr(memory / 2**20)
        else:
            raw |= {"partition": fields[15], "qos": fields[14]}
            if memory > 0:
                raw["memory"] = f"{memory:.0f}Kc"
        yield job_id, raw


def _of_alea(further: str, processors: int) -> dict[str, str]:
    """Nodes, processors of each and cluster of ``{7,7} q_1d 1:ppn=2:x86_64:cl_zewura#excl``."""
    words = further.rpartition("}")[2].split()
    chunks = [_CHUNK.fullmatch(part) for part in words[-1].split("+")] if words else []
    matches = [chunk for chunk in chunks if chunk is not None]
    found = {"qos": words[-2]} if len(words) > 1 else {}
    if not matches or len(matches) < len(chunks) or len({chunk[2] for chunk in matches}) > 1:
        return found
    nodes = sum(int(chunk[1]) for chunk in matches)
    each = int(matches[0][2] or 1)
    if nodes * each != processors:
        return found
    # Only clusters distinguish nodes; nfs4, x86_64 and the like were on all of them.
    clusters = {word for chunk in matches for word in chunk[3].split(":") if word.startswith("cl_")}
    found |= {"nodes": str(nodes), "cores": str(each)}
    if len(clusters) == 1:
        found["features"] = clusters.pop()
    if matches[0][4]:
        found["exclusive"] = "yes"
    return found


# sacct.


def _of_sacct(text: str, path: str | Path) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Raw columns of each job; of what was requested before what was allocated."""
    form = detect_form(text, path)
    columns = Columns(form.names)
    places = {
        "tres": columns.find("ReqTRES"), "allocated": columns.find("AllocTRES", "AllocGRES"),
        "memory": columns.find("ReqMem"), "nodes": columns.find("ReqNodes"),
        "given": columns.find("NNodes", "AllocNodes"),
        "processors": columns.find("ReqCPUS"), "cpus": columns.find("NCPUS", "AllocCPUS"),
        "partition": columns.find("Partition"), "qos": columns.find("QOS"), "account": columns.find("Account"),
        "features": columns.find("Constraints"), "generic": columns.find("ReqGRES"),
    }  # fmt: skip
    raw_id, shown_id = columns.find("JobIDRaw", "JobID"), columns.find("JobID", "JobIDRaw")
    for _, line in form.records():
        try:
            cells = form.cells(line)
            ids = cells[shown_id if shown_id is not None else 0].strip()
            array = ARRAY.fullmatch(ids)
            if array is not None:
                # Tasks that never started: the reader names their line by the first of them.
                job_id = expand_tasks(array)[0][0]
            else:
                job_id = parse_job_id(ids if is_part(ids) else cells[raw_id if raw_id is not None else 0].strip())
        except (ValueError, IndexError):
            continue
        row = {name: parse_text(cells[place]) for name, place in places.items() if place is not None}
        yield job_id, _slurm_raw(row)


def _slurm_raw(row: Mapping[str, str]) -> dict[str, str]:
    """One set of columns; trackable resources of the request say most."""
    tres = row.get("tres") or row.get("allocated", "")
    raw = {name: row[name] for name in ("partition", "qos", "account", "features") if row.get(name)}
    if "=" in tres:
        raw["tres"] = tres
    elif tres or row.get("generic"):
        raw["gpus"] = tres or row["generic"]
    if "=" not in tres or "cpu=" not in tres:
        raw |= {
            "processors": row.get("processors") or row.get("cpus", ""),
            "nodes": row.get("given") or row.get("nodes", ""),
        }
    elif "node=" not in tres and row.get("given"):
        raw["nodes"] = row["given"]
    if "mem=" not in tres and row.get("memory"):
        memory = row["memory"]
        raw["memory" if memory[-1:].lower() in "cn" else "memory_total"] = memory
    return raw


# Tables.


def _names(data: bytes, path: str | Path) -> list[str]:
    if data.startswith(_PARQUET):
        return [name.strip().lower() for name in parquet_blocks(data, path, 1)[0]]
    head = data[:200_000].decode("utf-8-sig", "replace").partition("\n")[0]
    return [name.strip().lower() for name in next(csv.reader([head]), [])]


def _rows(data: bytes, path: str | Path) -> Iterator[tuple[int, Sequence[str]]]:
    """Each row with its number, from 1."""
    if data.startswith(_PARQUET):
        blocks = parquet_blocks(data, path, _BLOCK)[1]
        rows = chain.from_iterable(zip(*block, strict=True) for block, _ in blocks)
        yield from enumerate(rows, 1)
        return
    lines = csv.reader(lines_with_ends(decode_text(data, path)))
    width = len(next(lines, []))
    try:
        for number, row in enumerate((row for row in lines if row), 1):
            if len(row) != width:
                raise TraceError(
                    path, lines.line_num, f"a row must have {width} fields like the header, not {len(row)}"
                )
            yield number, row
    except csv.Error as error:
        raise TraceError(path, lines.line_num, str(error)) from None


def _known_roles(columns: str) -> str:
    """The roles that are for the reader of tables, which refuses unknown ones."""
    from holdfast.workloads.logs.column_roles import REQUEST_ROLES

    return ",".join(part for part in columns.split(",") if part.partition("=")[0].strip().lower() not in REQUEST_ROLES)


def _by_roles(data: bytes, path: str | Path, columns: str) -> Iterator[tuple[int, Mapping[str, str]]]:
    roles = roles_of_requests(columns)
    named = {
        part.partition("=")[0].strip().lower(): part.partition("=")[2].strip().lower() for part in columns.split(",")
    }
    names = _names(data, path)
    read = _reader(names, roles, path)
    place = names.index(named["id"]) if named.get("id") in names else None
    for number, row in _rows(data, path):
        text = "" if place is None else row[place].strip()
        yield (int(text) if text.isdecimal() else number), read(row)


def _reader(
    names: Sequence[str], roles: Mapping[str, tuple[str, float]], path: str | Path
) -> Callable[[Sequence[str]], dict[str, str]]:
    """Raw columns from the cells of a row."""
    places = {role: (names.index(column), scale) for role, (column, scale) in roles.items() if column in names}
    missing = [f"{column} ({role})" for role, (column, _) in roles.items() if column not in names]
    if len(missing) == len(roles):
        raise TraceError(path, None, f"there is no column {missing[0]}; the columns are {', '.join(names[:20])}")

    def read(row: Sequence[str]) -> dict[str, str]:
        raw = {}
        for role, (place, scale) in places.items():
            text = row[place].strip()
            if scale != 1.0 and text:
                try:
                    text = repr(decimal(text) * scale)
                except ValueError:
                    text = row[place]
            raw[role] = text
        return raw

    return read


class _Times(NamedTuple):
    """Times of a job in a data set [s], ``interval`` since the submit of the job before; None: unknown."""

    submit: float | None
    start: float | None
    runtime: float | None
    walltime: float | None
    interval: float | None


class _DataSetCells:
    """Cells of the rows of a data set that are not about the request.

    Parameters
    ----------
    names
        Names of all columns.
    layout
        The data set.

    Attributes
    ----------
    has_intervals
        Whether submits are known by the intervals between them.
    """

    def __init__(self, names: Sequence[str], layout: Layout) -> None:
        self._places = {
            role: (names.index(column), scale) for role, (column, scale) in layout.times.items() if column in names
        }
        self.has_intervals = "interval" in self._places
        self._gpu_share = names.index("gpu_milli") if "gpu_milli" in names else None

    def text(self, row: Sequence[str], role: str) -> str:
        """A cell; empty without such a column."""
        column = self._places.get(role)
        return "" if column is None else row[column[0]].strip()

    def times(self, row: Sequence[str]) -> _Times:
        """The times of a job; a ValueError with a sentence if one is illegal."""
        submit, start, end = self._time(row, "submit"), self._time(row, "start"), self._time(row, "end")
        runtime, walltime = self._time(row, "runtime"), self._time(row, "walltime")
        if runtime is None and start is not None and end is not None:
            runtime = end - start
        return _Times(submit, start, runtime, walltime, self._time(row, "interval"))

    def _time(self, row: Sequence[str], role: str) -> float | None:
        column = self._places.get(role)
        if column is None:
            return None
        place, scale = column
        text = row[place].strip()
        if text.lower() in _NO_TIME:
            return None
        try:
            return decimal(text) * scale
        except ValueError:
            return seconds_of_date(text, role)

    def is_fraction(self, row: Sequence[str]) -> bool:
        """Whether the job asks for less than a whole GPU, which has a column of thousandths."""
        if self._gpu_share is None:
            return False
        try:
            return 0 < decimal(row[self._gpu_share] or "0") < 1000
        except ValueError:
            return False


def _table_jobs(data: bytes, path: str | Path, layout: Layout) -> LogRequests:
    """The jobs of a public data set."""
    names = _names(data, path)
    read, cells = _reader(names, layout.request, path), _DataSetCells(names, layout)
    excluded: Counter[str] = Counter()
    remarks: Counter[str] = Counter()
    jobs = []
    clock = 0.0
    for number, row in _rows(data, path):
        try:
            submit, start, runtime, walltime, interval = cells.times(row)
        except ValueError as error:
            raise TraceError(path, number + 1, str(error)) from None
        if cells.has_intervals:
            clock += interval or 0.0
            submit = clock
        if submit is None or runtime is None or not runtime > 0:
            excluded["no runtime" if runtime is not None else "never ran"] += 1
            continue
        request, noted = _request(tuple(read(row).items()))
        remarks.update(noted)
        if request.gpus and cells.is_fraction(row):
            remarks[FRACTION] += 1
        if layout.whole_nodes:
            request = request._replace(exclusive=True)
        if not walltime or walltime <= 0:
            remarks[NO_WALLTIME] += 1
            walltime = runtime
        id = cells.text(row, "id")
        job_id = int(id) if id.isdecimal() else number
        user = cells.text(row, "user")
        jobs.append(RecordedJob(job_id, submit, walltime, min(runtime, walltime), start, user, request))
    if not jobs:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in excluded.most_common(3))
        raise TraceError(path, None, f"no job is left ({reasons or 'the file has no rows'})")
    return LogRequests(tuple(jobs), remarks, f"{Path(path).name}: {layout.title}", excluded)
