"""A sequence of rows that is stored as columns; a row object is made only when it is accessed."""

from __future__ import annotations

from abc import abstractmethod
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, fields
from enum import EnumType
from functools import cache
from itertools import repeat
from operator import attrgetter
from typing import Any, ClassVar, Self, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.wording import count_text

__all__ = ["Codes", "ColumnRows", "Rows", "as_column"]

Row = TypeVar("Row")
_Value = TypeVar("_Value")
Column = NDArray[Any]

#: Number of rows that iteration makes at a time.
_BLOCK = 4096
#: Type of numpy for each kind of column; texts and enumeration members are stored as indices.
_DTYPES = {"whole": np.int64, "time": np.float64, "flag": np.bool_, "text": np.int32, "number": np.object_}


class ColumnRows(Sequence[Row]):
    """A sequence of rows over columns; a subclass defines the number of rows, and makes them."""

    @abstractmethod
    def _make_rows(self, rows: slice) -> list[Row]:
        """Make the rows of these places."""

    def __iter__(self) -> Iterator[Row]:
        for begin in range(0, len(self), _BLOCK):
            yield from self._make_rows(slice(begin, begin + _BLOCK))

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | Sequence[Row]:
        if isinstance(index, slice):
            return self._make_rows(index)
        place = range(len(self))[index]
        return self._make_rows(slice(place, place + 1))[0]


