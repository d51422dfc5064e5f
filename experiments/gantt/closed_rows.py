"""Rows of the page for nodes that outages close and no job uses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from holdfast.experiments.placement.ranges import Ranges, union, without
from holdfast.experiments.placement.spans import DOWN, HELD, Span
from holdfast.experiments.recordings.allocations import Allocations
from holdfast.simulator.results.recording import Recording
from holdfast.workloads.ground.units import to_ticks
from holdfast.workloads.outages.outage import OutageKind

__all__ = ["closed_spans", "span_levels"]


def closed_spans(
    allocations: Allocations, running: Sequence[Span], first: Sequence[int], recording: Recording
) -> list[Span]:
    """Spans in which rows are closed, of kind down or, for advance reservations, held.

    Parameters
    ----------
    allocations
        The machine and its outages.
    running
        Rows of the runs; times since the origin of the recording.
    first
        First row of each node; the last number is that of all rows.
    recording
        The result, which says from when to when time counts.
    """
    if recording.opened is None or recording.closed is None:
        return []
    opens, closes, origin = recording.opened, recording.closed, recording.origin
    windows: dict[int, list[tuple[bool, int, int, int]]] = {}
    for number, (outage, nodes) in enumerate(allocations.outages, start=1):
        start, end = max(opens, to_ticks(outage.start)), min(closes, to_ticks(outage.end))
        if start < end:
            for node in nodes:
                item = (outage.kind is OutageKind.RESERVATION, number, start - origin, end - origin)
                windows.setdefault(node, []).append(item)
    return [span for node in sorted(windows) for span in _of_node(windows[node], running, first[node], first[node + 1])]


def _of_node(windows: list[tuple[bool, int, int, int]], running: Sequence[Span], low: int, high: int) -> Iterator[Span]:
    """Closed rows of one node, piece by piece."""
    own = [span for span in running if any(begin < high and end > low for begin, end in span.nodes)]
    times = {time for _, _, start, end in windows for time in (start, end)}
    times |= {time for span in own for time in (span.start, span.end)}
    for start, end in pairwise(sorted(times)):
        here = [(reserved, number) for reserved, number, begin, until in windows if begin <= start < until]
        if here:
            reserved, number = min(here)
            used: Ranges = ()
            for span in own:
                if span.start <= start < span.end:
                    used = union(used, span.nodes)
            free = without(((low, high),), tuple((max(a, low), min(b, high)) for a, b in used if a < high and b > low))
            if free:
                yield Span(HELD if reserved else DOWN, -number, 0, start, end, free)


def span_levels(spans: Iterable[Span], kind: str) -> list[tuple[int, int]]:
    """(Time, rows of a kind) from each change on."""
    changes: dict[int, int] = {}
    for span in spans:
        if span.kind == kind:
            size = sum(high - low for low, high in span.nodes)
            changes[span.start] = changes.get(span.start, 0) + size
            changes[span.end] = changes.get(span.end, 0) - size
    found, level = [], 0
    for time in sorted(changes):
        level += changes[time]
        found.append((time, level))
    return found
