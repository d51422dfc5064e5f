"""Sets of nodes as sorted, half-open, disjoint and non-adjacent ranges of node numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from holdfast.workloads.ground.errors import InvariantError

__all__ = ["Ranges", "best_fit", "common", "format_ranges", "highest", "lowest", "size", "union", "without"]

#: Pairs of a low end (included) and a high end (excluded).
Ranges = tuple[tuple[int, int], ...]


def size(ranges: Iterable[tuple[int, int]]) -> int:
    """Number of nodes.

    >>> size(((0, 4), (7, 8)))
    5
    """
    return sum(high - low for low, high in ranges)


def format_ranges(ranges: Iterable[tuple[int, int]]) -> str:
    """Ranges as Batsim and evalys write them: both ends included, a single node alone.

    >>> format_ranges(((0, 4), (7, 8)))
    '0-3 7'
    """
    return " ".join(f"{low}-{high - 1}" if high - low > 1 else str(low) for low, high in ranges)


def union(one: Ranges, other: Ranges) -> Ranges:
    """Nodes in either set.

    >>> union(((0, 2), (6, 8)), ((2, 4),))
    ((0, 4), (6, 8))
    """
    if not one or not other:
        return one or other
    return _merge(sorted((*one, *other)))


def without(one: Ranges, other: Ranges) -> Ranges:
    """Nodes of the first set that are not in the other.

    >>> without(((0, 8),), ((2, 4), (7, 9)))
    ((0, 2), (4, 7))
    """
    if not other:
        return one
    left: list[tuple[int, int]] = []
    place = 0
    for low, high in one:
        while place < len(other) and other[place][1] <= low:
            place += 1
        at = place
        while at < len(other) and other[at][0] < high:
            if other[at][0] > low:
                left.append((low, other[at][0]))
            low = max(low, other[at][1])
            at += 1
        if low < high:
            left.append((low, high))
    return tuple(left)


def common(one: Ranges, other: Ranges) -> Ranges:
    """Nodes in both sets.

    >>> common(((0, 8),), ((2, 4), (7, 9)))
    ((2, 4), (7, 8))
    """
    both: list[tuple[int, int]] = []
    left = right = 0
    while left < len(one) and right < len(other):
        low, high = max(one[left][0], other[right][0]), min(one[left][1], other[right][1])
        if low < high:
            both.append((low, high))
        if one[left][1] < other[right][1]:
            left += 1
        else:
            right += 1
    return tuple(both)


def best_fit(ranges: Ranges, count: int, *, from_top: bool = False) -> Ranges:
    """Choose ``count`` nodes from the narrowest sufficient range, or else from the widest ranges.

    Both keep runs on adjacent nodes: wide ranges are left for wide jobs, and a job that fits no range gets few pieces.

    Parameters
    ----------
    ranges
        Available nodes.
    count
        Number of nodes to choose.
    from_top
        Whether to prefer the highest nodes, and the higher of two ranges of equal width.

    Raises
    ------
    InvariantError
        If there are fewer nodes.

    Examples
    --------
    >>> best_fit(((0, 1), (2, 5), (8, 9)), 2), best_fit(((0, 1), (2, 3), (8, 9)), 2, from_top=True)
    (((2, 4),), ((2, 3), (8, 9)))
    """
    if not count:
        return ()
    order: Sequence[tuple[int, int]] = ranges[::-1] if from_top else ranges
    wide = [(low, high) for low, high in order if high - low >= count]
    if wide:
        low, high = min(wide, key=_width)
        return ((high - count, high),) if from_top else ((low, low + count),)
    taken: list[tuple[int, int]] = []
    for low, high in sorted(order, key=_width, reverse=True):
        width = min(high - low, count)
        taken.append((high - width, high) if from_top else (low, low + width))
        count -= width
        if not count:
            return tuple(sorted(taken))
    raise InvariantError(f"{count} nodes more are wanted than the {size(ranges)} that there are")


def _width(range_: tuple[int, int]) -> int:
    return range_[1] - range_[0]


def lowest(ranges: Ranges, count: int) -> Ranges:
    """The ``count`` nodes with the lowest numbers, or all.

    >>> lowest(((0, 1), (2, 5), (8, 9)), 3)
    ((0, 1), (2, 4))
    """
    kept: list[tuple[int, int]] = []
    for low, high in ranges:
        if count <= 0:
            break
        kept.append((low, min(high, low + count)))
        count -= kept[-1][1] - low
    return tuple(kept)


def highest(ranges: Ranges, count: int) -> Ranges:
    """The ``count`` nodes with the highest numbers, or all.

    >>> highest(((0, 1), (2, 5), (8, 9)), 3)
    ((3, 5), (8, 9))
    """
    return without(ranges, lowest(ranges, size(ranges) - count))


def _merge(ranges: Iterable[tuple[int, int]]) -> Ranges:
    return tuple(_merge_adjacent(ranges))


def _merge_adjacent(ranges: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Merge adjacent ranges of an ascending, disjoint sequence."""
    begun: int | None = None
    ended = 0
    for low, high in ranges:
        if begun is None:
            begun = low
        elif low > ended:
            yield begun, ended
            begun = low
        ended = high
    if begun is not None:
        yield begun, ended
