"""Pictures as sketches: all that is in them is drawn once, without a search for the layout, and not rendered.

For tests of other things than pictures: rendered as PNG and PDF a picture costs a second and more.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import pytest
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

__all__ = ["KINDS", "sketches"]

#: Of the files that a picture becomes.
KINDS = ("png", "pdf")

_render = Figure.savefig


def _draw_quickly(_: ConstrainedLayoutEngine, figure: Figure) -> None:
    figure.set_layout_engine("none")
    figure.draw_without_rendering()


@contextmanager
def sketches(kinds: tuple[str, ...] = KINDS) -> Iterator[None]:
    """Meanwhile this process writes a line in place of files of these kinds; an empty picture is refused."""

    def sketch(figure: Figure, file: IO[bytes], *, format: str | None = None, **how: Any) -> None:
        if format not in kinds:
            _render(figure, file, format=format, **how)
            return
        assert any(axes.has_data() or axes.texts for axes in figure.axes), "nothing is drawn"
        file.write(f"a sketch of {len(figure.axes)} axes as {format}\n".encode())

    with pytest.MonkeyPatch.context() as patch:
        if kinds:
            patch.setattr(Figure, "savefig", sketch)
        if kinds == KINDS:
            patch.setattr(ConstrainedLayoutEngine, "execute", _draw_quickly)
        yield
