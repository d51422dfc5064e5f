"""Figure of small scenarios, one above the other: runs on nodes over time, held nodes, and notices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from holdfast.experiments.figures.canvas import PAGE, new_figure, subplots
from holdfast.experiments.figures.style import FONT, INK, STATE_COLORS, TYPE_COLORS, dress, legend_above
from holdfast.workloads.table.job import JobType

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot_scenarios"]

Rows = Sequence[Mapping[str, Any]]
#: Marks above the machine: full or not, and what they say.
_CALLS = {"notice": ("v", "white"), "estimated": ("d", "white"), "arrival": ("v", None)}
_CHECKPOINT: Mapping[str, Any] = {"color": "#7FE0A0", "linewidth": 1.3, "linestyle": (0, (2, 1))}
_WORDS = {"notice": "notice", "estimated": "estimated arrival", "arrival": "actual arrival"}


def plot_scenarios(blocks: Rows, calls: Rows, urgent: int) -> Figure:
    """A panel for each scenario, in the order of the rows.

    Parameters
    ----------
    blocks
        ``scenario``, ``job``, ``type`` (or ``held``), ``start``, ``end`` [min], ``low``, ``high`` [node],
        ``preempted``.
    calls
        ``scenario``, ``call`` (notice, estimated, arrival, checkpoint), ``job``, ``time`` [min].
    urgent
        Id of the on-demand job, which is named O.
    """
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    names = list(dict.fromkeys(row["scenario"] for row in blocks))
    figure = new_figure(PAGE, 0.65 + 1.15 * len(names))
    panels = subplots(figure, len(names), 1, sharex=True, squeeze=False)[:, 0]
    color = TYPE_COLORS[JobType.ON_DEMAND]
    for axes, name in zip(panels, names, strict=True):
        own = [row for row in blocks if row["scenario"] == name]
        _draw_blocks(axes, own, urgent)
        times = {row["call"]: row["time"] for row in calls if row["scenario"] == name and row["call"] in _CALLS}
        for call, time in times.items():
            marker, face = _CALLS[call]
            # An accurate estimate stands above the arrival.
            height = 1.21 if call == "estimated" and times.get("arrival") == time else 1.07
            axes.plot(
                [time], [height], marker=marker, markersize=4.5, color=color, markerfacecolor=face or color,
                markeredgewidth=0.9, clip_on=False, transform=axes.get_xaxis_transform(),
            )  # fmt: skip
        for row in calls:
            if row["scenario"] == name and row["call"] == "checkpoint":
                for block in own:
                    if block["job"] == row["job"] and block["start"] <= row["time"] <= block["end"]:
                        axes.vlines(row["time"], block["low"], block["high"], **_CHECKPOINT, zorder=4)
        axes.set_ylim(0, max(row["high"] for row in own))
        dress(axes, x="Time (min)" if axes is panels[-1] else "", y="Nodes", grid="none")
        axes.set_title(name, fontsize=FONT["title"], color=INK, loc="left", pad=9)
        axes.locator_params(axis="y", nbins=4, integer=True)
    panels[0].set_xlim(0, max(row["end"] for row in blocks))
    handles: list[Any] = [
        Patch(facecolor=TYPE_COLORS[JobType.RIGID]), Patch(facecolor=color),
        Patch(facecolor=STATE_COLORS["held"], alpha=0.35), Patch(facecolor="black"),
    ]  # fmt: skip
    labels = ["rigid", "on-demand", "held for it", "preempted here"]
    for call, (marker, face) in _CALLS.items():
        handles.append(
            Line2D([], [], linestyle="none", marker=marker, color=color, markerfacecolor=face or color, markersize=4.5)
        )
        labels.append(_WORDS[call])
    if any(row["call"] == "checkpoint" for row in calls):
        handles.append(Line2D([], [], **_CHECKPOINT))
        labels.append("checkpoint complete")
    legend_above(figure, handles, labels, columns=4 if len(labels) > 7 else None)
    return figure


def _draw_blocks(axes: Axes, blocks: Rows, urgent: int) -> None:
    for row in blocks:
        span, nodes = (row["start"], row["end"] - row["start"]), (row["low"], row["high"] - row["low"])
        if row["type"] == "held":
            axes.broken_barh([span], nodes, facecolor=STATE_COLORS["held"], alpha=0.35, linewidth=0)
            continue
        axes.broken_barh([span], nodes, facecolor=TYPE_COLORS[JobType(row["type"])], edgecolor="white", linewidth=0.5)
        if row["preempted"]:
            axes.vlines(row["end"], row["low"], row["high"], color="black", linewidth=3.4, zorder=3)
        name = "O" if row["job"] == urgent else f"J{row['job']}"
        axes.text(
            row["start"] + 0.4 * span[1], (row["low"] + row["high"]) / 2, name,
            ha="center", va="center", fontsize=FONT["note"], color="white",
        )  # fmt: skip
