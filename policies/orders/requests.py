"""Queue orders by requested time, requested nodes, or both. The key of a job does not change while it waits.

Sources: shortest and smallest first as in Krueger, Lai and Dixit-Radiya, "Job scheduling is more important than
processor allocation for hypercube computers", IEEE TPDS 5(5), 1994; smallest area first as in Carastan-Santos, de
Camargo, Trystram and Zrigui, "One can only gain by replacing EASY backfilling: a simple scheduling policies case
study", CCGrid 2019. All use the requested walltime, because the runtime is not known.
"""

from __future__ import annotations

from holdfast.policies.port import WaitingJob

__all__ = ["fcfs", "largest", "largest_area", "longest", "shortest", "smallest", "smallest_area"]


def fcfs(job: WaitingJob, now: int) -> int:
    """First come, first served: by first submit."""
    return job.submit


def shortest(job: WaitingJob, now: int) -> tuple[int, int]:
    """Shortest walltime first, then by submit."""
    return job.walltime, job.submit


def longest(job: WaitingJob, now: int) -> tuple[int, int]:
    """Longest walltime first, then by submit."""
    return -job.walltime, job.submit


def smallest(job: WaitingJob, now: int) -> tuple[int, int]:
    """Fewest nodes first, then by submit."""
    return job.nodes, job.submit


def largest(job: WaitingJob, now: int) -> tuple[int, int]:
    """Most nodes first, then by submit."""
    return -job.nodes, job.submit


def smallest_area(job: WaitingJob, now: int) -> tuple[int, int]:
    """Smallest nodes x walltime first, then by submit."""
    return job.nodes * job.walltime, job.submit


def largest_area(job: WaitingJob, now: int) -> tuple[int, int]:
    """Largest nodes x walltime first, then by submit."""
    return -job.nodes * job.walltime, job.submit
