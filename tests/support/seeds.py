"""Seeds of random tables in two parts: a few run by default, the others with ``make slow``."""

from __future__ import annotations

from typing import Any

import pytest

__all__ = ["in_parts"]


def in_parts(seeds: range, few: int) -> list[Any]:
    """Parameters of a test that goes through seeds in a loop: a mistake in a rule shows in a few tables.

    Parameters
    ----------
    seeds
        All seeds.
    few
        Number of the first ones, which are tried by default.
    """
    return [pytest.param(seeds[:few], id="few"), pytest.param(seeds[few:], id="others", marks=pytest.mark.slow)]
