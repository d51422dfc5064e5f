"""Time axis of a recording: dates where its job table counts from 1970, else time since the first submit."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from holdfast.experiments.figures.style import FONT, INK
from holdfast.experiments.recordings.time_windows import Window, accounting_start, unix_origin
from holdfast.experiments.timelines.steps import Floats, TimeUnit, bin_averages, choose_bin, choose_unit
from holdfast.simulator.results.recording import Recording
from holdfast.workloads.ground.units import SECOND

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt
    from matplotlib.axes import Axes

__all__ = ["TimeAxis", "date_axis"]

_DAY = 86400.0
#: Largest number of labels on an axis of dates.
_MOST_TICKS = 9
#: Distances of labels and of minor ticks [d]; longer distances are months.
_STEPS = tuple(
    (hours / 24, fine / 24)
    for hours, fine in (
        *((1 / 12, 1 / 60), (0.25, 1 / 12), (0.5, 1 / 6), (1, 0.25), (2, 0.5), (3, 1), (6, 1), (12, 3), (24, 6)),
        *((48, 24), (96, 24), (168, 24), (336, 168)),
    )
)

#: Months between labels on long axes.
_MONTHS = (1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 2400, 6000, 12_000)


class TimeAxis(NamedTuple):
    """Mapping from ticks of the simulated clock to positions on an axis.

    Attributes
    ----------
    opens, closes
        The window, in ticks of the simulated clock.
    zero
        Zero of the axis: the first submit, or the beginning of 1970.
    unit
        Unit of the axis.
    dates
        Whether the axis shows dates.
    zone
        Time zone of the dates.
    """

    opens: int
    closes: int
    zero: int
    unit: TimeUnit
    dates: bool
    zone: str = "UTC"

    @classmethod
    def of(cls, recording: Recording, window: Window | None = None) -> TimeAxis:
        """The axis of a window, by default of all that was recorded."""
        opens, closes = (window or Window()).bounds(recording)
        origin = unix_origin(recording)
        if origin is not None:
            # Matplotlib counts days since 1970.
            return cls(opens, closes, -origin, TimeUnit("d", "day", _DAY), True, recording.zone)
        return cls(opens, closes, accounting_start(recording), choose_unit((closes - opens) / SECOND), False)

    def __call__(self, ticks: float | npt.NDArray[np.int64] | Sequence[int]) -> Floats:
        """Positions on the axis."""
        return (np.asarray(ticks, dtype=np.float64) - self.zero) / (SECOND * self.unit.seconds)

    def dress(self, axes: Axes, over: str = "", *, labels: bool = True) -> None:
        """Set limits, ticks and label of an axis; ``over`` names the averaging interval."""
        axes.set_xlim(float(self(self.opens)), float(self(self.closes)))
        average = f"averages over {over}" if over else ""
        if not self.dates:
            words = f"Time since the first submit ({self.unit.symbol})" + (f", {average}" if over else "")
        else:
            from matplotlib.ticker import FixedLocator, FuncFormatter

            major, minor = self._ticks()
            axes.xaxis.set_major_locator(FixedLocator(major))
            axes.xaxis.set_minor_locator(FixedLocator(minor))
            axes.xaxis.set_major_formatter(FuncFormatter(self._date))
            first, last = (self._moment(float(self(tick))) for tick in (self.opens, self.closes - 1))
            years = str(first.year) if first.year == last.year else f"{first.year} to {last.year}"
            words = f"Time ({self.zone}, {years})" + (f", {average}" if over else "")
        if labels:
            axes.set_xlabel(words, fontsize=FONT["label"], color=INK, labelpad=2)

    def _ticks(self, most: int = _MOST_TICKS) -> tuple[list[float], list[float]]:
        """Positions of up to ``most`` labels and of minor ticks: equidistant from midnight, or first days of months."""
        low, high = float(self(self.opens)), float(self(self.closes))
        for step, fine in _STEPS:
            if (high - low) / step <= most:
                return [
                    (np.arange(math.ceil(low / part - 1e-9), math.floor(high / part + 1e-9) + 1) * part).tolist()
                    for part in (step, fine)
                ]  # type: ignore[return-value]  # two
        begin, end = (np.datetime64(self._moment(place).strftime("%Y-%m")) for place in (low, high))
        firsts = np.arange(begin, end + np.timedelta64(1, "M"))
        places = firsts.astype("datetime64[D]").astype(float)
        every = next((n for n in _MONTHS if (high - low) / 30.4 / n <= most), _MONTHS[-1])
        inside = (places >= low) & (places <= high)
        # A tick for each month of centuries would take hours to draw.
        fine = 1 if every <= 12 else every
        return tuple(places[inside & (firsts.astype(int) % step == 0)].tolist() for step in (every, fine))

    def _moment(self, place: float) -> datetime:
        return datetime.fromtimestamp(round(place * _DAY), UTC)

    def _date(self, place: float, _: int | None) -> str:
        """Label of a tick: the day; on short axes the time of day, on long ones the month."""
        at = self._moment(place)
        if (self.closes - self.opens) / SECOND > 200 * _DAY and at.day == 1:
            return f"{at:%b %Y}" if at.month == 1 else f"{at:%b}"
        return f"{at.day} {at:%b}" if at.hour == at.minute == at.second == 0 else f"{at:%H:%M}"

    def bins(self, points: int) -> tuple[npt.NDArray[np.int64], str]:
        """Edges [ticks] and name of the bins that average a curve of ``points`` steps; empty: no averaging."""
        width, name = choose_bin((self.closes - self.opens) / SECOND, points)
        if not width:
            return np.empty(0, np.int64), ""
        edges = np.arange(self.opens, self.closes, round(width * SECOND), dtype=np.int64)
        # A short remainder at the end joins the last bin.
        if len(edges) > 2 and self.closes - edges[-1] < width * SECOND / 2:
            edges = edges[:-1]
        return np.append(edges, self.closes), name

    def steps(
        self, times: npt.NDArray[np.int64], values: Floats | npt.NDArray[np.int64], edges: npt.NDArray[np.int64]
    ) -> tuple[Floats, Floats]:
        """A step function within the window: edges (m + 1,) on the axis, and values (m,).

        Parameters
        ----------
        times, values
            Ticks at which each value begins; the last value continues forever, and the value before the first is 0.
        edges
            Edges from :meth:`bins`; empty: draw the steps themselves.
        """
        if len(edges):
            return self(edges), bin_averages(times.astype(float), values.astype(float), edges.astype(float))
        within = times[(times > self.opens) & (times < self.closes)]
        inside = np.unique(np.concatenate(([self.opens, self.closes], within)))
        place = np.searchsorted(times, inside[:-1], side="right") - 1
        return self(inside), np.where(place >= 0, values[np.maximum(place, 0)], 0).astype(np.float64)


def date_axis(axes: Axes, first: float, span: float, unit: TimeUnit, zone: str, *, most: int = 4) -> str:
    """Label an axis of times since some moment with dates.

    Parameters
    ----------
    axes
        Places are times since ``first``, in ``unit``.
    first
        Time of 0 on the axis [s since 1970].
    span
        Length of the axis [s].
    unit
        Unit of the places.
    zone
        Time zone of the dates.
    most
        Largest number of labels.

    Returns
    -------
    str
        The label of the axis.
    """
    from matplotlib.ticker import FixedLocator

    dates = TimeAxis(0, round(span * SECOND), -round(first * SECOND), TimeUnit("d", "day", _DAY), True, zone)
    major, minor = dates._ticks(most)

    def place(day: float) -> float:
        return (day * _DAY - first) / unit.seconds

    axes.set_xticks([place(day) for day in major], [dates._date(day, None) for day in major])
    axes.xaxis.set_minor_locator(FixedLocator([place(day) for day in minor]))
    begins, ends = dates._moment(first / _DAY), dates._moment((first + span) / _DAY)
    return f"Time ({zone}, {begins.year if begins.year == ends.year else f'{begins.year} to {ends.year}'})"
