"""Jobs: a list of jobs that shows itself in one line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from workloads.table.job import Job

__all__ = ["Jobs", "composition"]


class Jobs(list[Job]):
    """A list of jobs; a year of them is too long to be printed."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Jobs({composition(self)})"


def composition(jobs: Iterable[Job]) -> str:
    """How many jobs there are, and of which types.

    >>> from workloads.table.job import JobType
    >>> composition([Job(1, JobType.RIGID, 0.0, 1, 60.0, 60.0)])
    '1 job: 1 rigid'
    """
    count = Counter(job.type.value for job in jobs)
    total = count.total()
    kinds = ", ".join(f"{number:,} {kind}" for kind, number in count.most_common())
    return f"{total:,} job{'' if total == 1 else 's'}{': ' if kinds else ''}{kinds}"
