"""Causes in the event log, parsed in one place.

A cause that is not known here keeps its own words, so that it is shown rather than dropped.
"""

from __future__ import annotations

import re

from holdfast.experiments.stories.facts.lifetime import Cause

__all__ = ["parse_cause"]

_WORDS = {"in order", "backfilled", "tenant", "arrival", "warning over", "next reservation", "runs already", "resumes"}
_NAMING = (
    ("returned", re.compile(r"returned by (\d+)")),
    ("made room", re.compile(r"for (\d+)")),
    ("planned", re.compile(r"planned for (\d+)")),
    ("dismissed", re.compile(r"(\d+) arrived")),
)


def parse_cause(text: str) -> Cause:
    """The cause that a text of the event log states.

    >>> parse_cause("planned for 17")
    Cause(kind='planned', job_id=17, text='planned for 17', reason='')
    >>> parse_cause("the roof leaks").kind
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
