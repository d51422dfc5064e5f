"""Options that several commands share, and the values that they may have."""

from __future__ import annotations

import argparse
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from workloads.ground.errors import InputError, OutputError, ParameterError
from workloads.ground.fields import LARGEST_WHOLE
from workloads.ground.jobids import parse_job_id
from workloads.ground.numbers import decimal, integer
from workloads.ground.units import LARGEST_SIZE, LARGEST_TIME, parse_duration

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workloads.hybrid.assignment import Assignment
    from workloads.logs.trace import Trace

__all__ = [
    "add_choice",
    "add_preparation",
    "add_reading",
    "assignment_of",
    "check_outputs",
    "classes_of",
    "duration",
    "machine_of",
    "new_directory",
    "number",
    "read_job_id",
    "read_log",
    "read_options",
    "share",
    "sized",
    "told_options",
    "whole",
]


def whole(text: str, option: str, least: int = 0, most: int = LARGEST_WHOLE) -> int:
    """Read a whole number from ``least`` to ``most``."""
    try:
        value = integer(text)
    except ValueError:  # also of thousands of digits
        value = most + 1 if text.isascii() and text.strip().isdecimal() else least - 1
    if value < least:
        raise ParameterError(option, f"a whole number of at least {least}", shortened(text))
    if value > most:
        raise ParameterError(option, f"a whole number of at most {most:,}", shortened(text))
    return value


def read_job_id(text: str, option: str) -> int:
    """Read the id of a job, also that of a task of an array, ``287_1``."""
    try:
        value = parse_job_id(text)
    except ValueError:
        value = -1
    if value < 0:
        raise ParameterError(option, "the id of a job, such as 287, or 287_1 of a task of an array", shortened(text))
    return value


def shortened(text: str) -> str:
    """Cut a long word of the command line for a message."""
    return text if len(text) <= 60 else f"{text[:57]}..."


