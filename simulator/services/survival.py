"""Survival: whether any job can still end while nodes fail at a rate.

Failures at a rate do not end. If every job fails again before it has gained anything, neither does the simulation, and
each of its failures leads to a pass over the queue. That is refused as soon as it is all but sure, by bounds that
favour the jobs.
"""

from __future__ import annotations

import math
from itertools import chain

from simulator.machine.cluster import Kind
from simulator.machine.jobstate import JobState
from simulator.machine.stochastic import StochasticJob
from simulator.machine.system import System
from simulator.services.failures import gatherings_of
from workloads.ground.errors import InputError
from workloads.ground.units import SECOND
from workloads.outages.failures import FailureRate
from workloads.table.job import MALLEABLE

__all__ = ["Patience"]

#: Failures at a rate during which some job must end, whatever the chances are.
MOST_FAILURES = 100_000
#: From so many failures without the end of a job on, and after so many more each, chances are looked at.
_FIRST, _EVERY = 300, 100
#: A job that would have to be started more often than this to end once does not.
_MOST_STARTS = 1000
#: So many looks in a row must find no job with a better chance: one may be between two places at one of them.
_LOOKS = 3
#: So many must find none among the running jobs: those with a chance wait behind jobs that start again and again.
_LOOKS_AT_RUNS = 10


class Patience:
    """Counts the failures since a job has ended, and gives up where no job has a chance.

    Parameters
    ----------
    rate
        The failures; None: none come at a rate.
    """

    def __init__(self, rate: FailureRate | None) -> None:
        self._rate = rate
        self._failures = 0
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
        failures = self._failures
        if self._rate is not None and failures >= _FIRST and not failures % _EVERY:
            self._look(system, self._rate)
        if failures > MOST_FAILURES or self._hopeless >= _LOOKS or self._blocked >= _LOOKS_AT_RUNS:
            raise InputError(
                f"no job has ended during {failures:,} failures: nodes fail too often for the remaining jobs"
            )

    def _look(self, system: System, rate: FailureRate) -> None:
        most = _most_up(rate, system)

        def is_hopeful(job: JobState) -> bool:
            return job.min_nodes <= most and _survival(job, rate) > 1 / _MOST_STARTS

        running = [run.job for run in chain(system.runs.values(), system.leaving.values())]
        others = [*(item.job for item in gatherings_of(system)), *system.queue]
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
    if isinstance(job, StochasticJob):
        return 1.0
    if job.type is MALLEABLE:
        stretch = job.setup  # what it has computed stays
    else:
        stretch = job.setup + (min(job.interval, job.compute) if job.dumps else job.compute)
    return math.exp(-job.min_nodes * stretch / (rate.mtbf * SECOND))


def _most_up(rate: FailureRate, system: System) -> float:
    """How many nodes can be expected to be up together, now or later."""
    share = rate.mtbf / (rate.mtbf + rate.repair)
    later = system.nodes * share + 6 * math.sqrt(system.nodes * share * (1 - share)) + 1
    return max(later, system.nodes - system.cluster.totals[Kind.DOWN])
