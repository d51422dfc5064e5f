"""Jobs in the order in which they entered the queue, kept in columns: a row is made when it is looked at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

import numpy as np
import numpy.typing as npt

from holdfast.experiments.forecast.seen_job import SeenJob
from holdfast.workloads.logs.trace import TraceJobs

__all__ = ["Submissions"]


class Submissions(Sequence[SeenJob]):
    """Jobs as if they were submitted when they entered the queue.

    Parameters
    ----------
    jobs
        Jobs of a log, in the order in which they entered the queue.
    ids
        Their numbers, shape (jobs,).

    Attributes
    ----------
    submits
        When each entered the queue [s], shape (jobs,).
    """

    def __init__(self, jobs: TraceJobs, ids: npt.NDArray[np.int64]) -> None:
        self._jobs = jobs
        self._ids = ids
        self.submits: npt.NDArray[np.float64] = jobs.queued

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
        jobs = self._jobs.select(index)
        columns = (
            self._ids[index].tolist(),
            self.submits[index].tolist(),
            jobs.column("nodes").tolist(),
            jobs.column("walltime").tolist(),
            jobs.texts("user"),
            jobs.texts("project"),
        )
        return list(map(SeenJob, *columns))

    def select(self, places: npt.NDArray[np.int64] | slice) -> Submissions:
        """Some of them, by places or by a slice."""
        return Submissions(self._jobs.select(places), self._ids[places])
