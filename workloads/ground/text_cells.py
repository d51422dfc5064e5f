"""Parsing of single cells of a text table, and lookup of columns by name."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime

from holdfast.workloads.ground.errors import format_value
from holdfast.workloads.ground.numbers import decimal, integer

__all__ = ["LARGEST_WHOLE", "Columns", "number", "seconds_of_date", "whole"]

#: The largest whole number of a table; other tools also limit ids to 64 bits.
LARGEST_WHOLE = 2**63 - 1
#: 1970, without a zone.
_EPOCH = datetime(1970, 1, 1)
#: Maximum number of characters of a number; longer texts are rejected without a slow conversion.
_LONG = 1000


def number(text: str, name: str) -> float:
    """A finite number.

    Parameters
    ----------
    text
        The cell.
    name
        Name of the cell, for the message.

    Raises
    ------
    ValueError
        If the cell is not such a number; the message has the legal values and the value.
    """
    try:
        value = decimal(text) if len(text) <= _LONG else math.nan
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"{name} must be a finite number, not {format_value(text)}")
    return value


def whole(text: str, name: str) -> int:
    """A whole number of up to 64 bits, also in a notation such as ``128.0``; see :func:`number`."""
    value = None
    if len(text) <= _LONG:
        try:
            value = integer(text)  # exact above 2**53 too
        except ValueError:
            with suppress(ValueError):
                written = number(text, name)
                value = int(written) if written.is_integer() else None
    if value is None:
        raise ValueError(f"{name} must be a whole number, not {format_value(text)}")
    if not -LARGEST_WHOLE - 1 <= value <= LARGEST_WHOLE:
        raise ValueError(f"{name} must be a whole number up to {LARGEST_WHOLE:,}, not {format_value(text)}")
    return value


def seconds_of_date(text: str, name: str) -> float:
    """An ISO date and time as seconds since 1970; without a zone, it is read as UTC.

    Logs with such times are in local time without a named zone, and only differences matter.

    Raises
    ------
    ValueError
        If the text is not such a time; the message has a legal example and the value.
    """
    try:
        date = datetime.fromisoformat(text.strip())
        return date.timestamp() if date.tzinfo else (date - _EPOCH).total_seconds()
    except (ValueError, OverflowError):  # the first and last days have no time in some zones
        raise ValueError(f"{name} must be a time such as 2019-01-31 23:59:59, not {format_value(text)}") from None


class Columns:
    """Positions of the columns of a table, by name.

    Parameters
    ----------
    names
        The header row; case, and blanks around a name, are ignored.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = [name.strip() for name in names]
        self._places: Mapping[str, int] = {name.lower(): place for place, name in enumerate(self.names)}

    def find(self, *names: str) -> int | None:
        """Index of the first of these columns that exists, or None."""
        for name in names:
            place = self._places.get(name.lower())
            if place is not None:
                return place
        return None

    def need(self, *names: str) -> int:
        """Index of the first of these columns that exists.

        Raises
        ------
        ValueError
            If none of them exists.
        """
        place = self.find(*names)
        if place is None:
            raise ValueError(f"the header row must have a column {' or '.join(names)}")
        return place
