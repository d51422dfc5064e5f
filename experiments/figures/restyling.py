"""Changes of the style of a figure that is drawn: larger texts and lines, and shades of grey in place of colours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["enlarge", "to_grey"]

#: Luminance of red, green and blue (ITU-R BT.601).
_LUMINANCE = (0.299, 0.587, 0.114)


def enlarge(figure: Figure, factor: float, text: float = 1.0) -> None:
    """Enlarge a figure with its lines and markers by a factor, and its texts by ``text`` times as much."""
    import numpy as np
    from matplotlib.collections import Collection
    from matplotlib.lines import Line2D
    from matplotlib.text import Text

    figure.set_size_inches(*(figure.get_size_inches() * factor))
    for artist in figure.findobj():
        if isinstance(artist, Text):
            artist.set_fontsize(float(artist.get_fontsize()) * factor * text)
        elif isinstance(artist, Line2D):
            artist.set_linewidth(artist.get_linewidth() * factor)
            artist.set_markersize(artist.get_markersize() * factor)
        elif isinstance(artist, Collection):
            artist.set_linewidth((np.asarray(artist.get_linewidth()) * factor).tolist())
    for axes in figure.axes:
        for which in ("x", "y"):
            label = axes.get_xticklabels() if which == "x" else axes.get_yticklabels()
            if label:
                axes.tick_params(axis=which, labelsize=label[0].get_fontsize())  # ticks that are added later, too


def to_grey(figure: Figure) -> None:
    """Replace each colour of a figure by the grey of the same luminance."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.collections import Collection
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    from matplotlib.text import Text

    for artist in figure.findobj():
        if isinstance(artist, ScalarMappable) and artist.get_array() is not None:
            _to_grey_map(artist)
        elif isinstance(artist, Line2D):
            artist.set_color(_grey(artist.get_color()))
            artist.set_markerfacecolor(_grey(artist.get_markerfacecolor()))
            artist.set_markeredgecolor(_grey(artist.get_markeredgecolor()))
        elif isinstance(artist, Patch):
            face, edge = _grey(artist.get_facecolor()), _grey(artist.get_edgecolor())
            artist.set_facecolor(face)
            artist.set_edgecolor(edge)
        elif isinstance(artist, Collection):
            face, edge = [_grey(color) for color in artist.get_facecolor()], [_grey(c) for c in artist.get_edgecolor()]
            artist.set_facecolor(face)
            artist.set_edgecolor(edge)
        elif isinstance(artist, Text):
            artist.set_color(_grey(artist.get_color()))


def _grey(color: Any) -> Any:
    """The grey of the same luminance and opacity."""
    from matplotlib.colors import to_rgba

    if isinstance(color, str) and color.lower() in ("none", "auto"):
        return color
    red, green, blue, opacity = to_rgba(color)
    shade = sum(weight * part for weight, part in zip(_LUMINANCE, (red, green, blue), strict=True))
    return (shade, shade, shade, opacity)


def _to_grey_map(artist: Any) -> None:
    """Replace the colour map of an artist by one of the luminance of its colours."""
    import numpy as np
    from matplotlib.colors import ListedColormap

    colors = artist.get_cmap()(np.linspace(0.0, 1.0, 256))
    shades = colors[:, :3] @ np.array(_LUMINANCE)
    grey = ListedColormap(np.column_stack([shades, shades, shades, colors[:, 3]]))
    grey.set_bad(_grey(artist.get_cmap().get_bad()))
    with artist.callbacks.blocked():  # a colour bar would lay out its ticks anew; its own colours are an artist, too
        artist.set_cmap(grey)
