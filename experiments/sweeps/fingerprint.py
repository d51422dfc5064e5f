"""The fingerprint of the model: what a stored result is a result of."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path

__all__ = ["SOURCES", "model_fingerprint"]

_ROOT = Path(__file__).parent.parent.parent
#: What a simulation is made by; laws and planning too, since stochastic jobs are planned on the way.
SOURCES = ("workloads/**/*.py", "policies/**/*.py", "simulator/**/*.py", "experiments/sweeps/simulations.py")


@lru_cache
def model_fingerprint() -> str:
    """A digest of the source of everything that a simulation is made by.

    The version number would not do: results of yesterday's sources must not be taken for today's, and a worker on
    another machine may have other sources. A changed comment makes old results void as well, which costs time only.

    Returns
    -------
    str
        16 hexadecimal digits.
    """
    digest = hashlib.sha256()
    for pattern in SOURCES:
        for path in sorted(_ROOT.glob(pattern)):
            digest.update(f"{path.relative_to(_ROOT).as_posix()}\0".encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]
