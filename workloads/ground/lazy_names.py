"""Lazy imports of the public names of a package, each at its first use."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["late_names"]


def late_names(package: str, places: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package.

    Parameters
    ----------
    package
        Its name.
    places
        Module of each name. Type checkers read the same from imports under ``TYPE_CHECKING``, and should not see
        ``__getattr__``: with it, every name would be legal and of any type.
    """

    def load_name(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(places[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return load_name, lambda: sorted(places)
