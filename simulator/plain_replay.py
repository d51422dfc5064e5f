"""Replays of rigid jobs under the baseline, computed by a loop over columns instead of events.

Such a replay has no events but submits, starts and ends: a loop computes the starts, and everything else that
:mod:`simulator.clock` would record follows as sums over columns. A test compares both, to the tick.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from policies.backfilling import BACKFILLING, Conservative, Easy, Strict
from policies.kernels.compiled_or_plain import run
from policies.kernels.plan_pass import BOUNDS, Plan
from policies.kernels.queue_keys import LATEST, Formula, LinkedQueue, MovingKeys
from policies.kernels.replay_loop import Beginning, ReplayJobs, ReplayRule, Runs, Trial, replay
from policies.order import ORDERS
from policies.orders.requests import fcfs, largest, largest_area, longest, shortest, smallest, smallest_area
from policies.port import TOLERANCE
from policies.shadow_time import NEVER
from simulator.options import Options
from simulator.results.integrals import integral
from simulator.results.records import ABSENT, STATUSES, TYPES, Accounting, Records, Samples
from workloads.ground.errors import InvariantError
from workloads.ground.ticks import in_ticks
from workloads.table.job import STOCHASTIC, JobType
from workloads.table.jobs import Jobs

__all__ = ["PlainJobs", "PlainTable", "accounting", "obstacle", "plain_table", "rigid_records", "samples", "starts"]

Ints = npt.NDArray[np.int64]

#: Orders that depend only on a job's request and submit.
_STATIC = frozenset({"fcfs", "sjf", "ljf", "smallest", "largest", "saf", "laf", "f1", "f2", "f3", "f4"})
#: Keys that are sums and products alone, and so take columns as they take numbers.
_ARITHMETIC = frozenset({fcfs, shortest, longest, smallest, largest, smallest_area, largest_area})
#: Cost of a job under a rule with several reservations, in jobs under EASY.
_LOOKS = 10
#: The sum of two times below this limit does not overflow.
_LATEST = 1 << 61
#: What a loop does not know of the lives of jobs.
_LIVES = ("cancelled_at", "preceding", "think_time", "running_since")
_TYPE = {kind: place for place, kind in enumerate(TYPES)}
_COMPLETED, _KILLED, _NO_SHOW = (STATUSES.index(status) for status in ("completed", "killed", "no_show"))


class PlainJobs(NamedTuple):
    """Rigid jobs that arrive, in the order of the input.

    Attributes
    ----------
    submit, eligible
        Submits, and times at which jobs enter the queue; ticks of the simulated clock, shape (n,).
    nodes
        Shape (n,).
    runtime, walltime
        Ticks, shape (n,).
    """

    submit: Ints
    eligible: Ints
    nodes: Ints
    runtime: Ints
    walltime: Ints

    @property
    def obstacle(self) -> str:
        """Reason why loops over 64-bit integers cannot replay these jobs; empty: they can."""
        if not len(self.submit):
            return "a job must arrive"
        if int(self.runtime.min()) < 1 or bool((self.runtime > self.walltime).any()):
            return "each job must run for a microsecond or more, and at most for its walltime"
        if int(self.eligible.max()) + int(self.walltime.max()) * (len(self.submit) + 1) >= _LATEST:
            return "the walltimes of all jobs in a row must end within 70,000 years"
        return ""


class _Request(NamedTuple):
    """The attributes of a job, or the columns of all jobs, that the key of an order may read."""

    submit: Any
    nodes: Any
    walltime: Any


def obstacle(options: Options) -> str:
    """Reason why a replay with these options is not plain; empty: it is.

    >>> obstacle(Options(passes="event"))
    'passes must be instant'
    """
    rule = BACKFILLING[options.backfilling]
    none = np.zeros(0, np.int64)
    if options.order not in _STATIC and _formula(options.order, none, none, 1) is None:
        names = ", ".join(sorted(_STATIC | {"alcf", "unicep", "wfp3"}))
        return f"order must be one of {names}, or multifactor without fair share and QOS"
    if not (type(rule) in (Strict, Conservative) or (type(rule) is Easy and rule.length == "walltime")):
        return "backfilling must be easy by walltimes, conservative or none"
    for name, legal in (("passes", "instant"), ("backfill_length", "walltime"), ("expansion", "none")):
        if getattr(options, name) != legal:
            return f"{name} must be {legal}"
    return ""


class PlainTable(NamedTuple):
    """A job table that meets the conditions of a plain replay.

    Attributes
    ----------
    jobs
        Jobs that arrive.
    came
        Mask of their rows in the table, shape (rows,).
    records
        Records of all rows before the replay, without starts and ends.
    """

    jobs: PlainJobs
    came: npt.NDArray[np.bool_]
    records: Records

    def make_records(self, started: Ints, origin: int) -> Records:
        """Records of the jobs with these starts [ticks of the simulated clock], shape (jobs,)."""
        columns = dict(self.records.columns)
        for name, times in (("start", started), ("end", started + self.jobs.runtime)):
            if not self.came.all():
                found = columns[name].copy()
                found[self.came] = times + origin
                columns[name] = found
            else:
                columns[name] = times + origin
        return Records(**columns)


def plain_table(table: Jobs, origin: int) -> PlainTable | str:
    """A job table as columns, or the reason why it is not plain.

    Parameters
    ----------
    table
        Valid rows of a job table.
    origin
        Ticks of the table's clock at which the simulated clock stands at 0.
    """
    kinds = table.are(STOCHASTIC)
    if kinds.any():
        return f"job {table[int(np.argmax(kinds))].job_id} must not be stochastic"
    if any(map(table.has, _LIVES)):
        (job_id,) = islice((job.job_id for job in table if any(getattr(job, name) is not None for name in _LIVES)), 1)
        return f"job {job_id} must not be cancelled, started before the replay, or depend on another"
    records, walltimes = rigid_records(table), baseline_ticks(table, "walltime")
    came = records.came
    submit, nodes, runtime = (records.columns[name][came] for name in ("submit", "nodes", "runtime"))
    eligible = submit
    if table.has("eligible"):
        eligible = np.maximum(submit, in_ticks(np.nan_to_num(table.column("eligible")[came])))
        held = np.full(len(came), ABSENT)
        held[came] = np.where(eligible > submit, eligible, ABSENT)
        records = Records(**records.columns, eligible=held)
    ticks = submit - origin
    jobs = PlainJobs(ticks, ticks if eligible is submit else eligible - origin, nodes, runtime, walltimes[came])
    reason = jobs.obstacle
    return reason or PlainTable(jobs, came, records)


def rigid_records(jobs: Jobs, start: Ints | None = None, end: Ints | None = None) -> Records:
    """The records of jobs under the baseline, all rigid; starts and ends in ticks of the table's clock."""
    submit, none = jobs.column("submit"), np.full(len(jobs), ABSENT)
    came = ~np.isnan(submit)
    status = np.full(len(jobs), _COMPLETED, np.int8)
    killed = jobs.column("killed")
    if killed.any():
        # As :attr:`simulator.machine.job_state.JobState.ends_at_walltime` defines it.
        runtime, walltime = jobs.column("trace_runtime"), jobs.column("trace_walltime")
        status[killed & ~(runtime < walltime)] = _KILLED
    status[~came] = _NO_SHOW
    kinds = np.array([_TYPE[kind] for kind in JobType], np.int8)
    return Records(
        job_id=jobs.column("job_id"), type=kinds[jobs.column("type")],
        submit=np.where(came, in_ticks(np.where(came, submit, 0.0)), ABSENT),
        start=none if start is None else start, end=none if end is None else end, nodes=jobs.column("nodes"),
        runtime=baseline_ticks(jobs, "runtime"), status=status,
    )  # fmt: skip


