"""``holdfast slurm replay``: a workload on a real Slurm, beside the simulator."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from experiments.commands.asking.arguments import add_trust, new_directory, whole
from workloads.ground.errors import InputError
from workloads.ground.units import LARGEST_SIZE

__all__ = ["add_arguments", "main"]

#: More jobs than that on a site's cluster are no test.
_MOST = 10_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("workload", metavar="WORKLOAD", help="trace or job table; each job sleeps for its runtime")
    parser.add_argument("-o", "--output", metavar="DIR", required=True, help="directory for what happened")
    parser.add_argument("--lab", metavar="DIR", help="lab to submit to (default: the Slurm of this machine)")
    parser.add_argument(
        "--nodes", metavar="N", help="size of the machine (default: that of the lab, else of the workload)"
    )
    parser.add_argument(
        "--sbatch",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="further option of sbatch in one word, as --sbatch=--partition=test; may be repeated (default: none)",
    )
    parser.add_argument("--yes", action="store_true", help="do not ask before submitting to the Slurm of this machine")
    add_trust(parser)


def main(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from experiments.slurm.agreement import RULES, agreement, agreement_table, replay_told
    from experiments.slurm.lab import open_lab
    from experiments.slurm.replaying import LabSlurm, SiteSlurm, replay_on
    from experiments.slurm.replays import ACTUAL, read_replay, write_actual
    from experiments.slurm.sequences import check_options
    from experiments.slurm.submits import submits_of
    from workloads.logs.readers import read_workload
    from workloads.logs.trace import Trace

    check_options(arguments.sbatch)
    nodes = None if arguments.nodes is None else whole(arguments.nodes, "--nodes", 1, LARGEST_SIZE)
    out = new_directory(arguments.output)
    lab = None if arguments.lab is None else open_lab(Path(arguments.lab).absolute())
    workload = read_workload(arguments.workload)
    recorded = workload.nodes if isinstance(workload, Trace) else None
    size = nodes or (lab.nodes if lab else recorded)
    if size is None:
        raise InputError(f"{arguments.workload}: does not say how large the machine is; give it with --nodes")
    submits = submits_of(workload.jobs, size)
    if len(submits) > _MOST:
        raise InputError(f"{arguments.workload}: has {len(submits):,} jobs; a replay takes at most {_MOST:,}")
    if lab is None and not arguments.yes:
        _ask(len(submits), sum(one.nodes * one.runtime for one in submits) / 3600)
    rows = replay_on(LabSlurm(lab) if lab else SiteSlurm(), submits, arguments.sbatch, _tell)
    out.mkdir(exist_ok=True)
    write_actual(out, rows)
    replay = read_replay(out, size)
    some, _, _ = agreement(replay, RULES, tolerance=60.0, lag=5.0)
    print(f"{replay_told(replay)}\n{agreement_table(some)}")
    left = len(submits) - len(rows)
    if left:
        print(f"{left:,} jobs did not run")
    told = Path(arguments.output)
    print(f"written to {told / ACTUAL}; 'holdfast slurm compare {told} --nodes {size} -o NAME' draws it")


def _ask(jobs: int, hours: float) -> None:
    """Ask before jobs go to a cluster of others."""
    print(
        f"Submit {jobs:,} sleeping jobs of {hours:,.1f} node-hours to the Slurm of this machine? [y/N] ",
        end="",
        flush=True,
    )
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise InputError("nothing was submitted")


def _tell(line: str) -> None:
    print(line, file=sys.stderr)
