"""Rows: a long table that is kept as columns, of which a row is made when somebody looks at it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import TypeVar, overload

__all__ = ["ColumnRows"]

Row = TypeVar("Row")

#: Rows that are made at a time while one goes through all of them.
_BLOCK = 4096


class ColumnRows(Sequence[Row]):
    """A sequence of rows over columns; a class of its own says how many rows there are, and makes them."""

    @abstractmethod
    def _made(self, rows: slice) -> list[Row]:
        """Make the rows of these places."""

    def __iter__(self) -> Iterator[Row]:
        for begin in range(0, len(self), _BLOCK):
            yield from self._made(slice(begin, begin + _BLOCK))

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        if isinstance(index, slice):
            return self._made(index)
        place = range(len(self))[index]
        return self._made(slice(place, place + 1))[0]
