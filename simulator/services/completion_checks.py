"""Checks that jobs can still complete while nodes fail at a rate.

Failures at a rate never cease. If a job fails again and again before it makes progress, the simulation does not end
either, and each failure causes a pass over the queue. A table for which this is almost certain is refused before it is
simulated; cases that appear only in the course of a simulation are refused as soon as they are detected. All bounds
favour the jobs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import chain

from holdfast.simulator.machine.cluster import Kind
from holdfast.simulator.machine.job_state import JobState
from holdfast.simulator.machine.stochastic import StochasticJob
from holdfast.simulator.machine.system import System
from holdfast.simulator.services.failures import open_gatherings
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.outages.failures import FailureRate
from holdfast.workloads.table.job import MALLEABLE

__all__ = ["Patience", "check_starts", "mean_starts"]

#: Number of failures during which at least one job must end, whatever the estimated chances are.
MOST_FAILURES = 100_000
#: Interval, in failures without the end of a job, between estimates of the chances.
_FIRST, _EVERY = 300, 100
#: A job that needs more starts than this on average counts as unable to end.
_MOST_STARTS = 1000
#: Starts that a job may need on average. All jobs together may need that number, plus the second number per job.
_STARTS, _STARTS_A_JOB = 10_000, 100
#: Largest exponent of e that does not overflow, even in a sum of some million terms.
_LARGEST = 650.0
#: Consecutive estimates that must find no job with a chance, because a job may be in transition during one of them.
_LOOKS = 3
#: Consecutive estimates that must find none among the running jobs: others may wait behind jobs that fail repeatedly.
_LOOKS_AT_RUNS = 10


def check_starts(jobs: Iterable[JobState], rate: FailureRate) -> None:
    """Refuse a table that needs too many starts of its jobs until all have ended.

    A run that fails before it has saved any work leaves its job unchanged: if a run saves work with probability p, the
    job is started 1 / p times on average until then.

    Parameters
    ----------
    jobs
        States of the jobs before the simulation. Jobs that may be cancelled, are already running, or never arrive do
        not count.
    rate
        The failures.

    Raises
    ------
    InputError
        If one of them needs more than ``_STARTS`` starts, or all together more than that plus ``_STARTS_A_JOB`` per
        job.
    """
    most, needed, worst, worst_id = float(_STARTS), 0.0, 0.0, 0
    for job in jobs:
        most += _STARTS_A_JOB
        if job.job.submit is not None and job.job.running_since is None and job.job.cancelled_at is None:
            starts = mean_starts(job, rate)
            needed += starts
            if starts > worst:
                worst, worst_id = starts, job.job_id
    if worst > _STARTS:
        raise _refusal(rate, worst_id, worst)
    if needed > most:
        raise _refusal(rate, worst_id, worst, f", and all jobs together {_in_words(needed)} times")


def mean_starts(job: JobState, rate: FailureRate) -> float:
    """Lower bound of the mean number of starts until a job has saved some work."""
    return math.exp(min(_exponent(job, rate), _LARGEST))


class Patience:
    """Counts the failures since the last end of a job, and ends the simulation if no job has a chance.

    Parameters
    ----------
    rate
        Failure rate; None: no failures at a rate.
    """

    def __init__(self, rate: FailureRate | None) -> None:
        self._rate = rate
        self._failures = self._all = 0
        self._hopeless = self._blocked = 0

    def renew(self) -> None:
        """Reset the count, because a job has ended."""
        self._failures = self._hopeless = self._blocked = 0

    def strain(self, system: System) -> None:
        """Count a failure.

        Raises
        ------
        InputError
            If no job has ended during ``MOST_FAILURES`` failures, or none of the present jobs can be expected to end.
        """
        self._failures += 1
        self._all += 1
        if self._rate is not None and not self._all % _EVERY:
            self._look_at_reservations(system, self._rate)
        failures = self._failures
        if self._rate is not None and failures >= _FIRST and not failures % _EVERY:
            self._look(system, self._rate)
        if failures > MOST_FAILURES or self._hopeless >= _LOOKS or self._blocked >= _LOOKS_AT_RUNS:
            raise InputError(
                f"no job has ended during {failures:,} failures: nodes fail too often for the remaining jobs"
            )

    def _look_at_reservations(self, system: System, rate: FailureRate) -> None:
        """Refuse a stochastic job if its current reservation, unknown before it was planned, needs too many starts."""
        for job in chain((run.job for run in system.runs.values()), system.queue):
            if isinstance(job, StochasticJob) and job.job.cancelled_at is None:
                starts = mean_starts(job, rate)
                if starts > _STARTS:
                    raise _refusal(rate, job.job_id, starts)

    def _look(self, system: System, rate: FailureRate) -> None:
        most = _most_up(rate, system)

        def is_hopeful(job: JobState) -> bool:
            return job.min_nodes <= most and _survival(job, rate) > 1 / _MOST_STARTS

        running = [run.job for run in chain(system.runs.values(), system.leaving.values())]
        others = [*(item.job for item in open_gatherings(system)), *system.queue]
        if any(map(is_hopeful, running)):
            self._hopeless = self._blocked = 0
            return
        if running:
            self._blocked += 1
        # If no job is present, one will arrive later.
        if any(map(is_hopeful, others)) or not (running or others):
            self._hopeless = 0
        else:
            self._hopeless += 1


def _survival(job: JobState, rate: FailureRate) -> float:
    """Upper bound of the probability that a run of a job saves some work."""
    return math.exp(-_exponent(job, rate))


def _exponent(job: JobState, rate: FailureRate) -> float:
    """Lower bound of the expected number of failures among a run's nodes before it saves some work."""
    if isinstance(job, StochasticJob):
        stretch = job.shortest_gain()
    elif job.type is MALLEABLE:
        stretch = job.setup  # all computed work is kept
    else:
        stretch = job.setup + (min(job.interval, job.compute) if job.dumps else job.compute)
    return job.min_nodes * stretch / (rate.mtbf * SECOND)


def _refusal(rate: FailureRate, job_id: int, starts: float, beside: str = "") -> InputError:
    return InputError(
        f"nodes fail too often, each every {rate.mtbf:,.10g} s on average, for all jobs to end: job {job_id} "
        f"must be started {_in_words(starts)} times on average until it makes progress{beside}"
    )


def _in_words(starts: float) -> str:
    """Format a number of starts; large ones as a power of 10."""
    if starts < 1e9:
        return f"{starts:,.0f}"
    return f"{'more than ' if starts >= math.exp(_LARGEST) else ''}10^{math.log10(starts):.0f}"


def _most_up(rate: FailureRate, system: System) -> float:
    """Largest number of nodes that can be expected to be up at the same time."""
    share = rate.mtbf / (rate.mtbf + rate.repair)
    later = system.nodes * share + 6 * math.sqrt(system.nodes * share * (1 - share)) + 1
    return max(later, system.nodes - system.cluster.totals[Kind.DOWN])
