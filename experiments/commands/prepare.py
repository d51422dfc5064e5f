"""``holdfast prepare``: convert a trace into a job table, with all random choices drawn, or into an SWF log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from holdfast.experiments.commands.options.arguments import (
    LogReading,
    PaperReading,
    check_plan,
    choose_machine_size,
    machine_size,
    read_log,
)
from holdfast.experiments.commands.options.lifecycle_options import Life
from holdfast.experiments.terminal import fill, warn
from holdfast.experiments.traces.description import composition, describe_reading, need_jobs
from holdfast.workloads.ground.parameters import Group, Nodes, Parameter, Seed
from holdfast.workloads.ground.wording import count_text
from holdfast.workloads.hybrid.type_mix import PREPARING, Assignment

__all__ = ["Arguments", "main"]


@dataclass(kw_only=True, eq=False, repr=False)
class Arguments:
    """Options of the command."""

    trace: Annotated[
        str, Parameter("SWF, ALCF or sacct file, or a table with named columns", metavar="TRACE", positional=True)
    ]
    output: Annotated[
        str,
        Parameter(
            "job table to write: .csv or .parquet; .swf or .swf.gz: the cleaned log in SWF, without types",
            metavar="FILE",
            short="-o",
        ),
    ]
    nodes: Annotated[Nodes | None, machine_size()] = None
    reading: LogReading
    paper: Annotated[PaperReading, Group(PREPARING)]
    seed: Annotated[Seed, Parameter("seed of every random choice", group=PREPARING)] = 0
    assignment: Assignment
    life: Life


def main(arguments: Arguments) -> None:
    """Run the command."""
    from holdfast.workloads.hybrid.assignment import assign
    from holdfast.workloads.hybrid.recorded_types import spot_jobs
    from holdfast.workloads.hybrid.type_balance import imbalance
    from holdfast.workloads.table.job_table import write_job_table

    assignment, life = arguments.assignment, arguments.life
    check_plan(assignment)
    trace = read_log(arguments.trace, arguments.reading, arguments.nodes)
    trace = life.of_trace(trace, choose_machine_size(arguments.nodes, trace, arguments.trace))
    need_jobs(trace, arguments.trace)
    if arguments.output.endswith((".swf", ".swf.gz")):
        from holdfast.workloads.logs.swf import write_swf

        write_swf(trace, arguments.output)
        print(describe_reading(trace))
        print(f"{count_text(len(trace.jobs), 'jobs')} written to {arguments.output}")
        return
    jobs, remarks = life.of_jobs(trace, assign(trace, assignment, seed=arguments.seed))
    write_job_table(jobs, arguments.output)
    print(describe_reading(trace) + remarks)
    print(fill(composition(jobs, trace.unit, spot_jobs(trace, assignment.types)), rest="  "))
    print(f"{count_text(len(jobs), 'jobs')} written to {arguments.output}")
    lopsided = imbalance(trace, jobs, assignment)
    if lopsided:
        warn("prepare", lopsided)
