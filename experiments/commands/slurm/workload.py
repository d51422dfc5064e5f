"""``holdfast slurm workload``: write a small workload for a replay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from holdfast.experiments.commands.options.arguments import check_outputs
from holdfast.workloads.ground.parameters import Parameter, Positive, Seed, wholes

__all__ = ["Arguments", "main"]


@dataclass(kw_only=True, eq=False, repr=False)
class Arguments:
    """Options of the command."""

    output: Annotated[str, Parameter("file to write (SWF)", metavar="FILE.swf", short="-o")]
    jobs: Annotated[int, wholes(1, 10_000), Parameter("number of jobs")] = 100
    nodes: Annotated[int, wholes(1, 10_000), Parameter("size of the machine [nodes]")] = 16
    load: Annotated[Positive, Parameter("work offered over what the machine can do")] = 1.0
    seed: Seed = 0


def main(arguments: Arguments) -> None:
    """Run the command."""
    from holdfast.experiments.slurm.submitted_jobs import generate_workload
    from holdfast.workloads.logs.swf import write_swf

    jobs, nodes = arguments.jobs, arguments.nodes
    check_outputs(arguments.output, None)
    trace = generate_workload(jobs, nodes, arguments.load, arguments.seed)
    write_swf(trace, arguments.output)
    print(f"{jobs:,} jobs of {trace.jobs[-1].submit / 3600:.1f} h on {nodes:,} nodes written to {arguments.output}")
