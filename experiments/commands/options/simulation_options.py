"""Options of a simulation: input, preparation, machine and planner, all checked before it runs."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from holdfast.experiments.commands.options.arguments import (
    LogReading,
    PaperReading,
    assume_size,
    check_plan,
    choose_machine_size,
    given_options,
    machine_size,
    read_options,
    reading_entry,
)
from holdfast.experiments.commands.options.lifecycle_options import Life
from holdfast.simulator.options import Options
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.parameters import Group, Nodes, NonNegative, Parameter, Seed, wholes
from holdfast.workloads.hybrid.type_mix import PREPARING, Assignment

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from holdfast.policies.planning.plan import ReservationPlan
    from holdfast.policies.planning.plan_book import Planner
    from holdfast.simulator.machine.prior_state import PriorState
    from holdfast.workloads.logs.clock import LogClock
    from holdfast.workloads.logs.trace import Trace
    from holdfast.workloads.machines.machine_workload import MachineWorkload
    from holdfast.workloads.table.job import Job
    from holdfast.workloads.table.job_table import JobTable
    from holdfast.workloads.table.jobs import Jobs

__all__ = ["Simulation", "SimulationOptions", "planner_and_plans", "preparation_entry", "prepare_simulation"]

#: Group of the options of planning in the help.
_PLANNING = "planning stochastic jobs"


@dataclass(frozen=True)
class Simulation:
    """The checked inputs of a simulation.

    Attributes
    ----------
    jobs, nodes, options
        As for :func:`holdfast.simulator.simulation.simulate`.
    planner, plans
        Planner and plans of stochastic jobs; None if there are none.
    configuration
        Entries of ``run.json``.
    about
        Text to print about the input.
    epoch
        Time 0 of the job table in seconds since 1970; None: unknown.
    local
        Whether its dates are in an unknown local time zone.
    prepared
        Whether the job table differs from the trace and should be stored.
    types
        Text to print about the types of the jobs; empty: all are rigid, as in the trace.
    lopsided
        Warning if a single draw dominates the workload; empty: none.
    caveats
        Features of the log that one pool of equal nodes does not model.
    unit
        Unit of sizes: ``nodes`` or ``processors``.
    prior
        Past usage and nodes of running jobs at the starting state; None: there is none, or it is unknown.
    on_machine
        A machine with partitions and the requests of the jobs; None: one pool of equal nodes.
    """

    jobs: Sequence[Job]
    nodes: int
    options: Options
    planner: Planner | None
    plans: Mapping[str, ReservationPlan]
    configuration: dict[str, Any] = field(default_factory=dict)
    about: str = ""
    epoch: float | None = None
    local: bool = False
    prepared: bool = False
    types: str = ""
    lopsided: str = ""
    caveats: tuple[str, ...] = ()
    unit: str = "nodes"
    prior: PriorState | None = None
    on_machine: MachineWorkload | None = None

    @property
    def gaps(self) -> list[str]:
        """Gaps in the information about its starting state, one sentence each."""
        from holdfast.workloads.table.jobs import Jobs

        table = Jobs.of(self.jobs)
        if not table.has("running_since"):
            return []
        running = [job.job_id for job in table if job.running_since is not None]
        from holdfast.experiments.forecast.missing_history import find_gaps
        from holdfast.workloads.table.job_lifecycle import replay_start

        return find_gaps(self.prior, self.options, replay_start(self.jobs) or 0.0, running)

    @property
    def clock(self) -> LogClock:
        """Clock of the job table."""
        from holdfast.workloads.logs.clock import LOCAL, LogClock

        source = str(self.configuration.get("input", {}).get("path", "the log"))
        return LogClock(0.0, self.epoch, LOCAL if self.local else "UTC", source)


@dataclass(eq=False, repr=False)
class PlannerOptions:
    """Options for planning stochastic jobs.

    Attributes
    ----------
    fit, known_runs, refit_growth
        As ``fit``, ``least`` and ``growth`` of :class:`holdfast.policies.planning.plan_book.Planner`.
    costs
        File of costs.
    """

    fit: Annotated[str, Parameter("distribution fitted to the past runs", group=_PLANNING)] = "kernel"
    known_runs: Annotated[int, wholes(1), Parameter("completed runs before a plan", group=_PLANNING)] = 10
    refit_growth: Annotated[
        NonNegative,
        Parameter("growth of the number of completed runs before a new fit", metavar="SHARE", group=_PLANNING),
    ] = 0.2
    costs: Annotated[
        str | None,
        Parameter("costs written by 'holdfast fit-costs'", default="reserved time", metavar="FILE", group=_PLANNING),
    ] = None


@dataclass(kw_only=True, eq=False, repr=False)
class SimulationOptions:
    """Options for the input, its preparation, the machine and the planner.

    Attributes
    ----------
    input
        Trace or job table.
    nodes
        Size of the machine; None: from the trace.
    reading, paper, assignment, life, options, planner
        Options of each part.
    seed
        Seed of every random choice.
    """

    input: Annotated[str, Parameter("trace, or job table (CSV, Parquet)", metavar="INPUT", positional=True)]
    nodes: Annotated[Nodes | None, machine_size()] = None
    reading: LogReading
    paper: Annotated[PaperReading, Group(PREPARING)]
    seed: Annotated[Seed, Parameter("seed of every random choice", group=PREPARING)] = 0
    assignment: Assignment
    life: Life
    options: Options
    planner: PlannerOptions

    @property
    def operation(self) -> Options:
        """Options for the operation of the machine, and the seed."""
        return replace(self.options, seed=self.seed)


def prepare_simulation(
    asked: SimulationOptions,
    mechanisms: Sequence[str],
    command: str,
    read: Callable[[], Trace | JobTable] | None = None,
) -> Simulation:
    """Read and check the inputs of a simulation.

    Parameters
    ----------
    asked
        The options.
    mechanisms
        Names of the mechanisms.
    command
        The command, for warnings.
    read
        Function that reads the input, for simulations that share it; None: it is read here.

    Raises
    ------
    InputError
        If any of it is not usable.
    """
    import numpy as np

    from holdfast.experiments.recordings.run_file import UNIT
    from holdfast.workloads.ground.files import file_sha256
    from holdfast.workloads.logs.readers import read_workload, records_local_time
    from holdfast.workloads.logs.trace import Trace, trace_epoch
    from holdfast.workloads.table.jobs import Jobs

    check_plan(asked.assignment)
    workload = read_workload(asked.input, **read_options(asked.reading)) if read is None else read()
    header: Mapping[str, str] = {}
    local = False
    if isinstance(workload, Trace):
        simulation = _trace_simulation(asked, workload, mechanisms)
        header, local = workload.header, records_local_time(workload.format, workload.header)
    else:
        simulation = _table_simulation(asked, workload)
    entries = dict(simulation.configuration)
    source = {"path": asked.input, "sha256": file_sha256(asked.input), **entries.pop("input", {})}
    configuration = {
        "input": source,
        "mechanisms": list(mechanisms),
        "options": asdict(simulation.options),
        **entries,
        "nodes": simulation.nodes,
    }
    if simulation.unit != "nodes":
        configuration[UNIT] = simulation.unit
    configuration |= reading_entry(asked.paper)
    jobs = Jobs.of(simulation.jobs)
    planner, plans = planner_and_plans(asked, jobs, configuration, command)
    first_submit = float(np.nanmin(jobs.column("submit"), initial=np.inf))
    epoch = trace_epoch(header, first_submit if first_submit < np.inf else 0.0)
    return replace(simulation, planner=planner, plans=plans, configuration=configuration, epoch=epoch, local=local)


def _trace_simulation(asked: SimulationOptions, trace: Trace, mechanisms: Sequence[str]) -> Simulation:
    """The simulation of a trace, with the entries of ``run.json`` about its reading and preparation; no planner yet."""
    from holdfast.experiments.traces.description import composition, describe_reading, need_jobs
    from holdfast.policies.mechanism import BASELINE
    from holdfast.workloads.hybrid.assignment import as_rigid, assign
    from holdfast.workloads.hybrid.recorded_types import spot_jobs
    from holdfast.workloads.hybrid.type_balance import imbalance
    from holdfast.workloads.logs.one_pool import caveats

    assignment, life = asked.assignment, asked.life
    trace = assume_size(trace, asked.nodes)
    nodes = choose_machine_size(asked.nodes, trace, asked.input)
    not_modelled = caveats(trace, nodes)
    trace = life.of_trace(trace, nodes)
    prior = None
    if life.starting_state is not None:
        from holdfast.experiments.forecast.prior_usage import prior_state

        prior = prior_state(trace)
    need_jobs(trace, asked.input)
    draws_types = list(mechanisms) != [BASELINE] or assignment.stochastic_share > 0
    typed_jobs = assign(trace, assignment, seed=asked.seed) if draws_types else as_rigid(trace)
    jobs, remarks = life.of_jobs(trace, typed_jobs)
    reading = given_options({**read_options(asked.reading), "format": trace.format})
    entries: dict[str, Any] = {"input": {**reading, "left_out": dict(trace.excluded)}}
    if draws_types:
        entries["preparation"] = preparation_entry(asked.seed, assignment)
    entries |= life.manifest_entry
    return Simulation(
        jobs,
        nodes,
        asked.operation,
        planner=None,
        plans={},
        configuration=entries,
        about=describe_reading(trace) + remarks,
        prepared=draws_types or bool(life.manifest_entry),
        types=composition(jobs, trace.unit, spot_jobs(trace, assignment.types)) if draws_types else "",
        lopsided=imbalance(trace, jobs, assignment) if draws_types else "",
        caveats=not_modelled,
        unit=trace.unit,
        prior=prior,
    )


def _table_simulation(asked: SimulationOptions, table: JobTable) -> Simulation:
    """The simulation of a job table; no planner yet."""
    from holdfast.experiments.traces.description import composition
    from holdfast.workloads.ground.errors import TraceError
    from holdfast.workloads.table.validation import check_jobs

    asked.life.refuse_table(asked.input)
    nodes = choose_machine_size(asked.nodes, None, asked.input)
    if not table.jobs:
        raise TraceError(asked.input, None, "no job is left to simulate: the table has no rows")
    check_jobs(table.jobs, nodes, where=asked.input)
    return Simulation(table.jobs, nodes, asked.operation, planner=None, plans={}, types=composition(table.jobs))


def preparation_entry(seed: int, assignment: Assignment) -> dict[str, Any]:
    """The preparation of a trace in ``run.json``; a rule for recorded types only where one was given."""
    entry = {"seed": seed, **asdict(assignment)}
    return entry if assignment.types else {name: value for name, value in entry.items() if name != "types"}


def planner_and_plans(
    asked: SimulationOptions, jobs: Jobs, configuration: dict[str, Any], command: str
) -> tuple[Planner | None, dict[str, ReservationPlan]]:
    """Make the planner of stochastic jobs and read the plan files that the table names."""
    from holdfast.workloads.ground.files import file_sha256
    from holdfast.workloads.table.job import JobType

    planning = asked.planner
    names: dict[str, int] = {}
    for job in jobs.select(jobs.are(JobType.STOCHASTIC)):
        names.setdefault(job.plan, job.job_id)
    costs = None
    if planning.costs is not None:
        # Read even if no job is stochastic, so that an invalid file is reported.
        from holdfast.experiments.planning.cost_file import read_costs

        costs = read_costs(planning.costs, command)
    if not names:
        return None, {}
    from holdfast.experiments.planning.plan_inputs import read_plans
    from holdfast.policies.planning.plan_book import Planner, reserved_time
    from holdfast.policies.planning.planner import parse_strategy

    for name, job_id in names.items():
        if not name.endswith(".json"):
            try:
                parse_strategy(name)
            except InputError as error:
                raise InputError(f"plan of job {job_id}: {error}") from None
    planner = Planner(
        fit=planning.fit,
        least=planning.known_runs,
        growth=planning.refit_growth,
        prices=reserved_time if costs is None else costs.costs_for,
    )
    # Paths are relative to the table that names them.
    paths = {name: Path(asked.input).parent / name for name in sorted(names) if name.endswith(".json")}
    configuration["planner"] = {"fit": planner.fit, "least": planner.least, "growth": planner.growth}
    if costs is not None and planning.costs is not None:
        configuration["planner"]["costs"] = {"path": planning.costs, "sha256": file_sha256(planning.costs)}
    configuration["plans"] = {name: file_sha256(path) for name, path in paths.items()}
    return planner, read_plans(paths, command)
