"""The availability profile in arrays: the number of free nodes at each future time.

``times`` and ``levels`` are arrays with ``steps`` entries in use: from ``times[k]`` to the next time, ``levels[k]``
nodes are free. :class:`holdfast.policies.availability_profile.Profile` has the same in Python lists, for few jobs, and
uses these functions. Only this module compares and subtracts levels, which are numbers of nodes.
"""

from __future__ import annotations

from typing import Any

__all__ = ["earliest", "put_back", "reach", "room", "take"]


def room(times: Any, levels: Any, steps: Any, place: Any, end: Any, enough: Any) -> Any:
    """The fewest nodes from a step until before ``end``; any number below ``enough`` if they are not enough."""
    least = levels[place]
    place += 1
    while place < steps and times[place] < end and least >= enough:
        if levels[place] < least:
            least = levels[place]
        place += 1
    return least


def earliest(times: Any, levels: Any, steps: Any, place: Any, nodes: Any, length: Any) -> Any:
    """The first step from ``place`` on at which ``nodes`` are free for ``length``; ``steps`` if there is none."""
    while place < steps:
        if levels[place] >= nodes:
            begin = place
            end = times[place] + length
            place += 1
            while place < steps and times[place] < end and levels[place] >= nodes:
                place += 1
            if place == steps or times[place] >= end:
                return begin
        place += 1
    return steps


def reach(times: Any, steps: Any, at: Any) -> Any:
    """The number of steps that begin at or before ``at``."""
    low = 0
    high = steps
    while low < high:
        middle = (low + high) // 2
        if times[middle] <= at:
            low = middle + 1
        else:
            high = middle
    return low


def put_back(times: Any, levels: Any, steps: Any, at: Any, nodes: Any) -> Any:
    """Release nodes at a time at or after the last step; returns the new number of steps."""
    if at > times[steps - 1]:
        times[steps] = at
        levels[steps] = levels[steps - 1]
        steps += 1
    levels[steps - 1] += nodes
    return steps


def take(times: Any, levels: Any, steps: Any, start: Any, end: Any, nodes: Any) -> Any:
    """Take nodes from ``start`` until before ``end``, both at or after the first step; returns the new number of steps.

    Negative ``nodes`` are released.
    """
    if start >= end:
        return steps
    first = 0
    for at in (start, end):
        low = reach(times, steps, at)
        if times[low - 1] != at:
            for k in range(steps, low, -1):
                times[k] = times[k - 1]
                levels[k] = levels[k - 1]
            times[low] = at
            levels[low] = levels[low - 1]
            steps += 1
            low += 1
        if at == start:
            first = low - 1
        else:
            for k in range(first, low - 1):
                levels[k] -= nodes
    return steps