class Rows(ColumnRows[Row]):
    """A sequence of rows; a subclass sets the dataclass of a row, and the kind of each of its fields.

    A sequence is made from rows or from columns, and computes the other form on demand. A column is optional if all its
    values are the default of the field.

    Parameters
    ----------
    rows
        Rows, which are stored unchanged.
    columns
        Columns by field name, instead of rows.
    names
        Texts; text columns hold indices into them.

    Attributes
    ----------
    kinds
        Kind of each field: ``whole`` 64-bit integers, ``time`` floats with NaN for None, ``flag`` booleans, ``text``
        indices into ``names``, ``number`` whole numbers or None (objects), or an enumeration, stored as indices.
    """

    row: ClassVar[type]
    kinds: ClassVar[Mapping[str, Any]]

    def __init__(
        self, rows: Iterable[Row] = (), columns: Mapping[str, Column] | None = None, names: Sequence[str] = ()
    ) -> None:
        self._rows: list[Row] | None = list(rows) if columns is None else None
        self._columns: dict[str, Column] | None = None if columns is None else dict(columns)
        self._names: Sequence[str] = names
        self._is_columns = columns is not None
        self._derived: dict[Callable[[Any], Any], Any] = {}

    @property
    def columns(self) -> Mapping[str, Column]:
        """Columns with values other than defaults, by field.

        Raises
        ------
        InputError
            If a row holds a value of the wrong kind.
        """
        if self._columns is None:
            self._columns, self._names = self._split(self._rows or [])
        return self._columns

    @property
    def names(self) -> Sequence[str]:
        """The texts of all columns of texts."""
        return self._names if self.columns is not None else ()

    @property
    def is_columns(self) -> bool:
        """Whether the sequence was made from columns, which are then cheaper to read than rows."""
        return self._is_columns

    @classmethod
    def of(cls, rows: Iterable[Row]) -> Self:
        """Convert rows to this class; an instance is returned unchanged."""
        return rows if isinstance(rows, cls) else cls(rows)

    def derive(self, make: Callable[[Self], _Value]) -> _Value:
        """The value of a function of these rows, computed at the first call and kept with them: rows do not change."""
        if make not in self._derived:
            self._derived[make] = make(self)
        value: _Value = self._derived[make]
        return value

    def rows(self) -> list[Row]:
        """List of all rows, made at the first call and cached."""
        if self._rows is None:
            self._rows = list(self)
        return self._rows

    def column(self, name: str) -> Column:
        """The column of a field, shape (n,)."""
        found = self.columns.get(name)
        if found is not None:
            return found
        kind, default = self.kinds[name], _defaults(self.row)[name]
        if kind == "text":
            return np.full(len(self), self.code(default), np.int32)
        if default is None and kind != "number":
            default = np.nan if kind == "time" else 0
        return np.full(len(self), default, _DTYPES.get(kind, np.int8))

    def code(self, text: str) -> int:
        """The number of a text in columns of texts, which is added to the names if it is new."""
        if text not in self.names:
            self._names = [*self._names, text]
        return self._names.index(text)

    def texts(self, name: str) -> list[str]:
        """The texts of a column of texts."""
        if name not in self.columns:
            return [""] * len(self)
        return np.array(self.names, np.object_)[self.columns[name]].tolist() if len(self) else []

    def has(self, name: str) -> bool:
        """Whether any row has a value in this column other than None, an empty text or False."""
        column = self.columns.get(name)
        if column is None or not len(self):
            return False
        kind = self.kinds[name]
        if kind == "text":
            names = self.names
            return any(names[code] for code in np.flatnonzero(np.bincount(column)).tolist())
        if kind == "time":
            return not bool(np.isnan(column).all())
        if kind == "number":
            return any(value is not None for value in column.tolist())
        return bool(column.any())

    def select(self, places: Column | slice) -> Self:
        """Select rows by a mask, by indices or by a slice."""
        if not self._is_columns:
            given = self._rows or []
            if isinstance(places, slice):
                return type(self)(given[places])
            chosen = np.flatnonzero(places) if places.dtype == np.bool_ else places
            return type(self)(given[place] for place in chosen.tolist())
        return self._from_columns({name: column[places] for name, column in self.columns.items()})

    def with_columns(self, **columns: Column | None) -> Self:
        """Replace columns; None: by defaults."""
        kept = {**self.columns, **columns}
        return self._from_columns({name: column for name, column in kept.items() if column is not None})

    def with_texts(self, **texts: Sequence[str]) -> Self:
        """Replace columns of texts."""
        codes = Codes(self.names)
        columns = {name: as_column(values, "text", codes) for name, values in texts.items()}
        return type(self)((), {**self.columns, **columns}, codes.names)

    def insert(self, places: Column, others: Self) -> Self:
        """These rows with others among them.

        Parameters
        ----------
        places
            Before which of these rows each of the others stands, ascending, shape (others,).
        others
            Rows of the same class.
        """
        numbers = {name: number for number, name in enumerate(self.names)}
        codes = [numbers.setdefault(name, len(numbers)) for name in others.names]
        recoded = np.array(codes, np.int32)
        found = type(self)((), self.columns, list(numbers))
        columns = {}
        for name, kind in self.kinds.items():
            if name in self.columns or name in others.columns:
                added = others.column(name)
                if kind == "text":
                    # The default may be a text that is new to either of them.
                    added = recoded[added] if name in others.columns else np.full(len(others), found.code(""), np.int32)
                columns[name] = np.insert(found.column(name), places, added)
        return type(self)((), columns, found.names)

    def __len__(self) -> int:
        if self._rows is not None or self._columns is None:
            return len(self._rows or ())
        return len(next(iter(self._columns.values()), ()))

    def __iter__(self) -> Iterator[Row]:
        return super().__iter__() if self._rows is None else iter(self._rows)

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: int | slice) -> Row | Self:
        if isinstance(index, slice):
            return self.select(index)
        if self._rows is not None:
            return self._rows[index]
        return super().__getitem__(index)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str) or not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(one == two for one, two in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]  # as of a list

    def __add__(self, other: Iterable[Row]) -> Self:
        return type(self)([*self, *other])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({count_text(len(self), 'rows')})"

    def __reduce__(self) -> tuple[Any, ...]:
        # Cached rows are not pickled, because they can be made again from columns.
        if not self._is_columns:
            return type(self), (self._rows,)
        return type(self), ((), self._columns, self._names)

    def _from_columns(self, columns: Mapping[str, Column]) -> Self:
        return type(self)((), columns, self._names)

    def _make_rows(self, rows: slice) -> list[Row]:
        """Make the rows of these places."""
        columns = self.columns
        given: list[Iterable[Any]] = []
        for name, default in _defaults(self.row).items():
            column = columns.get(name)
            if column is None:
                given.append(repeat(default))
                continue
            values, kind = column[rows], self.kinds[name]
            if kind == "text":
                given.append(map(self._names.__getitem__, values.tolist()))
            elif kind == "time":
                missing = np.isnan(values)
                if missing.all():
                    given.append(repeat(None))
                elif missing.any():
                    given.append(
                        [None if gone else value for value, gone in zip(values.tolist(), missing, strict=True)]
                    )
                else:
                    given.append(values.tolist())
            elif isinstance(kind, EnumType):
                given.append(map(list(kind).__getitem__, values.tolist()))
            else:
                given.append(values.tolist())
        return list(map(self.row, *given)) if len(self) else []

    def _split(self, rows: Sequence[Row]) -> tuple[dict[str, Column], list[str]]:
        """The columns of rows, and the names."""
        codes = Codes()
        columns: dict[str, Column] = {}
        for number, (name, default) in enumerate(_defaults(self.row).items()):
            values = list(map(attrgetter(name), rows))
            if number and values.count(default) == len(values):
                continue
            try:
                columns[name] = as_column(values, self.kinds[name], codes)
            except (TypeError, ValueError, OverflowError) as error:
                raise InputError(f"a job holds a value of the wrong kind ({error})") from None
        return columns, codes.names


