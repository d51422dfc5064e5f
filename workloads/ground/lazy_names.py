"""Lazy imports of the public names of a package, each at its first use."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["late_names"]


def late_names(package: str, places: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Make ``__getattr__`` and ``__dir__`` for a package.

    Parameters
    ----------
    package
        Name of the package.
    places
        Module of each public name. The package repeats these imports under ``TYPE_CHECKING`` for type checkers, and
        hides ``__getattr__`` from them: with it, every name would be legal and of any type.
    """

    def load_name(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(places[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return load_name, lambda: sorted(places)
