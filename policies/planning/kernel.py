"""The loops of the planner: one plain-Python source, which numba also compiles for large plans.

The functions below use only loops, numbers and indexing, and run by
:func:`holdfast.policies.kernels.compiled_or_plain.run`. They allocate nothing; the caller passes the buffers. Arrays
have the shape (n + 1,). docs/planner.md describes the algorithm and proves it. The cost of a reservation up to a
milestone is a line over the survival x before it; the cheapest milestone has the lowest line at x. A lower
envelope has the lines that are lowest somewhere, in the order in which falling x reaches them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = [
    "STEPS",
    "Choices",
    "Grid",
    "LineTree",
    "Lines",
    "Prices",
    "RowCosts",
    "RowRange",
    "chain",
    "chain_any",
    "sweep",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

#: Inner steps here that take as long as one step of a replay of jobs: a plan over 245 values takes 0.03 s of processor
#: time either way, one over 500 values 0.03 s with code from the cache and 0.13 s in plain Python.
STEPS = 3


class Grid(NamedTuple):
    """The candidates for milestones.

    Attributes
    ----------
    n
        Number of candidates. Index 0 means that no work is done yet.
    values
        Runtimes, strictly ascending, from 0.
    survival
        Probability of a longer runtime, from 1.
    checkpoint, restart
        Durations of a checkpoint and of a restart there; no checkpoint is written at the last one.
    """

    n: int
    values: Floats
    survival: Floats
    checkpoint: Floats
    restart: Floats


class Prices(NamedTuple):
    """The prices of a reservation: alpha of its length, beta of the time used, gamma of each."""

    alpha: float
    beta: float
    gamma: float


class RowRange(NamedTuple):
    """The rows to compute.

    Attributes
    ----------
    top, bottom
        First and last row.
    known
        Whether the next checkpointed reservations are known, or there are none.
    monotone
        Whether the duration of a restart is constant.
    """

    top: int
    bottom: int
    known: int
    monotone: int


class RowCosts(NamedTuple):
    """Expected costs of each row.

    Attributes
    ----------
    diagonal
        Cost after a checkpoint at the row's value.
    second, second_at
        The best next reservation that ends in a checkpoint: its cost without the terms of the row, and its milestone.
    """

    diagonal: Floats
    second: Floats
    second_at: Ints


class Choices(NamedTuple):
    """The choices of the last row: the next milestone after each, and whether its reservation is checkpointed."""

    following: Ints
    saved: Ints


class Lines(NamedTuple):
    """Lines by slope and intercept, and the milestones that they belong to."""

    slopes: Floats
    heights: Floats
    milestones: Ints


class LineTree(NamedTuple):
    """A Li Chao tree: a heap over the rows, of which each node has a line.

    Attributes
    ----------
    size
        Smallest power of two that is at least the number of rows.
    nodes
        Milestone of the line in each node; 0: none; shape (2 size,).
    slopes, heights
        The line of each milestone.
    """

    size: int
    nodes: Ints
    slopes: Floats
    heights: Floats


def insert_line(slope: Any, height: Any, milestone: Any, head: Any, tail: Any, lines: Lines) -> Any:
    """Append a line of smaller slope to the envelope from ``head`` to before ``tail``; returns the new ``tail``."""
    slopes, heights, milestones = lines
    # The last line goes if its two neighbours together are lower everywhere.
    while tail - head >= 2 and (height - heights[tail - 2]) * (slopes[tail - 2] - slopes[tail - 1]) <= (
        heights[tail - 1] - heights[tail - 2]
    ) * (slopes[tail - 2] - slope):
        tail -= 1
    slopes[tail] = slope
    heights[tail] = height
    milestones[tail] = milestone
    return tail + 1


def lowest_line(x: Any, head: Any, tail: Any, lines: Lines) -> Any:
    """Place of the lowest line of an envelope at x; lines before ``head`` are not the lowest at any smaller x."""
    slopes, heights, _ = lines
    best = slopes[head] * x + heights[head]
    while tail - head >= 2:
        other = slopes[head + 1] * x + heights[head + 1]
        # The comparison is strict, so that the largest milestone is kept among equal costs.
        if other >= best:
            break
        head += 1
        best = other
    return head


def insert_checkpoint(
    milestone: Any, head: Any, tail: Any, diagonal: Any, grid: Grid, prices: Prices, lines: Lines
) -> Any:
    """Append the line of a reservation that ends in a checkpoint to an envelope; returns the new ``tail``."""
    slope = prices.alpha * (grid.values[milestone] + grid.checkpoint[milestone])
    height = diagonal[milestone] + prices.beta * grid.checkpoint[milestone] * grid.survival[milestone]
    # A line with a slope at least that of its predecessor is above it everywhere.
    if tail > head and slope >= lines.slopes[tail - 1]:
        return tail
    return insert_line(slope, height, milestone, head, tail, lines)


def search_checkpoint(row: Any, grid: Grid, prices: Prices, costs: RowCosts) -> None:
    """Find the best next reservation that ends in a checkpoint among all milestones, where restarts vary."""
    n, values, survival, checkpoint, _ = grid
    x = survival[row]
    where = n
    best = prices.alpha * values[n] * x
    for j in range(n - 1, row, -1):
        other = (
            prices.alpha * (values[j] + checkpoint[j]) * x
            + costs.diagonal[j]
            + prices.beta * checkpoint[j] * survival[j]
        )
        if other < best:
            best = other
            where = j
    costs.second[row] = best
    costs.second_at[row] = where


def row_cost(row: Any, grid: Grid, prices: Prices, costs: RowCosts, choices: Choices, lines: Lines) -> Any:
    """Expected cost after a checkpoint at the row's value, E(c, l) for l = n - 1, ..., c; sets the choices."""
    n, values, survival, _, _ = grid
    fixed = fixed_cost(row, grid, prices)
    start = values[row]
    head = 0
    tail = 0
    cost = 0.0
    for l in range(n - 1, row - 1, -1):  # noqa: E741 # the paper's index
        x = survival[l]
        j = l + 1
        height = cost + prices.beta * (values[j] - start) * survival[j]
        tail = insert_line(prices.alpha * values[j], height, j, head, tail, lines)
        head = lowest_line(x, head, tail, lines)
        best = lines.slopes[head] * x + lines.heights[head]
        where = lines.milestones[head]
        mark = 0
        if costs.second[l] < best or (costs.second[l] == best and costs.second_at[l] > where):
            best = costs.second[l]
            where = costs.second_at[l]
            mark = 1
        cost = fixed * x + best
        choices.following[l] = where
        choices.saved[l] = mark
    return cost


