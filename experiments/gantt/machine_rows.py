"""Rows of the page for a machine of named nodes: one for each node, or for each core of a node that jobs share."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate
from operator import itemgetter
from typing import Any

from experiments.placement.ranges import Ranges, lowest, union, without
from experiments.placement.spans import RUN, Span
from experiments.recordings.allocations import Allocation, Allocations
from simulator.machine.event_log import Entry
from simulator.results.recording import Recording
from simulator.results.records import Samples
from workloads.machines.host_list import fold
from workloads.machines.machine_workload import machine_unit

__all__ = ["MachineRows"]

_COMPLETE, _SUBMIT, _START = range(3)


class MachineRows:
    """Rows of a machine, and the jobs on them.

    Parameters
    ----------
    recording
        Result of a replay on a machine, without an event log.
    allocations
        Nodes of its jobs.

    Attributes
    ----------
    recording
        The result with the events and samples that follow from its records.
    spans
        Rows of each job, in the order of the ends.
    """

    def __init__(self, recording: Recording, allocations: Allocations) -> None:
        self._allocations = allocations
        machine = allocations.machine
        whole = machine_unit(machine) == "nodes"
        heights = [1 if whole else machine.kinds[kind].cores for kind in machine.kind_of_nodes]
        self._first = [0, *accumulate(heights)]
        self._whole = whole
        moments = self._moments(recording)
        self.recording = replace(recording, entries=self._entries(recording, moments), samples=self._samples(moments))
        self.spans = self._place(moments)

    @property
    def hosts(self) -> dict[str, list[Any]]:
        """Names of the nodes, and the first row of each; the last number is that of all rows."""
        return {"names": list(self._allocations.machine.names), "first": self._first}

    def places(self, job_id: int) -> dict[str, str]:
        """Partition and nodes of a job, and what it took of them, as text; empty for one that never started."""
        job = self._allocations.jobs.get(job_id)
        if job is None:
            return {}
        names = self._allocations.machine.names
        taken = {name: amounts for name, amounts in job.taken.items() if any(amounts) and "." not in name}
        words = [f"{_amount(name, sum(amounts))}" for name, amounts in taken.items()]
        return {
            "partition": job.partition,
            "on": fold(names[node] for node in job.nodes),
            "takes": ", ".join(words),
            "stopped by": job.limit,
        }

    def _size(self, job: Allocation) -> int:
        return len(job.nodes) if self._whole else sum(job.taken["cores"])

    def _moments(self, recording: Recording) -> list[tuple[int, int, int, int]]:
        """(time, class, place among the starts, job id) of each submit, start and end; times since the origin."""
        found = []
        for record in recording.records:
            job = self._allocations.jobs.get(record.job_id)
            if job is None or record.start is None or record.end is None:
                continue
            for kind, time in ((_SUBMIT, record.queued), (_START, record.start), (_COMPLETE, record.end)):
                found.append((time - recording.origin, kind, job.place, record.job_id))
        return sorted(found)

    def _entries(self, recording: Recording, moments: list[tuple[int, int, int, int]]) -> list[Entry]:
        entries = []
        for time, kind, _, job_id in moments:
            job, record = self._allocations.jobs[job_id], recording.record[job_id]
            if kind == _SUBMIT:
                entries.append(Entry(time, "submit", job_id, 0, 0, ""))
            elif kind == _START:
                entries.append(Entry(time, "start", job_id, 0, self._size(job), f"partition {job.partition}"))
            else:
                ending = "kill" if record.status == "killed" else "complete"
                entries.append(Entry(time, ending, job_id, self._size(job), 0, ""))
        return entries

    def _samples(self, moments: list[tuple[int, int, int, int]]) -> Samples:
        found: dict[int, tuple[int, int, int, int, int]] = {}
        busy = waiting = asked = 0
        for time, kind, _, job_id in moments:
            size = self._size(self._allocations.jobs[job_id])
            busy += size * ((kind == _START) - (kind == _COMPLETE))
            waiting += (kind == _SUBMIT) - (kind == _START)
            asked += size * ((kind == _SUBMIT) - (kind == _START))
            found[time] = (time, busy, 0, waiting, asked)
        return Samples.of(list(found.values()))

    def _place(self, moments: list[tuple[int, int, int, int]]) -> list[Span]:
        """Give each job the lowest free rows of each of its nodes."""
        free: list[Ranges] = [((low, high),) for low, high in zip(self._first[:-1], self._first[1:], strict=True)]
        held: dict[int, tuple[int, dict[int, Ranges]]] = {}
        spans = []
        for time, kind, _, job_id in moments:
            job = self._allocations.jobs[job_id]
            if kind == _START:
                sizes = [1] * len(job.nodes) if self._whole else job.taken["cores"]
                rows = {node: lowest(free[node], size) for node, size in zip(job.nodes, sizes, strict=True)}
                for node, taken in rows.items():
                    free[node] = without(free[node], taken)
                held[job_id] = time, rows
            elif kind == _COMPLETE:
                start, rows = held.pop(job_id)
                every: Ranges = ()
                for node, taken in rows.items():
                    free[node] = union(free[node], taken)
                    every = union(every, taken)
                if every and time > start:
                    spans.append(Span(RUN, job_id, 1, start, time, every, "complete"))
        return sorted(spans, key=itemgetter(4))


def _amount(name: str, total: int) -> str:
    if name == "memory":
        return f"{total / 1024:,.1f} GiB"
    return f"{total:,} {'GPU' if name == 'gpus' else name.removesuffix('s')}{'s' if total > 1 else ''}"
