"""Colours of categories that stand side by side differ in lightness, so that a greyscale print tells them apart."""

from __future__ import annotations

from itertools import combinations, pairwise

import pytest
from matplotlib.colors import to_rgb

from holdfast.experiments.figures.style import STATE_COLORS, TYPE_COLORS


def lightness(color: str) -> float:
    """CIE lightness, 0 to 100, from the linear luminance of sRGB (IEC 61966-2-1)."""
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in to_rgb(color)]
    luminance = sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
    return 116 * luminance ** (1 / 3) - 16 if luminance > 0.008856 else 903.3 * luminance


@pytest.mark.parametrize("pair", list(combinations(TYPE_COLORS.values(), 2)))
def test_types_of_jobs_differ_in_grey(pair: tuple[str, str]) -> None:
    assert abs(lightness(pair[0]) - lightness(pair[1])) > 8


@pytest.mark.parametrize("pair", list(pairwise(color for name, color in STATE_COLORS.items() if name != "down")))
def test_states_of_nodes_that_touch_in_a_stack_differ_in_grey(pair: tuple[str, str]) -> None:
    assert abs(lightness(pair[0]) - lightness(pair[1])) > 15
