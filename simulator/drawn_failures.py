"""Failures at a rate in simulations that know all outages at the beginning: drawn until the last job has ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice, takewhile

from holdfast.simulator.results.result import Result
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.units import SECOND, to_ticks
from holdfast.workloads.outages.failures import FailureRate
from holdfast.workloads.outages.outage import Outage

__all__ = ["simulate_with_failures"]

#: Most failures of a simulation, and further ones for each job.
_MOST, _MOST_A_JOB = 10_000, 100


def simulate_with_failures(
    simulate: Callable[[Sequence[Outage]], Result], failures: FailureRate, nodes: int, begin: int, jobs: int
) -> Result:
    """Simulate with failures of single nodes.

    Failures later than the last end change nothing. So the simulation is repeated with failures of a longer time until
    that holds all jobs: most times once without failures, and once with those of twice that time.

    Parameters
    ----------
    simulate
        Simulates with given failures of the machine.
    failures
        Their rate.
    nodes
        Number of nodes of the machine.
    begin
        When the first of them may be [ticks of the table's clock].
    jobs
        Number of jobs.

    Returns
    -------
    Result
        Its outages are those of ``simulate`` that began before the last job had ended.

    Raises
    ------
    InputError
        If the jobs have not ended after 10,000 failures and 100 more for each job.
    """
    until, most = begin, _MOST + _MOST_A_JOB * jobs
    while True:
        found = list(islice(_failures_until(until, failures, nodes, begin), most + 1))
        if len(found) > most:
            raise InputError(
                f"failures must be rarer, or jobs shorter: after {most:,} failures (--failure-mtbf) some jobs have "
                "not ended"
            )
        result = simulate(found)
        moments = result.samples.column(0)
        last = result.origin + int(moments[-1]) if len(moments) else begin
        if last <= until:
            return replace(result, outages=[outage for outage in result.outages if to_ticks(outage.start) < last])
        until = begin + 2 * (last - begin)


def _failures_until(until: int, failures: FailureRate, nodes: int, begin: int) -> Iterator[Outage]:
    return takewhile(lambda failure: to_ticks(failure.start) < until, failures.draw(nodes, begin / SECOND))
