"""Rectangles of a Gantt chart: adjacent nodes that one holder has over a period."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from holdfast.experiments.placement.spans import Span

__all__ = ["Rectangle", "cut_rectangles"]


class Rectangle(NamedTuple):
    """Adjacent nodes that a holder has over a period.

    Attributes
    ----------
    start, end
        Ticks of the simulated clock.
    low, high
        Node numbers, ``high`` excluded.
    job_id, kind, ending
        As for :class:`~holdfast.experiments.placement.spans.Span`.
    """

    start: int
    end: int
    low: int
    high: int
    job_id: int
    kind: str
    ending: str


def cut_rectangles(spans: Iterable[Span]) -> list[Rectangle]:
    """Cut spans into rectangles; a range that a holder keeps while others change stays one rectangle.

    Parameters
    ----------
    spans
        Spans in the order of their ends.

    Returns
    -------
    list of Rectangle
        Rectangles by start, which cover the area of the spans exactly once.
    """
    found: list[Rectangle] = []
    going: dict[tuple[str, int, int], tuple[Span, dict[tuple[int, int], int]]] = {}

    def close(span: Span, parts: Mapping[tuple[int, int], int]) -> None:
        found.extend(
            Rectangle(since, span.end, *part, span.job_id, span.kind, span.ending) for part, since in parts.items()
        )

    for span in spans:
        key = span.kind, span.job_id, span.number
        before, kept = going.pop(key, (None, {}))
        now = dict.fromkeys(span.nodes, span.start)
        if before is not None:
            if before.end == span.start and not before.ending:
                now |= {part: kept.pop(part) for part in span.nodes if part in kept}
            close(before, kept)
        going[key] = span, now
    for span, parts in going.values():
        close(span, parts)
    return sorted(found)
