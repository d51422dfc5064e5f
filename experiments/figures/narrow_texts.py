"""Texts of a figure that is narrower than its design: they are broken into lines that have room in their panels."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import GridSpecBase

__all__ = ["wrap_texts"]

#: Mean width of a character [in per point of the font].
_CHARACTER = 0.0078
#: Shares of a panel's width that its texts may take: of a single one, and of several side by side.
_ALONE, _BESIDE = 0.75, 0.66
#: Share of the width of a figure that names of rows may take, and the margin beside them and a panel [in].
_NAMES, _MARGIN = 0.42, 0.2


def wrap_texts(figure: Figure, width: float) -> float:
    """Break titles, labels and names of rows, and notes on the figure, into lines that are no wider than their place.

    Parameters
    ----------
    figure
        A figure or a part of one.
    width
        Its width [in].

    Returns
    -------
    float
        Factor by which the figure must grow in height, so that no names of rows meet.
    """
    from matplotlib.text import Text

    for part in (figure, *figure.subfigs):
        for text in part.texts:
            _wrap(text, 0.95 * width)
    names = {axes: _wrap_names(axes, _NAMES * width) for axes in figure.axes}
    for axes in figure.axes:
        place = axes.get_subplotspec()
        if place is None:
            continue
        grid = place.get_gridspec()
        columns = grid.ncols
        ratios: list[float] = list(grid.get_width_ratios())  # type: ignore[arg-type]  # of any array
        share = sum(ratios[place.colspan.start : place.colspan.stop]) / sum(ratios)
        # Panels of a column have one left edge, behind the longest name of a row.
        own = [max(_in_column(names, place.get_gridspec(), column), default=0.0) for column in range(columns)]
        wide = min(width * share * (_ALONE if columns == 1 else _BESIDE), (width - sum(own)) * share - _MARGIN)
        titles = [text for text in axes.findobj(Text) if text.get_text() and text.get_text() == axes.get_title("left")]
        for text in (axes.xaxis.label, *titles):
            _wrap(text, wide)
    return max((_growth(axes) for axes in names), default=1.0)


def _in_column(names: Mapping[Axes, float], grid: GridSpecBase, column: int) -> list[float]:
    """Widths of the names of rows in a column of a grid [in]."""
    places = {axes: axes.get_subplotspec() for axes in names}
    return [
        names[axes]
        for axes, place in places.items()
        if place is not None and place.get_gridspec() is grid and place.colspan.start == column
    ]


def _wrap_names(axes: Axes, most: float) -> float:
    """Break the names of rows into lines that are no wider than ``most``; returns the width of the widest [in]."""
    from matplotlib.ticker import FixedLocator

    ticks = axes.get_yticklabels()
    shown = axes.yaxis.get_tick_params().get("labelleft", True) and axes.axison
    if not isinstance(axes.yaxis.get_major_locator(), FixedLocator) or not ticks or not shown:
        return 0.0
    letter = _CHARACTER * float(ticks[0].get_fontsize())
    names = [_fill(text.get_text(), most / letter) for text in ticks]
    axes.set_yticks(axes.get_yticks(), names)
    for text in axes.get_yticklabels():
        text.set_linespacing(1.0)
    return letter * max(len(line) for name in names for line in name.split("\n"))


def _growth(axes: Axes) -> float:
    """Factor by which a panel must grow so that the names of its rows do not meet."""
    names = [text for text in axes.get_yticklabels() if "\n" in text.get_text()]
    if not names:
        return 1.0
    lines = max(text.get_text().count("\n") + 1 for text in names)
    needed = len(axes.get_yticks()) * (0.3 + lines) * float(names[0].get_fontsize()) / 72
    needed += 1.2 * axes.get_title("left").count("\n") * float(axes.title.get_fontsize()) / 72
    figure = axes.get_figure(root=True)
    assert figure is not None
    return max(1.0, needed * figure.dpi / axes.get_window_extent().height)


def _wrap(text: Any, width: float) -> None:
    """Break a text into lines that are no wider than ``width`` [in]."""
    most = max(8.0, width / (_CHARACTER * text.get_fontsize()))
    text.set_text("\n".join(_fill(line, most) for line in text.get_text().split("\n")))


def _fill(text: str, most: float) -> str:
    """As few lines as words of at most ``most`` characters a line need, of about equal length.

    >>> print(_fill("Lead of a notice, 0 to 4 h", 22))
    Lead of a
    notice, 0 to 4 h
    """
    from textwrap import wrap

    words = re.sub(r"(?<=\d) (?=%|\w{1,2}\b)", "\N{NO-BREAK SPACE}", text)  # a number stays with its unit

    def lines(width: int) -> list[str]:
        return wrap(words, width, break_long_words=False, break_on_hyphens=False)

    width = max(1, int(most))
    count = len(lines(width))
    while width > 1 and len(lines(width - 1)) == count:
        width -= 1
    return "\n".join(lines(width)).replace("\N{NO-BREAK SPACE}", " ")
