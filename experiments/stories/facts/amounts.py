"""Amounts: the units of facts, and what they become in JSON."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

from workloads.ground.units import SECOND

__all__ = ["NodeTicks", "Ticks", "as_json"]

#: A time or a duration, and an amount of the machine; :func:`as_json` knows them by these names.
Ticks = int
NodeTicks = int


def as_json(facts: Any) -> Any:
    """Facts as numbers, texts, lists and objects.

    >>> from experiments.stories.facts.waits import Interval
    >>> as_json(Interval(500_000, 3_000_000, None))
    {'since': 0.5, 'until': 3.0, 'by': None}
    """
    if isinstance(facts, tuple):
        return [as_json(item) for item in facts]
    if not is_dataclass(facts):
        return facts
    shown = {}
    for item in fields(facts):
        value = getattr(facts, item.name)
        if value is not None and "Ticks" in str(item.type):
            value = value / SECOND
        shown[item.name.replace("ticks", "seconds")] = as_json(value)
    return shown
