"""Calendar dates of a trace in its recorded time zone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from experiments.recordings.run_file import LOCAL
from workloads.ground.numbers import integer
from workloads.logs.readers import records_local_time
from workloads.logs.trace import Trace, trace_epoch

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["find_zone", "submits_between"]

#: Largest offset of a time zone from UTC [s].
_FURTHEST = 14 * 3600


def submits_between(trace: Trace) -> str:
    """Dates of the first and the last submit; empty if the trace has no calendar dates.

    Examples
    --------
    >>> from workloads.logs.trace import TraceJob
    >>> jobs = tuple(TraceJob(number, 86400.0 * number, 1, 60.0, 60.0) for number in (0, 31))
    >>> submits_between(Trace(jobs, header={"UnixStartTime": "1767225600", "TimeZoneString": "Europe/Berlin"}))
    'Thu 2026-01-01 01:00 to Sun 2026-02-01 01:00 (Europe/Berlin)'
    """
    submits = [job.submit for job in trace.jobs]
    first, last = min(submits, default=0.0), max(submits, default=0.0)
    epoch = trace_epoch(trace.header, first)
    if epoch is None:
        return ""
    zone, name = find_zone(trace.format, trace.header)
    try:
        begin, end = (_date(epoch + submit, zone) for submit in (first, last))
    except (OverflowError, ValueError, OSError):
        return ""  # beyond the last year of the calendar
    return f"{begin} to {end} ({name})"


def find_zone(format: str, header: Mapping[str, str]) -> tuple[tzinfo, str]:
    """Time zone in which the dates of a log are written, and its name.

    Parameters
    ----------
    format, header
        Format and header of a trace. Dates without a zone (ALCF, or sacct without epochs) are used as recorded. SWF may
        name a zone, or its offset from UTC in seconds.
    """
    if records_local_time(format, header):
        return UTC, LOCAL
    name = header.get("TimeZoneString", "").strip()
    try:
        return ZoneInfo(name), name
    except (KeyError, ValueError, OSError):  # not known, empty, or a path
        pass
    try:
        shift = integer(header.get("TimeZone", ""))
    except ValueError:
        return UTC, "UTC"
    if not 0 < abs(shift) <= _FURTHEST:
        return UTC, "UTC"
    sign = "+" if shift > 0 else "-"
    hours, minutes = divmod(abs(shift) // 60, 60)
    return timezone(timedelta(seconds=shift)), f"UTC{sign}{hours}{f':{minutes:02d}' if minutes else ''}"


def _date(seconds: float, zone: tzinfo) -> str:
    date = datetime.fromtimestamp(seconds, UTC).astimezone(zone)
    day = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")[date.weekday()]
    return f"{day} {date:%Y-%m-%d %H:%M}"
