"""Options of a machine with partitions and shared nodes, and the simulation of a log on it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from holdfast.experiments.commands.options.arguments import READING, LogReading, given_options, reading_entry
from holdfast.experiments.commands.options.simulation_options import (
    Simulation,
    SimulationOptions,
    planner_and_plans,
    preparation_entry,
)
from holdfast.policies.mechanism import BASELINE
from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.ground.parameters import Parameter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from holdfast.simulator.machine.prior_state import PriorState
    from holdfast.workloads.logs.trace import Trace
    from holdfast.workloads.machines.machine import Machine
    from holdfast.workloads.machines.machine_workload import MachineWorkload
    from holdfast.workloads.requests.log_requests import LogRequests
    from holdfast.workloads.table.jobs import Jobs

__all__ = [
    "MachineFile",
    "MachineOptions",
    "check_reading",
    "fit_log",
    "machine_remarks",
    "read_machine_log",
    "simulation_on",
]


@dataclass(eq=False, repr=False)
class MachineFile:
    """The machine of a log.

    Attributes
    ----------
    machine
        File of its description; None: one pool of equal nodes.
    """

    machine: Annotated[
        str | None,
        Parameter(
            "file of 'holdfast machine'",
            default="equal nodes",
            metavar="FILE",
            group=READING,
        ),
    ] = None


@dataclass(eq=False, repr=False)
class MachineOptions(MachineFile):
    """The machine, and how it is used.

    Attributes
    ----------
    placement
        How nodes are chosen among those that fit.
    """

    placement: Annotated[
        Literal["pack", "spread", "slurm"],
        Parameter(
            "choice among the nodes of --machine: the fullest, the emptiest, or as in Slurm",
            group="details of scheduling",
        ),
    ] = "pack"


def check_reading(nodes: int | None, reading: LogReading) -> None:
    """Refuse options that say what the machine file says.

    Raises
    ------
    ParameterError
        Names the first of them.
    """
    for option, value in (
        ("--nodes", nodes), ("--unit", reading.unit), ("--procs-per-node", reading.procs_per_node),
    ):  # fmt: skip
        if value is not None:
            raise ParameterError(option, "left out with --machine: its file describes the nodes", value)


def read_machine_log(path: str, reading: LogReading, *, cancelled: bool = False) -> LogRequests:
    """The jobs of a log with their requests; on demand also those that were cancelled before they started."""
    from holdfast.workloads.requests.log_requests import read_requests

    where = list(reading.where) or None
    return read_requests(
        path, columns=reading.columns, lenient=reading.lenient, where=where, format=reading.format, cancelled=cancelled
    )


def fit_log(path: str, machine: str, reading: LogReading, *, cancelled: bool = False) -> tuple[Trace, MachineWorkload]:
    """The jobs of a log that the machine of a file can run, and their requests."""
    from holdfast.workloads.machines.machine_file import read_machine
    from holdfast.workloads.requests.fitted_trace import fit_log_to_machine

    return fit_log_to_machine(read_machine_log(path, reading, cancelled=cancelled), read_machine(machine))


def machine_remarks(workload: MachineWorkload, users: Sequence[str], reading: LogReading) -> tuple[str, ...]:
    """Sentences about what a replay on this machine does not know; ``users`` are those of the jobs."""
    machine, found = workload.machine, list[str]()
    if machine.unused_node_count:
        found.append(
            f"nodes in no partition, which run no jobs but count in the utilisation: {machine.unused_node_count:,}; "
            "add them to the nodes of a partition"
        )
    scopes = {
        "QOS": ("qos", {request.qos for request in workload.requests}),
        "account": ("account", {request.account for request in workload.requests}),
        "user": ("user", set(users)),
    }
    for title, (scope, named) in scopes.items():
        if not any(named) and any(limit.scope == scope for limit in machine.limits):
            found.append(f"no job names its {title}, so the machine's limits by {title} have no effect")
    # A job that gets whole nodes has all that they hold.
    shared = any(not partition.exclusive for partition in machine.partitions)
    names_memory = any(request.memory is not None for request in workload.requests)
    names_memory = names_memory or any(partition.memory_per_core for partition in machine.partitions)
    names_gpus = any(request.gpus for request in workload.requests)
    for resource, is_asked_for in (("memory", names_memory), ("GPUs", names_gpus)):
        if shared and not is_asked_for and machine.total(resource.lower()):
            found.append(f"no job names {resource}, so no job waits for the {resource} of the machine")
    if machine.estimated:
        found.append(
            f"the machine is an estimate ({machine.origin or 'from a log'}): nodes that its jobs never used are missing"
        )
    if reading.where:
        found.append(
            f"only jobs with {' '.join(reading.where)} are simulated: the other jobs of the machine are missing, and "
            "waits will be too short"
        )
    return tuple(found)


class _MachineInput(NamedTuple):
    """The jobs of an input on a machine, and what is said and stored of them.

    Attributes
    ----------
    jobs, workload, prior
        The job table, its requests on the machine, and past usage; None: not known.
    about, types, lopsided, caveats
        Lines about the log, the types of jobs, how far these are from the requested shares, and the requests that the
        log does not record.
    header, local
        Comments of the log, and whether its dates are local times.
    stored, source
        Entries of the run file, and of its description of the input.
    """

    jobs: Jobs
    workload: MachineWorkload
    prior: PriorState | None = None
    about: str = ""
    types: str = ""
    lopsided: str = ""
    caveats: tuple[str, ...] = ()
    header: Mapping[str, str] = MappingProxyType({})
    local: bool = False
    stored: Mapping[str, Any] = MappingProxyType({})
    source: Mapping[str, Any] = MappingProxyType({})


def simulation_on(asked: SimulationOptions, machine: MachineOptions, mechanisms: Sequence[str]) -> Simulation:
    """Read and check everything that a replay on a machine needs.

    Parameters
    ----------
    asked
        Input, its reading, and how the machine is operated.
    machine
        The machine.
    mechanisms
        Names of the mechanisms.

    Raises
    ------
    InputError
        If any of it is not usable, or not modelled on such a machine.
    """
    from holdfast.experiments.recordings.run_file import UNIT
    from holdfast.simulator.machine_rules import check_machine_replay
    from holdfast.workloads.ground.files import file_sha256
    from holdfast.workloads.logs.trace import trace_epoch
    from holdfast.workloads.machines.machine_file import read_machine
    from holdfast.workloads.machines.machine_workload import machine_size, machine_unit
    from holdfast.workloads.requests.log_requests import is_job_table

    check_reading(asked.nodes, asked.reading)
    options, reading = asked.operation, asked.reading
    drawn = list(mechanisms) != [BASELINE] or asked.assignment.stochastic_share > 0
    described = read_machine(str(machine.machine))
    if not drawn and asked.life.starting_state is None:
        check_machine_replay(options)
    size, unit = machine_size(described), machine_unit(described)
    configuration: dict[str, Any] = {
        "input": {"path": asked.input, "sha256": file_sha256(asked.input)},
        "mechanisms": list(mechanisms),
        "options": asdict(options),
        "nodes": size,
        "machine": {
            "path": machine.machine,
            "sha256": file_sha256(str(machine.machine)),
            "placement": machine.placement,
        },
    }
    if unit != "nodes":
        configuration[UNIT] = unit
    configuration |= reading_entry(asked.paper)
    is_table = reading.format == "job-table" or (
        reading.format is None and reading.columns is None and is_job_table(asked.input)
    )
    if is_table:
        given = _read_table(asked, described, machine.placement)
    else:
        given = _read_log(asked, described, machine.placement, drawn=drawn)
    configuration |= given.stored
    configuration["input"] |= given.source
    planner, plans = planner_and_plans(asked, given.jobs, configuration, "run")
    return Simulation(
        given.jobs,
        size,
        options,
        planner,
        plans,
        configuration=configuration,
        about=given.about,
        epoch=trace_epoch(given.header, float(given.jobs.column("submit").min())),
        local=given.local,
        prepared=True,
        types=given.types,
        lopsided=given.lopsided,
        caveats=(*machine_remarks(given.workload, given.jobs.texts("user"), reading), *given.caveats),
        unit=unit,
        prior=given.prior,
        on_machine=given.workload,
    )


def _read_table(asked: SimulationOptions, machine: Machine, placement: str) -> _MachineInput:
    from holdfast.experiments.traces.description import composition
    from holdfast.workloads.logs.readers import read_workload
    from holdfast.workloads.requests.fitted_trace import fit_jobs_to_machine
    from holdfast.workloads.table.jobs import Jobs

    asked.life.refuse_table(asked.input)
    table: Any = read_workload(asked.input, format="job-table", where=list(asked.reading.where) or None)
    rows, workload = fit_jobs_to_machine(Jobs.of(table.jobs), machine, placement=placement)
    jobs = Jobs.of(rows)
    return _MachineInput(jobs, workload, types=composition(jobs))


def _read_log(asked: SimulationOptions, machine: Machine, placement: str, *, drawn: bool) -> _MachineInput:
    """The jobs of a log; types and notices are ``drawn``, or all jobs are rigid."""
    from holdfast.experiments.forecast.prior_usage import machine_prior_state
    from holdfast.experiments.traces.description import composition, describe_reading, need_jobs
    from holdfast.workloads.hybrid.assignment import as_rigid, assign
    from holdfast.workloads.hybrid.recorded_types import spot_jobs
    from holdfast.workloads.hybrid.type_balance import imbalance
    from holdfast.workloads.logs.one_pool import missing_requests
    from holdfast.workloads.logs.readers import records_local_time
    from holdfast.workloads.requests.fitted_trace import fit_log_to_machine

    reading, life, prior = asked.reading, asked.life, None
    log = read_machine_log(asked.input, reading, cancelled=life.cancelled == "keep")
    trace, workload = fit_log_to_machine(log, machine, placement=placement)
    need_jobs(trace, asked.input)
    if life.starting_state is not None or life.until is not None:
        requests = dict(zip(trace.jobs.column("job_id").tolist(), workload.requests, strict=True))
        trace = life.cut(trace)
        kept = tuple(requests[number] for number in trace.jobs.column("job_id").tolist())
        if life.starting_state is not None:
            prior = machine_prior_state(trace, workload, requests)
        workload = replace(workload, requests=kept)
    jobs, remarks = life.of_jobs(trace, assign(trace, asked.assignment, seed=asked.seed) if drawn else as_rigid(trace))
    how = {"lenient": reading.lenient, "where": list(reading.where) or None, "columns": reading.columns}
    preparation = {"preparation": preparation_entry(asked.seed, asked.assignment)} if drawn else {}
    return _MachineInput(
        jobs,
        workload,
        prior,
        describe_reading(trace) + remarks,
        composition(jobs, trace.unit, spot_jobs(trace, asked.assignment.types)) if drawn else "",
        imbalance(trace, jobs, asked.assignment) if drawn else "",
        missing_requests(trace),
        trace.header,
        records_local_time(trace.format, trace.header),
        life.manifest_entry | preparation,
        {**given_options({**how, "format": trace.format, "procs_per_node": None}), "left_out": dict(trace.excluded)},
    )
