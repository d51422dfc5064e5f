"""Stream of rigid jobs: the state of a job exists only from its arrival to its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.simulator.machine.event_log import Sample
from holdfast.simulator.machine.job_state import JobState
from holdfast.simulator.machine.streamed_job import StreamedJob
from holdfast.workloads.table.jobs import Jobs

__all__ = ["BATCH_SIZE", "Stream", "StreamColumns"]

#: Ended jobs in a batch.
BATCH_SIZE = 1 << 16

#: Jobs converted from columns to states at a time.
_BLOCK = 4096

Ints = NDArray[np.int64]
Seconds = NDArray[np.float64]
#: Callback that receives rows, starts and ends of ended jobs.
Consumer = Callable[[Ints, Ints, Ints], None]


class StreamColumns(NamedTuple):
    """Rigid jobs that arrive, in any order.

    Attributes
    ----------
    rows, job_id
        Their rows in the table, and their ids, shape (n,).
    submit
        Ticks of the simulated clock, shape (n,).
    nodes
        Shape (n,).
    runtime, walltime
        Ticks, shape (n,).
    """

    rows: Ints
    job_id: Ints
    submit: Ints
    nodes: Ints
    runtime: Ints
    walltime: Ints


class Stream:
    """Creates job states from columns and collects the outcomes of the jobs.

    Parameters
    ----------
    table
        The jobs.
    columns
        Those that arrive.
    consume
        Called with rows of the table, and the starts and ends of their jobs [ticks of the simulated clock], in the
        order of the ends.
    batch_size
        Number of ended jobs per call of ``consume``.

    Attributes
    ----------
    known
        States of the jobs that have arrived, or arrive next, and have not ended, by id.
    start, end
        Start and end of each job, by row of the table [ticks of the simulated clock].
    samples, latencies
        Samples and latencies recorded by :class:`~holdfast.simulator.clock.event_loop.Instants`, in pieces of shapes
        (n, 5) and (n,).
    """

    def __init__(self, table: Jobs, columns: StreamColumns, consume: Consumer, batch_size: int) -> None:
        self._table, self._columns, self._batch_size, self._consume = table, columns, batch_size, consume
        self.known: dict[int, JobState] = {}
        self.start = np.zeros(len(table), np.int64)
        self.end = np.zeros(len(table), np.int64)
        self.samples: list[Ints] = []
        self.latencies: list[Seconds] = []
        self._ended: list[JobState] = []
        self._lists: tuple[list[Sample], list[float]] = [], []

    def __len__(self) -> int:
        return len(self._columns.rows)

    def arrivals(self) -> Iterator[JobState]:
        """The jobs in the order of submit and id."""
        table, columns, known = self._table, self._columns, self.known
        rank = np.empty(len(self), np.int64)
        rank[np.argsort(columns.job_id)] = np.arange(len(self))
        order = np.lexsort((rank, columns.submit))
        for begin in range(0, len(self), _BLOCK):
            places = order[begin : begin + _BLOCK]
            block = (rank, *columns)
            for numbers in zip(*(column[places].tolist() for column in block), strict=True):
                job = StreamedJob(table, *numbers)
                known[job.job_id] = job
                yield job

    def add(self, job: JobState) -> None:
        """Take over a job that has ended."""
        del self.known[job.job_id]
        self._ended.append(job)
        if len(self._ended) >= self._batch_size:
            self.flush()

    def flush(self) -> None:
        """Hand over the jobs that have ended since the last call."""
        ended = self._ended
        if ended:
            rows = np.array([job.row for job in ended], np.int64)
            start = np.array([job.start for job in ended], np.int64)
            end = np.array([job.end for job in ended], np.int64)
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
