"""Schedules of logs, recorded or simulated with EASY, and sampled submissions of jobs that had to wait."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from holdfast.experiments.beyond.trace_pairs import cut
from holdfast.experiments.forecast.forecasts import simulate_starts
from holdfast.experiments.forecast.log_cursor import Past
from holdfast.experiments.forecast.sampled_workloads import Drawing, Future
from holdfast.experiments.forecast.sources import result_trace
from holdfast.simulator import simulate
from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.ground.random_streams import stream
from holdfast.workloads.hybrid.assignment import as_rigid
from holdfast.workloads.logs.readers import read_trace
from holdfast.workloads.theta.generator import generate
from holdfast.workloads.theta.year import ThetaYear

if TYPE_CHECKING:
    from holdfast.workloads.logs.trace import Trace

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
#: The rule of every simulated schedule and of every forecast.
EASY: Mapping[str, Any] = {"order": "fcfs", "backfilling": "easy"}
#: Moments are drawn after this share of the jobs.
_FIRST = 0.1


@dataclass(frozen=True)
class Schedule:
    """A schedule for which waits are forecast.

    Attributes
    ----------
    log
        Its name.
    kind
        ``simulated`` or ``recorded``.
    path
        The log's file; empty: a generated year.
    most_jobs
        Number of jobs taken from the beginning of the log, or jobs of a generated year; 0: all.
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
        Places of the jobs that have to wait by the rule in the state at their submission, in the order of the draw.
    drawn
        Number of jobs drawn to find them.
    at_once, right
        Number of drawn jobs that start at once by the rule, and how many of those actually did within a minute.
    impossible
        Number left out because more nodes were in use at their submission, by the log, than the machine has.
    """

    waiting: tuple[int, ...]
    drawn: int
    at_once: int
    right: int
    impossible: int


@lru_cache(maxsize=1)
def read_past(schedule: Schedule) -> Past:
    """The schedule as a cursor over its states and histories.

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
    """Draw jobs until ``count`` of them have to wait or no job is left."""
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
        if schedule.kind == SIMULATED:
            # The state and the rule determine which jobs start at once.
            start = float(past.starts[place])
        elif past.state(at, place).left_out:
            impossible += 1
            continue
        else:
            start = by_walltime(past, place)
        if start > at:
            waiting.append(place)
        else:
            at_once += 1
            right += past.starts[place] <= at + 60.0
    return Moments(tuple(waiting), drawn, at_once, int(right), impossible)


def moment_seed(schedule: Schedule, place: int, seed: int) -> int:
    """Seed of one moment, so that the common random factors of jobs differ between moments."""
    return int(stream(seed, "moment", *schedule.names, place).integers(1 << 62))


def by_walltime(past: Past, place: int) -> float:
    """Start of a job [s] if all jobs ran for their walltimes without further submissions, as in ``squeue --start``."""
    at, job_id = float(past.submits[place]), past.job(place).job_id
    return simulate_starts(Drawing(past.state(at, place), None, Future("none"), 1, 0), 0, [job_id], EASY)[job_id]
