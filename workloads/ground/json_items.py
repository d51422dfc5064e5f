"""Incremental reading of a list in a large JSON document, one item at a time."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from holdfast.workloads.ground.errors import TraceError

__all__ = ["json_items"]

_BLANKS = re.compile(r"[ \t\r\n]*")


def json_items(text: str, key: str, path: str | Path) -> Iterator[tuple[int, Any]]:
    """Iterate over a list in a JSON object, with one item in memory at a time.

    Parameters
    ----------
    text
        The object.
    key
        Key of the list. The values of other keys are skipped.
    path
        File of the text, for messages.

    Yields
    ------
    line, item
        Number of the line in which an item begins, from 1, and the value of the item.

    Raises
    ------
    TraceError
        If the text is not a JSON object, a value is nested too deeply, or there is no list of that name.

    Examples
    --------
    >>> list(json_items('{"meta": {}, "jobs": [1, {"a": 2}]}', "jobs", "a.json"))
    [(1, 1), (1, {'a': 2})]
    """
    cursor = _Cursor(text)
    found = False
    try:
        for name in cursor.names():
            if name == key and cursor.next_is("["):
                found = True
                for _ in cursor.parts("[", "]"):
                    yield cursor.line(), cursor.value()
            else:
                cursor.value()
        cursor.end()
    except json.JSONDecodeError as error:
        raise TraceError(path, error.lineno, f"is not JSON from column {error.colno} on") from None
    except RecursionError:
        raise TraceError(path, cursor.line(), "is nested too deeply") from None
    except ValueError:
        raise TraceError(path, cursor.line(), "holds a whole number of more than 4,300 digits") from None
    if not found:
        raise TraceError(path, None, f"has no list {key!r}")


class _Cursor:
    """A position in a JSON text that moves forward."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._decode = json.JSONDecoder().raw_decode
        self._place = self._counted = 0
        self._line = 1

    def next_is(self, mark: str) -> bool:
        """Whether the next character after blanks is ``mark``."""
        blanks = _BLANKS.match(self._text, self._place)
        self._place = blanks.end() if blanks else self._place
        return self._text.startswith(mark, self._place)

    def value(self) -> Any:
        """Read the next value."""
        self.next_is("")
        value, self._place = self._decode(self._text, self._place)
        return value

    def line(self) -> int:
        """Line of the next item; each call counts lines only in the text since the previous call."""
        self.next_is("")
        self._line += self._text.count("\n", self._counted, self._place)
        self._counted = self._place
        return self._line

    def parts(self, begin: str, end: str) -> Iterator[None]:
        """Iterate over the parts of a list or an object; the caller reads each part."""
        self._take(begin)
        more = not self.next_is(end)
        while more:
            yield
            more = self.next_is(",")
            if more:
                self._take(",")
        self._take(end)

    def names(self) -> Iterator[str]:
        """Iterate over the names of an object; the caller reads each value."""
        for _ in self.parts("{", "}"):
            if not self.next_is('"'):
                raise self._fault()
            name = self.value()
            self._take(":")
            yield name

    def end(self) -> None:
        """Reject text after the object."""
        self.next_is("")
        if self._place < len(self._text):
            raise self._fault()

    def _take(self, mark: str) -> None:
        if not self.next_is(mark):
            raise self._fault()
        self._place += 1

    def _fault(self) -> json.JSONDecodeError:
        return json.JSONDecodeError("not expected", self._text, self._place)
