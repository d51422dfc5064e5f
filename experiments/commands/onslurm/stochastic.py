"""``holdfast slurm stochastic``: a small version of the checkpoint paper's experiments on a lab."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from experiments.commands.asking.arguments import new_directory, whole
from workloads.ground.errors import UnknownNameError

__all__ = ["add_arguments", "main"]

#: By the planner's names; the paper's are HPC, ALL-CKPT and DYN-PROG-COUNT.
_STRATEGIES = ("masi", "all-ckpt", "optimal")
#: Time for the start of a program, which 'holdfast submit' adds to each reservation [s].
_MARGIN = 10.0
_METRICS = ("utilization", "execution", "response", "reserved", "reservations", "all_done_s")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("-o", "--output", metavar="DIR", required=True, help="directory for the chains and the table")
    parser.add_argument("--lab", metavar="DIR", default="slurm-lab", help="lab to use (default slurm-lab)")
    parser.add_argument("--jobs", metavar="N", default="60", help="number of jobs, all submitted at once (default 60)")
    parser.add_argument(
        "--applications",
        metavar="NAME,...",
        default="Qball,SD,SD,FCA,FCA",
        help="applications in turn: Qball, SD or FCA (default Qball,SD,SD,FCA,FCA, the mix of Table 4)",
    )
    parser.add_argument(
        "--strategies",
        metavar="NAME,...",
        default=",".join(_STRATEGIES),
        help=f"strategies: {', '.join(_STRATEGIES)} (default: all)",
    )
    parser.add_argument("--spare", metavar="N", default="4", help="reservations beyond each plan (default 4)")
    parser.add_argument("--seed", metavar="SEED", default="0", help="seed of every random choice (default 0)")


def main(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from experiments.papers.checkpoint.batch import STRATEGY_NAMES, check_batch, draw_instance, plan_for, run_batch
    from experiments.slurm.batchrun import ChainedJob, run_chains
    from experiments.slurm.lab import open_lab
    from experiments.slurm.links import plan_in_minutes
    from experiments.tables import render, write_csv
    from workloads.ground.quantities import Quantity

    count, seed = whole(arguments.jobs, "--jobs", 1, 1000), whole(arguments.seed, "--seed")
    spare = whole(arguments.spare, "--spare", 0, 20)
    names, strategies = arguments.applications.split(","), arguments.strategies.split(",")
    check_batch(names, jobs=count)
    for name in strategies:
        if name not in _STRATEGIES:
            raise UnknownNameError("strategy", name, _STRATEGIES)
    out = new_directory(arguments.output)
    lab = open_lab(Path(arguments.lab).absolute())
    in_turn = [names[place % len(names)] for place in range(count)]
    instance = draw_instance({name: in_turn.count(name) for name in dict.fromkeys(names)}, 5, seed, 0)
    out.mkdir(exist_ok=True)
    rows = []
    for strategy in dict.fromkeys(strategies):
        folder = out / strategy
        folder.mkdir()
        jobs = [
            ChainedJob(runtime, plan_for(strategy, name, instance.past[name]))
            for name, runtime in zip(instance.applications, instance.runtimes.tolist(), strict=True)
        ]
        print(f"{STRATEGY_NAMES[strategy]}:", file=sys.stderr)
        there = run_chains(lab, jobs, folder, spare=spare, tell=lambda line: print(line, file=sys.stderr))
        here = _simulated(run_batch(instance, strategy, lab.nodes))
        minutes = _simulated(
            run_batch(instance, strategy, lab.nodes, carried_out=lambda plan: plan_in_minutes(plan, _MARGIN))
        )
        for where, found in (("Slurm", there), ("simulator", here), ("simulator, in minutes", minutes)):
            rows.append(
                {"strategy": STRATEGY_NAMES[strategy], "where": where, **{name: found[name] for name in _METRICS}}
            )
        write_csv(out / "batches.csv", rows, ("strategy", "where", *_METRICS))
    shown = (
        Quantity("strategy"),
        Quantity("where"),
        Quantity("utilization", "utilisation", "%", scale=100.0, digits=1),
        Quantity("execution", "execution", digits=2, group="stretch"),
        Quantity("response", "with waits", digits=2, group="stretch"),
        Quantity("reserved", "reserved", digits=2, group="stretch"),
        Quantity("reservations", "reservations", "a job", digits=2),
        Quantity("all_done_s", "all done", "h", scale=1 / 3600, digits=2),
    )
    print(render(rows, shown))
    print(f"{count:,} jobs on {lab.nodes:,} nodes; written to {arguments.output}/batches.csv")


def _simulated(row: dict[str, Any]) -> dict[str, Any]:
    """A row of the simulator with the names of the others."""
    return row | {name: row[f"{name}_stretch"] for name in ("execution", "response", "reserved")}
