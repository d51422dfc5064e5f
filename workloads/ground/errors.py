"""The errors of Holdfast, one small tree.

::

    HoldfastError
    ├── InputError (ValueError)      something that came from outside is not usable
    │   ├── ParameterError           an option or argument has an illegal value
    │   ├── UnknownNameError         a name that no registry knows; says the nearest known ones
    │   ├── TraceError               a line of a trace or job table; says file and line
    │   ├── OutputError              a result cannot be written
    │   └── MissingPackageError      an optional package is not installed; says the command that installs it
    └── InvariantError               the model broke one of its own laws: a defect of Holdfast or of a plug-in

    MachineCodeWarning (UserWarning)  compiled code is not kept, or plain code runs instead: slower, the same results

The command line turns an :class:`InputError` into one sentence on standard error and exit status 2. An
:class:`InvariantError` is a defect, and its traceback is wanted: it is caught only where a directory of results is
read, whose tables may come from anywhere.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

__all__ = [
    "HoldfastError",
    "InputError",
    "InvariantError",
    "MachineCodeWarning",
    "MissingPackageError",
    "OutputError",
    "ParameterError",
    "TraceError",
    "UnknownNameError",
    "installation",
    "sentence_of",
    "shown",
]

#: Characters of a value that a message shows.
_LONGEST = 60
#: Known names that a message lists; the rest are counted.
_MOST_NAMES = 40


def shown(value: object) -> str:
    """A value for a message: as a configuration file has it, in one line, and cut where it is long.

    >>> shown("a"), shown(1.5), shown(True), shown(None), shown([1, "a"]), shown("x" * 80)[-6:]
    ("'a'", '1.5', 'true', 'nothing', "[1, 'a']", 'xxx...')
    """
    quoted = _quoted(value, 3)
    return quoted if len(quoted) <= _LONGEST else f"{quoted[: _LONGEST - 3]}..."


def _quoted(value: object, depth: int) -> str:
    if value is None or isinstance(value, bool):
        return {None: "nothing", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return repr(value[: 2 * _LONGEST])
    if isinstance(value, int) and value.bit_length() > 10_000:
        return f"a number of about {round(value.bit_length() * 0.30103):,} digits"  # Python refuses to write it
    if isinstance(value, dict | list | tuple) and depth == 0:
        return "..."
    if isinstance(value, dict):
        parts = [f"{_quoted(key, 0)}: {_quoted(part, depth - 1)}" for key, part in list(value.items())[:_LONGEST]]
        return f"{{{', '.join(parts)}}}"
    if isinstance(value, list | tuple):
        left, right = "[]" if isinstance(value, list) else "()"
        return f"{left}{', '.join(_quoted(part, depth - 1) for part in value[:_LONGEST])}{right}"
    return repr(value)


def installation(extra: str) -> str:
    """The command that installs what an extra of Holdfast needs.

    >>> installation("study")
    'pip install "holdfast[study]"'
    """
    return f'pip install "holdfast[{extra}]"'


def sentence_of(error: BaseException) -> str:
    """Why something failed, in one sentence without a traceback, whatever the exception.

    >>> sentence_of(InputError("a.swf: is empty")), sentence_of(ZeroDivisionError("division by zero"))
    ('a.swf: is empty', 'a defect of Holdfast or of a plug-in: division by zero')
    """
    if isinstance(error, HoldfastError) and not isinstance(error, InvariantError):
        return str(error)
    if isinstance(error, MemoryError):
        return "the memory of this machine is not enough"
    if isinstance(error, OSError) and error.strerror:
        where = "" if error.filename is None else f"{error.filename}: "
        return f"{where}{error.strerror}"
    reason = " ".join(str(error).split())
    return f"a defect of Holdfast or of a plug-in: {reason[:300] or 'no reason is known'}"


class HoldfastError(Exception):
    """Root of all errors raised on purpose."""

    def __reduce__(self) -> tuple[Any, ...]:
        # A worker process sends its error as it is: by default Python would make it again from the sentence alone.
        return _as_it_was, (type(self), self.args, self.__dict__)


def _as_it_was(kind: type[HoldfastError], args: tuple[Any, ...], told: dict[str, Any]) -> HoldfastError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(told)
    return error


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
        super().__init__(f"{parameter} must be {legal}, not {shown(received)}")
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
        near = [folded[match] for match in difflib.get_close_matches(received[:200].lower(), folded, n=3, cutoff=0.5)]
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        listed = ", ".join(name[:_LONGEST] for name in names[:_MOST_NAMES])
        if len(names) > _MOST_NAMES:
            listed += f" and {len(names) - _MOST_NAMES:,} others"
        super().__init__(f"unknown {kind} {shown(received)}: {hint}known are {listed}")


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
    advice
        What to do about it, where the message alone does not say so.

    Attributes
    ----------
    fault
        The error without the advice, for callers that do it themselves.
    """

    def __init__(self, path: str | Path, line: int | None, message: str, advice: str = "") -> None:
        name = str(path)
        if len(name) > 5 * _LONGEST:  # longer than a system allows, in one part or in all
            name = f"{name[:_LONGEST]}...{name[-_LONGEST:]}"
        where = f"{name}:{line}" if line is not None else name
        self.fault = f"{where}: {message}"
        super().__init__(f"{self.fault}: {advice}" if advice else self.fault)
        self.path = path
        self.line = line


class OutputError(InputError):
    """A result cannot be written where it should go."""


class MachineCodeWarning(UserWarning):
    """Compiled code is missing, damaged or not kept: something takes longer, and no result differs."""


class MissingPackageError(InputError):
    """An optional package is not installed."""


class InvariantError(HoldfastError):
    """A law of the model is broken: a defect of Holdfast or of a plug-in."""
