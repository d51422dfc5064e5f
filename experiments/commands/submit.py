"""``holdfast submit``: submit the reservations of a plan as a chain of Slurm jobs."""

from __future__ import annotations

import re
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from holdfast.workloads.ground.errors import InputError, OutputError, ParameterError
from holdfast.workloads.ground.parameters import Nodes, Parameter, Values, times, wholes
from holdfast.workloads.ground.wording import count_text

__all__ = ["KEPT", "USAGE", "Arguments", "main"]

KEPT = "what was submitted is recorded in its directory; 'holdfast status' shows it"
#: More jobs than this in one chain are a burden for the controller: each depends on all before it.
_MOST = 200


#: Usage without the name of the command.
USAGE = "PLAN -o DIR [options] -- PROGRAM [ARGUMENTS]"
_JOBS = "the jobs"
_SEQUENCE = "the sequence"


def _name(given: str) -> str:
    """Name of the jobs."""
    if not given or not given.isprintable() or len(given) > 100 or "%" in given:
        raise ParameterError("", "1 to 100 printable characters without %", given)
    return given


@dataclass(kw_only=True, eq=False, repr=False)
class Arguments:
    """Options of the command."""

    plan: Annotated[str, Parameter("file of 'holdfast plan --json', times in seconds", metavar="PLAN", positional=True)]
    program: Annotated[
        tuple[str, ...],
        Parameter(
            "program and its arguments, behind '--'; it runs in this directory",
            metavar="PROGRAM",
            positional=True,
            repeated=True,
        ),
    ]
    output: Annotated[str, Parameter("directory for the scripts and the state", metavar="DIR", short="-o")]
    go: Annotated[bool, Parameter("submit; without it the scripts are only written")] = False
    nodes: Annotated[Nodes, Parameter("nodes of each reservation", group=_JOBS)] = 1
    name: Annotated[
        str | None, Values("NAME", _name), Parameter("name of the jobs", default="that of DIR", group=_JOBS)
    ] = None
    sbatch: Annotated[
        tuple[str, ...],
        Parameter(
            "further option of sbatch in one word, as --sbatch=--partition=long; may be repeated",
            default="none",
            metavar="NAME=VALUE",
            group=_JOBS,
            repeated=True,
        ),
    ] = ()
    history: Annotated[
        str | None,
        Parameter(
            "file to which a finished run adds its runtime, for 'holdfast plan --runs FILE'",
            default="none",
            metavar="FILE",
            group=_SEQUENCE,
        ),
    ] = None
    most: Annotated[int, wholes(1, _MOST), Parameter("most reservations of the plan", group=_SEQUENCE)] = 20
    spare: Annotated[
        int,
        wholes(0, 20),
        Parameter("reservations beyond the plan, for a run that outlives it or loses a reservation", group=_SEQUENCE),
    ] = 2
    margin: Annotated[
        float,
        times(86_400.0),
        Parameter("time added to each reservation before it is rounded up to minutes", group=_SEQUENCE),
    ] = 10.0
    retries: Annotated[
        int, wholes(0, 1000), Parameter("number of times that the program may die and go on", group=_SEQUENCE)
    ] = 1


def main(arguments: Arguments) -> None:
    """Run the command."""
    from holdfast.experiments.planning.plan_inputs import read_plans
    from holdfast.experiments.slurm.client import submit
    from holdfast.experiments.slurm.job_chain import describe_omissions, describe_prices, links_table, make_links
    from holdfast.experiments.slurm.reservation_sequence import Sequence, check_options
    from holdfast.experiments.slurm.workdir import check_directory, holds_sequence, write_sequence
    from holdfast.workloads.ground.documents import read_json

    check_options(list(arguments.sbatch))
    directory = Path(arguments.output).absolute()
    name = arguments.name or re.sub(r"[^A-Za-z0-9_.-]", "-", directory.name)[:60] or "holdfast"
    history = "" if arguments.history is None else _history(arguments.history)
    check_directory(directory)
    _check_program(arguments.program[0])
    plan = read_plans({"": arguments.plan}, "submit")[""]
    document = read_json(arguments.plan)
    expected = document.get("expected_cost")
    links = make_links(plan, most=arguments.most, spare=arguments.spare, margin=arguments.margin)
    sequence = Sequence(
        name=name,
        program=list(arguments.program),
        folder=str(Path.cwd()),
        nodes=arguments.nodes,
        options=list(arguments.sbatch),
        history=history,
        retries=arguments.retries,
        links=links,
        plan=plan.to_dict(),
        expected_cost=float(expected) if isinstance(expected, int | float) else None,
    )
    if not holds_sequence(directory, sequence):
        write_sequence(sequence, directory)
    print(links_table(links))
    for sentence in describe_omissions(len(plan), len(links), arguments.most, arguments.spare, _MOST):
        print(sentence)
    print(describe_prices(plan.costs))
    if not arguments.go:
        print(f"written to {arguments.output}; nothing is submitted: look at the scripts, then repeat it with --go")
        return
    submit(directory)
    print(f"submitted {count_text(len(links), 'jobs')}; these commands show and cancel them:")
    print(f"  holdfast status {shlex.quote(arguments.output)}")
    print(f"  bash {shlex.quote(str(Path(arguments.output) / 'cancel.sh'))}")


def _check_program(program: str) -> None:
    """Refuse a program that the script would not find."""
    if shutil.which(program) is not None:
        return
    if "/" not in program:
        raise ParameterError("PROGRAM", "a program in PATH, or a path such as ./program", program)
    if Path(program).is_file():
        raise InputError(f"{program}: is not executable; make it so with chmod +x, or put its interpreter before it")
    raise InputError(f"{program}: {'is a directory' if Path(program).is_dir() else 'does not exist'}")


def _history(given: str) -> str:
    path = Path(given).absolute()
    if path.is_dir() or not path.parent.is_dir():
        raise OutputError(
            f"{given}: cannot be written: {'is a directory' if path.is_dir() else f'{path.parent} is not a directory'}"
        )
    if "\0" in given:
        raise InputError("--history must be a file name")
    return str(path)
