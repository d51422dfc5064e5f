"""A compiled parser that turns bytes of the Standard Workload Format into integers.

It parses the lines that make up almost all logs, and stops at any other line. Those are left to the full reader, which
handles all legal content and reports errors (:mod:`holdfast.workloads.logs.swf`).
"""

from __future__ import annotations

__all__ = ["FIELDS", "KINDS", "read_lines"]

#: What the arguments are (:func:`holdfast.workloads.ground.object_code.object_code`).
KINDS = "bnnnana"
#: Fields of a line, and its number.
FIELDS = 19


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
        while place < end and (text[place] == 32 or text[place] == 9):
            place += 1
        if place < end and text[place] == 59 and place == start:
            while place < end and text[place] != 10:
                place += 1
            place += 1
            line += 1
            start = place
            continue
        row = 19 * count
        field = 0
        sound = 1
        while sound == 1 and place < end and text[place] != 10:
            if field == 18:
                sound = 0
                break
            sign = 1
            if text[place] == 45:
                sign = -1
                place += 1
            first = place
            value = 0
            while place < end and 48 <= text[place] <= 57:
                if place - first < 12:
                    value = 10 * value + text[place] - 48
                place += 1
            digits = place - first
            # A zero before other digits, or after a minus sign, is for the other reader.
            if digits == 0 or (text[first] == 48 and (digits > 1 or sign < 0)):
                sound = 0
                break
            timed = field == 1 or field == 2 or field == 3 or field == 8 or field == 17
            unread = field == 5 or field == 6 or field == 9
            if digits > 9 and not (timed and digits == 10 and value < 9000000000) and not (unread and digits < 300):
                sound = 0
                break
            if timed:
                value = value * 1000000
            if place < end and text[place] == 46:
                place += 1
                after = place
                unit = 100000
                while place < end and 48 <= text[place] <= 57:
                    if timed:
                        value += unit * (text[place] - 48)
                        unit //= 10
                    place += 1
                if place == after or (timed and place - after > 6) or not (timed or unread) or place - after > 200:
                    sound = 0
                    break
                if sign < 0 and timed and value == 0:
                    sound = 0
                    break
            if place < end and text[place] != 32 and text[place] != 9 and text[place] != 10:
                sound = 0
                break
            table[row + field] = sign * value
            field += 1
            while place < end and (text[place] == 32 or text[place] == 9):
                place += 1
        if sound == 0 or (field != 0 and field < 17):
            place = start
            break
        if field != 0:
            if field == 17:
                table[row + 17] = -1000000
            table[row + 18] = line
            count += 1
        place += 1
        line += 1
    state[0] = count
    state[1] = place
    state[2] = line
