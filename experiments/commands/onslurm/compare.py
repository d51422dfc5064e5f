"""``holdfast slurm compare``: a replay on Slurm beside the simulator."""

from __future__ import annotations

import argparse

from experiments.commands.asking.arguments import check_outputs, duration, whole
from workloads.ground.units import LARGEST_SIZE

__all__ = ["add_arguments", "main"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "replay",
        metavar="REPLAY",
        nargs="+",
        help="directory of 'holdfast slurm replay', or a log that records waits (sacct, SWF)",
    )
    parser.add_argument(
        "--nodes", metavar="N", help="size of the machine (default: that of the log, or the most nodes held at once)"
    )
    parser.add_argument(
        "--backfilling",
        metavar="NAME",
        action="append",
        help="rule to compare with; may be repeated (default: none, easy with depth 1 and 4, conservative, slurm)",
    )
    parser.add_argument(
        "--tolerance",
        metavar="TIME",
        default="60s",
        help="difference of two starts that counts as none [s] (default 60s)",
    )
    parser.add_argument(
        "--lag", metavar="TIME", default="5s", help="longest time that Slurm takes to decide [s] (default 5s)"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="NAME",
        help="write NAME.csv, NAME-decisions.csv, NAME.png and NAME.pdf (default: nothing written)",
    )


def main(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from experiments.slurm.agreement import (
        AGREEMENT_COLUMNS,
        DECISION_COLUMNS,
        RULES,
        agreement,
        agreement_table,
        replay_told,
    )
    from experiments.slurm.replays import read_replay
    from experiments.tables import write_csv
    from policies.backfilling import BACKFILLING

    nodes = None if arguments.nodes is None else whole(arguments.nodes, "--nodes", 1, LARGEST_SIZE)
    tolerance, lag = duration(arguments.tolerance, "--tolerance"), duration(arguments.lag, "--lag")
    rules = list(dict.fromkeys(arguments.backfilling or RULES))
    for rule in rules:
        _ = BACKFILLING[rule]
    table = None if arguments.output is None else f"{arguments.output}.csv"
    check_outputs(table, arguments.output)
    replays = [read_replay(path, nodes) for path in arguments.replay]
    rows, differences, starts = [], [], []
    for number, replay in enumerate(replays):
        some, wrong, simulated = agreement(replay, rules, tolerance=tolerance, lag=lag)
        rows += some
        differences += wrong
        starts.append(simulated)
        print(f"{'' if not number else chr(10)}{replay_told(replay)}\n{agreement_table(some)}")
    if table is not None:
        from experiments.figures.recording.agreement import plot_agreement
        from experiments.figures.style import save

        figure = plot_agreement(replays, rows, starts)
        write_csv(table, rows, AGREEMENT_COLUMNS)
        write_csv(f"{arguments.output}-decisions.csv", differences, DECISION_COLUMNS)
        png, pdf = save(figure, arguments.output)
        print(f"written to {table}, {arguments.output}-decisions.csv, {png}, {pdf}")
