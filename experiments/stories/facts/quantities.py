"""Quantities: which fields of facts are moments, durations and node-time, and what follows from that.

Facts name the quantity in the type of a field; the functions here find it there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, TypeVar, cast

from holdfast.workloads.ground.units import SECOND

__all__ = ["Moment", "NodeTicks", "Ticks", "as_json", "moments", "shift_clock"]

#: A point in time, a duration, and an amount of the machine [ticks, ticks, node-ticks].
Moment = int
Ticks = int
NodeTicks = int

T = TypeVar("T")


def moments(facts: Any) -> Iterator[int]:
    """All moments in facts.

    >>> from holdfast.experiments.stories.facts.queueing import AtHead, Passing
    >>> list(moments((AtHead(5, 7, by=3), Passing(6, job_id=3, nodes=9, how="backfilled"))))
    [5, 7, 6]
    """
    if isinstance(facts, tuple):
        for item in facts:
            yield from moments(item)
    elif is_dataclass(facts):
        for name, quantity in _quantities(facts.__class__):
            value = getattr(facts, name)
            if quantity != "Moment":
                yield from moments(value)
            elif value is not None:
                yield value


def shift_clock(facts: T, by: int) -> T:
    """The same facts on another clock, which shows ``by`` ticks more.

    >>> from holdfast.experiments.stories.facts.queueing import AtHead
    >>> shift_clock(AtHead(5, 7, by=3), 1000)
    AtHead(since=1005, until=1007, by=3)
    """
    return cast(T, _shift(facts, by)) if by else facts


def _shift(facts: Any, by: int) -> Any:
    if isinstance(facts, tuple):
        return tuple([_shift(item, by) for item in facts])
    if not is_dataclass(facts):
        return facts
    values: list[Any] = []
    for name, quantity in _quantities(facts.__class__):
        value = getattr(facts, name)
        values.append(value + by if quantity == "Moment" and value is not None else _shift(value, by))
    return facts.__class__(*values)


@cache
def _quantities(kind: type) -> tuple[tuple[str, str], ...]:
    """The fields of a class of facts, with the quantity of each; empty: none."""
    return tuple(
        (field.name, next((name for name in ("Moment", "Ticks") if name in str(field.type)), ""))
        for field in fields(kind)
    )


def as_json(facts: Any) -> Any:
    """Facts as numbers, texts, lists and objects: ticks become seconds.

    >>> from holdfast.experiments.stories.facts.queueing import AtHead
    >>> as_json(AtHead(500_000, 3_000_000, None))
    {'since': 0.5, 'until': 3.0, 'by': None}
    """
    if isinstance(facts, tuple):
        return [as_json(item) for item in facts]
    if not is_dataclass(facts):
        return facts
    shown = {}
    for name, quantity in _quantities(facts.__class__):
        value = getattr(facts, name)
        shown[name.replace("ticks", "seconds")] = value / SECOND if quantity and value is not None else as_json(value)
    return shown
