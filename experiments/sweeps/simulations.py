"""Execution of the runs of a sweep, in any process."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from time import perf_counter
from typing import TYPE_CHECKING, Any

from holdfast.experiments.sweeps.delays import count_delays
from holdfast.experiments.sweeps.fingerprint import model_fingerprint
from holdfast.experiments.sweeps.grid import GeneratedYear, Log, RunConfiguration
from holdfast.experiments.sweeps.job_tables import HOUR, imbalance_warning, job_table, log_caveats, machine_requests
from holdfast.experiments.sweeps.plugins import find_sources
from holdfast.policies.mechanism import BASELINE
from holdfast.simulator.collector_pause import pause_collector
from holdfast.simulator.results.catalogue import WALL_CLOCK
from holdfast.simulator.results.metrics import joint_summaries
from holdfast.simulator.results.order_statistics import Ranked
from holdfast.simulator.simulation import simulate_table
from holdfast.workloads.ground.errors import HoldfastError, InputError, error_sentence
from holdfast.workloads.ground.units import SECOND

if TYPE_CHECKING:
    from holdfast.simulator.results.result import Result

__all__ = ["RunOutcome", "simulate_run", "simulate_runs"]

#: Jobs of all replays that are measured together, whose results are kept until then.
_TOGETHER = 50_000


@dataclass(frozen=True)
class RunOutcome:
    """Outcome of a run.

    Attributes
    ----------
    key
        Key of the run.
    measured
        What the run has shown, a function of its configuration alone: ``nodes``, ``summary``, ``types``,
        ``accounting`` [node-hours] and ``weeks``; the summary has the counts of ``delays``, too. Where one draw has
        decided what the workload is, ``lopsided``, a sentence; where the log has what one pool of nodes does not model,
        ``caveats``, sentences. Empty if it failed.
    timings
        Wall-clock times.
    error
        One-sentence reason of a failure; empty on success.
    trace
        Traceback, if the failure was a defect rather than bad input.
    """

    key: str
    measured: Mapping[str, Any]
    timings: Mapping[str, Any]
    error: str = ""
    trace: str = ""


def simulate_runs(runs: Iterable[RunConfiguration]) -> Iterator[RunOutcome]:
    """Carry out runs one after the other; a failure is an outcome too.

    Parameters
    ----------
    runs
        Which ones. Consecutive runs of one workload, and of one job table, are cheaper: those under the baseline are
        measured together.
    """
    replays: list[_Replay] = []
    for run in runs:
        if replays and not (_are_plain_alike(replays[0].run, run) and _count_jobs(replays) < _TOGETHER):
            yield from _outcomes(replays)
            replays = []
        found = _attempt_replay(run)
        if isinstance(found, _Replay):
            replays.append(found)
        else:
            yield found
    yield from _outcomes(replays)


def simulate_run(run: RunConfiguration) -> RunOutcome:
    """Carry out one run, as :func:`simulate_runs` does."""
    (outcome,) = simulate_runs([run])
    return outcome


@dataclass(frozen=True)
class _Replay:
    """The simulation of a run: its result, what arrived in each week, and times by a clock on the wall."""

    run: RunConfiguration
    result: Result
    weeks: Sequence[Mapping[str, Any]]
    prepare_seconds: float
    run_seconds: float


def _are_plain_alike(one: RunConfiguration, other: RunConfiguration) -> bool:
    """Whether two runs replay one job table under the baseline, and measure the same part of it."""
    return one.mechanism == other.mechanism == BASELINE and (
        (one.workload, one.assignment, one.assignment_seed, one.measurement)
        == (other.workload, other.assignment, other.assignment_seed, other.measurement)
    )


def _count_jobs(replays: Sequence[_Replay]) -> int:
    return sum(len(replay.result.records) for replay in replays)


def _attempt_replay(run: RunConfiguration) -> _Replay | RunOutcome:
    try:
        # All objects of a run are freed at its end, so garbage collection would only cost time.
        with pause_collector():
            return _replay(run)
    except Exception as error:  # the other runs continue after any error, which is recorded
        return _failure(run, error)


def _outcomes(replays: Sequence[_Replay]) -> list[RunOutcome]:
    """Outcomes of replays of one job table, measured together; if that fails, one by one."""
    try:
        with pause_collector():
            return _measure(replays)
    except Exception as error:
        if len(replays) == 1:
            return [_failure(replays[0].run, error)]
        return [outcome for replay in replays for outcome in _outcomes([replay])]


def _failure(run: RunConfiguration, error: Exception) -> RunOutcome:
    """The outcome of a run that this exception, which is being handled, has ended."""
    if isinstance(error, InputError):
        return RunOutcome(run.key, {}, {}, str(error))
    return RunOutcome(run.key, {}, {}, error_sentence(error), traceback.format_exc())


def _replay(run: RunConfiguration) -> _Replay:
    if run.model != model_fingerprint():
        raise HoldfastError(
            f"the worker's Holdfast has the fingerprint {model_fingerprint()}, but the sweep needs "
            f"{run.model}: install the same version on the workers"
        )
    if run.plugins:
        log = run.workload
        here = find_sources(run.mechanism, run.options, run.assignment, log.format if isinstance(log, Log) else None)
        if here != run.plugins:
            names = ", ".join(name for name, _ in run.plugins)
            raise HoldfastError(f"the sources of {names} have changed since the sweep began")
    began = perf_counter()
    jobs, nodes, weeks = job_table(run.workload, run.assignment, run.assignment_seed)
    prepared = perf_counter()
    on_machine = None if isinstance(run.workload, GeneratedYear) else machine_requests(run.workload)
    result = simulate_table(jobs, nodes, run.mechanism, events=False, on_machine=on_machine, settings=run.options)
    return _Replay(run, result, weeks, prepared - began, perf_counter() - began)


def _measure(replays: Sequence[_Replay]) -> list[RunOutcome]:
    """Outcomes of replays of one job table with one measurement."""
    if not replays:
        return []
    began = perf_counter()
    how, results = replays[0].run.measurement, [replay.result for replay in replays]
    found = joint_summaries(results, instant_tolerance=how.instant_tolerance, window=how.window)
    share = (perf_counter() - began) / len(replays)
    return [_outcome(replay, share, *rows) for replay, rows in zip(replays, found, strict=True)]


def _outcome(
    replay: _Replay, measure_seconds: float, summary: dict[str, Any], types: Sequence[Mapping[str, Any]]
) -> RunOutcome:
    began = perf_counter()
    run, result = replay.run, replay.result
    how, nodes = run.measurement, result.nodes
    tolerance = run.options.warning if how.instant_tolerance is None else how.instant_tolerance
    clock = {name: summary.pop(name, None) for name in WALL_CLOCK}
    measured = {
        "nodes": nodes,
        "summary": _without(summary, "mechanism") | count_delays(result.records, nodes, tolerance, run.options.warning),
        "types": [_without(row, "mechanism") for row in types],
        "accounting": {name: ticks / (HOUR * SECOND) for name, ticks in result.accounting.by_state().items()},
        "weeks": replay.weeks,
    }
    lopsided = "" if run.mechanism == BASELINE else imbalance_warning(run.workload, run.assignment, run.assignment_seed)
    if lopsided:
        measured["lopsided"] = lopsided
    found = log_caveats(run.workload)
    if found:
        measured["caveats"] = list(found)
    timings = {
        "decision_ms_p50": Ranked(result.latencies).median * 1e3,
        **clock,
        "prepare_seconds": replay.prepare_seconds,
        "run_seconds": replay.run_seconds + measure_seconds + perf_counter() - began,
        "worker_peak_mib": _PEAK.mib(),
    }
    return RunOutcome(run.key, measured, timings)


def _without(row: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key != name}


class _PeakMemory:
    """Peak memory of this process.

    The system is asked at most once a second: where it answers slowly, asking after each run took a sixth of a sweep
    of short runs (900 runs of 500 jobs, 0.5 ms each).
    """

    def __init__(self) -> None:
        self._asked = -inf
        self._mib: float | None = None

    def mib(self) -> float | None:
        """Peak up to the last second [MiB]; None if the system does not report it."""
        now = perf_counter()
        if now - self._asked >= 1.0:
            self._asked, self._mib = now, _peak_mib()
        return self._mib


def _peak_mib() -> float | None:
    try:
        import resource
    except ImportError:
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 * 1024 if sys.platform == "darwin" else 1024)


_PEAK = _PeakMemory()
