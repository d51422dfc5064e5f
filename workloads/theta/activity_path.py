"""A loop that follows the activity of users who submit less while the queue is long; compiled or interpreted."""

from __future__ import annotations

import math
from typing import Any

__all__ = ["KINDS", "find_path"]

#: What the arguments of ``find_path`` are (:func:`holdfast.workloads.ground.object_code.object_code`).
KINDS = "ffffnnd"


def follow(
    factor: Any, rate: Any, submitted: Any, drain: Any, path: Any, steps: Any, end: Any, patience: Any, whole: Any
) -> Any:
    """Follow the activity with the rates times a factor; returns their sum, from 1 on only if ``whole``."""
    place = 0.0
    queue = 0.0
    total = 0.0
    before = submitted[0]
    for step in range(steps):
        move = factor * rate[step] * math.exp(-queue / patience)
        total += move
        if total >= 1 and whole == 0:
            # The search needs to know only that all work is submitted.
            break
        place += move
        if place > 1:
            place = 1.0
        after = submitted[int(place * end)]
        queue = queue + after - before - drain[step]
        if queue < 0:
            queue = 0.0
        before = after
        path[step + 1] = place
    return total


def find_path(rate: Any, submitted: Any, drain: Any, path: Any, steps: Any, end: Any, patience: Any) -> int:
    """Write the activity times at the edges of all steps to ``path``, which has one more place than there are steps.

    The rates are scaled by the smallest factor with which all work is submitted by the end; doubling and bisection
    find it. ``submitted`` is the work submitted by ``end + 1`` equally spaced activity times.
    """
    low = 1.0
    high = 2.0
    while follow(high, rate, submitted, drain, path, steps, end, patience, 0) < 1 and high < 1e6:
        low = high
        high = high * 2
    for _ in range(20):
        middle = (low + high) / 2
        if follow(middle, rate, submitted, drain, path, steps, end, patience, 0) < 1:
            low = middle
        else:
            high = middle
    follow(high, rate, submitted, drain, path, steps, end, patience, 1)
    return 0
