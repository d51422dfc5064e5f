"""Fields: what stands in one cell of a text table, and where the cells of a named column are."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from workloads.errors import shown

__all__ = ["Columns", "number", "seconds_of_date", "shown", "whole"]


def number(text: str, name: str) -> float:
    """A finite number.

    Parameters
    ----------
    text
        The cell.
    name
        What the cell is, for the message.

    Raises
    ------
    ValueError
        With a sentence that says what is legal and what came.
    """
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    # float() would also read the 1_000 of a programming language.
    if not math.isfinite(value) or "_" in text:
        raise ValueError(f"{name} must be a finite number, not {shown(text)}")
    return value


def whole(text: str, name: str) -> int:
    """A whole number of any size, also one written as ``128.0``; see :func:`number`."""
    if "_" not in text:
        try:
            return int(text)  # exact above 2**53 too
        except ValueError:
            pass
    try:
        value = number(text, name)
    except ValueError:
        value = math.nan
    if not value.is_integer():
        raise ValueError(f"{name} must be a whole number, not {shown(text)}")
    return int(value)


def seconds_of_date(text: str, name: str) -> float:
    """An ISO date and time as seconds since 1970; without a zone it is taken as UTC.

    Such logs are in local time without saying whose, and only differences matter.

    Raises
    ------
    ValueError
        With a sentence that says what is legal and what came.
    """
    try:
        date = datetime.fromisoformat(text.strip())
    except ValueError:
        raise ValueError(f"{name} must be a time such as 2019-01-31 23:59:59, not {shown(text)}") from None
    return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()


class Columns:
    """Where the columns of a table are, by name.

    Parameters
    ----------
    names
        The header row; case and blanks around a name do not matter.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = [name.strip() for name in names]
        self._places: Mapping[str, int] = {name.lower(): place for place, name in enumerate(self.names)}

    def find(self, *names: str) -> int | None:
        """Place of the first of these columns that there is, else None."""
        for name in names:
            place = self._places.get(name.lower())
            if place is not None:
                return place
        return None

    def need(self, *names: str) -> int:
        """Place of the first of these columns that there is.

        Raises
        ------
        ValueError
            If there is none of them.
        """
        place = self.find(*names)
        if place is None:
            raise ValueError(f"the header row must have a column {' or '.join(names)}")
        return place