def baseline_ticks(jobs: Jobs, name: str) -> Ints:
    """Runtimes or walltimes under the baseline: those of the trace, without the overheads that were added."""
    seconds = jobs.column(name)
    if f"trace_{name}" in jobs.columns:
        before = jobs.column(f"trace_{name}")
        seconds = np.where(np.isnan(before), seconds, before)
    return in_ticks(seconds)


def starts(jobs: PlainJobs, nodes: int, options: Options) -> Ints | str:
    """Start of each job on a machine of ``nodes`` nodes [ticks of the simulated clock], shape (n,).

    Where its order cannot compute with their times, it is the reason.
    """
    # Ties are broken by the row.
    arrival = np.argsort(jobs.eligible, kind="stable")
    count = len(arrival)
    columns = [column[arrival] for column in (jobs.eligible, jobs.nodes, jobs.walltime, jobs.runtime)]
    formula = _formula(options.order, columns[1], columns[2], nodes)
    places = _places(jobs, arrival, options.order if formula is None else "fcfs" if formula.by_submit else "")
    rule = BACKFILLING[options.backfilling]
    depth = rule.depth if isinstance(rule, Easy) else count if isinstance(rule, Conservative) else 0
    found = np.empty(count, np.int64)
    found[arrival] = _replay_loop(columns, nodes, depth, places, formula)
    if formula is not None and int((found + jobs.runtime).max()) >= LATEST:
        return "under an order that changes with time, the jobs must end within 285 years"
    return found


