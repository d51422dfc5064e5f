"""Rules for numbers in parameters and in documents from outside: accepted types and accepted texts.

All texts become numbers here: :func:`integer` and :func:`decimal` reject notations that Python's ``int()`` and
``float()`` accept, such as ``1_000`` and the digits of other scripts. A task of an array, ``1_6``, is not 16.
``True`` and ``False`` are integers in Python, but as the value of a numeric parameter they are a mistake.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any, TypeGuard

from holdfast.workloads.ground.errors import ParameterError

__all__ = ["check_whole", "decimal", "integer", "is_number", "is_whole"]


def integer(text: str) -> int:
    """Read a whole number.

    Raises
    ------
    ValueError
        If the text is not such a number.

    Examples
    --------
    >>> integer(" -12 ")
    -12
    >>> integer("1_6")
    Traceback (most recent call last):
    ValueError: not a whole number
    """
    if "_" in text or not text.isascii():
        raise ValueError("not a whole number")
    return int(text)


def decimal(text: str) -> float:
    """Read a number, infinity and NaN included.

    Raises
    ------
    ValueError
        If the text is not a number.

    Examples
    --------
    >>> decimal("1e3"), decimal("inf")
    (1000.0, inf)
    """
    if "_" in text or not text.isascii():
        raise ValueError("not a number")
    return float(text)


def is_whole(value: object, least: float = float("-inf"), *, numpy: bool = False) -> TypeGuard[int]:
    """Whether a value is an integer of at least ``least``; numpy's integers are accepted if ``numpy`` is true.

    >>> is_whole(3, 1), is_whole(0, 1), is_whole(True), is_whole(3.0)
    (True, False, False, False)
    """
    kinds: Any = Integral if numpy else int
    return isinstance(value, kinds) and not isinstance(value, bool) and bool(value >= least)


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether a value is an integer or a float, NaN and infinity included.

    >>> is_number(2), is_number(2.5), is_number(False), is_number("2")
    (True, True, False, False)
    """
    return isinstance(value, int | float) and not isinstance(value, bool)


def check_whole(name: str, value: object, least: int, legal: str, *, numpy: bool = False) -> None:
    """Check a parameter with :func:`is_whole`.

    Raises
    ------
    ParameterError
        If the value is not such an integer.
    """
    if not is_whole(value, least, numpy=numpy):
        raise ParameterError(name, legal, value)
