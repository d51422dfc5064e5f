"""Parsing and formatting of log times: durations after the first submit, or dates."""

from __future__ import annotations

import math

from holdfast.workloads.logs.clock import LogClock
from holdfast.workloads.logs.trace import Trace

__all__ = ["format_duration", "format_moment", "parse_moment"]


def parse_moment(text: str, trace: Trace, option: str) -> float:
    """Parse a time.

    Parameters
    ----------
    text
        A duration after the first submit, or a date where the log's clock is known
        (:mod:`holdfast.workloads.logs.clock` says in which zone).
    trace
        The log.
    option
        Name of the option, for messages.

    Returns
    -------
    float
        On the log's own clock [s].

    Raises
    ------
    InputError
        If it is not a time, or a date in a log without dates.
    """
    return LogClock.of_trace(trace).time(text, option)


def format_moment(time: float, trace: Trace) -> str:
    """Format a time of the log as a date with its zone, or as hours after the first submit."""
    return LogClock.of_trace(trace).show(time)


def format_duration(seconds: float) -> str:
    """Format a duration in a suitable unit.

    >>> [format_duration(time) for time in (0, 59, 1500, 5400, 90_000, 400_000)]
    ['now', '59 s', '25 min', '1.5 h', '25.0 h', '4.6 d']
    """
    if not math.isfinite(seconds):
        return "later"
    for limit, size, unit, digits in ((1, 1, "", 0), (60, 1, "s", 0), (3600, 60, "min", 0), (48 * 3600, 3600, "h", 1)):
        if seconds < limit:
            return f"{seconds / size:.{digits}f} {unit}" if unit else "now"
    return f"{seconds / 86400:.1f} d"
