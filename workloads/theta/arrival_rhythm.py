"""The rhythm of submissions: levels of activity over the hours, days and weeks of a year.

Activity is a step function with hourly steps. A campaign is placed in *activity time*, the integral of activity scaled
to [0, 1), in which submissions are uniform, and then mapped back to the clock.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from workloads.theta.year import ThetaYear

__all__ = ["Rhythm"]

_HOUR = 3600.0
#: Steps of activity time in which submitted work is looked up.
_GRID = 1 << 15


class Rhythm:
    """Activity over a trace.

    Parameters
    ----------
    parameters
        Parameters of the year.
    place
        Activity times at which work is submitted, in [0, 1).
    work
        How much, in hours of the whole machine.
    rng
        Draws the levels of weeks and days.

    Notes
    -----
    Users see the queue: the longer it is, the less they submit (Zakay and Feitelson, on workloads with feedback). The
    queue is seen as a fluid, drained by the machine at a constant rate; activity falls by a factor e for each
    ``patience`` hours of it. Without that, an open arrival process near saturation waits for whole weeks.
    """

    def __init__(
        self,
        parameters: ThetaYear,
        place: NDArray[np.float64],
        work: NDArray[np.float64],
        rng: np.random.Generator,
    ) -> None:
        span = parameters.span
        hours = max(1, math.ceil(span / _HOUR))
        # The last step may be cut by the end of the trace.
        self._edges = np.minimum(np.arange(hours + 1) * _HOUR, span)
        rate = _rates(parameters, hours, rng) * np.diff(self._edges)
        rate = np.ones(hours) if rate.sum() <= 0 else rate / rate.sum()
        order = np.argsort(place)
        submitted = np.interp(np.linspace(0, 1, _GRID + 1), place[order], np.cumsum(work[order]))
        drain = parameters.drain * np.diff(self._edges) / _HOUR
        self._activity = _activity_times(rate.tolist(), submitted.tolist(), drain.tolist(), parameters.patience)

    def clock(self, activity_time: NDArray[np.float64]) -> NDArray[np.float64]:
        """Clock times [s] of activity times in [0, 1)."""
        return np.asarray(np.interp(activity_time, self._activity, self._edges))


def _rates(parameters: ThetaYear, hours: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Activity of each hour as it would be if the queue were always empty."""
    hour = np.arange(hours)
    day = hour // 24
    # Weeks are counted from the Monday before the first day.
    weekday = (day + parameters.first_weekday) % 7
    week = (day + parameters.first_weekday) // 7
    weeks, days = int(week[-1]) + 1, int(day[-1]) + 1
    level = np.exp(parameters.week_sigma * _levels(weeks, parameters.week_memory, rng))[week]
    level = level * np.exp(parameters.day_sigma * _levels(days, 0.0, rng))[day]
    level = level * np.exp(parameters.hour_sigma * _levels(hours, 0.0, rng))
    rate = level * np.array(parameters.hours)[hour % 24] * np.array(parameters.weekdays)[weekday]
    since = hour % 24 - 8
    closed = (weekday == 0) & (week % 2 == 1) & (since >= 0) & (since < parameters.maintenance)
    # One lull in each equal part of the trace, at any time of it.
    lulls = round(parameters.lulls * parameters.span / parameters.year)
    for first in ((np.arange(lulls) + rng.random(lulls)) / max(1, lulls) * hours).astype(np.int64):
        closed[first : first + round(parameters.lull)] = True
    return np.asarray(np.where(closed, 0.0, rate))


def _activity_times(
    rate: list[float], submitted: list[float], drain: list[float], patience: float
) -> NDArray[np.float64]:
    """Activity time at the edges of the steps, with users that submit less while the queue is long.

    The rates are scaled by the factor with which all work is submitted at the end, found by the secant method on a
    logarithm; plain floats, because each step depends on the previous one.
    """

    exp = math.exp

    def run(factor: float, *, whole: bool = False) -> tuple[float, list[float]]:
        # Without calls but one, because this is the longest loop of a short trace.
        place = queue = total = 0.0
        end, before = len(submitted) - 1, submitted[0]
        path = [place]
        for step, out in zip(rate, drain, strict=True):
            move = factor * step * exp(-queue / patience)
            total += move
            if total >= 1 and not whole:
                # It is only asked whether all is submitted.
                break
            place += move
            if place > 1:
                place = 1.0
            after = submitted[int(place * end)]
            queue = queue + after - before - out
            if queue < 0:
                queue = 0.0
            before = after
            path.append(place)
        return total, path

    low, high = 1.0, 2.0
    while run(high)[0] < 1 and high < 1e6:
        low, high = high, high * 2
    for _ in range(20):
        middle = (low + high) / 2
        if run(middle)[0] < 1:
            low = middle
        else:
            high = middle
    path = np.array(run(high, whole=True)[1])
    return np.asarray(path / path[-1])


def _levels(count: int, memory: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Normal scores with a correlation between neighbours, the same set of values for every seed.

    Queueing near saturation answers to a little more or less variation with a lot of waiting. The *order* of good and
    bad weeks is drawn, their distribution is not.
    """
    noise = rng.standard_normal(count)
    series = np.empty(count)
    last = rng.standard_normal()
    for index in range(count):
        last = memory * last + math.sqrt(1 - memory * memory) * noise[index]
        series[index] = last
    return _normal_scores(series)


def _normal_scores(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Replace values by the normal quantiles of their ranks."""
    ranks = np.empty(len(values))
    ranks[np.argsort(values, kind="stable")] = np.arange(len(values))
    return _normal_quantile((ranks + 0.5) / len(values))


def _normal_quantile(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Quantiles of the normal distribution (Abramowitz & Stegun 26.2.23, error below 4.5e-4); spares scipy's import."""
    tail = np.sqrt(-2 * np.log(np.minimum(p, 1 - p)))
    size = tail - (2.515517 + 0.802853 * tail + 0.010328 * tail**2) / (
        1 + 1.432788 * tail + 0.189269 * tail**2 + 0.001308 * tail**3
    )
    return np.asarray(np.where(p < 0.5, -size, size))
