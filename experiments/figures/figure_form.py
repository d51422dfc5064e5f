"""The form in which a figure is drawn and written: its canvas and the formats of its files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec

from holdfast.experiments.figures.canvas import DESIGNED, Canvas
from holdfast.experiments.figures.style import save

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FigureForm"]

P = ParamSpec("P")


@dataclass(frozen=True)
class FigureForm:
    """Canvas and formats of figures.

    Attributes
    ----------
    canvas
        Width and style; by default those of the design.
    formats
        Some of :data:`holdfast.experiments.figures.style.FORMATS`.
    """

    canvas: Canvas = DESIGNED
    formats: tuple[str, ...] = ("png", "pdf")

    def draw(self, function: Callable[P, Figure], *args: P.args, **kwargs: P.kwargs) -> Figure:
        """Draw a figure on the canvas."""
        return self.canvas.draw(function, *args, **kwargs)

    def save(self, figure: Figure, path: str | Path, *, follow: bool = True) -> tuple[Path, ...]:
        """Write a figure in all formats (:func:`holdfast.experiments.figures.style.save`)."""
        return save(figure, path, follow=follow, formats=self.formats)

    def names(self, name: str) -> str:
        """Names of the files of a figure, as text.

        >>> FigureForm().names("use")
        'use.png, use.pdf'
        """
        return ", ".join(f"{name}.{ending}" for ending in self.formats)
