"""Columns of rigid jobs: a job table of millions of rows, of which a job is made when somebody looks at it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloads.ground.rows import ColumnRows
from workloads.ground.units import SECOND
from workloads.table.job import Job, JobType

__all__ = ["RigidColumns"]


class RigidColumns(ColumnRows[Job]):
    """Rigid jobs without overheads, as arrays.

    Attributes
    ----------
    job_id, nodes
        Whole numbers, shape (n,); no two jobs have one id.
    submit, runtime, walltime
        Ticks of the table's clock, and ticks, shape (n,).
    killed
        Booleans, shape (n,).
    user, project, partition
        Numbers of names, shape (n,).
    names
        The names.
    """

    def __init__(self, names: Sequence[str], **columns: NDArray[Any]) -> None:
        self.names = names
        self.columns = columns
        self.job_id: NDArray[np.int64] = columns["job_id"]
        self.submit: NDArray[np.int64] = columns["submit"]
        self.nodes: NDArray[np.int64] = columns["nodes"]
        self.runtime: NDArray[np.int64] = columns["runtime"]
        self.walltime: NDArray[np.int64] = columns["walltime"]
        self.killed: NDArray[np.bool_] = columns["killed"]
        self.user: NDArray[np.int32] = columns["user"]
        self.project: NDArray[np.int32] = columns["project"]
        self.partition: NDArray[np.int32] = columns["partition"]

    def __repr__(self) -> str:
        return f"RigidColumns({len(self):,} jobs)"

    def __len__(self) -> int:
        return len(self.job_id)

    def _made(self, rows: slice) -> list[Job]:
        names = self.names
        return [
            Job(
                job_id, JobType.RIGID, submit / SECOND, nodes, runtime / SECOND, walltime / SECOND,
                user=names[user], project=names[project], killed=killed, partition=names[partition],
            )
            for job_id, submit, nodes, runtime, walltime, killed, user, project, partition in zip(
                *(column[rows].tolist() for column in self.columns.values()), strict=True
            )
        ]  # fmt: skip
