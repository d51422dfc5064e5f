"""``holdfast demo``: simulate a Theta-like year under the baseline and all six mechanisms."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from holdfast.experiments import cli
from holdfast.experiments.commands.options.arguments import PaperReading
from holdfast.workloads.ground.parameters import Parameter, Seed, wholes

__all__ = ["Arguments", "main"]


@dataclass(kw_only=True, eq=False, repr=False)
class Arguments:
    """Options of the command."""

    output: Annotated[str, Parameter("directory to write", metavar="DIR", short="-o")] = "out/demo"
    force: Annotated[bool, Parameter("replace other results in DIR than those of an earlier demo")] = False
    jobs: Annotated[int, wholes(1), Parameter("number of jobs", default=", a year")] = 37298
    seed: Seed = 0
    paper: PaperReading


def main(arguments: Arguments) -> None:
    """Run ``holdfast generate``, then ``holdfast run``."""
    from holdfast.experiments.output.directory_checks import RUN, check_fresh
    from holdfast.experiments.output.locks import write_lock
    from holdfast.experiments.output.output_directory import make_directory
    from holdfast.workloads.ground.errors import InputError

    directory = make_directory(arguments.output)
    year = str(directory / "year.swf.gz")
    force = ["--force"] if arguments.force or _is_demo(directory, Path(year)) else []
    with write_lock(directory):
        check_fresh(directory, RUN, force=bool(force))  # before the year is written
    reading = [] if arguments.paper.reading is None else ["--reading", arguments.paper.reading]
    seed = str(arguments.seed)
    for words in (
        ["generate", "-o", year, "--jobs", str(arguments.jobs), "--seed", seed, *reading],
        ["run", year, "-o", str(directory), "--mechanism", "all", "--seed", seed, *reading, "--plot", *force],
    ):
        print(f"$ holdfast {' '.join(words)}", flush=True)
        if cli.main(words):
            raise InputError(f"'holdfast {words[0]}' did not succeed")


def _is_demo(directory: Path, year: Path) -> bool:
    """Whether the results in a directory are those of an earlier demo there."""
    from holdfast.experiments.recordings.run_file import holds_run, open_run
    from holdfast.workloads.ground.errors import InputError

    try:
        return holds_run(directory) and Path(open_run(directory).content["input"]["path"]).resolve() == year.resolve()
    except InputError:
        return False
