"""Metrics: what a result means in numbers.

Source: docs/model.md, "Metrics"; Fan et al., IPDPS 2022, section IV-D. No-shows are outside all of them.
Cancelled jobs are counted apart, and so are jobs submitted before a replay with a starting state begins: how long these
waited was decided before.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from simulator.results.catalogue import Group, columns
from simulator.results.integrals import integral
from simulator.results.longrecords import LongRecords, LongSamples
from simulator.results.recording import NO_METRICS, Recording
from simulator.results.records import SLOWDOWN_BOUND, JobRecord
from simulator.results.reservations import summarize_stochastic
from simulator.results.schema import instant_ticks
from workloads.ground.errors import InputError, ParameterError
from workloads.ground.units import COSTS, LARGEST_TIME, SECOND, to_ticks
from workloads.table.job import JobType

__all__ = [
    "CANCELLATION_COLUMNS",
    "OUTAGE_COLUMNS",
    "SUMMARY_COLUMNS",
    "MeasuredWindow",
    "summaries",
    "summarize",
    "summarize_types",
]

_HOUR = 3600 * SECOND

SUMMARY_COLUMNS = ("mechanism", *columns(Group.SUMMARY))
#: Of a simulation that may withdraw jobs, beside the others: how many were, those of them that had started, and the
#: node-hours of the runs that were ended.
CANCELLATION_COLUMNS = columns(Group.CANCELLATIONS)
#: Where there are outages: node-hours that were away, and the utilisation of what was there.
OUTAGE_COLUMNS = columns(Group.OUTAGES)


class MeasuredWindow(NamedTuple):
    """Which part of the trace is measured.

    Attributes
    ----------
    warmup, cooldown
        Jobs submitted less than ``warmup`` seconds after the first submit, or less than ``cooldown`` seconds before
        the last, are left out; so are these times of the machine after the first submit and before the last completion.
    """

    warmup: float = 0.0
    cooldown: float = 0.0

    def bounds(self, submits: Sequence[int] | np.ndarray, begin: int | None = None) -> tuple[int, int]:
        """Earliest and latest submit that are measured, in the ticks of ``submits``.

        A replay with a starting state begins at ``begin``, one without at the first submit.

        Raises
        ------
        InputError
            If a duration is negative, or no submit is left between the two.
        """
        for name, value in self._asdict().items():
            if not 0 <= value <= LARGEST_TIME:
                raise ParameterError(name, f"a duration {COSTS}", value)
        many = np.asarray(submits, dtype=np.int64)
        first = int(many.min()) if begin is None else begin
        earliest, latest = first + to_ticks(self.warmup), int(many.max()) - to_ticks(self.cooldown)
        if not ((earliest <= many) & (many <= latest)).any():
            raise InputError(
                f"no job is left between a warmup of {self.warmup:g} s and a cooldown of {self.cooldown:g} s"
            )
        return earliest, latest


class _Measured:
    """Arrays over some jobs, all of which came; ticks."""

    def __init__(self, records: Sequence[JobRecord]) -> None:
        self.count = len(records)
        if isinstance(records, LongRecords):
            self._set(records.submit, records.start, records.end, records.runtime)
            self.preempted = self.shrunk = np.zeros(self.count, dtype=bool)
            return
        submit = np.array([record.submit for record in records], dtype=np.int64)
        start = np.array([record.start for record in records], dtype=np.int64)
        end = np.array([record.end for record in records], dtype=np.int64)
        runtime = np.array([record.runtime for record in records], dtype=np.int64)
        self._set(submit, start, end, runtime)
        self.preempted = np.array([record.preemptions > 0 for record in records], dtype=bool)
        self.shrunk = np.array([record.shrinks > 0 for record in records], dtype=bool)

    def _set(self, submit: np.ndarray, start: np.ndarray, end: np.ndarray, runtime: np.ndarray) -> None:
        self.turnaround = end - submit
        self.wait = start - submit
        self.slowdown = np.maximum(1.0, self.turnaround / np.maximum(runtime, SLOWDOWN_BOUND))


def _of(statistic: Callable[[np.ndarray], float], values: np.ndarray) -> float:
    """A statistic, or NaN of nothing."""
    return float(statistic(values)) if len(values) else math.nan


def _ratio(flags: np.ndarray) -> float:
    return _of(np.mean, flags)


def _p95(values: np.ndarray) -> float:
    return float(np.percentile(values, 95))


def _chosen(result: Recording, window: MeasuredWindow) -> Sequence[JobRecord]:
    """The records of the jobs that came, within the window."""
    begin = result.begin
    if isinstance(result.records, LongRecords):
        # The window needs no more than the ends and what lies between.
        submit = result.records.submit
        earliest, latest = window.bounds(submit)
        return result.records.of((earliest <= submit) & (submit <= latest)) if window != (0.0, 0.0) else result.records
    submits = [record.submit for record in result.records if record.submit is not None]
    if not submits or (begin is not None and max(submits) < begin):
        return []
    earliest, latest = window.bounds(submits, begin)
    return [record for record in result.records if record.submit is not None and earliest <= record.submit <= latest]


def _cancelled(records: Sequence[JobRecord], withdrawn: int) -> dict[str, str | int | float]:
    """The columns of :data:`CANCELLATION_COLUMNS`; node-hours are those of the whole simulation."""
    gone = [record for record in records if record.status == "cancelled"]
    started = sum(record.start is not None for record in gone)
    return dict(zip(CANCELLATION_COLUMNS, (len(gone), started, withdrawn / _HOUR), strict=True))


def _ended(records: Sequence[JobRecord]) -> Sequence[JobRecord]:
    """Records of jobs that were not cancelled."""
    if isinstance(records, LongRecords):
        return records
    return [record for record in records if record.status != "cancelled"]


def _by_type(records: Sequence[JobRecord]) -> dict[JobType, _Measured]:
    if isinstance(records, LongRecords):
        return {kind: _Measured(records if kind is JobType.RIGID else []) for kind in JobType}
    return {kind: _Measured([record for record in records if record.type is kind]) for kind in JobType}


def summarize(
    result: Recording, *, instant_tolerance: float | None = None, window: MeasuredWindow | None = None
) -> dict[str, str | int | float]:
    """The summary of one simulation.

    Parameters
    ----------
    result
        Result of :func:`simulator.simulation.simulate`.
    instant_tolerance
        How late an on-demand job may start and still count as started instantly [s]; None: the warning of the run.
    window
        What is measured; default everything.

    Returns
    -------
    dict
        The columns of :data:`SUMMARY_COLUMNS`, and where there are outages those of :data:`OUTAGE_COLUMNS`, where there
        are stochastic jobs those of :data:`simulator.results.reservations.SUMMARY_COLUMNS`, and where jobs may be
        withdrawn :data:`CANCELLATION_COLUMNS`; a mean or ratio over no jobs is NaN.

    Raises
    ------
    InputError
        If the result was read back from a directory, or the window leaves no job.
    """
    window = window if window is not None else MeasuredWindow()
    return _summary(result, _Groups(result, window), instant_tolerance, window)


def summaries(
    result: Recording, *, instant_tolerance: float | None = None, window: MeasuredWindow | None = None
) -> tuple[dict[str, str | int | float], list[dict[str, str | int | float]]]:
    """What :func:`summarize` and :func:`summarize_types` return, in less time than they take one after the other."""
    window = window if window is not None else MeasuredWindow()
    groups = _Groups(result, window)
    return _summary(result, groups, instant_tolerance, window), _types(result, groups)


class _Groups:
    """The jobs that are measured, all of them and by type.

    Attributes
    ----------
    chosen, records
        Records of those that came within the window, and of those of them that were not cancelled.
    everyone, kinds
        Arrays over the latter.
    """

    def __init__(self, result: Recording, window: MeasuredWindow) -> None:
        self.chosen = _chosen(result, window)
        self.records = _ended(self.chosen)
        self.everyone, self.kinds = _Measured(self.records), _by_type(self.records)


def _summary(
    result: Recording, groups: _Groups, instant_tolerance: float | None, window: MeasuredWindow
) -> dict[str, str | int | float]:
    if result.booked is None:
        raise InputError(NO_METRICS)
    tolerance = instant_ticks(result, instant_tolerance)
    chosen, records, everyone, kinds = groups.chosen, groups.records, groups.everyone, groups.kinds
    utilization, lost, elapsed = _machine(result, window)
    urgent = kinds[JobType.ON_DEMAND]
    latencies = np.array(result.latencies) * 1e3
    values = (
        result.mechanism,
        everyone.count,
        _of(np.mean, everyone.turnaround) / _HOUR,
        _of(np.mean, kinds[JobType.RIGID].turnaround) / _HOUR,
        _of(np.mean, kinds[JobType.MALLEABLE].turnaround) / _HOUR,
        _of(np.mean, urgent.turnaround) / _HOUR,
        _of(np.mean, everyone.wait) / _HOUR,
        _of(np.mean, everyone.slowdown),
        _ratio(urgent.wait <= tolerance),
        _ratio(urgent.wait <= 0),
        _ratio(kinds[JobType.RIGID].preempted),
        _ratio(kinds[JobType.MALLEABLE].preempted),
        _ratio(kinds[JobType.MALLEABLE].shrunk),
        _of(np.median, everyone.wait) / _HOUR,
        _of(_p95, everyone.wait) / _HOUR,
        _of(np.max, everyone.wait) / _HOUR,
        elapsed / _HOUR,
        utilization,
        lost / _HOUR,
        _of(lambda values: float(np.percentile(values, 99)), latencies),
        _of(np.max, latencies),
        result.engine_seconds,
    )
    summary: dict[str, str | int | float] = dict(zip(SUMMARY_COLUMNS, values, strict=True))
    if result.outages:
        summary.update(_availability(result, window, utilization))
    if result.stochastic:
        summary.update(summarize_stochastic(result, records))
    if result.withdrawn is not None:
        summary.update(_cancelled(chosen, result.withdrawn))
    return summary


def summarize_types(result: Recording, *, window: MeasuredWindow | None = None) -> list[dict[str, str | int | float]]:
    """The metrics of the jobs, for all of them and for each type: a row each; stochastic where there are any."""
    return _types(result, _Groups(result, window if window is not None else MeasuredWindow()))


def _types(result: Recording, measured: _Groups) -> list[dict[str, str | int | float]]:
    kinds = [kind for kind in JobType if kind is not JobType.STOCHASTIC or result.stochastic]
    groups = {"all": measured.everyone, **{str(kind): measured.kinds[kind] for kind in kinds}}
    return [
        {
            "mechanism": result.mechanism,
            "type": name,
            "jobs": jobs.count,
            "turnaround_h": _of(np.mean, jobs.turnaround) / _HOUR,
            "wait_h": _of(np.mean, jobs.wait) / _HOUR,
            "wait_median_h": _of(np.median, jobs.wait) / _HOUR,
            "wait_p95_h": _of(_p95, jobs.wait) / _HOUR,
            "wait_max_h": _of(np.max, jobs.wait) / _HOUR,
            "bounded_slowdown": _of(np.mean, jobs.slowdown),
            "preemption_ratio": _ratio(jobs.preempted),
            "shrink_ratio": _ratio(jobs.shrunk),
        }
        for name, jobs in groups.items()
    ]


def _measured_time(result: Recording, window: MeasuredWindow) -> tuple[int, int, int]:
    """From when to when the machine is measured, and the time from the first submit to the last completion; ticks."""
    first, last = result.opened, result.closed
    if first is None or last is None:
        return 0, 0, 0
    opens = first - result.origin + to_ticks(window.warmup)
    closes = last - result.origin - to_ticks(window.cooldown)
    return opens, closes, last - first


def _availability(result: Recording, window: MeasuredWindow, utilization: float) -> dict[str, float]:
    """The columns of :data:`OUTAGE_COLUMNS`."""
    opens, closes, _ = _measured_time(result, window)
    if closes <= opens:
        return dict.fromkeys(OUTAGE_COLUMNS, math.nan)
    times = [*(time for time, _ in result.down), closes]
    spans = np.diff(np.clip(np.array(times, dtype=np.int64), opens, closes))
    down = integral(np.array([nodes for _, nodes in result.down], dtype=np.int64), spans)
    total = result.nodes * (closes - opens)
    return {
        "down_node_hours": down / _HOUR,
        "utilization_available": utilization * total / (total - down) if down < total else math.nan,
    }


def _machine(result: Recording, window: MeasuredWindow) -> tuple[float, int, int]:
    """Utilisation, node-ticks lost, and elapsed ticks; a loss counts when it is booked."""
    opens, closes, elapsed = _measured_time(result, window)
    if closes <= opens:
        return math.nan, 0, elapsed
    # The last sample is taken at the last completion.
    if isinstance(result.samples, LongSamples):
        times, busy = result.samples.table[:, 0], result.samples.table[:-1, 1]
    else:
        times = np.array([sample[0] for sample in result.samples], dtype=np.int64)
        busy = np.array([sample[1] for sample in result.samples[:-1]], dtype=np.int64)
    spans = np.diff(np.clip(times, opens, closes))
    occupied = integral(busy, spans)
    lost = sum(node_ticks for time, node_ticks in result.losses if opens <= time <= closes)
    return (occupied - lost) / (result.nodes * (closes - opens)), lost, elapsed
