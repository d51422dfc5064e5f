"""Simulations of mechanisms on machines whose jobs share nodes: checks before, and records and accounts after."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from holdfast.policies.backfilling import BACKFILLING, Conservative, Easy
from holdfast.policies.mechanism import BASELINE, Mechanism
from holdfast.simulator.machine.job_factory import job_states
from holdfast.simulator.machine.job_state import JobState
from holdfast.simulator.machine.prior_state import PastUsage
from holdfast.simulator.machine_rules import check_shared_rules
from holdfast.simulator.options import Options
from holdfast.simulator.resources.machine_jobs import JobStart, JobWait, MachineJob
from holdfast.simulator.resources.machine_replay import MachineReplay
from holdfast.simulator.resources.outage_windows import NodeWindow, node_windows
from holdfast.simulator.results.recording import level_changes
from holdfast.simulator.results.records import LAST_TICK, Accounting, Records, Samples
from holdfast.simulator.results.result import Result
from holdfast.simulator.results.stochastic_records import stochastic_records
from holdfast.simulator.services.starting_state import find_starting_state
from holdfast.simulator.shared_nodes.closures import NodeClosures
from holdfast.simulator.shared_nodes.demand import Demand, job_demand
from holdfast.simulator.shared_nodes.engine import SharedEngine
from holdfast.simulator.shared_nodes.shared_job import SharedJob, WaitTimes
from holdfast.simulator.shared_nodes.state import SharedMachine
from holdfast.simulator.shared_nodes.stretches import Stretch
from holdfast.workloads.ground.errors import InputError, InvariantError
from holdfast.workloads.machines.machine_workload import MachineWorkload, machine_size, machine_unit
from holdfast.workloads.machines.request import ResourceRequest
from holdfast.workloads.outages.outage import Outage
from holdfast.workloads.table.job import Job
from holdfast.workloads.table.jobs import Jobs

if TYPE_CHECKING:
    from holdfast.policies.planning.plan_book import PlanBook

__all__ = ["check_shared_nodes", "simulate_shared_nodes"]

#: More waiting jobs than a simulation has.
_ALL = 1 << 62


def check_shared_nodes(table: Jobs, workload: MachineWorkload, mechanism: Mechanism | None, options: Options) -> None:
    """Refuse what mechanisms on shared nodes do not model.

    Raises
    ------
    InputError
        Names the first option or job.
    """
    if len(workload.requests) != len(table):
        raise InputError(f"there must be one request for each of the {len(table):,} jobs of the table")
    check_shared_rules(workload.placement, mechanism, options)


def simulate_shared_nodes(
    table: Jobs,
    workload: MachineWorkload,
    mechanism: Mechanism | None,
    options: Options,
    origin: int,
    progress: Callable[[int], None] | None = None,
    book: PlanBook | None = None,
    past: PastUsage | None = None,
    outages: Sequence[Outage] = (),
) -> Result:
    """Simulate jobs on a machine the nodes of which they share.

    Parameters
    ----------
    table
        The job table, with sizes in the unit of the machine.
    workload
        The machine, and the requests of the jobs.
    mechanism
        How on-demand jobs are served; None: the baseline.
    options
        How the machine is operated.
    origin
        Ticks of the table's clock at which the simulated clock stands at 0.
    progress
        Called with the number of ended jobs.
    book
        Plans of the stochastic jobs; None: there are no such jobs.
    past
        Usage of accounts before the jobs that run at the beginning are looked at, in node equivalents; None: not known.
    outages
        Valid outages; they close named nodes.

    Raises
    ------
    InputError
        If something is not modelled (:func:`check_shared_nodes`), or the simulation takes too long.
    """
    check_shared_nodes(table, workload, mechanism, options)
    whole = machine_unit(workload.machine) == "nodes"
    jobs = _shared_jobs(table, workload, options, origin, baseline=mechanism is None)
    rule = BACKFILLING[options.backfilling]
    depth = rule.depth if isinstance(rule, Easy) else _ALL if isinstance(rule, Conservative) else 0
    state = find_starting_state([job.state for job in jobs], origin)
    windows = node_windows(outages, workload.machine, origin + (0 if state is None else state.begin))
    closures = NodeClosures(
        [item._replace(start=item.start - origin, end=item.end - origin, known=item.known - origin) for item in windows]
    )
    machine = SharedMachine(workload.table, workload.placement, options, whole=whole, closures=closures)
    engine = SharedEngine(machine, jobs, mechanism, options, depth, state, progress, book, past, origin)
    engine.run()
    _withdraw_blocked_jobs(machine)
    ended = [(job.state.first_submit, job.state.end) for job in jobs if job.state.end is not None]
    opened = min((submit for submit, _ in ended), default=None)
    if opened is not None and state is not None:
        opened = state.begin
    last = max((end for _, end in ended), default=0)
    if last + abs(origin) > LAST_TICK:
        raise InputError("the jobs take longer than a simulation may")
    # Windows may last longer than the jobs.
    samples = Samples.of([item for item in engine.samples if not windows or item[0] <= last])
    down = [item for item in level_changes(engine.down) if item[0] < last]
    size = machine_size(workload.machine)
    booked = _accounting(machine, samples, down, size, opened, last)
    return Result(
        mechanism=BASELINE if mechanism is None else mechanism.name,
        nodes=size,
        options=options,
        records=Records.of(_record(job, origin) for job in jobs),
        samples=samples,
        booked=booked,
        planning_seconds=engine.planning_seconds,
        stochastic=stochastic_records(job.state for job in jobs),
        losses=machine.usage.losses,
        withdrawn=machine.usage.withdrawn if table.has("cancelled_at") else None,
        origin=origin,
        table=table,
        begin=None if state is None else state.begin + origin,
        malleable_setup=machine.usage.malleable_setup,
        unit=machine_unit(workload.machine),
        down=down,
        outages=list(outages),
        on_machine=_replay(workload, machine, jobs, engine, origin, windows),
    )


def _withdraw_blocked_jobs(machine: SharedMachine) -> None:
    """Let the jobs that a limit keeps from running again after a preemption leave the queue with their last run."""
    last = {item.job.job_id: item.end for item in sorted(machine.stretches, key=lambda item: item.end)}
    for job_id, end in last.items():
        job = machine.jobs[job_id]
        if job.state.end is None:
            job.state.withdrawn, job.state.end, job.gone = True, end, True


def _shared_jobs(
    table: Jobs, workload: MachineWorkload, options: Options, origin: int, *, baseline: bool
) -> list[SharedJob]:
    """The jobs with their demands; sizes of states count parts."""
    given: list[Job] = list(table)
    demands, divided = [], []
    # Jobs with equal requests share their demand, which knows the nodes that suit it.
    known: dict[tuple[bool, tuple[int, ...]], Demand] = {}
    for job, request in zip(given, workload.requests, strict=True):
        walltime = job.trace_walltime if baseline and job.trace_walltime is not None else job.walltime
        demand = job_demand(workload.table, request, walltime, job, baseline=baseline)
        demand = known.setdefault((demand.divided, tuple(map(id, demand.options))), demand)
        least = None
        if job.min_nodes is not None:
            # The share of the size of the job, rounded up to whole parts.
            least = max(1, -(-job.min_nodes * demand.parts // job.nodes)) if demand.divided else demand.parts
        eligible = job.eligible
        if request.begin is not None and job.submit is not None:
            eligible = max(job.submit, request.begin, job.eligible or request.begin)
        demands.append(demand)
        divided.append(replace(job, nodes=demand.parts, min_nodes=least, eligible=eligible))
    states = job_states(divided, origin, options, baseline=baseline)
    partitions = workload.machine.partitions
    return [
        SharedJob(
            state,
            demand,
            job.nodes,
            max(partitions[need.partition].priority for need in demand.options),
            WaitTimes(),
            request.qos,
            request.account,
        )
        for job, demand, state, request in zip(given, demands, states, workload.requests, strict=True)
    ]


def _record(job: SharedJob, origin: int) -> tuple[Any, ...]:
    """The fields of a :class:`~holdfast.simulator.results.records.JobRecord`."""
    state: JobState = job.state
    # A limit never lets the others start, or a job that they depend on: for the machine they do not come.
    came = state.first_submit >= 0 and state.end is not None
    status = "no_show"
    if state.withdrawn or (not came and state.job.cancelled_at is not None):
        status = "cancelled"
    elif came:
        status = "killed" if state.job.killed and state.ends_at_walltime else "completed"
    return (
        job.job_id,
        state.job.type,
        state.first_submit + origin if came else None,
        None if state.start is None else state.start + origin,
        None if state.end is None else state.end + origin,
        job.size,
        state.undisturbed,
        state.preemptions,
        state.shrinks,
        status,
        state.lost,
        state.first_eligible + origin if state.first_eligible > state.first_submit >= 0 else None,
    )


def _accounting(
    machine: SharedMachine, samples: Samples, closed: list[tuple[int, int]], size: int, opened: int | None, last: int
) -> Accounting:
    """Unit-ticks from the first submit to the last end; raises an error if the runs do not add up to the busy ones."""
    usage = machine.usage
    if opened is None:
        return Accounting(0, 0, 0, 0, 0, 0, 0)
    busy = held = 0
    for (begin, used, kept, *_), (end, *_) in pairwise([*samples, (last, 0, 0, 0, 0)]):
        length = max(0, min(end, last) - max(begin, opened))
        busy += used * length
        held += kept * length
    if busy != usage.total():
        raise InvariantError(f"the runs account for {usage.total()} of {busy} busy unit-ticks")
    down = sum(level * max(0, end - max(begin, opened)) for (begin, level), (end, _) in pairwise([*closed, (last, 0)]))
    idle = size * (last - opened) - busy - held - down
    return Accounting(usage.compute, usage.setup, usage.checkpoint, usage.lost, usage.warning, held, idle, down)


def _replay(
    workload: MachineWorkload,
    machine: SharedMachine,
    jobs: Sequence[SharedJob],
    engine: SharedEngine,
    origin: int,
    windows: tuple[NodeWindow, ...],
) -> MachineReplay:
    """Where each job ran: its last stretch on the same nodes, and those before it."""
    kept: list[Stretch] = [item for item in machine.stretches if item.end > item.start or not item.resized]
    last = {item.job.state.row: place for place, item in enumerate(kept)}
    starts: list[JobStart | None] = [None] * len(jobs)
    past = []
    for place, item in enumerate(kept):
        row = item.job.state.row
        start = _job_start(item, workload, origin)
        if last[row] == place and not item.job.gone:
            starts[row] = start
        else:
            past.append((row, start))
    given = [_machine_job(job, request) for job, request in zip(jobs, workload.requests, strict=True)]
    return MachineReplay(
        workload.table, given, starts, Counter(),
        np.array(engine.instants, np.int64) + origin,
        np.array(engine.stranded, np.int64).reshape(-1, len(workload.table.resources)),
        workload.placement,
        [job.state.first_submit + origin for job in jobs], [job.state.first_eligible + origin for job in jobs],
        [job.state.end + origin if job.gone and job.state.end is not None else None for job in jobs], past, windows,
    )  # fmt: skip


def _job_start(item: Stretch, workload: MachineWorkload, origin: int) -> JobStart:
    nodes = tuple(sorted(item.taken))
    return JobStart(
        item.start + origin,
        item.end + origin,
        workload.machine.partitions[item.need.partition].name,
        nodes,
        tuple(workload.table.known_amounts(node, item.taken[node]) for node in nodes),
        item.job.waits.last_limit,
        _job_wait(item.job.waits, origin),
        item.place,
        item.cause,
        item.ending,
    )


def _job_wait(waits: WaitTimes, origin: int) -> JobWait:
    limited, promised, promised_at = (
        None if time is None else time + origin for time in (waits.limited_until, waits.promised, waits.promised_at)
    )
    return JobWait(waits.limit, waits.nodes, waits.reservation, limited, waits.other, promised, promised_at)


def _machine_job(job: SharedJob, request: ResourceRequest) -> MachineJob:
    given = job.state.job
    return MachineJob(
        job.job_id,
        given.submit or 0.0,
        given.walltime,
        given.runtime,
        request,
        cancelled_at=given.cancelled_at,
        preceding=given.preceding,
    )
