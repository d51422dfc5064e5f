"""Readings varied together: what each open sentence does, and which claims hold under the readings chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from experiments.figures.study.evidence import draw_matrix
from experiments.figures.style import FONT, INK, PAGE, dress, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["plot_joint_readings"]

Rows = Sequence[Mapping[str, Any]]


def plot_joint_readings(effects: Rows, units: Mapping[str, str], findings: Rows, scores: Rows) -> Figure:
    """Effects of the factors on each measure, with intervals; below, the claims under the chosen readings.

    Parameters
    ----------
    effects
        Rows of ``measure``, ``factor``, ``effect``, ``low`` and ``high``.
    units
        Unit of each measure.
    findings
        Rows of claims with a ``reading``.
    scores
        Rows of ``reading``, ``agreeing``, ``claims`` and ``distance``.
    """
    measures, factors = (list(dict.fromkeys(row[name] for row in effects)) for name in ("measure", "factor"))
    claims = list({f"{row['observation']}{row['part']}": row for row in findings}.values())
    letters = {row["reading"]: chr(ord("A") + place) for place, row in enumerate(scores)}
    legend = [
        f"{letters[row['reading']]}: {row['reading']} ({row['agreeing']} of {row['claims']}, {row['distance']:.1f} "
        "margins)"
        for row in scores
    ]
    heights = (4.6, 1.0 + 0.15 * len(claims), 0.3 + 0.15 * len(legend))
    figure = new_figure(PAGE, sum(heights))
    top, middle, bottom = figure.subfigures(3, 1, squeeze=False, height_ratios=heights).ravel()
    panels = top.subplots(2, 4, sharey=True).ravel()
    for number, (axes, measure) in enumerate(zip(panels, measures, strict=False)):
        for place, factor in enumerate(factors):
            row = next(row for row in effects if row["measure"] == measure and row["factor"] == factor)
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
    top.suptitle("What each other reading adds, over sixteen readings (95 % intervals)", fontsize=FONT["title"],
                 color=INK)  # fmt: skip
    lettered = [{**row, "reading": letters[row["reading"]]} for row in findings]
    draw_matrix(middle, lettered, claims, list(letters.values()), upright=True)
    bottom.text(0.01, 0.98, "\n".join(legend), va="top", fontsize=FONT["note"], color=INK, linespacing=1.4)
    return figure
