"""Straight-line fits by least squares, with and without bounds on the coefficients, and their goodness of fit."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Line", "least_squares", "least_squares_above"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Line:
    """The line y = slope x + intercept, and its goodness of fit; None: not known.

    Attributes
    ----------
    slope, intercept
        Coefficients of the line.
    slope_error, intercept_error
        Standard errors under the assumption of independent pairs; None for a coefficient at its bound.
    r_squared
        1 - (sum of squared residuals) / (sum of squares about the mean); below 0 if a bound makes the line worse than
        the mean, None if all y are equal.
    spread
        Standard deviation of the residuals, in the unit of y.
    """

    slope: float
    intercept: float
    slope_error: float | None = None
    intercept_error: float | None = None
    r_squared: float | None = None
    spread: float | None = None

    def at(self, x: Floats) -> Floats:
        """Values of the line, in the shape of ``x``."""
        return self.slope * x + self.intercept


def least_squares(x: Floats, y: Floats) -> Line:
    """The line with the least sum of squares.

    Parameters
    ----------
    x, y
        Pairs, shape (n,), n >= 3, with at least two different x.
    """
    middle, height = float(x.mean()), float(y.mean())
    away = x - middle
    squares = float(away @ away)
    slope = float(away @ (y - height)) / squares
    intercept = height - slope * middle
    spread = _spread(x, y, slope, intercept, 2)
    return Line(
        slope,
        intercept,
        slope_error=spread / math.sqrt(squares),
        intercept_error=spread * math.sqrt(1.0 / len(x) + middle**2 / squares),
        r_squared=_r2_score(x, y, slope, intercept),
        spread=spread,
    )


def least_squares_above(x: Floats, y: Floats, least_slope: float) -> Line:
    """The line with the least sum of squares, subject to slope >= ``least_slope`` and intercept >= 0.

    Parameters
    ----------
    x, y
        As in :func:`least_squares`; x > 0.
    least_slope
        Lower bound of the slope; the lower bound of the intercept is 0.

    Notes
    -----
    The sum of squares is convex in both coefficients. If the unconstrained minimum violates a bound, the minimum is
    therefore on one of the two edges of the legal quarter plane; on an edge, the sum is a parabola in the other
    coefficient.
    """
    free = least_squares(x, y)
    if free.slope >= least_slope and free.intercept >= 0:
        return free
    flat = max(0.0, float(y.mean()) - least_slope * float(x.mean()))
    steep = max(least_slope, float(x @ y) / float(x @ x))
    edges = [(least_slope, flat), (steep, 0.0)]
    slope, intercept = min(edges, key=lambda edge: _residual(x, y, *edge))
    moved = (slope > least_slope) + (intercept > 0)  # number of coefficients that are not at their bounds: at most one
    spread = _spread(x, y, slope, intercept, moved)
    return Line(
        slope,
        intercept,
        slope_error=spread / math.sqrt(float(x @ x)) if slope > least_slope else None,
        intercept_error=spread / math.sqrt(len(x)) if intercept > 0 else None,
        r_squared=_r2_score(x, y, slope, intercept),
        spread=spread,
    )


def _residual(x: Floats, y: Floats, slope: float, intercept: float) -> float:
    rest = y - (slope * x + intercept)
    return float(rest @ rest)


def _spread(x: Floats, y: Floats, slope: float, intercept: float, fitted: int) -> float:
    return math.sqrt(_residual(x, y, slope, intercept) / (len(x) - fitted))


def _r2_score(x: Floats, y: Floats, slope: float, intercept: float) -> float | None:
    # The mean of equal numbers may differ from them by a rounding error, which is not a variance.
    if float(np.ptp(y)) == 0:
        return None
    about = y - y.mean()
    return 1.0 - _residual(x, y, slope, intercept) / float(about @ about)
