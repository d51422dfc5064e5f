"""Where things are, for tests in any folder."""

from __future__ import annotations

from pathlib import Path

__all__ = ["GOLDEN", "PACKAGES", "ROOT"]

#: The checkout.
ROOT = Path(__file__).resolve().parent.parent
#: Files that the tests compare with.
GOLDEN = ROOT / "tests" / "golden"
#: Folders of the packages, which are imported below ``holdfast``, from the lowest layer to the highest.
PACKAGES = ("workloads", "policies", "simulator", "experiments")
