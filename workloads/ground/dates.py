"""Times that a user gives as a duration or as a date; dates are read once the clock of the log is known."""

from __future__ import annotations

import re

from holdfast.workloads.ground.parameters import Values, duration
from holdfast.workloads.ground.units import duration_text

__all__ = ["TIME_OR_DATE", "is_date"]

_DATE_LIKE = re.compile(r"\s*[0-9]+-[0-9]")


def is_date(text: str) -> bool:
    """Whether a text can only be meant as a date: ``2022-03-01``, but not ``-5`` or ``1e-3``."""
    return _DATE_LIKE.match(text) is not None or ":" in text


def _read(text: str) -> float | str:
    return text if is_date(text) else duration(text)


def _write(value: float | str) -> str:
    return value if isinstance(value, str) else duration_text(value)


#: Values of options that take a duration [s], or a date (``holdfast.workloads.logs.clock.LogClock``), which stays a
#: text.
TIME_OR_DATE = Values("TIME", _read, _write, "s")
