"""Queue orders: who stands first.

An order is a key function of a waiting job and the time; the queue is sorted by it, ties by the row order of the
input. On-demand jobs that could not start always stand before all others (hybrid-workloads.md, section 3).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from policies.port import WaitingJob
from workloads.errors import InputError
from workloads.registry import Registry

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
    static: bool = field(default=False, metadata={"parameter": False})


def fcfs(job: WaitingJob, now: int) -> int:
    """First come, first served: by first submit."""
    return job.submit


def _order(plugin: Any) -> Order:
    """A plain key function is an order, too; ``static`` may be an attribute of it."""
    if isinstance(plugin, Order):
        return plugin
    if not callable(plugin):
        raise InputError("an order is a function of a waiting job and the time")
    return Order(plugin, static=bool(getattr(plugin, "static", False)))


ORDERS: Registry[Order] = Registry("order", "holdfast.orders", _order)
ORDERS.add("fcfs", Order(fcfs, static=True), "first come, first served: by first submit")
