"""Survival: whether any job can still end while nodes fail at a rate.

Failures at a rate do not end. If a job fails again and again before it has gained anything, neither does the
simulation, and each of its failures leads to a pass over the queue. A table in which that is all but sure is refused
before it is simulated, whatever else it holds; what only the course of a simulation shows is refused as soon as it
shows. All bounds favour the jobs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import chain

from simulator.machine.cluster import Kind
from simulator.machine.job_state import JobState
from simulator.machine.stochastic import StochasticJob
from simulator.machine.system import System
from simulator.services.failures import open_gatherings
from workloads.ground.errors import InputError
from workloads.ground.units import SECOND
from workloads.outages.failures import FailureRate
from workloads.table.job import MALLEABLE

__all__ = ["Patience", "check_starts", "mean_starts"]

#: Failures at a rate during which some job must end, whatever the chances are.
MOST_FAILURES = 100_000
#: From so many failures without the end of a job on, and after so many more each, chances are looked at.
_FIRST, _EVERY = 300, 100
#: A job that would have to be started more often than this to end once does not.
_MOST_STARTS = 1000
#: Starts that a job may need on average; all together may need so many, and the second number more for each of them.
_STARTS, _STARTS_A_JOB = 10_000, 100
#: e to that power is no overflow, also in a sum of some million.
_LARGEST = 650.0
#: So many looks in a row must find no job with a better chance: one may be between two places at one of them.
_LOOKS = 3
#: So many must find none among the running jobs: those with a chance wait behind jobs that start again and again.
_LOOKS_AT_RUNS = 10


def check_starts(jobs: Iterable[JobState], rate: FailureRate) -> None:
    """Refuse a table whose jobs have to be started too often until all have ended.

    A run that fails before it has computed anything that it keeps leaves its job as it was, so that a job with the
    probability p of a better one is started 1 / p times on average until then.

    Parameters
    ----------
    jobs
        States of the jobs before the simulation. Those that may be cancelled, that run already, or that never arrive
        need not start.
    rate
        The failures.

    Raises
    ------
    InputError
        If one of them needs more than ``_STARTS`` starts, or all together ``_STARTS_A_JOB`` more for each of them.
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
    """Lower bound of the mean number of starts until a job has computed something that it keeps."""
    return math.exp(min(_exponent(job, rate), _LARGEST))


class Patience:
    """Counts the failures since a job has ended, and gives up where no job has a chance.

    Parameters
    ----------
    rate
        The failures; None: none come at a rate.
    """

    def __init__(self, rate: FailureRate | None) -> None:
        self._rate = rate
        self._failures = self._all = 0
        self._hopeless = self._blocked = 0

    def renew(self) -> None:
        """A job has ended."""
        self._failures = self._hopeless = self._blocked = 0

    def strain(self, system: System) -> None:
        """A failure comes.

        Raises
        ------
        InputError
            If no job has ended during ``MOST_FAILURES``, or none that is there can be expected to.
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
        """Refuse a stochastic job whose present reservation, unknown before it was planned, needs too many starts."""
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
        # Where no job is there, one comes later.
        if any(map(is_hopeful, others)) or not (running or others):
            self._hopeless = 0
        else:
            self._hopeless += 1


def _survival(job: JobState, rate: FailureRate) -> float:
    """Upper bound of the probability that a run of a job computes something that it keeps."""
    return math.exp(-_exponent(job, rate))


def _exponent(job: JobState, rate: FailureRate) -> float:
    """Lower bound of the failures that are expected in a run's nodes before it computes something that it keeps."""
    if isinstance(job, StochasticJob):
        stretch = job.shortest_gain()
    elif job.type is MALLEABLE:
        stretch = job.setup  # what it has computed stays
    else:
        stretch = job.setup + (min(job.interval, job.compute) if job.dumps else job.compute)
    return job.min_nodes * stretch / (rate.mtbf * SECOND)


def _refusal(rate: FailureRate, job_id: int, starts: float, beside: str = "") -> InputError:
    return InputError(
        f"nodes fail too often, each every {rate.mtbf:,.10g} s on average, for all jobs to end: job {job_id} "
        f"must be started {_in_words(starts)} times on average before failures let it get on{beside}"
    )


def _in_words(starts: float) -> str:
    """A number of starts; large ones as a power of 10."""
    if starts < 1e9:
        return f"{starts:,.0f}"
    return f"{'more than ' if starts >= math.exp(_LARGEST) else ''}10^{math.log10(starts):.0f}"


def _most_up(rate: FailureRate, system: System) -> float:
    """How many nodes can be expected to be up together, now or later."""
    share = rate.mtbf / (rate.mtbf + rate.repair)
    later = system.nodes * share + 6 * math.sqrt(system.nodes * share * (1 - share)) + 1
    return max(later, system.nodes - system.cluster.totals[Kind.DOWN])
