"""Schedules of logs, recorded or simulated with EASY, and sampled submissions of jobs that had to wait."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from experiments.beyond.trace_pairs import cut
from experiments.forecast.forecasts import simulate_starts
from experiments.forecast.log_cursor import Past
from experiments.forecast.sampled_workloads import Drawing, Future
from experiments.forecast.sources import result_trace
from simulator import simulate
from workloads.ground.errors import InputError, ParameterError
from workloads.ground.streams import stream
from workloads.hybrid.assignment import as_rigid
from workloads.logs.readers import read_trace
from workloads.theta.generator import generate
from workloads.theta.year import ThetaYear

if TYPE_CHECKING:
    from workloads.logs.trace import Trace

__all__ = [
    "EASY",
    "GENERATED",
    "RECORDED",
    "SIMULATED",
    "Moments",
    "Schedule",
    "by_walltime",
    "draw_moments",
    "moment_seed",
    "read_past",
    "trace_behind",
]

SIMULATED, RECORDED = "simulated", "recorded"
GENERATED = "generated"
#: The rule of every schedule that is simulated, and of every forecast.
EASY: Mapping[str, Any] = {"order": "fcfs", "backfilling": "easy"}
#: Moments lie after this part of the jobs.
_FIRST = 0.1


@dataclass(frozen=True)
class Schedule:
    """A schedule to forecast.

    Attributes
    ----------
    log
        Its name.
    kind
        ``simulated`` or ``recorded``.
    path
        The log's file; empty: a generated year.
    most_jobs
        Number of jobs taken from the begin of the log, or jobs of a generated year; 0: all.
    seed
        Seed of a generated year.
    number
        Its place among the generated years.
    """

    log: str
    kind: str
    path: str = ""
    most_jobs: int = 0
    seed: int = 0
    number: int = 0

    @property
    def names(self) -> tuple[str | int, ...]:
        """Names of its random streams."""
        return (self.log, self.kind, self.number) if self.number else (self.log, self.kind)


class Moments(NamedTuple):
    """Jobs of a schedule, drawn at random.

    Attributes
    ----------
    waiting
        Places of those that have to wait by the state at their submission and the rule, as they were drawn.
    drawn
        How many jobs were drawn for them.
    at_once, right
        How many of these start at once by state and rule, and how many of those did within a minute.
    impossible
        How many were left out because the log has more running at their submission than the machine holds.
    """

    waiting: tuple[int, ...]
    drawn: int
    at_once: int
    right: int
    impossible: int


@lru_cache(maxsize=1)
def read_past(schedule: Schedule) -> Past:
    """The schedule, asked for what was known at many times.

    Raises
    ------
    InputError
        If the log cannot be read, or does not give the size of its machine.
    """
    trace = trace_behind(schedule)
    return Past(trace, trace.nodes or 0)


@lru_cache(maxsize=1)
def trace_behind(schedule: Schedule) -> Trace:
    """The schedule as a log.

    Raises
    ------
    InputError
        If the log cannot be read, or does not give the size of its machine.
    """
    trace = _trace(schedule)
    if not trace.nodes:
        raise ParameterError(schedule.log, "a log with the size of its machine in its header", schedule.path)
    if schedule.kind == SIMULATED:
        return result_trace(simulate(as_rigid(trace), trace.nodes, events=False, **EASY))
    return trace


def _trace(schedule: Schedule) -> Trace:
    if not schedule.path:
        return generate(ThetaYear(jobs=schedule.most_jobs or ThetaYear().jobs), schedule.seed)
    trace = read_trace(schedule.path)
    trace = trace.on_machine(trace.nodes) if trace.nodes else trace
    return cut(trace, schedule.most_jobs) if schedule.most_jobs else trace


def draw_moments(schedule: Schedule, count: int, seed: int) -> Moments:
    """Draw jobs until ``count`` of them have to wait, or none is left."""
    past = read_past(schedule)
    first = int(len(past) * _FIRST)
    order = first + stream(seed, "moments", *schedule.names).permutation(len(past) - first)
    waiting: list[int] = []
    drawn = at_once = right = impossible = 0
    for place in order.tolist():
        if len(waiting) >= count:
            break
        if np.isnan(past.starts[place]):
            continue  # it was withdrawn: there is no wait to forecast
        drawn += 1
        at = float(past.submits[place])
        try:
            # Of a simulated schedule state and rule are known to decide which jobs start at once.
            start = float(past.starts[place]) if schedule.kind == SIMULATED else by_walltime(past, place)
        except InputError:
            impossible += 1
            continue
        if start > at:
            waiting.append(place)
        else:
            at_once += 1
            right += past.starts[place] <= at + 60.0
    return Moments(tuple(waiting), drawn, at_once, int(right), impossible)


def moment_seed(schedule: Schedule, place: int, seed: int) -> int:
    """The seed of one moment: what the jobs of a draw have in common must not be the same at all moments."""
    return int(stream(seed, "moment", *schedule.names, place).integers(1 << 62))


def by_walltime(past: Past, place: int) -> float:
    """Start of a job if all jobs ran for their walltimes and no other were submitted [s]: ``squeue --start``."""
    at, job_id = float(past.submits[place]), past.job(place).job_id
    return simulate_starts(Drawing(past.state(at, place), None, Future("none"), 1, 0), 0, [job_id], EASY)[job_id]
