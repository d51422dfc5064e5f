"""A compiled parser that turns bytes of the Standard Workload Format into integers.

It parses the lines that make up almost all logs, and stops at any other line. Those are left to the full reader, which
handles all legal content and reports errors (:mod:`holdfast.workloads.logs.swf`).
"""

from __future__ import annotations

from typing import Any

__all__ = ["FIELDS", "KINDS", "read_lines"]

#: What the arguments are (:func:`holdfast.workloads.ground.object_code.object_code`).
KINDS = "bnnnana"
#: Places of a row: the last field, which is the think time; the number of the line; how many there are.
THINK, LINE, FIELDS = 17, 18, 19
#: Fields that are times, and fields that are not read.
TIMES, UNREAD = (1, 2, 3, 8, THINK), (5, 6, 9)
#: Characters.
TAB, NEWLINE, BLANK, MINUS, POINT, ZERO, NINE, SEMICOLON = 9, 10, 32, 45, 46, 48, 57, 59
#: Microseconds in a second.
SECOND = 1_000_000


def read_lines(text, begin, end, line, table, rows, state):  # type: ignore[no-untyped-def] # compiled
    """Read the lines of ``text`` from place ``begin`` to ``end``, the first of which has the number ``line``.

    A line begins with a semicolon, is blank, or has 17 or 18 fields: whole numbers of up to 9 digits without leading
    zeros; times may be up to 9,000,000,000 and have six decimals, so that in microseconds they are exact floats, too.
    CPU time and memory, which are not read, may have more digits. ``table`` gets a row of 19 numbers for each job, at
    most ``rows``: times in microseconds, a think time of -1 s if there is none, and the number of the line.
    ``state`` gets the number of jobs, the place of the first line that is not read, and its number.
    """
    place = begin
    count = 0
    while place < end and count < rows:
        start = place
        if text[place] == SEMICOLON:
            while place < end and text[place] != NEWLINE:
                place += 1
            place += 1
            line += 1
            continue
        row = FIELDS * count
        field = 0
        place = pass_blanks(text, place, end)
        while place < end and text[place] != NEWLINE:
            value, following = read_number(text, place, end, field)
            if following < 0 or field == LINE:
                field = -1
                break
            table[row + field] = value
            field += 1
            place = pass_blanks(text, following, end)
        if field != 0 and field < THINK:
            place = start
            break
        if field != 0:
            if field == THINK:
                table[row + THINK] = -SECOND
            table[row + LINE] = line
            count += 1
        place += 1
        line += 1
    state[0] = count
    state[1] = place
    state[2] = line


def pass_blanks(text: Any, place: Any, end: Any) -> Any:
    """The first place that is no blank."""
    while place < end and (text[place] == BLANK or text[place] == TAB):
        place += 1
    return place


def read_number(text: Any, place: Any, end: Any, field: Any) -> Any:
    """The number of a field, a time in microseconds, and the place after it; -1: it is for the other reader."""
    timed = field in TIMES
    unread = field in UNREAD
    sign = 1
    if text[place] == MINUS:
        sign = -1
        place += 1
    first = place
    value = 0
    while place < end and ZERO <= text[place] <= NINE:
        if place - first < 12:
            value = 10 * value + text[place] - ZERO
        place += 1
    digits = place - first
    # A zero before other digits, or after a minus sign, is for the other reader.
    if digits == 0 or (text[first] == ZERO and (digits > 1 or sign < 0)):
        return 0, -1
    if digits > 9 and not (timed and digits == 10 and value < 9_000_000_000) and not (unread and digits < 300):
        return 0, -1
    if timed:
        value = value * SECOND
    if place < end and text[place] == POINT:
        if not timed and not unread:
            return 0, -1
        place += 1
        after = place
        unit = SECOND // 10
        while place < end and ZERO <= text[place] <= NINE:
            if timed:
                value += unit * (text[place] - ZERO)
                unit //= 10
            place += 1
        decimals = place - after
        if decimals == 0 or (timed and decimals > 6) or decimals > 200:
            return 0, -1
        if timed and sign < 0 and value == 0:
            return 0, -1
    if place < end and text[place] != BLANK and text[place] != TAB and text[place] != NEWLINE:
        return 0, -1
    return sign * value, place
