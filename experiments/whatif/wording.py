"""Differences in hours as words: with their intervals, without a minus before a zero, and no decimals from 100 h on."""

from __future__ import annotations

__all__ = ["difference_text", "hours_text", "join"]

_LARGE = 100


def hours_text(value: float, sign: str = "") -> str:
    """A number of hours.

    >>> hours_text(-0.02, "+"), hours_text(1234.5), hours_text(-3.14)
    ('+0.0', '1,234', '-3.1')
    """
    digits = 0 if abs(value) >= _LARGE else 1
    # Adding 0 turns -0 into 0.
    return f"{round(value, digits) + 0.0:{sign},.{digits}f}"


def difference_text(value: float | None, low: float | None, high: float | None, sign: str = "+") -> str | None:
    """A difference with its interval, where they are known.

    >>> difference_text(-1.25, -2.0, 0.5), difference_text(3.0, None, None), difference_text(None, None, None)
    ('-1.2 [-2.0, +0.5]', '+3.0', None)
    """
    if value is None:
        return None
    if low is None or high is None:
        return hours_text(value, sign)
    return f"{hours_text(value, sign)} [{hours_text(low, sign)}, {hours_text(high, sign)}]"


def join(words: list[str]) -> str:
    """Join words as a list.

    >>> join(["a"]), join(["a", "b"]), join(["a", "b", "c"])
    ('a', 'a and b', 'a, b and c')
    """
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))
