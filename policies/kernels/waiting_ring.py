"""Waiting jobs as a ring of two arrays, the next and the former job of each; its head is a number above those of jobs.

Functions over whole numbers, which run compiled or as plain Python.
"""

from __future__ import annotations

from typing import Any

__all__ = ["link", "unlink"]


def link(job: Any, head: Any, ranks: Any, after: Any, before: Any) -> None:
    """Insert a job before all that have a higher rank."""
    last = before[head]
    while last != head and ranks[last] > ranks[job]:
        last = before[last]
    following = after[last]
    after[last] = job
    before[job] = last
    after[job] = following
    before[following] = job


def unlink(job: Any, after: Any, before: Any) -> None:
    """Remove a job."""
    former = before[job]
    following = after[job]
    after[former] = following
    before[following] = former
