"""Cost of a replay on a machine, estimated before it begins: whether compiling its loop pays."""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush
from math import floor, log2

from holdfast.simulator.resources.replay_columns import ReplayColumns, node_equivalents

__all__ = ["loop_steps", "mean_queue", "queue_steps"]

#: Steps of a pass for each node and each waiting job, and of any pass. A step takes 8 to 16 us in Python: 0.7 to 20 s
#: for 1,000 to 3,000 jobs of Helios on 64 nodes, of which 1 to 300 wait; compiling takes 18 s.
_NODE, _WAITING, _PASS = 0.25, 2, 5
#: With reservations for many jobs, a waiting job takes ten times as many.
_MANY, _MORE = 10, 10
#: The finest share is a half to this power.
_FINEST = 12


def loop_steps(columns: ReplayColumns) -> int:
    """Estimated inner steps of the loop if no job waits: two passes for each job, as it comes and as it ends."""
    return int(2 * len(columns.jobs) * (_NODE * columns.table.machine.size + _PASS))


def queue_steps(columns: ReplayColumns, depth: int) -> int:
    """Estimated further steps because of waiting jobs.

    Parameters
    ----------
    columns
        The jobs.
    depth
        Reservations for each partition.

    Notes
    -----
    An estimate from jobs and nodes alone let 12,000 GPU jobs, which wait for 7 hours on average, run in Python: 65 s in
    place of 38 s with compilation, on two busy cores, and 1.7 s whenever the code is there already.
    """
    waiting = _WAITING * mean_queue(columns) * (_MORE if depth > _MANY else 1)
    return int(2 * len(columns.jobs) * waiting)


def mean_queue(columns: ReplayColumns) -> float:
    """Mean number of waiting jobs if jobs start wherever the free share of their partition suffices, in any order.

    Shares are rounded up to powers of two, so that waiting jobs make up a few lists. By Little's law, the mean queue is
    the sum of the waits over the time from the first arrival to the last start.
    """
    partitions = columns.table.machine.partitions
    sizes = [
        (
            need.partition,
            max(0, floor(-log2(node_equivalents(columns.table, need) / len(partitions[need.partition].nodes)))),
        )
        for need in columns.distinct
    ]
    pools = [_Pool() for _ in partitions]
    for job in columns.arrival.tolist():
        partition, halvings = sizes[columns.options[columns.first[job]][0]]
        pools[partition].submit(columns.begins[job], min(halvings, _FINEST), columns.runtimes[job])
    for pool in pools:
        pool.run_until(None)
    span = max(pool.last for pool in pools) - columns.begins[int(columns.arrival[0])]
    return sum(pool.waits for pool in pools) / span if span > 0 else 0.0


class _Pool:
    """The shares of a partition, in units of the finest."""

    def __init__(self) -> None:
        self.free, self.waits, self.last = 1 << _FINEST, 0, 0
        self._ends: list[tuple[int, int]] = []
        self._waiting: list[deque[tuple[int, int]]] = [deque() for _ in range(_FINEST + 1)]

    def submit(self, now: int, halvings: int, runtime: int) -> None:
        """Let a job come."""
        self.run_until(now)
        self._waiting[halvings].append((now, runtime))
        self._start(now)

    def run_until(self, now: int | None) -> None:
        """Let runs end until a time; None: all."""
        while self._ends and (now is None or self._ends[0][0] <= now):
            end, amount = heappop(self._ends)
            self.free += amount
            self._start(end)

    def _start(self, now: int) -> None:
        for halvings, jobs in enumerate(self._waiting):
            amount = 1 << (_FINEST - halvings)
            while jobs and amount <= self.free:
                came, runtime = jobs.popleft()
                self.free -= amount
                self.waits += now - came
                self.last = max(self.last, now)
                heappush(self._ends, (now + runtime, amount))
