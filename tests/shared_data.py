"""Where the real traces are, for the tests that want them. They are not part of the project."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_HERE = Path(__file__).resolve().parent.parent


def shared_file(folder: str, name: str) -> Path:
    """Path of a file of real data, or a skipped test where there is none."""
    places = [Path(os.environ["HOLDFAST_SHARED"])] if "HOLDFAST_SHARED" in os.environ else []
    places.append(_HERE.parent / "shared")
    for place in places:
        path = place / "data" / folder / name
        if path.is_file():
            return path
    pytest.skip(f"the file {folder}/{name} is not here (looked in {', '.join(map(str, places))}; set HOLDFAST_SHARED)")


def trace_file(name: str) -> Path:
    """Path of a real trace, or a skipped test where there is none."""
    return shared_file("traces", name)
