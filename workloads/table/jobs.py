"""A sequence of jobs that is stored as columns; a job object is made only when it is accessed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from holdfast.workloads.ground.row_views import Rows
from holdfast.workloads.ground.ticks import in_ticks
from holdfast.workloads.ground.wording import count_text
from holdfast.workloads.table.job import Job, JobType

__all__ = ["Jobs", "composition"]

_WHOLE, _TIME, _TEXT, _NUMBER, _FLAG = "whole", "time", "text", "number", "flag"


class Jobs(Rows[Job]):
    """Jobs of a workload; ``repr`` has only their numbers by type."""

    row = Job
    kinds: ClassVar[Mapping[str, Any]] = {
        **dict.fromkeys(Job.__dataclass_fields__, _TIME),
        **dict.fromkeys(("job_id", "nodes"), _WHOLE),
        **dict.fromkeys(("min_nodes", "preceding"), _NUMBER),
        **dict.fromkeys(("user", "project", "application", "plan", "memory_profile", "partition", "qos"), _TEXT),
        "killed": _FLAG,
        "type": JobType,
    }

    def ticks(self, name: str) -> NDArray[np.int64]:
        """A column of times, none of them None, in ticks, shape (n,)."""
        return in_ticks(self.column(name))

    @property
    def lively(self) -> bool:
        """Whether any job is cancelled, depends on another, is held, or runs when the replay begins."""
        return any(map(self.has, ("cancelled_at", "preceding", "think_time", "running_since", "eligible")))

    def are(self, kind: JobType) -> NDArray[np.bool_]:
        """Mask of the jobs of a type, shape (n,)."""
        found: NDArray[np.bool_] = self.column("type") == list(JobType).index(kind)
        return found

    def __repr__(self) -> str:
        return f"Jobs({composition(self)})"


def composition(jobs: Iterable[Job]) -> str:
    """Number of jobs by type.

    >>> from holdfast.workloads.table.job import JobType
    >>> composition([Job(1, JobType.RIGID, 0.0, 1, 60.0, 60.0)])
    '1 job: 1 rigid'
    """
    count = _counts(jobs)
    total = sum(count.values())
    kinds = ", ".join(f"{number:,} {kind}" for kind, number in sorted(count.items(), key=lambda item: -item[1]))
    return f"{count_text(total, 'jobs')}{': ' if kinds else ''}{kinds}"


def _counts(jobs: Iterable[Job]) -> dict[str, int]:
    """Number of jobs of each type, in order of first appearance."""
    count: dict[str, int] = {}
    if isinstance(jobs, Jobs) and jobs.is_columns:
        found: tuple[Any, Any, Any] = np.unique(jobs.column("type"), return_index=True, return_counts=True)
        kinds = list(JobType)
        for _, kind, number in sorted(zip(found[1], found[0], found[2], strict=True)):
            count[kinds[kind].value] = int(number)
        return count
    for job in jobs:
        count[job.type.value] = count.get(job.type.value, 0) + 1
    return count
