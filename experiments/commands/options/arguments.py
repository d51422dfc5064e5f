"""Options that several commands share, and their legal values."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

from holdfast.workloads.ground.errors import InputError, OutputError, ParameterError
from holdfast.workloads.ground.job_ids import parse_job_id
from holdfast.workloads.ground.numbers import integer
from holdfast.workloads.ground.parameters import Group, Nodes, Parameter, Values, shorten

if TYPE_CHECKING:
    from holdfast.workloads.hybrid.type_mix import Assignment
    from holdfast.workloads.logs.trace import Trace

__all__ = [
    "JOB_ID",
    "Classes",
    "LogReading",
    "PaperReading",
    "TrustOption",
    "assume_size",
    "check_outputs",
    "check_plan",
    "choose_machine_size",
    "chosen_run",
    "given_options",
    "json_file",
    "machine_size",
    "new_directory",
    "read_log",
    "read_options",
    "reading_entry",
]


_TRUST = Parameter("import plug-ins that a file names by import path (my.module:mine), which runs their code")
#: Option of commands that read names of plug-ins from files, which may be untrusted.
TrustOption = Annotated[bool, _TRUST]


def chosen_run(place: str = "DIR") -> Parameter:
    """The option of commands that read one of the runs of a directory."""
    return Parameter(
        "run to read: a mechanism, or a label or parts of it, as 'sjf / easy'",
        default=f"the only one in {place}",
        names=("--run", "--mechanism"),
    )


def json_file(group: str = "") -> Parameter:
    """The option of commands that write a JSON document; ``-`` is standard output, and then nothing else is printed."""
    return Parameter("print only JSON, or write it into FILE", default="text", metavar="FILE", group=group, bare="-")


#: Groups of options in the help.
READING = "reading"
DETAILS = "details of reading"


def machine_size(about: str = "number of nodes of the machine") -> Parameter:
    """The option for the size of the machine of a log."""
    return Parameter(about, default="from the trace", group=READING)


@dataclass(eq=False, repr=False)
class LogReading:
    """Options for reading a trace.

    Attributes
    ----------
    where, unit
        As in :class:`holdfast.workloads.logs.filters.Choice`.
    format, columns, procs_per_node, lenient
        As in :func:`holdfast.workloads.logs.readers.read_workload`.
    trust
        Whether files may name plug-ins by import path.
    """

    where: Annotated[
        tuple[str, ...],
        Parameter(
            "jobs of a log to read, such as partition=batch,debug or user!=root; may be repeated",
            default="all",
            metavar="COLUMN=VALUE,...",
            group=READING,
            repeated=True,
        ),
    ] = ()
    unit: Annotated[
        str | None,
        Parameter("unit of sizes", default="those of the trace", metavar="{nodes,processors}", group=READING),
    ] = None
    format: Annotated[
        str | None,
        Parameter("format", default="recognised", group=DETAILS, names_in="holdfast.workloads.logs.readers:READERS"),
    ] = None
    columns: Annotated[
        str | None,
        Parameter(
            "columns of a CSV or Parquet table, such as submit=submit_time,nodes=num_nodes_alloc, or pm100 or f-data",
            default="recognised",
            metavar="ROLE=COLUMN",
            group=DETAILS,
        ),
    ] = None
    procs_per_node: Annotated[
        Nodes | None,
        Parameter("processors of a node, where the trace counts processors", default="1", group=DETAILS),
    ] = None
    lenient: Annotated[
        bool, Parameter("skip and count broken lines instead of stopping at the first", group=DETAILS)
    ] = False
    trust: Annotated[TrustOption, Group(DETAILS)] = False


class ReadOptions(TypedDict):
    """Keyword arguments of the readers."""

    format: str | None
    lenient: bool
    procs_per_node: int | None
    where: list[str] | None
    unit: str | None
    columns: str | None


#: Options that are recorded only if they are given.
_RARE = ("where", "unit", "columns")


def given_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of the readers for ``run.json``; rare ones only if they are given."""
    return {name: value for name, value in options.items() if value is not None or name not in _RARE}


def read_options(reading: LogReading) -> ReadOptions:
    """Keyword arguments of the readers.

    Raises
    ------
    ParameterError
        If a choice of jobs, a unit or a role of a column is not legal.
    """
    from holdfast.workloads.logs.column_roles import parse_roles
    from holdfast.workloads.logs.filters import Choice

    where = list(reading.where) or None
    try:
        Choice.of(where, reading.unit)
    except ParameterError as error:
        given = reading.unit if error.parameter == "unit" else " ".join(reading.where)
        raise ParameterError(f"--{error.parameter}", error.legal, shorten(given or "")) from None
    if reading.columns is not None:
        try:
            parse_roles(reading.columns)
        except ParameterError as error:
            raise ParameterError("--columns", error.legal, shorten(reading.columns)) from None
    return ReadOptions(
        format=reading.format,
        lenient=reading.lenient,
        procs_per_node=reading.procs_per_node,
        where=where,
        unit=reading.unit,
        columns=reading.columns,
    )


