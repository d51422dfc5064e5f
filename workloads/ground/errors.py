"""The exceptions and warnings of Holdfast.

::

    HoldfastError
    ├── InputError (ValueError)      input from outside is not usable
    │   ├── ParameterError           an option or argument has an illegal value
    │   ├── UnknownNameError         a name that is in no registry; lists the nearest known names
    │   ├── TraceError               a line of a trace or job table; gives file and line
    │   ├── OutputError              a result cannot be written
    │   └── MissingPackageError      an optional package is not installed; gives the command that installs it
    └── InvariantError               the model violated one of its invariants: a defect of Holdfast or of a plug-in

    FormatWarning (UserWarning)       the format of a file cannot hold all information
    MachineCodeWarning (UserWarning)  compiled code is not kept, or plain code runs instead: slower, the same results

The command line reports an :class:`InputError`, and trouble with the machine such as a full disk, in one sentence on
standard error with exit status 2. An :class:`InvariantError`, like any other exception, is a defect: one sentence, exit
status 70 and a crash file with the traceback (``holdfast.experiments.crashes``).
"""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

__all__ = [
    "FormatWarning",
    "HoldfastError",
    "InputError",
    "InvariantError",
    "MachineCodeWarning",
    "MissingPackageError",
    "OutputError",
    "ParameterError",
    "TraceError",
    "UnknownNameError",
    "error_sentence",
    "format_value",
    "installation",
    "is_foreign",
]

#: Characters of a value that a message shows.
_LONGEST = 60
#: Maximum number of known names in a message; it has only the number of the others.
_MOST_NAMES = 40


def format_value(value: object) -> str:
    """Format a value for a message: as in a configuration file, on one line, and shortened if long.

    >>> format_value("a"), format_value(1.5), format_value(True), format_value(None)
    ("'a'", '1.5', 'true', 'nothing')
    >>> format_value([1, "a"]), format_value("x" * 80)[-6:]
    ("[1, 'a']", 'xxx...')
    """
    quoted = _quote(value, 3)
    return quoted if len(quoted) <= _LONGEST else f"{quoted[: _LONGEST - 3]}..."


