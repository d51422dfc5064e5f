"""The rhythm of submissions: levels of activity over the hours, days and weeks of a year.

Activity is a step function with hourly steps. A campaign is placed in *activity time*, the integral of activity scaled
to [0, 1), in which submissions are uniform, and then mapped back to the clock.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from holdfast.workloads.ground.object_code import object_code
from holdfast.workloads.theta.activity_path import KINDS, find_path
from holdfast.workloads.theta.year import ThetaYear

__all__ = ["Rhythm"]

_HOUR = 3600.0
#: Number of equal steps of activity time in the table of submitted work.
_GRID = 1 << 15
#: Steps of all traces of a process so far, each of which is tried about so often; and their numbers from which loading
#: the machine code of the loop is faster than Python, and from which compiling it is, where there is no cache.
_steps = 0
_TRIALS, _LOAD_FROM, _COMPILE_FROM = 22, 100_000, 10_000_000


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
        self._activity = _activity_times(rate, submitted, drain, parameters.patience)

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
    rate: NDArray[np.float64], submitted: NDArray[np.float64], drain: NDArray[np.float64], patience: float
) -> NDArray[np.float64]:
    """Activity time at the edges of the steps, where activity falls while the queue is long."""
    path = np.zeros(len(rate) + 1)
    global _steps
    _steps += _TRIALS * len(rate)
    code = object_code(find_path, KINDS, compiles=_steps >= _COMPILE_FROM) if _steps >= _LOAD_FROM else None
    if code is not None:
        code(rate, submitted, drain, path, len(rate), len(submitted) - 1, patience)
    else:
        # Python reads lists twice as fast as arrays.
        found = path.tolist()
        find_path(rate.tolist(), submitted.tolist(), drain.tolist(), found, len(rate), len(submitted) - 1, patience)
        path = np.array(found)
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
