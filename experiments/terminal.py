"""Text for a terminal: escaped input, and warnings on standard error."""

from __future__ import annotations

import sys

__all__ = ["escape", "warn"]


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
