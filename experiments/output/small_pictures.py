"""Small pictures in the cells of the page's tables, as SVG that takes its colours from the style of the page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Scale", "interval_picture", "use_picture"]

_WIDTH = 200.0


class Scale(NamedTuple):
    """The range that the pictures of a column share.

    Attributes
    ----------
    low, high
        Its ends; 0 is within.
    """

    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Scale:
        """The range of some values and 0, with a margin."""
        low, high = min([0.0, *values]), max([0.0, *values])
        margin = 0.04 * (high - low) or 1.0
        return cls(low - margin, high + margin)

    def place(self, value: float) -> float:
        """Place of a value in the picture.

        >>> Scale(-1.0, 3.0).place(0.0)
        50.0
        """
        return _WIDTH * (value - self.low) / (self.high - self.low)


def interval_picture(scale: Scale, value: float, low: float | None, high: float | None) -> str:
    """A value as a mark on its interval, beside a line at 0; an arrow says that the interval ends beyond the scale."""
    zero, middle = scale.place(0.0), scale.place(value)
    parts = [f'<line class="zero" x1="{zero:.1f}" x2="{zero:.1f}" y1="0" y2="12"/>']
    if low is not None and high is not None:
        end = min(_WIDTH, scale.place(high))
        parts.append(f'<line class="range" x1="{scale.place(low):.1f}" x2="{end:.1f}" y1="6" y2="6"/>')
        if high > scale.high:
            parts.append(f'<path class="arrow" d="M{_WIDTH - 6:.0f} 2L{_WIDTH:.0f} 6L{_WIDTH - 6:.0f} 10"/>')
    parts.append(f'<rect class="mark" x="{middle - 2:.1f}" y="2.5" width="4" height="7"/>')
    return _picture("interval", 12, parts)


def use_picture(use: NDArray[np.float64]) -> str:
    """Utilisation over time: a column for each period, as high as it is."""
    width = _WIDTH / max(1, len(use))
    parts = []
    for place, share in enumerate(use):
        if math.isnan(share):
            continue
        height = 24 * min(1.0, max(0.0, float(share)))
        parts.append(
            f'<rect x="{place * width:.2f}" y="{24 - height:.2f}" width="{0.9 * width:.2f}" height="{height:.2f}"/>'
        )
    return _picture("use", 24, ['<rect class="full" x="0" y="0" width="200" height="24"/>', *parts])


def _picture(kind: str, height: int, parts: Sequence[str]) -> str:
    box = f'viewBox="0 0 {_WIDTH:.0f} {height}" preserveAspectRatio="none"'
    return f'<svg class="{kind}" {box} aria-hidden="true">{"".join(parts)}</svg>'
