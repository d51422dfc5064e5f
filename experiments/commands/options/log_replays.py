"""Replay of a log in memory, for commands that otherwise read the results of ``holdfast run --events``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.simulator.results.result import Result

__all__ = ["SOURCE", "is_log", "replay_log"]

#: Description of the argument that names results or a log.
SOURCE = "results of 'holdfast run' with --events or --machine, or a log, which is replayed as 'holdfast run' does"


def is_log(path: str) -> bool:
    """Whether a path names a log or a job table, not a directory of results."""
    return Path(path).is_file()


def replay_log(path: str, command: str, run: str | None = None) -> Result:
    """Replay a log as ``holdfast run`` does without options, with its event log.

    Parameters
    ----------
    path
        A log or a job table.
    command
        Name of the command, for warnings.
    run
        Run of a directory that was asked for; None: none was.

    Raises
    ------
    InputError
        If the file is not usable, or a run was asked for.
    """
    import argparse
    from dataclasses import replace

    from holdfast.experiments.commands.options.planned_runs import planned_runs
    from holdfast.experiments.commands.options.run_options import LISTED, RunOptions
    from holdfast.experiments.option_parser import add_options, read_arguments
    from holdfast.experiments.recordings.replay import replays
    from holdfast.experiments.sweeps.progress import Bar
    from holdfast.experiments.terminal import warn
    from holdfast.policies.mechanism import BASELINE
    from holdfast.workloads.ground.errors import InputError
    from holdfast.workloads.logs.clock import LOCAL

    if run is not None:
        raise InputError(f"--run {run} names a run of a directory, and {path} is a file: run it with 'holdfast run'")
    parser = argparse.ArgumentParser()
    add_options(parser, RunOptions, LISTED)
    planned = planned_runs(read_arguments(RunOptions, parser.parse_args(["--mechanism", BASELINE, "--", path])))[0]
    simulation = planned.simulation
    for text in simulation.caveats:
        warn(command, text)
    with Bar(len(simulation.jobs), [BASELINE]) as bar:
        (result,) = replays(
            simulation.jobs, simulation.nodes, [BASELINE], simulation.options, events=True, progress=bar.advance
        )
    zone = LOCAL if simulation.local else "UTC"
    return replace(result, epoch=simulation.epoch, zone=zone, unit=simulation.unit)
