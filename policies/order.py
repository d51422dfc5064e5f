"""Queue orders: who stands first.

An order is a key function of a waiting job and the time; the queue is sorted by it, ties by the row order of the
input. On-demand jobs that could not start always stand before all others (hybrid-workloads.md, section 3).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from policies.port import WaitingJob
from policies.registry import Registry

__all__ = ["ORDERS", "Order", "fcfs"]


@dataclass(frozen=True)
class Order:
    """A queue order.

    Attributes
    ----------
    key
        ``key(job, now)``: the smallest goes first.
    static
        Whether a job's key never changes while it waits. The queue then stays sorted by itself; otherwise it is sorted
        anew before each pass.
    """

    key: Callable[[WaitingJob, int], Any]
    static: bool = False


def fcfs(job: WaitingJob, now: int) -> int:
    """First come, first served: by first submit."""
    return job.submit


ORDERS: Registry[Order] = Registry("order")
ORDERS.add("fcfs", Order(fcfs, static=True))
