"""Long files: lines of a text that is never in memory as a whole."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from workloads.ground.errors import TraceError

__all__ = ["blocks_of_file", "comments_of_file"]

#: Characters of a block.
_BLOCK = 1 << 20
_GZIP = b"\x1f\x8b"


@contextmanager
def _opened(path: str | Path) -> Iterator[IO[str]]:
    """A plain or gzip file as text, any line ends being ``\\n``; bytes that are no UTF-8 are read as they come.

    Raises
    ------
    TraceError
        If it cannot be read to its end.
    """
    try:
        with Path(path).open("rb") as raw:
            packed = raw.peek(2)[:2] == _GZIP
            content: IO[bytes] = gzip.GzipFile(fileobj=raw) if packed else raw  # type: ignore[assignment]  # it is one
            with io.TextIOWrapper(content, encoding="utf-8-sig", errors="surrogateescape", newline=None) as text:
                yield text
    except FileNotFoundError:
        raise TraceError(path, None, "no such file") from None
    except IsADirectoryError:
        raise TraceError(path, None, "is a directory, not a file") from None
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise TraceError(path, None, "is a damaged gzip file") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise TraceError(path, None, f"cannot be read: {getattr(error, 'strerror', None) or error}") from None


def blocks_of_file(path: str | Path) -> Iterator[tuple[int, list[str]]]:
    """Some lines of a file at a time, as :func:`workloads.ground.lines.blocks_of_lines` gives those of a text.

    Raises
    ------
    TraceError
        If the file cannot be read, is empty, or is no text.
    """
    line, rest, blank = 1, "", True
    with _opened(path) as text:
        while piece := text.read(_BLOCK):
            if "\0" in piece:
                raise TraceError(path, None, "is a binary file, not a text")
            blank = blank and piece.isspace()
            lines = (rest + piece).split("\n")
            rest = lines.pop()
            if lines:
                yield line, lines
                line += len(lines)
    if blank:
        raise TraceError(path, None, "is empty")
    yield line, [rest]


def comments_of_file(path: str | Path) -> str:
    """The text of a file with an empty line for each that does not begin with a semicolon, up to the last that does.

    Raises
    ------
    TraceError
        As :func:`blocks_of_file`.
    """
    kept: list[str] = []
    empty = 0
    for _, lines in blocks_of_file(path):
        if not any(line.startswith(";") for line in lines):
            empty += len(lines)
            continue
        for line in lines:
            if line.startswith(";"):
                kept.append("\n" * empty + line + "\n")
                empty = 0
            else:
                empty += 1
    return "".join(kept)
