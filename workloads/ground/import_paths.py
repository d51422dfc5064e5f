"""Import of a ``module:name`` path, also from a module in the current directory.

Importing runs code. Names from files must first pass :func:`holdfast.workloads.ground.trust.admit`.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from holdfast.workloads.ground.errors import InputError, UnknownNameError, format_value

__all__ = ["import_attribute"]


def import_attribute(kind: str, path: str, name: str | None = None) -> Any:
    """Import ``module:attribute``.

    Parameters
    ----------
    kind
        Kind of object, for messages.
    path
        The import path.
    name
        Name that the user gave; None: the path.

    Raises
    ------
    InputError
        If it cannot be imported.
    """
    module_name, _, attribute = path.partition(":")
    if not module_name or not attribute:
        raise InputError(f"{kind} {format_value(name or path)} must be given as module:name")
    try:
        found: Any = _module(module_name)
    except Exception as error:  # a foreign module may raise anything while it is imported
        raise InputError(f"{kind} {format_value(name or path)} cannot be imported: {_reason(error)}") from None
    for part in attribute.split("."):
        if not hasattr(found, part):
            public = [item for item in vars(found) if not item.startswith("_")] if hasattr(found, "__dict__") else []
            raise UnknownNameError(f"name in {module_name}", part, public)
        found = getattr(found, part)
    return found


def _reason(error: Exception) -> str:
    """Reason why a module cannot be imported."""
    if isinstance(error, ModuleNotFoundError) and error.name is not None:
        stem, mark, end = error.name.rpartition(".")
        # A file name was given: Python then looks for the module "py" in "mine".
        hint = f"; a module is named without .py, as {stem}:name" if (mark, end) == (".", "py") else ""
        return f"there is no module {format_value(error.name)}{hint}"
    message = " ".join(str(error).split())
    return f"its module fails with {type(error).__name__} {format_value(message)}"


def _module(name: str) -> Any:
    """Import a module by name; like ``python -m``, also from the current directory, which is searched last."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        # The current directory is searched only if this module is missing, not if one of its imports is.
        if error.name is None or not (name == error.name or name.startswith(f"{error.name}.")) or "" in sys.path:
            raise
        sys.path.append("")
        try:
            return import_module(name)
        finally:
            sys.path.remove("")