class Codes:
    """A table that assigns a number to each distinct text.

    Parameters
    ----------
    names
        Texts that have their place as number.

    Attributes
    ----------
    names
        Distinct texts in order of first appearance.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.names: list[str] = list(names)
        self._codes: dict[str, int] = {name: number for number, name in enumerate(self.names)}
        self._of_numbers = np.full(1024, -1, np.int32)

    def code(self, text: str) -> int:
        """The number of a text."""
        found = self._codes.get(text)
        if found is None:
            found = self._codes[text] = len(self.names)
            self.names.append(text)
        return found

    def of_numbers(self, numbers: Column) -> Column:
        """Numbers of the decimal texts of integers; negative integers count as the empty text."""
        largest = int(numbers.max(initial=0))
        if largest >= _TABLE:
            found, places = np.unique(numbers, return_inverse=True)
            coded = [self.code("" if number < 0 else str(number)) for number in found.tolist()]
            return np.array(coded, np.int32)[places]
        known = self._of_numbers
        if largest + 1 >= len(known):
            known = np.full(2 * largest + 2, -1, np.int32)
            known[: len(self._of_numbers) - 1] = self._of_numbers[:-1]
            known[-1] = self._of_numbers[-1]
            self._of_numbers = known
        # The last element of the table is for negative integers.
        places = np.where(numbers < 0, len(known) - 1, numbers)
        codes: Column = known[places]
        if int(codes.min(initial=0)) < 0:
            # Same as numpy.unique, which would also import masked arrays.
            for place in np.flatnonzero(np.bincount(places[codes < 0])).tolist():
                known[place] = self.code("" if place == len(known) - 1 else str(place))
            codes = known[places]
        return codes


#: Integers below this bound are looked up in a table.
_TABLE = 1 << 20


def as_column(values: Sequence[Any], kind: Any, codes: Codes) -> Column:
    """Convert values of a field to a column of a kind (see :class:`Rows`)."""
    if kind == "text":
        return np.array(list(map(codes.code, values)), np.int32)
    if kind == "whole":
        with suppress(OverflowError):  # a larger number is nothing legal, and shown as it is
            return np.frombuffer(array("q", values), np.int64) if values else np.zeros(0, np.int64)
    if kind in ("whole", "number"):
        column = np.empty(len(values), np.object_)
        column[:] = values
        return column
    if isinstance(kind, EnumType):
        places = {member: place for place, member in enumerate(list(kind))}  # type: ignore[var-annotated]
        return np.array([places[value] for value in values], np.int8)
    return np.array(values, _DTYPES[kind])


@cache
def _defaults(row: type) -> Mapping[str, Any]:
    """Default of each field of a dataclass, in the order of the fields."""
    return {field.name: None if field.default is MISSING else field.default for field in fields(row)}
