"""Phrases: times, durations, amounts and lists as people say them."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from holdfast.workloads.ground.job_ids import job_id_text
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.ground.wording import in_unit

__all__ = ["Clock", "amount", "count", "duration", "jobs", "join_items", "percent", "wrap"]

#: Columns of a terminal.
WIDTH = 80
#: A number stays with its unit, a date with its time, and "job" with its id.
_GLUED = re.compile(
    r"(?<=\d) (?=(?:d|h|min|s|%|(?:node|processor)(?:s|-hours?|-seconds?)?|jobs?)(?:\W|$)|\d\d:\d\d)|(?<=\bjob) (?=\d)"
)
_GLUE = "\N{NO-BREAK SPACE}"
_UNITS = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))


class Clock:
    """Says times.

    Parameters
    ----------
    first
        First submit [ticks of the job table's clock].
    epoch
        Seconds since 1970 at which that clock stands at 0; None: it is not known, and times are since the first submit.
    times
        Times of the story [ticks]: they decide whether days and seconds are shown.
    zone
        What dates are in.
    """

    def __init__(self, first: int, epoch: float | None, times: Sequence[int], zone: str = "UTC") -> None:
        self._first = first
        self._epoch = epoch
        self._zone = zone
        zero = first if epoch is None else 0
        self._seconds = any((time - zero) % (60 * SECOND) for time in times)
        self._days = any(abs(time - first) >= 86400 * SECOND for time in times)

    @property
    def about(self) -> str:
        """What the times are."""
        if self._epoch is not None:
            return f"Times are {self._zone}."
        unit = "hours:minutes:seconds" if self._seconds else "hours:minutes"
        return f"Times are {'days and ' if self._days else ''}{unit} since the first submit of the simulation."

    def at(self, time: int, day_of: int | None = None) -> str:
        """A time, without its day if that is the day of another.

        >>> Clock(0, None, [0, 60 * SECOND]).at(3_660 * SECOND)
        '01:01'
        >>> Clock(0, 1_641_021_254, [1]).at(0), Clock(0, 1_641_021_254, [1]).at(0, 60 * SECOND)
        ('2022-01-01 07:14:14', '07:14:14')
        """
        day, _, hour = self._full(time).rpartition(" ")
        same = day_of is not None and self._full(day_of).rpartition(" ")[0] == day
        return hour if same or not day else f"{day} {hour}"

    def _full(self, time: int) -> str:
        if self._epoch is not None:
            there = datetime.fromtimestamp(0, UTC) + timedelta(seconds=self._epoch, microseconds=time)
            return there.strftime("%Y-%m-%d %H:%M:%S" if self._seconds else "%Y-%m-%d %H:%M")
        sign = "-" if time < self._first else ""
        minutes, seconds = divmod(round(abs(time - self._first) / SECOND), 60)
        hours, minutes = divmod(minutes, 60)
        days, hours = divmod(hours, 24) if self._days else (0, hours)
        text = f"{hours:02}:{minutes:02}" + (f":{seconds:02}" if self._seconds else "")
        return f"{sign}{days} d {text}" if self._days else f"{sign}{text}"


def wrap(text: str, first: str = "", rest: str = "", *, unit: str = "nodes") -> list[str]:
    """Lines of at most 80 characters, the first and the others with these margins; sizes count ``unit``.

    >>> wrap("It waited for 3 nodes.", rest="  ")
    ['It waited for 3 nodes.']
    """
    glued = _GLUED.sub(_GLUE, in_unit(text, unit))
    lines = textwrap.wrap(glued, WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)
    return [line.replace(_GLUE, " ") for line in lines]


def duration(ticks: int) -> str:
    """A duration in its two largest units.

    >>> duration(3_725 * SECOND), duration(60 * SECOND), duration(1_500_000), duration(0)
    ('1 h 2 min', '1 min', '1.5 s', '0 s')
    """
    if abs(ticks) < 10 * SECOND:
        return f"{ticks / SECOND:.3g} s"
    seconds = round(ticks / SECOND)
    for (size, unit), (smaller, lesser) in pairwise(_UNITS):
        if seconds >= size:
            whole, rest = divmod(round(seconds / smaller), size // smaller)
            return f"{whole} {unit} {rest} {lesser}" if rest else f"{whole} {unit}"
    return f"{seconds} s"


def amount(node_ticks: int) -> str:
    """Node-time in the unit that suits it.

    >>> amount(7200 * SECOND), amount(3600 * SECOND), amount(90 * SECOND)
    ('2 node-hours', '1 node-hour', '90 node-seconds')
    """
    hours = node_ticks / SECOND / 3600
    if hours < 0.1:
        value, unit = f"{node_ticks / SECOND:.3g}", "node-second"
    else:
        value, unit = f"{hours:,.0f}" if hours >= 1000 else f"{hours:.3g}", "node-hour"
    return f"{value} {unit}" if value == "1" else f"{value} {unit}s"


def percent(part: int, whole: int) -> str:
    """A share.

    >>> percent(1, 3), percent(1, 1000)
    ('33 %', 'less than 1 %')
    """
    return f"{round(100 * part / whole)} %" if 200 * part >= whole else "less than 1 %"


def count(number: int, noun: str) -> str:
    """A number of things.

    >>> count(1, "node"), count(1200, "node")
    ('1 node', '1,200 nodes')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def join_items(items: Sequence[str], most: int | None) -> str:
    """Some of them, and how many more there are.

    >>> join_items(["a", "b", "c"], None), join_items(["a", "b", "c", "d"], 2)
    ('a, b and c', 'a, b and 2 more')
    """
    # One more name is as short as saying that there is one more.
    shown = list(items) if most is None or len(items) <= most + 1 else [*items[:most], f"{len(items) - most} more"]
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def jobs(ids: Sequence[int], most: int | None = 5, kind: str = "") -> str:
    """Jobs by their ids.

    >>> jobs([7]), jobs([7, 9], kind="on-demand ")
    ('job 7', 'on-demand jobs 7 and 9')
    """
    return f"{kind}job{'s' if len(ids) > 1 else ''} {join_items([job_id_text(job_id) for job_id in ids], most)}"
