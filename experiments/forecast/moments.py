"""Moments: times of a log as people write them, durations after its first submit or dates."""

from __future__ import annotations

import math
from datetime import UTC, datetime

from workloads.ground.errors import InputError, ParameterError
from workloads.ground.units import parse_duration
from workloads.logs.trace import Trace, epoch_of

__all__ = ["duration_told", "moment_of", "moment_told"]

_LEGAL = "a time after the first submit, such as 20d or 86400, or a date, such as 2022-03-01T12:00"


def moment_of(text: str, trace: Trace, option: str) -> float:
    """The time that a text means.

    Parameters
    ----------
    text
        A duration after the first submit, or a date (UTC unless it says otherwise) where the log's clock is known.
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
        If it is no time, or a date in a log without dates.
    """
    first = min((job.submit for job in trace.jobs), default=0.0)
    if "-" in text[1:]:
        try:
            date = datetime.fromisoformat(text)
        except ValueError:
            raise ParameterError(option, _LEGAL, text) from None
        epoch = epoch_of(trace.header, first)
        if epoch is None:
            raise InputError(f"{option}: {text} is a date, but {trace.source} has no dates; give a duration")
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() - epoch
    try:
        return first + parse_duration(text, option)
    except InputError:
        raise ParameterError(option, _LEGAL, text) from None


def moment_told(time: float, trace: Trace) -> str:
    """A time of the log for people: a date, or hours after the first submit."""
    first = min((job.submit for job in trace.jobs), default=0.0)
    epoch = epoch_of(trace.header, first)
    if epoch is None:
        return f"{(time - first) / 3600:,.1f} h after the first submit"
    return f"{datetime.fromtimestamp(time + epoch, UTC):%Y-%m-%d %H:%M}"


def duration_told(seconds: float) -> str:
    """A duration for people, in the unit that suits it.

    >>> [duration_told(time) for time in (0, 59, 1500, 5400, 90_000, 400_000)]
    ['now', '59 s', '25 min', '1.5 h', '25.0 h', '4.6 d']
    """
    if not math.isfinite(seconds):
        return "later"
    for limit, size, unit, digits in ((1, 1, "", 0), (60, 1, "s", 0), (3600, 60, "min", 0), (48 * 3600, 3600, "h", 1)):
        if seconds < limit:
            return f"{seconds / size:.{digits}f} {unit}" if unit else "now"
    return f"{seconds / 86400:.1f} d"
