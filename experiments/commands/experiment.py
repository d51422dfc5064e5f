"""``holdfast experiment``: reproduce a table or figure of the papers."""

from __future__ import annotations

import argparse
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.commands.asking.arguments import whole

if TYPE_CHECKING:
    from experiments.study.verdicts import Verdict

__all__ = ["KEPT", "add_arguments", "main"]

#: What is kept when a signal ends the command.
KEPT = "{output} holds what is done; give the same command again to continue"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "id", metavar="ID", nargs="*", help="ids such as checkpoint-fig6; without one, list all experiments"
    )
    parser.add_argument("-o", "--output", metavar="DIR", help="directory to write (default: none, and an ID needs it)")
    parser.add_argument("--quick", action="store_true", help="use small sizes: at most 30 s for each experiment")
    parser.add_argument("--seed", metavar="SEED", default="0", help="seed of every random choice (default 0)")
    parser.add_argument(
        "--set",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="change a parameter; ID.json lists them (default: none)",
    )
    parser.add_argument("--workers", metavar="N", help="number of processes (default: one for each core)")


def main(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from experiments.output.locks import writing
    from experiments.output.occupancy import check_kind
    from experiments.recordings.replay import make_directory
    from experiments.study.experiment import all_experiments, find_experiment, run_experiment
    from experiments.study.parameters import with_settings
    from workloads.ground.errors import InputError

    seed = whole(arguments.seed, "--seed")
    if not arguments.id:
        for item in all_experiments().values():
            print(f"{item.id:<22}{item.title}")
        return
    chosen = [find_experiment(name) for name in arguments.id]
    settings = [with_settings(item.quick if arguments.quick else item.parameters, arguments.set) for item in chosen]
    if arguments.output is None:
        raise InputError("give the directory to write with -o DIR")
    workers = None if arguments.workers is None else whole(arguments.workers, "--workers", 1)
    is_new = not Path(arguments.output).exists()
    directory = make_directory(arguments.output)
    try:
        with writing(directory):
            check_kind(directory, "experiments")
            for item, parameters in zip(chosen, settings, strict=True):
                print(f"{item.id}: {item.title}", flush=True)
                verdicts = run_experiment(
                    item, parameters, seed, directory, version("holdfast"), workers=workers, progress=True
                )
                for verdict in verdicts:
                    _show(verdict)
    except InputError:
        # A parameter that is refused while the experiment measures leaves nothing.
        if is_new:
            with suppress(OSError):
                directory.rmdir()
        raise
    print(f"tables, figures and verdicts are in {directory}")


def _show(verdict: Verdict) -> None:
    from experiments.study.verdicts import shown_p

    print(f"  {verdict.outcome_words}: {verdict.claim}")
    printed = f"printed {verdict.printed} ({verdict.source}); " if verdict.printed else ""
    print(f"    {printed}measured {verdict.measured}")
    for line in (verdict.rule, shown_p(verdict), verdict.remark):
        if line:
            print(f"    {line}")