def read_log(path: str | Path, reading: LogReading, nodes: int | None) -> Trace:
    """Read a log; the size of its machine is assumed if neither ``--nodes`` nor the log gives it."""
    from holdfast.workloads.logs.readers import read_trace

    return assume_size(read_trace(path, **read_options(reading)), nodes)


def assume_size(trace: Trace, nodes: int | None) -> Trace:
    """Assume the size of the machine if neither ``--nodes`` nor the log gives it."""
    from holdfast.workloads.logs.machine_size import with_assumed_size

    return with_assumed_size(trace) if nodes is None else trace


def choose_machine_size(nodes: int | None, trace: Trace | None, source: str | Path) -> int:
    """Size of the machine: ``--nodes``, otherwise from the header of the trace."""
    if nodes is not None:
        return nodes
    if trace is None or trace.nodes is None:
        what = "a job table" if trace is None else "this trace"
        raise InputError(f"{source}: {what} does not record the size of the machine; give it with --nodes")
    return trace.nodes


@dataclass(eq=False, repr=False)
class PaperReading:
    """Option for the interpretation of the hybrid paper.

    On the command line, an interpretation sets the defaults of the other options.

    Attributes
    ----------
    reading
        Its name; None: each option has its own default.
    given
        Result of argparse.
    """

    reading: Annotated[
        str | None,
        Parameter(
            "reading of the hybrid paper, which sets the defaults of other options: default, paper (nearest levels) "
            "or claims (most of its claims), see docs/model.md",
            default="=default",
        ),
    ] = None
    given: argparse.Namespace = field(default_factory=argparse.Namespace)


def reading_entry(paper: PaperReading) -> dict[str, Any]:
    """Entry of ``run.json`` with the interpretation of the paper, and the options that deviate from it."""
    from holdfast.experiments.paper_readings import find_reading, option_defaults

    if paper.reading is None:
        return {}
    defaults = option_defaults(find_reading(paper.reading))
    given = {name: getattr(paper.given, name, None) for name in defaults}
    words = {name: ",".join(map(str, word)) if isinstance(word, tuple) else str(word) for name, word in given.items()}
    changed = [name for name in defaults if given[name] is not None and words[name] != defaults[name]]
    return {"reading": {"name": paper.reading, "changed": changed}}


def check_plan(assignment: Assignment) -> None:
    """Refuse an unknown planning strategy of stochastic jobs.

    Raises
    ------
    InputError
        With the legal values.
    """
    if assignment.stochastic_share and not assignment.plan.endswith(".json"):
        from holdfast.policies.planning.planner import parse_strategy

        parse_strategy(assignment.plan)


def check_outputs(document: str | None, picture: str | None) -> None:
    """Refuse files that cannot be written, before any is written.

    Parameters
    ----------
    document
        A file; ``-`` is standard output, None: none.
    picture
        Name of a figure without ``.png`` and ``.pdf``; None: none.
    """
    for path in (document, picture):
        if path is not None and path != "-" and not Path(path).absolute().parent.is_dir():
            raise OutputError(f"{path}: cannot be written: {Path(path).parent} is not a directory")
    pictures = [f"{picture}.{kind}" for kind in ("png", "pdf")] if picture else []
    for path in (document, *pictures):
        if path is not None and Path(path).is_dir():
            raise OutputError(f"{path}: cannot be written: is a directory")


def new_directory(text: str) -> Path:
    """Check an output path that must not exist or must be an empty directory."""
    place = Path(text).absolute()
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise InputError(f"{text}: is there already; take a new directory")
    if not place.parent.is_dir():
        raise InputError(f"{text}: cannot be made: {place.parent} is not a directory")
    return place


def _job_id(text: str) -> int:
    try:
        value = parse_job_id(text)
    except ValueError:
        value = -1
    if value < 0:
        raise ParameterError("", "the id of a job, such as 287, or 287_1 of a task of an array", shorten(text))
    return value


def _classes(text: str) -> tuple[int, ...]:
    try:
        ends = [integer(word) for word in text.split(",")]
    except ValueError:
        ends = []
    if not ends or min(ends) < 1 or sorted(set(ends)) != ends:
        raise ParameterError("", "ascending sizes in nodes, separated by commas, such as 128,512,2048", text)
    return tuple(ends)


#: The id of a job or of a task of an array, ``287_1``.
JOB_ID = Values("N", _job_id)
#: Upper bounds of all size classes but the last.
Classes = Annotated[
    tuple[int, ...] | None,
    Values("N,N,...", _classes),
    Parameter("upper bounds of all size classes but the last [nodes]", default="powers of two with enough jobs each"),
]
