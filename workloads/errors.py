"""The errors of Holdfast, one small tree.

::

    HoldfastError
    ├── InputError (ValueError)      something that came from outside is not usable
    │   ├── ParameterError           an option or argument has an illegal value
    │   ├── UnknownNameError         a name that no registry knows; says the nearest known ones
    │   ├── TraceError               a line of a trace or job table; says file and line
    │   └── OutputError              a result cannot be written
    └── InvariantError               the model broke one of its own laws: a defect of Holdfast or of a plug-in

The command line turns an :class:`InputError` into one sentence on standard error and exit status 2. An
:class:`InvariantError` is never caught: it is a defect, and its traceback is wanted.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path

__all__ = [
    "HoldfastError",
    "InputError",
    "InvariantError",
    "OutputError",
    "ParameterError",
    "TraceError",
    "UnknownNameError",
]


class HoldfastError(Exception):
    """Root of all errors raised on purpose."""


class InputError(HoldfastError, ValueError):
    """Something that came from outside is not usable."""


class ParameterError(InputError):
    """A parameter has an illegal value.

    Parameters
    ----------
    parameter
        Its name as the user wrote it.
    legal
        What would be legal, as a phrase.
    received
        The value that came.
    """

    def __init__(self, parameter: str, legal: str, received: object) -> None:
        super().__init__(f"{parameter} must be {legal}, not {received!r}")
        self.parameter = parameter
        self.legal = legal


class UnknownNameError(InputError):
    """A name that is not registered.

    Parameters
    ----------
    kind
        What the name should name, e.g. ``"mechanism"``.
    received
        The name that came.
    known
        The names that are registered.
    """

    def __init__(self, kind: str, received: str, known: Iterable[str]) -> None:
        names = list(known)
        folded = {name.lower(): name for name in names}
        near = [folded[match] for match in difflib.get_close_matches(received.lower(), folded, n=3, cutoff=0.5)]
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        super().__init__(f"unknown {kind} {received!r}: {hint}known are {', '.join(names)}")


class TraceError(InputError):
    """A file, or a line of it, cannot be read as what it should be.

    Parameters
    ----------
    path
        The file.
    line
        Its line, counted from 1; None where the whole file is meant.
    message
        What is wrong, and what is legal.
    """

    def __init__(self, path: str | Path, line: int | None, message: str) -> None:
        where = f"{path}:{line}" if line is not None else f"{path}"
        super().__init__(f"{where}: {message}")
        self.path = path
        self.line = line


class OutputError(InputError):
    """A result cannot be written where it should go."""


class InvariantError(HoldfastError):
    """A law of the model is broken: a defect of Holdfast or of a plug-in."""
