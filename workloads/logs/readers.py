"""The registry of readers: reads any workload file, in a named format or one recognised by its content."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

from holdfast.workloads.ground.errors import InputError, ParameterError, TraceError
from holdfast.workloads.ground.files import decode_text, file_sha256, read_bytes
from holdfast.workloads.ground.registry import Registry
from holdfast.workloads.logs import alcf, sacct, swf
from holdfast.workloads.logs.alcf import looks_like_alcf, parse_alcf
from holdfast.workloads.logs.column_log import column_names, looks_like_layout, parse_columns
from holdfast.workloads.logs.column_roles import ROLES, ColumnNames, find_layout, parse_roles
from holdfast.workloads.logs.filters import Choice, Where
from holdfast.workloads.logs.job_selection import JOB_COLUMNS, TABLE_COLUMNS, select
from holdfast.workloads.logs.request_layouts import layout_of_columns
from holdfast.workloads.logs.sacct import looks_like_sacct, parse_sacct
from holdfast.workloads.logs.squeue import looks_like_squeue
from holdfast.workloads.logs.swf import looks_like_swf, parse_swf
from holdfast.workloads.logs.trace import Trace
from holdfast.workloads.table.job_table import PARQUET_MAGIC, JobTable, looks_like_job_table, parse_job_table

__all__ = ["READERS", "Reader", "Zone", "file_sha256", "read_trace", "read_workload", "records_local_time"]

#: Length of the beginning of a file that is used to recognise its format [characters].
_HEAD = 65536
#: Name of the format of tables with named columns.
COLUMNS = "columns"


class _Parse(Protocol):
    def __call__(
        self, data: bytes, path: str | Path, *, lenient: bool, procs_per_node: int | None
    ) -> Trace | JobTable: ...


class Zone(StrEnum):
    """Time zone of the times in a format."""

    UTC = "UTC"
    LOCAL = "local time"
    FILE = "as the file says"


@dataclass(frozen=True)
class Reader:
    """One format; the source for help, messages, docs/reference/formats.md and the fuzz cases.

    Attributes
    ----------
    recognises
        Whether the first characters of a text are those of this format.
    parse
        Content of a file (decompressed) and its name for messages to a trace or job table. Keywords: ``lenient``,
        ``procs_per_node``.
    chooses
        Whether ``parse`` has the keyword ``choice``, too (:class:`~holdfast.workloads.logs.filters.Choice`), to select
        jobs by the columns of its file. For other formats :func:`holdfast.workloads.logs.job_selection.select` selects
        the jobs that were read.
    maps
        Whether it has the keyword ``columns`` (:func:`~holdfast.workloads.logs.column_roles.parse_roles`).
    columns
        Columns of the file by the names that ``where`` has for them in all logs.
    further
        Whether ``where`` may name any other column of the file.
    zone
        Zone of its times. A log with the header entry ``Clock: local`` has local time in any case.
    log
        Whether it is a log; else a job table, in which everything is decided.
    example
        A small file of this format.
    """

    recognises: Callable[[str], bool]
    parse: _Parse
    chooses: bool = False
    maps: bool = False
    columns: Mapping[str, Sequence[str]] = field(default_factory=lambda: JOB_COLUMNS)
    further: bool = False
    zone: Zone = Zone.UTC
    log: bool = True
    example: str = ""


class _TraceParser(Protocol):
    def __call__(self, text: str, path: str | Path, *, lenient: bool, procs_per_node: int | None) -> Trace: ...


def _log(parse: _TraceParser) -> _Parse:
    def parse_bytes(data: bytes, path: str | Path, **options: Any) -> Trace:
        return parse(decode_text(data, path), path, **options)

    return parse_bytes


def _parse_table(data: bytes, path: str | Path, *, lenient: bool, procs_per_node: int | None) -> JobTable:
    if procs_per_node is not None:
        raise ParameterError("procs_per_node", "left out for a job table, which counts nodes", procs_per_node)
    # Leniency is for logs: a table in which everything is decided has no broken lines to overlook.
    return parse_job_table(data, path)


def _reader(plugin: Any) -> Reader:
    """Convert a plug-in to a reader; it may be a plain function, with a format that must be named explicitly."""
    if isinstance(plugin, Reader):
        return plugin
    if not callable(plugin):
        raise InputError("must be a Reader, or a function of a text and its path")
    return Reader(lambda head: False, _log(plugin))


#: The formats by name, asked in this order.
READERS: Registry[Reader] = Registry("format", "holdfast.readers", _reader)
READERS.add(
    "job-table",
    Reader(
        looks_like_job_table,
        _parse_table,
        columns=TABLE_COLUMNS,
        log=False,
        example="job_id,type,submit,nodes,runtime,walltime\n1,rigid,0,8,7200,9000\n2,on-demand,2400,9,1800,3600\n",
    ),
    "Holdfast's own job table, CSV or Parquet",
)
READERS.add(
    "alcf",
    Reader(
        looks_like_alcf,
        _log(parse_alcf),
        chooses=True,
        columns=alcf.COLUMNS,
        further=True,
        zone=Zone.LOCAL,
        example=alcf.EXAMPLE,
    ),
    "job logs of the Argonne Leadership Computing Facility",
)
READERS.add(
    "sacct",
    Reader(
        looks_like_sacct,
        _log(parse_sacct),
        chooses=True,
        columns=sacct.COLUMNS,
        further=True,
        zone=Zone.FILE,
        example=sacct.EXAMPLE,
    ),
    "Slurm accounting, as sacct --parsable2 prints it",
)
READERS.add(
    "swf",
    Reader(
        looks_like_swf,
        parse_swf,
        chooses=True,
        columns={name: (f"field {place + 1}",) for name, place in swf.FIELDS.items()},
        zone=Zone.FILE,
        example=swf.EXAMPLE,
    ),
    "Standard Workload Format (Parallel Workloads Archive)",
)
READERS.add(
    COLUMNS,
    Reader(
        looks_like_layout,
        parse_columns,
        chooses=True,
        maps=True,
        columns={role: (role,) for role in ROLES},
        further=True,
        zone=Zone.FILE,
        example="job_id,submit_time,start_time,end_time,num_nodes_alloc,time_limit,job_state\n"
        "1,1650000000,1650000060,1650003660,4,120,COMPLETED\n2,1650000100,1650000160,1650000760,2,60,COMPLETED\n",
    ),
    "CSV or Parquet table with named columns; PM100 and F-DATA are recognised",
)


def records_local_time(format: str, header: Mapping[str, str]) -> bool:
    """Whether the dates of a log are local time without their zone, by its format or its header."""
    local = format in READERS and READERS[format].zone is Zone.LOCAL
    return local or header.get("Clock") == "local"


def read_workload(
    path: str | Path,
    *,
    format: str | None = None,
    lenient: bool = False,
    procs_per_node: int | None = None,
    where: Where | None = None,
    unit: str | None = None,
    columns: ColumnNames | None = None,
) -> Trace | JobTable:
    """Read a workload file.

    Parameters
    ----------
    path
        A file, plain or gzip.
    format
        A name of :data:`READERS`; None: recognised by the content.
    lenient
        Count broken lines of a log instead of refusing it. A job table is always read strictly.
    procs_per_node
        For logs that count processors: convert them to nodes.
    where
        Jobs of a log that are read, by what its columns hold: ``"partition=batch,debug"``, ``["partition=batch",
        "user!=root"]`` or ``{"partition": "batch"}``. Legal names are the ``columns`` of the :class:`Reader`, and where
        it has ``further`` all columns of the file. None: all jobs.
    unit
        ``nodes`` or ``processors`` (``cores``), whichever the sizes of jobs shall count; None: as the log does.
    columns
        Of a CSV or Parquet table of another site: its columns by role, ``"submit=submit_time,nodes=num_nodes_alloc,
        start=start_time,end=end_time,walltime=time_limit:min"`` or a mapping; the roles are those of
        :func:`~holdfast.workloads.logs.column_roles.parse_roles`. The layouts ``"pm100"`` and ``"f-data"`` are known,
        and recognised without a name. None: a file of one of the formats.

    Returns
    -------
    Trace or JobTable
        A log, or a workload with all random choices made.

    Raises
    ------
    TraceError
        If it cannot be read in its format; gives the line.
    UnknownNameError
        If the format is unknown.
    ParameterError
        If ``procs_per_node``, ``where``, ``unit`` or ``columns`` makes no sense for the format.
    """
    named = READERS[format] if format is not None else None
    if columns is not None:
        parse_roles(columns)
        named = named or READERS[COLUMNS]
        if not named.maps:
            raise ParameterError("columns", f"left out with the format {format}", columns)
    choice = Choice.of(where, unit)
    data = read_bytes(path)
    reader = named or READERS[_recognise_format(data, path)]
    options: dict[str, Any] = {"lenient": lenient, "procs_per_node": procs_per_node}
    if choice and reader.chooses:
        options["choice"] = choice
    if columns is not None:
        options["columns"] = columns
    workload = reader.parse(data, path, **options)
    if not isinstance(workload, Trace | JobTable):
        raise InputError(f"the reader {format} must return a Trace, not {type(workload).__name__}")
    if reader.zone is Zone.LOCAL and isinstance(workload, Trace) and workload.format not in READERS:
        # The reader of a plug-in is not known by the format of its trace.
        workload = replace(workload, header={**workload.header, "Clock": "local"})
    return select(workload, choice, path) if choice and not reader.chooses else workload


def read_trace(
    path: str | Path,
    *,
    format: str | None = None,
    lenient: bool = False,
    procs_per_node: int | None = None,
    where: Where | None = None,
    unit: str | None = None,
    columns: ColumnNames | None = None,
) -> Trace:
    """Read a log; see :func:`read_workload`.

    Raises
    ------
    TraceError
        Also if the file is a job table.
    """
    workload = read_workload(
        path, format=format, lenient=lenient, procs_per_node=procs_per_node, where=where, unit=unit, columns=columns
    )
    if not isinstance(workload, Trace):
        raise TraceError(path, None, "is a job table, but a trace is required")
    return workload


def _recognise_format(data: bytes, path: str | Path) -> str:
    if data.startswith(PARQUET_MAGIC):
        names = column_names(data, path)
        if find_layout(names) is not None:
            return COLUMNS
        _refuse_requests(names, path)
        return "job-table"
    # Cut at a line end, or a character of several bytes might be cut in two.
    head = decode_text(data[: data.find(b"\n", _HEAD) + 1 or None], path)
    if looks_like_squeue(head):
        raise TraceError(
            path,
            None,
            "is the output of squeue, which has no past jobs: a forecast reads it beside a log, as 'holdfast forecast "
            f"LOG --queue {path}'",
        )
    for name in READERS:
        if READERS[name].recognises(head):
            return name
    # Formats of installed packages are tried last, so they cannot claim files of built-in formats.
    for name in READERS.listing():
        if name not in READERS and READERS[name].recognises(head):
            return name
    names = head.partition("\n")[0].split(",")
    _refuse_requests(names, path)
    message = f"format not recognised; choose one with --format {', '.join(READERS)}"
    if len(names) > 1:
        message += "; name the columns of a table with --columns"
    raise TraceError(path, None, message)


def _refuse_requests(names: Iterable[str], path: str | Path) -> None:
    """Refuse a data set with requests for parts of nodes, which need a machine that has such parts."""
    layout = layout_of_columns(names)
    if layout is not None:
        message = f"is {layout.title}, whose jobs request parts of nodes; give the machine as --machine FILE"
        raise TraceError(path, None, message)
