"""Pictures of pages: PNG with a palette, small enough to be kept in the repository."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import PIL.Image
    from matplotlib.figure import Figure

__all__ = ["MOST_BYTES", "small_png"]

#: Largest size of a picture [bytes].
MOST_BYTES = 96 * 1024
_DPI = 120
#: Largest sum of differences in red, green and blue between colours that are merged.
_NEAR = 18


def small_png(figure: Figure) -> bytes:
    """PNG with a palette, with the highest resolution and number of colours that fit into :data:`MOST_BYTES`."""
    from PIL import Image

    content = b""
    for dpi, fewest in ((_DPI, 32), (96, 32), (72, 16)):
        plain = io.BytesIO()
        figure.savefig(plain, format="png", dpi=dpi, metadata={"Software": None})
        image = Image.open(plain).convert("RGB")
        for colors in (128, 64, 32, 16):
            packed = io.BytesIO()
            palette = _palette(image, colors)
            image.quantize(palette=palette, dither=Image.Dither.NONE).save(packed, "png", optimize=True)
            content = packed.getvalue()
            if len(content) <= MOST_BYTES:
                return content
            if colors == fewest:
                break
    return content


def _palette(image: PIL.Image.Image, most: int) -> PIL.Image.Image:
    """Palette of a picture: its most frequent colours, without those close to a more frequent one.

    Even small marks keep their exact colour, because the pixels inside a mark are equal while each blend at an edge is
    rare. A median cut would merge the colours of small marks.
    """
    from PIL import Image

    pixels = np.asarray(image.convert("RGB"), dtype=np.int64).reshape(-1, 3) @ (1 << 16, 1 << 8, 1)
    colors, counts = np.unique(pixels, return_counts=True)
    chosen: list[tuple[int, int, int]] = []
    for color in colors[np.argsort(-counts, kind="stable")].tolist():
        red, green, blue = color >> 16, (color >> 8) & 255, color & 255
        if all(abs(red - r) + abs(green - g) + abs(blue - b) > _NEAR for r, g, b in chosen):
            chosen.append((red, green, blue))
            if len(chosen) == most:
                break
    palette = Image.new("P", (1, 1))
    palette.putpalette([part for color in chosen for part in color])
    return palette
