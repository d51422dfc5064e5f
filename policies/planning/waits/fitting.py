"""Fits of the wait as an affine function of the requested walltime, separately for each class of job sizes.

Source: docs/planner.md, "Prices from waits".
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from holdfast.policies.planning.waits.lines import Line, least_squares, least_squares_above
from holdfast.policies.planning.waits.model import LEAST_ALPHA, SizeClass, WaitFit, WaitModel
from holdfast.workloads.ground.errors import InputError, ParameterError
from holdfast.workloads.ground.numbers import is_whole

__all__ = ["LEAST_PAIRS", "Bins", "bin_pairs", "fit_waits", "size_classes"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Minimum number of pairs of a size class; a smaller class uses the fit for all sizes. The standard deviation of waits
#: exceeds their mean, so that even the mean of a hundred waits has an error of 10 to 20 %.
LEAST_PAIRS = 100
#: Minimum number of pairs for a line with an error estimate.
_FEWEST = 3
#: Maximum wait [s], about 30,000 years: squares and sums of larger numbers would overflow.
_LONGEST = 1e12


def fit_waits(
    walltimes: ArrayLike,
    waits: ArrayLike,
    nodes: ArrayLike,
    classes: Sequence[int] | None = None,
    *,
    least_pairs: int = LEAST_PAIRS,
) -> WaitModel:
    """Fit the mean wait as an affine function of the requested walltime, for all sizes and for each class of sizes.

    Parameters
    ----------
    walltimes
        Requested walltimes [s], > 0, shape (n,).
    waits
        Times from submit to start [s], >= 0, shape (n,).
    nodes
        Sizes of the jobs, >= 1, shape (n,).
    classes
        Largest size of each class, ascending; one more class without a limit follows. None: :func:`size_classes`.
    least_pairs
        A class with fewer pairs uses the fit for all sizes.

    Returns
    -------
    WaitModel
        Least-squares fits to the pairs, subject to alpha >= :data:`.LEAST_ALPHA` and gamma >= 0.

    Raises
    ------
    ParameterError
        If the arrays are not valid.
    InputError
        If there are fewer than three pairs or all requests are equal.

    Examples
    --------
    >>> hours = 3600 * np.arange(1.0, 201.0)
    >>> alpha, beta, gamma = fit_waits(hours, 0.95 * hours + 3780, np.full(200, 64)).costs_for(64)
    >>> round(alpha, 6), beta, round(gamma, 6)
    (0.95, 1.0, 3780.0)
    """
    x, y = _times("walltimes", walltimes), _times("waits", waits)
    size = np.asarray(nodes)
    if not (x.shape == y.shape == size.shape):
        shapes = f"shapes {x.shape}, {y.shape}, {size.shape}"
        raise ParameterError("walltimes, waits and nodes", "arrays of the same shape", shapes)
    if size.size and not (np.issubdtype(size.dtype, np.integer) and int(size.min()) >= 1):
        raise ParameterError("nodes", "whole numbers of at least 1", size.tolist()[:5])
    if x.size and not float(x.min()) > 0:
        raise ParameterError("walltimes", "above 0", float(x.min()))
    if not _determines_line(x):
        count = len(np.unique(x))
        raise InputError(
            f"alpha and gamma can be fitted to at least {_FEWEST} pairs of walltime and wait with two different "
            f"walltimes, not to {len(x)} with {count}"
        )
    ends = size_classes(size, least_pairs) if classes is None else _ends(classes)
    everyone = _fit(x, y)
    found = []
    for low, high in zip((0, *ends), (*ends, None), strict=True) if ends else ():
        inside = (size > low) & (True if high is None else size <= high)
        few = int(inside.sum()) < least_pairs or not _determines_line(x[inside])
        fit = WaitFit(everyone.alpha, everyone.gamma, pairs=int(inside.sum())) if few else _fit(x[inside], y[inside])
        found.append(SizeClass(low + 1, high, fit, fallback=few))
    return WaitModel(everyone, tuple(found))


def size_classes(nodes: ArrayLike, least_pairs: int = LEAST_PAIRS) -> tuple[int, ...]:
    """Largest sizes of the default classes except the last: powers of two, merged until each class has enough pairs.

    Waits depend on the order of magnitude of the size, and most requests are powers of two, which should not be in a
    class with larger sizes. Therefore the ends of classes are powers of two.

    Parameters
    ----------
    nodes
        Sizes of the jobs, >= 1, shape (n,).
    least_pairs
        Minimum number of pairs per class.

    Returns
    -------
    tuple of int
        Empty if there is only one class.

    Examples
    --------
    >>> size_classes([1, 1, 2, 3, 4, 8, 8, 9], 3)
    (2,)
    >>> size_classes([1, 1, 2, 3, 4, 4, 8, 8, 9], 3)
    (2, 4)
    """
    sizes = np.sort(np.asarray(nodes))
    ends: list[int] = []
    taken, end = 0, 1
    while taken < len(sizes):
        below = int(np.searchsorted(sizes, end, side="right"))
        if below - taken >= least_pairs:
            ends.append(end)
            taken = below
        elif below == len(sizes):
            break
        end *= 2
    # The last class has no upper end and takes all remaining sizes.
    return tuple(ends[:-1])


class Bins(NamedTuple):
    """Groups of pairs with similar walltimes; each array has shape (m,).

    Attributes
    ----------
    walltime, wait
        Mean walltime and mean wait of each group [s].
    lower, upper
        Quartiles of the waits [s].
    pairs
        Number of pairs of each group.
    """

    walltime: Floats
    wait: Floats
    lower: Floats
    upper: Floats
    pairs: Ints


def bin_pairs(walltimes: Floats, waits: Floats, groups: int = 20) -> Bins:
    """Divide pairs by walltime into about ``groups`` groups of equal size; equal walltimes are in the same group.

    Parameters
    ----------
    walltimes, waits
        Walltimes and waits [s], shape (n,), n >= 1.
    groups
        Maximum number of groups; there are fewer if many walltimes are equal.
    """
    order = np.argsort(walltimes, kind="stable")
    x, y = walltimes[order], waits[order]
    cuts = np.searchsorted(x, x[len(x) * np.arange(1, groups) // groups], side="left")
    parts = np.unique(np.concatenate(([0], cuts)))
    counts = np.diff(np.append(parts, len(x)))
    quartiles = np.array([np.percentile(part, (25, 75)) for part in np.split(y, parts[1:])])
    return Bins(
        np.add.reduceat(x, parts) / counts,
        np.add.reduceat(y, parts) / counts,
        quartiles[:, 0],
        quartiles[:, 1],
        counts,
    )


def _ends(classes: Sequence[int]) -> tuple[int, ...]:
    ends = tuple(classes)
    if not all(is_whole(end, 1) for end in ends) or any(left >= right for left, right in pairwise(ends)):
        raise ParameterError("classes", "sizes in nodes in ascending order", list(ends))
    return ends


def _times(name: str, values: ArrayLike) -> Floats:
    times = np.asarray(values, float)
    if times.ndim != 1:
        raise ParameterError(name, "an array with one dimension", times.shape)
    wrong = ~((times >= 0) & (times < _LONGEST))  # NaN fails both comparisons and is wrong
    if wrong.any():
        raise ParameterError(name, f"numbers of seconds from 0 to {_LONGEST:g}", float(times[wrong][0]))
    return times


def _determines_line(x: Floats) -> bool:
    return len(x) >= _FEWEST and float(np.ptp(x)) > 0


def _fit(x: Floats, y: Floats) -> WaitFit:
    free, line = least_squares(x, y), least_squares_above(x, y, LEAST_ALPHA)
    bins = bin_pairs(x, y)
    return WaitFit(
        line.slope,
        line.intercept,
        pairs=len(x),
        walltime_from=float(x.min()),
        walltime_to=float(x.max()),
        alpha_error=line.slope_error,
        gamma_error=line.intercept_error,
        r_squared=line.r_squared,
        r_squared_means=_r2_score_of_means(bins, line),
        spread=line.spread,
        unconstrained=free,
    )


def _r2_score_of_means(bins: Bins, line: Line) -> float | None:
    # A line always goes through two points, so that at least three are needed to judge it.
    if len(bins.pairs) < _FEWEST or float(np.ptp(bins.wait)) == 0:
        return None
    rest = bins.wait - line.at(bins.walltime)
    about = bins.wait - np.average(bins.wait, weights=bins.pairs)
    return 1.0 - float(bins.pairs @ rest**2) / float(bins.pairs @ about**2)
