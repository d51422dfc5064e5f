"""Texts of a figure that cover each other, or that leave the figure."""

from __future__ import annotations

from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from holdfast.experiments.figures.layout import lay_out

__all__ = ["text_faults"]

#: Pixels by which texts may cover each other, or leave the figure: extents include the space around letters.
_SLACK = 2.5


def text_faults(figure: Figure) -> list[str]:
    """One sentence for each pair of texts that cover each other, and for each text that leaves the figure."""
    figure.set_dpi(150)  # as in files: letters are wider at other resolutions
    if figure.axes and figure.get_layout_engine() is not None:
        lay_out(figure)
    FigureCanvasAgg(figure).draw()
    renderer = figure.canvas.get_renderer()  # type: ignore[attr-defined]  # of the canvas above
    hidden = _hidden_labels(figure)
    # The extent of a slanted text is the rectangle around it, most of which is empty.
    texts = [text for text in figure.findobj(Text) if isinstance(text, Text) and text not in hidden]
    shown = [text for text in texts if text.get_visible() and text.get_text().strip() and not text.get_rotation() % 90]
    shown = [text for text in shown if text.get_alpha() != 0]  # placeholders
    boxes = [(text.get_text(), _extent(text, renderer)) for text in shown]
    faults = []
    for place, (name, box) in enumerate(boxes):
        inside = figure.bbox.padded(_SLACK)
        if not (inside.x0 <= box.x0 and box.x1 <= inside.x1 and inside.y0 <= box.y0 and box.y1 <= inside.y1):
            faults.append(f"{name!r} leaves the figure")
        for other, its in boxes[place + 1 :]:
            wide, high = min(box.x1, its.x1) - max(box.x0, its.x0), min(box.y1, its.y1) - max(box.y0, its.y0)
            if wide > _SLACK and high > _SLACK:
                faults.append(f"{name!r} and {other!r} cover each other")
    return faults


def _extent(text: Text, renderer: Any) -> Any:
    """Rectangle around a text without the empty lines above it, and without an arrow from it."""
    box = Text.get_window_extent(text, renderer)
    lines = text.get_text().split("\n")
    empty = next(place for place, line in enumerate(lines) if line.strip())
    box.y1 -= box.height * empty / len(lines)
    return box


def _hidden_labels(figure: Figure) -> set[Any]:
    """Labels of ticks beyond the limits or of a hidden axis, which matplotlib keeps and does not draw."""
    hidden: set[Any] = set()
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            margin = 1e-9 * (high - low)
            for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
                if not axes.axison or not low - margin <= tick.get_loc() <= high + margin:
                    hidden |= {tick.label1, tick.label2}
    return hidden
