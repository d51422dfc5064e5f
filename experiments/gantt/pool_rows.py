"""Rows of the page for a machine whose partitions were simulated as pools: one for each node."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

from holdfast.experiments.placement.ranges import Ranges, union
from holdfast.experiments.placement.spans import Span, place_nodes
from holdfast.experiments.recordings.pool_replays import PoolReplays
from holdfast.simulator.partitioned_simulation import sum_samples
from holdfast.simulator.results.recording import Recording

__all__ = ["PoolRows"]


class PoolRows:
    """Rows of a machine, and the jobs on them.

    Parameters
    ----------
    replays
        The partitions with their event logs.

    Attributes
    ----------
    recording
        The result with the events and samples of all partitions.
    """

    def __init__(self, replays: PoolReplays) -> None:
        self._replays = replays
        origin = replays.recording.origin
        self._shifts = {name: pool.origin - origin for name, pool in replays.pools.items()}
        entries = [
            entry._replace(time=entry.time + self._shifts[name])
            for name, pool in replays.pools.items()
            for entry in pool.entries
        ]
        samples = sum_samples(list(replays.pools.values()), list(self._shifts.values()))
        self.recording: Recording = replace(
            replays.recording, entries=sorted(entries, key=lambda entry: entry.time), samples=samples
        )

    @property
    def hosts(self) -> dict[str, list[Any]]:
        """Names of the nodes, and the first row of each; the last number is that of all rows."""
        machine = self._replays.machine
        return {"names": list(machine.names), "first": list(range(machine.size + 1))}

    def places(self, job_id: int) -> dict[str, str]:
        """The partition of a job."""
        return {"partition": self.recording.job[job_id].partition}

    @cached_property
    def spans(self) -> list[Span]:
        """Rows of each holder, in the order of the ends."""
        machine, found = self._replays.machine, []
        for name, pool in self._replays.pools.items():
            rows = machine.places(machine.partition(name))
            for span in place_nodes(pool):
                nodes: Ranges = ()
                for low, high in span.nodes:
                    for place in range(low, high):
                        nodes = union(nodes, ((rows[place], rows[place] + 1),))
                shift = self._shifts[name]
                found.append(span._replace(start=span.start + shift, end=span.end + shift, nodes=nodes))
        return sorted(found, key=lambda span: span.end)
