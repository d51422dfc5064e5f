"""``holdfast calibrate``: fit the order and the backfilling rule to the recorded starts of a log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from holdfast.experiments.commands.options.arguments import LogReading, check_outputs, machine_size, read_options
from holdfast.workloads.ground.parameters import Nodes, Parameter, wholes

__all__ = ["Arguments", "main"]

#: Rules in the table.
_SHOWN = 5


@dataclass(kw_only=True, eq=False, repr=False)
class Arguments:
    """Options of the command."""

    log: Annotated[
        str, Parameter("SWF, ALCF or sacct file with waits, or 'slurm snapshot'", metavar="LOG", positional=True)
    ]
    output: Annotated[
        str | None,
        Parameter("write the rule and its errors, for --order FILE", default="not written", metavar="FILE", short="-o"),
    ] = None
    machine: Annotated[Nodes | None, machine_size()] = None
    weeks: Annotated[
        int, wholes(2, 1000), Parameter("most weeks to compare; the rule is fitted to every second one")
    ] = 20
    workers: Annotated[int | None, wholes(1), Parameter("most processes", default="one for each core")] = None
    reading: LogReading


def main(arguments: Arguments) -> None:
    """Run the command."""
    import shlex
    from pathlib import Path

    from holdfast.experiments.commands.options.cluster_state_options import write_document
    from holdfast.experiments.forecast.calibration import calibrate, draw_weeks
    from holdfast.experiments.forecast.log_cursor import Past
    from holdfast.experiments.forecast.sources import read_log
    from holdfast.experiments.slurm.site_snapshot import is_snapshot, read_snapshot
    from holdfast.experiments.tables import render
    from holdfast.experiments.terminal import warn
    from holdfast.workloads.ground.columns import Quantity
    from holdfast.workloads.ground.errors import InputError
    from holdfast.workloads.logs.machine_size import with_assumed_size
    from holdfast.workloads.logs.node_list import read_node_count
    from holdfast.workloads.logs.one_pool import caveats

    check_outputs(arguments.output, None)
    log, nodes = arguments.log, arguments.machine
    if is_snapshot(log):
        snapshot = read_snapshot(log)
        log, listed = snapshot.need("sacct.txt"), snapshot.find("nodes.txt")
        nodes = nodes or (None if listed is None else read_node_count(Path(listed)))
    trace = read_log(log, **read_options(arguments.reading))
    sized = with_assumed_size(trace)
    nodes = nodes or sized.nodes
    if nodes is None:
        raise InputError(f"{arguments.log} does not say how many nodes the machine has: give --machine")
    for text in caveats(trace, nodes, "--machine"):
        warn("calibrate", text)
    past = Past(trace, nodes)
    weeks = draw_weeks(past, arguments.weeks)
    found = calibrate(past, weeks, arguments.workers)
    rule = found.rule
    words = shlex.join(["--order", rule.order, "--backfilling", rule.backfilling])
    print(f"{words} agrees best with {sum(len(week.compared) for week in weeks[::2]):,} recorded starts")
    tried = [{**one._asdict(), "factor": factor} for one, factor in found.tried[:_SHOWN]]
    columns = [Quantity("order"), Quantity("backfilling"), Quantity("factor", digits=2)]
    print(f"Mean factor between simulated and recorded waits, the best of {len(found.tried)} rules:")
    print(render(tried, columns, trace.unit))
    print("What remains in the weeks held out, with true runtimes:")
    columns = [
        Quantity("group", "jobs of"),
        Quantity("jobs", "jobs"),
        Quantity("wait", "mean", "h", "wait", 1 / 3600, 2),
        Quantity("error", "median", "h", "error", 1 / 3600, 2),
        Quantity("factor", "mean", "", "factor", 1, 2),
    ]
    rows = [one.row() for one in found.remaining] + [{**found.usual.row(), "group": "all, FCFS with EASY"}]
    print(render(rows, columns, trace.unit))
    if arguments.output is not None:
        write_document(arguments.output, {"log": arguments.log, "nodes": nodes, **found.document()})
