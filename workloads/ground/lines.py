"""Iteration over the lines of a large text without a list of all lines."""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["blocks_of_lines", "lines_with_ends", "numbered_lines", "plain_ends"]

#: Characters of a block.
_BLOCK = 1 << 18
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


def blocks_of_lines(text: str) -> Iterator[tuple[int, list[str]]]:
    """Iterate over blocks of lines without their ends (``\\n``, ``\\r\\n`` or ``\\r``), with the number of the first.

    ``splitlines()`` would also split at form feeds, so that line numbers would differ from those in an editor.

    >>> list(blocks_of_lines("a\\r\\nb\\n"))
    [(1, ['a', 'b', ''])]
    """
    text = plain_ends(text)
    line, begin = 1, 0
    while begin <= len(text):
        end = text.find("\n", begin + _BLOCK)
        if end < 0:
            end = len(text)
        lines = text[begin:end].split("\n")
        yield line, lines
        line, begin = line + len(lines), end + 1


def plain_ends(text: str) -> str:
    """The text with ``\n`` for each end of a line."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def numbered_lines(text: str) -> Iterator[tuple[int, str]]:
    """Each line with its number, from 1; see :func:`blocks_of_lines`."""
    for first, lines in blocks_of_lines(text):
        yield from enumerate(lines, first)


def lines_with_ends(text: str) -> Iterator[str]:
    """Iterate over the lines with their ends, like a file opened with ``newline=""`` for a CSV reader."""
    return (match[0] for match in _LINE.finditer(text))
