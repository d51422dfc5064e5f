"""The file ``run.json`` of a replay: what was simulated, and how."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from holdfast.experiments.output.directory_checks import RUN
from holdfast.experiments.output.manifest import Sealed, incoming_directory, open_result
from holdfast.experiments.recordings.measurement import Measurement
from holdfast.policies.mechanism import BASELINE, parse_mechanism
from holdfast.simulator.machine.prior_state import PastUsage, PriorState
from holdfast.simulator.options import Options
from holdfast.workloads.ground.errors import InputError, TraceError
from holdfast.workloads.ground.files import file_sha256, is_plain_file, is_plain_name
from holdfast.workloads.ground.numbers import is_number, is_whole
from holdfast.workloads.ground.trust import admit
from holdfast.workloads.ground.units import LARGEST_SIZE, LARGEST_TIME
from holdfast.workloads.logs.clock import LOCAL
from holdfast.workloads.table.job import Job

__all__ = [
    "ENGINE",
    "EPOCH",
    "FIRST_SUBMIT",
    "JOB_TABLE",
    "LOCAL",
    "PAST_USAGE",
    "PICTURE_FILES",
    "RUN",
    "UNIT",
    "ZONE",
    "chosen_mechanism",
    "holds_run",
    "is_partly_measured",
    "open_run",
    "read_prior",
    "recorded_engine",
    "recorded_epoch",
    "recorded_measurement",
    "recorded_nodes",
    "recorded_options",
    "recorded_unit",
    "simulated_jobs",
]

_PICTURES = ("mechanisms", "waits", "machine", "accounting", "aggregates", "differences", "loop")
#: Figures drawn from the tables of a replay and of a loop.
PICTURE_FILES = tuple(f"{name}.{kind}" for name in _PICTURES for kind in ("png", "pdf"))
#: Key of ``run.json``: file name of the job table, present if the event log was kept.
JOB_TABLE = "job_table"
#: Key of ``run.json``: seconds since 1970 at time 0 of the job table, null if unknown.
EPOCH = "epoch"
#: Key of ``run.json``: engine of the run, ``simpy`` or ``compiled``; by mechanism if they differ.
ENGINE = "engine"
#: Key of ``run.json``: time zone of its dates, if not UTC.
ZONE = "zone"
#: Key of ``run.json``: unit of sizes, if not nodes.
UNIT = "unit"
#: Key of ``run.json``: first submit of the log from which a starting state was taken [s].
FIRST_SUBMIT = "first_submit"
#: Key of ``run.json``: decayed usage by account at the starting state [node-seconds], if the queue order needs it.
PAST_USAGE = "past_usage"


def holds_run(directory: Path) -> bool:
    """Whether a directory has a result, valid or not."""
    return (directory / RUN).is_file() or incoming_directory(directory, RUN).is_dir()


def open_run(directory: Path) -> Sealed:
    """Open the result of a replay if all its files are unchanged.

    Raises
    ------
    InputError
        If there is no such directory, no result in it, a changed file, or ``run.json`` lacks input or mechanisms.
    """
    path = directory / RUN
    if not holds_run(directory):
        if not directory.exists():
            raise InputError(f"{directory}: no such file or directory")
        raise InputError(f"{directory}: no results of 'holdfast run' (there is no {RUN})")
    result = open_result(directory, RUN)
    try:
        source, mechanisms = result.content["input"], result.content["mechanisms"]
        usable = isinstance(source["path"], str) and isinstance(source["sha256"], str)
        usable = usable and isinstance(mechanisms, list) and bool(mechanisms)
        usable = usable and all(isinstance(name, str) for name in mechanisms)
    except (KeyError, TypeError):
        usable = False
    if not usable:
        raise TraceError(path, None, "is not what 'holdfast run' writes: it must name input and mechanisms")
    return result


def chosen_mechanism(directory: Path, content: Mapping[str, Any], mechanism: str | None) -> str:
    """The requested mechanism, as in the names of its files.

    Raises
    ------
    InputError
        If there are several and none is named, or the named one is missing.
    """
    there = list(content["mechanisms"])
    if mechanism is None:
        if len(there) > 1:
            raise InputError(f"{directory}: holds results of {', '.join(there)}: choose one with --mechanism")
        return str(there[0])
    if mechanism not in there:
        parsed = parse_mechanism(mechanism)
        mechanism = BASELINE if parsed is None else parsed.name
    if mechanism not in there:
        raise InputError(f"{directory}: holds results of {', '.join(there)}, not of {mechanism}")
    return mechanism


def simulated_jobs(result: Sealed) -> Sequence[Job]:
    """The simulated job table, read from the directory or made again from the unchanged input.

    Parameters
    ----------
    result
        Result of :func:`open_run`.

    Raises
    ------
    InputError
        If it is not available, or a file names code and is not trusted.
    """
    from holdfast.workloads.table.job_table import read_job_table

    content, directory = result.content, result.directory
    kept = content.get(JOB_TABLE)
    if kept is None and "format" in content["input"] and ("preparation" in content or "life" in content):
        kept = "jobs.csv"  # made from a trace
    if kept is None and "format" in content["input"]:
        return _jobs_of_trace(directory, content)
    if kept is None:
        return read_job_table(_recorded_input(directory, content)).jobs
    if not isinstance(kept, str):
        raise TraceError(directory / RUN, None, f"{JOB_TABLE} must be the name of a file")
    path = result.find(kept)
    if path is None:
        path = directory / kept
        # An input in the same directory was not copied.
        if not is_plain_name(kept) or not is_plain_file(path):
            raise InputError(f"{directory}: has no {path.name}, the simulated job table; run the simulation again")
        if result.files is not None and file_sha256(path) != content["input"]["sha256"]:
            raise TraceError(path, None, "was changed after the simulation; run the simulation again")
    return read_job_table(path).jobs


def recorded_nodes(directory: Path, content: Mapping[str, Any]) -> int:
    """Size of the machine."""
    nodes = content.get("nodes")
    if not is_whole(nodes, 1) or nodes > LARGEST_SIZE:
        raise TraceError(directory / RUN, None, f"must name a positive number of nodes, at most {LARGEST_SIZE:,}")
    return nodes


def recorded_unit(content: Mapping[str, Any]) -> str:
    """Unit of sizes: ``nodes`` or ``processors``."""
    return "processors" if content.get(UNIT) == "processors" else "nodes"


def recorded_engine(content: Mapping[str, Any], mechanism: str) -> str:
    """Engine of a run; results of earlier versions do not name it and come from the full model."""
    engine = content.get(ENGINE)
    if isinstance(engine, Mapping):
        engine = engine.get(mechanism)
    return "compiled" if engine == "compiled" else "simpy"


def recorded_epoch(directory: Path, content: Mapping[str, Any]) -> float | None:
    """Seconds since 1970 at time 0 of the job table; None if unknown."""
    epoch = content.get(EPOCH)
    if epoch is None:
        return None
    if not (is_number(epoch) and math.isfinite(epoch)):
        raise TraceError(directory / RUN, None, f"{EPOCH} must be a number of seconds since 1970, or null")
    return float(epoch)


def read_prior(directory: Path, content: Mapping[str, Any]) -> PriorState | None:
    """Information about the time before a starting state; None: there is none."""
    usage, first = content.get(PAST_USAGE), content.get(FIRST_SUBMIT)
    if usage is None and first is None:
        return None
    if not (first is None or (is_number(first) and 0 <= first <= LARGEST_TIME)):
        raise TraceError(directory / RUN, None, f"{FIRST_SUBMIT} must be a time from 0 to {LARGEST_TIME:,.0f} s")
    if usage is None:
        return PriorState(origin=first)
    if not (isinstance(usage, dict) and all(is_number(used) and 0 <= used < math.inf for used in usage.values())):
        raise TraceError(directory / RUN, None, f"{PAST_USAGE} must name node-seconds of at least 0 by account")
    return PriorState(PastUsage(totals={account: float(used) for account, used in usage.items()}), origin=first)


def recorded_measurement(directory: Path, content: Mapping[str, Any]) -> Measurement:
    """Settings of the measurement, with defaults for missing entries."""
    try:
        given = dict(content.get("measurement", {}))
        measurement = Measurement(**given)
        legal = all(is_number(value) and math.isfinite(value) and value >= 0 for value in given.values())
    except (AttributeError, TypeError, ValueError):
        legal = False
    if not legal:
        raise TraceError(directory / RUN, None, "must name instant_tolerance, warmup and cooldown as seconds")
    return measurement


def is_partly_measured(directory: Path) -> bool:
    """Whether a warmup or a cooldown of a run is not measured."""
    return recorded_measurement(directory, open_run(directory).content).window != (0.0, 0.0)


def recorded_options(directory: Path, content: Mapping[str, Any]) -> Options:
    """Options of the simulation; options unknown to this version are ignored.

    Plug-ins are kept as names and not looked up, so that a result file cannot run code.
    """
    known = {field.name for field in fields(Options)}
    given = content.get("options")
    if not isinstance(given, Mapping):
        raise TraceError(
            directory / RUN, None, "must name the options of the simulation by their names under 'options'"
        )
    try:
        return Options.from_record(**{name: value for name, value in given.items() if name in known})
    except InputError as error:
        raise TraceError(directory / RUN, None, f"must name the options of the simulation: {error}") from None


def _recorded_input(directory: Path, content: Mapping[str, Any]) -> Path:
    """The simulated file, if it is unchanged."""
    path = Path(content["input"]["path"])
    if not path.is_file():
        raise InputError(f"{directory}: the input of the run, {path}, is missing")
    if file_sha256(path) != content["input"]["sha256"]:
        raise InputError(f"{directory}: the input of the run, {path}, has changed; run the simulation again")
    return path


def _jobs_of_trace(directory: Path, content: Mapping[str, Any]) -> Sequence[Job]:
    """Jobs of a trace that was replayed under the baseline without a job table."""
    from holdfast.workloads.hybrid.assignment import as_rigid
    from holdfast.workloads.logs.readers import read_trace

    source, path = content["input"], _recorded_input(directory, content)
    nodes = recorded_nodes(directory, content)
    how = {name: source.get(name) for name in ("format", "procs_per_node")}
    if not isinstance(how["format"], str) or isinstance(how["procs_per_node"], bool | float | str | list | dict):
        raise TraceError(directory / RUN, None, "must say with format and procs_per_node how the trace was read")
    admit("format", how["format"], directory / RUN, key="input.format")
    chosen = {name: source[name] for name in ("where", "unit", "columns") if name in source}
    if not isinstance(chosen.get("columns", ""), str):
        raise TraceError(directory / RUN, None, "must say with columns, a text, which columns of the trace were read")
    trace = read_trace(path, lenient=bool(source.get("lenient")), **how, **chosen)
    return as_rigid(trace.on_machine(nodes))
