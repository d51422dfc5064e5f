"""Choice between compiled code and plain Python for a loop, by the amount of work and the compilers available."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from workloads.ground.object_code import object_code

__all__ = ["COMPILE_FROM", "LOAD_FROM", "compiled_loop", "run"]

#: Total inner steps of a loop in a process from which loading its code is faster than running plain Python.
LOAD_FROM = 10_000
#: The same if there is no cache, so that each process must compile the code.
COMPILE_FROM = 1_000_000

_steps: Counter[str] = Counter()


def compiled_loop(loop: Callable[..., int], kinds: str, steps: int) -> Callable[..., int] | None:
    """The object code of a loop, if its total number of steps, with ``steps`` more, justifies loading it.

    Parameters
    ----------
    loop
        A loop of this folder or of :mod:`policies.planning.kernel`.
    kinds
        A letter for each argument, as in :func:`workloads.ground.object_code.object_code`.
    steps
        Estimated number of inner steps.
    """
    _steps[loop.__name__] += steps
    asked = _steps[loop.__name__]
    return object_code(loop, kinds, compiles=asked >= COMPILE_FROM) if asked >= LOAD_FROM else None


def run(loop: Callable[..., int], kinds: str, steps: int, **given: Any) -> int:
    """Run a loop, compiled or in Python, whichever is faster; both give the same results.

    Parameters
    ----------
    loop
        A loop of this folder.
    kinds
        As in :func:`compiled_loop`.
    steps
        Estimated number of inner steps.
    **given
        Its arguments by name: numbers, and contiguous arrays, as the letters say, which are changed in place.

    Returns
    -------
    int
        Result of the loop.
    """
    code = compiled_loop(loop, kinds, steps)
    if code is not None:
        return code(*(given[name] for name in loop.__code__.co_varnames[: len(kinds)]))
    # Python reads lists twice as fast as arrays.
    lists = {name: value.tolist() for name, value in given.items() if isinstance(value, np.ndarray)}
    result = loop(**(given | lists))
    for name, values in lists.items():
        given[name][:] = values
    return result
