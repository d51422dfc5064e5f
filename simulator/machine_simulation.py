"""Simulations of rigid jobs on a machine with partitions and shared nodes: the loop's starts as records and accounts.

Sizes count the unit of the machine (:func:`workloads.machines.machine_workload.machine_unit`), so that busy and idle
capacity make up the machine here as in every other simulation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from policies.backfilling import BACKFILLING, Conservative, Easy, Strict
from simulator.options import Options
from simulator.plain_replay import PlainJobs, accounting, baseline_ticks, rigid_records, samples
from simulator.resources.machine_jobs import MachineJob
from simulator.resources.machine_replay import MachineReplay, replay_on_machine
from simulator.results.records import ABSENT, STATUSES, Accounting, Records, Samples
from workloads.ground.errors import InputError, ParameterError
from workloads.ground.units import SECOND
from workloads.machines.machine_workload import MachineWorkload, machine_size, machine_unit
from workloads.table.job import RIGID
from workloads.table.job_lifecycle import has_life
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
    """

    records: Records
    samples: Samples
    booked: Accounting
    replay: MachineReplay


def check_machine_replay(options: Options) -> None:
    """Refuse options that a replay on a machine does not have.

    Raises
    ------
    ParameterError
        Names the first of them.
    """
    rule = BACKFILLING[options.backfilling]
    if type(rule) not in (Strict, Conservative, Easy):
        legal = "none, easy, easy depth=K or conservative on a machine (--machine)"
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
    runtime, walltime = (baseline_ticks(table, name) / SECOND for name in ("runtime", "walltime"))
    submit = table.column("submit")
    queued = np.where(np.isnan(table.column("eligible")), submit, table.column("eligible"))
    columns = (table.column("job_id"), queued, walltime, runtime)
    jobs = [
        MachineJob(job_id, came, longest, takes, request, user)
        for job_id, came, longest, takes, request, user in zip(
            *(column.tolist() for column in columns), workload.requests, table.texts("user"), strict=True
        )
    ]
    replay = replay_on_machine(
        workload.machine,
        jobs,
        depth=rule.depth if isinstance(rule, Easy) else None,
        backfilling="conservative" if isinstance(rule, Conservative) else "none" if type(rule) is Strict else "easy",
        placement=workload.placement,
        order=options.order,
    )
    return _outcome(table, replay, jobs, origin)


def _check_jobs(table: Jobs) -> None:
    """Refuse jobs that are not rigid, or have more to their life than a submit, a start and an end."""
    other = ~table.are(RIGID)
    if other.any():
        job = next(iter(table.select(other)))
        raise InputError(
            f"job {job.job_id} is {job.type.value}: a replay on a machine (--machine) takes rigid jobs only"
        )
    names = ("cancelled_at", "preceding", "think_time", "running_since")
    if any(map(table.has, names)):
        for job in table:
            if has_life(job) and any(getattr(job, name) is not None for name in names):
                raise InputError(
                    f"job {job.job_id} is cancelled, depends on another or runs before the replay, which a replay on a "
                    "machine (--machine) does not model"
                )


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
    if not ran.all():
        # A limit never lets them start: for the machine they do not come.
        columns["submit"] = np.where(ran, columns["submit"], ABSENT)
        columns["status"] = np.where(ran, columns["status"], STATUSES.index("no_show")).astype(np.int8)
    queued = np.array(replay.queued, np.int64)
    held = ran & (queued > columns["submit"])
    if held.any():
        columns["eligible"] = np.where(held, queued, ABSENT)
    requested = columns["nodes"][ran]
    times = queued[ran] - origin, starts[ran] - origin, ends[ran] - origin
    lengths = times[2] - times[1]
    shares = [PlainJobs(times[0], times[0], sizes, lengths, lengths) for sizes in (requested, taken[ran])]
    waiting, busy = (samples(plain, times[1], times[2]).table for plain in shares)
    busy[:, 4] = waiting[:, 4]
    size = machine_size(replay.table.machine)
    submit = columns["submit"][ran] - origin
    first = PlainJobs(submit, times[0], taken[ran], lengths, lengths)
    return MachineOutcome(Records(**columns), Samples(busy), accounting(first, times[2], size), replay)
