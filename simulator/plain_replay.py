"""Replays of rigid jobs under the baseline, computed by a loop over columns instead of events.

Such a replay has no events but submits, starts and ends: a loop computes the starts, and everything else that
:mod:`holdfast.simulator.clock` would record follows as sums over columns. A test compares both, to the tick.
"""

from __future__ import annotations

from functools import cached_property
from itertools import islice

import numpy as np
import numpy.typing as npt

from holdfast.simulator.plain_starts import PlainJobs, PlainStarts
from holdfast.simulator.results.integrals import integral
from holdfast.simulator.results.recording import clock_origin
from holdfast.simulator.results.records import ABSENT, STATUSES, TYPES, Accounting, Records, Samples
from holdfast.workloads.ground.ticks import in_ticks
from holdfast.workloads.table.job import STOCHASTIC, JobType
from holdfast.workloads.table.jobs import Jobs

__all__ = [
    "PlainSamples",
    "PlainTable",
    "accounting",
    "baseline_ticks",
    "plain_table",
    "rigid_records",
]

Ints = npt.NDArray[np.int64]

#: What a loop does not know of the lives of jobs.
_LIVES = ("cancelled_at", "preceding", "think_time", "running_since")
_TYPE = {kind: place for place, kind in enumerate(TYPES)}
_COMPLETED, _KILLED, _NO_SHOW = (STATUSES.index(status) for status in ("completed", "killed", "no_show"))


class PlainTable:
    """A job table that meets the conditions of a plain replay.

    Parameters
    ----------
    jobs
        Jobs that arrive.
    came
        Mask of their rows in the table, shape (rows,).
    records
        Records of all rows before the replay, without starts and ends.
    origin
        Ticks of the table's clock at which the simulated clock stands at 0.

    Attributes
    ----------
    rows
        Rows of the jobs in the table, shape (jobs,).
    starts
        Their starts under any order and rule.
    """

    def __init__(self, jobs: PlainJobs, came: npt.NDArray[np.bool_], records: Records, origin: int) -> None:
        self.jobs, self.records, self.origin = jobs, records, origin
        self._came = None if came.all() else came
        self.rows = np.flatnonzero(came)
        self.starts = PlainStarts(jobs)

    @cached_property
    def busy(self) -> int:
        """Node-ticks of all jobs."""
        return integral(self.jobs.nodes, self.jobs.runtime)

    @cached_property
    def opened(self) -> int:
        """First submit [ticks of the simulated clock]."""
        return int(self.jobs.submit.min())

    @property
    def any_held(self) -> bool:
        """Whether a job is eligible after its submit."""
        return bool((self.jobs.eligible > self.jobs.submit).any())

    def make_records(self, started: Ints, ended: Ints) -> Records:
        """Records of the jobs with these starts and ends [ticks of the simulated clock], shape (jobs,)."""
        columns = dict(self.records.columns)
        for name, times in (("start", started), ("end", ended)):
            if self._came is not None:
                found = columns[name].copy()
                found[self._came] = times + self.origin
                columns[name] = found
            else:
                columns[name] = times + self.origin
        return Records(**columns)


def plain_table(table: Jobs) -> PlainTable | str:
    """The valid rows of a job table as columns, or the reason why it is not plain."""
    origin = clock_origin(table)
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
    return reason or PlainTable(jobs, came, records, origin)


def rigid_records(jobs: Jobs, start: Ints | None = None, end: Ints | None = None) -> Records:
    """The records of jobs under the baseline, all rigid; starts and ends in ticks of the table's clock."""
    submit, none = jobs.column("submit"), np.full(len(jobs), ABSENT)
    came = ~np.isnan(submit)
    status = np.full(len(jobs), _COMPLETED, np.int8)
    killed = jobs.column("killed")
    if killed.any():
        # As :attr:`holdfast.simulator.machine.job_state.JobState.ends_at_walltime` defines it.
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


class PlainSamples(Samples):
    """The machine at the end of each instant at which a job is submitted, enters the queue or ends.

    They are computed when they are first read: a sweep, which reads none, saves a tenth of its time.

    Parameters
    ----------
    jobs
        Jobs that arrived.
    started, ended
        Shape (n,) [ticks of the simulated clock].
    """

    def __init__(self, jobs: PlainJobs, started: Ints, ended: Ints) -> None:
        self._jobs, self._started, self._ended = jobs, started, ended

    @cached_property
    def table(self) -> Ints:  # type: ignore[override]  # computed, and then an attribute
        """``Samples.table``."""
        jobs, started, ended = self._jobs, self._started, self._ended
        # Same as numpy.union1d, which would also import masked arrays.
        instants = (jobs.submit, ended) if jobs.eligible is jobs.submit else (jobs.submit, jobs.eligible, ended)
        times = np.sort(np.concatenate(instants))
        times = times[np.concatenate(([True], times[1:] != times[:-1]))]
        if times[0] > 0:
            # The clock may begin at a notice, which the baseline ignores.
            times = np.concatenate(([0], times))
        # By columns, each of which is written and read at once: times, busy and held nodes, waiting jobs, their nodes.
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
        return found.T

    def busy_after(self, time: int) -> int:
        """Node-ticks of the runs after a time, without computing the samples."""
        return integral(self._jobs.nodes, np.maximum(self._ended - np.maximum(self._started, time), 0))


def accounting(busy: int, elapsed: int, nodes: int) -> Accounting:
    """Accounting of a machine that was busy for these node-ticks in the time from the first submit to the last end."""
    return Accounting(busy, 0, 0, 0, 0, 0, nodes * elapsed - busy)
