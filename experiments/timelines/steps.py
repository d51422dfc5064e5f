"""Step functions of time: averages over bins, and units and bins that suit a span."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Floats", "TimeUnit", "bin_averages", "choose_bin", "choose_unit"]

Floats = npt.NDArray[np.float64]


class TimeUnit(NamedTuple):
    """A unit of time.

    Attributes
    ----------
    symbol, name
        Symbol on an axis, and name in text.
    seconds
        Its length.
    """

    symbol: str
    name: str
    seconds: float


_SECOND, _MINUTE = TimeUnit("s", "second", 1.0), TimeUnit("min", "minute", 60.0)
_HOUR, _DAY = TimeUnit("h", "hour", 3600.0), TimeUnit("d", "day", 86400.0)
_WEEK = TimeUnit("weeks", "week", 7 * 86400.0)

#: More points than this cannot be distinguished at the width of a page.
_MOST = 400
_BINS = (
    (10, _SECOND),
    (1, _MINUTE),
    (5, _MINUTE),
    (15, _MINUTE),
    (1, _HOUR),
    (6, _HOUR),
    (1, _DAY),
    (1, _WEEK),
    (4, _WEEK),
    (26, _WEEK),
)


def choose_unit(span: float) -> TimeUnit:
    """Choose the unit in which a span [s] has a suitable number of digits.

    >>> choose_unit(365 * 86400).symbol, choose_unit(8 * 3600).symbol, choose_unit(5400).symbol
    ('d', 'h', 'min')
    """
    for unit in (_DAY, _HOUR, _MINUTE):
        if span > 3 * unit.seconds:
            return unit
    return _SECOND


def choose_bin(span: float, points: int) -> tuple[float, str]:
    """Choose the bin over which a step function is averaged so that it stays legible.

    Parameters
    ----------
    span
        Displayed span [s].
    points
        Number of steps in it.

    Returns
    -------
    seconds : float
        Length of the bin; 0 if the steps can be drawn directly.
    name : str
        As in "averages over 1 day".

    Examples
    --------
    >>> choose_bin(365 * 86400, 50_000), choose_bin(4 * 3600, 30)
    ((86400.0, '1 day'), (0.0, ''))
    """
    if points <= _MOST:
        return 0.0, ""
    for count, unit in _BINS:
        if span <= _MOST * count * unit.seconds:
            break
    return count * unit.seconds, f"{count} {unit.name}s" if count > 1 else f"1 {unit.name}"


def bin_averages(times: Sequence[float] | Floats, values: Sequence[float] | Floats, edges: Floats) -> Floats:
    """Averages of a step function over bins.

    Parameters
    ----------
    times
        Begin of each value, ascending, shape (n,).
    values
        Shape (n,); the last one has no end, and the function is 0 before the first time.
    edges
        Edges of the bins, ascending, shape (m + 1,), in the unit of ``times``.

    Returns
    -------
    ndarray
        Shape (m,).

    Examples
    --------
    >>> bin_averages([0, 1, 3], [4.0, 2.0, 0.0], np.array([0.0, 2.0, 4.0])).tolist()
    [3.0, 1.0]
    """
    at = np.asarray(times, dtype=float)
    level = np.asarray(values, dtype=float)
    # The integral of a step function is linear between its steps.
    area = np.concatenate(([0.0], np.cumsum(level[:-1] * np.diff(at))))
    beyond = max(float(edges[-1]), float(at[-1]))
    area = np.append(area, area[-1] + level[-1] * (beyond - at[-1]))
    whole = np.interp(edges, np.append(at, beyond), area, left=0.0)
    averages: Floats = np.diff(whole) / np.diff(edges)
    return averages
