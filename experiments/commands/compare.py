"""``holdfast compare``: compare two results of the same jobs, job by job."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from holdfast.experiments.commands.options.arguments import TrustOption, check_outputs, json_file
from holdfast.experiments.terminal import warn
from holdfast.workloads.ground.parameters import Parameter

__all__ = ["Arguments", "main"]


@dataclass(kw_only=True, eq=False, repr=False)
class Arguments:
    """Options of the command."""

    result: Annotated[
        tuple[str, ...],
        Parameter(
            "two results, each DIR or DIR:RUN with a mechanism or a label ('out:sjf / easy'), or one DIR of two runs",
            metavar="RESULT",
            positional=True,
            repeated=True,
        ),
    ]
    by: Annotated[
        str | None,
        Parameter(
            "groups of jobs to compare: user, project (or account), partition, qos, size, type, week or hour",
            default="all jobs together",
        ),
    ] = None
    metric: Annotated[
        str,
        Parameter("metric to show; the table that -o writes has all", metavar="{wait_h,turnaround_h,bounded_slowdown}"),
    ] = "wait_h"
    output: Annotated[
        str | None,
        Parameter("write NAME.csv, NAME.png and NAME.pdf", default="nothing written", metavar="NAME", short="-o"),
    ] = None
    json: Annotated[str | None, json_file()] = None
    trust: TrustOption = False


def main(arguments: Arguments) -> None:
    """Run the command."""
    from holdfast.experiments.figures.recording.paired_gains import plot_gains
    from holdfast.experiments.figures.style import save
    from holdfast.experiments.recordings.gain_rows import GAIN_COLUMNS
    from holdfast.experiments.recordings.job_groups import GROUPS
    from holdfast.experiments.recordings.paired_comparison import MEASURES, gains, read_pair
    from holdfast.experiments.tables import write_csv
    from holdfast.workloads.ground.errors import InputError, UnknownNameError

    if len(arguments.result) > 2:
        raise InputError(f"compares two results, not {len(arguments.result)}")
    if arguments.by is not None and arguments.by not in GROUPS:
        raise UnknownNameError("group", arguments.by, GROUPS)
    if arguments.metric not in MEASURES:
        raise UnknownNameError("metric", arguments.metric, list(MEASURES))
    table = None if arguments.output is None else f"{arguments.output}.csv"
    check_outputs(table, arguments.output)
    check_outputs(arguments.json, None)
    pair = read_pair(arguments.result, trust=arguments.trust)
    found = gains(pair.first, pair.second, arguments.by, pair.names, pair.windows)
    if arguments.json != "-":
        print(found.text(arguments.metric))
    if found.remark:
        warn("compare", found.remark)
    if table is not None and arguments.output is not None:
        write_csv(table, found.rows, GAIN_COLUMNS)
        png, pdf = save(plot_gains(found, arguments.metric), arguments.output)
        if arguments.json != "-":
            print(f"written to {table}, {png}, {pdf}")
    if arguments.json is not None:
        from holdfast.experiments.output.json_files import write_json

        write_json(arguments.json, found.document())
