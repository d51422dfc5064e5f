"""``holdfast generate``: write a Theta-like trace."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Annotated

from holdfast.experiments.commands.options.arguments import PaperReading
from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.ground.parameters import Parameter, Seconds, Seed, wholes
from holdfast.workloads.ground.wording import count_text
from holdfast.workloads.theta.year import LARGEST

__all__ = ["Arguments", "main"]

#: Endings of job tables, and of all files that are written; a name without an ending is SWF, too.
_TABLES = (".csv", ".csv.gz", ".parquet")
_LEGAL = (".swf", ".swf.gz", *_TABLES)


@dataclass(kw_only=True, eq=False, repr=False)
class Arguments:
    """Options of the command."""

    output: Annotated[
        str, Parameter("SWF file to write, e.g. year.swf.gz; .csv or .parquet: job table", metavar="FILE", short="-o")
    ]
    jobs: Annotated[int | None, wholes(1, LARGEST), Parameter("number of jobs", default="=37298, a year")] = None
    seed: Seed = 0
    preset: Annotated[
        str, Parameter("parameters of the year: default, runtime-backfilling, even-projects, or several joined by +")
    ] = "default"
    paper: PaperReading
    maintenance: Annotated[
        Seconds | None, Parameter("length of a break without submits on every second Monday", default="none")
    ] = None


def main(arguments: Arguments) -> None:
    """Run the command."""
    is_table = arguments.output.endswith(_TABLES)
    name = PurePath(arguments.output).name
    legal = name.endswith(_LEGAL) or name.lower().endswith(_LEGAL[:2])
    if not legal and PurePath(name.removesuffix(".gz")).suffix:
        raise ParameterError(
            "--output", f"a file that ends in {', '.join(_LEGAL[:-1])} or {_LEGAL[-1]}", arguments.output
        )
    from holdfast.workloads.logs.swf import write_swf
    from holdfast.workloads.theta.generator import generate
    from holdfast.workloads.theta.presets import preset_year

    year = preset_year(arguments.preset)
    if arguments.jobs is not None:
        year = replace(year, jobs=arguments.jobs)
    if arguments.maintenance is not None:
        year = replace(year, maintenance=arguments.maintenance / 3600)
    trace = generate(year, seed=arguments.seed)
    written = f"{count_text(len(trace.jobs), 'jobs')} written to {arguments.output}"
    if is_table:
        from holdfast.workloads.hybrid.assignment import as_rigid
        from holdfast.workloads.table.job_table import write_job_table

        write_job_table(as_rigid(trace), arguments.output)
        print(f"{written}; a job table does not record the size of the machine: replay it with --nodes {trace.nodes}")
        return
    write_swf(trace, arguments.output)
    print(written)
