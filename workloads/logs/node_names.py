"""Node names in Slurm's list notation: the distinct nodes of a log, and their positions on the machine."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["NamedNodes", "NodeNumbers", "node_list", "nodes_in"]

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
    def names(self) -> frozenset[str]:
        """The names; empty if they are not fully known."""
        return frozenset(self._names) if self._known else frozenset()

    @property
    def count(self) -> int:
        """Number of different names among the first five million listed.

        0 if it is not known: a list was cut off, or has too many nodes.
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


def nodes_in(text: str) -> frozenset[str]:
    """The names in one list.

    Examples
    --------
    >>> sorted(nodes_in("n[1-3],login"))
    ['login', 'n1', 'n2', 'n3']
    """
    nodes = NamedNodes()
    nodes.add(text)
    return nodes.names


def node_list(bits: int) -> str:
    """A list of nodes that have numbers alone, from the bits of a whole number.

    Examples
    --------
    >>> node_list(0b100111)
    'n[0-2,5]'
    """
    parts, first = [], 0
    while bits:
        skipped = (bits & -bits).bit_length() - 1
        first, bits = first + skipped, bits >> skipped
        length = (~bits & (bits + 1)).bit_length() - 1
        parts.append(str(first) if length == 1 else f"{first}-{first + length - 1}")
        first, bits = first + length, bits >> length
    return f"n[{','.join(parts)}]" if parts else ""


class NodeNumbers:
    """Places of named nodes on a machine, in the order in which Slurm sorts them.

    Names that differ in one number are as far apart as their numbers, if the machine is large enough for that: a log
    need not name all nodes. Others stand one after the other.

    Parameters
    ----------
    names
        All names that are known.
    nodes
        Size of the machine.

    Examples
    --------
    >>> bin(NodeNumbers(["n1", "n2", "n10"], nodes=16).bits("n[2,10]"))
    '0b1000000010'
    >>> bin(NodeNumbers(["a1", "b1"], nodes=2).bits("b1"))
    '0b10'
    """

    def __init__(self, names: Iterable[str], nodes: int) -> None:
        ordered = sorted(set(names), key=_natural)
        places = range(len(ordered))
        pieces = [_DIGITS.split(name) for name in ordered]
        if ordered and len({(first, last) for first, _, last in filter(_has_one_number, pieces)}) == 1:
            numbers = [int(piece[1]) if _has_one_number(piece) else -1 for piece in pieces]
            if min(numbers) >= 0 and numbers[-1] - numbers[0] < nodes and len(set(numbers)) == len(numbers):
                places = [number - numbers[0] for number in numbers]  # type: ignore[assignment]
        self._places = {name: place for name, place in zip(ordered, places, strict=True) if place < nodes}
        self._known: dict[str, int] = {}

    def bits(self, text: str, count: int | None = None) -> int:
        """The nodes of a list as the bits of a whole number.

        Parameters
        ----------
        text
            As in the column NodeList.
        count
            Number of nodes of the job, which the list must match; None: any number.

        Returns
        -------
        int
            0 if the nodes are not known, or their number differs.
        """
        if text not in self._known:
            places = [self._places.get(name) for name in nodes_in(text)]
            self._known[text] = 0 if None in places else sum(1 << place for place in places if place is not None)
        found = self._known[text]
        return found if count is None or found.bit_count() == count else 0


_DIGITS = re.compile(r"([0-9]+)")


def _has_one_number(pieces: list[str]) -> bool:
    return len(pieces) == 3


def _natural(name: str) -> list[tuple[int, str]]:
    """``n2`` stands before ``n10``."""
    return [(int(piece), "") if piece.isdecimal() else (0, piece) for piece in _DIGITS.split(name)]


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
