"""Minimising: a smaller case with the same finding."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from tests.fuzz.cases import Case

__all__ = ["minimise"]


def minimise(case: Case, finding: str, judge: Callable[[Case], str], seconds: float = 4) -> Case:
    """A smaller case with the same finding.

    Parameters
    ----------
    case
        One with the finding.
    finding
        Which one.
    judge
        The finding of a case.
    seconds
        After which the smallest so far is taken.
    """
    ends = time.monotonic() + seconds
    smaller = True
    while smaller:
        smaller = False
        for other in _smaller(case):
            if time.monotonic() > ends:
                return case
            if judge(other) == finding:
                case, smaller = other, True
                break
    return case


def _smaller(case: Case) -> Iterator[Case]:
    for name in case.files:
        if not any(name in word for word in case.words) and not name.startswith("r/"):
            yield replace(case, files={other: data for other, data in case.files.items() if other != name})
    for place in range(1, len(case.words)):
        if case.words[place].startswith("--"):
            for count in (2, 1):
                yield replace(case, words=case.words[:place] + case.words[place + count :])
    for name, data in case.files.items():
        lines = data.splitlines(keepends=True)
        size = len(lines) // 2
        while size:
            for begin in range(0, len(lines), size):
                rest = b"".join(lines[:begin] + lines[begin + size :])
                if rest:
                    yield replace(case, files={**case.files, name: rest})
            size //= 2
        if len(lines) == 1 and len(data) > 8:
            size = len(data) // 2
            while size > 3:
                for begin in range(0, len(data), size):
                    yield replace(case, files={**case.files, name: data[:begin] + data[begin + size :]})
                size //= 2
