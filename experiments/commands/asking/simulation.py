"""A simulation as the command line asks for it: input, preparation, machine and planner, all checked before it runs."""

from __future__ import annotations

import argparse
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
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
    whole,
)
from experiments.commands.asking.life import add_life, life_of
from policies.mechanism import BASELINE
from workloads.ground.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from policies.planning.plan import ReservationPlan
    from policies.planning.planbook import Planner
    from simulator.options import Options
    from workloads.table.job import Job

__all__ = ["Simulation", "add_simulation", "simulation_of"]


@dataclass(frozen=True)
class Simulation:
    """What is to be simulated.

    Attributes
    ----------
    jobs, nodes, options
        As :func:`simulator.simulation.simulate` takes them.
    planner, plans
        Of stochastic jobs; None where there are none.
    configuration
        All of it, as ``run.json`` tells it.
    about
        What is to be said of the input.
    epoch
        Seconds since 1970 at which the clock of the jobs stands at 0; None: not known.
    prepared
        Whether more was made of a trace than it says of its jobs, so that their table should be kept.
    lopsided
        What is to be said where one draw has decided what the workload is; empty: nothing.
    """

    jobs: Sequence[Job]
    nodes: int
    options: Options
    planner: Planner | None
    plans: Mapping[str, ReservationPlan]
    configuration: dict[str, Any] = field(default_factory=dict)
    about: str = ""
    epoch: float | None = None
    prepared: bool = False
    lopsided: str = ""


def add_simulation(parser: argparse.ArgumentParser) -> None:
    """Arguments of reading, preparing, operating the machine and planning."""
    parser.add_argument("input", metavar="INPUT", help="a trace (SWF, ALCF, sacct) or a job table (CSV, Parquet)")
    add_reading(parser)
    add_preparation(parser)
    add_life(parser)
    machine = parser.add_argument_group("operating the machine")
    machine.add_argument("--order", metavar="NAME", default="fcfs", help="queue order (default fcfs)")
    machine.add_argument("--backfilling", metavar="NAME", default="easy", help="backfilling rule (default easy)")
    machine.add_argument(
        "--backfill-length",
        metavar="WHAT",
        default="walltime",
        help="judge candidates by walltime or (true) runtime",
    )
    machine.add_argument("--passes", metavar="WHEN", default="instant", help="a pass per instant (default) or event")
    machine.add_argument("--tenants", metavar="WHO", default="any", help="on idle reserved nodes: any, fits, none")
    machine.add_argument(
        "--expansion", metavar="WHO", default="none", help="running malleable jobs into idle nodes: none, greedy, even"
    )
    planning = parser.add_argument_group("planning stochastic jobs")
    planning.add_argument("--fit", metavar="HOW", default="kernel", help="of their laws (default kernel)")
    planning.add_argument("--known-runs", metavar="K", default="10", help="completed runs that a plan needs (10)")
    planning.add_argument("--refit-growth", metavar="P", default="0.2", help="more runs for a new plan (0.2: 20 %%)")
    planning.add_argument("--costs", metavar="FILE", help="prices of 'holdfast fit-costs' (default: reserved time)")
    planning.add_argument(
        "--checkpoint-variation", metavar="P", default="0", help="checkpoints and restarts take +- that share (0)"
    )
    planning.add_argument("--checkpoint-mode", metavar="MODE", default="absorbed", help="absorbed (default) or strict")


def simulation_of(arguments: argparse.Namespace, mechanisms: Sequence[str]) -> Simulation:
    """Read and check everything that the arguments name.

    Raises
    ------
    InputError
        If any of it is not usable.
    """
    from experiments.traces.description import left_out, need_jobs
    from simulator.options import Options
    from workloads.ground.errors import TraceError
    from workloads.ground.files import sha256_of
    from workloads.hybrid.assignment import as_rigid, assign
    from workloads.hybrid.imbalance import imbalance
    from workloads.logs.readers import read_workload
    from workloads.logs.trace import Trace, epoch_of
    from workloads.table.validation import check_jobs

    assignment, seed = assignment_of(arguments)
    options = Options(
        order=arguments.order,
        backfilling=arguments.backfilling,
        backfill_length=arguments.backfill_length,
        passes=arguments.passes,
        tenants=arguments.tenants,
        expansion=arguments.expansion,
        checkpoint_variation=share(arguments.checkpoint_variation, "--checkpoint-variation"),
        checkpoint_mode=arguments.checkpoint_mode,
        seed=seed,
    )
    life = life_of(arguments)
    workload = read_workload(arguments.input, **read_options(arguments))
    configuration: dict[str, Any] = {
        "holdfast": version("holdfast"),
        "input": {"path": arguments.input, "sha256": sha256_of(arguments.input)},
        "mechanisms": list(mechanisms),
        "options": asdict(options),
    }
    prepared, about, lopsided = False, "", ""
    jobs: list[Job]
    if isinstance(workload, Trace):
        nodes = machine_of(arguments, workload, arguments.input)
        trace = life.of_trace(workload, nodes)
        need_jobs(trace, arguments.input)
        drawn = list(mechanisms) != [BASELINE] or assignment.stochastic_share > 0
        prepared = drawn or bool(life.told)
        jobs, told = life.of_jobs(trace, assign(trace, assignment, seed=seed) if drawn else as_rigid(trace))
        how = {**read_options(arguments), "format": trace.format}
        configuration["input"] |= {**how, "left_out": dict(trace.excluded)}
        if drawn:
            configuration["preparation"] = {"seed": seed, **asdict(assignment)}
        configuration |= life.told
        about = left_out(trace) + told
        lopsided = imbalance(trace, jobs, assignment) if drawn else ""
    else:
        life.refuse_table(arguments.input)
        nodes = machine_of(arguments, None, arguments.input)
        jobs = list(workload.jobs)
        if not jobs:
            raise TraceError(arguments.input, None, "no job is left to simulate: the table has no row")
        check_jobs(jobs, nodes, where=arguments.input)
    configuration["nodes"] = nodes
    planner, plans = _planning(arguments, jobs, configuration)
    first = min((job.submit for job in jobs if job.submit is not None), default=0.0)
    epoch = epoch_of(workload.header if isinstance(workload, Trace) else {}, first)
    return Simulation(jobs, nodes, options, planner, plans, configuration, about, epoch, prepared, lopsided)


def _planning(
    arguments: argparse.Namespace, jobs: Sequence[Job], configuration: dict[str, Any]
) -> tuple[Planner | None, dict[str, ReservationPlan]]:
    """How stochastic jobs are planned, and the plans that the table names by their files."""
    from workloads.ground.files import sha256_of
    from workloads.table.job import JobType

    names: dict[str, int] = {}
    for job in jobs:
        if job.type is JobType.STOCHASTIC:
            names.setdefault(job.plan, job.job_id)
    if not names:
        return None, {}
    from experiments.planning.costfile import read_costs
    from experiments.planning.laws import read_plan
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
        prices=reserved_time if arguments.costs is None else read_costs(arguments.costs).costs_for,
    )
    # The files lie beside the table that names them.
    paths = {name: Path(arguments.input).parent / name for name in sorted(names) if name.endswith(".json")}
    configuration["planner"] = {"fit": planner.fit, "least": planner.least, "growth": planner.growth}
    if arguments.costs is not None:
        configuration["planner"]["costs"] = {"path": arguments.costs, "sha256": sha256_of(arguments.costs)}
    configuration["plans"] = {name: sha256_of(path) for name, path in paths.items()}
    return planner, {name: read_plan(path) for name, path in paths.items()}
