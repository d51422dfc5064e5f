"""Text for a terminal: escaped input, and warnings on standard error."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from workloads.ground.errors import MachineCodeWarning

__all__ = ["escape", "sentences", "warn"]


def escape(text: str) -> str:
    r"""Replace control characters of a text by their escapes, so that a terminal shows them instead of obeying them.

    Parameters
    ----------
    text
        Any text, for example a user name or a header line of a trace.

    Returns
    -------
    str
        The text in one line of printable characters.

    Examples
    --------
    >>> escape("user\x1b[2J"), escape("two\nlines"), escape("Jülich")
    ('user\\x1b[2J', 'two\\nlines', 'Jülich')
    """
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


def warn(command: str, sentence: str) -> None:
    """Print a warning of a command as one line on standard error; the command continues.

    Parameters
    ----------
    command
        The command as the user called it, for example ``"run"`` or ``"slurm options"``.
    sentence
        The warning; control characters are escaped.
    """
    print(f"holdfast {command}: {escape(sentence)}", file=sys.stderr, flush=True)


@contextmanager
def sentences(command: str) -> Iterator[None]:
    """Within it, a warning about compiled code is one line of the command, not a line of Python.

    Parameters
    ----------
    command
        The command as the user called it.
    """
    with warnings.catch_warnings():
        others = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *place: Any, **where: Any) -> None:
            if issubclass(category, MachineCodeWarning):
                warn(command, str(message))
            else:
                others(message, category, *place, **where)

        warnings.showwarning = show
        yield
