"""Choice between compiled code and plain Python for a loop, by the amount of work and the compilers available."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from holdfast.workloads.ground.object_code import object_code

__all__ = ["COMPILE_FROM", "LOAD_FROM", "compiled_loop", "run"]

#: Total inner steps of a loop in a process from which loading its code is faster than running plain Python.
LOAD_FROM = 10_000
#: The same if there is no cache, so that each process must compile the code.
COMPILE_FROM = 1_000_000

_steps: Counter[str] = Counter()


def compiled_loop(loop: Callable[..., Any], steps: int) -> Callable[..., int] | None:
    """The object code of a loop, if its total number of steps, with ``steps`` more, justifies loading it.

    Parameters
    ----------
    loop
        A loop of this folder or of :mod:`holdfast.policies.planning.kernel`.
    steps
        Estimated number of inner steps.
    """
    _steps[loop.__name__] += steps
    asked = _steps[loop.__name__]
    return object_code(loop, compiles=asked >= COMPILE_FROM) if asked >= LOAD_FROM else None


def run(loop: Callable[..., Any], steps: int, **given: Any) -> Any:
    """Run a loop, compiled or in Python, whichever is faster; both give the same results.

    Parameters
    ----------
    loop
        A loop of this folder.
    steps
        As in :func:`compiled_loop`.
    **given
        Its arguments by name: named tuples of numbers and contiguous arrays, which are changed in place.

    Returns
    -------
    int or None
        Result of the loop; of one without a result anything.
    """
    code = compiled_loop(loop, steps)
    if code is not None:
        return code(*(given[name] for name in loop.__code__.co_varnames[: loop.__code__.co_argcount]))
    # Python reads lists twice as fast as arrays.
    arrays: dict[int, tuple[np.ndarray, list[Any]]] = {}

    def plain(value: Any) -> Any:
        if isinstance(value, tuple):
            return type(value)(*map(plain, value))
        if not isinstance(value, np.ndarray):
            return value
        # An array that is given twice is one list.
        return arrays.setdefault(id(value), (value, value.tolist()))[1]

    result = loop(**{name: plain(value) for name, value in given.items()})
    for array, values in arrays.values():
        array[:] = values
    return result
