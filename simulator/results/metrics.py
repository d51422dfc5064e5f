"""Metrics: what a result means in numbers.

Source: docs/model.md, "Metrics"; Fan et al., IPDPS 2022, section IV-D. No-shows are outside all of them.
Cancelled jobs are counted apart, and so are jobs submitted before a replay with a starting state begins: how long these
waited was decided before.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from simulator.results.catalogue import Group, columns
from simulator.results.integrals import integral
from simulator.results.order_statistics import Ranked
from simulator.results.recording import NO_METRICS, Recording
from simulator.results.records import Records
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

#: What is told of some jobs.
_TOLD = (
    *("turnaround_h", "wait_h", "wait_median_h", "wait_p95_h", "wait_max_h"),
    *("bounded_slowdown", "preemption_ratio", "shrink_ratio"),
)

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
    """Arrays over some jobs, all of which came [ticks], and what several tables say of them.

    Attributes
    ----------
    count
        Number of jobs.
    turnaround, wait, slowdown
        Shape (count,); bounded slowdowns.
    preempted, shrunk
        Whether it happened at least once, shape (count,).
    """

    def __init__(self, turnaround: np.ndarray, wait: np.ndarray, slowdown: np.ndarray, preempted: np.ndarray,
                 shrunk: np.ndarray) -> None:  # fmt: skip
        self.count = len(turnaround)
        self.turnaround, self.wait, self.slowdown = turnaround, wait, slowdown
        self.preempted, self.shrunk = preempted, shrunk

    @classmethod
    def of(cls, records: Records) -> _Measured:
        """The jobs of these records."""
        counts = (records.columns[name] > 0 for name in ("preemptions", "shrinks"))
        return cls(records.turnaround, records.wait, records.bounded_slowdown, *counts)

    def part(self, chosen: np.ndarray) -> _Measured:
        """Some of the jobs."""
        arrays = (self.turnaround, self.wait, self.slowdown, self.preempted, self.shrunk)
        return _Measured(*(array[chosen] for array in arrays))

    @cached_property
    def told(self) -> dict[str, float]:
        """The metrics of the jobs; NaN of none."""
        if not self.count:
            return dict.fromkeys(_TOLD, math.nan)
        waits = Ranked(self.wait)
        values = (
            _mean(self.turnaround) / _HOUR,
            _mean(self.wait) / _HOUR,
            waits.median / _HOUR,
            waits.quantile(0.95) / _HOUR,
            waits.most / _HOUR,
            _mean(self.slowdown),
            _ratio(self.preempted),
            _ratio(self.shrunk),
        )
        return dict(zip(_TOLD, values, strict=True))


def _mean(values: np.ndarray) -> float:
    """As ``numpy.mean``, without its choices, which take longer than the sum of a few hundred values."""
    return float(np.add.reduce(values, dtype=np.float64)) / len(values)


def _ratio(flags: np.ndarray) -> float:
    """The share of those that are true; NaN of nothing."""
    return int(np.count_nonzero(flags)) / len(flags) if len(flags) else math.nan


def _chosen(result: Recording, window: MeasuredWindow) -> Records:
    """The records of the jobs that came, within the window."""
    records, begin = result.records, result.begin
    submits, came = records.columns["submit"], records.came
    if window != (0.0, 0.0) or begin is not None:
        there = submits[came]
        if not len(there) or (begin is not None and int(there.max()) < begin):
            return records.part(slice(0))
        earliest, latest = window.bounds(there, begin)
        came &= (earliest <= submits) & (submits <= latest)
    return records if came.all() else records.part(came)


def _cancelled(records: Records, withdrawn: int) -> dict[str, str | int | float]:
    """The columns of :data:`CANCELLATION_COLUMNS`; node-hours are those of the whole simulation."""
    gone = records.have("cancelled")
    started = int(np.count_nonzero(gone & records.started))
    return dict(zip(CANCELLATION_COLUMNS, (int(np.count_nonzero(gone)), started, withdrawn / _HOUR), strict=True))


def _ended(records: Records) -> Records:
    """Records of jobs that were not cancelled."""
    gone = records.have("cancelled")
    return records.part(~gone) if gone.any() else records


def _by_type(records: Records, everyone: _Measured) -> dict[JobType, _Measured]:
    parts = {kind: records.are(kind) for kind in JobType}
    # What all are is measured once.
    return {kind: everyone if part.all() else everyone.part(part) for kind, part in parts.items()}


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
        self.everyone = _Measured.of(self.records)
        self.kinds = _by_type(self.records, self.everyone)


def _summary(
    result: Recording, groups: _Groups, instant_tolerance: float | None, window: MeasuredWindow
) -> dict[str, str | int | float]:
    if result.booked is None:
        raise InputError(NO_METRICS)
    tolerance = instant_ticks(result, instant_tolerance)
    chosen, records, everyone, kinds = groups.chosen, groups.records, groups.everyone, groups.kinds
    utilization, lost, elapsed = _machine(result, window)
    urgent = kinds[JobType.ON_DEMAND]
    # None of a simulation in which nothing was decided.
    latencies = Ranked(np.array(result.latencies) * 1e3) if len(result.latencies) else None
    all_jobs, rigid, malleable = everyone.told, kinds[JobType.RIGID].told, kinds[JobType.MALLEABLE].told
    values = (
        result.mechanism,
        everyone.count,
        all_jobs["turnaround_h"],
        rigid["turnaround_h"],
        malleable["turnaround_h"],
        urgent.told["turnaround_h"],
        all_jobs["wait_h"],
        all_jobs["bounded_slowdown"],
        _ratio(urgent.wait <= tolerance),
        _ratio(urgent.wait <= 0),
        rigid["preemption_ratio"],
        malleable["preemption_ratio"],
        malleable["shrink_ratio"],
        all_jobs["wait_median_h"],
        all_jobs["wait_p95_h"],
        all_jobs["wait_max_h"],
        elapsed / _HOUR,
        utilization,
        _utilization_to_last_submit(result, chosen, window),
        lost / _HOUR,
        latencies.quantile(0.99) if latencies is not None else math.nan,
        latencies.most if latencies is not None else math.nan,
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
        {"mechanism": result.mechanism, "type": name, "jobs": jobs.count, **jobs.told} for name, jobs in groups.items()
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


def _utilization_to_last_submit(result: Recording, chosen: Records, window: MeasuredWindow) -> float:
    """Utilisation from where measuring begins to the last submit of a measured job; NaN if that is no time."""
    opens, ends, _ = _measured_time(result, window)
    submit = int(chosen.columns["submit"].max(initial=opens + result.origin))
    closes = min(submit - result.origin, ends)
    if closes <= opens:
        return math.nan
    if window != (0.0, 0.0):
        occupied, lost = _use(result, opens, closes)
        return (occupied - lost) / (result.nodes * (closes - opens))
    # All of the time is accounted for already: only what follows need be added up, which is short.
    spent, samples = result.accounting, result.samples
    place = int(np.searchsorted(samples.column(0), closes, side="right"))
    after = samples.table[place - 1 :, :2].tolist()
    busy = sum(nodes * (until - max(at, closes)) for (at, nodes), (until, _) in pairwise(after))
    lost = sum(node_ticks for time, node_ticks in result.losses if time > closes)
    done = spent.compute + spent.setup + spent.checkpoint - busy + lost
    return float(done / (result.nodes * (closes - opens)))


def _machine(result: Recording, window: MeasuredWindow) -> tuple[float, int, int]:
    """Utilisation, node-ticks lost, and elapsed ticks; a loss counts when it is booked."""
    if window == (0.0, 0.0):
        # All of the time is accounted for already.
        spent = result.accounting
        whole = sum(spent)
        done = spent.compute + spent.setup + spent.checkpoint
        return done / whole if whole else math.nan, spent.lost + spent.warning, whole // result.nodes
    opens, closes, elapsed = _measured_time(result, window)
    if closes <= opens:
        return math.nan, 0, elapsed
    occupied, lost = _use(result, opens, closes)
    return (occupied - lost) / (result.nodes * (closes - opens)), lost, elapsed


def _use(result: Recording, opens: int, closes: int) -> tuple[int, int]:
    """Node-ticks occupied between two times, and lost there; a loss counts when it is booked."""
    # The last sample is taken at the last completion.
    spans = np.diff(np.clip(result.samples.column(0), opens, closes))
    occupied = integral(result.samples.column(1)[:-1], spans)
    return occupied, sum(node_ticks for time, node_ticks in result.losses if opens <= time <= closes)
