"""Figure of the factorial experiment on readings: effects of the sentences, and claims that hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from experiments.figures.canvas import PAGE, new_figure, subfigures, subplots
from experiments.figures.study.evidence import draw_matrix
from experiments.figures.style import FONT, INK, dress

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot_readings"]

Rows = Sequence[Mapping[str, Any]]
_NEAR, _FAR = "#0072B2", "#D55E00"


def plot_readings(
    effects: Rows, units: Mapping[str, str], findings: Rows, scores: Rows, away: Rows, title: str
) -> Figure:
    """Effects of the factors on each measure, with intervals; below, the chosen readings: their levels, their claims.

    Parameters
    ----------
    effects
        Rows of ``measure``, ``factor``, ``effect``, ``low`` and ``high``.
    units
        Unit of each measure.
    findings
        Rows of claims with a ``reading`` and ``fresh``, whether the years are those of the confirmation.
    scores
        Rows of ``reading``, ``fresh``, ``held``, ``claims`` and ``distance``.
    away
        Rows of ``reading``, ``fresh``, ``level`` and ``away`` (in margins).
    title
        Says what the effects are.
    """
    measures, factors = (list(dict.fromkeys(row[name] for row in effects)) for name in ("measure", "factor"))
    claims = list({f"{row['observation']}{row['part']}": row for row in findings}.values())
    letters = {
        name: chr(ord("A") + place) for place, name in enumerate(dict.fromkeys(row["reading"] for row in scores))
    }
    columns = {(row["reading"], row["fresh"]): _column(letters[row["reading"]], row["fresh"]) for row in scores}
    legend = [
        f"{columns[row['reading'], row['fresh']]}: {row['reading']} ({row['held']} of {row['claims']} claims hold, "
        f"levels {row['distance']:.1f} margins away)"
        for row in scores
    ]
    heights = (2.2 + 0.3 * len(factors), 2.3, 1.0 + 0.15 * len(claims), 0.3 + 0.15 * len(legend))
    figure = new_figure(PAGE, sum(heights))
    top, levels, middle, bottom = subfigures(figure, heights)
    panels = subplots(top, 2, 4, sharey=True).ravel()
    for number, (axes, measure) in enumerate(zip(panels, measures, strict=False)):
        for place, factor in enumerate(factors):
            row = next((row for row in effects if row["measure"] == measure and row["factor"] == factor), None)
            if row is None:  # not defined, as instant starts in years without on-demand jobs
                continue
            axes.plot([row["low"], row["high"]], [place, place], color="#9A9A9A", linewidth=2.2)
            sure = row["low"] > 0 or row["high"] < 0
            axes.plot([row["effect"]], [place], "o", color="#0072B2" if sure else "white", markeredgecolor="#0072B2",
                      markersize=4)  # fmt: skip
        axes.axvline(0, color=INK, linewidth=0.7)
        axes.set_yticks(range(len(factors)), factors)
        axes.set_ylim(len(factors) - 0.5, -0.5)
        head, _, tail = measure.partition(", ")
        dress(
            axes,
            title=f"({chr(ord('a') + number)}) {head}\n{tail}{f' ({units[measure]})' if units[measure] else ''}",
            grid="x",
        )
        axes.title.set_fontsize(FONT["legend"])
        axes.locator_params(axis="x", nbins=4)
    for axes in panels[len(measures) :]:
        axes.set_visible(False)
    top.suptitle(f"{title} (95 % intervals)", fontsize=FONT["title"],
                 color=INK)  # fmt: skip
    _draw_levels(subplots(levels), away, columns)
    levels.suptitle("Distance from each printed level under the readings A, B, ... (margins; blue: as printed)",
                    fontsize=FONT["title"], color=INK)  # fmt: skip
    lettered = [{**row, "reading": columns[row["reading"], row["fresh"]]} for row in findings]
    draw_matrix(middle, lettered, claims, list(columns.values()))
    bottom.text(0.01, 0.98, "\n".join(legend), va="top", fontsize=FONT["note"], color=INK, linespacing=1.4)
    return figure


def _column(letter: str, fresh: bool) -> str:
    return f"{letter}, fresh" if fresh else letter


def _draw_levels(axes: Axes, rows: Rows, columns: Mapping[tuple[str, bool], str]) -> None:
    """How far each reading is from each printed level: a line for each level, a column for each reading."""
    titles = list(dict.fromkeys(row["level"] for row in rows))
    order = list(columns)
    for row in rows:
        away = row["away"]
        if away != away:  # no on-demand jobs
            continue
        line, column = titles.index(row["level"]), order.index((row["reading"], row["fresh"]))
        near = abs(away) <= 1
        color = _NEAR if near else _FAR
        axes.broken_barh(
            [(column - 0.47, 0.94)], (line - 0.45, 0.9), facecolor=color, edgecolor="#CCCCCC", linewidth=0.3,
            alpha=1.0 if near else min(1.0, 0.15 + 0.085 * abs(away)),
        )  # fmt: skip
        axes.text(column, line, f"{round(away, 1) + 0.0:+.1f}", ha="center", va="center", fontsize=FONT["note"],
                  color="white" if near or abs(away) > 7 else INK)  # fmt: skip
    axes.set_xlim(-0.5, len(order) - 0.5)
    axes.set_xticks(range(len(order)), [name.replace(", ", "\n") for name in columns.values()], fontsize=FONT["note"])
    axes.xaxis.tick_top()
    axes.set_yticks(range(len(titles)), titles, fontsize=FONT["note"])
    axes.set_ylim(len(titles) - 0.5, -0.5)
    axes.tick_params(length=0, labelsize=FONT["note"], labelcolor=INK, pad=1)
    for spine in axes.spines.values():
        spine.set_visible(False)
