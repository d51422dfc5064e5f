"""Oracles of the planner, straight from the definitions of [R], "Reservation and Checkpointing Strategies".

Plain loops over plain numbers; nothing here is shared with the planner, above all not Theorem 1.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

__all__ = ["Prices", "best", "best_plans", "pay", "simulate", "theorem_2"]


class Prices(NamedTuple):
    """Prices, and what checkpoint and restart take at each value v_1, ..., v_n of a distribution."""

    alpha: float
    beta: float
    gamma: float
    checkpoint: Sequence[float]
    restart: Sequence[float]


def pay(values: Sequence[float], at: Sequence[int], flags: Sequence[bool], runtime: float, prices: Prices) -> float:
    """What one job pays: reservation by reservation, Equations 2 to 5.

    ``at`` are the indices (from 0) of the milestones among the values.
    """
    total = 0.0
    saved = 0.0  # work that the last checkpoint holds
    reading = 0.0  # time to read it
    for index, flag in zip(at, flags, strict=True):
        end = values[index]
        writing = prices.checkpoint[index] if flag else 0.0
        length = reading + (end - saved) + writing
        if runtime <= end:
            return total + prices.alpha * length + prices.beta * (reading + runtime - saved) + prices.gamma
        total += (prices.alpha + prices.beta) * length + prices.gamma
        if flag:
            saved, reading = end, prices.restart[index]
    raise AssertionError("the plan does not cover the job")


def _plans(n: int, which: str) -> Iterator[tuple[tuple[int, ...], tuple[bool, ...]]]:
    for count in range(n):
        for chosen in itertools.combinations(range(n - 1), count):
            choices = {"best": (False, True), "all": (True,), "none": (False,)}[which]
            for flags in itertools.product(choices, repeat=count):
                yield (*chosen, n - 1), (*flags, False)


def best_plans(
    values: Sequence[float], probabilities: Sequence[float], prices: Prices, which: str = "best"
) -> tuple[float, list[tuple[tuple[int, ...], tuple[bool, ...]]]]:
    """Least expected cost over every plan there is, and the plans that have exactly that cost."""
    least, found = math.inf, []
    for at, flags in _plans(len(values), which):
        cost = math.fsum(
            f * pay(values, at, flags, v, prices) for v, f in zip(values, probabilities, strict=True) if f > 0
        )
        if cost < least:
            least, found = cost, []
        if cost == least:
            found.append((at, flags))
    return least, found


def best(values: Sequence[float], probabilities: Sequence[float], prices: Prices, which: str = "best") -> float:
    """Least expected cost over every plan there is."""
    return best_plans(values, probabilities, prices, which)[0]


def theorem_2(values: Sequence[float], probabilities: Sequence[float], prices: Prices, which: str = "best") -> float:
    """The recursion of Theorem 2 as printed, O(n^3), with C and R of the milestone where they vary.

    v_0 is 0, the work done before anything ran.
    """
    alpha, beta, gamma = prices[:3]
    n = len(values)
    v = [0.0, *values]
    f = [0.0, *probabilities]
    checkpoint, restart = [0.0, *prices.checkpoint], [0.0, *prices.restart]
    mean = sum(x * p for x, p in zip(v, f, strict=True))
    later = [math.fsum(f[i + 1 :]) for i in range(n + 1)]  # sum of f_k for k > i
    expected = [[beta * mean] * (n + 1) for _ in range(n + 1)]
    for last in range(n - 1, -1, -1):
        for at in range(last, -1, -1):
            least = math.inf
            for j in range(last + 1, n + 1):
                for flag in (0, 1):
                    if j < n and ((which == "all" and not flag) or (which == "none" and flag)):
                        continue
                    after = expected[j if flag else at][j]
                    length = restart[at] + v[j] - v[at] + flag * checkpoint[j] if at else v[j] + flag * checkpoint[j]
                    first = (alpha * length + (beta * restart[at] if at else 0.0) + gamma) * later[last]
                    lost = beta * ((1 - flag) * (v[j] - v[at]) + flag * checkpoint[j]) * later[j]
                    least = min(least, after + first + lost)
            expected[at][last] = least
    return expected[0][0]


def simulate(
    lengths: Sequence[float],
    flags: Sequence[bool],
    checkpoint: Sequence[float],
    restart: Sequence[float],
    prices: tuple[float, float, float],
    runtimes: np.ndarray,
) -> np.ndarray:
    """Run jobs through reservations of these *lengths*, and say what each pays; NaN for those that outlive them.

    ``checkpoint`` and ``restart``: time to write, and later to read, a checkpoint of each reservation.
    """
    alpha, beta, gamma = prices
    paid = np.zeros(len(runtimes))
    running = np.ones(len(runtimes), bool)
    saved = reading = 0.0
    for length, flag, writing, rereading in zip(lengths, flags, checkpoint, restart, strict=True):
        room = length - reading - (writing if flag else 0.0)
        done = running & (runtimes <= (saved + room) * (1 + 1e-12))
        paid[done] += alpha * length + beta * (reading + runtimes[done] - saved) + gamma
        running &= ~done
        paid[running] += (alpha + beta) * length + gamma
        if flag:
            saved, reading = saved + room, rereading
    paid[running] = np.nan
    return paid
