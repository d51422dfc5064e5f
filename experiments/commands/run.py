"""``holdfast run``: replay a trace or a job table."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.commands.asking.aggregate_options import print_aggregates
from experiments.commands.asking.outage_options import OUTAGE_FILE, save_outages, unused_outages_warning
from experiments.commands.asking.run_options import LISTED, RunOptions
from experiments.output.signals import Interrupted
from experiments.terminal import warn

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from experiments.commands.asking.planned_runs import PlannedRun
    from experiments.sweeps.progress import Bar
    from simulator import Result

__all__ = ["LISTED", "Arguments", "main"]

Arguments = RunOptions

#: Job tables, of different seeds for example; their types are printed.
_TABLES = 3


def main(arguments: RunOptions) -> None:
    """Run the command."""
    from experiments.commands.asking.planned_runs import planned_runs
    from experiments.output.directory_checks import RUN, check_fresh
    from experiments.output.locks import writing
    from experiments.recordings.replay import make_directory
    from experiments.sweeps.aggregates import parse_reference

    if arguments.stream:
        from experiments.commands.asking.streaming_options import long_run, run_stream

        planned = [long_run(arguments)]
    else:
        planned = planned_runs(arguments)
    parameters = [{**run.variation.values, "mechanism": run.variation.mechanism} for run in planned]
    against = parse_reference(parameters, arguments.against) if arguments.against else {}
    directory = make_directory(arguments.output)
    with writing(directory):
        check_fresh(directory, RUN, force=arguments.force)
        for text in dict.fromkeys(run.simulation.about for run in planned if run.simulation.about):
            print(text)
        tables = list(dict.fromkeys(run.simulation.types for run in planned if run.simulation.types))
        for text in tables[:_TABLES]:
            print(text)
        if len(tables) > _TABLES:
            print(f"types of {len(tables) - _TABLES:,} further job tables are not shown")
        for text in dict.fromkeys(sentence for run in planned for sentence in run.simulation.caveats):
            warn("run", text)
        for text in dict.fromkeys(run.simulation.lopsided for run in planned if run.simulation.lopsided):
            warn("run", text)
        for text in dict.fromkeys(text for run in planned for text in run.simulation.gaps):
            warn("run", text)
        if arguments.stream:
            result, ended = run_stream(arguments, planned[0], directory)
            _write(arguments, directory, [result], planned, against)
            ended.remove()
            print(f"results are in {directory}")
            return
        results, stop = _simulate_all(arguments, planned, directory)
        _write(arguments, directory, results, planned[: len(results)], against)
    if stop is not None:
        names = ", ".join(result.name for result in results)
        raise Interrupted.of(stop, f"the results of {names} are in {directory}; start it again with --force for all")
    print(f"results are in {directory}")


def _simulate_all(
    arguments: RunOptions, planned: Sequence[PlannedRun], directory: Path
) -> tuple[list[Result], KeyboardInterrupt | None]:
    """The results, and what has interrupted them; an older result is not replaced by a part of a new one."""
    from experiments.recordings.replay import replays
    from experiments.recordings.run_file import holds_run
    from experiments.sweeps.progress import Bar

    results: list[Result] = []
    with Bar(max(len(run.submits) for run in planned), [run.name for run in planned]) as bar:
        try:
            for run in planned:
                simulation = run.simulation
                (result,) = replays(
                    simulation.jobs,
                    simulation.nodes,
                    [run.variation.mechanism],
                    simulation.options,
                    events=arguments.events,
                    progress=partial(_advance, bar, run.name),
                    planner=simulation.planner,
                    plans=simulation.plans,
                    outages=run.asked.outages,
                    failures=run.asked.failures,
                    prior=simulation.prior,
                    on_machine=simulation.on_machine,
                )
                results.append(replace(result, label=run.variation.label, unit=simulation.unit))
        except KeyboardInterrupt as stop:
            if not results or holds_run(directory):
                raise Interrupted.of(stop, f"{directory} holds what it held before; start it again") from None
            return results, stop
    return results, None


def _advance(bar: Bar, name: str, mechanism: str, jobs: int) -> None:
    """Set the number of ended jobs of a run in the progress bar."""
    bar.advance(name, jobs)


def _write(
    arguments: RunOptions,
    directory: Path,
    results: Sequence[Result],
    planned: Sequence[PlannedRun],
    against: Mapping[str, Any],
) -> None:
    """Put the results into the directory, and print what they compare."""
    from experiments.commands.asking.planned_runs import make_manifest
    from experiments.figures.recording.recording_figures import existing_pictures
    from experiments.output.atomic_replace import handover
    from experiments.output.manifest import seal
    from experiments.recordings.replay import write_replay
    from experiments.recordings.run_file import ENGINE, EPOCH, JOB_TABLE, LOCAL, PICTURE_FILES, RUN, ZONE
    from experiments.recordings.summaries import cancellation_comparison, comparison, stochastic_comparison
    from experiments.sweeps.aggregates import aggregate_rows, difference_rows
    from experiments.tables import write_csv
    from workloads.ground.wording import in_unit

    tables = _table_names(planned)
    # Runs that only their mechanisms set apart have no entries of their own.
    engines = {run.name: result.engine for run, result in zip(planned, results, strict=True)}
    alike = planned[0].variation.values or len(set(engines.values())) == 1
    own: dict[str, dict[str, Any]] = {name: {ENGINE: engine if alike else engines} for name, engine in engines.items()}
    for run in planned:
        if arguments.events or (run.simulation.prepared and (len(tables) > 1 or run.simulation.on_machine)):
            own[run.name] |= {JOB_TABLE: tables[run.table], EPOCH: run.simulation.epoch}
        own[run.name] |= {ZONE: LOCAL} if run.simulation.local else {}
    former, drawn = existing_pictures(directory), list[str]()
    unit = planned[0].simulation.unit
    with handover(directory, RUN) as new:
        _write_tables(arguments, planned, tables, new, directory)
        _write_outages(planned, results, new, directory)
        # Without a tolerance of its own the warning of each run decides.
        measurement = planned[0].measurement
        if arguments.measurement.instant_tolerance is None:
            measurement = replace(measurement, instant_tolerance=None)
        values = {run.variation.label: run.variation.values for run in planned}
        summaries = write_replay(
            new, results, measurement, events=arguments.events, values=values, jobs_as=arguments.stream_format
        )
        aggregates = aggregate_rows(summaries) if planned[0].variation.values or against else []
        differences = difference_rows(summaries, against) if against else []
        for name, rows in (("aggregates", aggregates), ("differences", differences)):
            if rows:
                write_csv(new / f"{name}.csv", rows, tuple(rows[0]))
        if arguments.plot:
            from experiments.study.redraw import SHOWN, draw_pictures
            from experiments.timelines.distributions import distribution_rows
            from experiments.timelines.machine_table import machine_rows
            from experiments.timelines.paired_contrasts import contrast_rows

            # Figures are made from tables alone, here as at any later time.
            dated = [
                replace(result, epoch=run.simulation.epoch, zone=LOCAL if run.simulation.local else "UTC")
                for run, result in zip(planned, results, strict=True)
            ]
            drawable = {"machine": machine_rows(dated), "distributions": distribution_rows(results)}
            if len(results) > 1:
                drawable["contrasts"] = contrast_rows(results, measurement.instant_tolerance)
            for name, rows in drawable.items():
                write_csv(new / f"{name}.csv", rows, tuple(rows[0]))
            drawn = [f"{directory / name}.png: {in_unit(SHOWN[name], unit)}" for name in draw_pictures(new, unit)]
        seal(new, RUN, make_manifest(planned, own), PICTURE_FILES)
    for path in former:
        path.unlink(missing_ok=True)
    repeated = "seed" in planned[0].variation.values
    if not repeated:
        print(comparison(summaries, unit=unit, verbose=arguments.verbose))
        if any(result.on_machine is not None or result.pools for result in results):
            from experiments.recordings.machine_tables import machine_text

            print("\n" + machine_text(results))
    summed = aggregates if repeated or arguments.metrics else []
    print_aggregates(summed, differences, arguments.metrics, unit)
    _remark(planned)
    for text in dict.fromkeys(
        unused_outages_warning(run.asked.outages, [result], run.simulation.clock)
        for run, result in zip(planned, results, strict=True)
    ):
        if text:
            warn("run", text)
    if any(result.stochastic for result in results):
        print(f"\n{stochastic_comparison(summaries, unit=unit, verbose=arguments.verbose)}")
    if any(result.withdrawn is not None for result in results):
        print(f"\n{cancellation_comparison(summaries, unit=unit)}")
    if drawn:
        print("\n".join(["", *drawn]))


def _remark(planned: Sequence[PlannedRun]) -> None:
    """Say which jobs the baseline is of, and whether the seeds have decided anything."""
    from policies.mechanism import BASELINE

    configurations = [run.configuration for run in planned]
    if any(run.variation.mechanism == BASELINE for run in planned):
        drawn = "preparation" in configurations[0]
        trace = "format" in configurations[0]["input"]
        jobs = "of the drawn job table" if drawn else "as the trace records them" if trace else "of the job table"
        print(f"baseline: the jobs {jobs}, all rigid, without notices and preemptions")
    if "seed" in planned[0].variation.values and not any(
        "preparation" in configuration or "failures" in configuration or run.simulation.plans or run.simulation.planner
        for run, configuration in zip(planned, configurations, strict=True)
    ):
        warn("run", "the seeds change nothing here: no type, notice or failure is drawn")


def _table_names(planned: Sequence[PlannedRun]) -> dict[str, str]:
    """The file of each job table, by what sets the table apart."""
    from experiments.output.filenames import table_name

    parts = dict.fromkeys(run.table for run in planned)
    return {part: "jobs.csv" if len(parts) == 1 else table_name("table", part) for part in parts}


def _write_tables(
    arguments: RunOptions, planned: Sequence[PlannedRun], tables: dict[str, str], new: Path, directory: Path
) -> None:
    """Write the job tables, so that what was simulated can be read, compared, and given to another simulator."""
    from workloads.table.job_table import write_job_table

    for run in {run.table: run for run in planned}.values():
        # An input that lies there stays as it is.
        own = (directory / tables[run.table]).resolve() == Path(arguments.simulation.input).resolve()
        if (run.simulation.prepared or arguments.events) and not own:
            write_job_table(run.simulation.jobs, new / tables[run.table])
        workload = run.simulation.on_machine
        if workload is not None:
            from experiments.recordings.allocations import machine_file_name
            from workloads.machines.machine_file import write_machine

            write_machine(workload.machine, new / machine_file_name(tables[run.table]))


def _write_outages(planned: Sequence[PlannedRun], results: Sequence[Result], new: Path, directory: Path) -> None:
    """Write the outages: one file where all runs have the same, else one for each run that has any."""
    from experiments.output.filenames import table_name

    first = planned[0]
    same = all((run.asked, run.simulation.nodes) == (first.asked, first.simulation.nodes) for run in planned)
    if same and first.asked.configuration:
        save_outages(results, new, directory, first.variation.arguments.outages.outages)
    elif not same:
        for run, result in zip(planned, results, strict=True):
            if run.asked.configuration:
                name = table_name(Path(OUTAGE_FILE).stem, run.name)
                save_outages([result], new, directory, run.variation.arguments.outages.outages, name)
