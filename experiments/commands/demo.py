"""``holdfast demo``: a Theta-like year under the baseline and all six mechanisms."""

from __future__ import annotations

import argparse

from experiments import cli
from experiments.commands.asking.arguments import whole

__all__ = ["add_arguments", "main"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "-o", "--output", metavar="DIR", default="out/demo", help="directory to write (default out/demo)"
    )
    parser.add_argument("--jobs", metavar="N", default="37298", help="number of jobs (default 37298, a year)")
    parser.add_argument("--seed", metavar="SEED", default="0", help="seed of every random choice (default 0)")


def main(arguments: argparse.Namespace) -> None:
    """Run ``holdfast generate``, then ``holdfast run``."""
    from experiments.recordings.replay import make_directory
    from workloads.ground.errors import InputError

    whole(arguments.jobs, "--jobs", 1)
    whole(arguments.seed, "--seed")
    directory = make_directory(arguments.output)
    year = str(directory / "year.swf.gz")
    for words in (
        ["generate", "-o", year, "--jobs", arguments.jobs, "--seed", arguments.seed],
        ["run", year, "-o", str(directory), "--mechanism", "all", "--seed", arguments.seed, "--plot"],
    ):
        print(f"$ holdfast {' '.join(words)}", flush=True)
        if cli.main(words):
            raise InputError(f"'holdfast {words[0]}' did not succeed")
