"""Streamed replays on the command line: what they need, and what they have no room for."""

from __future__ import annotations

import argparse
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.commands.asking.arguments import duration, machine_of, read_options, told_options
from experiments.commands.asking.outages import outages_of
from experiments.commands.asking.planned import PlannedRun
from experiments.commands.asking.simulation import Simulation, options_of
from experiments.commands.asking.variations import Variation
from experiments.recordings.replay import Measurement
from policies.mechanism import BASELINE
from workloads.ground.errors import InputError, ParameterError

if TYPE_CHECKING:
    from experiments.recordings.longjobs import EndedJobs
    from simulator import Result
    from workloads.table.rigidcolumns import RigidColumns

__all__ = ["long_run", "streamed"]

#: Lines by which a format is recognised.
_HEAD = 50
#: The options that a streamed replay has.
_OPTIONS = frozenset(
    (
        *("input", "output", "force", "stream", "stream_format", "mechanism", "verbose", "warmup", "cooldown"),
        *("nodes", "where", "unit", "format", "procs_per_node", "lenient"),
        *("order", "backfilling", "backfill_length", "passes", "engine"),
    )
)


def long_run(arguments: argparse.Namespace, parser: argparse.ArgumentParser) -> PlannedRun:
    """The streamed replay that the arguments of ``holdfast run`` ask for.

    Parameters
    ----------
    arguments
        Of ``holdfast run``.
    parser
        With these arguments and their defaults.

    Raises
    ------
    InputError
        If an option or the log is not usable.
    """
    from experiments.recordings.longjobs import FORMATS
    from experiments.recordings.runfile import UNIT
    from experiments.traces.description import left_out, need_jobs
    from workloads.ground.files import sha256_of
    from workloads.hybrid.assignment import as_rigid_columns
    from workloads.logs.choice import Choice
    from workloads.logs.onepool import caveats
    from workloads.logs.swf import read_long_swf
    from workloads.logs.trace import epoch_of

    _refuse_others(arguments, parser)
    if arguments.stream_format not in FORMATS:
        raise ParameterError("--stream-format", "csv or parquet", arguments.stream_format)
    options = options_of(arguments)
    measurement = Measurement(
        warmup=duration(arguments.warmup, "--warmup"), cooldown=duration(arguments.cooldown, "--cooldown")
    ).under(options.warning)
    how = read_options(arguments)
    _need_swf(arguments.input)
    choice = Choice.of(how["where"], how["unit"])
    told = told_options({**how, "format": "swf"})
    trace = read_long_swf(arguments.input, lenient=how["lenient"], procs_per_node=how["procs_per_node"], choice=choice)
    nodes = machine_of(arguments, trace, arguments.input)
    about_pool, unit = caveats(trace, nodes), trace.unit
    trace = trace.on_machine(nodes)
    need_jobs(trace, arguments.input)
    jobs = as_rigid_columns(trace)
    measurement.window.bounds(jobs.submit)
    configuration = {
        "input": {
            "path": arguments.input,
            "sha256": sha256_of(arguments.input),
            **told,
            "left_out": dict(trace.excluded),
        },
        "mechanisms": [BASELINE],
        "options": asdict(options),
        "nodes": nodes,
    }
    if unit != "nodes":
        configuration[UNIT] = unit
    epoch = epoch_of(trace.header, float(jobs.submit.min()) / 1e6)
    simulation = Simulation(
        jobs, nodes, options, None, {}, configuration, left_out(trace), epoch, caveats=about_pool, unit=unit
    )
    variation = Variation({}, BASELINE, arguments)
    return PlannedRun(variation, simulation, outages_of(arguments, nodes, simulation.clock), measurement)


def _need_swf(path: str) -> None:
    """Refuse a file of another format in a sentence, and not by its first line."""
    from workloads.ground.longfiles import blocks_of_file
    from workloads.logs.readers import READERS

    _, lines = next(blocks_of_file(path), (0, []))
    head = "\n".join(lines[:_HEAD])
    name = next((name for name in READERS if READERS[name].recognises(head)), "swf")
    if name != "swf":
        raise InputError(
            f"{path}: --stream reads SWF, and this is a file of the format {name}; leave --stream out, or write it "
            "with 'holdfast prepare FILE -o FILE.swf'"
        )


def _refuse_others(arguments: argparse.Namespace, parser: argparse.ArgumentParser) -> None:
    for name in vars(parser.parse_args(["-", "-o", "-"])):
        if name not in _OPTIONS and getattr(arguments, name) != parser.get_default(name):
            option = f"--{name.replace('_', '-')}"
            raise InputError(f"{option} must be left out with --stream, which replays rigid jobs under the baseline")
    if arguments.mechanism not in (None, BASELINE):
        raise ParameterError("--mechanism", f"{BASELINE} with --stream", arguments.mechanism)
    if arguments.format not in (None, "swf"):
        raise ParameterError("--format", "swf with --stream", arguments.format)


def streamed(arguments: argparse.Namespace, planned: PlannedRun, directory: Path) -> tuple[Result, EndedJobs]:
    """Carry it out; also where its jobs have been written as they ended."""
    from experiments.output.signals import Interrupted
    from experiments.recordings.longjobs import EndedJobs
    from experiments.recordings.longruns import identity_of, streamed_replay
    from experiments.sweeps.progress import Bar
    from simulator.streaming import TOLD

    simulation = planned.simulation
    jobs: RigidColumns = simulation.jobs  # type: ignore[assignment]  # long_run has put them there
    told = {**simulation.configuration["input"], "jobs": len(jobs)}
    del told["path"]
    identity = identity_of(told, simulation.nodes, simulation.options, TOLD, arguments.stream_format)
    ended = EndedJobs(directory, identity, arguments.stream_format, force=arguments.force)
    if ended.kept:
        print(f"{ended.place}: {ended.kept:,} tables of an earlier start are kept")
    try:
        with Bar(len(jobs), [BASELINE]) as bar:
            result = streamed_replay(
                jobs, simulation.nodes, simulation.options, ended, progress=lambda done: bar.ended(BASELINE, done)
            )
    except KeyboardInterrupt as stop:
        raise Interrupted.of(stop, f"jobs that have ended are in {ended.place}; start it again to go on") from None
    return replace(result), ended
