"""Figure of many on-demand jobs: how late they start, and the sources of their nodes, by how exact notices were."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from holdfast.experiments.figures.canvas import PAGE, new_figure, set_resolution, subfigures, subplots
from holdfast.experiments.figures.style import STATE_COLORS, TYPE_COLORS, dress, legend_above, panel_letters
from holdfast.experiments.timelines.on_demand_calls import ROOM, Call
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.table.job import JobType

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["SOURCES", "plot_groups"]

_MINUTE = 60 * SECOND
#: Largest delay of a start, by its name and colour; they differ in lightness.
_DELAYS = (
    ("at once", 0, "#DCE9F4"),
    ("within 2 min", 2 * _MINUTE, "#9CC3E3"),
    ("15 min", 15 * _MINUTE, "#EE9A5A"),
    ("1 h", 60 * _MINUTE, "#B9551B"),
    ("later", None, "#5E2200"),
)
#: Sources of nodes that were not free, by name and colour.
SOURCES = {
    "reserved": ("held in advance", STATE_COLORS["held"]),
    "tenants": ("from its tenants", "#E8B9D3"),
    "planned": ("preempted as planned", STATE_COLORS["setup"]),
    "shrunk": ("shrunk", TYPE_COLORS[JobType.MALLEABLE]),
    "preempted": ("preempted at the arrival", STATE_COLORS["warning"]),
}
#: Patterns of sources that would have the grey of another one.
_HATCHES = {"tenants": "/////", "preempted": "....."}


def plot_groups(rows: Sequence[Call], served: str) -> Figure:
    """Draw shares of many on-demand jobs, by whether they came when their notice said.

    Parameters
    ----------
    rows
        The calls.
    served
        Name of the result.

    Returns
    -------
    Figure
        Above, how late jobs start; below, the nodes that others gave up, as percentages of the nodes requested. A bar
        for all jobs, and for each group.
    """
    groups = {"all": list(rows)}
    for call in rows:
        groups.setdefault(_group(call), []).append(call)
    names = ["all", *(name for name in _GROUPS if name in groups)]
    figure = new_figure(PAGE, 1.5 + 0.4 * len(names))
    set_resolution(figure, 150)
    parts = subfigures(figure, (1, 1))
    delays, room = (subplots(part) for part in parts)
    handles, texts = _draw_delays(delays, [groups[name] for name in names])
    legend_above(parts[0], handles, texts)
    handles, texts = _draw_room(room, [groups[name] for name in names])
    if handles:
        legend_above(parts[1], handles, texts)
    dress(delays, x="Jobs that came (%)", title=f"On-demand jobs under {served}: start after the arrival", grid="x")
    dress(room, x="Nodes (% of what the jobs ask for)", title="Nodes given up by", grid="x")
    for axes in (delays, room):
        axes.set_yticks(range(len(names)), [f"{name} ({len(groups[name]):,})" for name in names])
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
    panel_letters([delays, room])
    return figure


_GROUPS = ("without notice", "as expected", "earlier", "later", "never came")


def _group(call: Call) -> str:
    """Whether a job came when its notice said."""
    if call.arrival is None:
        return "never came"
    if call.estimated is None or call.notice is None:
        return "without notice"
    apart = call.arrival - call.estimated
    return "as expected" if abs(apart) <= SECOND else "earlier" if apart < 0 else "later"


def _draw_delays(axes: Axes, groups: Sequence[Sequence[Call]]) -> tuple[list[Any], list[str]]:
    base = np.zeros(len(groups))
    handles, texts = [], []
    for number, (name, most, color) in enumerate(_DELAYS):
        share = np.array([_share(group, number) for group in groups])
        handles.append(axes.barh(np.arange(len(groups)), share, left=base, height=0.72, color=color, linewidth=0))
        texts.append(name if most is not None else "later or never")
        base = base + share
    axes.set_xlim(0, 100)
    return handles, texts


def _share(group: Sequence[Call], number: int) -> float:
    """Percentage of the jobs that came which start with the delay of this number."""
    came = [call for call in group if call.arrival is not None]
    return 100.0 * sum(_delay(call) == number for call in came) / len(came) if came else 0.0


def _delay(call: Call) -> int:
    if call.start is None or call.arrival is None:
        return len(_DELAYS) - 1
    late = call.start - call.arrival
    return next(number for number, (_, most, _) in enumerate(_DELAYS) if most is None or late <= most)


def _draw_room(axes: Axes, groups: Sequence[Sequence[Call]]) -> tuple[list[Any], list[str]]:
    base = np.zeros(len(groups))
    handles, texts = [], []
    for source in ROOM:
        share = np.array([_source_percentage(group, source) for group in groups])
        if share.any():
            name, color = SOURCES[source]
            bars = axes.barh(
                np.arange(len(groups)), share, left=base, height=0.72, color=color, edgecolor="white", linewidth=0.5,
                hatch=_HATCHES.get(source),
            )  # fmt: skip
            handles.append(bars)
            texts.append(name)
        base = base + share
    axes.set_xlim(0, max(100.0, 1.05 * float(base.max())))
    return handles, texts


def _source_percentage(group: Sequence[Call], source: str) -> float:
    """Nodes from a source, as a percentage of all that a group asks for."""
    return 100.0 * sum(call.room[source] for call in group) / sum(call.nodes for call in group)
