"""An exact solver of the covering knapsack: at least a given number of nodes at the least cost, from indivisible items.

Nemhauser & Ullmann's dynamic programming over undominated states (Management Science 15(9), 1969), with the bound of
the linear relaxation (Martello & Toth, "Knapsack Problems", 1990, chapters 2 and 3): a state that cannot lead to a
cheaper selection than the best known one is dropped.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

__all__ = ["Item", "cheapest_cover"]


class Item(NamedTuple):
    """An indivisible item.

    Attributes
    ----------
    cost
        Cost, >= 0; an integer, so that sums are exact.
    key
        Unique key for ties: among selections of equal cost and number of items, smaller keys are preferred.
    weight
        Weight, >= 1.
    """

    cost: int
    key: int
    weight: int


#: (weight, price) of a selection.
_State = tuple[int, int]


def cheapest_cover(items: Sequence[Item], demand: int) -> list[Item]:
    """The items of least total cost with a total weight of at least the demand.

    Parameters
    ----------
    items
        Items with unique keys.
    demand
        Required total weight, at most the sum of all weights.

    Returns
    -------
    list of Item
        Selected items, ascending. Among selections of equal cost, the one with the fewest items is selected, and among
        these the one with the lexicographically smallest sorted keys.
    """
    if demand <= 0:
        return []
    # A price encodes cost and ties, so that all selections have different prices and the bound also removes ties. Its
    # high digits are the cost, then the number of items; each item subtracts a bit, the highest one for the smallest
    # key. Python's integers have the necessary length.
    count = len(items)
    ranks = {key: rank for rank, key in enumerate(sorted((item.key for item in items), reverse=True))}
    offers = [((item.cost * (count + 1) + 1 << count) - (1 << ranks[item.key]), item.weight) for item in items]
    # By price for each unit of weight. Two different ratios differ by more than 2**-64 while weights are below 2**32.
    offers.sort(key=lambda offer: (offer[0] << 64) // offer[1])
    weights = [0, *accumulate(weight for _, weight in offers)]
    prices = [0, *accumulate(price for price, _ in offers)]
    best = _greedy(offers, demand)
    states: list[_State] = [(0, 0)]
    for place, (price, weight) in enumerate(offers, start=1):
        grown = [(min(have + weight, demand), paid + price) for have, paid in states]
        front: list[_State] = []
        # States are sorted by descending weight, then by price: a state that is not cheaper than an earlier one is
        # dominated.
        cheapest = best + 1
        for have, paid in sorted(states + grown, key=lambda state: (-state[0], state[1])):
            if paid < cheapest and paid + _least(offers, weights, prices, place, demand - have, best) <= best:
                front.append((have, paid))
                cheapest = paid
                if have == demand:
                    best = paid
        states = front
        if states[-1][0] == demand:
            break
    taken = -best & (1 << count) - 1
    return sorted(item for item in items if taken >> ranks[item.key] & 1)


def _least(
    offers: Sequence[tuple[int, int]],
    weights: Sequence[int],
    prices: Sequence[int],
    first: int,
    missing: int,
    most: int,
) -> int:
    """Lower bound of the price of a missing weight with the offers from ``first`` on, the last of which may be split.

    More than ``most`` if the offers do not suffice.
    """
    if not missing:
        return 0
    last = bisect_left(weights, weights[first] + missing, first)
    if last == len(weights):
        return most + 1
    price, weight = offers[last - 1]
    rest = missing - (weights[last - 1] - weights[first])
    return prices[last - 1] - prices[first] - (-rest * price // weight)


def _greedy(offers: Sequence[tuple[int, int]], demand: int) -> int:
    """Price of a good selection: the cheapest sufficient single offer, or offers by ratio and the cheapest last one."""
    best = sum(price for price, _ in offers)
    have = paid = 0
    for place, (price, weight) in enumerate(offers):
        if place == 0 or have + weight >= demand:
            enough = [last for last, size in offers[place:] if have + size >= demand]
            best = min(best, paid + min(enough, default=best))
        have += weight
        paid += price
        if have >= demand:
            break
    return best
