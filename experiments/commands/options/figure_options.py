"""Options of the commands that draw figures for a paper: width, style and formats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from holdfast.experiments.figures.canvas import Width
from holdfast.experiments.figures.style import FORMATS
from holdfast.workloads.ground.errors import ParameterError, UnknownNameError
from holdfast.workloads.ground.numbers import decimal
from holdfast.workloads.ground.parameters import Parameter, Values

if TYPE_CHECKING:
    from holdfast.experiments.figures.figure_form import FigureForm

__all__ = ["FigureOptions"]

_LOOK = "look of the figures"


def _width(text: str) -> Width:
    if text in ("column", "page"):
        return text  # type: ignore[return-value]  # one of the two names
    try:
        return decimal(text)
    except ValueError:
        raise ParameterError("", "column, page or a number of inches", text) from None


def _formats(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(","))
    for name in names:
        if name not in FORMATS:
            raise UnknownNameError("format", name, FORMATS)
    return names


@dataclass(kw_only=True, eq=False, repr=False)
class FigureOptions:
    """Width, style and formats of figures."""

    width: Annotated[
        Width | None,
        Parameter("column (3.5 in) or page (7.16 in) of a paper, or inches", default="that of the design", group=_LOOK),
        Values("WIDTH", _width),
    ] = None
    style: Annotated[
        Literal["paper", "screen", "grey"],
        Parameter("paper; screen, 1.4 times as large; or grey, without colours", group=_LOOK),
    ] = "paper"
    format: Annotated[
        tuple[str, ...],
        Parameter(f"one or several of {', '.join(FORMATS)}", group=_LOOK),
        Values("FORMAT", _formats),
    ] = ("png", "pdf")

    @property
    def form(self) -> FigureForm:
        """The form of the figures."""
        from holdfast.experiments.figures.canvas import Canvas
        from holdfast.experiments.figures.figure_form import FigureForm

        return FigureForm(Canvas(width=self.width, style=self.style), self.format)
