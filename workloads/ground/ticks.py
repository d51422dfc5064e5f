"""Vectorised conversion of times to ticks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from holdfast.workloads.ground.units import SECOND, to_ticks

__all__ = ["in_ticks", "list_in_ticks"]

#: Largest time for which every number of ticks is exact as a float [s].
_EXACT = 2**53 // SECOND


def in_ticks(seconds: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Round seconds to ticks, as :func:`holdfast.workloads.ground.units.to_ticks` does with floats.

    >>> in_ticks([0.5, 1.5]).tolist()
    [500000, 1500000]
    """
    return np.rint(np.asarray(seconds, np.float64) * SECOND).astype(np.int64)


def list_in_ticks(seconds: Sequence[float]) -> list[int]:
    """Apply :func:`holdfast.workloads.ground.units.to_ticks` to each value, including integers of any size.

    >>> list_in_ticks([1, 2.5])
    [1000000, 2500000]
    """
    values = np.array(seconds, np.float64)
    if len(values) and float(np.abs(values).max()) >= _EXACT:
        return [to_ticks(value) for value in seconds]
    ticks: list[int] = in_ticks(values).tolist()
    return ticks
