"""``holdfast compare``: two results of the same jobs, job by job."""

from __future__ import annotations

import argparse
import sys

from experiments.commands.asking.arguments import add_trust, check_outputs

__all__ = ["add_arguments", "main"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "result",
        metavar="RESULT",
        nargs="+",
        help="two results, each DIR or DIR:RUN with a mechanism or a label ('out:sjf / easy'), or one DIR of two runs",
    )
    parser.add_argument(
        "--by",
        metavar="NAME",
        help="groups of jobs to compare: user, project (or account), partition, qos, size, type or week (default: all "
        "jobs together)",
    )
    parser.add_argument(
        "--metric",
        metavar="{wait_h,turnaround_h,bounded_slowdown}",
        default="wait_h",
        help="metric to show; the table that -o writes has all (default wait_h)",
    )
    parser.add_argument(
        "-o", "--output", metavar="NAME", help="write NAME.csv, NAME.png and NAME.pdf (default: nothing written)"
    )
    add_trust(parser)


def main(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from experiments.figures.recording.gains import plot_gains
    from experiments.figures.style import save
    from experiments.recordings.gains import GAIN_COLUMNS, GROUPS, MEASURES, gains, read_pair
    from experiments.tables import write_csv
    from workloads.ground.errors import InputError, UnknownNameError

    if len(arguments.result) > 2:
        raise InputError(f"compares two results, not {len(arguments.result)}")
    if arguments.by is not None and arguments.by not in GROUPS:
        raise UnknownNameError("group", arguments.by, GROUPS)
    if arguments.metric not in MEASURES:
        raise UnknownNameError("metric", arguments.metric, list(MEASURES))
    table = None if arguments.output is None else f"{arguments.output}.csv"
    check_outputs(table, arguments.output)
    first, second, called = read_pair(arguments.result, trust=arguments.trust)
    found = gains(first, second, arguments.by, called)
    print(found.text(arguments.metric))
    if found.remark:
        print(f"holdfast compare: {found.remark}", file=sys.stderr)
    if table is not None:
        write_csv(table, found.rows, GAIN_COLUMNS)
        png, pdf = save(plot_gains(found, arguments.metric), arguments.output)
        print(f"written to {table}, {png}, {pdf}")
