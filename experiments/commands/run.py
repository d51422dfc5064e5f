"""``holdfast run``: replay a trace or a job table."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from experiments.arguments import add_preparation, add_reading, assignment_of, duration, machine_of, read_options
from policies.mechanism import BASELINE

__all__ = ["add_arguments", "main"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("input", metavar="INPUT", help="a trace (SWF, ALCF, sacct) or a job table (CSV, Parquet)")
    parser.add_argument("-o", "--output", metavar="DIR", required=True, help="directory of the results")
    parser.add_argument(
        "--mechanism",
        metavar="M",
        default="all",
        help="baseline, N-PAA, N-SPAA, CUA-PAA, CUA-SPAA, CUP-PAA, CUP-SPAA, several by commas, or all (default)",
    )
    add_reading(parser)
    add_preparation(parser)
    machine = parser.add_argument_group("operating the machine")
    machine.add_argument("--order", metavar="NAME", default="fcfs", help="queue order (default fcfs)")
    machine.add_argument(
        "--backfill-length",
        metavar="WHAT",
        default="walltime",
        help="judge candidates by walltime or (true) runtime",
    )
    machine.add_argument("--passes", metavar="WHEN", default="instant", help="a pass per instant (default) or event")
    machine.add_argument("--tenants", metavar="WHO", default="any", help="on idle reserved nodes: any, fits, none")
    measuring = parser.add_argument_group("measuring")
    measuring.add_argument(
        "--instant-tolerance", metavar="TIME", default="120", help="delay that is still an instant start (default 120)"
    )
    measuring.add_argument("--warmup", metavar="TIME", default="0", help="left out after the first submit")
    measuring.add_argument("--cooldown", metavar="TIME", default="0", help="left out before the last submit")
    measuring.add_argument("--events", action="store_true", help="write the event logs")
    measuring.add_argument("--plot", action="store_true", help="draw the figures")


def main(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from experiments.progress import Bar
    from experiments.replay import Measurement, make_directory, parse_mechanisms, replay, write_replay
    from experiments.tables import comparison
    from experiments.traces import left_out
    from simulator.options import Options
    from workloads.files import sha256_of
    from workloads.readers import read_workload
    from workloads.trace import Trace
    from workloads.units import to_ticks
    from workloads.validation import check_jobs

    mechanisms = parse_mechanisms(arguments.mechanism)
    options = Options(
        order=arguments.order,
        backfill_length=arguments.backfill_length,
        passes=arguments.passes,
        tenants=arguments.tenants,
    )
    measurement = Measurement(
        instant_tolerance=duration(arguments.instant_tolerance, "--instant-tolerance"),
        warmup=duration(arguments.warmup, "--warmup"),
        cooldown=duration(arguments.cooldown, "--cooldown"),
    )
    assignment, seed = assignment_of(arguments)
    workload = read_workload(arguments.input, **read_options(arguments))
    configuration: dict[str, Any] = {
        "holdfast": version("holdfast"),
        "input": {"path": arguments.input, "sha256": sha256_of(arguments.input)},
        "mechanisms": mechanisms,
        "options": asdict(options),
        "measurement": asdict(measurement),
    }
    if isinstance(workload, Trace):
        nodes = machine_of(arguments, workload, arguments.input)
        trace = workload.on_machine(nodes)
        jobs = _prepared(trace, mechanisms, assignment, seed)
        how = {**read_options(arguments), "format": trace.format}
        configuration["input"] |= {**how, "left_out": dict(trace.excluded)}
        if mechanisms != [BASELINE]:
            configuration["preparation"] = {"seed": seed, **asdict(assignment)}
        print(left_out(trace))
    else:
        nodes = machine_of(arguments, None, arguments.input)
        jobs = list(workload.jobs)
        check_jobs(jobs, nodes, where=arguments.input)
    configuration["nodes"] = nodes
    submits = [to_ticks(job.submit) for job in jobs if job.submit is not None]
    if submits:
        measurement.window.bounds(submits)
    directory = make_directory(arguments.output)

    with Bar(len(submits), mechanisms) as bar:
        results = replay(jobs, nodes, mechanisms, options, events=arguments.events, progress=bar.ended)
    if isinstance(workload, Trace) and mechanisms != [BASELINE]:
        from workloads.jobtable import write_job_table

        # Beside the results, so that what was simulated can be read, diffed, and fed to another simulator.
        write_job_table(jobs, directory / "jobs.csv")
    summaries = write_replay(directory, results, measurement, configuration, events=arguments.events)
    print(comparison(summaries))
    if arguments.plot:
        _draw(directory, results, summaries)
    print(f"results are in {directory}")


def _prepared(trace: Any, mechanisms: list[str], assignment: Any, seed: int) -> list[Any]:
    """The job table of a trace: as it is for the baseline alone, else with types and notices."""
    from workloads.assignment import as_rigid, assign

    return as_rigid(trace) if mechanisms == [BASELINE] else assign(trace, assignment, seed=seed)


def _draw(directory: Path, results: list[Any], summaries: list[dict[str, Any]]) -> None:
    from experiments.figures.machine import plot_accounting, plot_machine
    from experiments.figures.mechanisms import plot_mechanisms
    from experiments.figures.style import save

    save(plot_mechanisms(summaries), directory / "mechanisms")
    save(plot_machine(results), directory / "machine")
    save(plot_accounting(results), directory / "accounting")
