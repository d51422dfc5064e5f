"""Time units: the tick of the simulated clock, and the notation of durations.

Jobs use seconds. The simulated clock counts integer **ticks** of one microsecond, so that equal instants compare equal
and sums do not drift (docs/model.md, "Readings that are not parameters"). Policies also use ticks.
"""

from __future__ import annotations

import math
import re

from holdfast.workloads.ground.errors import ParameterError

__all__ = [
    "COSTS",
    "DURATIONS",
    "LARGEST_SIZE",
    "LARGEST_TIME",
    "SECOND",
    "SHORTEST_TIME",
    "TIMES",
    "duration_text",
    "format_seconds",
    "parse_duration",
    "to_seconds",
    "to_ticks",
    "walltime_text",
]

#: Ticks in a second.
SECOND = 1_000_000
#: The largest time of any input [s], about 31,700 years: sums of a few such times are below 2^63 ticks.
LARGEST_TIME = 1e12
#: Shorter durations round to zero ticks [s].
SHORTEST_TIME = 0.5 / SECOND
#: Legal values in messages: of durations, of durations that may be 0, and of times on a clock.
DURATIONS = f"from {1 / SECOND:f} to {LARGEST_TIME:,.0f} s"
COSTS = f"from 0 to {LARGEST_TIME:,.0f} s"
TIMES = f"from {-LARGEST_TIME:,.0f} to {LARGEST_TIME:,.0f} s"
#: Largest size of a machine or a job, in nodes or processors.
LARGEST_SIZE = 1_000_000_000

_UNITS = {
    "us": 1e-6,
    "ms": 1e-3,
    "": 1.0,
    "s": 1.0,
    "sec": 1.0,
    "m": 60.0,
    "min": 60.0,
    "h": 3600.0,
    "d": 86400.0,
    "w": 604800.0,
    # The calendar year of reliability figures: 5 years = 43,800 h.
    "y": 365 * 86400.0,
}
_DURATION = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*([a-z]*)\s*", re.ASCII)
#: Slurm's notation; MM:SS is not read, because many mean HH:MM by it.
_CLOCK = re.compile(r"(?:(\d+)-)?(\d+):([0-5]\d):([0-5]\d)", re.ASCII)


def to_ticks(seconds: float) -> int:
    """Round seconds to ticks.

    >>> to_ticks(1.5)
    1500000
    """
    return round(seconds * SECOND)


def to_seconds(ticks: int) -> float:
    """Ticks as seconds.

    >>> to_seconds(1_500_000)
    1.5
    """
    return ticks / SECOND


def format_seconds(ticks: int) -> str:
    """Ticks as the shortest exact decimal number of seconds.

    >>> format_seconds(1_500_000), format_seconds(2_000_000), format_seconds(-1)
    ('1.5', '2', '-0.000001')
    """
    whole, rest = divmod(abs(ticks), SECOND)
    sign = "-" if ticks < 0 else ""
    return f"{sign}{whole}.{rest:06d}".rstrip("0") if rest else f"{sign}{whole}"


def duration_text(seconds: float) -> str:
    """Format a duration in the largest unit in which it is an integer.

    >>> [duration_text(seconds) for seconds in (0.0, 10.0, 120.0, 5400.0, 14400.0, 5 * 365 * 86400.0, 0.5)]
    ['0', '10s', '2m', '90m', '4h', '5y', '0.5']
    """
    for unit in ("y", "d", "h", "m", "s"):
        if seconds and not seconds % _UNITS[unit]:
            return f"{seconds / _UNITS[unit]:.0f}{unit}"
    return f"{seconds:g}"


def walltime_text(seconds: float) -> str:
    """Format a walltime as HH:MM:SS for a batch system, rounded up so that a request is never too short.

    >>> walltime_text(3600.0), walltime_text(90061.2), walltime_text(359999.5)
    ('01:00:00', '25:01:02', '100:00:00')
    """
    # Ignore rounding errors of a sum above a full second.
    whole = math.ceil(seconds - 1e-6)
    return f"{whole // 3600:02d}:{whole // 60 % 60:02d}:{whole % 60:02d}"


def parse_duration(text: str | float, parameter: str = "duration", most: float = math.inf) -> float:
    """Read a duration with a unit as seconds.

    Parameters
    ----------
    text
        A number with one of the units us, ms, s, m (min), h, d, w, y (365 d), or several in sequence (``1h30m``); a
        number without a unit is in seconds. HH:MM:SS and D-HH:MM:SS are read as Slurm writes them.
    parameter
        Name of the parameter, for the message.
    most
        Largest legal duration [s].

    Returns
    -------
    float
        Seconds.

    Raises
    ------
    ParameterError
        If the text is not a finite duration of at most ``most``.

    Examples
    --------
    >>> parse_duration("1h30m"), parse_duration("90"), parse_duration("5y"), parse_duration("1-02:00:30")
    (5400.0, 90.0, 157680000.0, 93630.0)
    """
    if not isinstance(text, str):
        total = float(text)
    elif clock := _CLOCK.fullmatch(text.strip()):
        days, hours, minutes, seconds = (float(part or 0) for part in clock.groups())
        total = 86400 * days + 3600 * hours + 60 * minutes + seconds
    else:
        total, position = 0.0, 0
        source = text.strip()
        while position < len(source) or not source:
            match = _DURATION.match(source, position)
            if match is None or match[2] not in _UNITS:
                raise ParameterError(parameter, "a duration such as 90s, 30m, 12h, 1h30m, 5y, 04:30:00", text)
            total += float(match[1]) * _UNITS[match[2]]
            position = match.end()
    if not math.isfinite(total):
        raise ParameterError(parameter, "a finite duration", text)
    if total > most:
        raise ParameterError(parameter, f"at most {most:,.0f} s", text)
    return total