def number(text: str, option: str) -> float:
    """Read a positive number."""
    try:
        value = decimal(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise ParameterError(option, "a positive number", text)
    return value


def share(text: str, option: str) -> float:
    """Read a share from 0 to 1."""
    try:
        value = decimal(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise ParameterError(option, "a share from 0 to 1", text)
    return value


def duration(text: str, option: str, most: float = LARGEST_TIME) -> float:
    """Read a duration from 0 to ``most`` [s]."""
    value = parse_duration(text, option, most)
    if value < 0:
        raise ParameterError(option, "a duration of at least 0", text)
    return value


def add_trust(parser: argparse._ActionsContainer) -> None:
    """Add the option of commands that read names from files, which may be other people's."""
    parser.add_argument(
        "--trust",
        action="store_true",
        help="import plug-ins that a file names by import path (my.module:mine), which runs their code",
    )


def add_choice(parser: argparse.ArgumentParser, place: str = "DIR") -> None:
    """Add the option of commands that read one of the runs of a directory."""
    parser.add_argument(
        "--run",
        "--mechanism",
        metavar="NAME",
        dest="mechanism",
        help=f"run to read: a mechanism, or a label or parts of it, as 'sjf / easy' (default: the only one in {place})",
    )


def add_reading(
    parser: argparse.ArgumentParser, machine: str = "--nodes", about: str = "number of nodes of the machine"
) -> None:
    """Add the options of reading a trace; ``machine`` names the one for the size of the machine."""
    group = parser.add_argument_group("reading")
    group.add_argument(machine, metavar="N", help=f"{about} (default: from the trace)")
    group.add_argument(
        "--where",
        metavar="COLUMN=VALUE,...",
        action="append",
        help="jobs of a log to read, such as partition=batch,debug or user!=root; may be repeated (default: all)",
    )
    group.add_argument(
        "--unit",
        metavar="{nodes,processors}",
        help="unit of sizes (default: those of the trace)",
    )
    details = parser.add_argument_group("details of reading")
    details.add_argument(
        "--format", metavar="NAME", help="format: swf, alcf, sacct, columns or job-table (default: recognised)"
    )
    details.add_argument(
        "--columns",
        metavar="ROLE=COLUMN",
        help="columns of a CSV or Parquet table, such as submit=submit_time,nodes=num_nodes_alloc, or pm100 or f-data "
        "(default: recognised)",
    )
    details.add_argument(
        "--procs-per-node", metavar="N", help="processors of a node, where the trace counts processors (default: 1)"
    )
    details.add_argument(
        "--lenient", action="store_true", help="skip and count broken lines instead of stopping at the first"
    )
    add_trust(details)


class ReadOptions(TypedDict):
    """Keyword arguments of the readers."""

    format: str | None
    lenient: bool
    procs_per_node: int | None
    where: list[str] | None
    unit: str | None
    columns: str | None


#: Of these a record tells only where they are given.
_RARE = ("where", "unit", "columns")


def told_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of the readers as results record them: the rare ones only where they are given."""
    return {name: value for name, value in options.items() if value is not None or name not in _RARE}


def read_options(arguments: argparse.Namespace) -> ReadOptions:
    """Options of the readers."""
    from workloads.logs.choice import Choice
    from workloads.logs.columnroles import roles_of

    per_node = arguments.procs_per_node
    try:
        Choice.of(arguments.where, arguments.unit)
    except ParameterError as error:
        given = arguments.unit if error.parameter == "unit" else " ".join(arguments.where)
        raise ParameterError(f"--{error.parameter}", error.legal, shortened(given)) from None
    if arguments.columns is not None:
        try:
            roles_of(arguments.columns)
        except ParameterError as error:
            raise ParameterError("--columns", error.legal, shortened(arguments.columns)) from None
    return ReadOptions(
        format=arguments.format,
        lenient=arguments.lenient,
        procs_per_node=None if per_node is None else whole(per_node, "--procs-per-node", 1, LARGEST_SIZE),
        where=arguments.where,
        unit=arguments.unit,
        columns=arguments.columns,
    )


def read_log(arguments: argparse.Namespace, path: str | Path) -> Trace:
    """Read a log, with the size of its machine assumed where neither ``--nodes`` nor the log says it."""
    from workloads.logs.readers import read_trace

    return sized(read_trace(path, **read_options(arguments)), arguments)


def sized(trace: Trace, arguments: argparse.Namespace) -> Trace:
    """Assume the size of the machine where neither ``--nodes`` nor the log says it."""
    from workloads.logs.machinesize import with_assumed_size

    return with_assumed_size(trace) if arguments.nodes is None else trace


def add_preparation(parser: argparse.ArgumentParser) -> None:
    """Add the options of turning a trace into a job table."""
    group = parser.add_argument_group("preparing a trace")
    group.add_argument("--seed", metavar="SEED", default="0", help="seed of every random choice (default 0)")
    group.add_argument(
        "--notice-mix",
        metavar="{W1,...,W5}",
        default="W5",
        help="notices of on-demand jobs: most without (W1), accurate (W2), early (W3) or late (W4), all alike (W5), or "
        "their four shares, as 0.4,0.3,0.2,0.1 (default W5)",
    )
    group.add_argument(
        "--shares",
        metavar="O,R,M",
        default="0.1,0.6,0.3",
        help="shares of the groups that become on-demand, rigid and malleable (default 0.1,0.6,0.3)",
    )
    group.add_argument(
        "--notice-lead",
        metavar="TIME,TIME",
        default="15m,30m",
        help="shortest and longest time from a notice to the arrival that it announces [s] (default 15m,30m)",
    )
    group.add_argument(
        "--lateness", metavar="TIME", default="30m", help="longest delay of a late on-demand job [s] (default 30m)"
    )
    group.add_argument(
        "--largest-on-demand",
        metavar="SHARE",
        default="0.5",
        help="share of the machine above which an on-demand job becomes rigid or malleable (default 0.5)",
    )
    group.add_argument(
        "--rigid-setup",
        metavar="SHARE,SHARE",
        default="0.05,0.1",
        help="smallest and largest setup of a rigid job as a share of its recorded runtime (default 0.05,0.1)",
    )
    group.add_argument(
        "--malleable-setup",
        metavar="SHARE,SHARE",
        default="0,0.05",
        help="smallest and largest setup of a malleable job as a share of its recorded runtime (default 0,0.05)",
    )
    group.add_argument(
        "--min-share",
        metavar="SHARE",
        default="0.2",
        help="smallest size of a malleable job as a share of the requested one (default 0.2)",
    )
    group.add_argument(
        "--group-by",
        metavar="{auto,project,user,campaign}",
        default="auto",
        help="group of jobs that share one type (default auto: the first of the others that the trace records)",
    )
    group.add_argument(
        "--overheads",
        metavar="{inside,added}",
        default="inside",
        help="place of setup and checkpoints: inside the recorded runtime, or added to it (default inside)",
    )
    group.add_argument(
        "--node-mtbf",
        metavar="TIME",
        default="5y",
        help="mean time between failures of a node, for Daly's checkpoint interval [s] (default 5y)",
    )
    group.add_argument(
        "--checkpoint-factor",
        metavar="NUMBER",
        default="1",
        help="ratio of the checkpoint interval to Daly's optimum (default 1)",
    )
    group.add_argument(
        "--extra-dumps",
        metavar="{charged,free}",
        default="charged",
        help="cost of checkpoints beyond those at Daly's interval: charged to the runtime, or free (default charged)",
    )
    group.add_argument(
        "--walltimes",
        metavar="{extended,trace}",
        default="extended",
        help="walltime of jobs with overheads: extended by them, or the trace's, which ends them (default extended)",
    )
    group.add_argument(
        "--no-show-share", metavar="SHARE", default="0", help="share of noticed jobs that never arrive (default 0)"
    )
    group.add_argument(
        "--stochastic-share",
        metavar="SHARE",
        default="0",
        help="share of the groups that become stochastic applications (default 0)",
    )
    group.add_argument(
        "--plan", metavar="NAME", default="optimal", help="planning strategy of stochastic jobs (default optimal)"
    )


def assignment_of(arguments: argparse.Namespace) -> tuple[Assignment, int]:
    """Parameters of the type assignment, and the seed."""
    from workloads.hybrid.assignment import Assignment
    from workloads.hybrid.parameters import option_value

    names = [item.name for item in fields(Assignment)]
    assignment = Assignment(**{name: option_value(Assignment, name, getattr(arguments, name)) for name in names})
    if assignment.stochastic_share and not assignment.plan.endswith(".json"):
        from policies.planning.making import parse_strategy

        parse_strategy(assignment.plan)
    return assignment, whole(arguments.seed, "--seed")


def machine_of(arguments: argparse.Namespace, trace: Trace | None, source: str | Path) -> int:
    """Size of the machine: ``--nodes``, else the trace's header."""
    if arguments.nodes is not None:
        return whole(arguments.nodes, "--nodes", 1, LARGEST_SIZE)
    if trace is None or trace.nodes is None:
        what = "a job table" if trace is None else "this trace"
        raise InputError(f"{source}: {what} does not record the size of the machine; give it with --nodes")
    return trace.nodes


def check_outputs(document: str | None, picture: str | None) -> None:
    """Refuse files that cannot be written, before anything is.

    Parameters
    ----------
    document
        A file; ``-`` is standard output, None: none.
    picture
        Drawn as this name with ``.png`` and ``.pdf``; None: none.
    """
    for path in (document, picture):
        if path is not None and path != "-" and not Path(path).absolute().parent.is_dir():
            raise OutputError(f"{path}: cannot be written: {Path(path).parent} is not a directory")
    pictures = [f"{picture}.{kind}" for kind in ("png", "pdf")] if picture else []
    for path in (document, *pictures):
        if path is not None and Path(path).is_dir():
            raise OutputError(f"{path}: cannot be written: is a directory")


def new_directory(text: str) -> Path:
    """Where a command is going to write what cannot be written over: a place that is free, or an empty directory."""
    place = Path(text).absolute()
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise InputError(f"{text}: is there already; take a new directory")
    if not place.parent.is_dir():
        raise InputError(f"{text}: cannot be made: {place.parent} is not a directory")
    return place


def classes_of(text: str | None) -> list[int] | None:
    """Read the upper bounds of all size classes but the last."""
    if text is None:
        return None
    try:
        ends = [integer(word) for word in text.split(",")]
    except ValueError:
        ends = []
    if not ends or min(ends) < 1 or sorted(set(ends)) != ends:
        raise ParameterError("--classes", "ascending sizes in nodes, separated by commas, such as 128,512,2048", text)
    return ends
