"""Two ways to run a loop: object code, or the plain source where there is little to do or nothing to compile with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from workloads.ground.objectcode import object_code

__all__ = ["COMPILE_FROM", "LOAD_FROM", "runner"]

#: Inner steps, all that a process asks of a loop together, from which loading its code takes less than going on.
LOAD_FROM = 10_000
#: The same where the code must be compiled in each process, because there is no place to keep it.
COMPILE_FROM = 1_000_000

_steps: Counter[str] = Counter()


def runner(function: Callable[..., None], kinds: str, steps: int) -> tuple[Callable[..., None], Callable[[Any], Any]]:
    """The loop as it is best run for so many inner steps, and how to pass it sequences.

    Both ways give the same results.

    Parameters
    ----------
    function
        A loop of this folder.
    kinds
        A letter for each argument, as of :func:`workloads.ground.objectcode.object_code`.
    steps
        Estimated number of inner steps.

    Returns
    -------
    function, sequence
        Apply ``sequence`` to each array argument: it makes a list for the plain source, leaves an array for machine
        code.
    """
    _steps[function.__name__] += steps
    asked = _steps[function.__name__]
    code = object_code(function, kinds, compiles=asked >= COMPILE_FROM) if asked >= LOAD_FROM else None
    if code is None:
        return function, lambda array: np.asarray(array).tolist()
    return code, lambda array: np.ascontiguousarray(array, dtype=np.int64)
