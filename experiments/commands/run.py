"""``holdfast run``: replay a trace or a job table."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.commands.asking.arguments import duration
from experiments.commands.asking.outages import AskedOutages, add_outages, outages_of, untouched, write_happened
from experiments.commands.asking.simulation import add_simulation
from experiments.output.signals import Interrupted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from experiments.commands.asking.simulation import Simulation
    from experiments.recordings.replay import Measurement
    from simulator import Result

__all__ = ["add_arguments", "main"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("-o", "--output", metavar="DIR", required=True, help="directory of the results")
    parser.add_argument(
        "--mechanism",
        metavar="NAME",
        default="all",
        help="mechanisms, separated by commas: baseline, NOTICE-ARRIVAL with a notice strategy N (none), CUA (collect "
        "until arrival) or CUP (collect until predicted) and an arrival strategy PAA (preempt at arrival) or SPAA "
        "(shrink, then preempt at arrival), or all (default all)",
    )
    add_simulation(parser)
    add_outages(parser)
    measuring = parser.add_argument_group("measuring")
    measuring.add_argument(
        "--instant-tolerance",
        metavar="TIME",
        help="longest delay that counts as an instant start [s] (default: the warning, 120)",
    )
    measuring.add_argument(
        "--warmup", metavar="TIME", default="0", help="time after the first submit to leave out [s] (default 0)"
    )
    measuring.add_argument(
        "--cooldown", metavar="TIME", default="0", help="time before the last submit to leave out [s] (default 0)"
    )
    measuring.add_argument(
        "--events", action="store_true", help="write the event logs, which explain, export, gantt and picture need"
    )
    measuring.add_argument("--plot", action="store_true", help="draw the figures")
    measuring.add_argument(
        "--verbose", action="store_true", help="print wall-clock times of decisions, planning and the simulation, too"
    )


def main(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from experiments.commands.asking.simulation import simulation_of
    from experiments.output.locks import writing
    from experiments.recordings.replay import Measurement, make_directory, parse_mechanisms
    from workloads.ground.units import to_ticks
    from workloads.outages.outage import check_outages
    from workloads.table.joblife import beginning_of

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
    if simulation.lopsided:
        print(f"holdfast run: {simulation.lopsided}", file=sys.stderr)
    submits = [to_ticks(job.submit) for job in simulation.jobs if job.submit is not None]
    begin = beginning_of(simulation.jobs)
    if submits and (begin is None or max(submits) >= to_ticks(begin)):
        measurement.window.bounds(submits, None if begin is None else to_ticks(begin))
    directory = make_directory(arguments.output)
    with writing(directory):
        results, stop = _simulated(arguments, mechanisms, simulation, asked, len(submits), directory)
        _write(arguments, directory, results, simulation, asked, measurement)
    if stop is not None:
        names = ", ".join(result.mechanism for result in results)
        raise Interrupted.of(stop, f"the results of {names} are in {directory}; start it again for the others")
    print(f"results are in {directory}")


def _simulated(
    arguments: argparse.Namespace,
    mechanisms: Sequence[str],
    simulation: Simulation,
    asked: AskedOutages,
    submits: int,
    directory: Path,
) -> tuple[list[Result], KeyboardInterrupt | None]:
    """The results, and what has interrupted them; an older result is not replaced by a part of a new one."""
    from experiments.recordings.replay import replays
    from experiments.recordings.runfile import holds_run
    from experiments.sweeps.progress import Bar

    results: list[Result] = []
    with Bar(submits, mechanisms) as bar:
        try:
            for result in replays(
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
            ):
                results.append(result)  # noqa: PERF402  # one by one, so that those before an interruption are kept
        except KeyboardInterrupt as stop:
            if not results or holds_run(directory):
                raise Interrupted.of(stop, f"{directory} holds what it held before; start it again") from None
            return results, stop
    return results, None


def _write(
    arguments: argparse.Namespace,
    directory: Path,
    results: Sequence[Result],
    simulation: Simulation,
    asked: AskedOutages,
    measurement: Measurement,
) -> None:
    """Put the results into the directory, and print what they compare."""
    from experiments.output.handover import handover
    from experiments.output.seals import seal
    from experiments.recordings.replay import write_replay
    from experiments.recordings.runfile import EPOCH, JOB_TABLE, PICTURE_FILES, RUN
    from experiments.recordings.summaries import cancellation_comparison, comparison, stochastic_comparison
    from experiments.tables import write_csv
    from workloads.table.jobtable import write_job_table

    configuration = {**simulation.configuration, **asked.configuration, "measurement": asdict(measurement)}
    configuration["mechanisms"] = [result.mechanism for result in results]
    if arguments.events:
        configuration[JOB_TABLE] = "jobs.csv"
        configuration[EPOCH] = simulation.epoch
    with handover(directory, RUN) as new:
        # Beside the results, so that what was simulated can be read, diffed, and fed to another simulator; an input
        # that lies there stays as it is.
        own = (directory / "jobs.csv").resolve() == Path(arguments.input).resolve()
        if (simulation.prepared or arguments.events) and not own:
            write_job_table(simulation.jobs, new / "jobs.csv")
        if asked.configuration:
            write_happened(results, new, directory, arguments.outages)
        summaries = write_replay(new, results, measurement, events=arguments.events)
        if arguments.plot:
            from experiments.study.redraw import draw_pictures
            from experiments.timelines.machinetable import MACHINE_COLUMNS, machine_rows

            # Figures are made from tables alone, here as at any later time.
            write_csv(new / "machine.csv", machine_rows(results), MACHINE_COLUMNS)
            draw_pictures(new)
        seal(new, RUN, configuration, PICTURE_FILES)
    print(comparison(summaries, verbose=arguments.verbose))
    apart = untouched(asked.outages, results)
    if apart:
        print(f"holdfast run: {apart}", file=sys.stderr)
    if any(result.stochastic for result in results):
        print(f"\n{stochastic_comparison(summaries, verbose=arguments.verbose)}")
    if any(result.withdrawn is not None for result in results):
        print(f"\n{cancellation_comparison(summaries)}")
