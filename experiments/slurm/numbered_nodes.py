"""Conversion between node lists such as ``n[1-4,7]`` and node numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["node_list", "node_numbers"]

#: Pattern of numbered nodes with one prefix, and the largest accepted number.
_NODES = re.compile(r"[A-Za-z-]+(?:\[(\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*)\]|(\d+))")
_LARGEST = 100_000


def node_numbers(text: str) -> set[int]:
    """Numbers in a node list; empty if it is empty or has several prefixes.

    Examples
    --------
    >>> sorted(node_numbers("n[1-3,7]")), sorted(node_numbers("n12")), node_numbers("(null)")
    ([1, 2, 3, 7], [12], set())
    """
    match = _NODES.fullmatch(text)
    numbers: set[int] = set()
    for part in (match[1] or match[2]).split(",") if match else ():
        first, _, last = part.partition("-")
        if not 1 <= int(first) <= int(last or first) <= _LARGEST:
            return set()
        numbers.update(range(int(first), int(last or first) + 1))
    return numbers


def node_list(numbers: Iterable[int]) -> str:
    """The names of a lab's nodes, as Slurm's commands take them.

    Examples
    --------
    >>> node_list([7, 1])
    'n1,n7'
    """
    return ",".join(f"n{number}" for number in sorted(numbers))
