"""``holdfast slurm workload``: a small workload for a replay."""

from __future__ import annotations

import argparse

from experiments.commands.asking.arguments import check_outputs, number, whole

__all__ = ["add_arguments", "main"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("-o", "--output", metavar="FILE.swf", required=True, help="file to write (SWF)")
    parser.add_argument("--jobs", metavar="N", default="100", help="number of jobs (default 100)")
    parser.add_argument("--nodes", metavar="N", default="16", help="size of the machine [nodes] (default 16)")
    parser.add_argument(
        "--load", metavar="NUMBER", default="1", help="work offered over what the machine can do (default 1)"
    )
    parser.add_argument("--seed", metavar="SEED", default="0", help="seed of every random choice (default 0)")


def main(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from experiments.slurm.submits import made_workload
    from workloads.logs.swf import write_swf

    jobs, nodes = whole(arguments.jobs, "--jobs", 1, 10_000), whole(arguments.nodes, "--nodes", 1, 10_000)
    load, seed = number(arguments.load, "--load"), whole(arguments.seed, "--seed")
    check_outputs(arguments.output, None)
    trace = made_workload(jobs, nodes, load, seed)
    write_swf(trace, arguments.output)
    print(f"{jobs:,} jobs of {trace.jobs[-1].submit / 3600:.1f} h on {nodes:,} nodes written to {arguments.output}")
