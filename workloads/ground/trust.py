"""The check of every plug-in name that a file contains: built-in names pass, code to import needs the user's trust.

A job table, a sweep, a result, an archive or a network names policies, strategies and readers. If such a name is an
import path, ``module:name``, it would run code that came with the file. Readers therefore pass every name through
:func:`admit` before it is resolved. Names that a user types on the command line, or writes in a program, do not come
from a file and need no trust.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from holdfast.workloads.ground.errors import TraceError, format_value

__all__ = ["Trusting", "admit", "is_trusted", "trust"]

#: Whether files may name code; each thread has its own value, initially False.
_TRUSTED: ContextVar[bool] = ContextVar("trusted", default=False)


@contextmanager
def trust(given: bool = True) -> Iterator[None]:
    """Allow files that are read in this block to name plug-ins by import path, which runs their code.

    Parameters
    ----------
    given
        False changes nothing: trust from an enclosing block still holds.

    Notes
    -----
    Trust applies to the calling thread, and to worker processes that sweeps, forecasts and reproductions start within
    the block. The corresponding option of the command line is ``--trust``.

    Examples
    --------
    >>> with trust():
    ...     admit("order", "my.module:mine", "fig6.toml", key="options.order")
    'my.module:mine'
    >>> admit("order", "my.module:mine", "fig6.toml", key="options.order")
    Traceback (most recent call last):
    holdfast.workloads.ground.errors.TraceError: fig6.toml: options.order: the order 'my.module:mine' is code that a \
file \
names; legal without trust are names that are built in or of an installed package: look at the code, then add --trust \
(in Python: hf.trust())
    """
    before = _TRUSTED.set(given or _TRUSTED.get())
    try:
        yield
    finally:
        _TRUSTED.reset(before)


def is_trusted() -> bool:
    """Whether the files that are read now may name code."""
    return _TRUSTED.get()


def admit(kind: str, name: str, path: str | Path, line: int | None = None, *, key: str = "") -> str:
    """Return a name from a file if it may be resolved.

    Parameters
    ----------
    kind
        Kind of plug-in, e.g. ``order``.
    name
        Name with parameters, or several names in one text. A name with a colon may be an import path.
    path, line, key
        Location of the name, for the message.

    Raises
    ------
    TraceError
        If the name may be an import path and files are not trusted (:func:`trust`).
    """
    if ":" in name and not is_trusted():
        raise TraceError(
            path,
            line,
            f"{key}{': ' if key else ''}the {kind} {format_value(name)} is code that a file names; legal without "
            "trust are names that are built in or of an installed package",
            "look at the code, then add --trust (in Python: hf.trust())",
        )
    return name


class Trusting:
    """A task that runs in another process with the trust of this one.

    Parameters
    ----------
    task
        A function that can be sent to a process.
    """

    def __init__(self, task: Callable[..., Any]) -> None:
        self._task, self._trusted = task, is_trusted()

    def __call__(self, *arguments: Any) -> Any:
        with trust(self._trusted):
            return self._task(*arguments)
