"""``holdfast info``: summarise a trace on one screen."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

from holdfast.experiments.commands.options.arguments import (
    LogReading,
    check_outputs,
    choose_machine_size,
    json_file,
    machine_size,
    read_log,
)
from holdfast.experiments.commands.options.machine_options import MachineFile, check_reading, fit_log, machine_remarks
from holdfast.experiments.terminal import fill, printed_text, warn
from holdfast.workloads.ground.parameters import Nodes, Parameter
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.ground.wording import count_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from holdfast.experiments.traces.description import Description
    from holdfast.simulator import Result
    from holdfast.workloads.logs.known_logs import Recognition
    from holdfast.workloads.logs.trace import Trace
    from holdfast.workloads.machines.machine_workload import MachineWorkload

__all__ = ["Arguments", "main"]

#: Mean waits of a partition.
_WAITS = ("recorded", "simulated")


@dataclass(kw_only=True, eq=False, repr=False)
class Arguments:
    """Options of the command."""

    trace: Annotated[
        str, Parameter("SWF, ALCF or sacct file, or a table with named columns", metavar="TRACE", positional=True)
    ]
    nodes: Annotated[Nodes | None, machine_size()] = None
    machine: MachineFile
    reading: LogReading
    no_simulation: Annotated[
        bool, Parameter("leave out the simulated waits, which take most of the time for a long trace")
    ] = False
    json: Annotated[str | None, json_file()] = None
    plot: Annotated[
        str | None, Parameter("draw the trace as FILE.png and FILE.pdf", default="not drawn", metavar="FILE")
    ] = None


def main(arguments: Arguments) -> None:
    """Run the command."""
    check_outputs(arguments.json, arguments.plot)
    with printed_text(arguments.json):
        document = _describe(arguments)
    if arguments.json is not None:
        from holdfast.experiments.output.json_files import write_json

        write_json(arguments.json, document)


def _describe(arguments: Arguments) -> dict[str, Any]:
    """Print the description of the trace, and draw it if asked; returns the JSON document."""
    from holdfast.experiments.recordings.machine_tables import blocked_jobs_warning
    from holdfast.experiments.traces.description import describe, describe_reading, need_jobs
    from holdfast.experiments.traces.trace_document import trace_document
    from holdfast.workloads.logs.known_logs import recognise_log
    from holdfast.workloads.logs.one_pool import caveats, missing_requests

    workload = None
    if arguments.machine.machine is not None:
        check_reading(arguments.nodes, arguments.reading)
        trace, workload = fit_log(arguments.trace, arguments.machine.machine, arguments.reading)
        nodes, users = trace.nodes or 0, trace.jobs.texts("user")
        about_pool = (*machine_remarks(workload, users, arguments.reading), *missing_requests(trace))
    else:
        trace = read_log(arguments.trace, arguments.reading, arguments.nodes)
        nodes = choose_machine_size(arguments.nodes, trace, arguments.trace)
        about_pool = caveats(trace, nodes)
        trace = trace.on_machine(nodes)
    need_jobs(trace, arguments.trace)
    print(describe_reading(trace))
    for sentence in about_pool:
        warn("info", sentence)
    about = describe(trace, nodes)
    known = recognise_log(arguments.trace, trace.header)
    _print([*_origin(known), *_machine_rows(trace, nodes, workload), *_job_rows(trace, about, workload), *_life(trace)])
    result = None if arguments.no_simulation else _simulate(trace, nodes, workload)
    if result is not None and (blocked := blocked_jobs_warning(result)):
        warn("info", blocked)
    _print(_waits(trace, result))
    document = trace_document(trace, nodes, about, result, about_pool)
    if known is not None:
        document["known_log"] = {"certainty": known.certainty, **asdict(known.log)}
    if workload is not None:
        from holdfast.experiments.traces.machine_comparison import MachineComparison

        beside = MachineComparison(trace, workload, result)
        print(f"\n{beside}")
        document["partitions"] = [_partition_entry(row) for row in beside.partitions]
    if arguments.plot:
        from holdfast.experiments.figures.planning.waits import plot_trace
        from holdfast.experiments.figures.style import save

        for path in save(plot_trace(trace, result), arguments.plot):
            print(f"drawn in {path}")
    return document


def _machine_rows(trace: Trace, nodes: int, workload: MachineWorkload | None) -> list[tuple[str, str]]:
    """The format of the log, what its header says, and the machine."""
    named = "".join(
        f", {key} {trace.header[key]}" for key in ("Computer", "Installation", "UnixStartTime") if key in trace.header
    )
    chosen = f", {trace.header['Where']}" if "Where" in trace.header else ""
    shape = _processors(trace) if workload is None else _shape(workload, trace.unit)
    return [
        ("format", f"{trace.format}{named}{chosen}"),
        ("machine", f"{count_text(nodes, trace.unit)}{shape}"),
    ]


def _job_rows(trace: Trace, about: Description, workload: MachineWorkload | None) -> list[tuple[str, str]]:
    """Submits, users, sizes and times of the jobs."""
    from holdfast.experiments.traces.calendar import submits_between

    between = submits_between(trace)
    load = "-" if math.isnan(about.load) else f"{100 * about.load:.1f} %{_without_gpus(trace, workload)}"
    sizes = [f"{size:,}: {share:.0%} of jobs, {work:.0%} of work" for size, share, work in about.sizes[:3]]
    requests = [f"{_time(value)}: {share:.0%}" for value, share in about.requests]
    mean_use, *use = about.used
    return [
        *([("submits", between)] if between else []),
        ("period", _period(about.days, len(trace.jobs))),
        ("offered load", load),
        ("users, projects", f"{about.users or '-'}, {about.projects or '-'}"),
        (trace.unit, _spread(about.nodes, "")),
        ("", ", ".join(sizes)),
        ("walltime", _spread_of_times(about.walltime)),
        ("", ", ".join(requests)),
        ("runtime", _spread_of_times(about.runtime)),
        ("runtime / walltime", f"mean {mean_use:.2f}, {_spread(use, '')}; {about.at_limit:.0%} killed"),
    ]


def _without_gpus(trace: Trace, workload: MachineWorkload | None) -> str:
    """What the offered load counts, where the machine has GPUs as well."""
    return f" of the {trace.unit}" if workload is not None and workload.machine.total("gpus") else ""


def _partition_entry(row: Mapping[str, Any]) -> dict[str, Any]:
    """A partition in the JSON document, with waits in hours."""
    entry = {name: row[name] for name in ("partition", "jobs", "cores", "most_cores", "gpus", "most_gpus")}
    for name in _WAITS:
        entry[f"{name}_wait_h"] = None if row[name] is None else row[name] / 3600
    return entry


def _origin(known: Recognition | None) -> list[tuple[str, str]]:
    """What the catalogue of public logs says."""
    if known is None:
        return []
    log = known.log
    return [
        ("public log", f"{log.title} ({known.certainty}); {log.terms}"),
        ("", f"not modelled: {log.missing}"),
    ]


def _print(rows: Sequence[tuple[str, str]]) -> None:
    for name, text in rows:
        print(fill(text, f"  {name:<19}", " " * 21), flush=True)


def _shape(workload: MachineWorkload, unit: str) -> str:
    """Nodes, where sizes count something else, and partitions of a machine."""
    machine = workload.machine
    count = len(machine.partitions)
    nodes = "" if unit == "nodes" else f" of {count_text(machine.size, 'nodes')}"
    return f"{nodes} in {count_text(count, 'partitions')}"


def _simulate(trace: Trace, nodes: int, workload: MachineWorkload | None) -> Result:
    """FCFS/EASY on the trace as it is, with a bar if it takes some seconds."""
    from holdfast.experiments.sweeps.progress import Bar
    from holdfast.policies.mechanism import BASELINE
    from holdfast.simulator import simulate
    from holdfast.workloads.hybrid.assignment import as_rigid

    jobs = as_rigid(trace)
    with Bar(len(jobs), [BASELINE]) as bar:
        return simulate(
            jobs, nodes, events=False, on_machine=workload, progress=lambda ended: bar.advance(BASELINE, ended)
        )


def _processors(trace: Trace) -> str:
    """How to count nodes, where the header says how many processors each has."""
    from holdfast.workloads.logs.swf_header import header_sizes

    if "MachineFile" in trace.header:
        return f"; {trace.header['MachineFile']}"
    procs, nodes = header_sizes(trace.header)
    if trace.unit == "nodes" or not procs or not nodes or procs % nodes:
        return ""
    each = procs // nodes
    return f"; by the header {nodes:,} nodes of {count_text(each, 'processors')}: --procs-per-node {each} counts nodes"


def _life(trace: Trace) -> list[tuple[str, str]]:
    """What the trace records of withdrawals and dependencies, where it does."""
    import numpy as np

    from holdfast.experiments.traces.trace_document import dependent_jobs, median_cancelled_wait

    rows = []
    cancelled = median_cancelled_wait(trace)
    if cancelled is not None:
        count, median = cancelled
        rows.append(("cancelled", f"{count:,} before their start, after {_time(median)} of waiting (median)"))
    following = dependent_jobs(trace)
    if following:
        thinking = int((~np.isnan(trace.jobs.column("think_time"))).sum())
        rows.append(
            (
                "dependencies",
                f"{count_text(following, 'jobs')} after another one, {thinking:,} of them with a think time",
            )
        )
    return rows


def _period(days: float, jobs: int) -> str:
    """How long jobs were submitted, and at which rate: of a short log in the hour."""
    if days >= 1:
        return f"{days:.1f} days of submits, {jobs / days:.1f} jobs a day"
    if not days:
        return "all submits at once"
    return f"{_time(86400 * days)} of submits, {jobs / (24 * days):.1f} jobs an hour"


def _scale(seconds: float) -> tuple[float, str]:
    """The unit in which a time says something, and its length [s]."""
    return (3600.0, " h") if seconds >= 3600 or seconds == 0 else (60.0, " min") if seconds >= 60 else (1.0, " s")


def _time(seconds: float) -> str:
    length, unit = _scale(seconds)
    return f"{seconds / length:.3g}{unit}"


def _spread_of_times(values: Sequence[float]) -> str:
    length, unit = _scale(values[2])
    return _spread([value / length for value in values], unit)


def _spread(values: Sequence[float], unit: str) -> str:
    # No exponents: 1,024 nodes are not 1.02e+03.
    low, quarter, median, upper, high = (f"{value:,.0f}" if value >= 100 else f"{value:.3g}" for value in values)
    return f"median {median}{unit} (half in {quarter} - {upper}{unit}, 90 % in {low} - {high}{unit})"


def _waits(trace: Trace, result: Result | None) -> list[tuple[str, str]]:
    """Simulated FCFS/EASY, unless it is left out, beside recorded waits, over the jobs with recorded waits."""
    import numpy as np

    def wait_summary(waits: NDArray[np.float64]) -> str:
        mean, median, high = float(np.mean(waits)), *np.percentile(waits, (50, 95))
        length, unit = _scale(mean)
        return (
            f"mean {mean / length:.2f}{unit}, median {median / length:.2f}{unit}, 95 % within {high / length:.2f}{unit}"
        )

    recorded = trace.jobs.column("wait")
    known = ~np.isnan(recorded)
    count = int(known.sum())
    summary = wait_summary(recorded[known]) if count else "the trace records none"
    some = 0 < count < len(recorded)
    if result is None:
        return [("wait, recorded", f"{summary}; for {count_text(count, 'jobs')}" if some else summary)]
    ran, simulated = result.records.started, result.records.wait / SECOND
    if not ran.any():
        return [("wait, FCFS/EASY", "no job starts"), ("wait, recorded", summary)]
    rows = [("wait, FCFS/EASY", wait_summary(simulated[ran])), ("wait, recorded", summary)]
    if some and (known & ran).any():
        rows.append(
            ("", f"for {count_text(count, 'jobs')}; simulated for these: {wait_summary(simulated[known & ran])}")
        )
    return rows
