"""Terminal output: escaped input; errors, warnings and progress on standard error.

Input decides what commands print: names of users and jobs, header lines, labels. :func:`safe_terminal` is the single
place that prevents it from controlling the terminal. A table cell is escaped before it is aligned
(:func:`holdfast.experiments.tables.render`), so that a line break in a name does not break the table.
"""

from __future__ import annotations

import io
import sys
import textwrap
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any, Literal, TextIO

from holdfast.workloads.ground.errors import FormatWarning, MachineCodeWarning

__all__ = [
    "WIDTH",
    "SafeStream",
    "complain",
    "escape",
    "fill",
    "note",
    "printed_text",
    "quiet",
    "safe_terminal",
    "sentences",
    "shows_progress",
    "warn",
]

#: Width of a terminal [characters].
WIDTH = 120
#: Warnings that a command prints as sentences.
_OURS = (FormatWarning, MachineCodeWarning)


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


def fill(text: str, first: str = "", rest: str = "") -> str:
    """Break a sentence into lines of at most :data:`WIDTH` characters; a longer word stays whole.

    Parameters
    ----------
    text
        The sentence.
    first, rest
        Beginnings of the first line, and of each further line.

    Examples
    --------
    >>> print(fill("node-hours " * 12, "types: ", "  "))
    types: node-hours node-hours node-hours node-hours node-hours node-hours node-hours node-hours node-hours node-hours
      node-hours node-hours
    """
    return textwrap.fill(
        text, WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False, break_long_words=False
    )


class SafeStream:
    """A text stream that escapes control characters on write, and otherwise delegates to another stream.

    Parameters
    ----------
    stream
        For example standard output.
    keep
        Control characters that pass, besides the line end.
    """

    def __init__(self, stream: TextIO, keep: str) -> None:
        self._stream = stream
        self._keep = keep

    def write(self, text: str) -> int:
        """Write a text with its control characters escaped; returns its length."""
        return self._stream.write("\n".join(map(self._line, text.split("\n"))))

    def _line(self, text: str) -> str:
        if text.isprintable():
            return text
        return "".join(letter if letter in self._keep else escape(letter) for letter in text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write several texts."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def safe_terminal() -> Iterator[None]:
    """Escape control characters in everything that is printed in the block.

    Line ends and tabs pass, and on standard error the carriage return of progress bars.
    """
    with (
        redirect_stdout(SafeStream(sys.stdout, "\t")),
        redirect_stderr(SafeStream(sys.stderr, "\t\r")),
    ):
        yield


@contextmanager
def printed_text(document: str | None) -> Iterator[None]:
    """In the block, drop what is printed if a JSON document is to stand alone on standard output.

    Parameters
    ----------
    document
        File of the document; ``-`` is standard output, None: no document.
    """
    if document != "-":
        yield
        return
    with redirect_stdout(io.StringIO()):
        yield


#: Whether the present command prints only results and errors.
_quiet = False


@contextmanager
def quiet(on: bool) -> Iterator[None]:
    """In the block, print only results and errors if ``on``: neither warnings nor progress."""
    global _quiet  # one terminal for the whole process
    before = _quiet
    _quiet = on or before  # a command that another one calls is as quiet
    try:
        yield
    finally:
        _quiet = before


def shows_progress() -> bool:
    """Whether progress bars are shown: standard error is a terminal, and the command is not to be quiet."""
    return sys.stderr.isatty() and not _quiet


def complain(program: str, kind: Literal["warning", "error"], sentence: str) -> None:
    """Print a warning or an error as one line on standard error.

    Parameters
    ----------
    program
        The command as the user called it, for example ``"holdfast run"``.
    kind
        ``warning``: the command continues; ``error``: it ends.
    sentence
        The message; control characters are escaped.
    """
    print(f"{program}: {kind}: {escape(sentence)}", file=sys.stderr, flush=True)


def warn(command: str, sentence: str) -> None:
    """Print a warning of a command, unless it is to be quiet; the command continues.

    Parameters
    ----------
    command
        The command without ``holdfast``, for example ``"run"`` or ``"slurm options"``.
    sentence
        The warning; control characters are escaped.
    """
    if not _quiet:
        complain(f"holdfast {command}", "warning", sentence)


def note(text: str) -> None:
    """Print a line about the progress of a command on standard error, unless it is to be quiet."""
    if not _quiet:
        print(text, file=sys.stderr, flush=True)


@contextmanager
def sentences(command: str) -> Iterator[None]:
    """In the block, print warnings of Holdfast as one line of the command instead of Python's format.

    Parameters
    ----------
    command
        The command as the user called it.
    """
    with warnings.catch_warnings():
        others = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *place: Any, **where: Any) -> None:
            if issubclass(category, _OURS):
                warn(command, str(message))
            else:
                others(message, category, *place, **where)

        warnings.showwarning = show
        for category in _OURS:  # overrides the warning filters given to Python
            warnings.simplefilter("always", category)
        yield
