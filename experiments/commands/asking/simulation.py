"""Options of a simulation: input, preparation, machine and planner, all checked before it runs."""

from __future__ import annotations

import argparse
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.commands.asking.arguments import (
    add_preparation,
    add_reading,
    assignment_of,
    machine_of,
    number,
    read_options,
    share,
    sized,
    told_options,
    whole,
)
from experiments.commands.asking.life import add_life, life_of
from workloads.ground.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from policies.planning.plan import ReservationPlan
    from policies.planning.planbook import Planner
    from simulator.machine.priorstate import PriorState
    from simulator.options import Options
    from workloads.logs.clock import LogClock
    from workloads.table.job import Job

__all__ = ["Simulation", "add_simulation", "options_of", "simulation_of"]


@dataclass(frozen=True)
class Simulation:
    """A simulation that the command line asks for.

    Attributes
    ----------
    jobs, nodes, options
        As :func:`simulator.simulation.simulate` takes them.
    planner, plans
        Planner and plans of stochastic jobs; None where there are none.
    configuration
        Entries of ``run.json``.
    about
        Text to print about the input.
    epoch
        Time 0 of the job table in seconds since 1970; None: unknown.
    local
        Whether its dates are in the local time of the log, which does not name the zone.
    prepared
        Whether the job table holds more than the trace did, and so should be kept.
    types
        Text to print about the types of the jobs; empty: all are rigid, as the trace records them.
    lopsided
        Warning where a single draw decides the workload; empty: none.
    caveats
        What the log has and one pool of equal nodes does not model.
    unit
        What sizes count: ``nodes`` or ``processors``.
    prior
        Past usage and nodes of running jobs at the starting state; None: it begins without, or they are not known.
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

    @property
    def gaps(self) -> list[str]:
        """What its starting state does not know, a sentence each."""
        running = [job.job_id for job in self.jobs if job.running_since is not None]
        if not running:
            return []
        from experiments.forecast.gaps import find_gaps
        from workloads.table.joblife import beginning_of

        return find_gaps(self.prior, self.options, beginning_of(self.jobs) or 0.0, running)

    @property
    def clock(self) -> LogClock:
        """Clock of the job table."""
        from workloads.logs.clock import LOCAL, LogClock

        source = str(self.configuration.get("input", {}).get("path", "the log"))
        return LogClock(0.0, self.epoch, LOCAL if self.local else "UTC", source)


def add_simulation(parser: argparse.ArgumentParser) -> None:
    """Add the options of reading, preparing, operating the machine and planning."""
    parser.add_argument("input", metavar="INPUT", help="trace (SWF, ALCF, sacct) or job table (CSV, Parquet)")
    add_reading(parser)
    add_preparation(parser)
    add_life(parser)
    machine = parser.add_argument_group("operating the machine")
    machine.add_argument("--order", metavar="NAME", default="fcfs", help="queue order (default fcfs)")
    machine.add_argument("--backfilling", metavar="NAME", default="easy", help="backfilling rule (default easy)")
    machine.add_argument(
        "--tenants",
        metavar="NAME",
        default="any",
        help="queued jobs on idle reserved nodes: any, fits (those that end before the arrival), none (default any)",
    )
    details = parser.add_argument_group("details of scheduling")
    details.add_argument(
        "--backfill-length",
        metavar="{walltime,runtime}",
        default="walltime",
        help="length by which backfilling judges a job: its walltime, or its true runtime (default walltime)",
    )
    details.add_argument(
        "--passes",
        metavar="{instant,event}",
        default="instant",
        help="frequency of scheduling: once per instant, or after each event (default instant)",
    )
    details.add_argument(
        "--engine",
        metavar="{auto,simpy,compiled}",
        default="auto",
        help="simpy: the model; compiled: loops that know rigid jobs under the baseline alone; auto: these where they "
        "give the same results (default auto)",
    )
    details.add_argument(
        "--expansion",
        metavar="NAME",
        default="none",
        help="expansion of running malleable jobs into idle nodes: none, greedy or even (default none)",
    )
    details.add_argument(
        "--malleable-start",
        metavar="{free,requested}",
        default="free",
        help="size at which a malleable job starts: what is free of its requested size, or all of it (default free)",
    )
    details.add_argument(
        "--malleable-resume",
        metavar="{start,former}",
        default="start",
        help="size of a malleable job after a preemption: as at its start, or its former size (default start)",
    )
    details.add_argument(
        "--malleable-head",
        metavar="{minimum,requested}",
        default="minimum",
        help="size for which the first waiting job waits if it is malleable (default minimum)",
    )
    details.add_argument(
        "--arrival-takes",
        metavar="{own,reserved}",
        default="own",
        help="idle reserved nodes for an arriving on-demand job: its own, or all reserved ones (default own)",
    )
    details.add_argument(
        "--shrunk-lenders",
        metavar="{expand,stay}",
        default="expand",
        help="shrunk jobs when the on-demand job ends: expand by what they lent, or stay (default expand)",
    )
    details.add_argument(
        "--preempted-lenders",
        metavar="{resume,hold}",
        default="resume",
        help="nodes returned to a preempted job that cannot resume at once: released, or held for it (default resume)",
    )
    details.add_argument(
        "--warning",
        metavar="TIME",
        default="2m",
        help="time between the preemption of a malleable job and the release of its nodes [s] (default 2m)",
    )
    details.add_argument(
        "--timeout",
        metavar="TIME",
        default="10m",
        help="time for which nodes stay reserved after the estimated arrival [s] (default 10m)",
    )
    planning = parser.add_argument_group("planning stochastic jobs")
    planning.add_argument(
        "--fit", metavar="NAME", default="kernel", help="distribution fitted to the past runs (default kernel)"
    )
    planning.add_argument("--known-runs", metavar="N", default="10", help="completed runs before a plan (default 10)")
    planning.add_argument(
        "--refit-growth",
        metavar="SHARE",
        default="0.2",
        help="growth of the number of completed runs before a new fit (default 0.2)",
    )
    planning.add_argument(
        "--costs", metavar="FILE", help="costs written by 'holdfast fit-costs' (default: reserved time)"
    )
    planning.add_argument(
        "--checkpoint-variation",
        metavar="SHARE",
        default="0",
        help="largest relative deviation of checkpoint and restart times (default 0)",
    )
    planning.add_argument(
        "--checkpoint-mode",
        metavar="{absorbed,strict}",
        default="absorbed",
        help="treatment of a checkpoint that takes longer than planned (default absorbed)",
    )


def options_of(arguments: argparse.Namespace) -> Options:
    """How the machine is operated, and the seed.

    Raises
    ------
    InputError
        If a value is not legal.
    """
    from simulator.options import Options
    from workloads.hybrid.parameters import option_value

    return Options(
        order=arguments.order,
        backfilling=arguments.backfilling,
        backfill_length=arguments.backfill_length,
        passes=arguments.passes,
        tenants=arguments.tenants,
        malleable_start=arguments.malleable_start,
        malleable_resume=arguments.malleable_resume,
        malleable_head=arguments.malleable_head,
        arrival_takes=arguments.arrival_takes,
        shrunk_lenders=arguments.shrunk_lenders,
        preempted_lenders=arguments.preempted_lenders,
        expansion=arguments.expansion,
        warning=option_value(Options, "warning", arguments.warning),
        timeout=option_value(Options, "timeout", arguments.timeout),
        checkpoint_variation=share(arguments.checkpoint_variation, "--checkpoint-variation"),
        checkpoint_mode=arguments.checkpoint_mode,
        seed=whole(arguments.seed, "--seed"),
        engine=arguments.engine,
    )


def simulation_of(arguments: argparse.Namespace, mechanisms: Sequence[str]) -> Simulation:
    """Read and check everything that the arguments name.

    Raises
    ------
    InputError
        If any of it is not usable.
    """
    from experiments.recordings.runfile import LOCAL, UNIT
    from experiments.traces.calendar import zone_of
    from experiments.traces.description import composition, left_out, need_jobs
    from policies.mechanism import BASELINE
    from workloads.ground.errors import TraceError
    from workloads.ground.files import sha256_of
    from workloads.hybrid.assignment import as_rigid, assign
    from workloads.hybrid.imbalance import imbalance
    from workloads.logs.onepool import caveats
    from workloads.logs.readers import read_workload
    from workloads.logs.trace import Trace, epoch_of
    from workloads.table.validation import check_jobs

    assignment, seed = assignment_of(arguments)
    options = options_of(arguments)
    life = life_of(arguments)
    workload = read_workload(arguments.input, **read_options(arguments))
    configuration: dict[str, Any] = {
        "input": {"path": arguments.input, "sha256": sha256_of(arguments.input)},
        "mechanisms": list(mechanisms),
        "options": asdict(options),
    }
    prepared, about, types, lopsided, prior = False, "", "", "", None
    told_caveats, unit = tuple[str, ...](), "nodes"
    jobs: list[Job]
    if isinstance(workload, Trace):
        trace = sized(workload, arguments)
        nodes = machine_of(arguments, trace, arguments.input)
        told_caveats, unit = caveats(trace, nodes), trace.unit
        trace = life.of_trace(trace, nodes)
        if life.starting_state is not None:
            from experiments.forecast.priors import prior_state

            prior = prior_state(trace)
        need_jobs(trace, arguments.input)
        drawn = list(mechanisms) != [BASELINE] or assignment.stochastic_share > 0
        prepared = drawn or bool(life.told)
        jobs, told = life.of_jobs(trace, assign(trace, assignment, seed=seed) if drawn else as_rigid(trace))
        how = told_options({**read_options(arguments), "format": trace.format})
        configuration["input"] |= {**how, "left_out": dict(trace.excluded)}
        if drawn:
            configuration["preparation"] = {"seed": seed, **asdict(assignment)}
        configuration |= life.told
        about = left_out(trace) + told
        types = composition(jobs, trace.unit) if drawn else ""
        lopsided = imbalance(trace, jobs, assignment) if drawn else ""
    else:
        life.refuse_table(arguments.input)
        nodes = machine_of(arguments, None, arguments.input)
        jobs = list(workload.jobs)
        if not jobs:
            raise TraceError(arguments.input, None, "no job is left to simulate: the table has no rows")
        check_jobs(jobs, nodes, where=arguments.input)
        types = composition(jobs)
    configuration["nodes"] = nodes
    if unit != "nodes":
        configuration[UNIT] = unit
    planner, plans = _planning(arguments, jobs, configuration)
    first = min((job.submit for job in jobs if job.submit is not None), default=0.0)
    local = isinstance(workload, Trace) and zone_of(workload.format, workload.header)[1] == LOCAL
    epoch = epoch_of(workload.header if isinstance(workload, Trace) else {}, first)
    return Simulation(
        jobs,
        nodes,
        options,
        planner,
        plans,
        configuration=configuration,
        about=about,
        epoch=epoch,
        local=local,
        prepared=prepared,
        types=types,
        lopsided=lopsided,
        caveats=told_caveats,
        unit=unit,
        prior=prior,
    )


def _planning(
    arguments: argparse.Namespace, jobs: Sequence[Job], configuration: dict[str, Any]
) -> tuple[Planner | None, dict[str, ReservationPlan]]:
    """Planner of stochastic jobs, and the plan files that the table names."""
    from workloads.ground.files import sha256_of
    from workloads.table.job import JobType

    names: dict[str, int] = {}
    for job in jobs:
        if job.type is JobType.STOCHASTIC:
            names.setdefault(job.plan, job.job_id)
    costs = None
    if arguments.costs is not None:
        # Read also where no job is stochastic: a file that is not one is told, not passed over.
        from experiments.planning.costfile import read_costs

        costs = read_costs(arguments.costs, arguments.command)
    if not names:
        return None, {}
    from experiments.planning.laws import read_plans
    from policies.planning.making import parse_strategy
    from policies.planning.planbook import Planner, reserved_time

    for name, job_id in names.items():
        if not name.endswith(".json"):
            try:
                parse_strategy(name)
            except InputError as error:
                raise InputError(f"plan of job {job_id}: {error}") from None
    planner = Planner(
        fit=arguments.fit,
        least=whole(arguments.known_runs, "--known-runs", 1),
        growth=0.0 if arguments.refit_growth.strip() == "0" else number(arguments.refit_growth, "--refit-growth"),
        prices=reserved_time if costs is None else costs.costs_for,
    )
    # The files lie beside the table that names them.
    paths = {name: Path(arguments.input).parent / name for name in sorted(names) if name.endswith(".json")}
    configuration["planner"] = {"fit": planner.fit, "least": planner.least, "growth": planner.growth}
    if costs is not None:
        configuration["planner"]["costs"] = {"path": arguments.costs, "sha256": sha256_of(arguments.costs)}
    configuration["plans"] = {name: sha256_of(path) for name, path in paths.items()}
    return planner, read_plans(paths, arguments.command)
