"""``holdfast fit-costs``: fit the planner's costs to recorded or simulated queue waits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from holdfast.experiments.commands.options.arguments import (
    Classes,
    LogReading,
    check_outputs,
    chosen_run,
    machine_size,
    read_options,
)
from holdfast.workloads.ground.parameters import Nodes, Parameter, changed_parameters
from holdfast.workloads.ground.release import VERSION

if TYPE_CHECKING:
    from holdfast.experiments.planning.wait_pairs import WaitPairs

__all__ = ["Arguments", "main"]


@dataclass(kw_only=True, eq=False, repr=False)
class Arguments:
    """Options of the command."""

    input: Annotated[
        str, Parameter("directory of 'holdfast run', or trace that records waits", metavar="INPUT", positional=True)
    ]
    output: Annotated[
        str | None,
        Parameter("write the fits as JSON; '-' is standard output", default="not written", metavar="FILE", short="-o"),
    ] = None
    mechanism: Annotated[str | None, chosen_run("INPUT")] = None
    classes: Classes = None
    plot: Annotated[
        str | None, Parameter("draw the fits as FILE.png and FILE.pdf", default="not drawn", metavar="FILE")
    ] = None
    nodes: Annotated[Nodes | None, machine_size()] = None
    reading: LogReading


def main(arguments: Arguments) -> None:
    """Run the command."""
    from holdfast.experiments.output.json_files import write_sealed_json
    from holdfast.experiments.planning.cost_file import fits_table
    from holdfast.policies.planning.waits.document import to_document
    from holdfast.policies.planning.waits.fitting import fit_waits

    check_outputs(arguments.output, arguments.plot)
    pairs = _read_pairs(arguments)
    model = fit_waits(pairs.walltimes, pairs.waits, pairs.nodes, arguments.classes)
    if arguments.plot:
        # Drawn before anything is written, so that a failure leaves nothing behind.
        from holdfast.experiments.figures.planning.costs import plot_costs
        from holdfast.experiments.figures.style import save

        figure = plot_costs(pairs.walltimes, pairs.waits, pairs.nodes, model, pairs.title)
    if arguments.output:
        write_sealed_json(arguments.output, to_document(model, holdfast=VERSION, source=dict(pairs.source)))
    drawn = save(figure, arguments.plot) if arguments.plot else ()
    if arguments.output == "-":
        return
    if pairs.about:
        print(pairs.about)
    print(f"{len(pairs.walltimes):,} pairs of walltime and wait: {pairs.title}{_exclusions(pairs.left_out)}")
    print("mean wait = alpha x walltime + gamma\n")
    print(fits_table(model))
    for path in drawn:
        print(f"drawn in {path}")


def _read_pairs(arguments: Arguments) -> WaitPairs:
    from holdfast.experiments.planning.wait_pairs import pairs_of_results, pairs_of_trace
    from holdfast.workloads.ground.errors import InputError
    from holdfast.workloads.logs.readers import read_workload
    from holdfast.workloads.logs.trace import Trace

    if Path(arguments.input).is_dir():
        for item in changed_parameters(arguments):
            if item.name == "nodes" or (item.owner is LogReading and item.name != "trust"):
                raise InputError(f"{item.option} requires a trace, but INPUT is a directory")
        return pairs_of_results(arguments.input, arguments.mechanism, trust=arguments.reading.trust)
    if arguments.mechanism is not None:
        raise InputError("--mechanism requires a directory of results, but INPUT is a file")
    workload = read_workload(arguments.input, **read_options(arguments.reading))
    if not isinstance(workload, Trace):
        raise InputError(
            f"{arguments.input}: a job table records no waits: simulate it with 'holdfast run {arguments.input} -o DIR "
            "--nodes N', and fit DIR"
        )
    if arguments.nodes is not None:
        workload = workload.on_machine(arguments.nodes)
    elif workload.nodes is not None:
        workload = workload.on_machine(workload.nodes)
    return pairs_of_trace(workload)


def _exclusions(counts: Mapping[str, int]) -> str:
    some = [f"{count:,} {reason}" for reason, count in counts.items() if count]
    return f"; left out: {', '.join(some)}" if some else ""
