"""Names of lines that end close together stand one above the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from holdfast.experiments.figures.planning.advice import plot_advice
from tests.support.figure_texts import text_faults

pytestmark = pytest.mark.pictures("png", "pdf")


@pytest.mark.parametrize("width", ["column", "page"])
@pytest.mark.parametrize("sizes", [(64,), (128, 256, 512, 1024)])
def test_names_of_lines_do_not_cover_each_other(sizes: tuple[int, ...], width: Any) -> None:
    requests = [
        {"nodes": size, "walltime": 3600.0 * hours, "wait": 4000.0 + hours, "response": 4100.0 + hours + size / 100,
         "best": (size, hours) == (sizes[0], 4), "names": ["own"] if (size, hours) == (sizes[-1], 8) else []}
        for size in sizes
        for hours in (1, 2, 4, 8)
    ]  # fmt: skip
    responses = np.linspace(3000.0, 9000.0, 50)[:, None] * np.ones(len(requests))
    figure = plot_advice(requests, responses, width=width)
    assert text_faults(figure) == []
    names = [text.get_text() for text in figure.axes[0].texts]
    assert names == ([f"{size:,} nodes" for size in sizes] if len(sizes) > 1 else ["wait", "response"])
