"""Completed runs of a log by group, read from columns, because an object for each run and group is slow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from holdfast.workloads.logs.trace import TraceJobs

__all__ = ["RunColumns"]

Places = npt.NDArray[np.int64]


class RunColumns:
    """Columns of completed runs.

    Parameters
    ----------
    jobs
        Jobs of a log with a recorded start, in the order of their ends.

    Attributes
    ----------
    shares
        Runtime over walltime of each, at most 1, shape (runs,).
    ends
        End of each [s], shape (runs,).
    """

    def __init__(self, jobs: TraceJobs) -> None:
        self._jobs = jobs
        self._walltimes = jobs.column("walltime")
        self._classes = np.frexp(jobs.column("nodes").astype(float))[1]
        self.shares = np.minimum(1.0, jobs.column("runtime") / self._walltimes)
        self.ends = jobs.starts + jobs.column("runtime")

    def __len__(self) -> int:
        return len(self.ends)

    def fields(self) -> tuple[Sequence[Any], ...]:
        """Nodes, walltimes, shares, users, projects, waits, submits and ends of the runs."""
        jobs = self._jobs
        numbers = (jobs.column("nodes"), self._walltimes, self.shares)
        times = (jobs.column("wait"), jobs.queued, self.ends)
        texts = (jobs.texts("user"), jobs.texts("project"))
        return (*(column.tolist() for column in numbers), *texts, *(column.tolist() for column in times))

    def groups(self) -> Iterator[tuple[tuple[object, ...], Places]]:
        """Groups (:func:`holdfast.experiments.forecast.completed_runs.job_groups`) and the places of their runs."""
        users, projects = self._jobs.column("user"), self._jobs.column("project")
        names = self._jobs.names
        walltimes, which = np.unique(self._walltimes, return_inverse=True)
        kinds = np.column_stack((users, which.reshape(-1), self._classes))
        for (user, walltime, size), places in _split(kinds):
            yield ("request", names[user], float(walltimes[walltime]), size), places
        for kind, column in (("user", users), ("project", projects)):
            for (code,), places in _split(column[:, None]):
                if names[code]:
                    yield (kind, names[code]), places
        if len(self):
            yield ("all",), np.arange(len(self))


def _split(kinds: npt.NDArray[Any]) -> Iterator[tuple[list[int], Places]]:
    """Different rows, and the ascending places of each."""
    if not len(kinds):
        return
    order = np.lexsort(kinds.T[::-1])
    ordered = kinds[order]
    first = np.flatnonzero(np.any(ordered[1:] != ordered[:-1], axis=1)) + 1
    for places in np.split(order, first):
        yield kinds[places[0]].tolist(), places
