"""Figure of mechanisms and orders of victims beside preempting the youngest: paired differences with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from holdfast.experiments.figures.canvas import PAGE, new_figure, subplots
from holdfast.experiments.figures.style import INK, dress, legend_above, panel_letters
from holdfast.experiments.statistics import interval
from holdfast.workloads.ground.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot_victim_orders"]

Rows = Sequence[Mapping[str, Any]]
#: Colour and marker of each dataset.
_STYLES = (("#0A62A0", "o"), ("#7DBCE8", "s"), ("#D55E00", "^"), ("#6B1F52", "D"))


class _Panel(NamedTuple):
    """A metric, whether its differences are relative, and a scale that is linear as far as ``linear``."""

    metric: str
    title: str
    unit: str
    relative: bool
    linear: float
    ticks: tuple[int, ...]


_PANELS = (
    _Panel("lost_gpu_share", "Lost GPU-hours", "points", False, 1.0, (-1, 0, 1, 10)),
    _Panel("instant_start_ratio_strict", "Starts at once (0 s)", "points", False, 10.0, (-10, 0, 10)),
    _Panel("turnaround_h", "Average turnaround", "%", True, 10.0, (-100, -10, 0, 10, 100)),
)


def plot_victim_orders(rows: Rows, datasets: Mapping[str, str], names: Mapping[str, str]) -> Figure:
    """Differences from the first mechanism of each dataset, paired by trace, with 95 % intervals.

    Parameters
    ----------
    rows
        One for each simulation: ``dataset``, ``trace``, ``mechanism`` and the metrics.
    datasets
        Titles of the datasets.
    names
        Names of mechanisms that are shown in other words; the first is the one that the others are compared with.

    Raises
    ------
    InputError
        If there is nothing to show.
    """
    from matplotlib.ticker import FixedLocator

    first = next(iter(names))
    mechanisms = [name for name in dict.fromkeys(row["mechanism"] for row in rows) if name != first]
    if not mechanisms:
        raise InputError("there are no simulations to draw")
    figure = new_figure(PAGE, 3.6)
    panels = list(subplots(figure, 1, len(_PANELS), sharey=True))
    handles = {}
    for axes, panel in zip(panels, _PANELS, strict=True):
        for place, (name, title) in enumerate(datasets.items()):
            own = [row for row in rows if row["dataset"] == name]
            if own:
                handles[title] = _draw_dataset(axes, own, mechanisms, first, panel, place)
        axes.axvline(0, color=INK, linewidth=0.7)
        axes.set_xscale("symlog", linthresh=panel.linear)
        # Labels at each power of ten would touch.
        axes.xaxis.set_major_locator(FixedLocator(panel.ticks))
        axes.xaxis.set_major_formatter("{x:+,g}")
        dress(axes, x=f"Against {names[first]} ({panel.unit})", title=panel.title, grid="x")
    panels[0].set_yticks(range(len(mechanisms)), [names.get(name, name) for name in mechanisms])
    panels[0].set_ylim(len(mechanisms) - 0.5, -0.5)
    panel_letters(panels)
    legend_above(figure, list(handles.values()), list(handles), columns=2)
    return figure


def _draw_dataset(axes: Axes, rows: Rows, mechanisms: Sequence[str], first: str, panel: _Panel, place: int) -> Any:
    color, marker = _STYLES[place % len(_STYLES)]
    values: dict[str, dict[Any, float]] = {}
    for row in rows:
        if row[panel.metric] is not None:
            values.setdefault(row["mechanism"], {})[row["trace"]] = float(row[panel.metric])
    handle = None
    for line, name in enumerate(mechanisms):
        both = sorted(set(values.get(name, ())) & set(values.get(first, ())))
        if len(both) < 2:
            continue
        a, b = (np.array([values[key][trace] for trace in both]) for key in (name, first))
        found = interval(100.0 * ((a - b) / b if panel.relative else a - b))
        at = line + 0.18 * (place - 1.5)
        axes.plot([found.low, found.high], [at, at], color=color, linewidth=1.1)
        (handle,) = axes.plot([found.mean], [at], marker, color=color, markersize=3.4, linestyle="none")
    return handle
