"""stub to be replaced by the readers branch"""

from collections.abc import Iterable
from workloads.job import Job


def check_jobs(jobs: Iterable[Job], nodes: int | None = None) -> None: ...
