"""``holdfast run``: replay a trace or a job table."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from holdfast.experiments.commands.options.aggregate_options import print_aggregates
from holdfast.experiments.commands.options.outage_options import unused_outages_warning
from holdfast.experiments.commands.options.run_options import LISTED, RunOptions
from holdfast.experiments.output.signals import Interrupted
from holdfast.experiments.terminal import fill, printed_text, warn
from holdfast.workloads.ground.wording import count_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from holdfast.experiments.commands.options.planned_runs import PlannedRun
    from holdfast.experiments.commands.options.run_storage import RunAnswer
    from holdfast.experiments.sweeps.progress import Bar
    from holdfast.simulator import Result

__all__ = ["LISTED", "Arguments", "main"]

Arguments = RunOptions

#: Job tables, of different seeds for example; their types are printed.
_TABLES = 3


def main(arguments: RunOptions) -> None:
    """Run the command."""
    from holdfast.experiments.commands.options.arguments import check_outputs

    check_outputs(arguments.json, None)
    with printed_text(arguments.json):
        answer = _run(arguments)
    if arguments.json is not None:
        from holdfast.experiments.output.json_files import write_json

        write_json(arguments.json, answer.document())


def _run(arguments: RunOptions) -> RunAnswer:
    """Carry out the runs, store them if a directory is given, and print their tables."""
    from holdfast.experiments.commands.options.planned_runs import planned_runs
    from holdfast.experiments.commands.options.run_storage import RunAnswer
    from holdfast.experiments.output.directory_checks import RUN, check_fresh
    from holdfast.experiments.output.output_directory import output_directory

    _need_directory(arguments)
    if arguments.stream:
        from holdfast.experiments.commands.options.streaming_options import long_run, run_stream

        planned = [long_run(arguments)]
    else:
        planned = planned_runs(arguments)
    against: Mapping[str, Any] = {}
    if arguments.against:
        from holdfast.experiments.sweeps.aggregates import parse_reference

        parameters = [{**run.variation.values, "mechanism": run.variation.mechanism} for run in planned]
        against = parse_reference(parameters, arguments.against)
    if arguments.output is None:
        _announce(planned)
        results, _ = _simulate_all(arguments, planned, None)
        answer = RunAnswer.of(arguments, results, planned, against)
        _print_answer(arguments, answer, [])
        return answer
    with output_directory(arguments.output) as directory:
        check_fresh(directory, RUN, force=arguments.force)
        _announce(planned)
        if arguments.stream:
            result, ended = run_stream(arguments, planned[0], directory)
            answer, stop = RunAnswer.of(arguments, [result], planned, against), None
            _store_and_print(arguments, directory, answer)
            ended.remove()
        else:
            results, stop = _simulate_all(arguments, planned, directory)
            answer = RunAnswer.of(arguments, results, planned[: len(results)], against)
            _store_and_print(arguments, directory, answer)
    if stop is not None:
        names = ", ".join(result.name for result in answer.results)
        raise Interrupted.of(stop, f"the results of {names} are in {directory}; start it again with --force for all")
    print(f"results are in {directory}")
    return answer


def _need_directory(arguments: RunOptions) -> None:
    """Refuse options that only write files, without a directory."""
    from holdfast.workloads.ground.errors import InputError

    for option in ("stream", "events", "plot"):
        if arguments.output is None and getattr(arguments, option):
            raise InputError(f"--{option} writes files: name their directory with -o DIR")


def _announce(planned: Sequence[PlannedRun]) -> None:
    """Print what the inputs are, and warnings about them."""
    for text in dict.fromkeys(run.simulation.about for run in planned if run.simulation.about):
        print(text)
    tables = {run.table: run.simulation.types for run in planned if run.simulation.types}
    varying = len(set(tables.values())) > 1
    for name, text in list(tables.items())[: _TABLES if varying else 1]:
        print(fill(f"{name}, {text}" if varying else text, rest="  "))
    if varying and len(tables) > _TABLES:
        print(f"types of {len(tables) - _TABLES:,} further job tables are not shown")
    for text in dict.fromkeys(sentence for run in planned for sentence in run.simulation.caveats):
        warn("run", text)
    for text in dict.fromkeys(run.simulation.lopsided for run in planned if run.simulation.lopsided):
        warn("run", text)
    for text in dict.fromkeys(text for run in planned for text in run.simulation.gaps):
        warn("run", text)


def _simulate_all(
    arguments: RunOptions, planned: Sequence[PlannedRun], directory: Path | None
) -> tuple[list[Result], KeyboardInterrupt | None]:
    """The results, and what has interrupted them; an older result is not replaced by a part of a new one."""
    from holdfast.experiments.recordings.replay import replays
    from holdfast.experiments.recordings.run_file import holds_run
    from holdfast.experiments.sweeps.progress import Bar

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
            if directory is None:
                raise
            if not results or holds_run(directory):
                raise Interrupted.of(stop, f"{directory} holds what it held before; start it again") from None
            return results, stop
    return results, None


def _advance(bar: Bar, name: str, mechanism: str, jobs: int) -> None:
    """Set the number of ended jobs of a run in the progress bar."""
    bar.advance(name, jobs)


def _store_and_print(arguments: RunOptions, directory: Path, answer: RunAnswer) -> None:
    """Put the results into the directory, and print what they compare."""
    from holdfast.experiments.commands.options.run_storage import store_run

    _print_answer(arguments, answer, store_run(arguments, directory, answer))


def _print_answer(arguments: RunOptions, answer: RunAnswer, drawn: Sequence[str]) -> None:
    """Print the tables of the results, remarks on them, and the figures that were drawn."""
    from holdfast.experiments.recordings.answer_sentences import best_run_sentence
    from holdfast.experiments.recordings.summaries import cancellation_comparison, comparison, stochastic_comparison

    results, planned, unit = answer.results, answer.planned, answer.unit
    repeated = "seed" in planned[0].variation.values
    if not repeated:
        answer_sentence = best_run_sentence(answer.summaries)
        if answer_sentence:
            print(answer_sentence)
        print(comparison(answer.summaries, unit=unit, verbose=arguments.verbose))
        if any(result.on_machine is not None or result.pools for result in results):
            from holdfast.experiments.recordings.machine_tables import machine_text

            text = machine_text(results, answer.measurement.window)
            if text:
                print("\n" + text)
    summed = answer.aggregates if repeated or arguments.metrics else []
    print_aggregates(summed, answer.differences, arguments.metrics, unit)
    _remark(planned)
    about_window = _window_line(answer)
    if about_window:
        print(about_window)
    if any(result.on_machine is not None for result in results):
        from holdfast.experiments.recordings.machine_tables import blocked_jobs_warning

        for result in results:
            text = blocked_jobs_warning(result)
            if text:
                warn("run", text)
    for text in dict.fromkeys(
        unused_outages_warning(run.asked.outages, [result], run.simulation.clock)
        for run, result in zip(planned, results, strict=True)
    ):
        if text:
            warn("run", text)
    if any(result.stochastic for result in results):
        print(f"\n{stochastic_comparison(answer.summaries, unit=unit, verbose=arguments.verbose)}")
    if any(result.withdrawn is not None for result in results):
        print(f"\n{cancellation_comparison(answer.summaries, unit=unit)}")
    if drawn:
        print("\n".join(["", *drawn]))


def _window_line(answer: RunAnswer) -> str:
    """How many jobs the metrics are of, where a warmup, a cooldown or a starting state leaves some out; else empty."""
    if answer.measurement.window == (0.0, 0.0) and all(result.begin is None for result in answer.results):
        return ""
    counts = [int(row["jobs"]) for row in answer.summaries]
    jobs = f"{min(counts):,} to " * (min(counts) < max(counts)) + count_text(max(counts), "jobs")
    text = f"measured: {jobs}, without those of a warmup, of a cooldown, or submitted before a starting state"
    if answer.measurement.window == (0.0, 0.0):
        return text
    return f"{text}\nnode-hours by use, and the use of partitions and resources, are those of the whole run"


def _remark(planned: Sequence[PlannedRun]) -> None:
    """Say which jobs the baseline is of, and whether the seeds have decided anything."""
    from holdfast.policies.mechanism import BASELINE

    configurations = [run.configuration for run in planned]
    if any(run.variation.mechanism == BASELINE for run in planned):
        trace = "format" in configurations[0]["input"]
        jobs = "as the trace records them" if trace else "of the job table"
        if "preparation" in configurations[0]:
            recorded = configurations[0]["preparation"].get("types")
            jobs = f"of the {'recorded' if recorded else 'drawn'} job table"
        print(f"baseline: the jobs {jobs}, all rigid, without notices and preemptions")
    if "seed" in planned[0].variation.values and not any(
        "preparation" in configuration or "failures" in configuration or run.simulation.plans or run.simulation.planner
        for run, configuration in zip(planned, configurations, strict=True)
    ):
        warn("run", "the seeds change nothing here: no type, notice or failure is drawn")
    idle = [run for run in planned if run.variation.mechanism != BASELINE and not _has_on_demand_jobs(run)]
    if idle:
        warn("run", f"no job is on-demand: {idle[0].name} has nothing to do; 'holdfast prepare' draws types")


def _has_on_demand_jobs(run: PlannedRun) -> bool:
    from holdfast.workloads.table.job import JobType
    from holdfast.workloads.table.jobs import Jobs

    return bool(Jobs.of(run.simulation.jobs).are(JobType.ON_DEMAND).any())
