"""Ranked values against numpy's own quantiles."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from holdfast.simulator.results.order_statistics import Ranked

_FLOATS = st.floats(-1e300, 1e300, allow_subnormal=False)
_TICKS = st.integers(-(2**61), 2**61)


@given(values=st.lists(_FLOATS, min_size=1) | st.lists(_TICKS, min_size=1), share=st.floats(0, 1))
def test_quantiles_are_those_of_numpy_to_the_bit(values: list[float], share: float) -> None:
    ranked = Ranked(values)
    assert ranked.median == np.median(values)
    assert ranked.most == np.max(values)
    for asked in (share, 0.0, 0.05, 0.95, 0.99, 1.0):
        assert ranked.quantile(asked) == np.quantile(values, asked)


def test_no_values_have_no_quantiles() -> None:
    empty = Ranked([])
    assert all(math.isnan(value) for value in (empty.median, empty.most, empty.quantile(0.5)))
