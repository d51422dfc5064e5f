"""Simulations of rigid jobs on a machine with partitions and shared nodes: the loop's starts as records and accounts.

Sizes count the unit of the machine (:func:`holdfast.workloads.machines.machine_workload.machine_unit`), so that busy
and idle capacity make up the machine here as in every other simulation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from holdfast.policies.backfilling import BACKFILLING
from holdfast.policies.slurm_backfill import SlurmBackfill
from holdfast.simulator.machine_rules import check_machine_replay, replay_under
from holdfast.simulator.options import Options
from holdfast.simulator.plain_replay import PlainSamples, accounting, baseline_ticks, rigid_records
from holdfast.simulator.plain_starts import PlainJobs
from holdfast.simulator.resources.closed_capacity import amount_time, closed_changes, levels, resource_uses
from holdfast.simulator.resources.machine_jobs import JobStart, MachineJob
from holdfast.simulator.resources.machine_replay import MachineReplay
from holdfast.simulator.results.integrals import integral
from holdfast.simulator.results.records import ABSENT, STATUSES, Accounting, Records, Samples
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.machines.machine_workload import MachineWorkload, machine_size, machine_unit
from holdfast.workloads.outages.outage import Outage
from holdfast.workloads.table.job import STOCHASTIC
from holdfast.workloads.table.jobs import Jobs

__all__ = ["MachineOutcome", "simulate_on_machine"]

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

#: Columns of :class:`~holdfast.simulator.results.records.Samples`.
_TIME, _HELD, _WAITING_SIZE = 0, 2, 4


class MachineOutcome(NamedTuple):
    """What a simulation on a machine comes to.

    Attributes
    ----------
    records, samples, booked
        As in a :class:`~holdfast.simulator.results.recording.Recording`.
    replay
        Nodes and times of each job.
    withdrawn
        Ticks of cancelled runs, times their sizes; None: no job can be cancelled.
    losses
        (time, ticks times size) of each run that an outage ended; times are of the simulated clock.
    down
        (time, size that is down) from each change on, on the simulated clock.
    """

    records: Records
    samples: Samples
    booked: Accounting
    replay: MachineReplay
    withdrawn: int | None = None
    losses: Sequence[tuple[int, int]] = ()
    down: Sequence[tuple[int, int]] = ()


def simulate_on_machine(
    table: Jobs,
    workload: MachineWorkload,
    options: Options,
    origin: int,
    outages: Sequence[Outage] = (),
) -> MachineOutcome:
    """Replay rigid jobs on a machine.

    Parameters
    ----------
    table
        The job table, with sizes in the unit of the machine.
    workload
        The machine, and the requests of the jobs.
    options
        How the machine is operated.
    origin
        Ticks of the table's clock at which the simulated clock stands at 0.
    outages
        Valid outages.

    Raises
    ------
    InputError
        If an option, or a job that is not rigid, cannot be replayed on a machine.
    """
    check_machine_replay(options)
    if len(workload.requests) != len(table):
        raise InputError(f"there must be one request for each of the {len(table):,} jobs of the table")
    _check_jobs(table)
    rule = BACKFILLING[options.backfilling]
    if isinstance(rule, SlurmBackfill) and outages:
        raise InputError("outages and failures must be left out with --backfilling slurm on a machine (--machine)")
    jobs = _machine_jobs(table, workload)
    replay = replay_under(workload.machine, jobs, options, workload.placement, outages)
    return _outcome(table, replay, jobs, origin)


def _check_jobs(table: Jobs) -> None:
    """Refuse jobs that are stochastic, or run before the replay."""
    other = table.are(STOCHASTIC)
    if other.any():
        job = next(iter(table.select(other)))
        raise InputError(f"job {job.job_id} is stochastic, which a replay on a machine (--machine) does not model")
    if table.has("running_since"):
        for job in table:
            if job.running_since is not None:
                raise InputError(
                    f"job {job.job_id} runs before the replay, which a replay on a machine (--machine) does not model"
                )


def _machine_jobs(table: Jobs, workload: MachineWorkload) -> list[MachineJob]:
    runtime, walltime = (baseline_ticks(table, name) / SECOND for name in ("runtime", "walltime"))
    submit = table.column("submit")
    jobs = [
        MachineJob(job_id, came, longest, takes, request, user)
        for job_id, came, longest, takes, request, user in zip(
            table.column("job_id").tolist(),
            submit.tolist(),
            walltime.tolist(),
            runtime.tolist(),
            workload.requests,
            table.texts("user"),
            strict=True,
        )
    ]
    # A held job is not in the queue before it is eligible, and then has the place of its submit.
    for row in np.flatnonzero(table.column("eligible") > submit).tolist() if table.has("eligible") else ():
        queued, request = float(table.column("eligible")[row]), jobs[row].request
        jobs[row] = jobs[row]._replace(request=request._replace(begin=max(queued, request.begin or 0)))
    if table.has("cancelled_at") or table.has("preceding"):
        jobs = [
            job._replace(cancelled_at=row.cancelled_at, preceding=row.preceding, think_time=row.think_time)
            for job, row in zip(jobs, table, strict=True)
        ]
    return jobs


class _PastRuns:
    """The runs that outages ended, in the order of their ends, and what follows for each of ``count`` jobs."""

    def __init__(self, count: int) -> None:
        self.counts, self.lost, self.first, self.last = np.zeros((4, count), np.int64)
        self.rows: list[int] = []
        self.sizes: list[int] = []
        self.again: list[bool] = []
        self.times: dict[str, list[int]] = {"queued": [], "start": [], "end": []}

    def add(self, row: int, run: JobStart, size: int) -> None:
        """Add a run of a job."""
        self.rows.append(row)
        self.sizes.append(size)
        self.again.append(bool(self.counts[row]))
        for name, time in (("queued", int(self.last[row])), ("start", run.start), ("end", run.end)):
            self.times[name].append(time)
        if not self.counts[row]:
            self.first[row] = run.start
        self.counts[row] += 1
        self.last[row] = run.end
        self.lost[row] += size * (run.end - run.start)

    def losses(self, origin: int) -> list[tuple[int, int]]:
        """(Time on the simulated clock, ticks times size) of each."""
        runs = zip(self.times["start"], self.times["end"], self.sizes, strict=True)
        return [(end - origin, size * (end - start)) for start, end, size in runs]


class _Lives(NamedTuple):
    """What became of each job, shape (jobs,) [ticks of the table's clock]; ``ABSENT`` where it did not happen.

    Attributes
    ----------
    starts, ends, taken
        Begin and end of its last run, and the size of that.
    gone
        When it left the queue without another run.
    queued
        When it began to wait; of a job that never came, as given.
    past
        Runs that outages ended.
    """

    starts: Ints
    ends: Ints
    taken: Ints
    gone: Ints
    queued: Ints
    past: _PastRuns

    @property
    def ran(self) -> Flags:
        """Which jobs ran."""
        flags: Flags = self.starts != ABSENT
        return flags

    @property
    def left(self) -> Flags:
        """Which jobs left the queue without another run."""
        flags: Flags = self.gone != ABSENT
        return flags

    @property
    def came(self) -> Flags:
        """Which jobs were in the queue, or left before they could be."""
        return self.ran | self.left


def _outcome(table: Jobs, replay: MachineReplay, jobs: list[MachineJob], origin: int) -> MachineOutcome:
    lives = _lives(table, replay)
    columns = _record_columns(table, replay, jobs, lives)
    ran, came, past = lives.ran, lives.came, lives.past
    if not came.any():
        return MachineOutcome(Records(**columns), Samples(np.zeros((1, 5), np.int64)), Accounting(*[0] * 7), replay)
    withdrawn = None
    if any(job.cancelled_at is not None for job in jobs):
        stopped = _cancelled_runs(lives, columns["runtime"])
        spans = (lives.ends - lives.starts)[stopped]
        withdrawn = sum(int(most) * int(span) for most, span in zip(lives.taken[stopped], spans, strict=True))
    samples = _sample_stays(lives, columns, bool(replay.windows), origin)
    opened, closed = int(columns["submit"][came].min()), int(columns["end"][came].max())
    used = integral(lives.taken[came], np.where(ran, lives.ends - lives.starts, 0)[came])
    booked = accounting(used, closed - opened, machine_size(replay.table.machine))
    outcome = MachineOutcome(Records(**columns), Samples(samples), booked, replay, withdrawn, past.losses(origin))
    return _with_outages(outcome, opened, closed, origin)


def _lives(table: Jobs, replay: MachineReplay) -> _Lives:
    whole = machine_unit(replay.table.machine) == "nodes"
    starts, ends = np.full((2, len(table)), ABSENT)
    taken = np.zeros(len(table), np.int64)
    for row, place in enumerate(replay.starts):
        if place is not None:
            starts[row], ends[row] = place.start, place.end
            taken[row] = len(place.nodes) if whole else place.total[0]
    past = _PastRuns(len(table))
    for row, place in replay.past:
        past.add(row, place, len(place.nodes) if whole else place.total[0])
    gone = np.array([ABSENT if time is None else time for time in replay.gone], np.int64)
    return _Lives(starts, ends, taken, gone, np.array(replay.queued, np.int64), past)


def _cancelled_runs(lives: _Lives, runtimes: Ints) -> Flags:
    """Which jobs were cancelled while they ran."""
    return lives.ran & (lives.ends - lives.starts < np.maximum(1, runtimes))


def _record_columns(
    table: Jobs, replay: MachineReplay, jobs: list[MachineJob], lives: _Lives
) -> dict[str, npt.NDArray[Any]]:
    """The columns of the records."""
    past, left, came = lives.past, lives.left, lives.came
    first_starts = np.where(past.counts > 0, past.first, lives.starts)
    columns = dict(rigid_records(table, first_starts, lives.ends).columns)
    if replay.past:
        columns |= {"preemptions": past.counts, "lost": past.lost}
    if any(job.preceding is not None for job in jobs):
        columns["submit"] = np.array(replay.submits, np.int64)
    columns["submit"] = np.where(came, columns["submit"], ABSENT)
    columns["end"] = np.where(left, lives.gone, lives.ends)
    if not came.all():
        # A limit never lets them start, or the job that they depend on: for the machine they do not come.
        columns["status"] = np.where(came, columns["status"], STATUSES.index("no_show")).astype(np.int8)
    if left.any() or any(job.cancelled_at is not None for job in jobs):
        cancelled = left | (came & _cancelled_runs(lives, columns["runtime"]))
        columns["status"] = np.where(cancelled, STATUSES.index("cancelled"), columns["status"]).astype(np.int8)
    held = came & (lives.queued > columns["submit"])
    if held.any():
        columns["eligible"] = np.where(held, lives.queued, ABSENT)
    return columns


class _Stays(NamedTuple):
    """Stays in the queue and on the machine [ticks of the simulated clock], shapes (stays,).

    A job came at ``came`` and waited from ``queued`` on with its requested size, and ran from ``start`` to ``end`` with
    the size that it took.
    """

    came: Ints
    queued: Ints
    start: Ints
    end: Ints
    requested: Ints
    taken: Ints

    def extend(self, other: _Stays) -> _Stays:
        return _Stays(*(np.append(column, further) for column, further in zip(self, other, strict=True)))

    def samples(self, sizes: Ints) -> Ints:
        """What runs and what waits if the stays have these sizes, shape (instants, 5) (:class:`Samples`)."""
        lengths = self.end - self.start
        return PlainSamples(PlainJobs(self.came, self.queued, sizes, lengths, lengths), self.start, self.end).table


def _sample_stays(lives: _Lives, columns: Mapping[str, npt.NDArray[Any]], has_windows: bool, origin: int) -> Ints:
    """Samples of what is busy and what waits, shape (instants, 5) (:class:`Samples`)."""
    past, left = lives.past, lives.left
    # A job that leaves the queue takes nothing at the time at which it leaves; one that was held never waited.
    seen = lives.ran | (left & (lives.queued <= lives.gone))
    start = np.where(left, lives.gone, lives.starts)[seen] - origin
    end = columns["end"][seen] - origin
    queued = np.where(past.counts > 0, past.last, lives.queued)[seen] - origin
    came = np.minimum(queued, columns["submit"][seen] - origin) if "eligible" in columns else queued
    stays = _Stays(came, queued, start, end, columns["nodes"][seen], lives.taken[seen])
    if past.rows:
        start, end, waited_since = (
            np.array(past.times[name], np.int64) - origin for name in ("start", "end", "queued")
        )
        # A later run waits from the end of the previous run.
        queued = np.where(past.again, waited_since, lives.queued[past.rows] - origin)
        sizes = np.array(past.sizes, np.int64)
        stays = stays.extend(_Stays(queued, queued, start, end, columns["nodes"][past.rows], sizes))
    if has_windows:
        # Jobs may start as a window ends: such an instant is that of a job without size and length.
        instants, none = stays.start, np.zeros(len(stays.start), np.int64)
        stays = stays.extend(_Stays(instants, instants, instants, instants, none, none))
    samples = stays.samples(stays.taken)
    samples[:, _WAITING_SIZE] = stays.samples(stays.requested)[:, _WAITING_SIZE]
    return samples


def _with_outages(outcome: MachineOutcome, begin: int, end: int, origin: int) -> MachineOutcome:
    """The outcome with what was lost, down and held from ``begin`` to ``end`` [ticks of the table's clock]."""
    replay = outcome.replay
    if not replay.windows:
        return outcome
    if machine_unit(replay.table.machine) == "nodes":
        capacities, uses = [1] * len(replay.table.capacities), resource_uses(replay, "nodes")
    else:
        capacities, uses = [vector[0] for vector in replay.table.capacities], resource_uses(replay, "cores")
    closed = closed_changes(replay, capacities, uses, begin, end)
    lost = sum(loss for _, loss in outcome.losses)
    down, held = amount_time(closed.down), amount_time(closed.held)
    booked = outcome.booked._replace(lost=lost, down=down, held=held, idle=outcome.booked.idle - lost - down - held)
    down_levels = [(time - origin, level) for time, level in levels(closed.down)]
    held_levels = [(time - origin, level) for time, level in levels(closed.held)]
    further_times = [time for time, _ in (*down_levels, *held_levels)]
    samples = _repeat_samples(outcome.samples.table, further_times)
    if held_levels:
        changes, sizes = np.array(held_levels, np.int64).T
        last_change = np.searchsorted(changes, samples[:, _TIME], side="right") - 1
        samples[:, _HELD] = np.where(last_change < 0, 0, sizes[last_change])
    return outcome._replace(booked=booked, samples=Samples(samples), down=down_levels)


def _repeat_samples(samples: Ints, times: Sequence[int]) -> Ints:
    """The samples, and at further times the last one before each of them."""
    every_time = np.union1d(samples[:, _TIME], np.array(times, np.int64))
    last = np.searchsorted(samples[:, _TIME], every_time, side="right") - 1
    repeated = samples[np.maximum(0, last)]
    repeated[:, _TIME] = every_time
    return repeated
