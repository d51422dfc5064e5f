"""Queue orders, which decide the order of the waiting jobs.

An order is a key function of a waiting job and the time. The queue is sorted by the key, with ties in the row order of
the input. On-demand jobs that could not start always precede all others (docs/model.md, "Queue orders").
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from holdfast.policies.kernels.queue_keys import Formula
from holdfast.policies.orders.fairshare import FairShare
from holdfast.policies.orders.learned import f1, f2, f3, f4
from holdfast.policies.orders.requests import fcfs, largest, largest_area, longest, shortest, smallest, smallest_area
from holdfast.policies.orders.utilities import Alcf, Wfp, unicep, unicep_formula, unicep_ranking
from holdfast.policies.port import Ranking, SystemView, WaitingJob
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.registry import Registry, check_function

__all__ = ["ORDERS", "Order", "fcfs"]

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Order:
    """A queue order.

    Attributes
    ----------
    key
        Function ``key(job, now)``; the job with the smallest key goes first. It is called once per waiting job and
        instant.
    static
        Whether the key of a job never changes while it waits. If so, the queue stays sorted; otherwise it is sorted at
        each instant with a scheduling pass.
    at
        Function ``at(view)`` that returns the key function ``key(job)`` for an instant, for orders that also depend on
        the machine size, the usage of projects or the like. It may use only those parts of the view that do not change
        within an instant. None: ``key`` is used.
    half_life
        Half-life [s] of past node-seconds in ``view.group_usage``; None: the order does not use them, and the simulator
        does not compute them. A plug-in with ``at`` and a false attribute ``needs_usage`` gets None here.
    ranking
        Makes the :class:`~holdfast.policies.port.Ranking` of a simulation, a vectorised form of the same order. None:
        the whole queue is sorted by ``key``.
    formula
        ``formula(nodes, walltimes, machine)``: the same order for a compiled replay, from the sizes and walltimes
        [ticks] of all jobs and the size of the machine; None if it has none. Orders of Holdfast only.
    """

    key: Callable[[WaitingJob, int], Any]
    static: bool = field(default=False, metadata={"parameter": False})
    at: Callable[[SystemView], Callable[[WaitingJob], Any]] | None = field(default=None, metadata={"parameter": False})
    half_life: float | None = field(default=None, metadata={"parameter": False})
    ranking: Callable[[], Ranking] | None = field(default=None, metadata={"parameter": False})
    formula: Callable[[Ints, Ints, int], Formula | None] | None = field(default=None, metadata={"parameter": False})


def _needs_view(job: WaitingJob, now: int) -> Any:
    raise InputError("the key of this order depends on the machine: call at(view)")


def _order(plugin: Any) -> Order:
    """Convert a plug-in to an order; it may be a plain key function, with ``static`` as an attribute."""
    if isinstance(plugin, Order):
        return plugin
    if callable(getattr(plugin, "ready", None)):
        plugin = plugin.ready()
    ranking = getattr(plugin, "ranking", None)
    # That of a class does not hold for those derived from it, which may have another key.
    formula = plugin.formula if "formula" in vars(type(plugin)) else None
    if callable(getattr(plugin, "at", None)):
        check_function(plugin, "the view", method="at")
        half_life = getattr(plugin, "half_life", None) if getattr(plugin, "needs_usage", True) else None
        return Order(_needs_view, at=plugin.at, half_life=half_life, ranking=ranking, formula=formula)
    if not callable(plugin):
        raise InputError("an order must be a function of a waiting job and the time, or have a method at(view)")
    check_function(plugin, "a waiting job", "the time")
    return Order(plugin, static=bool(getattr(plugin, "static", False)), ranking=ranking, formula=formula)


ORDERS: Registry[Order] = Registry("order", "holdfast.orders", _order)
ORDERS.add("fcfs", Order(fcfs, static=True), "first come, first served: by first submit")
ORDERS.add("sjf", Order(shortest, static=True), "shortest job first: by requested walltime")
ORDERS.add("ljf", Order(longest, static=True), "longest job first: by requested walltime")
ORDERS.add("smallest", Order(smallest, static=True), "fewest nodes first")
ORDERS.add("largest", Order(largest, static=True), "most nodes first")
ORDERS.add("saf", Order(smallest_area, static=True), "smallest area first: nodes x walltime")
ORDERS.add("laf", Order(largest_area, static=True), "largest area first: nodes x walltime")
ORDERS.add("wfp3", Wfp, "WFP3 (Cobalt): highest (wait / walltime)^3 x nodes first")
ORDERS.add(
    "unicep",
    Order(unicep, ranking=unicep_ranking, formula=unicep_formula),
    "UNICEP: highest wait / (log2(nodes) x walltime) first",
)
ORDERS.add("f1", Order(f1, static=True), "F1: log10(walltime) x nodes + 870 x log10(submit)")
ORDERS.add("f2", Order(f2, static=True), "F2: sqrt(walltime) x nodes + 25,600 x log10(submit)")
ORDERS.add("f3", Order(f3, static=True), "F3: walltime x nodes + 6,860,000 x log10(submit)")
ORDERS.add("f4", Order(f4, static=True), "F4: walltime x sqrt(nodes) + 530,000 x log10(submit)")
ORDERS.add("fairshare", FairShare, "the project that has used least; usage halves with time")
ORDERS.add("alcf", Alcf, "the ALCF's score: wait^2 / walltime^3 x nodes / machine")
ORDERS.alias(
    "learned",
    "holdfast.policies.orders.learned_score:Learned",
    "highest score of a network first: learned model=FILE.npz",
)
ORDERS.alias(
    "multifactor",
    "holdfast.policies.orders.multifactor:Multifactor",
    "Slurm's multifactor priority: weights of age, fairshare, size and qos",
)
