"""Waits as words: in hours or minutes, with intervals, without a minus before a zero, no decimals from 100 on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

__all__ = ["WaitUnit", "number_text"]

_LARGE = 100


def number_text(value: float, sign: str = "") -> str:
    """A number.

    >>> number_text(-0.02, "+"), number_text(1234.5), number_text(-3.14)
    ('+0.0', '1,234', '-3.1')
    """
    digits = 0 if abs(value) >= _LARGE else 1
    # Adding 0 turns -0 into 0.
    return f"{round(value, digits) + 0.0:{sign},.{digits}f}"


class WaitUnit(NamedTuple):
    """The unit of an answer's waits.

    Attributes
    ----------
    name
        ``h`` or ``min``.
    scale
        How many of it an hour has.
    """

    name: str = "h"
    scale: float = 1.0

    @classmethod
    def of(cls, means: Iterable[float]) -> WaitUnit:
        """Minutes if all mean waits are below an hour [h]."""
        return cls("min", 60.0) if max(means) < 1 else cls()

    def text(self, hours: float, sign: str = "") -> str:
        """A time, without the unit.

        >>> WaitUnit("min", 60.0).text(0.5)
        '30.0'
        """
        return number_text(hours * self.scale, sign)

    def difference(self, value: float | None, low: float | None, high: float | None, sign: str = "+") -> str | None:
        """A difference in hours with its interval, where they are known; without the unit.

        >>> WaitUnit().difference(-1.25, -2.0, 0.5), WaitUnit().difference(3.0, None, None)
        ('-1.2 [-2.0, +0.5]', '+3.0')
        """
        if value is None:
            return None
        if low is None or high is None:
            return self.text(value, sign)
        return f"{self.text(value, sign)} [{self.text(low, sign)}, {self.text(high, sign)}]"
