"""Long records: what became of millions of jobs, and of the machine meanwhile, in columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.machine.eventlog import Sample
from simulator.results.records import JobRecord
from workloads.ground.rows import ColumnRows
from workloads.table.job import JobType
from workloads.table.rigidcolumns import RigidColumns

__all__ = ["LongRecords", "LongSamples"]

Ticks = NDArray[np.int64]


class LongRecords(ColumnRows[JobRecord]):
    """The records of rigid jobs that all came and ended, and were never preempted.

    Attributes
    ----------
    jobs
        The jobs.
    start, end
        Of each [ticks of the table's clock], shape (n,).
    """

    def __init__(self, jobs: RigidColumns, start: Ticks, end: Ticks) -> None:
        self.jobs, self.start, self.end = jobs, start, end

    @property
    def submit(self) -> Ticks:
        """Of each [ticks of the table's clock], shape (n,)."""
        return self.jobs.submit

    @property
    def runtime(self) -> Ticks:
        """Of each [ticks], shape (n,)."""
        return self.jobs.runtime

    def of(self, rows: NDArray[Any] | slice) -> LongRecords:
        """Some of them, by a mask, by rows or by a slice."""
        jobs = RigidColumns(self.jobs.names, **{name: column[rows] for name, column in self.jobs.columns.items()})
        return LongRecords(jobs, self.start[rows], self.end[rows])

    def __len__(self) -> int:
        return len(self.start)

    def _made(self, rows: slice) -> list[JobRecord]:
        jobs = self.jobs
        columns = jobs.job_id, jobs.submit, self.start, self.end, jobs.nodes, jobs.runtime, jobs.killed
        return [
            JobRecord(
                job_id, JobType.RIGID, submit, start, end, nodes, runtime, 0, 0, "killed" if killed else "completed", 0
            )
            for job_id, submit, start, end, nodes, runtime, killed in zip(
                *(column[rows].tolist() for column in columns), strict=True
            )
        ]


class LongSamples(ColumnRows[Sample]):
    """The machine at the end of each instant.

    Attributes
    ----------
    table
        A row for each, shape (n, 5).
    """

    def __init__(self, table: Ticks) -> None:
        self.table = table

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.table, dtype)

    def __len__(self) -> int:
        return len(self.table)

    def _made(self, rows: slice) -> list[Sample]:
        return [(time, busy, held, jobs, nodes) for time, busy, held, jobs, nodes in self.table[rows].tolist()]
