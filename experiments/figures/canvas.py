"""The canvas of a figure: its width, its style, and the place in a figure of the user that it is drawn into.

A figure is designed for the page of a paper. On a narrower canvas its panels keep about their width, so that fewer
stand side by side and the figure grows in height.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypedDict, get_args

from holdfast.workloads.ground.errors import ParameterError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import GridSpec

__all__ = [
    "COLUMN",
    "DESIGNED",
    "PAGE",
    "STYLES",
    "Canvas",
    "CanvasOptions",
    "Style",
    "Width",
    "grow",
    "is_narrow",
    "new_figure",
    "plot",
    "set_resolution",
    "subfigures",
    "subplots",
    "width_inches",
]

#: Widths of a column and of a page of a two-column paper [in].
COLUMN, PAGE = 3.5, 7.16

Width = Literal["column", "page"] | float
Style = Literal["paper", "screen", "grey"]
#: Styles: for print, for slides and screens (larger), and for print without colours.
STYLES: tuple[Style, ...] = get_args(Style)
_WIDTHS = {"column": COLUMN, "page": PAGE}
#: Widths that a figure may have [in]: a narrower one has no room for texts.
_NARROWEST, _WIDEST = 2.5, 40.0
#: On a screen: factor of all sizes, of texts besides, and of lines besides.
_SCREEN = 1.4
_SCREEN_TEXT = 0.9
P = ParamSpec("P")


class CanvasOptions(TypedDict, total=False):
    """Options of every figure.

    Attributes
    ----------
    width
        ``column`` (3.5 in) or ``page`` (7.16 in) of a two-column paper, or inches; by default that of the design, in
        most cases ``page``.
    style
        ``paper``; ``screen``, 1.4 times as large, for slides and notebooks; or ``grey``, for print without colours.
    axes
        Axes of a figure of yours, from ``subplots``; the panels take their place. By default a new figure.
    """

    width: Width
    style: Style
    axes: Axes


@dataclass(frozen=True)
class Canvas:
    """Width, style and place of a figure, as in :class:`CanvasOptions`.

    Raises
    ------
    ParameterError
        If the width or the style is not legal, or the axes are not in a grid.
    """

    width: Width | None = None
    style: Style = "paper"
    axes: Axes | None = None

    def __post_init__(self) -> None:
        if self.style not in STYLES:
            raise ParameterError("style", f"one of {', '.join(STYLES)}", self.style)
        if self.width is not None and not _NARROWEST <= self._inches <= _WIDEST:
            raise ParameterError("width", f"column, page, or {_NARROWEST:g} to {_WIDEST:g} inches", self.width)
        if self.axes is not None and self.axes.get_subplotspec() is None:
            raise ParameterError("axes", "axes that subplots has made", self.axes)

    @property
    def _inches(self) -> float:
        if isinstance(self.width, str):
            return _WIDTHS.get(self.width, math.nan)
        return float(self.width) if isinstance(self.width, int | float) else math.nan

    def draw(self, function: Callable[P, Figure], *args: P.args, **kwargs: P.kwargs) -> Figure:
        """Draw a figure on this canvas; all figures that the function makes by :func:`new_figure` have its width."""
        token = _canvas.set(self)
        try:
            figure = function(*args, **kwargs)
        finally:
            _canvas.reset(token)
        if is_narrow(figure):
            from holdfast.experiments.figures.narrow_texts import wrap_texts

            grow(figure, wrap_texts(figure, width_inches(figure)))
        if self.style != "paper":
            from holdfast.experiments.figures.restyling import enlarge, to_grey

            if self.style == "grey":
                to_grey(figure)
            elif self.axes is None:
                enlarge(figure, _SCREEN, _SCREEN_TEXT)
        return figure

    def figure(self, width: float, height: float) -> Figure:
        """An empty figure that was designed for a size [in]."""
        if self.axes is not None:
            return _replace_axes(self.axes)
        from matplotlib.figure import Figure

        own = width if self.width is None else self._inches
        figure = Figure(figsize=(own, height), layout="constrained", facecolor="white")
        engine = figure.get_layout_engine()
        if engine is not None:
            engine.set(w_pad=0.04, h_pad=0.04, wspace=0.03, hspace=0.04)  # type: ignore[call-arg]  # of this engine
        return figure


#: The canvas for which each figure was designed.
DESIGNED = Canvas()
_canvas: ContextVar[Canvas] = ContextVar("canvas", default=DESIGNED)
#: Grid and row of each part of a figure, for parts that grow. The attribute of a figure lives as long as the figure.
_GRID, _DESIGN = "_holdfast_grid", "_holdfast_design"


def plot(function: Callable[P, Figure]) -> Callable[P, Figure]:
    """Decorator of a figure that adds the options of :class:`CanvasOptions`."""

    @wraps(function)
    def draw(*args: P.args, **kwargs: P.kwargs) -> Figure:
        options: dict[str, Any] = {name: kwargs.pop(name) for name in _OPTIONS if name in kwargs}
        if not options:  # a figure that another one calls is drawn on the same canvas
            return function(*args, **kwargs)
        return Canvas(**options).draw(function, *args, **kwargs)

    signature = inspect.signature(function)
    own = [item for item in signature.parameters.values() if item.kind is not inspect.Parameter.VAR_KEYWORD]
    added = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in _OPTIONS]
    draw.__signature__ = signature.replace(parameters=[*own, *added])  # type: ignore[attr-defined]
    return draw


_OPTIONS = tuple(CanvasOptions.__annotations__)


def new_figure(width: float, height: float) -> Figure:
    """An empty figure on the current canvas, laid out so that nothing overlaps.

    Parameters
    ----------
    width, height
        Size for which the figure was designed [in].
    """
    figure = _canvas.get().figure(width, height)
    setattr(figure, _DESIGN, width)
    return figure


def width_inches(figure: Figure) -> float:
    """Width of a figure, or of a part of one [in]."""
    return figure.bbox.width / figure.dpi


def is_narrow(figure: Figure) -> bool:
    """Whether a figure is narrower than its design."""
    return width_inches(figure) < 0.95 * _design(figure)


def set_resolution(figure: Figure, dpi: float) -> None:
    """Set the pixels per inch of a figure; a part of a figure of the user keeps those of the whole."""
    if hasattr(figure, "set_dpi"):
        figure.set_dpi(dpi)


def _design(figure: Figure) -> float:
    """Width for which a figure was designed [in]."""
    return float(getattr(figure, _DESIGN, width_inches(figure)))


def subfigures(figure: Figure, heights: Sequence[float]) -> list[Figure]:
    """Parts of a figure, one below the other, with heights in these proportions."""
    grid = figure.add_gridspec(len(heights), 1, height_ratios=list(heights))
    made = []
    for row in range(len(heights)):
        part = figure.add_subfigure(grid[row, 0])
        setattr(part, _GRID, (figure, grid, row))
        setattr(part, _DESIGN, getattr(figure, _DESIGN))
        made.append(part)
    return made  # type: ignore[return-value]  # a part has the methods of a figure


def subplots(
    figure: Figure,
    rows: int = 1,
    columns: int = 1,
    *,
    sharex: bool | str = False,
    sharey: bool | str = False,
    squeeze: bool = True,
    width_ratios: Sequence[float] | None = None,
    height_ratios: Sequence[float] | None = None,
    by_columns: bool = False,
) -> Any:
    """Axes in rows and columns, as ``Figure.subplots`` gives them.

    On a canvas that is narrower than the design, fewer panels stand side by side: in the order of reading, each about
    as wide as designed. The figure grows by the rows that this adds. In a single column, ``by_columns`` keeps the
    panels of each column of the design together.
    """
    import numpy as np

    across = min(columns, max(1, int(columns * width_inches(figure) / _design(figure) + 0.05)))
    if across == columns:
        ratios = {"width_ratios": width_ratios, "height_ratios": height_ratios}
        return figure.subplots(rows, columns, sharex=sharex, sharey=sharey, squeeze=squeeze, **ratios)  # type: ignore[arg-type]
    lines = -(-rows * columns // across)
    own = [1.0] * rows if height_ratios is None else list(height_ratios)
    stack = by_columns and across == 1
    stretched = own * columns if stack else [own[line * across // columns] for line in range(lines)]
    grow(figure, sum(stretched) / sum(own))
    flat = figure.subplots(lines, across, squeeze=False, height_ratios=stretched).ravel()
    for spare in flat[rows * columns :]:
        spare.remove()
    if sharey in (True, "all"):
        for axes in flat[[place for place in range(rows * columns) if place % across]]:
            axes.tick_params(labelleft=False)  # as in the design, the first panel of a line names its rows
    made = flat.reshape(columns, rows).T if stack else flat[: rows * columns].reshape(rows, columns)
    for row in range(rows):
        for column in range(columns):
            _share(made, row, column, sharex, sharey)
    if not squeeze:
        return made
    return np.squeeze(made) if made.size > 1 else made[0, 0]


def _share(made: Any, row: int, column: int, sharex: bool | str, sharey: bool | str) -> None:
    """Share the scales of a panel with the first one of its row, of its column, or of all."""
    for shared, method in ((sharex, "sharex"), (sharey, "sharey")):
        place = {True: (0, 0), "all": (0, 0), "col": (0, column), "row": (row, 0)}.get(shared, (row, column))
        if place != (row, column):
            getattr(made[row, column], method)(made[place])


def grow(figure: Figure, factor: float) -> None:
    """Make a figure, or a part of one, higher by a factor."""
    part: tuple[Figure, GridSpec, int] | None = getattr(figure, _GRID, None)
    if part is None:
        if hasattr(figure, "set_figheight"):  # the place in a figure of the user has the height that it has
            figure.set_figheight(figure.get_figheight() * factor)
        return
    whole, grid, row = part
    ratios: list[float] = list(grid.get_height_ratios())  # type: ignore[arg-type]  # of any array
    before = sum(ratios)
    ratios[row] *= factor
    grid.set_height_ratios(ratios)
    grow(whole, sum(ratios) / before)


def _replace_axes(axes: Axes) -> Figure:
    """A part of a figure of the user in place of axes."""
    figure, place = axes.figure, axes.get_subplotspec()
    assert figure is not None
    assert place is not None
    root = figure.get_figure(root=True)
    if root is not None and root.get_layout_engine() is None:
        root.set_layout_engine("constrained")
    axes.remove()
    return figure.add_subfigure(place)  # type: ignore[return-value]  # a part has the methods of a figure
