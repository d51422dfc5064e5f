"""Queue orders whose keys change while jobs wait, as formulas of numbers that do not change.

Their sources are those of the orders in :mod:`holdfast.policies.orders`. Each formula computes what the key function
there does, in the same sequence of operations, so that the keys are equal to the last bit.
"""

from __future__ import annotations

from math import floor
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from holdfast.workloads.ground.units import SECOND

__all__ = ["ALCF", "LATEST", "PRIORITY", "UNICEP", "WFP", "Formula", "LinkedQueue", "MovingKeys", "sort_queue"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

#: Kinds of formulas.
WFP, UNICEP, ALCF, PRIORITY = range(1, 5)
#: Times [ticks] below this limit, and their differences, are exact as floats.
LATEST = 1 << 53


class Formula(NamedTuple):
    """The key of each job of a workload at any time; the smallest goes first.

    Attributes
    ----------
    kind
        One of those of this module.
    first, second
        Numbers of each job, shape (n,).
    parameters
        Three numbers of the order.
    by_submit
        Whether ties are in the order of the submits; else in that of the input.
    """

    kind: int
    first: Floats
    second: Floats
    parameters: tuple[float, float, float] = (0.0, 0.0, 0.0)
    by_submit: bool = False


class LinkedQueue(NamedTuple):
    """The waiting jobs as a ring: the last element of both arrays links its two ends.

    Attributes
    ----------
    after, before
        The next and the former job of each, shape (n + 1,).
    order
        Buffer for the jobs of the ring in turn, shape (n,).
    """

    after: Ints
    before: Ints
    order: Ints


class MovingKeys(NamedTuple):
    """A :class:`Formula` as arguments of a loop.

    Attributes
    ----------
    kind
        That of the formula; 0: there is none, and the order does not change.
    first, second, p, q, r
        Its numbers and parameters.
    ties
        Decide between equal keys, shape (n,).
    keys
        Buffer, shape (n,).
    """

    kind: int
    first: Floats
    second: Floats
    p: float
    q: float
    r: float
    ties: Ints
    keys: Floats


def current_key(kind: Any, wait: Any, first: Any, second: Any, p: Any, q: Any, r: Any) -> Any:
    """The key of a job after this wait [ticks]."""
    if kind == WFP:
        # first is the walltime, and second the number of nodes.
        return -((wait / first) ** p) * second
    if kind == UNICEP:
        # first is the walltime times the logarithm of the nodes.
        return -wait / first
    if kind == ALCF:
        # first is the weighted number of nodes, and second the cube of the walltime.
        seconds = wait / SECOND
        score = first * seconds * seconds / second
        if p != 0.0:
            score += seconds / p
        if q != 0.0:
            score += min(r, seconds / q)
        return -score
    # Slurm's priority: first is the part of the account, and second that of the size.
    return -float(floor(first + p * min(wait / q, 1.0) + second))


def sort_queue(now: Any, top: Any, queue: LinkedQueue, ranks: Any, since: Any, moving: MovingKeys) -> None:
    """Put the linked queue into its order at this time; ``ranks`` gets the places.

    ``since`` are the times from which the jobs wait. The order changes little from one instant to the next, so that
    inserting one job after the other takes few steps.
    """
    after, before, order = queue
    kind, first, second, p, q, r, ties, keys = moving
    waiting = 0
    job = after[top]
    while job != top:
        key = current_key(kind, now - since[job], first[job], second[job], p, q, r)
        keys[job] = key
        place = waiting
        while place > 0:
            other = order[place - 1]
            if keys[other] < key or (keys[other] == key and ties[other] < ties[job]):
                break
            order[place] = other
            place -= 1
        order[place] = job
        waiting += 1
        job = after[job]
    last = top
    for place in range(waiting):
        job = order[place]
        ranks[job] = place
        after[last] = job
        before[job] = last
        last = job
    after[last] = top
    before[top] = last
