"""A log beside a replay on its machine: waits by partition, use of resources, and visible causes of a difference."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
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

__all__ = ["MachineComparison"]

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
    Quantity("share", "share", "%", "at most", scale=100.0, digits=1),
    Quantity("load", "offered", "%", "load", scale=100.0, digits=1),
)
#: Waits differ visibly if one is larger by this factor, and by this time [s].
_FACTOR, _LEAST = 1.5, 300.0
#: Jobs that start so soon in the simulation did not wait for nodes [s].
_AT_ONCE = 60.0
#: A machine of which less was ever in use was not full [share].
_FULL = 0.9
#: Shares below it are errors of a log.
_SMALL = 0.01


@dataclass(frozen=True, eq=False)
class MachineComparison:
    """A log beside a replay on its machine.

    Attributes
    ----------
    trace
        The log on the machine.
    workload
        The requests of its jobs.
    result
        Its replay; None: not simulated.
    """

    trace: Trace
    workload: MachineWorkload
    result: Result | None = None

    @cached_property
    def partitions(self) -> list[dict[str, Any]]:
        """A row for each partition: jobs with a recorded wait, mean waits [s], and cores and GPUs in use at once.

        Without a recorded start in a partition, what was in use there is None; without a simulated one, its mean wait.
        """
        machine = self.workload.machine
        rows = []
        for partition in machine.partitions:
            chosen = self._names == partition.name
            known = chosen & ~np.isnan(self._recorded_waits)
            if not chosen.any():
                continue
            compared = (known if known.any() else chosen) & ~np.isnan(self._simulated_waits)
            row: dict[str, Any] = {
                "partition": partition.name,
                "jobs": int(chosen.sum()),
                "recorded": float(self._recorded_waits[known].mean()) if known.any() else None,
                "simulated": float(self._simulated_waits[compared].mean()) if compared.any() else None,
            }
            for place, name in ((0, "cores"), (2, "gpus")):
                most = machine.total(name, partition.nodes)
                row[name] = self._peak(place, chosen) if most and known.any() else None
                row[f"most_{name}"] = most or None
            rows.append(row)
        return rows

    @cached_property
    def peaks(self) -> list[dict[str, Any]]:
        """A row for each resource: the most that was requested by running jobs at once, what the machine has, and load.

        The offered load is the time for which jobs held the resource, over its time between the first and the last
        submit; None of jobs that come at once.
        """
        table = self.workload.table
        span = float(np.ptp(self.trace.jobs.column("submit")))
        rows = []
        for place, name in enumerate(("cores", "memory", "gpus")):
            capacity = self.workload.machine.total(name)
            if not capacity or (name == "memory" and not all(table.counts_memory)):
                continue
            peak = self._peak(place, np.ones(len(self.trace.jobs), np.bool_))
            work = float(self._totals[:, place] @ self.trace.jobs.column("runtime"))
            load = work / (capacity * span) if span else None
            rows.append({"resource": name, "peak": peak, "capacity": capacity, "share": peak / capacity, "load": load})
        return rows

    @cached_property
    def causes(self) -> list[str]:
        """Visible causes of a difference between recorded and simulated waits, a sentence each."""
        found = [
            f"jobs held up to {row['peak']:,} {_unit(row['resource'])} at once, and the machine has "
            f"{row['capacity']:,}: nodes are missing in its file, or jobs got less than they asked for"
            for row in self.peaks
            if row["share"] > 1
        ]
        if self.result is None:
            return found
        longer, shorter = self._different_partitions()
        found += [self._longer_wait(row) for row in longer]
        most = max((row["share"] for row in self.peaks), default=0.0)
        if longer and 0 < most < _FULL:
            found.append(
                f"at most {100 * most:.0f} % of any resource was in use while jobs waited: nodes were away, or the "
                "machine of the file is larger than that of the log"
            )
        qos = {request.qos for request in self.workload.requests if request.qos}
        if longer and not self.workload.machine.limits:
            many = f"the log has {len(qos):,} QOS, and " if len(qos) > 1 else ""
            found.append(f"{many}the machine has no limits: add those of QOS, accounts and users as [[limits]]")
        count = self.trace.remarks.get(NO_WALLTIME, 0) / len(self.trace.jobs)
        if count >= _SMALL and (longer or shorter):
            found.append(f"{100 * count:.0f} % of the jobs have no requested walltime: their runtimes are used")
        if shorter:
            found.append(
                "where simulated waits are longer, jobs may have got less than they asked for, or the site puts other "
                "jobs first than FCFS (--order of 'holdfast run')"
            )
        # What --where leaves out has a warning of its own.
        left = sum(count for reason, count in self.trace.excluded.items() if not reason.startswith("not "))
        if left >= _SMALL * (left + len(self.trace.jobs)):
            found.append(f"{left:,} {'job is' if left == 1 else 'jobs are'} left out: what they held is free here")
        return found

    def __str__(self) -> str:
        """The tables and sentences for a terminal."""
        columns = columns_with_values(self.partitions, _PARTITIONS)
        times = [row[name] for row in self.partitions for name in ("recorded", "simulated") if row[name] is not None]
        if times and max(times) < 3600:
            columns = [
                replace(column, unit="min", scale=1 / 60) if column.unit == "h" else column for column in columns
            ]
        texts = [render(self.partitions, columns)]
        if self.peaks and self.peaks[0]["peak"]:
            texts.append(render([_with_units(row) for row in self.peaks], columns_with_values(self.peaks, _RESOURCES)))
        if self.causes:
            texts.append("\n".join(f"difference: {sentence}" for sentence in self.causes))
        return "\n\n".join(texts)

    def _different_partitions(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """The partitions with recorded waits that are visibly longer and shorter than the simulated ones."""
        both = [row for row in self.partitions if row["recorded"] is not None and row["simulated"] is not None]
        return (
            [row for row in both if _is_longer(row["recorded"], row["simulated"])],
            [row for row in both if _is_longer(row["simulated"], row["recorded"])],
        )

    def _longer_wait(self, row: dict[str, Any]) -> str:
        """The waiting that a partition had only on the real machine."""
        here = (self._names == row["partition"]) & ~np.isnan(self._recorded_waits)
        at_once = here & (self._simulated_waits <= _AT_ONCE)
        share = self._recorded_waits[at_once].sum() / self._recorded_waits[here].sum()
        return (
            f"{row['partition']}: jobs waited longer than here, and {100 * share:.0f} % of the waiting is of jobs that "
            "start at once here: limits, priorities, holds or drained nodes, which neither log nor file name"
        )

    @cached_property
    def _names(self) -> NDArray[np.object_]:
        """Partition of each job."""
        return np.array(self.trace.jobs.texts("partition"), object)

    @cached_property
    def _recorded_waits(self) -> NDArray[np.float64]:
        """Recorded waits, NaN where they are not known [s]."""
        return self.trace.jobs.column("wait")

    @cached_property
    def _simulated_waits(self) -> NDArray[np.float64]:
        """Simulated waits, NaN of jobs that did not start [s]."""
        if self.result is None:
            return np.full(len(self.trace.jobs), np.nan)
        records = self.result.records
        return np.where(records.started, records.wait / SECOND, np.nan)

    @cached_property
    def _totals(self) -> NDArray[np.int64]:
        """Cores, memory and GPUs that each job requests in its first partition, shape (jobs, 3)."""
        table = self.workload.table
        walltimes = self.trace.jobs.column("walltime").tolist()
        needs = [
            table.needs(request, walltime)[0]
            for request, walltime in zip(self.workload.requests, walltimes, strict=True)
        ]
        # Jobs with equal requests share a need.
        uses = {own: least_use(table, need)[2:] for own, need in {id(need): need for need in needs}.items()}
        return np.array([uses[id(need)] for need in needs], np.int64).reshape(-1, 3)

    def _peak(self, resource: int, chosen: NDArray[np.bool_]) -> int:
        """The most that jobs held at once by the recorded starts; what ends at an instant makes room at it."""
        starts, amounts = self.trace.jobs.starts, self._totals[:, resource]
        there = chosen & ~np.isnan(starts)
        if not there.any():
            return 0
        begin = starts[there]
        end = begin + self.trace.jobs.column("runtime")[there]
        times = np.concatenate((begin, end))
        change = np.concatenate((amounts[there], -amounts[there]))
        return max(0, int(np.cumsum(change[np.lexsort((change, times))]).max()))


def _is_longer(wait: float, other: float) -> bool:
    """Whether a mean wait is visibly longer than another one."""
    return wait - other > _LEAST and wait > _FACTOR * other


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
