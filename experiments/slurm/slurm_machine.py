"""A machine as Slurm's scheduler sees it: nodes by name, what jobs need and take there, and the queue by tier."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from holdfast.experiments.slurm.job_chain import MINUTE, whole_minutes
from holdfast.experiments.slurm.placed_replay import PlacedJob
from holdfast.policies.slurm_backfill import SlurmBackfill
from holdfast.simulator.resources.limit_columns import LimitColumns, Owner
from holdfast.simulator.resources.node_order import natural_places
from holdfast.simulator.resources.slurm_choice import room_on, share_job
from holdfast.simulator.resources.slurm_limits import RunningAmounts
from holdfast.simulator.resources.slurm_nodes import NodeState, PlannedRun, node_set
from holdfast.simulator.resources.slurm_plan import Request, SlurmPass
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.units import SECOND, to_ticks
from holdfast.workloads.machines.fitted_requests import Need, NodeTable, needs_of_jobs
from holdfast.workloads.machines.machine import Machine

__all__ = ["SlurmMachine"]


class SlurmMachine:
    """The nodes of a machine by name, and the needs of the jobs of a replay.

    Parameters
    ----------
    machine
        The machine.
    jobs
        Jobs that ran on it, or were cancelled while they waited; of these, one that does not fit is never looked at.
    origin
        Slurm's clock at time 0 [s].

    Raises
    ------
    InputError
        If a job does not fit the machine, ran on nodes that it does not have or that do not suit the job, or held more
        than a limit ever allows.
    """

    def __init__(self, machine: Machine, jobs: Sequence[PlacedJob], origin: float = 0.0) -> None:
        # Slurm has longest walltimes in minutes, and those of jobs are rounded up as well.
        longest = [each.max_time and float(MINUTE * whole_minutes(each.max_time)) for each in machine.partitions]
        pairs = zip(machine.partitions, longest, strict=True)
        machine = replace(machine, partitions=tuple(replace(each, max_time=most) for each, most in pairs))
        table = NodeTable.for_requests(machine, [job.request for job in jobs])
        needs, _ = needs_of_jobs(table, [job.request for job in jobs], [job.walltime for job in jobs])
        ran = [job for job, options in zip(jobs, needs, strict=True) if job.nodes and options is None]
        _, unfit = needs_of_jobs(table, [job.request for job in ran], [job.walltime for job in ran])
        if unfit:
            raise InputError(f"a job asks for {next(iter(unfit))}")
        places = natural_places(machine.names)
        order = sorted(range(len(places)), key=places.__getitem__)
        self.names = [machine.names[node] for node in order]
        self._capacities = [table.capacities[node] for node in order]
        self._weights = [table.weights[node] for node in order]
        self._tiers = [partition.priority for partition in machine.partitions]
        self._partitions = [node_set([places[node] for node in machine.places(each)]) for each in machine.partitions]
        self._options = {job.job_id: options or () for job, options in zip(jobs, needs, strict=True)}
        self._first: dict[int, int] = {}
        self._needs: list[Need] = []
        owners: list[Owner] = []
        for job in jobs:
            self._first[job.job_id] = len(owners)
            self._needs += self._options[job.job_id]
            for need in self._options[job.job_id]:
                partition = machine.partitions[need.partition].name
                owners.append(Owner(job.request.qos, job.request.account, job.user, partition))
        self._limits = LimitColumns(machine.limits, owners, as_slurm=True)
        self._counts_memory = [table.counts_memory[node] for node in order]
        self._considered = {
            id(need): node_set([places[node] for node in need.considered])
            for options in self._options.values()
            for need in options
        }
        # Windows of a plan begin at multiples of half a minute.
        self._shift = origin % 3600.0
        numbers = {name: number for number, name in enumerate(self.names)}
        self._runs: dict[int, PlannedRun] = {}
        for job in jobs:
            if not job.nodes:
                continue
            if not set(job.nodes) <= set(numbers):
                raise InputError(f"job {job.job_id} ran on nodes that the machine does not have")
            cores = dict(zip((numbers[name] for name in job.nodes), job.cores or [0] * len(job.nodes), strict=True))
            run = self._runs[job.job_id] = self._recorded_run(job, cores)
            if self._running_amounts(()).would_stop(run.option, self._needs[run.option], run):
                raise InputError(f"job {job.job_id} held more than a limit ever allows")

    def clock(self, time: float) -> int:
        """Slurm's clock at a time, in whole seconds [ticks]."""
        return int((time + self._shift) // 1) * SECOND

    def run(self, job: PlacedJob, start: float) -> PlannedRun:
        """The run of a job on the nodes that it had, from a start on."""
        return self.move(job, start, self._runs[job.job_id])

    def move(self, job: PlacedJob, start: float, run: PlannedRun) -> PlannedRun:
        """A run of a job with its expected end, from a start on."""
        return run._replace(end=self.clock(start) + to_ticks(job.walltime))

    def state(self, runs: Iterable[PlannedRun]) -> NodeState | None:
        """Free resources beside runs; None: they take more than there is."""
        state = NodeState(self._capacities, self._weights)
        for run in runs:
            state.start(run)
        return state if all(min(free) >= 0 for free in state.free) else None

    def queue(self, jobs: Iterable[PlacedJob]) -> list[Request]:
        """Waiting jobs in the order in which Slurm tests them: by tier, then as they are given."""
        requests = [
            Request(job.job_id, option, need, to_ticks(job.walltime), job.user)
            for job in jobs
            for option, need in enumerate(self._options[job.job_id], self._first[job.job_id])
        ]
        return sorted(requests, key=lambda request: -self._tiers[request.need.partition])

    def begin_pass(
        self,
        rule: SlurmBackfill,
        now: float,
        state: NodeState,
        running: Sequence[PlannedRun],
        limited: Iterable[PlannedRun],
        completing: Iterable[PlannedRun] = (),
        times: Iterable[float] = (),
    ) -> SlurmPass:
        """A scheduling pass at a time, in a state of the nodes, of which those of some runs complete.

        Limits count the ``limited`` runs: those of jobs that have not ended. ``times`` are those of its starts [s], as
        far as they are known.
        """
        return SlurmPass(
            *(rule, self.clock(now), state, running, lambda need: self._considered[id(need)], self._partitions),
            limits=self._running_amounts(limited) if self._limits.limits else None,
            completing=node_set(sorted({node for run in completing for node in run.nodes})),
            times=map(self.clock, times),
        )

    def _running_amounts(self, runs: Iterable[PlannedRun]) -> RunningAmounts:
        """What runs take of the limits."""
        amounts = RunningAmounts(self._limits, self._needs, self._counts_memory)
        for run in runs:
            amounts.count(run, 1)
        return amounts

    def _recorded_run(self, job: PlacedJob, cores: Mapping[int, int]) -> PlannedRun:
        """The run of a job with what it took of each of its nodes; 0 cores: not recorded."""
        nodes = sorted(cores)
        whole = [self._capacities[node][0] for node in nodes]
        options = self._options[job.job_id]
        for need in options:
            rooms = {node: room_on(need, self._capacities[node], self._capacities[node]) for node in nodes}
            found = {node: room for node, room in rooms.items() if room is not None}
            suits = len(found) == len(nodes) and not node_set(nodes) & ~self._considered[id(need)]
            # Of several partitions, one that gives whole nodes is not that of a job with fewer cores.
            if suits and not (need.exclusive and all(cores.values()) and [cores[node] for node in nodes] != whole):
                break
        else:
            raise InputError(f"job {job.job_id} ran on nodes that do not suit its request")
        if need.exclusive or not all(cores.values()):
            taken = share_job(need, found, nodes, self._capacities)
        elif need.tasks:
            counts = [cores[node] // need.vector[0] for node in nodes]
            taken = [
                tuple(count * one + base for one, base in zip(need.vector, need.base, strict=True)) for count in counts
            ]
        else:
            taken = [need.vector if cores[node] == need.vector[0] else need.last for node in nodes]
        option = self._first[job.job_id] + options.index(need)
        return PlannedRun(0, tuple(nodes), tuple(taken), job.job_id, need.exclusive, option)
