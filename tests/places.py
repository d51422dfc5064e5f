"""Where things are, for tests in any folder."""

from __future__ import annotations

from pathlib import Path

__all__ = ["GOLDEN", "ROOT"]

#: The checkout.
ROOT = Path(__file__).resolve().parent.parent
#: Files that the tests compare with.
GOLDEN = ROOT / "tests" / "golden"
