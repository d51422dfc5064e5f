"""Rows of the page for a machine of named nodes: one for each node, or for each core of a node that jobs share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from operator import itemgetter
from typing import Any

from holdfast.experiments.gantt.closed_rows import closed_spans, span_levels
from holdfast.experiments.placement.ranges import Ranges, lowest, union, without
from holdfast.experiments.placement.spans import DOWN, HELD, RUN, Span
from holdfast.experiments.recordings.allocations import Allocation, Allocations
from holdfast.simulator.machine.event_log import Entry
from holdfast.simulator.results.recording import Recording, level_changes
from holdfast.simulator.results.records import Samples
from holdfast.workloads.machines.host_list import fold
from holdfast.workloads.machines.machine_workload import machine_unit

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
        Rows of each run and of nodes that outages close, in the order of the ends.
    """

    def __init__(self, recording: Recording, allocations: Allocations) -> None:
        self._allocations = allocations
        machine = allocations.machine
        whole = machine_unit(machine) == "nodes"
        heights = [1 if whole else machine.kinds[kind].cores for kind in machine.kind_of_nodes]
        self._first = [0, *accumulate(heights)]
        self._whole = whole
        # A run that is preempted in the instant of its start has no rows, and its end is no event after its start.
        self._runs = [(run, start, end) for run, start, end in allocations.runs(recording.record) if start < end]
        moments = self._moments(recording)
        running = self._place(moments)
        closed = closed_spans(allocations, running, self._first, recording)
        self.spans = sorted([*running, *closed], key=itemgetter(4))
        self.recording = replace(
            recording,
            entries=self._entries(recording, moments),
            samples=self._samples(moments, closed),
            down=level_changes(span_levels(closed, DOWN)),
        )

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
        """(time, class, place among the starts, number of the run) of each submit, start and end, since the origin.

        A job whose run was preempted waits again from the end of that run on.
        """
        found = []
        waits = {record.job_id: record.queued for record in recording.records if record.start is not None}
        for number, (run, start, end) in enumerate(self._runs):
            for kind, time in ((_SUBMIT, waits[run.job_id]), (_START, start), (_COMPLETE, end)):
                found.append((time - recording.origin, kind, run.place, number))
            waits[run.job_id] = end
        return sorted(found)

    def _entries(self, recording: Recording, moments: list[tuple[int, int, int, int]]) -> list[Entry]:
        entries = []
        submitted = set[int]()
        for time, kind, _, number in moments:
            run = self._runs[number][0]
            job_id, size = run.job_id, self._size(run)
            if kind == _SUBMIT:
                if job_id not in submitted:
                    entries.append(Entry(time, "submit", job_id, 0, 0, ""))
                submitted.add(job_id)
            elif kind == _START:
                entries.append(Entry(time, "start", job_id, 0, size, f"partition {run.partition}"))
            elif run.preempted_at is not None:
                entries.append(Entry(time, "preempt", job_id, size, 0, self._allocations.cause(run)))
            else:
                ending = "kill" if recording.record[job_id].status == "killed" else "complete"
                entries.append(Entry(time, ending, job_id, size, 0, ""))
        return entries

    def _samples(self, moments: list[tuple[int, int, int, int]], closed: Sequence[Span]) -> Samples:
        changes: dict[int, list[int]] = {}
        for time, kind, _, number in moments:
            size = self._size(self._runs[number][0])
            waits = (kind == _SUBMIT) - (kind == _START)
            here = changes.setdefault(time, [0, 0, 0, 0])
            here[0] += size * ((kind == _START) - (kind == _COMPLETE))
            here[2] += waits
            here[3] += size * waits
        before = 0
        for time, level in span_levels(closed, HELD):
            changes.setdefault(time, [0, 0, 0, 0])[1] += level - before
            before = level
        found = []
        now = [0, 0, 0, 0]
        for time in sorted(changes):
            now = [amount + change for amount, change in zip(now, changes[time], strict=True)]
            found.append((time, now[0], now[1], now[2], now[3]))
        return Samples.of(found)

    def _place(self, moments: list[tuple[int, int, int, int]]) -> list[Span]:
        """Give each run the lowest free rows of each of its nodes."""
        free: list[Ranges] = [((low, high),) for low, high in zip(self._first[:-1], self._first[1:], strict=True)]
        held: dict[int, tuple[int, dict[int, Ranges]]] = {}
        counts: dict[int, int] = {}
        spans = []
        for time, kind, _, number in moments:
            run = self._runs[number][0]
            if kind == _START:
                sizes = [1] * len(run.nodes) if self._whole else run.taken["cores"]
                rows = {node: lowest(free[node], size) for node, size in zip(run.nodes, sizes, strict=True)}
                for node, taken in rows.items():
                    free[node] = without(free[node], taken)
                held[number] = time, rows
            elif kind == _COMPLETE:
                start, rows = held.pop(number)
                every: Ranges = ()
                for node, taken in rows.items():
                    free[node] = union(free[node], taken)
                    every = union(every, taken)
                counts[run.job_id] = counts.get(run.job_id, 0) + 1
                if every and time > start:
                    ending = "complete" if run.preempted_at is None else "preempt"
                    spans.append(Span(RUN, run.job_id, counts[run.job_id], start, time, every, ending))
        return spans


def _amount(name: str, total: int) -> str:
    if name == "memory":
        return f"{total / 1024:,.1f} GiB"
    return f"{total:,} {'GPU' if name == 'gpus' else name.removesuffix('s')}{'s' if total > 1 else ''}"
