"""Time windows given by a user, as seconds or durations after the first submit, or as dates."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

from holdfast.workloads.ground.dates import is_date
from holdfast.workloads.ground.errors import InputError, ParameterError
from holdfast.workloads.ground.parameters import Parameter, Values
from holdfast.workloads.ground.units import LARGEST_TIME, SECOND, parse_duration, to_ticks
from holdfast.workloads.logs.clock import LogClock
from holdfast.workloads.logs.trace import trace_epoch

if TYPE_CHECKING:
    from holdfast.simulator.results.recording import Recording

__all__ = ["Window", "accounting_start", "unix_origin"]

_NEVER = "no job of this result ran; there is nothing to draw"
_LEGAL = "a time after the first submit, such as 12h or 43200, or a date, such as 2022-03-01T12:00"


def unix_origin(recording: Recording) -> int | None:
    """Ticks since 1970 at which the simulated clock stands at 0; None: the date is unknown.

    It comes from the header of a log (``UnixStartTime``), or from times so large that they must count from 1970.
    """
    known = trace_epoch({}, recording.origin / SECOND) if recording.epoch is None else recording.epoch
    return None if known is None else recording.origin + to_ticks(known)


def accounting_start(recording: Recording) -> int:
    """Begin of the accounting: the first submit, or the begin of a replay with a starting state.

    Returns
    -------
    int
        Ticks of the simulated clock.

    Raises
    ------
    InputError
        If no job arrived.
    """
    if recording.opened is None:
        raise InputError(_NEVER)
    return recording.opened - recording.origin


#: Ends of the calendar [s since 1970].
_FIRST_DATE, _LAST_DATE = (int(end.replace(tzinfo=UTC).timestamp()) for end in (datetime.min, datetime.max))


#: Group of the options in the help of a command.
_GROUP = "window"
#: A time as text, which is parsed once the first submit is known.
_TIME = Values("TIME", str, unit="s")


@dataclass(frozen=True)
class Window:
    """A window of time.

    Attributes
    ----------
    start, end
        Time after the first submit: a number of seconds, or a duration such as ``12h`` or ``3d``; if the origin of the
        clock is known (:func:`unix_origin`), also a date such as ``2022-03-01`` or ``2022-03-01T12:00`` (in the zone of
        :class:`~holdfast.workloads.logs.clock.LogClock`). None: the first or the last event.
    """

    start: Annotated[
        float | str | None,
        _TIME,
        Parameter(
            "begin: [s] after the first submit, or a date, 2022-03-01T12:00 in UTC",
            default="the first submit",
            names=("--from",),
            group=_GROUP,
        ),
    ] = None
    end: Annotated[
        float | str | None,
        _TIME,
        Parameter(
            "end: [s] after the first submit, or a date in UTC",
            default="the last end of a job",
            names=("--to",),
            group=_GROUP,
        ),
    ] = None

    def bounds(self, recording: Recording) -> tuple[int, int]:
        """The window in ticks of the simulated clock.

        Raises
        ------
        InputError
            If one of them is not a time, or the window is empty.
        """
        first = accounting_start(recording)
        if recording.closed is None:
            raise InputError(_NEVER)
        last = recording.closed - recording.origin
        # Notices may precede the first submit.
        opens = min(first, recording.entries[0].time if recording.entries else first)
        if self.start is not None:
            opens = _tick("--from", self.start, first, recording)
        closes = last if self.end is None else _tick("--to", self.end, first, recording)
        if opens >= closes:
            asked = [word for word in (self.start, self.end) if word is not None]
            origin = unix_origin(recording)
            runs = ""
            if origin is not None:
                days = f"{_day(first + origin)} to {_day(last + origin)} ({recording.zone})"
                runs = f"; the simulation is from {days}"
            raise InputError(f"the window of time is empty: {' to '.join(map(str, asked))}{runs}")
        return opens, closes


def _day(ticks: int) -> str:
    return datetime.fromtimestamp(ticks // SECOND, UTC).date().isoformat()


def _tick(name: str, value: float | str, first: int, recording: Recording) -> int:
    if isinstance(value, str) and is_date(value):
        origin = unix_origin(recording)
        epoch = None if origin is None else 0.0
        clock = LogClock(epoch=epoch, zone=recording.zone, source="this job table")
        return round(clock.date(value, name, _LEGAL) * SECOND) - (origin or 0)
    try:
        seconds = parse_duration(value, name, LARGEST_TIME)
    except InputError:
        raise ParameterError(name, _LEGAL, value) from None
    # No event is earlier.
    ticks = first + to_ticks(max(seconds, -LARGEST_TIME))
    origin = unix_origin(recording)
    if origin is not None and not _FIRST_DATE <= (ticks + origin) // SECOND <= _LAST_DATE:
        raise ParameterError(name, "a time in the years 1 to 9999", value)
    return ticks
