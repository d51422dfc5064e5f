"""Simulations on a machine whose partitions share no nodes and give whole nodes to jobs: each partition is a pool.

Such a partition is a machine of equal, exclusive nodes. All that a pool has works there: the mechanisms, job types,
cancellations and dependencies. The parts are simulated one after the other and put together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from holdfast.policies.order import ORDERS
from holdfast.simulator.machine_rules import are_pools
from holdfast.simulator.results.pool import Pool
from holdfast.simulator.results.recording import clock_origin, down_spans, level_changes
from holdfast.simulator.results.records import ABSENT, Accounting, Records, Samples
from holdfast.simulator.results.result import Result
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.machines.machine import Machine
from holdfast.workloads.machines.machine_workload import MachineWorkload
from holdfast.workloads.machines.request import ResourceRequest
from holdfast.workloads.outages.outage import Outage
from holdfast.workloads.outages.places import outage_places, partition_outages
from holdfast.workloads.table.job import RIGID, STOCHASTIC, Job
from holdfast.workloads.table.job_lifecycle import has_life
from holdfast.workloads.table.jobs import Jobs

__all__ = ["needs_pools", "simulate_partitions", "sum_samples"]

Ints = npt.NDArray[np.int64]


def needs_pools(table: Jobs, machine: Machine, *, closed: bool = False) -> bool:
    """Whether jobs without a mechanism are simulated in pools; only if the partitions are pools.

    Jobs that are not rigid need them; cancelled and dependent jobs use them, unless
    outages close nodes by name.
    """
    if not are_pools(machine):
        return False
    if not table.are(RIGID).all():
        return True
    return not closed and _have(table, "cancelled_at", "preceding")


def _have(table: Jobs, *names: str) -> bool:
    return any(map(table.has, names)) and any(
        has_life(job) and any(getattr(job, name) is not None for name in names) for job in table
    )


def simulate_partitions(
    table: Jobs,
    workload: MachineWorkload,
    order: str,
    simulate_pool: Callable[[Jobs, int, Sequence[Outage]], Result],
    outages: Sequence[Outage] = (),
) -> Result:
    """Simulate each partition as a pool, and put the results together.

    Parameters
    ----------
    table
        The job table, with sizes in nodes.
    workload
        The machine, and the requests of the jobs.
    order
        Order of the queue.
    simulate_pool
        Simulates jobs on a pool of a number of nodes with outages, without an event log.
    outages
        Valid outages, each of a partition or of the whole machine.

    Raises
    ------
    InputError
        If the machine, a job or the order does not allow to take each partition by itself.
    """
    machine = workload.machine
    partitions = _partitions_of_jobs(table, workload)
    used = [(place, machine.partitions[place]) for place in np.unique(partitions).tolist()]
    if ORDERS[order].half_life is not None and len(used) > 1:
        raise InputError(
            f"order {order} with mechanisms or job types on a machine (--machine) needs one partition: past usage is "
            "counted over all of them"
        )
    outage_places(outages, machine)
    parts = [
        simulate_pool(
            table.select(partitions == place), len(partition.nodes), partition_outages(outages, machine, partition.name)
        )
        for place, partition in used
    ]
    rows = [np.flatnonzero(partitions == place) for place, _ in used]
    records = _records(rows, parts)
    opened = [part.opened for part in parts if part.opened is not None]
    ended = records.columns["end"]
    elapsed = int(ended.max()) - min(opened) if opened and (ended != ABSENT).any() else 0
    pools = {}
    for (_, partition), own_rows, part in zip(used, rows, parts, strict=True):
        size = len(partition.nodes)
        # What the shorter time of a part does not account for was idle.
        accounting = _with_total(part.accounting, size * elapsed)
        has_gpus = machine.total("gpus", partition.nodes) > 0
        pools[partition.name] = Pool(own_rows, size, accounting, has_gpus)
    amounts = zip(*(pool.accounting for pool in pools.values()), strict=True)
    booked = _with_total(Accounting(*map(sum, amounts)), machine.size * elapsed)
    origin = clock_origin(table)
    shifts = [part.origin - origin for part in parts]
    losses = [(time + shift, lost) for part, shift in zip(parts, shifts, strict=True) for time, lost in part.losses]
    withdrawn = [part.withdrawn for part in parts if part.withdrawn is not None]
    return replace(
        parts[0],
        nodes=machine.size,
        table=table,
        records=records,
        samples=sum_samples(parts, shifts),
        booked=booked,
        losses=sorted(losses),
        down=_down(parts, shifts),
        outages=list(outages),
        latencies=[latency for part in parts for latency in part.latencies],
        engine_seconds=sum(part.engine_seconds for part in parts),
        origin=origin,
        withdrawn=sum(withdrawn) if withdrawn else None,
        malleable_setup=sum(part.malleable_setup for part in parts),
        engine=parts[0].engine,
        pools=pools,
    )


def _down(parts: Sequence[Result], shifts: Sequence[int]) -> list[tuple[int, int]]:
    """Nodes that are down from each change on, as far as the time of their partition is accounted for."""
    changes = []
    for part, shift in zip(parts, shifts, strict=True):
        for start, end, nodes in down_spans(part):
            changes += [(start + shift, nodes), (end + shift, -nodes)]
    changes.sort()
    sums = accumulate(change for _, change in changes)
    return level_changes(zip((time for time, _ in changes), sums, strict=True))


def _partitions_of_jobs(table: Jobs, workload: MachineWorkload) -> Ints:
    """Number of the partition of each job, shape (n,)."""
    if len(workload.requests) != len(table):
        raise InputError(f"there must be one request for each of the {len(table):,} jobs of the table")
    if table.are(STOCHASTIC).any():
        raise InputError("a machine with partitions (--machine) takes no stochastic jobs")
    partitions = {
        job.job_id: _partition_of_job(job, request, workload)
        for job, request in zip(table, workload.requests, strict=True)
    }
    for job in table if table.has("preceding") else ():
        if job.preceding is not None and partitions[job.preceding] != partitions[job.job_id]:
            raise InputError(
                f"job {job.job_id} depends on job {job.preceding} of another partition, which is not modelled"
            )
    return np.array(list(partitions.values()), np.int64)


def _partition_of_job(job: Job, request: ResourceRequest, workload: MachineWorkload) -> int:
    """Number of the only partition that a job may run in; the job must fit on each of its nodes."""
    if job.running_since is not None:
        raise InputError(f"job {job.job_id} runs before the simulation, which is not modelled on a machine (--machine)")
    if request.begin is not None and job.submit is not None and request.begin > max(job.submit, job.eligible or 0):
        raise InputError(f"job {job.job_id} begins later than it waits: give its eligible time in the job table")
    partitions = workload.machine.partitions
    needs = workload.table.needs(request, job.walltime)
    if len(needs) > 1:
        names = ", ".join(partitions[need.partition].name for need in needs)
        raise InputError(f"job {job.job_id} may run in {names}: with mechanisms each job needs one partition")
    (need,) = needs
    partition = partitions[need.partition]
    capacities = {workload.table.capacities[node] for node in need.eligible}
    if need.tasks and len(capacities) > 1:
        raise InputError(
            f"job {job.job_id} asks for tasks, and the nodes of {partition.name} differ: with mechanisms a job "
            "needs a number of nodes there"
        )
    fits = all(have >= amount for vector in capacities for have, amount in zip(vector, need.vector, strict=True))
    if len(need.eligible) < len(partition.nodes) or not fits:
        raise InputError(
            f"job {job.job_id} asks for what only some nodes of {partition.name} have: with mechanisms all nodes "
            "of a partition must suit its jobs"
        )
    return need.partition


def _records(rows: Sequence[Ints], parts: Sequence[Result]) -> Records:
    """The records of all parts in the order of the table."""
    order = np.argsort(np.concatenate(rows), kind="stable")
    names = dict.fromkeys(name for part in parts for name in part.records.columns)
    columns = {}
    for name in names:
        column = np.concatenate([part.records.column(name) for part in parts])
        columns[name] = column[order]
    return Records(**columns)


def sum_samples(parts: Sequence[Result], shifts: Sequence[int]) -> Samples:
    """The sums of all levels at each instant of any part; after its last instant a part is idle.

    Parameters
    ----------
    parts
        Results of the parts.
    shifts
        For each part the ticks by which its clock begins later than that of the whole.
    """
    times = np.unique(
        np.concatenate([part.samples.column(0) + shift for part, shift in zip(parts, shifts, strict=True)])
    )
    table = np.zeros((len(times), 5), np.int64)
    table[:, 0] = times
    for part, shift in zip(parts, shifts, strict=True):
        own = part.samples.column(0) + shift
        places = np.searchsorted(own, times, side="right") - 1
        there = (places >= 0) & (times <= own[-1]) if len(own) else np.zeros(len(times), bool)
        table[there, 1:] += part.samples.table[places[there], 1:]
    return Samples(table)


def _with_total(accounting: Accounting, total: int) -> Accounting:
    """The same with as much idle time as makes up a total."""
    return accounting._replace(idle=total - sum(accounting) + accounting.idle)
