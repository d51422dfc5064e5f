"""Pauses of Python's garbage collector."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["pause_collector"]


@contextmanager
def pause_collector() -> Iterator[None]:
    """Pause the garbage collector: a simulation has no cycles, and collections would count as decision time."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()
