"""``holdfast advise``: what to ask for now."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from experiments.commands.asking.arguments import check_outputs, duration, read_job_id, share, whole
from experiments.commands.asking.present import (
    add_drawing,
    add_present,
    add_rules,
    drawing_of,
    present_of,
    write_document,
)
from experiments.planning.laws import LAWS, OPTIONS
from experiments.terminal import warn
from workloads.ground.errors import InputError, ParameterError
from workloads.ground.numbers import decimal
from workloads.ground.units import LARGEST_SIZE
from workloads.ground.wording import in_unit

if TYPE_CHECKING:
    import numpy as np

    from policies.planning.waits.model import WaitModel
    from workloads.laws.law import Law

__all__ = ["add_arguments", "main"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_present(parser)
    job = parser.add_argument_group("job")
    job.add_argument(
        "--job",
        metavar="N",
        help="id of a waiting job, as 287 or 287_1, which keeps its place (default: one that is submitted now)",
    )
    job.add_argument(
        "--nodes",
        metavar="N,N,...",
        help="nodes of the job, or several sizes at which it can run, the first being the one that the runtime is of; "
        "as 64,128:0.55 with the runtime there over that at the first size (default: none, give it)",
    )
    job.add_argument(
        "--serial",
        metavar="SHARE",
        help="share of the runtime that more nodes do not shorten, by Amdahl's law (default: none; sizes then need "
        "runtimes, as 128:0.55)",
    )
    job.add_argument("--walltime", metavar="TIME", help="walltime that you would ask for [s] (default: not known)")
    job.add_argument(
        "--walltimes",
        metavar="TIME",
        help="walltimes to try at the first size [s] (default: a grid from quantiles of the runtime)",
    )
    job.add_argument("--checkpoint", metavar="TIME", help="time to write a checkpoint [s] (default: no checkpoints)")
    job.add_argument("--restart", metavar="TIME", help="time to read a checkpoint [s] (default 0)")
    job.add_argument("--user", metavar="NAME", default="", help="user of the job (default: unknown)")
    job.add_argument("--project", metavar="NAME", default="", help="project of the job (default: unknown)")
    job.add_argument(
        "--costs",
        metavar="FILE",
        help="file of 'holdfast fit-costs', which prices the requests after the first (default: fitted to the past of "
        "LOG)",
    )
    runtime = parser.add_argument_group("runtime of the job (default: from past runs like it in LOG)")
    runtime.add_argument("--runs", metavar="FILE", help="past runtimes, one per line (default: none)")
    runtime.add_argument("--column", metavar="NAME", help="column of the runtimes, FILE being CSV (default: none)")
    runtime.add_argument("--distribution", metavar="NAME", help=f"one of {', '.join(LAWS)} (default: none)")
    for name in OPTIONS:
        runtime.add_argument(
            f"--{name}", metavar="TIME" if OPTIONS[name].duration else "NUMBER", help=OPTIONS[name].about
        )
    add_rules(parser)
    add_drawing(parser)
    parser.add_argument("--json", metavar="FILE", help="write the advice as JSON (default: not written)")
    parser.add_argument("--plot", metavar="NAME", help="draw it as NAME.png and NAME.pdf (default: not drawn)")


def main(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from experiments.forecast.advice import advise
    from experiments.forecast.history import history_of
    from experiments.forecast.telling import advice_document, advice_sentence, advice_table

    drawing = drawing_of(arguments)
    least = whole(arguments.least, "--least", 1)
    job = None if arguments.job is None else read_job_id(arguments.job, "--job")
    nodes, sizes = _sizes(arguments) if job is None else _none_of(arguments)
    walltime = None if arguments.walltime is None else _time(arguments.walltime, "--walltime")
    tried = arguments.walltimes
    walltimes = None if tried is None else [_time(word, "--walltimes") for word in tried.split(",")]
    if arguments.restart is not None and arguments.checkpoint is None:
        raise InputError("--restart reads a checkpoint; give the time to write one with --checkpoint TIME")
    checkpoint = None if arguments.checkpoint is None else duration(arguments.checkpoint, "--checkpoint")
    restart = duration(arguments.restart or "0", "--restart")
    runtimes = _runtimes(arguments)
    if walltime is None and runtimes is None and job is None:
        raise InputError(
            "give the walltime that you would ask for as --walltime, or runtimes of the job as --runs or --distribution"
        )
    prices = _prices(arguments)
    check_outputs(arguments.json, arguments.plot)
    present = present_of(arguments)
    for size in () if nodes is None else (nodes, *sizes):
        if size > present.state.nodes:
            raise ParameterError("--nodes", f"at most the {present.state.nodes:,} {present.unit} of the machine", size)
    advice = advise(
        present.state,
        history_of(present.trace, present.at, fit=arguments.fit, least=least),
        nodes=nodes,
        walltime=walltime,
        job=job,
        runtimes=runtimes,
        walltimes=walltimes,
        sizes=sizes,
        checkpoint=checkpoint,
        restart=restart,
        user=arguments.user,
        project=arguments.project,
        prices=prices,
        **drawing,
    )
    for text in present.assumptions:
        warn("advise", text)
    print(present.told())
    print(in_unit(advice_sentence(advice), present.unit))
    print(advice_table(advice, present.unit, present.now))
    if arguments.json is not None:
        write_document(
            arguments.json, advice_document(advice, log=arguments.log, seed=drawing["seed"], **present.facts())
        )
    if arguments.plot is not None:
        from experiments.figures.planning.advice import plot_advice
        from experiments.figures.style import relabel, save

        for path in save(relabel(plot_advice(advice), present.unit), arguments.plot):
            print(f"drawn in {path}")


def _none_of(arguments: argparse.Namespace) -> tuple[None, dict[int, float]]:
    """Nothing, since the waiting job says it."""
    for name in ("nodes", "walltime", "serial", "user", "project"):
        if getattr(arguments, name):
            raise InputError(f"--job {arguments.job} asks for its own nodes and walltime; leave out --{name}")
    return None, {}


def _sizes(arguments: argparse.Namespace) -> tuple[int, dict[int, float]]:
    """The first size, and the runtime at the others over that at it."""
    if arguments.nodes is None:
        raise InputError("--nodes must be given, the nodes of the job")
    serial = None if arguments.serial is None else share(arguments.serial, "--serial")
    found: dict[int, float] = {}
    first = 0
    for word in arguments.nodes.split(","):
        text, _, factor = word.partition(":")
        size = whole(text, "--nodes", 1, LARGEST_SIZE)
        if size in (first, *found):
            raise ParameterError("--nodes", "different sizes", arguments.nodes)
        if not first:
            if factor:
                raise ParameterError("--nodes", "a first size without a runtime, which is 1", word)
            first = size
        elif factor:
            found[size] = _factor(factor, word)
        elif serial is None:
            raise InputError(
                f"--nodes {arguments.nodes}: give the runtime on {size:,} nodes over that on {first:,}, "
                f"as {size}:0.55, or --serial SHARE"
            )
        else:
            found[size] = serial + (1 - serial) * first / size
    return first, found


def _factor(text: str, word: str) -> float:
    try:
        value = decimal(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e6:
        raise ParameterError("--nodes", "sizes with a multiple above 0 of the first runtime, as 128:0.55", word)
    return value


def _time(text: str, option: str) -> float:
    value = duration(text, option)
    if not value > 0:
        raise ParameterError(option, "durations above 0" if option == "--walltimes" else "a duration above 0", text)
    return value


def _runtimes(arguments: argparse.Namespace) -> Law | np.ndarray | None:
    """The distribution or the runs that the options name."""
    from experiments.planning.laws import law_of, read_runs

    given = {name: getattr(arguments, name) for name in OPTIONS if getattr(arguments, name) is not None}
    if arguments.runs is not None and arguments.distribution is not None:
        raise InputError("give either --runs or --distribution")
    if given and arguments.distribution is None:
        raise InputError(f"--{next(iter(given))} describes a distribution: name it with --distribution")
    if arguments.column is not None and arguments.runs is None:
        raise InputError("--column names a column of --runs FILE")
    if arguments.runs is not None:
        return read_runs(arguments.runs, arguments.column)
    return None if arguments.distribution is None else law_of(arguments.distribution, given)


def _prices(arguments: argparse.Namespace) -> WaitModel | None:
    from experiments.planning.costfile import read_costs

    return None if arguments.costs is None else read_costs(arguments.costs, arguments.command)
