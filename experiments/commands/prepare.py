"""``holdfast prepare``: turn a trace into a job table, with every random choice made, or into a log in SWF."""

from __future__ import annotations

import argparse
import sys

from experiments.commands.asking.arguments import add_preparation, add_reading, assignment_of, machine_of, read_log
from experiments.commands.asking.life import add_life, life_of
from experiments.traces.description import composition, left_out, need_jobs

__all__ = ["add_arguments", "main"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("trace", metavar="TRACE", help="SWF, ALCF or sacct file, or a table with named columns")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        required=True,
        help="job table to write: .csv or .parquet; .swf or .swf.gz: the cleaned log in SWF, without types",
    )
    add_reading(parser)
    add_preparation(parser)
    add_life(parser)


def main(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from workloads.hybrid.assignment import assign
    from workloads.hybrid.imbalance import imbalance
    from workloads.table.jobtable import write_job_table

    assignment, seed = assignment_of(arguments)
    life = life_of(arguments)
    trace = read_log(arguments, arguments.trace)
    trace = life.of_trace(trace, machine_of(arguments, trace, arguments.trace))
    need_jobs(trace, arguments.trace)
    if arguments.output.endswith((".swf", ".swf.gz")):
        from workloads.logs.swf import write_swf

        write_swf(trace, arguments.output)
        print(left_out(trace))
        print(f"{len(trace.jobs):,} jobs written to {arguments.output}")
        return
    jobs, told = life.of_jobs(trace, assign(trace, assignment, seed=seed))
    write_job_table(jobs, arguments.output)
    print(left_out(trace) + told)
    print(composition(jobs, trace.unit))
    print(f"{len(jobs):,} jobs written to {arguments.output}")
    lopsided = imbalance(trace, jobs, assignment)
    if lopsided:
        print(f"holdfast prepare: {lopsided}", file=sys.stderr)
