"""``holdfast fit-costs``: from recorded or simulated waits to the prices that make a plan's cost its response time."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.commands.asking.arguments import (
    add_choice,
    add_reading,
    check_outputs,
    classes_of,
    read_options,
    whole,
)

if TYPE_CHECKING:
    from experiments.planning.waitpairs import WaitPairs

__all__ = ["add_arguments", "main"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("input", metavar="INPUT", help="directory of 'holdfast run', or trace that records waits")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="write the fits as JSON; '-' is standard output (default: not written)"
    )
    add_choice(parser, "INPUT")
    parser.add_argument(
        "--classes",
        metavar="N,N,...",
        help="upper bounds of all size classes but the last [nodes] (default: powers of two with enough jobs each)",
    )
    parser.add_argument("--plot", metavar="FILE", help="draw the fits as FILE.png and FILE.pdf (default: not drawn)")
    add_reading(parser)


def main(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from experiments.planning.costfile import fits_table
    from experiments.planning.document import write_sealed
    from policies.planning.waits.document import to_document
    from policies.planning.waits.fitting import fit_waits

    classes = classes_of(arguments.classes)
    check_outputs(arguments.output, arguments.plot)
    pairs = _pairs_of(arguments)
    model = fit_waits(pairs.walltimes, pairs.waits, pairs.nodes, classes)
    if arguments.plot:
        # Drawn before anything is written, so that a failure leaves nothing behind.
        from experiments.figures.planning.costs import plot_costs
        from experiments.figures.style import save

        figure = plot_costs(pairs.walltimes, pairs.waits, pairs.nodes, model, pairs.title)
    if arguments.output:
        write_sealed(arguments.output, to_document(model, holdfast=version("holdfast"), source=dict(pairs.source)))
    drawn = save(figure, arguments.plot) if arguments.plot else ()
    if arguments.output == "-":
        return
    if pairs.about:
        print(pairs.about)
    print(f"{len(pairs.walltimes):,} pairs of walltime and wait: {pairs.title}{_left_out(pairs.left_out)}")
    print("mean wait = alpha x walltime + gamma\n")
    print(fits_table(model))
    for path in drawn:
        print(f"drawn in {path}")


def _pairs_of(arguments: argparse.Namespace) -> WaitPairs:
    from experiments.planning.waitpairs import pairs_of_results, pairs_of_trace
    from workloads.ground.errors import InputError
    from workloads.logs.readers import read_workload
    from workloads.logs.trace import Trace

    if Path(arguments.input).is_dir():
        for name in ("nodes", "format", "columns", "procs_per_node", "where", "unit", "lenient"):
            if getattr(arguments, name):
                raise InputError(f"--{name.replace('_', '-')} requires a trace, but INPUT is a directory")
        return pairs_of_results(arguments.input, arguments.mechanism, trust=arguments.trust)
    if arguments.mechanism is not None:
        raise InputError("--mechanism requires a directory of results, but INPUT is a file")
    workload = read_workload(arguments.input, **read_options(arguments))
    if not isinstance(workload, Trace):
        raise InputError(
            f"{arguments.input}: a job table records no waits: simulate it with 'holdfast run {arguments.input} -o DIR "
            "--nodes N', and fit DIR"
        )
    if arguments.nodes is not None:
        workload = workload.on_machine(whole(arguments.nodes, "--nodes", 1))
    elif workload.nodes is not None:
        workload = workload.on_machine(workload.nodes)
    return pairs_of_trace(workload)


def _left_out(counts: Mapping[str, int]) -> str:
    some = [f"{count:,} {reason}" for reason, count in counts.items() if count]
    return f"; left out: {', '.join(some)}" if some else ""
