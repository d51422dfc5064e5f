"""Calendar dates of a trace."""

from __future__ import annotations

from datetime import UTC, datetime

from holdfast.experiments.recordings.run_file import LOCAL
from holdfast.workloads.logs.readers import records_local_time
from holdfast.workloads.logs.trace import Trace, trace_epoch

__all__ = ["submits_between"]


def submits_between(trace: Trace) -> str:
    """Dates of the first and the last submit, as options read them; empty if the trace has no calendar dates.

    Examples
    --------
    >>> from holdfast.workloads.logs.trace import TraceJob
    >>> jobs = tuple(TraceJob(number, 86400.0 * number, 1, 60.0, 60.0) for number in (0, 31))
    >>> submits_between(Trace(jobs, header={"UnixStartTime": "1767225600", "TimeZoneString": "Europe/Berlin"}))
    'Thu 2026-01-01 00:00 to Sun 2026-02-01 00:00 UTC'
    """
    submits = trace.jobs.column("submit")
    first, last = (float(submits.min()), float(submits.max())) if len(submits) else (0.0, 0.0)
    epoch = trace_epoch(trace.header, first)
    if epoch is None:
        return ""
    zone = LOCAL if records_local_time(trace.format, trace.header) else "UTC"
    try:
        begin, end = (_date(epoch + submit) for submit in (first, last))
    except (OverflowError, ValueError, OSError):
        return ""  # beyond the last year of the calendar
    return f"{begin} to {end} {zone}"


def _date(seconds: float) -> str:
    date = datetime.fromtimestamp(seconds, UTC)
    day = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")[date.weekday()]
    return f"{day} {date:%Y-%m-%d %H:%M}"
