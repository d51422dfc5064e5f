"""Figures embedded in an HTML page, as SVG, or as PNG if that is much smaller."""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Picture", "render_picture"]

#: Size above which an SVG file, which then has thousands of marks, is replaced by a smaller PNG file [bytes].
_LARGE = 128 * 1024
#: Resolution of CSS pixels, and of the PNG file, which has two pixels per CSS pixel [dots per inch].
_CSS_DPI, _DPI = 96, 192


@dataclass(frozen=True)
class Picture:
    """A picture as a data URI.

    Attributes
    ----------
    uri
        Data URI with the type and the bytes.
    width, height
        Displayed size [CSS pixels].
    """

    uri: str
    width: int
    height: int


def render_picture(figure: Figure) -> Picture:
    """Lay out a figure as :func:`holdfast.experiments.figures.style.save` and render it.

    Equal figures give equal bytes.
    """
    import matplotlib as mpl

    nothing: dict[str, Any] = {"Date": None, "Creator": None}
    # Text is drawn as shapes, so that pictures do not depend on the fonts of a machine.
    with mpl.rc_context({"svg.hashsalt": "holdfast", "svg.fonttype": "path"}):
        kind, content = "image/svg+xml", _bytes(figure, format="svg", metadata=nothing)
    if len(content) > _LARGE:
        png = _bytes(figure, format="png", dpi=_DPI, metadata={"Software": None})
        if len(png) < len(content):
            kind, content = "image/png", png
    width, height = figure.get_size_inches()
    uri = f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}"
    return Picture(uri, round(_CSS_DPI * width), round(_CSS_DPI * height))


def _bytes(figure: Figure, **how: Any) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, **how)
    return buffer.getvalue()
