"""``holdfast submit``: the reservations of a plan as a chain of jobs on Slurm."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from experiments.commands.asking.arguments import duration, whole
from workloads.ground.errors import InputError, OutputError, ParameterError
from workloads.ground.units import LARGEST_SIZE

__all__ = ["add_arguments", "main"]

KEPT = "what was submitted is recorded in its directory; 'holdfast status' shows it"
#: More jobs than this in one chain are a burden for the controller: each depends on all before it.
_MOST = 200


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.usage = f"{parser.prog} PLAN -o DIR [options] -- PROGRAM [ARGUMENTS]"
    parser.add_argument("plan", metavar="PLAN", help="file of 'holdfast plan --json', times in seconds")
    parser.add_argument(
        "program",
        metavar="PROGRAM",
        nargs="+",
        help="program and its arguments, behind '--'; it runs in this directory",
    )
    parser.add_argument("-o", "--output", metavar="DIR", required=True, help="directory for the scripts and the state")
    parser.add_argument("--go", action="store_true", help="submit; without it the scripts are only written")
    group = parser.add_argument_group("the jobs")
    group.add_argument("--nodes", metavar="N", default="1", help="nodes of each reservation (default 1)")
    group.add_argument("--name", metavar="NAME", help="name of the jobs (default: that of DIR)")
    group.add_argument(
        "--sbatch",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="further option of sbatch in one word, as --sbatch=--partition=long; may be repeated (default: none)",
    )
    group = parser.add_argument_group("the sequence")
    group.add_argument(
        "--history",
        metavar="FILE",
        help="file to which a finished run adds its runtime, for 'holdfast plan --runs FILE' (default: none)",
    )
    group.add_argument("--most", metavar="N", default="20", help="most reservations of the plan (default 20)")
    group.add_argument(
        "--spare",
        metavar="N",
        default="2",
        help="reservations beyond the plan, for a run that outlives it or loses a reservation (default 2)",
    )
    group.add_argument(
        "--margin",
        metavar="TIME",
        default="10s",
        help="time added to each reservation before it is rounded up to minutes [s] (default 10s)",
    )
    group.add_argument(
        "--retries", metavar="N", default="1", help="number of times that the program may die and go on (default 1)"
    )


def main(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from experiments.planning.laws import read_plans
    from experiments.slurm.client import submit
    from experiments.slurm.links import links_of, links_table
    from experiments.slurm.sequences import Sequence, check_options
    from experiments.slurm.workplace import check_directory, write_sequence
    from workloads.ground.documents import read_json

    nodes = whole(arguments.nodes, "--nodes", 1, LARGEST_SIZE)
    most, spare = whole(arguments.most, "--most", 1, _MOST), whole(arguments.spare, "--spare", 0, 20)
    margin, retries = duration(arguments.margin, "--margin", 86_400.0), whole(arguments.retries, "--retries", 0, 1000)
    check_options(arguments.sbatch)
    directory = Path(arguments.output).absolute()
    name = _name(arguments.name, directory)
    history = "" if arguments.history is None else _history(arguments.history)
    check_directory(directory)
    plan = read_plans({"": arguments.plan}, arguments.command)[""]
    told = read_json(arguments.plan)
    expected = told.get("expected_cost")
    links = links_of(plan, most=most, spare=spare, margin=margin)
    sequence = Sequence(
        name=name,
        program=arguments.program,
        folder=str(Path.cwd()),
        nodes=nodes,
        options=arguments.sbatch,
        history=history,
        retries=retries,
        links=links,
        plan=plan.to_dict(),
        expected_cost=float(expected) if isinstance(expected, int | float) else None,
    )
    write_sequence(sequence, directory)
    print(links_table(links))
    left_out = len(plan) - most
    if left_out > 0:
        print(f"{left_out:,} further reservations of the plan are left out; --most {_MOST} takes up to {_MOST}")
    if not arguments.go:
        print(f"written to {arguments.output}; nothing is submitted: look at the scripts, then repeat it with --go")
        return
    submit(directory)
    print(f"submitted {len(links)} jobs; 'holdfast status {arguments.output}' shows them, cancel.sh there cancels them")


def _name(given: str | None, directory: Path) -> str:
    """The name of the jobs."""
    if given is None:
        return re.sub(r"[^A-Za-z0-9_.-]", "-", directory.name)[:60] or "holdfast"
    if not given or not given.isprintable() or len(given) > 100 or "%" in given:
        raise ParameterError("--name", "1 to 100 printable characters without %", given)
    return given


def _history(given: str) -> str:
    path = Path(given).absolute()
    if path.is_dir() or not path.parent.is_dir():
        raise OutputError(
            f"{given}: cannot be written: {'is a directory' if path.is_dir() else f'{path.parent} is not a directory'}"
        )
    if "\0" in given:
        raise InputError("--history must be a file name")
    return str(path)
