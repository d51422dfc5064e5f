"""Pairs of requested walltime and wait: from a trace that records waits, or from the results of ``holdfast run``."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.traces import left_out
from policies.mechanism import BASELINE, parse_mechanism
from simulator.metrics import Window
from simulator.truth import PREEMPTED
from workloads.errors import InputError, TraceError
from workloads.fields import Columns, number, shown, whole
from workloads.files import read_text, sha256_of
from workloads.intake import NO_WALLTIME
from workloads.trace import Trace
from workloads.units import to_ticks

if TYPE_CHECKING:
    from workloads.job import Job

__all__ = ["WaitPairs", "pairs_of_results", "pairs_of_trace"]

#: The type of jobs that ask for one reservation after the other: these are what waits, not the job.
_STOCHASTIC = "stochastic"


def _at_least_0(cell: str, name: str) -> float:
    value = number(cell, name)
    if value < 0:
        raise ValueError(f"{name} must be at least 0, not {shown(cell)}")
    return value


def _at_least_1(cell: str, name: str) -> int:
    value = whole(cell, name)
    if value < 1:
        raise ValueError(f"{name} must be at least 1, not {shown(cell)}")
    return value


_JOB = {"job_id": whole, "submit": number, "nodes": _at_least_1, "wait": _at_least_0}
_RESERVATION = {"job_id": whole, "submit": number, "start": number, "nodes": _at_least_1, "length": _at_least_0}


@dataclass(frozen=True, eq=False)
class WaitPairs:
    """What requests asked for, and how long they waited.

    Attributes
    ----------
    walltimes, waits
        [s], shape (n,).
    nodes
        Sizes, shape (n,).
    source
        Where they come from, as the file of the fit says.
    title
        The same, for people.
    left_out
        Jobs that make no pair, counted by reason.
    about
        What is to be said of the file itself.
    """

    walltimes: np.ndarray
    waits: np.ndarray
    nodes: np.ndarray
    source: Mapping[str, Any]
    title: str
    left_out: Mapping[str, int] = field(default_factory=dict)
    about: str = ""

    @classmethod
    def of(cls, rows: Sequence[tuple[float, float, int]], **others: Any) -> WaitPairs:
        """From (walltime, wait, nodes) of each pair."""
        walltimes, waits, nodes = zip(*rows, strict=True) if rows else ((), (), ())
        return cls(np.array(walltimes, float), np.array(waits, float), np.array(nodes, np.int64), **others)


def pairs_of_trace(trace: Trace) -> WaitPairs:
    """The pairs of a trace that records waits.

    Raises
    ------
    InputError
        If it records no waits, or no requests.
    """
    path = trace.source
    if trace.remarks.get(NO_WALLTIME, 0) >= len(trace.jobs):
        raise InputError(f"{path}: the trace does not say which walltimes were requested")
    rows = [(job.walltime, job.wait, job.nodes) for job in trace.jobs if job.wait is not None]
    if not rows:
        raise InputError(
            f"{path}: the trace records no waits: simulate it with 'holdfast run {path} -o DIR --mechanism baseline', "
            "and fit DIR"
        )
    return WaitPairs.of(
        rows,
        source={"path": path, "sha256": sha256_of(path)},
        title=f"{Path(path).name}, recorded",
        about=left_out(trace),
        left_out={"wait not recorded": len(trace.jobs) - len(rows)},
    )


def pairs_of_results(directory: str | Path, mechanism: str | None = None) -> WaitPairs:
    """The pairs of one mechanism from a directory that ``holdfast run`` has written.

    Parameters
    ----------
    directory
        With ``run.json`` and ``jobs-<mechanism>.csv``.
    mechanism
        Which one, where there are several.

    Returns
    -------
    WaitPairs
        Of the jobs that are served as a reservation would be: under the baseline all, under a mechanism the rigid
        ones. Where there is a ``reservations-<mechanism>.csv``, each of its rows (length, start - submit) is a pair,
        and the stochastic jobs that they belong to are none. Jobs submitted outside the window of the run (its warmup
        and cooldown) are left out, with all their reservations.

    Raises
    ------
    InputError
        If the directory is no such, or its files do not belong together.
    """
    place = Path(directory)
    told = _run_of(place)
    name = _chosen(place, told, mechanism)
    jobs = list(_rows(place / f"jobs-{name}.csv", _JOB, "type"))
    measured = _window(place, told, jobs)
    walltimes = _walltimes(place, told, name == BASELINE)
    without: Counter[str] = Counter()
    pairs: list[tuple[float, float, int]] = []
    submits: dict[int, float | None] = {}  # of the stochastic jobs
    for line, row in jobs:
        kind = row["type"]
        if kind == _STOCHASTIC:
            submits[row["job_id"]] = row["submit"]
        elif row["wait"] is None or row["submit"] is None:
            without["never came"] += 1
        elif name != BASELINE and kind != "rigid":
            without[f"{kind}, served otherwise"] += 1
        elif not measured(row["submit"]):
            without["outside the window of the run"] += 1
        elif row["job_id"] not in walltimes:
            raise TraceError(
                place / f"jobs-{name}.csv", line, f"job {row['job_id']} is not among the jobs that were simulated"
            )
        else:
            pairs.append((walltimes[row["job_id"]], row["wait"], row["nodes"]))
    reservations = place / f"reservations-{name}.csv"
    before: tuple[Any, Any] = (None, None)
    for line, row in _rows(reservations, _RESERVATION, "ending") if reservations.exists() else ():
        again = before == (row["job_id"], PREEMPTED)
        before = (row["job_id"], row["ending"])
        if row["job_id"] not in submits:
            raise TraceError(reservations, line, f"job {row['job_id']} is no stochastic job of jobs-{name}.csv")
        if row["start"] is None or row["submit"] is None or row["length"] is None:
            without["reservation that never started"] += 1
        elif again:  # it stands where it stood before it was preempted, and its time in the queue is no longer a wait
            without["asked for again after a preemption"] += 1
        elif not measured(submits[row["job_id"]] or 0.0):
            without["outside the window of the run"] += 1
        else:
            wait = row["start"] - row["submit"]
            if wait < 0 or row["length"] == 0:
                raise TraceError(reservations, line, "a reservation has a length, and does not start before its submit")
            pairs.append((row["length"], wait, row["nodes"]))
    source = {
        "path": str(directory),
        "mechanism": name,
        "input": {key: told["input"][key] for key in ("path", "sha256")},
    }
    title = f"{place.name or place}, simulated under {name}"
    return WaitPairs.of(pairs, source=source, title=title, left_out=without)


def _run_of(directory: Path) -> dict[str, Any]:
    """What ``run.json`` tells."""
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


def _chosen(directory: Path, told: Mapping[str, Any], mechanism: str | None) -> str:
    """The mechanism whose waits are wanted."""
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


def _window(
    directory: Path, told: Mapping[str, Any], jobs: Sequence[tuple[int, dict[str, Any]]]
) -> Callable[[float], bool]:
    """Whether a submit [s] is in the window that the run has measured."""
    measurement = told.get("measurement", {})
    submits = [to_ticks(row["submit"]) for _, row in jobs if row["submit"] is not None]
    try:
        window = Window(float(measurement.get("warmup", 0.0)), float(measurement.get("cooldown", 0.0)))
    except (AttributeError, TypeError, ValueError):
        raise TraceError(directory / "run.json", None, "must name warmup and cooldown as numbers") from None
    if not submits:
        return lambda submit: False
    earliest, latest = window.bounds(submits)
    return lambda submit: earliest <= to_ticks(submit) <= latest


def _walltimes(directory: Path, told: Mapping[str, Any], baseline: bool) -> dict[int, float]:
    """Requested walltimes [s] by job, from the jobs that were simulated."""
    from workloads.jobtable import read_job_table

    if "format" not in told["input"]:
        jobs: Iterable[Job] = read_job_table(_input_of(directory, told)).jobs
    elif "preparation" not in told:
        jobs = _jobs_of_trace(directory, told)
    elif (directory / "jobs.csv").exists():  # made from a trace, and kept beside the results
        jobs = read_job_table(directory / "jobs.csv").jobs
    else:
        raise InputError(f"{directory}: has no jobs.csv, in which the requested walltimes should be: run it again")
    # As in simulator.jobstate: the baseline takes the times of the trace.
    return {
        job.job_id: job.trace_walltime if baseline and job.trace_walltime is not None else job.walltime for job in jobs
    }


def _input_of(directory: Path, told: Mapping[str, Any]) -> Path:
    """The file that was simulated, if it is still the same."""
    path = Path(told["input"]["path"])
    if not path.exists():
        raise InputError(
            f"{directory}: the requested walltimes are in the input of the run, {path}, which is not there"
        )
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


def _rows(
    path: Path, kinds: Mapping[str, Callable[[str, str], float]], *texts: str
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Line and cells of each row: numbers, None where a cell is empty, and texts."""
    reader = csv.reader(io.StringIO(read_text(path), newline=""), strict=True)
    line = 1
    try:
        columns = Columns(next(reader, []))
        places = {name: columns.need(name) for name in (*kinds, *texts)}
        for cells in reader:
            line = reader.line_num
            if len(cells) != len(columns.names):
                raise ValueError(f"a row must have {len(columns.names)} cells like the header, not {len(cells)}")
            row: dict[str, Any] = {name: cells[places[name]] for name in texts}
            for name, convert in kinds.items():
                cell = cells[places[name]]
                # Who has no id or no size is no job; what is not known of a no-show is empty.
                row[name] = convert(cell, name) if cell or name in ("job_id", "nodes") else None
            yield line, row
    except (csv.Error, ValueError) as error:
        raise TraceError(path, line, str(error)) from None
