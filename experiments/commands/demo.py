"""``holdfast demo``: a Theta-like year under the baseline and all six mechanisms."""

from __future__ import annotations

import argparse
from pathlib import Path

from experiments import cli
from experiments.commands.asking.arguments import whole

__all__ = ["add_arguments", "main"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "-o", "--output", metavar="DIR", default="out/demo", help="directory to write (default out/demo)"
    )
    parser.add_argument(
        "--force", action="store_true", help="replace other results in DIR than those of an earlier demo"
    )
    parser.add_argument("--jobs", metavar="N", default="37298", help="number of jobs (default 37298, a year)")
    parser.add_argument("--seed", metavar="SEED", default="0", help="seed of every random choice (default 0)")


def main(arguments: argparse.Namespace) -> None:
    """Run ``holdfast generate``, then ``holdfast run``."""
    from experiments.output.locks import writing
    from experiments.output.occupancy import RUN, check_fresh
    from experiments.recordings.replay import make_directory
    from workloads.ground.errors import InputError

    whole(arguments.jobs, "--jobs", 1)
    whole(arguments.seed, "--seed")
    directory = make_directory(arguments.output)
    year = str(directory / "year.swf.gz")
    force = ["--force"] if arguments.force or _is_demo(directory, Path(year)) else []
    with writing(directory):
        check_fresh(directory, RUN, force=bool(force))  # before the year is written
    for words in (
        ["generate", "-o", year, "--jobs", arguments.jobs, "--seed", arguments.seed],
        ["run", year, "-o", str(directory), "--mechanism", "all", "--seed", arguments.seed, "--plot", *force],
    ):
        print(f"$ holdfast {' '.join(words)}", flush=True)
        if cli.main(words):
            raise InputError(f"'holdfast {words[0]}' did not succeed")


def _is_demo(directory: Path, year: Path) -> bool:
    """Whether the results in a directory are those of an earlier demo there."""
    from experiments.recordings.runfile import holds_run, open_run
    from workloads.ground.errors import InputError

    try:
        return holds_run(directory) and Path(open_run(directory).told["input"]["path"]).resolve() == year.resolve()
    except InputError:
        return False
