"""Stream of jobs for long replays: a job's state exists only from its arrival to its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from holdfast.simulator.machine.event_log import Sample
from holdfast.simulator.machine.job_state import JobState
from holdfast.simulator.machine.streamed_job import StreamedJob
from holdfast.workloads.table.jobs import Jobs

__all__ = ["Stream"]

#: Jobs converted from columns to states at a time.
_BLOCK = 4096

Ticks = NDArray[np.int64]
Seconds = NDArray[np.float64]


class Stream:
    """Creates job states from a table in columns and collects the outcomes of the jobs.

    Parameters
    ----------
    table
        The jobs.
    origin
        Ticks of the table's clock at which the simulated clock stands at 0.
    batch_size
        Number of ended jobs per call of ``consume``.
    consume
        Called with rows of the table, and the starts and ends of their jobs [ticks of the table's clock], in the order
        of the ends.

    Attributes
    ----------
    known
        States of the jobs that have arrived, or arrive next, and have not ended, by id.
    start, end
        Start and end of each job, by row [ticks of the table's clock].
    samples, latencies
        Samples and latencies recorded by :class:`~holdfast.simulator.clock.event_loop.Instants`, in pieces of shapes
        (n, 5) and (n,).
    """

    def __init__(
        self, table: Jobs, origin: int, batch_size: int, consume: Callable[[Ticks, Ticks, Ticks], None]
    ) -> None:
        self._table, self._origin, self._batch_size, self._consume = table, origin, batch_size, consume
        self.known: dict[int, JobState] = {}
        self.start = np.zeros(len(table), np.int64)
        self.end = np.zeros(len(table), np.int64)
        self.samples: list[Ticks] = []
        self.latencies: list[Seconds] = []
        self._ended: list[JobState] = []
        self._lists: tuple[list[Sample], list[float]] = [], []

    def __len__(self) -> int:
        return len(self._table)

    def arrivals(self) -> Iterator[JobState]:
        """The jobs in the order of submit and id."""
        table, origin, known = self._table, self._origin, self.known
        count = len(table)
        ids, nodes = table.column("job_id"), table.column("nodes")
        submit, runtime, walltime = map(table.ticks, ("submit", "runtime", "walltime"))
        rank = np.empty(count, np.int64)
        rank[np.argsort(ids)] = np.arange(count)
        order = np.lexsort((rank, submit))
        for begin in range(0, count, _BLOCK):
            rows = order[begin : begin + _BLOCK]
            columns = (
                rows, rank[rows], ids[rows], submit[rows] - origin, nodes[rows], runtime[rows], walltime[rows],
            )  # fmt: skip
            for numbers in zip(*(column.tolist() for column in columns), strict=True):
                known[numbers[2]] = job = StreamedJob(table, *numbers)
                yield job

    def add(self, job: JobState) -> None:
        """Take over a job that has ended."""
        del self.known[job.job_id]
        self._ended.append(job)
        if len(self._ended) >= self._batch_size:
            self.flush()

    def flush(self) -> None:
        """Hand over the jobs that have ended since the last call."""
        ended, origin = self._ended, self._origin
        if ended:
            rows = np.array([job.row for job in ended], np.int64)
            start = np.array([job.start for job in ended], np.int64) + origin
            end = np.array([job.end for job in ended], np.int64) + origin
            ended.clear()
            self.start[rows], self.end[rows] = start, end
            self._consume(rows, start, end)
        samples, latencies = self._lists
        if samples:
            self.samples.append(np.array(samples, np.int64))
            samples.clear()
        if latencies:
            self.latencies.append(np.array(latencies))
            latencies.clear()

    def watch(self, samples: list[Sample], latencies: list[float]) -> None:
        """Empty these lists with every batch, because they would otherwise grow with the trace."""
        self._lists = samples, latencies
