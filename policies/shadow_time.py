"""The shadow time: the earliest time at which enough nodes are free for the first waiting job."""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from typing import NamedTuple

from holdfast.policies.port import TOLERANCE, SystemView, WaitingJob
from holdfast.workloads.table.job import ON_DEMAND

__all__ = ["NEVER", "Shadow", "available_releases", "find_shadow"]

#: Later than every event.
NEVER = 1 << 62


class Shadow(NamedTuple):
    """The reservation of the head: at ``time``, backfilled jobs may still use ``extra`` nodes."""

    time: int
    extra: int


def find_shadow(
    view: SystemView, head: WaitingJob, free: int, started: Sequence[tuple[int, int, int]], nodes: int = 0
) -> Shadow:
    """Compute the shadow time of the head of the queue, and the extra nodes at that time.

    Parameters
    ----------
    view
        The machine at the start of the pass.
    head
        The first job that does not fit.
    free
        Free nodes after the starts of this pass.
    started
        (expected end, tie-break, nodes) of the jobs that this pass has started.
    nodes
        Number of nodes that the head needs; 0: its minimum.

    Returns
    -------
    Shadow
        Source: Mu'alem & Feitelson, IEEE TPDS 12(6), 2001; docs/model.md, "Backfilling", on open reservations.
    """
    nodes = nodes or head.min_nodes
    releases: Sequence[tuple[int, int, int]] = view.releases
    if started:
        merged = list(releases)
        for release in started:
            insort(merged, release)
        releases = merged
    # On-demand jobs are first in the queue, so that one still waits only if the head is one. The queue of the view also
    # contains the jobs that this pass has started.
    releases = available_releases(view, releases, collecting=head.type is not ON_DEMAND)
    walk = iter(releases)
    for time, _, released in walk:
        free += released
        if free >= nodes:
            # All nodes released at the shadow time itself count, so the loop continues to the end of that instant.
            for at, _, more in walk:
                if at > time + TOLERANCE:
                    break
                free += more
            return Shadow(time, free - nodes)
    return Shadow(NEVER, 0)


def available_releases(
    view: SystemView, releases: Sequence[tuple[int, int, int]], *, collecting: bool
) -> Sequence[tuple[int, int, int]]:
    """The releases available to the queue, taking into account that open reservations collect and release nodes.

    A reservation collects its missing nodes from those released before the end of the walltime of its job. It then
    releases all of its nodes, so that no node is promised twice. While an on-demand job waits, reservations collect
    nothing and release only the nodes that they have.
    """
    if not view.reservations:
        return releases
    walk = [(at, 1, nodes, -1) for at, _, nodes in releases]
    missing: dict[int, int] = {}
    for index, reservation in enumerate(view.reservations):
        at = max(reservation.estimated_arrival, view.now) + reservation.walltime
        nodes = reservation.requested if collecting else reservation.idle + reservation.lent
        walk.append((at, 0, nodes, index))
        if collecting and reservation.missing:
            missing[index] = reservation.missing
    walk.sort()
    left_over: list[tuple[int, int, int]] = []
    for at, tie, nodes, index in walk:
        left = nodes
        if index >= 0:
            left -= missing.pop(index, 0)
        else:
            # The view lists reservations by notice, earliest first.
            for waiting in list(missing):
                taken = min(left, missing[waiting])
                left -= taken
                missing[waiting] -= taken
                if not missing[waiting]:
                    del missing[waiting]
                if not left:
                    break
        if left:
            left_over.append((at, tie, left))
    return left_over
