"""A log beside a replay on its machine: waits by partition, use of resources, and visible causes of a difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.experiments.tables import columns_with_values, render
from holdfast.simulator import Result
from holdfast.workloads.ground.columns import Quantity
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.logs.cleaning import NO_WALLTIME
from holdfast.workloads.logs.trace import Trace
from holdfast.workloads.machines.machine_workload import MachineWorkload, least_use

__all__ = ["comparison_text", "difference_causes", "partition_waits", "resource_peaks"]

_PARTITIONS = (
    Quantity("partition"),
    Quantity("jobs"),
    Quantity("recorded", "recorded", "h", "mean wait", scale=1 / 3600, digits=1),
    Quantity("simulated", "simulated", "h", "mean wait", scale=1 / 3600, digits=1),
    Quantity("cores", "in use", "", "cores"),
    Quantity("most_cores", "there", "", "cores"),
    Quantity("gpus", "in use", "", "GPUs"),
    Quantity("most_gpus", "there", "", "GPUs"),
)
_RESOURCES = (
    Quantity("resource"),
    Quantity("peak", "in use", "at most"),
    Quantity("capacity", "there"),
    Quantity("share", "share", "%", scale=100.0, digits=1),
)
#: Waits differ visibly if one is larger by this factor, and by this time [s].
_FACTOR, _LEAST = 1.5, 300.0
#: Jobs that start so soon in the simulation did not wait for nodes [s].
_AT_ONCE = 60.0
#: A machine of which less was ever in use was not full [share].
_FULL = 0.9
#: Shares below it are errors of a log.
_SMALL = 0.01


def partition_waits(trace: Trace, workload: MachineWorkload, result: Result | None) -> list[dict[str, Any]]:
    """A row for each partition: jobs with a recorded wait, mean waits [s], and cores and GPUs in use at once.

    Without a recorded start in a partition, what was in use there is None.

    Parameters
    ----------
    trace
        The log on the machine.
    workload
        The requests of its jobs.
    result
        Its replay; None: not simulated.
    """
    machine = workload.machine
    totals = _totals(trace, workload)
    names = np.array(trace.jobs.texts("partition"), object)
    waits, simulated = _waits(trace, result)
    rows = []
    for partition in machine.partitions:
        chosen = names == partition.name
        known = chosen & ~np.isnan(waits)
        if not chosen.any():
            continue
        row: dict[str, Any] = {
            "partition": partition.name,
            "jobs": int(chosen.sum()),
            "recorded": float(waits[known].mean()) if known.any() else None,
            "simulated": None,
        }
        compared = known if known.any() else chosen
        if result is not None:
            row["simulated"] = float(simulated[compared].mean())
        for place, name in ((0, "cores"), (2, "gpus")):
            most = machine.total(name, partition.nodes)
            row[name] = _peak(trace, totals[:, place], chosen) if most and known.any() else None
            row[f"most_{name}"] = most or None
        rows.append(row)
    return rows


def resource_peaks(trace: Trace, workload: MachineWorkload) -> list[dict[str, Any]]:
    """A row for each resource: the most that was requested by running jobs at once, and what the machine has."""
    table = workload.table
    totals = _totals(trace, workload)
    rows = []
    for place, name in enumerate(("cores", "memory", "gpus")):
        capacity = workload.machine.total(name)
        if not capacity or (name == "memory" and not all(table.counts_memory)):
            continue
        peak = _peak(trace, totals[:, place], np.ones(len(trace.jobs), np.bool_))
        rows.append({"resource": name, "peak": peak, "capacity": capacity, "share": peak / capacity})
    return rows


def difference_causes(
    trace: Trace, workload: MachineWorkload, result: Result | None, partitions: Sequence[dict[str, Any]]
) -> list[str]:
    """Visible causes of a difference between recorded and simulated waits, a sentence each."""
    machine, found = workload.machine, []
    peaks = resource_peaks(trace, workload)
    found += [
        f"jobs held up to {row['peak']:,} {_unit(row['resource'])} at once, and the machine has {row['capacity']:,}: "
        "nodes are missing in its file, or jobs got less than they asked for"
        for row in peaks
        if row["share"] > 1
    ]
    if result is None:
        return found
    waits, simulated = _waits(trace, result)
    names = np.array(trace.jobs.texts("partition"), object)
    longer = shorter = False
    for row in partitions:
        if row["recorded"] is None:
            continue
        gap = row["recorded"] - row["simulated"]
        here = (names == row["partition"]) & ~np.isnan(waits)
        if gap > _LEAST and row["recorded"] > _FACTOR * row["simulated"]:
            longer = True
            at_once = here & (simulated <= _AT_ONCE)
            share = waits[at_once].sum() / waits[here].sum()
            found.append(
                f"{row['partition']}: jobs waited longer than here, and {100 * share:.0f} % of the waiting is of jobs "
                "that start at once here: limits, priorities, holds or drained nodes, which neither log nor file name"
            )
        shorter = shorter or (-gap > _LEAST and row["simulated"] > _FACTOR * row["recorded"])
    most = max((row["share"] for row in peaks), default=0.0)
    if longer and 0 < most < _FULL:
        found.append(
            f"at most {100 * most:.0f} % of any resource was in use while jobs waited: nodes were away, or the machine "
            "of the file is larger than that of the log"
        )
    qos = {request.qos for request in workload.requests if request.qos}
    if longer and not machine.limits:
        many = f"the log has {len(qos):,} QOS, and " if len(qos) > 1 else ""
        found.append(f"{many}the machine has no limits: add those of QOS, accounts and users as [[limits]]")
    count = trace.remarks.get(NO_WALLTIME, 0) / len(trace.jobs)
    if count >= _SMALL and (longer or shorter):
        found.append(f"{100 * count:.0f} % of the jobs have no requested walltime: their runtimes are used")
    if shorter:
        found.append(
            "where simulated waits are longer, jobs may have got less than they asked for, or the site puts other jobs "
            "first than FCFS (--order of 'holdfast run')"
        )
    # What --where leaves out has a warning of its own.
    left = sum(count for reason, count in trace.excluded.items() if not reason.startswith("not "))
    if left >= _SMALL * (left + len(trace.jobs)):
        found.append(f"{left:,} {'job is' if left == 1 else 'jobs are'} left out: what they held is free here")
    return found


def comparison_text(trace: Trace, workload: MachineWorkload, result: Result | None) -> str:
    """The tables and sentences for a terminal."""
    partitions = partition_waits(trace, workload, result)
    columns = columns_with_values(partitions, _PARTITIONS)
    times = [row[name] for row in partitions for name in ("recorded", "simulated") if row[name] is not None]
    if times and max(times) < 3600:
        columns = [replace(column, unit="min", scale=1 / 60) if column.unit == "h" else column for column in columns]
    texts = [render(partitions, columns)]
    peaks = resource_peaks(trace, workload)
    if peaks and peaks[0]["peak"]:
        texts.append(render([_with_units(row) for row in peaks], _RESOURCES))
    causes = difference_causes(trace, workload, result, partitions)
    if causes:
        texts.append("\n".join(f"difference: {sentence}" for sentence in causes))
    return "\n\n".join(texts)


def _with_units(row: dict[str, Any]) -> dict[str, Any]:
    if row["resource"] != "memory":
        return row
    return {
        **row,
        "resource": "memory [GiB]",
        "peak": round(row["peak"] / 1024),
        "capacity": round(row["capacity"] / 1024),
    }


def _unit(resource: str) -> str:
    return {"memory": "MiB of memory", "gpus": "GPUs"}.get(resource, resource)


def _totals(trace: Trace, workload: MachineWorkload) -> NDArray[np.int64]:
    """Cores, memory and GPUs that each job requests in its first partition, shape (jobs, 3)."""
    table = workload.table
    rows = [
        least_use(table, table.needs(request, walltime)[0])[2:]
        for walltime, request in zip(trace.jobs.column("walltime").tolist(), workload.requests, strict=True)
    ]
    return np.array(rows, np.int64).reshape(-1, 3)


def _waits(trace: Trace, result: Result | None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Recorded waits, NaN where they are not known, and simulated ones [s]."""
    waits = trace.jobs.column("wait")
    if result is None:
        return waits, np.full(len(waits), np.nan)
    records = result.records
    return waits, np.where(records.started, records.wait / SECOND, 0.0)


def _peak(trace: Trace, amounts: NDArray[np.int64], chosen: NDArray[np.bool_]) -> int:
    """The most that jobs held at once by the recorded starts; what ends at an instant makes room at this instant."""
    starts = trace.jobs.starts
    there = chosen & ~np.isnan(starts)
    if not there.any():
        return 0
    begin = starts[there]
    end = begin + trace.jobs.column("runtime")[there]
    times = np.concatenate((begin, end))
    change = np.concatenate((amounts[there], -amounts[there]))
    return max(0, int(np.cumsum(change[np.lexsort((change, times))]).max()))
