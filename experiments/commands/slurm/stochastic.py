"""``holdfast slurm stochastic``: run a small version of the checkpoint paper's experiments on a lab."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from holdfast.experiments.commands.options.arguments import new_directory
from holdfast.experiments.terminal import note
from holdfast.workloads.ground.errors import UnknownNameError
from holdfast.workloads.ground.parameters import Parameter, Seed, Values, wholes
from holdfast.workloads.ground.wording import count_text

__all__ = ["Arguments", "main"]

#: By the planner's names; the paper's are HPC, ALL-CKPT and DYN-PROG-COUNT.
_STRATEGIES = ("masi", "all-ckpt", "optimal")
#: Time for the start of a program, which 'holdfast submit' adds to each reservation [s].
_MARGIN = 10.0
_METRICS = ("utilization", "execution", "response", "reserved", "reservations", "all_done_s")


_NAMES = Values("NAME,...", lambda text: tuple(text.split(",")))


@dataclass(kw_only=True, eq=False, repr=False)
class Arguments:
    """Options of the command."""

    output: Annotated[str, Parameter("directory for the chains and the table", metavar="DIR", short="-o")]
    lab: Annotated[str, Parameter("lab to use", metavar="DIR")] = "slurm-lab"
    jobs: Annotated[int, wholes(1, 1000), Parameter("number of jobs, all submitted at once")] = 60
    applications: Annotated[
        tuple[str, ...],
        _NAMES,
        Parameter("applications in turn: Qball, SD or FCA", default=", the mix of Table 4"),
    ] = ("Qball", "SD", "SD", "FCA", "FCA")
    strategies: Annotated[
        tuple[str, ...], _NAMES, Parameter(f"strategies: {', '.join(_STRATEGIES)}", default=", all")
    ] = _STRATEGIES
    spare: Annotated[int, wholes(0, 20), Parameter("reservations beyond each plan")] = 4
    seed: Seed = 0


def main(arguments: Arguments) -> None:
    """Run the command."""
    from holdfast.experiments.papers.checkpoint.batch import (
        STRATEGY_NAMES,
        check_batch,
        draw_instance,
        plan_for,
        run_batch,
    )
    from holdfast.experiments.slurm.batch_run import ChainedJob, run_chains
    from holdfast.experiments.slurm.job_chain import plan_in_minutes
    from holdfast.experiments.slurm.lab import open_lab
    from holdfast.experiments.tables import render, write_csv
    from holdfast.workloads.ground.columns import Quantity

    count, names, strategies = arguments.jobs, list(arguments.applications), arguments.strategies
    check_batch(names, jobs=count)
    for name in strategies:
        if name not in _STRATEGIES:
            raise UnknownNameError("strategy", name, _STRATEGIES)
    out = new_directory(arguments.output)
    lab = open_lab(Path(arguments.lab).absolute())
    in_turn = [names[place % len(names)] for place in range(count)]
    instance = draw_instance({name: in_turn.count(name) for name in dict.fromkeys(names)}, 5, arguments.seed, 0)
    out.mkdir(exist_ok=True)
    rows = []
    for strategy in dict.fromkeys(strategies):
        folder = out / strategy
        folder.mkdir()
        jobs = [
            ChainedJob(runtime, plan_for(strategy, name, instance.past[name]))
            for name, runtime in zip(instance.applications, instance.runtimes.tolist(), strict=True)
        ]
        note(f"{STRATEGY_NAMES[strategy]}:")
        there = run_chains(lab, jobs, folder, spare=arguments.spare, log=note)
        here = _simulator_row(run_batch(instance, strategy, lab.nodes))
        minutes = _simulator_row(
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
    print(f"{count_text(count, 'jobs')} on {count_text(lab.nodes, 'nodes')}; written to {arguments.output}/batches.csv")


def _simulator_row(row: dict[str, Any]) -> dict[str, Any]:
    """A row of the simulator with the names of the others."""
    return row | {name: row[f"{name}_stretch"] for name in ("execution", "response", "reserved")}
