"""Columns of a long trace: ten million jobs are arrays of numbers, and a job is made when somebody looks at it."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloads.ground.rows import ColumnRows
from workloads.logs.trace import TraceJob

__all__ = ["Names", "TraceColumns", "TraceGrowth"]


class Names:
    """Texts of which many are equal, each as a number.

    Attributes
    ----------
    texts
        Each text once, in the order in which they came.
    """

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._codes: dict[str, int] = {}

    def code(self, text: str) -> int:
        """The number of a text."""
        found = self._codes.get(text)
        if found is None:
            found = self._codes[text] = len(self.texts)
            self.texts.append(text)
        return found


class TraceColumns(ColumnRows[TraceJob]):
    """The jobs of a trace without recorded waits, dependencies and withdrawals.

    Attributes
    ----------
    job_id, nodes
        Whole numbers, shape (n,).
    submit, runtime, walltime
        As in :class:`~workloads.logs.trace.TraceJob` [s], shape (n,).
    killed
        Booleans, shape (n,).
    user, project, partition
        Numbers of names, shape (n,).
    names
        The names.
    """

    def __init__(self, names: Names, **columns: NDArray[Any]) -> None:
        self.names = names
        self.columns = columns
        self.job_id: NDArray[np.int64] = columns["job_id"]
        self.submit: NDArray[np.float64] = columns["submit"]
        self.nodes: NDArray[np.int64] = columns["nodes"]
        self.runtime: NDArray[np.float64] = columns["runtime"]
        self.walltime: NDArray[np.float64] = columns["walltime"]
        self.killed: NDArray[np.bool_] = columns["killed"]
        self.user: NDArray[np.int32] = columns["user"]
        self.project: NDArray[np.int32] = columns["project"]
        self.partition: NDArray[np.int32] = columns["partition"]

    def up_to(self, nodes: int) -> TraceColumns:
        """The jobs of at most so many nodes."""
        small = self.nodes <= nodes
        if small.all():
            return self
        return TraceColumns(self.names, **{name: column[small] for name, column in self.columns.items()})

    def __len__(self) -> int:
        return len(self.job_id)

    def _made(self, rows: slice) -> list[TraceJob]:
        texts = self.names.texts
        return [
            TraceJob(
                job_id, submit, nodes, runtime, walltime, killed, None, texts[user], texts[project],
                partition=texts[partition],
            )
            for job_id, submit, nodes, runtime, walltime, killed, user, project, partition in zip(
                *(column[rows].tolist() for column in self.columns.values()), strict=True
            )
        ]  # fmt: skip


class TraceGrowth:
    """The columns of a trace while it is read.

    Attributes
    ----------
    names
        Users, projects and partitions so far.
    """

    def __init__(self) -> None:
        self.names = Names()
        self._whole = array("q"), array("q")
        self._times = array("d"), array("d"), array("d")
        self._killed = array("b")
        self._owners = array("i"), array("i"), array("i")

    def __len__(self) -> int:
        return len(self._killed)

    def append(self, job: TraceJob) -> None:
        """Take a job."""
        code = self.names.code
        self._whole[0].append(job.job_id)
        self._whole[1].append(job.nodes)
        self._times[0].append(job.submit)
        self._times[1].append(job.runtime)
        self._times[2].append(job.walltime)
        self._killed.append(job.killed)
        self._owners[0].append(code(job.user))
        self._owners[1].append(code(job.project))
        self._owners[2].append(code(job.partition))

    def columns(self) -> TraceColumns:
        """What has come so far."""
        (job_id, nodes), (submit, runtime, walltime) = self._whole, self._times
        user, project, partition = self._owners
        return TraceColumns(
            self.names,
            job_id=np.array(job_id, np.int64),
            submit=np.array(submit, np.float64),
            nodes=np.array(nodes, np.int64),
            runtime=np.array(runtime, np.float64),
            walltime=np.array(walltime, np.float64),
            killed=np.array(self._killed, np.bool_),
            user=np.array(user, np.int32),
            project=np.array(project, np.int32),
            partition=np.array(partition, np.int32),
        )
