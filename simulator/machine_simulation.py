"""Simulations of rigid jobs on a machine with partitions and shared nodes: the loop's starts as records and accounts.

Sizes count the unit of the machine (:func:`workloads.machines.machine_workload.machine_unit`), so that busy and idle
capacity make up the machine here as in every other simulation.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from policies.backfilling import BACKFILLING, Conservative, Easy, Strict
from policies.slurm_backfill import SlurmBackfill
from simulator.options import Options
from simulator.plain_replay import PlainJobs, accounting, baseline_ticks, rigid_records, samples
from simulator.resources.machine_jobs import MachineJob
from simulator.resources.machine_replay import MachineReplay, replay_on_machine
from simulator.results.records import ABSENT, STATUSES, Accounting, Records, Samples
from workloads.ground.errors import InputError, ParameterError
from workloads.ground.units import SECOND
from workloads.machines.machine_workload import MachineWorkload, machine_size, machine_unit
from workloads.table.job import RIGID
from workloads.table.jobs import Jobs

__all__ = ["MachineOutcome", "check_machine_replay", "simulate_on_machine"]


class MachineOutcome(NamedTuple):
    """What a simulation on a machine comes to.

    Attributes
    ----------
    records, samples, booked
        As in a :class:`~simulator.results.recording.Recording`.
    replay
        Nodes and times of each job.
    withdrawn
        Ticks of cancelled runs, times their sizes; None: no job can be cancelled.
    """

    records: Records
    samples: Samples
    booked: Accounting
    replay: MachineReplay
    withdrawn: int | None = None


def check_machine_replay(options: Options) -> None:
    """Refuse options that a replay on a machine does not have.

    Raises
    ------
    ParameterError
        Names the first of them.
    """
    rule = BACKFILLING[options.backfilling]
    if type(rule) not in (Strict, Conservative, Easy, SlurmBackfill):
        legal = "none, easy, easy depth=K, conservative or slurm on a machine (--machine)"
        raise ParameterError("backfilling", legal, options.backfilling)
    for name, legal in (("passes", "instant"), ("backfill_length", "walltime"), ("engine", "auto")):
        if getattr(options, name) != legal:
            raise ParameterError(name, f"{legal} on a machine (--machine)", getattr(options, name))


def simulate_on_machine(table: Jobs, workload: MachineWorkload, options: Options, origin: int) -> MachineOutcome:
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
    jobs = _machine_jobs(table, workload)
    replay = replay_on_machine(
        workload.machine,
        jobs,
        depth=rule.depth if isinstance(rule, Easy) else None,
        backfilling=rule
        if isinstance(rule, SlurmBackfill)
        else "conservative"
        if isinstance(rule, Conservative)
        else "none"
        if type(rule) is Strict
        else "easy",
        placement=workload.placement,
        order=options.order,
    )
    return _outcome(table, replay, jobs, origin)


def _check_jobs(table: Jobs) -> None:
    """Refuse jobs that are not rigid, or run before the replay."""
    other = ~table.are(RIGID)
    if other.any():
        job = next(iter(table.select(other)))
        raise InputError(
            f"job {job.job_id} is {job.type.value}: a replay on a machine (--machine) takes rigid jobs only"
        )
    if table.has("running_since"):
        for job in table:
            if job.running_since is not None:
                raise InputError(
                    f"job {job.job_id} runs before the replay, which a replay on a machine (--machine) does not model"
                )


def _machine_jobs(table: Jobs, workload: MachineWorkload) -> list[MachineJob]:
    runtime, walltime = (baseline_ticks(table, name) / SECOND for name in ("runtime", "walltime"))
    lively = table.has("cancelled_at") or table.has("preceding")
    submit = table.column("submit")
    eligible = np.where(np.isnan(table.column("eligible")), submit, table.column("eligible"))
    columns = (table.column("job_id"), submit if lively else eligible, walltime, runtime)
    jobs = [
        MachineJob(job_id, came, longest, takes, request, user)
        for job_id, came, longest, takes, request, user in zip(
            *(column.tolist() for column in columns), workload.requests, table.texts("user"), strict=True
        )
    ]
    if not lively:
        return jobs
    # A cancellation counts from the submit, and a dependency may move that: the eligible time stands by itself.
    return [
        job._replace(
            request=replace(job.request, begin=max(queued, job.request.begin or 0))
            if queued > row.submit
            else job.request,
            cancelled_at=row.cancelled_at,
            preceding=row.preceding,
            think_time=row.think_time,
        )
        for job, row, queued in zip(jobs, table, eligible.tolist(), strict=True)
    ]


def _outcome(table: Jobs, replay: MachineReplay, jobs: list[MachineJob], origin: int) -> MachineOutcome:
    whole = machine_unit(replay.table.machine) == "nodes"
    starts = np.full(len(table), ABSENT)
    ends = np.full(len(table), ABSENT)
    taken = np.zeros(len(table), np.int64)
    for row, place in enumerate(replay.starts):
        if place is not None:
            starts[row], ends[row] = place.start, place.end
            taken[row] = len(place.nodes) if whole else sum(vector[0] for vector in place.taken)
    ran = starts != ABSENT
    columns = dict(rigid_records(table, starts, ends).columns)
    gone = np.array([ABSENT if time is None else time for time in replay.gone], np.int64)
    left = gone != ABSENT
    came = ran | left
    if any(job.preceding is not None for job in jobs):
        columns["submit"] = np.array(replay.submits, np.int64)
    columns["submit"] = np.where(came, columns["submit"], ABSENT)
    columns["end"] = np.where(left, gone, ends)
    if not came.all():
        # A limit never lets them start, or the job that they depend on: for the machine they do not come.
        columns["status"] = np.where(came, columns["status"], STATUSES.index("no_show")).astype(np.int8)
    withdrawn = None
    if any(job.cancelled_at is not None for job in jobs):
        stopped = ran & (ends - starts < np.maximum(1, columns["runtime"]))
        columns["status"] = np.where(left | stopped, STATUSES.index("cancelled"), columns["status"]).astype(np.int8)
        spans = (ends - starts)[stopped]
        withdrawn = sum(int(most) * int(span) for most, span in zip(taken[stopped], spans, strict=True))
    queued = np.array(replay.queued, np.int64)
    held = came & (queued > columns["submit"])
    if held.any():
        columns["eligible"] = np.where(held, queued, ABSENT)
    # A job that leaves the queue takes nothing at the time at which it leaves; one that was held never waited.
    seen = ran | (left & (queued <= gone))
    begun = np.where(left, gone, starts)[seen] - origin
    ended = columns["end"][seen] - origin
    lengths = ended - begun
    waiting, busy = (
        samples(PlainJobs(queued[seen] - origin, queued[seen] - origin, sizes, lengths, lengths), begun, ended).table
        for sizes in (columns["nodes"][seen], taken[seen])
    )
    busy[:, 4] = waiting[:, 4]
    size = machine_size(replay.table.machine)
    lengths = np.where(ran, ends - starts, 0)[came]
    submit = columns["submit"][came] - origin
    first = PlainJobs(submit, queued[came] - origin, taken[came], lengths, lengths)
    booked = accounting(first, columns["end"][came] - origin, size)
    return MachineOutcome(Records(**columns), Samples(busy), booked, replay, withdrawn)