def sweep(
    grid: Grid, prices: Prices, rows: RowRange, costs: RowCosts, choices: Choices, shared: Lines, own: Lines
) -> None:
    """Compute rows of the recurrence, from the last to the first: the expected cost after a checkpoint at each value.

    Parameters
    ----------
    grid, prices
        The problem.
    rows
        The rows.
    costs
        Gets the costs of the rows; ``second`` and ``second_at`` are read if ``known``.
    choices
        Gets the choices of the last row.
    shared, own
        Buffers: the envelope that is common to all rows, and that of a row.
    """
    head = 0
    tail = 0
    for row in range(rows.top, rows.bottom - 1, -1):
        if rows.known == 0 and rows.monotone != 0:
            tail = insert_checkpoint(row + 1, head, tail, costs.diagonal, grid, prices, shared)
            head = lowest_line(grid.survival[row], head, tail, shared)
            costs.second[row] = shared.slopes[head] * grid.survival[row] + shared.heights[head]
            costs.second_at[row] = shared.milestones[head]
        elif rows.known == 0:
            search_checkpoint(row, grid, prices, costs)
        costs.diagonal[row] = row_cost(row, grid, prices, costs, choices, own)


# Compiling it takes two seconds.
sweep.slow_to_compile = True  # type: ignore[attr-defined]


def chain(grid: Grid, prices: Prices, costs: RowCosts, choices: Choices, lines: Lines) -> None:
    """Compute all rows if every reservation is checkpointed and the duration of a restart is constant, in O(n).

    Parameters
    ----------
    grid, prices
        The problem.
    costs, choices
        Get the cost of each row, and the milestone of the next reservation after it.
    lines
        Buffer of the envelope.
    """
    head = 0
    tail = 0
    costs.diagonal[grid.n] = 0.0
    for row in range(grid.n - 1, -1, -1):
        x = grid.survival[row]
        tail = insert_checkpoint(row + 1, head, tail, costs.diagonal, grid, prices, lines)
        head = lowest_line(x, head, tail, lines)
        best = lines.slopes[head] * x + lines.heights[head]
        choices.following[row] = lines.milestones[head]
        costs.diagonal[row] = fixed_cost(row, grid, prices) * x + best


def chain_any(grid: Grid, prices: Prices, costs: RowCosts, choices: Choices, tree: LineTree) -> None:
    """As :func:`chain` where the duration of a restart varies: lines arrive in any order, O(n log n)."""
    for node in range(2 * tree.size):
        tree.nodes[node] = 0
    costs.diagonal[grid.n] = 0.0
    for row in range(grid.n - 1, -1, -1):
        x = grid.survival[row]
        new = row + 1
        tree.slopes[new] = prices.alpha * (grid.values[new] + grid.checkpoint[new])
        tree.heights[new] = costs.diagonal[new] + prices.beta * grid.checkpoint[new] * grid.survival[new]
        insert_into_tree(new, grid, tree)
        where = lowest_in_tree(row, x, tree)
        choices.following[row] = where
        best = tree.slopes[where] * x + tree.heights[where]
        costs.diagonal[row] = fixed_cost(row, grid, prices) * x + best


def insert_into_tree(new: Any, grid: Grid, tree: LineTree) -> None:
    """Insert the line of a milestone."""
    size, nodes, slopes, heights = tree
    low = 0
    high = size - 1
    node = 1
    while node < 2 * size:
        old = nodes[node]
        if old == 0:
            nodes[node] = new
            break
        middle = (low + high) // 2
        x = grid.survival[min(middle, grid.n - 1)]
        # The node keeps the line that is lower at the middle; at equal values the one with the larger milestone.
        one = slopes[new] * x + heights[new]
        two = slopes[old] * x + heights[old]
        if one < two or (one == two and new > old):
            nodes[node] = new
            new, old = old, new
        # The other line can be lower only on one side: with a larger slope at smaller x, which have higher indices.
        if slopes[new] > slopes[old]:
            low = middle + 1
            node = 2 * node + 1
        elif slopes[new] < slopes[old]:
            high = middle
            node = 2 * node
        else:
            break


def lowest_in_tree(row: Any, x: Any, tree: LineTree) -> Any:
    """The milestone of the lowest line at x, the survival of a row; of equal ones the largest."""
    size, nodes, slopes, heights = tree
    where = 0
    best = 0.0
    node = row + size
    while node >= 1:
        j = nodes[node]
        if j != 0:
            other = slopes[j] * x + heights[j]
            if where == 0 or other < best or (other == best and j > where):
                best = other
                where = j
        node //= 2
    return where


def fixed_cost(row: Any, grid: Grid, prices: Prices) -> Any:
    """Part of the cost of each reservation after a row's checkpoint that does not depend on its milestone."""
    restart = grid.restart[row]
    return prices.alpha * (restart - grid.values[row]) + prices.beta * restart + prices.gamma
