"""Jobs in the order in which they entered the queue, kept in columns: a row is made when it is looked at."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Self, overload

import numpy as np
import numpy.typing as npt

from holdfast.experiments.forecast.batches import kind_numbers
from holdfast.experiments.forecast.seen_job import SeenJob
from holdfast.workloads.logs.trace import TraceJob, TraceJobs

__all__ = ["Submissions"]


class Submissions(Sequence[SeenJob]):
    """Jobs as if they were submitted when they entered the queue.

    Parameters
    ----------
    jobs
        Jobs of a log, in the order in which they entered the queue.
    ids
        Their numbers, shape (jobs,).

    kinds
        Number of the kind of each, shape (jobs,); None: they are found when they are needed.

    Attributes
    ----------
    submits
        When each entered the queue [s], shape (jobs,).
    nodes, walltimes
        Of each request, walltimes in seconds, shape (jobs,).
    """

    def __init__(self, jobs: TraceJobs, ids: npt.NDArray[np.int64], kinds: npt.NDArray[np.int64] | None = None) -> None:
        self._jobs = jobs
        self._ids = ids
        self._kinds = kinds
        self.submits: npt.NDArray[np.float64] = jobs.queued
        self.nodes: npt.NDArray[np.int64] = jobs.column("nodes")
        self.walltimes: npt.NDArray[np.float64] = jobs.column("walltime")

    @classmethod
    def of(cls, jobs: Iterable[SeenJob]) -> Self:
        """Jobs in columns, in the same order."""
        if isinstance(jobs, cls):
            return jobs
        rows = list(jobs)
        columns = (
            TraceJob(job.job_id, job.submit, job.nodes, job.walltime, job.walltime, user=job.user, project=job.project)
            for job in rows
        )
        return cls(TraceJobs.of(columns), np.array([job.job_id for job in rows], dtype=np.int64))

    @property
    def kinds(self) -> npt.NDArray[np.int64]:
        """Number of the kind of each (:func:`holdfast.experiments.forecast.batches.kind_numbers`), shape (jobs,)."""
        if self._kinds is None:
            self._kinds = kind_numbers(self._jobs)
        return self._kinds

    def __len__(self) -> int:
        return len(self._ids)

    @overload
    def __getitem__(self, index: int) -> SeenJob: ...
    @overload
    def __getitem__(self, index: slice) -> list[SeenJob]: ...
    def __getitem__(self, index: int | slice) -> SeenJob | list[SeenJob]:
        if not isinstance(index, slice):
            place = range(len(self))[index]
            return self[place : place + 1][0]
        return self.rows(index)

    def rows(self, places: npt.NDArray[np.int64] | slice) -> list[SeenJob]:
        """The jobs at some places, or in a slice."""
        jobs = self._jobs.select(places)
        columns = (
            self._ids[places].tolist(),
            self.submits[places].tolist(),
            jobs.column("nodes").tolist(),
            jobs.column("walltime").tolist(),
            jobs.texts("user"),
            jobs.texts("project"),
        )
        return list(map(SeenJob, *columns))

    def select(self, places: npt.NDArray[np.int64] | slice) -> Submissions:
        """Some of them, by places or by a slice, with the same numbers of their kinds."""
        return Submissions(self._jobs.select(places), self._ids[places], self.kinds[places])
