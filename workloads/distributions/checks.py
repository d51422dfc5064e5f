"""Checks of distribution parameters."""

from __future__ import annotations

import math
from typing import SupportsFloat

import numpy as np
import numpy.typing as npt

from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.ground.numbers import decimal

__all__ = ["above", "finite", "in_seconds", "nonnegative", "positive", "runtimes"]


def _number(parameter: str, value: SupportsFloat, legal: str) -> float:
    try:
        number = decimal(value) if isinstance(value, str) else float(value)
    except (TypeError, ValueError):
        raise ParameterError(parameter, legal, value) from None
    if not math.isfinite(number):
        raise ParameterError(parameter, legal, number)
    return number


def finite(parameter: str, value: SupportsFloat) -> float:
    """The value as a finite number."""
    return _number(parameter, value, "a finite number")


def positive(parameter: str, value: SupportsFloat) -> float:
    """The value as a finite number > 0.

    >>> positive("mean", -1)
    Traceback (most recent call last):
    holdfast.workloads.ground.errors.ParameterError: mean must be a finite number above 0, not -1.0
    """
    legal = "a finite number above 0"
    number = _number(parameter, value, legal)
    if number <= 0.0:
        raise ParameterError(parameter, legal, number)
    return number


def nonnegative(parameter: str, value: SupportsFloat) -> float:
    """The value as a finite number >= 0."""
    legal = "a finite number, 0 or more"
    number = _number(parameter, value, legal)
    if number < 0.0:
        raise ParameterError(parameter, legal, number)
    return number


def above(parameter: str, value: SupportsFloat, minimum: float) -> float:
    """The value as a finite number above the minimum."""
    legal = f"a finite number above the minimum, {minimum:g}"
    number = _number(parameter, value, legal)
    if number <= minimum:
        raise ParameterError(parameter, legal, number)
    return number


def in_seconds(values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """The values as numbers; timedeltas of numpy and pandas, which have a unit of their own, as seconds.

    Raises
    ------
    TypeError, ValueError
        If a value is no number; a date is none.

    Examples
    --------
    >>> in_seconds(np.array([90, 120], "timedelta64[m]")).tolist()
    [5400.0, 7200.0]
    """
    array = np.asarray(values)
    if array.dtype.kind == "m":
        return np.asarray(array / np.timedelta64(1, "s"), dtype=float)
    if array.dtype.kind == "M":
        raise TypeError("dates are no numbers")
    return np.asarray(values, dtype=float)


def runtimes(parameter: str, values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """The values as a vector of runtimes: at least one value, all finite and above 0.

    Raises
    ------
    ParameterError
        If a value is illegal; names the first one and its position, counted from 1.
    """
    try:
        array = in_seconds(values).ravel()
    except (TypeError, ValueError):
        raise ParameterError(parameter, "a list of numbers", values) from None
    if array.size == 0:
        raise ParameterError(parameter, "at least one runtime", [])
    wrong = ~(np.isfinite(array) & (array > 0.0))
    if wrong.any():
        place = int(np.argmax(wrong))
        raise ParameterError(f"{parameter}, value {place + 1},", "a finite runtime above 0", float(array[place]))
    return array
