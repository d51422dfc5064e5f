"""``holdfast reproduce``: all experiments of the papers, and one report of them."""

from __future__ import annotations

import argparse
import sys
from importlib.metadata import version
from typing import TYPE_CHECKING

from experiments.commands.asking.arguments import whole

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from experiments.study.experiment import Experiment
    from experiments.study.reproduction import Done, Reproduction

__all__ = ["KEPT", "add_arguments", "main"]

#: What is kept when a signal ends the command.
KEPT = "{output} holds the complete experiments; the same command continues from there"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "-o",
        "--output",
        metavar="DIR",
        default="out/reproduction",
        help="directory to write, or to continue in (default out/reproduction)",
    )
    parser.add_argument("--quick", action="store_true", help="use small sizes: some minutes for all experiments")
    parser.add_argument(
        "--only",
        metavar="PATTERN",
        action="append",
        help="run the experiments with ids such as 'checkpoint-*'; may be repeated (default: all)",
    )
    parser.add_argument("--seed", metavar="SEED", default="0", help="seed of every random choice (default 0)")
    parser.add_argument("--workers", metavar="N", help="number of processes (default: one for each core)")
    parser.add_argument(
        "--data",
        metavar="DIR",
        help="directory of public data, such as DIR/slant/slant_makespan.csv (default: generated data)",
    )
    parser.add_argument("--fresh", action="store_true", help="measure everything again")


def main(arguments: argparse.Namespace) -> int:
    """Run the command; 1 if an experiment failed."""
    from experiments.output.locks import writing
    from experiments.output.occupancy import check_kind
    from experiments.recordings.replay import make_directory
    from experiments.study.experiment import all_experiments
    from experiments.study.report.content import Tally, write_report
    from experiments.study.reproduction import Reproduction, reproduce
    from experiments.study.times import read_times, write_times

    seed = whole(arguments.seed, "--seed")
    workers = _cores() if arguments.workers is None else whole(arguments.workers, "--workers", 1)
    known = all_experiments()
    chosen = _chosen(known, arguments.only)
    data = None if arguments.data is None else _data(arguments.data, known.values())
    directory = make_directory(arguments.output)
    how = Reproduction(
        directory, version("holdfast"), arguments.quick, seed, data, arguments.fresh, workers, all_experiments
    )
    count = f"{len(chosen)} experiment{'s' if len(chosen) != 1 else ''}"
    print(f"{count}, up to {workers} at a time, into {directory}", file=sys.stderr, flush=True)
    with writing(directory):
        check_kind(directory, "experiments")
        times = read_times(directory)
        done: dict[str, Done] = {}
        for item in reproduce(chosen, how):
            done[item.id] = item
            if item.seconds is not None:
                times[item.id] = item.seconds
                write_times(directory, times)
            print(f"[{len(done)}/{len(chosen)}] {_line(item)}", file=sys.stderr, flush=True)
        report = directory / "report.html"
        ordered = [done[name] for name in chosen]
        write_report(report, ordered, how, times, _words(how, arguments.only))
    print(f"{count}: {Tally.of(ordered).words}; the report is {report}")
    return int(any(item.error for item in ordered))


def _line(item: Done) -> str:
    from experiments.study.report.content import Tally

    how = "measured before" if item.seconds is None else f"{item.seconds:.1f} s"
    if item.note:
        how += f"; {item.note}"
    return f"{item.id}: {item.error}" if item.error else f"{item.id}: {Tally.of([item]).words} ({how})"


def _chosen(known: Iterable[str], patterns: list[str] | None) -> list[str]:
    """Ids that match one of the patterns, in their order."""
    from fnmatch import fnmatchcase

    from workloads.ground.errors import UnknownNameError

    names = list(known)
    for pattern in patterns or []:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise UnknownNameError("experiment", pattern, names)
    return [name for name in names if not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)]


def _data(path: str, experiments: Iterable[Experiment]) -> Path:
    """The directory of public data; it must have some."""
    from pathlib import Path

    from experiments.study.parameters import data_files
    from workloads.ground.errors import InputError

    directory = Path(path)
    wanted = list(dict.fromkeys(file for item in experiments for file in data_files(item.parameters).values()))
    missing = [file for file in wanted if not (directory / file).is_file()]
    if len(missing) == len(wanted):
        raise InputError(f"--data {path}: has none of {', '.join(wanted)}")
    for file in missing:
        print(f"{directory / file} not found; generated data are used instead", file=sys.stderr)
    return directory


def _words(how: Reproduction, patterns: list[str] | None) -> str:
    """The command of this reproduction, as far as results depend on it."""
    import shlex

    words = ["holdfast", "reproduce", *(["--quick"] if how.quick else []), "--seed", str(how.seed)]
    for pattern in patterns or []:
        words += ["--only", pattern]
    return shlex.join([*words, *([] if how.data is None else ["--data", str(how.data)])])


def _cores() -> int:
    import os

    # Those that this process may use, where the system tells.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
