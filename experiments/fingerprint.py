"""The fingerprint of the sources: what a stored measurement is a measurement of."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

__all__ = ["fingerprint"]

_ROOT = Path(__file__).parent.parent
_PACKAGES = ("workloads", "policies", "simulator", "experiments")
#: No measurement depends on how it is asked for and shown.
_OUTSIDE = ("experiments/commands", "experiments/figures", "experiments/report")


@cache
def fingerprint() -> str:
    """A digest of the sources that experiments are measured by, as 16 hexadecimal digits.

    The version number would not do: yesterday's results must not be taken for those of today's sources. A changed
    comment makes old results void as well, which costs time only.
    """
    digest = hashlib.sha256()
    for package in _PACKAGES:
        for path in sorted((_ROOT / package).rglob("*.py")):
            name = path.relative_to(_ROOT).as_posix()
            if not name.startswith(_OUTSIDE):
                digest.update(f"{name}\0".encode())
                digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]
