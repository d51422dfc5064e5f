"""The file ``run.json`` of a replay: what was simulated, and how."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from policies.mechanism import BASELINE, parse_mechanism
from simulator.options import Options
from workloads.errors import InputError, TraceError
from workloads.files import read_text, sha256_of
from workloads.job import Job

__all__ = [
    "EPOCH",
    "JOB_TABLE",
    "chosen_mechanism",
    "epoch_of",
    "nodes_of",
    "options_of",
    "read_run",
    "simulated_jobs",
]

#: Key of ``run.json``: the file that holds the job table. It stands there where the event log was kept.
JOB_TABLE = "job_table"
#: Key of ``run.json``: seconds since 1970 at which the clock of the job table stands at 0, null if not known.
EPOCH = "epoch"


def read_run(directory: Path) -> dict[str, Any]:
    """What ``run.json`` tells.

    Raises
    ------
    InputError
        If there is none, or it does not name input and mechanisms.
    """
    path = directory / "run.json"
    if not path.is_file():
        raise InputError(f"{directory}: no results of 'holdfast run' (there is no run.json)")
    text = read_text(path)
    try:
        told = json.loads(text)
        source, mechanisms = told["input"], told["mechanisms"]
        usable = isinstance(source["path"], str) and isinstance(source["sha256"], str)
        usable = usable and bool(mechanisms) and all(isinstance(name, str) for name in mechanisms)
    except (ValueError, KeyError, TypeError):
        usable = False
    if not usable:
        raise TraceError(path, None, "is not what 'holdfast run' writes: it must name input and mechanisms")
    return dict(told)


def chosen_mechanism(directory: Path, told: Mapping[str, Any], mechanism: str | None) -> str:
    """The mechanism that is wanted, as its files are named.

    Raises
    ------
    InputError
        If there are several and none is named, or the named one is not there.
    """
    there = list(told["mechanisms"])
    if mechanism is None:
        if len(there) > 1:
            raise InputError(f"{directory}: holds results of {', '.join(there)}: choose one with --mechanism")
        return str(there[0])
    if mechanism not in there:
        parsed = parse_mechanism(mechanism)
        mechanism = BASELINE if parsed is None else parsed.slug
    if mechanism not in there:
        raise InputError(f"{directory}: holds results of {', '.join(there)}, not of {mechanism}")
    return mechanism


def simulated_jobs(directory: Path, told: Mapping[str, Any]) -> Sequence[Job]:
    """The job table that was simulated: beside the results, or made again from an input that is still the same.

    Raises
    ------
    InputError
        If it is nowhere.
    """
    from workloads.jobtable import read_job_table

    kept = told.get(JOB_TABLE)
    if kept is None and "format" in told["input"] and ("preparation" in told or "life" in told):
        kept = "jobs.csv"  # made from a trace
    if kept is not None:
        path = directory / Path(str(kept)).name
        if not path.exists():
            raise InputError(f"{directory}: has no {path.name}, the job table that was simulated: run it again")
        return read_job_table(path).jobs
    if "format" in told["input"]:
        return _jobs_of_trace(directory, told)
    return read_job_table(_input_of(directory, told)).jobs


def nodes_of(directory: Path, told: Mapping[str, Any]) -> int:
    """Size of the machine."""
    nodes = told.get("nodes")
    if isinstance(nodes, bool) or not isinstance(nodes, int) or nodes < 1:
        raise TraceError(directory / "run.json", None, "must name a positive number of nodes")
    return nodes


def epoch_of(directory: Path, told: Mapping[str, Any]) -> float | None:
    """Seconds since 1970 at which the clock of the job table stands at 0; None if it is not known."""
    epoch = told.get(EPOCH)
    if epoch is None:
        return None
    if isinstance(epoch, bool) or not isinstance(epoch, int | float):
        raise TraceError(directory / "run.json", None, f"{EPOCH} must be a number of seconds since 1970, or null")
    return float(epoch)


def options_of(directory: Path, told: Mapping[str, Any]) -> Options:
    """How the machine was operated; what this version does not know is passed over."""
    known = {field.name for field in fields(Options)}
    try:
        return Options(**{name: value for name, value in told["options"].items() if name in known})
    except (AttributeError, KeyError, TypeError) as error:
        raise TraceError(directory / "run.json", None, f"must name the options of the simulation: {error}") from None


def _input_of(directory: Path, told: Mapping[str, Any]) -> Path:
    """The file that was simulated, if it is still the same."""
    path = Path(told["input"]["path"])
    if not path.exists():
        raise InputError(f"{directory}: the jobs are in the input of the run, {path}, which is not there")
    if sha256_of(path) != told["input"]["sha256"]:
        raise InputError(f"{directory}: the input of the run, {path}, has changed since: run it again")
    return path


def _jobs_of_trace(directory: Path, told: Mapping[str, Any]) -> list[Job]:
    """A trace as the baseline alone replays it: without a job table."""
    from workloads.assignment import as_rigid
    from workloads.readers import read_trace

    source, path = told["input"], _input_of(directory, told)
    try:
        how = {name: source.get(name) for name in ("format", "procs_per_node")}
        trace = read_trace(path, lenient=bool(source.get("lenient")), **how)
        return as_rigid(trace.on_machine(int(told["nodes"])))
    except (KeyError, TypeError) as error:
        raise TraceError(directory / "run.json", None, f"does not say how the trace was read: {error}") from None
