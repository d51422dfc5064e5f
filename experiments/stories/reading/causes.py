"""Causes: what the event log says of why, read in one place.

A cause that is not known here is handed on in its own words, so that it is told rather than dropped.
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["Cause", "cause_of"]


class Cause(NamedTuple):
    """A cause of the event log.

    Attributes
    ----------
    kind
        ``in order``, ``backfilled``, ``tenant``, ``arrival``, ``returned`` (nodes that an on-demand job gives back),
        ``made room`` (for an on-demand job, by its arrival strategy), ``planned`` (likewise, by its plan),
        ``dismissed`` (a tenant, because the on-demand job has come), ``warning over``, ``next reservation``,
        ``runs already`` (when the replay begins), ``none``, or ``other``.
    other
        The job that it names.
    text
        As the log has it.
    """

    kind: str
    other: int | None
    text: str


_WORDS = {"in order", "backfilled", "tenant", "arrival", "warning over", "next reservation", "runs already"}
_NAMING = (
    ("returned", re.compile(r"returned by (\d+)")),
    ("made room", re.compile(r"for (\d+)")),
    ("planned", re.compile(r"planned for (\d+)")),
    ("dismissed", re.compile(r"(\d+) arrived")),
)


def cause_of(text: str) -> Cause:
    """What a cause says.

    >>> cause_of("planned for 17")
    Cause(kind='planned', other=17, text='planned for 17')
    >>> cause_of("the roof leaks").kind
    'other'
    """
    if not text:
        return Cause("none", None, "")
    if text in _WORDS:
        return Cause(text, None, text)
    for kind, pattern in _NAMING:
        found = pattern.fullmatch(text)
        if found:
            return Cause(kind, int(found[1]), text)
    return Cause("other", None, text)
