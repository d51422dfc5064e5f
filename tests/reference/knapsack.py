"""The covering knapsack by plain dynamic programming over what has been gathered so far."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Offer", "least_loss"]


class Offer(NamedTuple):
    """A job that may be preempted: what that loses, whose it is, and the nodes that it brings."""

    loss: int
    id: int
    nodes: int


def least_loss(offers: list[Offer], demand: int) -> list[Offer]:
    """Those that bring at least so many nodes at the least loss.

    docs/model.md: "of equal sums the one with the fewest jobs, then the one with the smallest ids".
    """
    # By what is gathered, no more than the demand: (loss, number, ids ascending). Ids are appended in ascending order,
    # so that the better of two selections of one size stays the better one whatever is added to both.
    best: dict[int, tuple[int, int, tuple[int, ...]]] = {0: (0, 0, ())}
    for offer in sorted(offers, key=lambda offer: offer.id):
        for have, (loss, number, ids) in sorted(best.items(), reverse=True):
            total = min(demand, have + offer.nodes)
            grown = (loss + offer.loss, number + 1, (*ids, offer.id))
            best[total] = min(best.get(total, grown), grown)
    chosen = best[max(0, demand)][2]
    return [offer for offer in offers if offer.id in chosen]