def _quote(value: object, depth: int) -> str:
    if value is None or isinstance(value, bool):
        return {None: "nothing", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return repr(value[: 2 * _LONGEST])
    if isinstance(value, int) and value.bit_length() > 10_000:
        return f"a number of about {round(value.bit_length() * 0.30103):,} digits"  # Python refuses to write it
    if isinstance(value, dict | list | tuple) and depth == 0:
        return "..."
    if isinstance(value, dict):
        parts = [f"{_quote(key, 0)}: {_quote(part, depth - 1)}" for key, part in list(value.items())[:_LONGEST]]
        return f"{{{', '.join(parts)}}}"
    if isinstance(value, list | tuple):
        left, right = "[]" if isinstance(value, list) else "()"
        return f"{left}{', '.join(_quote(part, depth - 1) for part in value[:_LONGEST])}{right}"
    # A DataFrame takes several lines.
    return " ".join(repr(value).split())


def installation(extra: str) -> str:
    """The command that installs the packages of an extra of Holdfast.

    >>> installation("study")
    'pip install "holdfast[study]"'
    """
    return f'pip install "holdfast[{extra}]"'


def error_sentence(error: BaseException) -> str:
    """Describe any exception in one sentence, without a traceback.

    >>> error_sentence(InputError("a.swf: is empty")), error_sentence(ZeroDivisionError("division by zero"))
    ('a.swf: is empty', 'a defect of Holdfast or of a plug-in: division by zero')
    """
    if isinstance(error, HoldfastError) and not isinstance(error, InvariantError):
        return str(error)
    if isinstance(error, MemoryError):
        return "the memory of this machine is not enough"
    if isinstance(error, OSError) and error.strerror:
        where = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
        return f"{where}{error.strerror}"
    reason = " ".join(str(error).split())[:300] or "no reason is known"
    if isinstance(error, ImportError) and is_foreign(error):
        return f"a package that Holdfast needs cannot be imported: {reason}: install Holdfast again"
    if _is_dead_worker(error):
        return "a worker died, possibly out of memory: use fewer workers"
    if is_foreign(error):
        return f"the system refuses: {reason}"
    return f"a defect of Holdfast or of a plug-in{_plugin_place(error)}: {reason}"


def _plugin_place(error: BaseException) -> str:
    """File and line of the plug-in in which an error arose; empty: it arose in none.

    Holdfast calls no other code, but for installed packages and the standard library.
    """
    place, inside, trace = "", False, error.__traceback__
    while trace is not None:
        frame = trace.tb_frame
        package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        path = frame.f_code.co_filename
        if package == "holdfast":
            inside = True
        elif inside and package not in sys.stdlib_module_names and "site-packages" not in path and path[:1] != "<":
            place = f" ({Path(path).name}, line {trace.tb_lineno})"
        trace = trace.tb_next
    return place


def is_foreign(error: BaseException) -> bool:
    """Whether a failure is due to the input or to the machine, not to a defect of Holdfast or of a plug-in.

    >>> is_foreign(InputError("a.swf: is empty")), is_foreign(MemoryError()), is_foreign(KeyError("a"))
    (True, True, False)
    """
    if isinstance(error, HoldfastError):
        return not isinstance(error, InvariantError)
    if isinstance(error, ImportError):
        return (error.name or "").partition(".")[0] != "holdfast"
    if isinstance(error, RuntimeError) and str(error) == "can't start new thread":
        return True
    return isinstance(error, MemoryError | OSError) or _is_dead_worker(error)


def _is_dead_worker(error: BaseException) -> bool:
    # The class is compared by name, because its package is imported only for sweeps.
    return any(kind.__name__ == "BrokenProcessPool" for kind in type(error).__mro__)


class HoldfastError(Exception):
    """Root of all errors raised on purpose."""

    def __reduce__(self) -> tuple[Any, ...]:
        # Errors of worker processes keep their attributes; by default, Python would pass only the message to __init__.
        return _as_it_was, (type(self), self.args, self.__dict__)


def _as_it_was(kind: type[HoldfastError], args: tuple[Any, ...], attributes: dict[str, Any]) -> HoldfastError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(attributes)
    return error


class InputError(HoldfastError, ValueError):
    """Input from outside is not usable."""


class ParameterError(InputError):
    """A parameter has an illegal value.

    Parameters
    ----------
    parameter
        Name of the parameter as the user wrote it.
    legal
        The legal values, as a phrase.
    received
        The received value.
    """

    def __init__(self, parameter: str, legal: str, received: object) -> None:
        super().__init__(f"{parameter} must be {legal}, not {format_value(received)}")
        self.parameter = parameter
        self.legal = legal
        self.received = received


class UnknownNameError(InputError):
    """A name that is not registered.

    Parameters
    ----------
    kind
        Kind of object, e.g. ``"mechanism"``.
    received
        The received name.
    known
        The registered names.
    advice
        How to use a name that is not among them.
    """

    def __init__(self, kind: str, received: str, known: Iterable[str], advice: str = "") -> None:
        names = list(known)
        folded = {name.lower(): name for name in names}
        near = [folded[match] for match in difflib.get_close_matches(received[:200].lower(), folded, n=3, cutoff=0.5)]
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        listed = ", ".join(name[:_LONGEST] for name in names[:_MOST_NAMES])
        if len(names) > _MOST_NAMES:
            listed += f" and {len(names) - _MOST_NAMES:,} others"
        more = f"; {advice}" if advice else ""
        super().__init__(f"unknown {kind} {format_value(received)}: {hint}known are {listed}{more}")


class TraceError(InputError):
    """A file, or a line of it, does not have the expected content.

    Parameters
    ----------
    path
        The file.
    line
        Number of the line, from 1; None: the whole file.
    message
        The fault and the legal values.
    advice
        Remedy, if the message does not imply it.

    Attributes
    ----------
    fault
        The sentence without the advice, for callers that apply the remedy.
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
    """An output cannot be written to its path."""


class FormatWarning(UserWarning):
    """The format of a file cannot hold all information."""


class MachineCodeWarning(UserWarning):
    """Compiled code is missing, damaged or not kept: execution is slower, with the same results."""


class MissingPackageError(InputError):
    """An optional package is not installed."""


class InvariantError(HoldfastError):
    """An invariant of the model is violated: a defect of Holdfast or of a plug-in."""
