"""The clock of a log: parsing of dates and durations, and the format of times in messages.

One rule holds for all options, files and messages: a date without a zone is in UTC, and so is every displayed date.
The exception is a log that records local time without its zone; its dates are read and displayed in that local time.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from holdfast.workloads.ground.dates import is_date
from holdfast.workloads.ground.errors import InputError, ParameterError
from holdfast.workloads.ground.units import parse_duration
from holdfast.workloads.logs.readers import Zone, records_local_time
from holdfast.workloads.logs.trace import Trace, trace_epoch

__all__ = ["LOCAL", "LogClock"]

#: The zone of a log that does not name it.
LOCAL = Zone.LOCAL.value
_LEGAL = "a time after the first submit, such as 20d or 86400, or a date, such as 2022-03-01T12:00"
_DATE = "a date such as 2022-03-01T12:00, or a number of seconds on the clock of the log"


@dataclass(frozen=True)
class LogClock:
    """The clock of a log or a job table.

    Attributes
    ----------
    first
        First submit, on the clock of the log [s].
    epoch
        Seconds since 1970 at time 0 of that clock; None: dates are not known.
    zone
        Zone of dates without one: ``UTC`` or :data:`LOCAL`.
    source
        The log, for messages.
    """

    first: float = 0.0
    epoch: float | None = None
    zone: str = "UTC"
    source: str = "the log"

    @classmethod
    def of_trace(cls, trace: Trace) -> LogClock:
        """The clock of a trace."""
        first = float(trace.jobs.column("submit").min()) if trace.jobs else 0.0
        local = records_local_time(trace.format, trace.header)
        return cls(first, trace_epoch(trace.header, first), LOCAL if local else "UTC", trace.source or "the log")

    def date(self, text: str, name: str, legal: str = _DATE) -> float:
        """Read a date, on the clock of the log [s].

        Parameters
        ----------
        text
            An ISO date and time. Without a zone it is in the zone of the clock.
        name
            Name of the option or the column, for messages.
        legal
            Legal values, for messages.

        Raises
        ------
        InputError
            If it is not a date, or dates are not known, or it names a zone and that of the log is not known.
        """
        try:
            date = datetime.fromisoformat(text.strip())
            seconds = (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError):
            raise ParameterError(name, legal, text) from None
        if self.epoch is None:
            raise InputError(f"{name}: {text} is a date, but {self.source} has no dates; give a duration")
        if date.tzinfo is not None and self.zone != "UTC":
            raise InputError(
                f"{name}: {text} names a time zone, but the dates of {self.source} are local time without their zone; "
                "give the date without a zone"
            )
        return seconds - self.epoch

    def time(self, text: str, name: str) -> float:
        """Read a duration after the first submit, or a date, on the clock of the log [s].

        Raises
        ------
        InputError
            If it is neither; see :meth:`date`.
        """
        if is_date(text):
            return self.date(text, name, _LEGAL)
        try:
            return self.first + parse_duration(text, name)
        except InputError:
            raise ParameterError(name, _LEGAL, text) from None

    def show(self, time: float, *, seconds: bool = False) -> str:
        """Write a time of the log [s]: a date with its zone, or hours after the first submit.

        >>> LogClock(epoch=0.0).show(1_646_136_000), LogClock(3600.0).show(7200.0)
        ('2022-03-01 12:00 UTC', '1.0 h after the first submit')
        """
        if self.epoch is not None:
            try:
                date = datetime.fromtimestamp(time + self.epoch, UTC)
            except (OverflowError, ValueError, OSError):
                return f"{time:,.0f} s"  # beyond the last year of the calendar
            return f"{date:%Y-%m-%d %H:%M:%S} {self.zone}" if seconds else f"{date:%Y-%m-%d %H:%M} {self.zone}"
        return f"{(time - self.first) / 3600:,.1f} h after the first submit"
