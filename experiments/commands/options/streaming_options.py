"""Streamed replays on the command line: their requirements and the options that they do not support."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.experiments.commands.options.arguments import choose_machine_size, given_options, read_options
from holdfast.experiments.commands.options.option_variations import Variation
from holdfast.experiments.commands.options.planned_runs import PlannedRun
from holdfast.experiments.commands.options.run_options import LISTED, RunOptions
from holdfast.experiments.commands.options.simulation_options import Simulation
from holdfast.policies.mechanism import BASELINE
from holdfast.workloads.ground.errors import InputError, ParameterError
from holdfast.workloads.ground.parameters import changed_parameters
from holdfast.workloads.ground.wording import count_text

if TYPE_CHECKING:
    from holdfast.experiments.recordings.streamed_jobs import EndedJobs
    from holdfast.simulator import Result
    from holdfast.workloads.table.jobs import Jobs

__all__ = ["long_run", "run_stream"]

#: Number of lines read to recognise a format.
_HEAD = 50
#: Options that a streamed replay supports.
_OPTIONS = frozenset(
    (
        *("input", "output", "json", "force", "stream", "stream_format", "mechanism", "verbose", "warmup", "cooldown"),
        *("nodes", "where", "unit", "format", "procs_per_node", "lenient"),
        *("order", "backfilling", "backfill_length", "passes", "engine"),
    )
)


def long_run(arguments: RunOptions) -> PlannedRun:
    """Prepare a streamed replay of ``holdfast run``.

    Parameters
    ----------
    arguments
        Options of ``holdfast run``.

    Raises
    ------
    InputError
        If an option or the log is not usable.
    """
    from holdfast.experiments.recordings.run_file import UNIT
    from holdfast.experiments.traces.description import describe_reading, need_jobs
    from holdfast.workloads.ground.files import file_sha256
    from holdfast.workloads.hybrid.assignment import as_rigid
    from holdfast.workloads.logs.filters import Choice
    from holdfast.workloads.logs.one_pool import caveats
    from holdfast.workloads.logs.swf import read_long_swf
    from holdfast.workloads.logs.trace import trace_epoch

    _refuse_others(arguments)
    asked = arguments.simulation
    options = asked.operation
    measurement = arguments.measurement.under(options.warning)
    how = read_options(asked.reading)
    _need_swf(asked.input)
    choice = Choice.of(how["where"], how["unit"])
    reading = given_options({**how, "format": "swf"})
    trace = read_long_swf(asked.input, lenient=how["lenient"], procs_per_node=how["procs_per_node"], choice=choice)
    nodes = choose_machine_size(asked.nodes, trace, asked.input)
    about_pool, unit = caveats(trace, nodes), trace.unit
    trace = trace.on_machine(nodes)
    need_jobs(trace, asked.input)
    jobs = as_rigid(trace)
    configuration = {
        "input": {
            "path": asked.input,
            "sha256": file_sha256(asked.input),
            **reading,
            "left_out": dict(trace.excluded),
        },
        "mechanisms": [BASELINE],
        "options": asdict(options),
        "nodes": nodes,
    }
    if unit != "nodes":
        configuration[UNIT] = unit
    epoch = trace_epoch(trace.header, float(jobs.column("submit").min()))
    simulation = Simulation(
        jobs, nodes, options, None, {}, configuration, describe_reading(trace), epoch, caveats=about_pool, unit=unit
    )
    submits = jobs.column("submit")
    measurement = measurement.on(simulation.clock, float(submits.min()), float(submits.max()))
    measurement.window.bounds(jobs.ticks("submit"))
    variation = Variation({}, BASELINE, arguments)
    return PlannedRun(variation, simulation, arguments.outages_on(simulation), measurement)


def _need_swf(path: str) -> None:
    """Refuse a file of another format with a sentence instead of an error about its first line."""
    from holdfast.workloads.ground.files import blocks_of_file
    from holdfast.workloads.logs.readers import READERS

    lines = next(blocks_of_file(path), b"").split(b"\n", _HEAD)[:_HEAD]
    head = b"\n".join(lines).decode("utf-8", "replace")
    name = next((name for name in READERS if READERS[name].recognises(head)), "swf")
    if name != "swf":
        raise InputError(
            f"{path}: --stream reads SWF, and this is a file of the format {name}; leave --stream out, or write it "
            "with 'holdfast prepare FILE -o FILE.swf'"
        )


def _refuse_others(arguments: RunOptions) -> None:
    for name in LISTED:
        words = getattr(arguments.given, name) or ()
        if len(words) > 1:
            option = f"--{name.replace('_', '-')}"
            raise ParameterError(option, "one value with --stream", ",".join(word.text for word in words))
    for item in changed_parameters(arguments):
        if item.name not in _OPTIONS:
            raise InputError(
                f"{item.option} must be left out with --stream, which replays rigid jobs under the baseline"
            )
    if arguments.mechanism not in (None, BASELINE):
        raise ParameterError("--mechanism", f"{BASELINE} with --stream", arguments.mechanism)
    if arguments.simulation.reading.format not in (None, "swf"):
        raise ParameterError("--format", "swf with --stream", arguments.simulation.reading.format)


def run_stream(arguments: RunOptions, planned: PlannedRun, directory: Path) -> tuple[Result, EndedJobs]:
    """Run a streamed replay; returns also the writer of its ended jobs."""
    from holdfast.experiments.output.signals import Interrupted
    from holdfast.experiments.recordings.streamed_jobs import EndedJobs
    from holdfast.experiments.recordings.streamed_replay import stream_identity, streamed_replay
    from holdfast.experiments.sweeps.progress import Bar
    from holdfast.simulator.clock.stream import BATCH_SIZE

    simulation = planned.simulation
    jobs: Jobs = simulation.jobs  # type: ignore[assignment]  # long_run has put them there
    log = {**simulation.configuration["input"], "jobs": len(jobs)}
    del log["path"]
    identity = stream_identity(log, simulation.nodes, simulation.options, BATCH_SIZE, arguments.stream_format)
    ended = EndedJobs(directory, identity, arguments.stream_format, force=arguments.force)
    if ended.kept:
        print(f"{ended.place}: kept: {count_text(ended.kept, 'tables')} of an earlier start")
    try:
        with Bar(len(jobs), [BASELINE]) as bar:
            result = streamed_replay(
                jobs, simulation.nodes, simulation.options, ended, progress=lambda done: bar.advance(BASELINE, done)
            )
    except KeyboardInterrupt as stop:
        raise Interrupted.of(stop, f"jobs that have ended are in {ended.place}; start it again to go on") from None
    return replace(result), ended
