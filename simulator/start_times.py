"""Start times of selected jobs in a simulation that begins in a given state."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

from holdfast.simulator.clock.engine import Engine
from holdfast.simulator.clock.setup import Setup
from holdfast.simulator.clock.walltime_trial import Trial
from holdfast.simulator.collector_pause import pause_collector
from holdfast.simulator.machine.decisions import Decisions
from holdfast.simulator.machine.event_log import EventLog
from holdfast.simulator.machine.job_state import JobState
from holdfast.simulator.machine.prior_state import PriorState
from holdfast.simulator.options import Options
from holdfast.simulator.results.recording import clock_origin
from holdfast.simulator.services.downtime import Closures
from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.ground.units import to_seconds, to_ticks
from holdfast.workloads.outages.failures import FailureRate
from holdfast.workloads.outages.outage import Outage
from holdfast.workloads.table.job import Job
from holdfast.workloads.table.job_lifecycle import replay_start
from holdfast.workloads.table.validation import check_jobs

__all__ = ["first_starts", "is_blind", "starts_by_walltime"]

#: Orders in which a job's place does not depend on its walltime, and rules under which the first waiting job delays
#: others only by its size.
_BLIND_ORDERS, _BLIND_RULES = frozenset({"fcfs", "smallest", "largest"}), frozenset({"easy", "none"})


def first_starts(
    jobs: Iterable[Job],
    nodes: int,
    begin: float,
    awaited: Iterable[int],
    *,
    origin: float | None = None,
    outages: Sequence[Outage] = (),
    failures: FailureRate | None = None,
    prior: PriorState | None = None,
    **options: object,
) -> dict[int, float]:
    """Simulate from a given state until selected jobs have started.

    Parameters
    ----------
    jobs
        Rigid jobs: running (``running_since``), waiting (submitted before ``begin``), and future ones.
    nodes
        Size of the machine.
    begin
        Time of the state, on the job table's clock, not before any ``running_since`` [s].
    awaited
        Ids of the selected jobs.
    origin
        Time 0 of the simulated clock, not after the first submit [s]: some orders (``f1``) depend on the time since
        then; None: the first submit of the table.
    outages
        Outage windows, including those that are not yet announced at ``begin``.
    failures
        Rate of node failures from ``begin`` on; None: no failures.
    prior
        Past usage and nodes of the running jobs; None: unknown.
    **options
        As of :func:`holdfast.simulator.simulation.simulate`.

    Returns
    -------
    dict
        Starts so far of the jobs that were not running at ``begin`` [s], by job id.

    Raises
    ------
    InputError
        If the table, the machine, an option or an awaited id is not legal.

    Examples
    --------
    >>> from holdfast.workloads.table.job import Job, JobType
    >>> runs = Job(1, JobType.RIGID, submit=0, nodes=4, runtime=3600, walltime=7200, running_since=0)
    >>> waits = Job(2, JobType.RIGID, submit=60, nodes=2, runtime=600, walltime=600)
    >>> first_starts([runs, waits], nodes=4, begin=1800, awaited=[2])
    {2: 3600.0}
    """
    settings, table = Options.of(**options), list(jobs)
    ids = frozenset(awaited)
    unknown = ids - {job.job_id for job in table}
    if unknown or not ids:
        raise ParameterError("awaited", "ids of jobs of the table", sorted(unknown))
    states, zero = _simulate_until_starts(table, nodes, begin, ids, settings, origin, outages, failures, prior)
    return {
        state.job.job_id: to_seconds(state.start + zero)
        for state in states
        if state.start is not None and state.job.running_since is None
    }


def is_blind(options: Options) -> bool:
    """Whether the walltime of a waiting job cannot affect other jobs, unless there are outage windows."""
    return options.order in _BLIND_ORDERS and options.backfilling in _BLIND_RULES


def starts_by_walltime(
    jobs: Iterable[Job],
    nodes: int,
    begin: float,
    asked: Job,
    walltimes: Sequence[float],
    *,
    origin: float | None = None,
    outages: Sequence[Outage] = (),
    failures: FailureRate | None = None,
    prior: PriorState | None = None,
    **options: object,
) -> list[tuple[float, bool]]:
    """Start of one job for each of several walltimes, everything else being equal.

    Parameters
    ----------
    jobs
        The other jobs, as of :func:`first_starts`.
    nodes, begin, origin, outages, failures, prior, **options
        As of :func:`first_starts`.
    asked
        The job; its runtime and walltime are ignored.
    walltimes
        Walltimes [s], strictly ascending.

    Returns
    -------
    list
        Start [s], and whether the job was backfilled, for each walltime.

    Raises
    ------
    InputError
        If the table, the machine or an option is not legal, or the walltimes do not ascend.

    Notes
    -----
    Under EASY or without backfilling, and with an order that does not depend on walltimes, the walltime of a waiting
    job does not affect other jobs: one simulation gives the starts for all walltimes. Otherwise each walltime needs its
    own simulation.

    Examples
    --------
    >>> from holdfast.workloads.table.job import Job, JobType
    >>> runs = Job(1, JobType.RIGID, submit=0, nodes=3, runtime=3600, walltime=7200, running_since=0)
    >>> waits = Job(2, JobType.RIGID, submit=60, nodes=4, runtime=600, walltime=600)
    >>> asked = Job(3, JobType.RIGID, submit=1800, nodes=1, runtime=60, walltime=60)
    >>> starts_by_walltime([runs, waits], 4, 1800, asked, [5400, 9000])
    [(1800.0, True), (4200.0, False)]
    """
    settings, others = Options.of(**options), list(jobs)
    if not walltimes or any(low >= high for low, high in pairwise(walltimes)):
        raise ParameterError("walltimes", "one or more durations, ascending", walltimes)
    trials = [tuple(walltimes)] if is_blind(settings) and not outages else [(walltime,) for walltime in walltimes]
    found: list[tuple[float, bool]] = []
    for tried in trials:
        trial = Trial(asked.job_id, tuple(map(to_ticks, tried)))
        table = [*others, replace(asked, runtime=tried[0], walltime=tried[0])]
        ids = frozenset((asked.job_id,))
        _, zero = _simulate_until_starts(table, nodes, begin, ids, settings, origin, outages, failures, prior, trial)
        found += [(to_seconds(at + zero), backfilled) for at, backfilled in trial.found]
    return found


def _simulate_until_starts(
    table: list[Job],
    nodes: int,
    begin: float,
    awaited: frozenset[int],
    options: Options,
    origin: float | None,
    outages: Sequence[Outage],
    failures: FailureRate | None,
    prior: PriorState | None,
    trial: Trial | None = None,
) -> tuple[list[JobState], int]:
    """Return the states of the jobs once all awaited ones have started, and the time 0 of the simulated clock."""
    check_jobs(table, nodes=nodes)
    zero, latest = clock_origin(table), replay_start(table)
    zero = zero if origin is None else min(zero, to_ticks(origin))
    if latest is not None and to_ticks(latest) > to_ticks(begin):
        raise ParameterError("begin", f"a time from the latest start of a running job, {latest:g} s, on", begin)
    over = next(
        (job for job in table if job.running_since is not None and job.running_since + job.runtime < begin), None
    )
    if over is not None:
        raise ParameterError(f"runtime of job {over.job_id}", f"such that it still runs at {begin:g} s", over.runtime)
    at = max(0, to_ticks(begin) - zero)
    closures = Closures(list(outages), failures, nodes, zero, at) if outages or failures is not None else None
    log, recorder = EventLog(False), Decisions(False)
    with pause_collector():
        setup = Setup(
            table, nodes, None, options, log, recorder, zero, closures=closures, begin=at, awaited=awaited, trial=trial,
            prior=prior,
        )  # fmt: skip
        states = setup.states
        Engine(setup).run()
    return states, zero
