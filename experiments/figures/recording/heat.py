"""Heat map of waits by job size and walltime: the median and a quantile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import numpy as np
from numpy.typing import ArrayLike

from holdfast.experiments.figures.canvas import PAGE, CanvasOptions, new_figure, plot, subplots
from holdfast.experiments.figures.style import FONT, INK, dress, panel_letters
from holdfast.experiments.recordings.time_windows import Window
from holdfast.simulator.results.recording import Recording, requested_walltimes
from holdfast.workloads.ground.errors import InputError, ParameterError
from holdfast.workloads.ground.units import SECOND

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from holdfast.experiments.timelines.steps import Floats

__all__ = ["plot_wait_map", "wait_cells"]

#: Longest walltimes of the rows [s], with their labels; longer ones share another row.
_WALLTIMES = ((900, "15 min"), (1800, "30 min"), (3600, "1 h"), (10800, "3 h"), (21600, "6 h"), (43200, "12 h"),
              (86400, "24 h"), (259200, "3 d"))  # fmt: skip
#: Ticks of the colour bar [h]. Shorter waits have the colour of the first.
_MARKS = ((1 / 60, "1 min"), (1 / 6, "10 min"), (1.0, "1 h"), (6.0, "6 h"), (24.0, "1 d"), (168.0, "1 week"))
_MOST_SIZES = 10


def wait_cells(
    nodes: ArrayLike, walltimes: ArrayLike, waits: ArrayLike, quantile: float
) -> tuple[list[str], list[str], Floats, Floats]:
    """Waits by size and walltime.

    Parameters
    ----------
    nodes, walltimes, waits
        Size, walltime and wait of each job [nodes, s, s].
    quantile
        From 0 to 1.

    Returns
    -------
    sizes, lengths : list of str
        Labels of columns and rows: ranges of sizes, and the longest walltimes.
    counts, values : ndarray
        Jobs in each cell, shape (rows, columns); and waits [h], shape (2, rows, columns): the median and the
        quantile, NaN in cells without jobs.
    """
    size = np.asarray(nodes, dtype=np.int64)
    # Column k is (2^(k-1), 2^k]: most requests are powers of two, and these end a range.
    power = np.maximum(np.ceil(np.log2(size)), 0).astype(np.int64)
    first, last = int(power.min()), int(power.max())
    # Limit the number of columns; the smallest sizes share one.
    first = max(first, last - _MOST_SIZES + 1)
    column = np.maximum(power, first) - first
    ends = [end for end, _ in _WALLTIMES]
    row = np.searchsorted(ends, np.asarray(walltimes, dtype=float), side="left")
    lowest, highest = int(row.min()), int(row.max())
    names = [*(f"to {name}" for _, name in _WALLTIMES), f"over {_WALLTIMES[-1][1]}"]
    sizes = [_sizes(power_of, first, int(size.min()), int(size.max())) for power_of in range(first, last + 1)]
    shape = highest - lowest + 1, last - first + 1
    counts, values = np.zeros(shape), np.full((2, *shape), np.nan)
    hours = np.asarray(waits, dtype=float) / 3600
    for place in {*zip((row - lowest).tolist(), column.tolist(), strict=True)}:
        own = hours[(row - lowest == place[0]) & (column == place[1])]
        counts[place] = len(own)
        values[(0, *place)], values[(1, *place)] = np.quantile(own, [0.5, quantile])
    return sizes, names[lowest : highest + 1], counts, values


def _sizes(power: int, first: int, smallest: int, largest: int) -> str:
    low = smallest if power == first else 2 ** (power - 1) + 1
    high = min(2**power, largest)
    return str(high) if low >= high else f"{low}\N{EN DASH}{high}"


@plot
def plot_wait_map(
    recording: Recording, window: Window | None = None, *, quantile: float = 0.9, **canvas: Unpack[CanvasOptions]
) -> Figure:
    """Draw the median and a quantile of the waits, by size and requested walltime.

    Parameters
    ----------
    recording
        The recording, which needs no event log.
    window
        Window of submits; default all. Cancelled jobs are left out.
    quantile
        From 0 to 1.
    **canvas
        Width, style and axes (:class:`~holdfast.experiments.figures.canvas.CanvasOptions`).

    Returns
    -------
    Figure
        Two panels on one logarithmic scale of colours. In each cell the wait, and below it the number of jobs; cells
        without jobs are crossed out.

    Raises
    ------
    InputError
        If no job was submitted in the window, or the quantile is none.
    """
    from matplotlib.colors import LogNorm

    if not 0 < quantile < 1:
        raise ParameterError("quantile", "a number between 0 and 1", quantile)
    opens, closes = (window or Window()).bounds(recording)
    records = recording.records
    submits = records.columns["submit"] - recording.origin
    chosen = records.came & records.started & ~records.have("cancelled") & (opens <= submits) & (submits <= closes)
    if not chosen.any():
        raise InputError("no job was submitted in this window")
    walltimes, waits = requested_walltimes(recording)[chosen] / SECOND, records.wait[chosen] / SECOND
    sizes, lengths, counts, values = wait_cells(records.columns["nodes"][chosen], walltimes, waits, quantile)
    longest = float(np.nanmax(values))
    marks = [mark for mark in _MARKS if mark[0] <= max(longest, 1.0)]
    norm = LogNorm(marks[0][0], max(longest, 1.0), clip=True)

    figure = new_figure(PAGE, 1.4 + 0.3 * len(lengths))
    panels = subplots(figure, 1, 2, sharey=True)
    name = recording.name
    titles = (f"Median wait under {name}", f"{100 * quantile:g} % waited no longer than")
    for axes, level, title in zip(panels, values, titles, strict=True):
        picture = axes.pcolormesh(
            np.maximum(level, marks[0][0]), cmap="cividis", norm=norm, edgecolors="white", linewidth=0.6
        )
        _write(axes, level, counts, norm, len(sizes))
        dress(axes, x="Size (nodes)", title=title, grid="none")
        axes.set_xticks(np.arange(len(sizes)) + 0.5, sizes, rotation=35, ha="right", rotation_mode="anchor")
        axes.tick_params(length=0)
        for spine in axes.spines.values():
            spine.set_visible(False)
    panels[0].set_yticks(np.arange(len(lengths)) + 0.5, lengths)
    panels[0].set_ylabel("Requested walltime", fontsize=FONT["label"], color=INK, labelpad=3)
    bar = figure.colorbar(picture, ax=list(panels), aspect=28, pad=0.015, ticks=[at for at, _ in marks])
    bar.ax.set_yticklabels([text for _, text in marks])
    bar.ax.minorticks_off()
    bar.ax.tick_params(labelsize=FONT["tick"], labelcolor=INK, length=2, width=0.6)
    bar.outline.set_visible(False)
    panel_letters(list(panels))
    words = "In each cell: the wait, and the number of jobs. Hatched: no such job."
    figure.supxlabel(words, fontsize=FONT["note"], color=INK)
    return figure


def _write(axes: Axes, level: Floats, counts: Floats, norm: object, columns: int) -> None:
    """Write the wait and the number of jobs in each cell."""
    from matplotlib.patches import Rectangle

    font = FONT["note"] - (1.0 if columns > 7 else 0.0)
    for (row, column), hours in np.ndenumerate(level):
        if np.isnan(hours):
            axes.add_patch(
                Rectangle((column, row), 1, 1, facecolor="#F4F4F4", edgecolor="#C8C8C8", hatch="////", linewidth=0)
            )
            continue
        # The lower half of cividis is dark.
        ink = "white" if norm(hours) < 0.55 else "#111111"  # type: ignore[operator]  # a norm is a function
        axes.text(
            column + 0.5, row + 0.5, f"{_short(hours)}\n{counts[row, column]:,.0f}", ha="center", va="center",
            fontsize=font, color=ink, linespacing=1.05,
        )  # fmt: skip


def _short(hours: float) -> str:
    """Format a wait in few characters.

    >>> _short(0.001), _short(0.5), _short(3.25), _short(50)
    ('4 s', '30 m', '3.2 h', '2.1 d')
    """
    if hours < 1 / 60:
        return f"{3600 * hours:.0f} s"
    if hours < 1:
        return f"{60 * hours:.0f} m"
    if hours < 48:
        return f"{hours:.1f} h" if hours < 10 else f"{hours:.0f} h"
    return f"{hours / 24:.1f} d"
