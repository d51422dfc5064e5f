"""Plain replays: rigid jobs under the baseline, where a loop computes all starts, and the rest follows from columns.

Such a replay has no events but submits, starts and ends, so that it needs no event objects. Everything that
:mod:`simulator.clock` makes of it is a sum over columns: a test compares all of it, to the tick.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from policies.backfilling import BACKFILLING, Conservative, Easy, Strict
from policies.order import ORDERS, fcfs
from policies.planpass import BOUNDS
from policies.port import TOLERANCE
from simulator.kernels import easyloop, planloop
from simulator.kernels.running import runner
from simulator.machine.kinds import baseline_times
from simulator.options import Options
from simulator.results.integrals import integral
from simulator.results.longrecords import LongSamples
from simulator.results.records import Accounting, JobRecord
from workloads.ground.errors import InvariantError
from workloads.table.job import STOCHASTIC, Job
from workloads.table.joblife import has_life

__all__ = ["PlainJobs", "accounting", "obstacle", "plain_jobs", "plain_records", "samples", "starts"]

Ints = npt.NDArray[np.int64]

#: Orders that look at a job's request and submit alone.
_STATIC = frozenset({"fcfs", "sjf", "ljf", "smallest", "largest", "saf", "laf", "f1", "f2", "f3", "f4"})
#: A job under a rule with several reservations costs a loop about as much as so many under EASY.
_LOOKS = 10
#: Times below it leave room for sums of two.
_LATEST = 1 << 61


class PlainJobs(NamedTuple):
    """Rigid jobs that arrive, in the order of the input.

    Attributes
    ----------
    submit
        Ticks of the simulated clock, shape (n,).
    nodes
        Shape (n,).
    runtime, walltime
        Ticks, shape (n,).
    """

    submit: Ints
    nodes: Ints
    runtime: Ints
    walltime: Ints

    @property
    def obstacle(self) -> str:
        """Why loops over 64-bit integers cannot replay them; empty: they can."""
        if not len(self.submit):
            return "a job must arrive"
        if int(self.runtime.min()) < 1 or bool((self.runtime > self.walltime).any()):
            return "each job must run for a microsecond or more, and at most for its walltime"
        if int(self.submit.max()) + int(self.walltime.max()) * (len(self.submit) + 1) >= _LATEST:
            return "the walltimes of all jobs in a row must end within 70,000 years"
        return ""


class _Request(NamedTuple):
    """What the key of an order is made from."""

    submit: int
    nodes: int
    walltime: int


def obstacle(options: Options) -> str:
    """Why a replay with these options is not plain; empty: it is.

    >>> obstacle(Options(passes="event"))
    'passes must be instant'
    """
    rule = BACKFILLING[options.backfilling]
    if options.order not in _STATIC:
        return f"order must be one of {', '.join(sorted(_STATIC))}"
    if not (type(rule) in (Strict, Conservative) or (type(rule) is Easy and rule.length == "walltime")):
        return "backfilling must be easy by walltimes, conservative or none"
    for name, legal in (("passes", "instant"), ("backfill_length", "walltime"), ("expansion", "none")):
        if getattr(options, name) != legal:
            return f"{name} must be {legal}"
    return ""


def plain_jobs(table: Sequence[Job], origin: int) -> tuple[PlainJobs, npt.NDArray[np.bool_]] | str:
    """The jobs of a table that arrive, and which of its rows they are, shape (rows,); or why it is no plain table.

    Parameters
    ----------
    table
        Valid rows of a job table.
    origin
        Ticks of the table's clock at which the simulated clock stands at 0.
    """
    for job in table:
        if job.type is STOCHASTIC:
            return f"job {job.job_id} must not be stochastic"
        if has_life(job):
            return f"job {job.job_id} must not be cancelled, held, started before the replay, or depend on another"
    submits, runtimes, walltimes = (np.array(column, np.int64) for column in baseline_times(table))
    nodes = np.array([job.nodes for job in table], np.int64)
    came = np.array([job.submit is not None for job in table])
    if came.all():
        jobs = PlainJobs(submits - origin, nodes, runtimes, walltimes)
    else:
        jobs = PlainJobs(submits[came] - origin, nodes[came], runtimes[came], walltimes[came])
    reason = jobs.obstacle
    return reason or (jobs, came)


def starts(jobs: PlainJobs, nodes: int, options: Options) -> Ints:
    """When each job starts on a machine of ``nodes`` nodes [ticks of the simulated clock], shape (n,)."""
    # Ties are broken by the row.
    arrival = np.argsort(jobs.submit, kind="stable")
    columns = [column[arrival] for column in (jobs.submit, jobs.nodes, jobs.walltime, jobs.runtime)]
    columns.append(_ranks(jobs, arrival, options.order))
    rule = BACKFILLING[options.backfilling]
    if isinstance(rule, Conservative):
        begun = _planned(columns, nodes, 0)
    elif isinstance(rule, Easy) and rule.depth > 1:
        begun = _planned(columns, nodes, rule.depth)
    else:
        begun = _easy(columns, nodes, backfills=isinstance(rule, Easy))
    found = np.empty(len(arrival), np.int64)
    found[arrival] = begun
    return found


def _easy(columns: Sequence[Ints], nodes: int, *, backfills: bool) -> Any:
    """Starts under one reservation, or without backfilling, of jobs in the order of their arrivals."""
    count = len(columns[0])
    run, sequence = runner(easyloop.replay, easyloop.KINDS, count)

    def room(size: int) -> Any:
        return sequence(np.zeros(size, np.int64))

    begun, state, none = room(count), room(2), room(0)
    run(
        count, 0, *map(sequence, columns), sequence(np.ones(count, np.int64)), 0, none, 0, nodes, TOLERANCE, backfills,
        True, -1, 0, none, *(room(count) for _ in range(4)), 0, begun, room(count + 1), room(count + 1), none, none,
        state,
    )  # fmt: skip
    if state[0] != easyloop.DONE:
        raise InvariantError("some jobs can never start")
    return begun


def _planned(columns: Sequence[Ints], nodes: int, depth: int) -> Any:
    """Starts where ``depth`` waiting jobs hold reservations (0: all), of jobs in the order of their arrivals."""
    count = len(columns[0])
    run, sequence = runner(planloop.replay_planned, planloop.KINDS, _LOOKS * count)

    def room(size: int) -> Any:
        return sequence(np.zeros(size, np.int64))

    begun = room(count)
    run(
        count, *map(sequence, columns), nodes, depth, *(room(count) for _ in range(4)),
        *(room(2 * count + 8) for _ in range(6)), room(count), room(count), room(3 * BOUNDS), room(3 * count),
        room(count), room(count), sequence(np.arange(count)), begun, room(6),
    )  # fmt: skip
    return begun


def _ranks(jobs: PlainJobs, arrival: Ints, order: str) -> Ints:
    """The place of each job in the order of the queue, jobs in the order of their arrivals."""
    ranks = np.arange(len(arrival))
    key: Callable[[Any, int], Any] = ORDERS[order].key
    if key is not fcfs:
        requests = map(_Request, jobs.submit.tolist(), jobs.nodes.tolist(), jobs.walltime.tolist())
        keys = [key(job, job.submit) for job in requests]
        places = np.empty(len(arrival), np.int64)
        places[sorted(range(len(keys)), key=keys.__getitem__)] = ranks
        ranks = places[arrival]
    return ranks


def samples(jobs: PlainJobs, started: Ints, ended: Ints) -> LongSamples:
    """The machine at the end of each instant at which a job is submitted or ends."""
    submits, starts, ends = (np.argsort(times, kind="stable") for times in (jobs.submit, started, ended))
    # As numpy.union1d, which imports masked arrays, too.
    times = np.sort(np.concatenate((jobs.submit, ended)))
    times = times[np.concatenate(([True], times[1:] != times[:-1]))]
    if times[0] > 0:
        # Of the notices at whose first the clock begins, the baseline knows nothing.
        times = np.concatenate(([0], times))

    def until(rows: Ints, at: Ints) -> tuple[Ints, Ints]:
        """Jobs with a time up to each instant, and their nodes."""
        places = np.searchsorted(at[rows], times, side="right")
        return places, np.concatenate(([0], np.cumsum(jobs.nodes[rows])))[places]

    (came, asked), (began, taken), (_, returned) = (
        until(submits, jobs.submit),
        until(starts, started),
        until(ends, ended),
    )
    table = np.stack((times, taken - returned, np.zeros(len(times), np.int64), came - began, asked - taken), axis=1)
    return LongSamples(table)


def accounting(jobs: PlainJobs, ended: Ints, nodes: int) -> Accounting:
    """Where all node-ticks went until the last end of a job."""
    busy = integral(jobs.nodes, jobs.runtime)
    elapsed = int(ended.max()) - int(jobs.submit.min())
    return Accounting(busy, 0, 0, 0, 0, 0, nodes * elapsed - busy)


def plain_records(
    table: Sequence[Job], jobs: PlainJobs, came: npt.NDArray[np.bool_], started: Ints, origin: int
) -> list[JobRecord]:
    """What became of each job of a table; ``jobs`` are those that arrived, ``came`` says which rows they are."""
    columns = jobs.submit + origin, started + origin, started + jobs.runtime + origin, jobs.runtime
    times = zip(*(column.tolist() for column in columns), strict=True)
    if came.all():
        return [
            JobRecord(job.job_id, job.type, submit, start, end, job.nodes, runtime, 0, 0, _status(job), 0)
            for job, (submit, start, end, runtime) in zip(table, times, strict=True)
        ]
    absent = iter(baseline_times([job for job in table if job.submit is None])[1])
    records = []
    for job in table:
        if job.submit is None:
            records.append(
                JobRecord(job.job_id, job.type, None, None, None, job.nodes, next(absent), 0, 0, "no_show", 0)
            )
        else:
            submit, start, end, runtime = next(times)
            records.append(
                JobRecord(job.job_id, job.type, submit, start, end, job.nodes, runtime, 0, 0, _status(job), 0)
            )
    return records


def _status(job: Job) -> str:
    """As :attr:`simulator.machine.jobstate.JobState.ends_at_walltime` has it under the baseline."""
    if not job.killed:
        return "completed"
    runtime, walltime = job.trace_runtime, job.trace_walltime
    return "killed" if runtime is None or walltime is None or runtime >= walltime else "completed"