def _formula(order: str, sizes: Ints, walltimes: Ints, nodes: int) -> Formula | None:
    """The formula of an order that changes with time, of jobs on a machine of ``nodes`` nodes; None: it has none."""
    make = ORDERS[order].formula
    return None if make is None else make(sizes, walltimes, nodes)


def _replay_loop(columns: Sequence[Ints], nodes: int, depth: int, places: Ints, formula: Formula | None) -> Ints:
    """Starts of jobs, in the order of their arrivals, if ``depth`` waiting jobs hold reservations."""
    count = len(places)
    submits, sizes, walltimes, runtimes = map(np.ascontiguousarray, columns)
    planning = count if depth > 1 else 0
    ends, limits, by_end, by_limit, starts = np.zeros((5, count), np.int64)
    after, before = np.zeros((2, count + 1), np.int64)
    times, levels = np.zeros((2, 2 * planning + 8), np.int64)
    begun, given, planned = np.zeros((3, planning), np.int64)
    none = np.zeros(0, np.int64)
    moving = MovingKeys(0, np.zeros(0), np.zeros(0), 0.0, 0.0, 0.0, none, np.zeros(0))
    if formula is not None:
        moving = MovingKeys(*formula[:3], *formula.parameters, places, np.zeros(count))
    ranks = places if formula is None else places + count
    ending = run(
        replay,
        _LOOKS * count if planning or formula else count,
        jobs=ReplayJobs(count, 0, submits, sizes, walltimes, runtimes, ranks, np.ones(count, np.int64), starts),
        beginning=Beginning(0, nodes, 0, none, 0),
        rule=ReplayRule(depth, complete=True, tolerance=TOLERANCE, never=NEVER),
        trial=Trial(-1, 0, none, none, none),
        running=Runs(ends, limits, by_end, by_limit),
        linked=LinkedQueue(after, before, np.zeros(count if planning or formula else 0, np.int64)),
        moving=moving,
        arrays=Plan(times, levels, np.zeros(3 * BOUNDS, np.int64), begun, given, planned),
    )
    if ending < 0:
        raise InvariantError("some jobs can never start")
    return starts


def _places(jobs: PlainJobs, arrival: Ints, order: str) -> Ints:
    """Place of each job in an order that does not change, empty: by row; jobs are in the order of their arrivals."""
    if not order:
        return arrival
    key: Callable[[Any, int], Any] = ORDERS[order].key
    if key in _ARITHMETIC and int(jobs.nodes.max()) * int(jobs.walltime.max()) < _LATEST:
        whole: Any = _Request(jobs.submit, jobs.nodes, jobs.walltime)
        columns = key(whole, 0)
        sequence = np.lexsort(columns[::-1] if isinstance(columns, tuple) else (columns,))
    else:
        requests = map(_Request, jobs.submit.tolist(), jobs.nodes.tolist(), jobs.walltime.tolist())
        keys = [key(job, job.submit) for job in requests]
        sequence = np.array(sorted(range(len(keys)), key=keys.__getitem__))
    places = np.empty(len(arrival), np.int64)
    places[sequence] = np.arange(len(arrival))
    return places[arrival]


def samples(jobs: PlainJobs, started: Ints, ended: Ints) -> Samples:
    """The machine at the end of each instant at which a job is submitted, enters the queue or ends."""
    # Same as numpy.union1d, which would also import masked arrays.
    instants = (jobs.submit, ended) if jobs.eligible is jobs.submit else (jobs.submit, jobs.eligible, ended)
    times = np.sort(np.concatenate(instants))
    times = times[np.concatenate(([True], times[1:] != times[:-1]))]
    if times[0] > 0:
        # The clock may begin at a notice, which the baseline ignores.
        times = np.concatenate(([0], times))
    # By columns, each of which is written and read at once: times, busy and held nodes, waiting jobs and their nodes.
    found = np.zeros((5, len(times)), np.int64)
    found[0] = times
    _, busy, _, waiting, asked = found
    for at, sign in ((jobs.eligible, 1), (started, -1)):
        places = np.searchsorted(times, at)
        waiting += sign * np.bincount(places, minlength=len(times))
        np.add.at(asked, places, sign * jobs.nodes)
        if sign < 0:
            np.add.at(busy, places, jobs.nodes)
    np.add.at(busy, np.searchsorted(times, ended), -jobs.nodes)
    for changes in (busy, waiting, asked):
        np.cumsum(changes, out=changes)
    return Samples(found.T)


def accounting(jobs: PlainJobs, ended: Ints, nodes: int) -> Accounting:
    """Accounting of all node-ticks until the last end of a job."""
    busy = integral(jobs.nodes, jobs.runtime)
    elapsed = int(ended.max()) - int(jobs.submit.min())
    return Accounting(busy, 0, 0, 0, 0, 0, nodes * elapsed - busy)
