"""Names of nodes as Slurm lists them: how many different ones a log names."""

from __future__ import annotations

import re

__all__ = ["NamedNodes"]

#: A part of a list: a name, perhaps with numbers in brackets, ``rack[1-4]n[01-16,20]``.
_PART = re.compile(r"[^,\[\]\s]*(?:\[[0-9,-]{1,100000}\][^,\[\]\s]*)*")
_BRACKETS = re.compile(r"\[([0-9,-]+)\]")
#: Names of a log that are kept; a list may stand for any number of them.
_MOST = 1_000_000
#: Texts that are remembered; most jobs run on nodes that another one had.
_REMEMBERED = 100_000
#: Names that are read of all lists together, a second's work: by then a log has named all its nodes.
_READ = 5_000_000


class NamedNodes:
    """Collects the names of nodes.

    Examples
    --------
    >>> nodes = NamedNodes()
    >>> nodes.add("n[1-4,7]")
    >>> nodes.add("n[03-5],login")
    >>> nodes.count
    9
    """

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._names: set[str] = set()
        self._known = True
        self._read = 0

    @property
    def count(self) -> int:
        """How many different names there are, in the first five million that are listed.

        0 if that cannot be told: a list was cut off, or stands for too many.
        """
        return len(self._names) if self._known else 0

    def add(self, text: str) -> None:
        """Take a list, as in the column NodeList."""
        text = text.strip()
        if (
            not self._known
            or self._read > _READ
            or text in self._seen
            or not text
            or text.lower().startswith(("none", "unknown", "(null)"))
        ):
            return
        if text.endswith("+"):
            self._known = False
            return
        if len(self._seen) < _REMEMBERED:
            self._seen.add(text)
        place = 0
        while self._known and place < len(text):
            match = _PART.match(text, place)
            part = match[0] if match else ""
            if not part:
                self._known = False
                return
            self._expand(part)
            place += len(part) + 1

    def _expand(self, part: str) -> None:
        """Add the names of one part."""
        pieces = _BRACKETS.split(part)
        names = [pieces[0]]
        for numbers, after in zip(pieces[1::2], pieces[2::2], strict=True):
            counted = _numbers(numbers, _MOST // len(names))
            if counted is None:
                self._known = False
                return
            names = [f"{name}{number}{after}" for name in names for number in counted]
        self._read += len(names)
        if len(self._names) + len(names) > _MOST:
            self._known = False
        else:
            self._names.update(names)


def _numbers(text: str, most: int) -> list[str] | None:
    """``08-11,20`` as single numbers, with their leading zeros; None if there are too many, or they are none."""
    found: list[str] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        last = last or first
        if not (first.isdecimal() and last.isdecimal() and max(len(first), len(last)) <= 12):
            return None
        begin, end = int(first), int(last)
        if not 0 <= end - begin < most - len(found):
            return None
        found += [f"{number:0{len(first)}d}" for number in range(begin, end + 1)]
    return found
