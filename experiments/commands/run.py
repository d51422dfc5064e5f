"""``holdfast run``: replay a trace or a job table."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from experiments.arguments import duration
from experiments.outages import add_outages, outages_of, write_happened
from experiments.simulation import add_simulation, simulation_of

__all__ = ["add_arguments", "main"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("-o", "--output", metavar="DIR", required=True, help="directory of the results")
    parser.add_argument(
        "--mechanism",
        metavar="M",
        default="all",
        help="baseline, N-PAA, N-SPAA, CUA-PAA, CUA-SPAA, CUP-PAA, CUP-SPAA, several by commas, or all (default)",
    )
    add_simulation(parser)
    add_outages(parser)
    measuring = parser.add_argument_group("measuring")
    measuring.add_argument(
        "--instant-tolerance", metavar="TIME", help="delay that is still an instant start (default: the warning, 120 s)"
    )
    measuring.add_argument("--warmup", metavar="TIME", default="0", help="left out after the first submit")
    measuring.add_argument("--cooldown", metavar="TIME", default="0", help="left out before the last submit")
    measuring.add_argument("--events", action="store_true", help="write the event logs")
    measuring.add_argument("--plot", action="store_true", help="draw the figures")


def main(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from experiments.archive import EPOCH, JOB_TABLE
    from experiments.progress import Bar
    from experiments.replay import Measurement, make_directory, parse_mechanisms, replay, write_replay
    from experiments.tables import cancellation_comparison, comparison, stochastic_comparison, write_csv
    from workloads.joblife import beginning_of
    from workloads.jobtable import write_job_table
    from workloads.outages import check_outages
    from workloads.units import to_ticks

    mechanisms = parse_mechanisms(arguments.mechanism)
    measurement = Measurement(
        instant_tolerance=None
        if arguments.instant_tolerance is None
        else duration(arguments.instant_tolerance, "--instant-tolerance"),
        warmup=duration(arguments.warmup, "--warmup"),
        cooldown=duration(arguments.cooldown, "--cooldown"),
    )
    simulation = simulation_of(arguments, mechanisms)
    measurement = measurement.under(simulation.options.warning)
    asked = outages_of(arguments, simulation.nodes)
    check_outages(asked.outages, simulation.nodes, simulation.jobs)
    if simulation.about:
        print(simulation.about)
    submits = [to_ticks(job.submit) for job in simulation.jobs if job.submit is not None]
    begin = beginning_of(simulation.jobs)
    if submits and (begin is None or max(submits) >= to_ticks(begin)):
        measurement.window.bounds(submits, None if begin is None else to_ticks(begin))
    directory = make_directory(arguments.output)

    with Bar(len(submits), mechanisms) as bar:
        results = replay(
            simulation.jobs,
            simulation.nodes,
            mechanisms,
            simulation.options,
            events=arguments.events,
            progress=bar.ended,
            planner=simulation.planner,
            plans=simulation.plans,
            outages=asked.outages,
            failures=asked.failures,
        )
    configuration = {**simulation.configuration, **asked.configuration, "measurement": asdict(measurement)}
    table = directory / "jobs.csv"
    if arguments.events:
        configuration[JOB_TABLE] = table.name
        configuration[EPOCH] = simulation.epoch
    # Beside the results, so that what was simulated can be read, diffed, and fed to another simulator; an input that
    # lies there stays as it is.
    if (simulation.prepared or arguments.events) and table.resolve() != Path(arguments.input).resolve():
        write_job_table(simulation.jobs, table)
    if asked.configuration:
        write_happened(results, directory, arguments.outages)
    summaries = write_replay(directory, results, measurement, configuration, events=arguments.events)
    print(comparison(summaries))
    if any(result.stochastic for result in results):
        print(f"\n{stochastic_comparison(summaries)}")
    if any(result.withdrawn is not None for result in results):
        print(f"\n{cancellation_comparison(summaries)}")
    # That of an earlier run in this directory would be drawn beside the tables of this one.
    (directory / "machine.csv").unlink(missing_ok=True)
    if arguments.plot:
        from experiments.courses import MACHINE_COLUMNS, machine_rows
        from experiments.redraw import draw_pictures

        # Figures are made from tables alone, here as at any later time.
        write_csv(directory / "machine.csv", machine_rows(results), MACHINE_COLUMNS)
        draw_pictures(directory)
    print(f"results are in {directory}")
