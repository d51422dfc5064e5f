"""Figure of the factorial experiment on readings: effects of the sentences, and claims that hold."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.experiments.figures.canvas import PAGE, grow, is_narrow, new_figure, subfigures, subplots
from holdfast.experiments.figures.study.evidence import OUTCOMES, shorten_claim
from holdfast.experiments.figures.style import FONT, INK, dress

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot_readings"]

Rows = Sequence[Mapping[str, Any]]
_Columns = Mapping[tuple[str, bool], str]
_NEAR, _FAR = OUTCOMES["holds"][0], OUTCOMES["does not hold"][0]
#: Colours of the outcomes that are decided.
_INKS = {"holds": _NEAR, "does not hold": _FAR}
_LINE = 0.15
_SMALL = FONT["note"] - 0.5
_TITLE = (
    "Distance from the printed levels in margins (1 at most: as printed); "
    f"claims: {', '.join(f'{sign} {name}' for name, (_, sign) in OUTCOMES.items() if sign)}"
)


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
    letters = {
        name: chr(ord("A") + place) for place, name in enumerate(dict.fromkeys(row["reading"] for row in scores))
    }
    columns = {(row["reading"], row["fresh"]): _column(letters[row["reading"]], row["fresh"]) for row in scores}
    legend = [
        f"{columns[row['reading'], row['fresh']]}: {row['reading']} ({row['held']} of {row['claims']} claims hold, "
        f"levels {row['distance']:.1f} margins away)"
        for row in scores
    ]
    claims = _claim_lines(findings, columns)
    open_claims = [line.name for line in claims if {text for text, _ in line.cells} <= {"0", ""}]
    lines = [*_level_lines(away, columns), *(line for line in claims if line.name not in open_claims)]
    if open_claims:
        legend.append(f"Undecided under all of these: {', '.join(open_claims)}")
    figure = new_figure(PAGE, 1.0)
    notes = [part for text in legend for part in wrap(text, 46 if is_narrow(figure) else 118)]
    heights = (1.5 + 0.27 * len(factors), 0.55 + _LINE * len(lines), 0.2 + _LINE * len(notes))
    grow(figure, sum(heights))
    top, middle, bottom = subfigures(figure, heights)
    panels = subplots(top, 2, -(-len(measures) // 2), sharey=True).ravel()
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
        _set_reach(axes, [float(row[end]) for row in effects if row["measure"] == measure for end in ("low", "high")])
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
    _draw_table(middle, lines, [name.replace(", ", "\n") for name in columns.values()])
    bottom.text(0.01, 0.98, "\n".join(notes), va="top", fontsize=FONT["note"], color=INK, linespacing=1.4)
    return figure


def _set_reach(axes: Axes, ends: Sequence[float]) -> None:
    """Limits about zero and all intervals: matplotlib takes those of equal effects from rounding errors, 1e-17."""
    low, high = min(0.0, *ends), max(0.0, *ends)
    room = 0.05 * (high - low) or 1.0
    axes.set_xlim(low - room, high + room)


def _column(letter: str, fresh: bool) -> str:
    return f"{letter}, fresh" if fresh else letter


class _Line(NamedTuple):
    """A line of the table.

    Attributes
    ----------
    name, words
        Short and long name.
    cells
        Text and colour of each cell.
    """

    name: str
    words: str
    cells: Sequence[tuple[str, str]]


def _level_lines(rows: Rows, columns: _Columns) -> list[_Line]:
    """How far each reading is from each printed level [margins]."""
    lines = []
    for title in dict.fromkeys(row["level"] for row in rows):
        own = {(row["reading"], row["fresh"]): row["away"] for row in rows if row["level"] == title}
        cells = []
        for column in columns:
            away = own.get(column, math.nan)
            known = away == away  # not defined without on-demand jobs
            cells.append((f"{round(away, 1) + 0.0:+.1f}" if known else "", _NEAR if abs(away) <= 1 else _FAR))
        lines.append(_Line("", title, cells))
    return lines


def _claim_lines(findings: Rows, columns: _Columns) -> list[_Line]:
    """The outcome of each claim under each reading."""
    lines: dict[str, _Line] = {}
    outcomes = {(_name(row), row["reading"], row["fresh"]): str(row["outcome"]) for row in findings}
    for row in findings:
        name = _name(row)
        cells = []
        for column in columns:
            outcome = outcomes.get((name, *column), "not comparable")
            cells.append((OUTCOMES[outcome][1], _INKS.get(outcome, "#888888")))
        lines[name] = _Line(name, shorten_claim(str(row["claim"])), cells)
    return list(lines.values())


def _name(row: Mapping[str, Any]) -> str:
    return f"{row['observation']}{row['part'] or ''}"


def _draw_table(figure: Figure, lines: Sequence[_Line], columns: Sequence[str]) -> None:
    """A table: a line for each level and claim, a column for each reading."""
    narrow = is_narrow(figure)
    axes = figure.subplots()
    left, step = (3.2, 0.62) if narrow else (7.0, 0.5)  # width of the names and of a column, in any unit
    for place, line in enumerate(lines):
        words = line.words if not narrow or not line.name else f"claim {line.name}"
        if line.name and not narrow:
            axes.text(0.0, place, line.name, va="center", fontsize=_SMALL, color=INK, fontweight="bold")
        axes.text(0.0 if narrow or not line.name else 0.42, place, words, va="center", fontsize=_SMALL, color=INK)
        for number, (text, color) in enumerate(line.cells):
            axes.text(left + step * (number + 0.5), place, text, ha="center", va="center", fontsize=FONT["note"],
                      color=color, fontweight="bold" if color in _INKS.values() else "normal")  # fmt: skip
        first = place == 0 or bool(line.name) != bool(lines[place - 1].name)
        axes.axhline(place - 0.5, color=INK if first else "#DDDDDD", linewidth=0.7 if first else 0.4)
    axes.axhline(len(lines) - 0.5, color=INK, linewidth=0.7)
    axes.set_xlim(0, left + step * len(columns))
    axes.set_ylim(len(lines) - 0.5, -0.5)
    axes.set_yticks([])
    axes.set_xticks([left + step * (number + 0.5) for number in range(len(columns))], columns)
    axes.xaxis.tick_top()
    axes.tick_params(length=0, labelsize=FONT["note"], labelcolor=INK, pad=1)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_title(_TITLE, fontsize=FONT["title"], color=INK, loc="left")
