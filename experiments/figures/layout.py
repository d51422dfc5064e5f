"""Layout of a figure; user-supplied names in it are escaped, because matplotlib would read some as formulas."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["lay_out", "without_warnings_of_names"]

#: Formulas in our own figures: a letter with an optional index, or a square.
_FORMULA = re.compile(r"\$(?:\w(?:_\{\d+\})?|\^2)\$")


#: Largest length of a line in characters; lines of our own figures are shorter.
_LONGEST = 160


def lay_out(figure: Figure) -> None:
    """Compute and freeze the layout of a figure, escaping all formulas except those of our own figures.

    Without this, matplotlib refuses a file name with an unfinished formula, such as ``$\\frac{$``.
    """
    import matplotlib as mpl
    from matplotlib.text import Text

    texts = figure.findobj(Text)
    for text in texts:
        text.set_parse_math(False)
        if len(text.get_text()) > _LONGEST:
            text.set_text("\n".join(_cut(line) for line in text.get_text().split("\n")))
    _plain_powers(figure)
    _find_layout(figure)
    # Texts of ticks are only known after the layout.
    formulas = [text for text in texts if "$" in text.get_text() and "$" not in _FORMULA.sub("", text.get_text())]
    for text in formulas:
        text.set_parse_math(True)
    if formulas:
        _find_layout(figure)
    # The layout is computed once, because a second pass would move things by a fraction of a pixel. None, not
    # "none": that would leave a placeholder, for which matplotlib draws the figure once more for each file.
    with mpl.rc_context({"figure.autolayout": False, "figure.constrained_layout.use": False}):
        figure.set_layout_engine(None)


def _plain_powers(figure: Figure) -> None:
    """Write 0.1, 1 and 10 on logarithmic axes, where matplotlib writes formulas."""
    from matplotlib.ticker import LogFormatterMathtext, LogFormatterSciNotation

    class Plain(LogFormatterSciNotation):
        def __call__(self, x: float, pos: int | None = None) -> str:
            return f"{x:g}" if super().__call__(x, pos) else ""

    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            if isinstance(axis.get_major_formatter(), LogFormatterMathtext):
                axis.set_major_formatter(Plain())
            if isinstance(axis.get_minor_formatter(), LogFormatterMathtext):
                axis.set_minor_formatter(Plain(labelOnlyBase=False, minor_thresholds=(1, 0.4)))


def _find_layout(figure: Figure) -> None:
    """Compute the layout of a figure without drawing it; a figure with a layout is unchanged."""
    engine = figure.get_layout_engine()
    if engine is not None:
        if figure.subfigs:
            # The engine leaves subfigures too little room for the labels at their left.
            engine.set(rect=(0.02, 0, 0.98, 1))  # type: ignore[call-arg]  # of the constrained layout
        engine.execute(figure)


def _cut(line: str) -> str:
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..."


@contextmanager
def without_warnings_of_names() -> Iterator[None]:
    """Suppress matplotlib's warnings about missing glyphs and names that leave no room."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"Glyph .* missing from")
        warnings.filterwarnings("ignore", r"constrained_layout not applied")
        yield
