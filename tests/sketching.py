"""Pictures as sketches: laid out, which draws all that is in them once, and not rendered twice more, as PNG and PDF.

For tests of other things than pictures: a picture costs a second and more, most of it in matplotlib's renderers.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import pytest
from matplotlib.figure import Figure

__all__ = ["sketches"]

_render = Figure.savefig


def _sketch(figure: Figure, file: IO[bytes], *, format: str, **how: Any) -> None:
    """Write a line in place of the picture; an empty picture is refused."""
    if format not in ("png", "pdf"):
        _render(figure, file, format=format, **how)
        return
    assert any(axes.has_data() or axes.texts for axes in figure.axes), "nothing is drawn"
    file.write(f"a sketch of {len(figure.axes)} axes as {format}\n".encode())


@contextmanager
def sketches() -> Iterator[None]:
    """Meanwhile pictures of this process are sketches."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Figure, "savefig", _sketch)
        yield
