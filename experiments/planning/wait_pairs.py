"""Pairs of requested walltime and wait, from a trace that records waits or from results of ``holdfast run``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.experiments.output.filenames import table_name
from holdfast.experiments.recordings.archive import table_rows
from holdfast.experiments.recordings.run_file import open_run, recorded_measurement, simulated_jobs
from holdfast.experiments.recordings.variants import chosen_variant
from holdfast.experiments.traces.description import describe_reading
from holdfast.policies.mechanism import BASELINE
from holdfast.simulator.machine.actual_outcomes import PREEMPTED
from holdfast.simulator.results.schema import LARGEST_SECONDS
from holdfast.workloads.ground.errors import InputError, TraceError, format_value
from holdfast.workloads.ground.files import file_sha256
from holdfast.workloads.ground.text_cells import number, whole
from holdfast.workloads.ground.trust import trust as trusting
from holdfast.workloads.ground.units import to_ticks
from holdfast.workloads.logs.cleaning import NO_WALLTIME
from holdfast.workloads.logs.trace import Trace
from holdfast.workloads.table.job import Job
from holdfast.workloads.table.job_lifecycle import replay_start
from holdfast.workloads.table.jobs import Jobs

__all__ = ["WaitPairs", "pairs_of_results", "pairs_of_trace"]

#: Type of jobs that request several reservations, which wait separately.
_STOCHASTIC = "stochastic"
_OUTSIDE = "outside the window of the run"
#: Walltime, wait and nodes.
_Pair = tuple[float, float, int]


def _time(cell: str, name: str) -> float:
    value = number(cell, name)
    if abs(value) > LARGEST_SECONDS:
        raise ValueError(f"{name} must be a number of at most {LARGEST_SECONDS:g}, not {format_value(cell)}")
    return value


def _at_least_0(cell: str, name: str) -> float:
    value = _time(cell, name)
    if value < 0:
        raise ValueError(f"{name} must be at least 0, not {format_value(cell)}")
    return value


def _at_least_1(cell: str, name: str) -> int:
    value = whole(cell, name)
    if value < 1:
        raise ValueError(f"{name} must be at least 1, not {format_value(cell)}")
    return value


_JOB = {"job_id": whole, "submit": _time, "start": _time, "nodes": _at_least_1, "wait": _at_least_0}
_RESERVATION = {"job_id": whole, "submit": _time, "start": _time, "nodes": _at_least_1, "length": _at_least_0}


@dataclass(frozen=True, eq=False)
class WaitPairs:
    """Requested walltimes and waits.

    Attributes
    ----------
    walltimes, waits
        [s], shape (n,).
    nodes
        Sizes, shape (n,).
    source
        Origin of the pairs, as recorded in the cost file.
    title
        Origin of the pairs, as a title.
    left_out
        Numbers of jobs without a pair, by reason.
    about
        Remarks on the file.
    """

    walltimes: np.ndarray
    waits: np.ndarray
    nodes: np.ndarray
    source: Mapping[str, Any]
    title: str
    left_out: Mapping[str, int] = field(default_factory=dict)
    about: str = ""


def pairs_of_trace(trace: Trace) -> WaitPairs:
    """The pairs of a trace that records waits.

    Raises
    ------
    InputError
        If it records no waits, or no requests.
    """
    path = trace.source
    if trace.remarks.get(NO_WALLTIME, 0) >= len(trace.jobs):
        raise InputError(f"{path}: the trace does not record requested walltimes")
    jobs = trace.jobs.select(~np.isnan(trace.jobs.column("wait")))
    if not len(jobs):
        raise InputError(
            f"{path}: the trace records no waits: simulate it with 'holdfast run {path} -o DIR --mechanism baseline', "
            "and fit DIR"
        )
    return WaitPairs(
        jobs.column("walltime"),
        jobs.column("wait"),
        jobs.column("nodes"),
        source={"path": path, "sha256": file_sha256(path)},
        title=f"{Path(path).name}, recorded",
        about=describe_reading(trace),
        left_out={"wait not recorded": len(trace.jobs) - len(jobs)},
    )


def pairs_of_results(directory: str | Path, mechanism: str | None = None, *, trust: bool = False) -> WaitPairs:
    """The pairs of one mechanism from a directory that ``holdfast run`` has written.

    Parameters
    ----------
    directory
        With ``run.json`` and ``jobs-<mechanism>.csv``.
    mechanism
        The mechanism, if the directory has several.
    trust
        As in :func:`holdfast.experiments.recordings.archive.read_recording`.

    Returns
    -------
    WaitPairs
        Pairs of the jobs that wait as a reservation would: under the baseline all, under a mechanism the rigid
        ones. Where there is a ``reservations-<mechanism>.csv``, each of its rows (length, start - submit) is a pair,
        and the stochastic jobs themselves are not. Jobs submitted outside the window of the run (its warmup
        and cooldown) are left out, with all their reservations.

    Raises
    ------
    InputError
        If it is not such a directory, or its files do not belong together.
    """
    place = Path(directory)
    result = open_run(place)
    variant = chosen_variant(place, result.content, mechanism)
    result = replace(result, content=variant.content)
    content, name = result.content, variant.mechanism
    table = result.need(table_name("jobs", variant.label), "the jobs of that mechanism: run it again")
    jobs = list(table_rows(table, _JOB, "type"))
    for line, row in jobs:
        if row["start"] is not None and row["submit"] is not None and row["start"] < row["submit"]:
            raise TraceError(table, line, f"job {row['job_id']} does not start before its submit")
    with trusting(trust):
        simulated = simulated_jobs(result)
    measured = _window(place, content, jobs, replay_start(simulated))
    walltimes = _walltimes(simulated, name == BASELINE)
    submits = {row["job_id"]: row["submit"] for _, row in jobs if row["type"] == _STOCHASTIC}
    found = list(_job_pairs(table, jobs, walltimes, measured, baseline=name == BASELINE))
    reservations = result.find(table_name("reservations", variant.label))
    if reservations is not None:
        found += _reservation_pairs(reservations, table, submits, measured)
    pairs = [item for item in found if not isinstance(item, str)]
    without = Counter(item for item in found if isinstance(item, str))
    source = {
        "path": str(directory),
        "mechanism": name,
        "input": {key: content["input"][key] for key in ("path", "sha256")},
    }
    title = f"{place.name or place}, simulated under {variant.label}"
    columns = np.array(pairs, float).reshape(-1, 3).T
    return WaitPairs(columns[0], columns[1], columns[2].astype(np.int64), source, title, without)


def _job_pairs(
    table: Path,
    jobs: Iterable[tuple[int, dict[str, Any]]],
    walltimes: Mapping[int, float],
    measured: Callable[[float], bool],
    *,
    baseline: bool,
) -> Iterator[_Pair | str]:
    """The pair of each job that is not stochastic, or the reason why there is none."""
    for line, row in jobs:
        kind = row["type"]
        if kind == _STOCHASTIC:
            continue
        if row["wait"] is None or row["submit"] is None:
            yield "never came"
        elif not baseline and kind != "rigid":
            yield f"{kind}, served otherwise"
        elif not measured(row["submit"]):
            yield _OUTSIDE
        elif row["job_id"] not in walltimes:
            raise TraceError(table, line, f"job {row['job_id']} is not in the simulated job table")
        else:
            yield walltimes[row["job_id"]], row["wait"], row["nodes"]


def _reservation_pairs(
    reservations: Path, table: Path, submits: Mapping[int, float | None], measured: Callable[[float], bool]
) -> Iterator[_Pair | str]:
    """The pair of each reservation of a stochastic job, or the reason why there is none."""
    before: tuple[Any, Any] = (None, None)
    for line, row in table_rows(reservations, _RESERVATION, "ending"):
        again = before == (row["job_id"], PREEMPTED)
        before = (row["job_id"], row["ending"])
        if row["job_id"] not in submits:
            raise TraceError(str(reservations), line, f"job {row['job_id']} is not a stochastic job of {table.name}")
        if row["start"] is None or row["submit"] is None or row["length"] is None:
            yield "reservation that never started"
        elif again:
            # It returns to its former place in the queue, so its time there is not a normal wait.
            yield "asked for again after a preemption"
        elif not measured(submits[row["job_id"]] or 0.0):
            yield _OUTSIDE
        elif row["start"] < row["submit"] or row["length"] == 0:
            message = "a reservation has a length, and does not start before its submit"
            raise TraceError(str(reservations), line, message)
        else:
            yield row["length"], row["start"] - row["submit"], row["nodes"]


def _window(
    directory: Path, content: Mapping[str, Any], jobs: Sequence[tuple[int, dict[str, Any]]], begin: float | None
) -> Callable[[float], bool]:
    """Predicate: whether a submit [s] is in the measured window of the run, which begins after a starting state."""
    measurement = recorded_measurement(directory, content)
    submits = [to_ticks(row["submit"]) for _, row in jobs if row["submit"] is not None]
    window = measurement.window
    opened = None if begin is None else to_ticks(begin)
    if not submits or (opened is not None and max(submits) < opened):
        return lambda submit: False
    earliest, latest = window.bounds(submits, opened)
    return lambda submit: earliest <= to_ticks(submit) <= latest


def _walltimes(jobs: Sequence[Job], baseline: bool) -> dict[int, float]:
    """Requested walltimes [s] by job, from the jobs that were simulated."""
    table = Jobs.of(jobs)
    walltimes = table.column("walltime")
    if baseline:  # as in holdfast.simulator.machine.job_state, it takes the times of the trace
        traced = table.column("trace_walltime")
        walltimes = np.where(np.isnan(traced), walltimes, traced)
    return dict(zip(table.column("job_id").tolist(), walltimes.tolist(), strict=True))
