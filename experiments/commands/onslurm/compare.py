"""``holdfast slurm compare``: compare a replay on Slurm with the simulator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from experiments.commands.asking.arguments import check_outputs
from workloads.ground.parameters import Nodes, Parameter, Seconds

__all__ = ["Arguments", "main"]


@dataclass(kw_only=True, eq=False, repr=False)
class Arguments:
    """Options of the command."""

    replay: Annotated[
        tuple[str, ...],
        Parameter(
            "directory of 'holdfast slurm replay' or 'holdfast slurm snapshot', or a log with waits (sacct, SWF)",
            metavar="REPLAY",
            positional=True,
            repeated=True,
        ),
    ]
    nodes: Annotated[
        Nodes | None,
        Parameter("size of the machine", default="that of the log, or the most nodes held at once"),
    ] = None
    backfilling: Annotated[
        tuple[str, ...],
        Parameter(
            "rule to compare with; may be repeated",
            default="none, easy with depth 1 and 4, conservative, slurm",
            repeated=True,
        ),
    ] = ()
    tolerance: Annotated[Seconds, Parameter("difference of two starts that counts as none")] = 60.0
    lag: Annotated[Seconds, Parameter("longest time that Slurm takes to decide")] = 5.0
    output: Annotated[
        str | None,
        Parameter(
            "write NAME.csv, NAME-decisions.csv, NAME.png and NAME.pdf",
            default="nothing written",
            metavar="NAME",
            short="-o",
        ),
    ] = None


def main(arguments: Arguments) -> None:
    """Run the command."""
    from experiments.slurm.agreement import (
        AGREEMENT_COLUMNS,
        DECISION_COLUMNS,
        RULES,
        agreement,
        agreement_table,
        best_rule,
        replay_summary,
        wait_rows,
    )
    from experiments.slurm.recorded_replay import read_replay
    from experiments.slurm.site_snapshot import expand_snapshots
    from experiments.tables import write_csv
    from policies.backfilling import BACKFILLING

    rules = list(dict.fromkeys(arguments.backfilling or RULES))
    for rule in rules:
        _ = BACKFILLING[rule]
    table = None if arguments.output is None else f"{arguments.output}.csv"
    check_outputs(table, arguments.output)
    replays = [read_replay(path, arguments.nodes) for path in expand_snapshots(arguments.replay, "sacct.txt")]
    rows, differences, starts = [], [], []
    for number, replay in enumerate(replays):
        some, wrong, simulated = agreement(replay, rules, tolerance=arguments.tolerance, lag=arguments.lag)
        rows += some
        differences += wrong
        starts.append(simulated)
        print(f"{'' if not number else chr(10)}{replay_summary(replay)}\n{agreement_table(some)}")
    if table is not None and arguments.output is not None:
        from experiments.figures.recording.agreement import plot_agreement
        from experiments.figures.style import save

        best = best_rule(rows)
        figure = plot_agreement(rows, wait_rows(replays, starts, best), best)
        write_csv(table, rows, AGREEMENT_COLUMNS)
        write_csv(f"{arguments.output}-decisions.csv", differences, DECISION_COLUMNS)
        png, pdf = save(figure, arguments.output)
        print(f"written to {table}, {arguments.output}-decisions.csv, {png}, {pdf}")
