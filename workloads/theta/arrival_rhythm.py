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
#: Number of equal steps of activity time in the table of submitted work.
_GRID = 1 << 15


class Rhythm:
    """Activity over a trace, and the clock times that belong to activity times.

    Parameters
    ----------
    parameters
        Parameters of the year.
    place
        Activity times at which work is submitted, in [0, 1), shape (b,).
    work
        Work submitted at each of these times, in hours of the whole machine, shape (b,).
    rng
        Generator for the levels of weeks, days and hours.

    Notes
    -----
    Users submit less when the queue is long (Zakay and Feitelson, on workloads with feedback). The queue is modelled
    as a fluid that the machine drains at a constant rate; activity falls by a factor e for each ``patience`` hours of
    queued work. Without this feedback, jobs near saturation would wait for weeks.
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
    """Relative activity of each hour if the queue were always empty, shape (hours,)."""
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
    # The trace is divided into equal parts; each has one lull at a random time.
    lulls = round(parameters.lulls * parameters.span / parameters.year)
    for first in ((np.arange(lulls) + rng.random(lulls)) / max(1, lulls) * hours).astype(np.int64):
        closed[first : first + round(parameters.lull)] = True
    return np.asarray(np.where(closed, 0.0, rate))


def _activity_times(
    rate: list[float], submitted: list[float], drain: list[float], patience: float
) -> NDArray[np.float64]:
    """Activity time at the edges of the steps, where activity falls while the queue is long.

    The rates are scaled by the smallest factor with which all work is submitted by the end; doubling and bisection
    find it. The loop uses plain floats, because each step depends on the previous one.
    """

    exp = math.exp

    def run(factor: float, *, whole: bool = False) -> tuple[float, list[float]]:
        # The loop makes one call per step only: it takes most of the time of a short trace.
        place = queue = total = 0.0
        end, before = len(submitted) - 1, submitted[0]
        path = [place]
        for step, out in zip(rate, drain, strict=True):
            move = factor * step * exp(-queue / patience)
            total += move
            if total >= 1 and not whole:
                # The search needs to know only that all work is submitted.
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
    """Normal scores with a correlation between neighbours; every seed has the same values in another order.

    Near saturation, waits react strongly to small changes in variation. Therefore the order of busy and quiet weeks is
    random, and their distribution is fixed.
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
    """Quantiles of the normal distribution (Abramowitz & Stegun 26.2.23, error below 4.5e-4), without scipy."""
    tail = np.sqrt(-2 * np.log(np.minimum(p, 1 - p)))
    size = tail - (2.515517 + 0.802853 * tail + 0.010328 * tail**2) / (
        1 + 1.432788 * tail + 0.189269 * tail**2 + 0.001308 * tail**3
    )
    return np.asarray(np.where(p < 0.5, -size, size))
