"""``holdfast marginals``: compare the marginal distributions of the generator with a real trace."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from holdfast.experiments.commands.options.arguments import LogReading, machine_size, read_options
from holdfast.workloads.ground.parameters import Nodes, Parameter, Seconds, Seed

__all__ = ["Arguments", "main"]


@dataclass(kw_only=True, eq=False, repr=False)
class Arguments:
    """Options of the command."""

    trace: Annotated[str, Parameter("real trace of Theta", metavar="TRACE", positional=True)]
    output: Annotated[
        str | None,
        Parameter("directory of the table and the figure", default="nothing is stored", metavar="DIR", short="-o"),
    ] = None
    seed: Annotated[Seed, Parameter("seed of the generated year")] = 0
    projects: Annotated[
        str | None, Parameter("second real trace, to compare projects with", default="none", metavar="FILE")
    ] = None
    clock: Annotated[Seconds, Parameter("local time minus the trace's clock", default=", right for 2022")] = 43200.0
    nodes: Annotated[Nodes | None, machine_size()] = None
    reading: LogReading


def main(arguments: Arguments) -> None:
    """Run the command."""
    from holdfast.experiments.figures.study.marginals import plot_marginals
    from holdfast.experiments.figures.style import save
    from holdfast.experiments.output.output_directory import make_directory
    from holdfast.experiments.tables import write_csv
    from holdfast.experiments.traces.marginals import compare, format_comparison
    from holdfast.workloads.logs.readers import read_trace
    from holdfast.workloads.theta.generator import generate

    seed, shift = arguments.seed, arguments.clock
    real = read_trace(arguments.trace, **read_options(arguments.reading))
    projects = read_trace(arguments.projects) if arguments.projects else None
    directory = None if arguments.output is None else make_directory(arguments.output)
    generated = generate(seed=seed)
    rows = compare(generated, real, projects, shift)
    print(format_comparison(rows))
    if directory is None:
        return
    names = ("quantity", "unit", "generated", "real", "origin", "reason")
    table = [{name: getattr(row, name) for name in names} for row in rows]
    write_csv(directory / "marginals.csv", table, names)
    label = Path(arguments.trace).name.split(".")[0]
    pictures = save(
        plot_marginals({f"generated, seed {seed}": generated, label: real}, {label: shift}), directory / "marginals"
    )
    print("written to", ", ".join(str(path) for path in (directory / "marginals.csv", *pictures)))
