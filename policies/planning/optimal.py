"""The cheapest plan for a discrete distribution: among all plans, or among plans with all or with no checkpoints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from holdfast.policies.kernels.compiled_or_plain import run
from holdfast.policies.planning.costs import CostModel
from holdfast.policies.planning.kernel import (
    STEPS,
    Choices,
    Grid,
    Lines,
    LineTree,
    Prices,
    RowCosts,
    RowRange,
    chain,
    chain_any,
    sweep,
)
from holdfast.workloads.ground.errors import ParameterError

__all__ = ["Solution", "cheapest"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Solution:
    """The result of the dynamic program.

    Parameters
    ----------
    milestones, checkpointed
        Milestones of the reservations; shape (m,).
    cost
        Expected cost of the sequence.
    """

    milestones: Floats
    checkpointed: NDArray[np.bool_]
    cost: float


def cheapest(
    values: ArrayLike,
    probabilities: ArrayLike,
    costs: CostModel,
    checkpoints: Literal["best", "all", "none"] = "best",
    survival: ArrayLike | None = None,
) -> Solution:
    """The sequence of reservations with the least expected cost for a discrete distribution of the runtime.

    Parameters
    ----------
    values
        Runtimes v_i, strictly ascending, >= 0; shape (n,).
    probabilities
        Probabilities f_i with sum 1; shape (n,).
    costs
        Prices and durations; C and R may vary with the milestone.
    checkpoints
        Reservations with checkpoints: those for which a checkpoint reduces the cost (Theorem 2 of [R]), all but the
        last one (ALL-CKPT), or none (NO-CKPT).
    survival
        P(Y > v_i); shape (n,). None: summed from the probabilities.

    Returns
    -------
    Solution
        The sequence; it ends with v_n, without a checkpoint. At equal costs, larger milestones are chosen.

    Raises
    ------
    ParameterError
        If the values do not ascend, or the probabilities are not valid.

    Notes
    -----
    The time is O(n^2) for the best sequence, and O(n) for all or no checkpoints (O(n log n) for all if the restart cost
    varies); the memory is O(n).
    The proof is in docs/planner.md. [R] is "Reservation and Checkpointing Strategies for Stochastic Jobs",
    section 3.2; its algorithm takes O(n^3) time and O(n^2) memory.

    Examples
    --------
    >>> found = cheapest([1, 2, 10], [0.6, 0.3, 0.1], CostModel(checkpoint=0.1, restart=0.1))
    >>> found.milestones, found.checkpointed, round(found.cost, 6)
    (array([ 1.,  2., 10.]), array([ True,  True, False]), 2.39)
    """
    v, f, s = _check_distribution(values, probabilities, survival)
    mean = float(v @ f)
    v, s = _useful(v, f, s, costs)
    checkpoint, restart = costs.checkpoint_at(v), costs.restart_at(v)
    # No checkpoint is written at the last value, and none is read before the first checkpoint.
    v, s = np.concatenate(([0.0], v)), np.concatenate(([1.0], s))
    checkpoint, restart = np.concatenate(([0.0], checkpoint)), np.concatenate(([0.0], restart))
    checkpoint[-1] = 0.0
    grid, prices = Grid(v.size - 1, v, s, checkpoint, restart), Prices(costs.alpha, costs.beta, costs.gamma)
    if checkpoints == "all":
        at, saved, cost = _chain(grid, prices, costs.restart_varies)
    else:
        at, saved, cost = _sweep(grid, prices, not costs.restart_varies, checkpoints == "none")
    return Solution(v[at], np.array(saved, bool), costs.beta * mean + cost)


def _check_distribution(
    values: ArrayLike, probabilities: ArrayLike, survival: ArrayLike | None
) -> tuple[Floats, Floats, Floats]:
    v, f = np.asarray(values, float), np.asarray(probabilities, float)
    if v.ndim != 1 or not v.size or not np.all(np.isfinite(v)) or np.any(np.diff(v) <= 0) or v[0] < 0 or v[-1] <= 0:
        raise ParameterError("values", "finite numbers >= 0, strictly ascending, the last > 0", values)
    if f.shape != v.shape or not np.all(f >= 0) or not np.isclose(f.sum(), 1.0, rtol=1e-6):
        raise ParameterError("probabilities", "numbers >= 0 with sum 1, one for each value", probabilities)
    # Survival is summed from the end, because 1 - cdf would lose precision in the tail.
    s = np.append(np.cumsum(f[:0:-1])[::-1], 0.0) if survival is None else np.array(survival, float)
    if s.shape != v.shape or np.any(np.diff(s, prepend=1.0) > 1e-12):
        raise ParameterError("survival", "numbers <= 1 that do not ascend, one for each value", survival)
    s[-1] = 0.0
    return v, f, s


def _useful(v: Floats, f: Floats, s: Floats, costs: CostModel) -> tuple[Floats, Floats]:
    """Candidates for milestones: values with positive probability, and the last one.

    If a checkpoint or a restart costs less at a value with probability 0, that value is also a candidate.
    """
    varies = costs.checkpoint_varies or costs.restart_varies
    keep = v > 0 if varies else (f > 0) & (v > 0)
    keep[-1] = True
    return v[keep], s[keep]


def _walk(choices: Choices, start: int, end: int) -> tuple[list[int], list[bool]]:
    """Follow the choices of a row until a checkpoint or the end."""
    at: list[int] = []
    marks: list[bool] = []
    l = start  # noqa: E741 # the paper's index
    while l < end:
        marks.append(bool(choices.saved[l]))
        l = int(choices.following[l])  # noqa: E741
        at.append(l)
        if marks[-1]:
            break
    return at, marks


def _sweep(grid: Grid, prices: Prices, monotone: bool, none: bool) -> tuple[list[int], list[bool], float]:
    n = grid.n
    costs, choices = _buffers(n)
    shared, own = _lines(n), _lines(n)

    def compute_rows(top: int, bottom: int, *, known: bool) -> None:
        steps = (top - bottom + 1) * (n - bottom) // 2
        run(
            sweep, steps // STEPS, grid=grid, prices=prices, rows=RowRange(top, bottom, int(known), int(monotone)),
            costs=costs, choices=choices, shared=shared, own=own,
        )  # fmt: skip

    # Without checkpoints row 0 is all there is, and the cost of a reservation with one stays infinite.
    compute_rows(0 if none else n - 1, 0, known=none)
    cost = float(costs.diagonal[0])
    ends, marks = _walk(choices, 0, n)
    while ends[-1] < n:
        # The choices of earlier rows are not stored: the row of each checkpoint in the plan is computed again.
        row = ends[-1]
        compute_rows(row, row, known=True)
        more, flags = _walk(choices, row, n)
        ends += more
        marks += flags
    marks[-1] = False
    return ends, marks, cost


def _chain(grid: Grid, prices: Prices, restart_varies: bool) -> tuple[list[int], list[bool], float]:
    n = grid.n
    costs, choices = _buffers(n)
    given: dict[str, Any] = {"grid": grid, "prices": prices, "costs": costs, "choices": choices}
    if restart_varies:
        size = 1 << (n - 1).bit_length()
        tree = LineTree(size, np.zeros(2 * size, np.int64), np.zeros(n + 1), np.zeros(n + 1))
        run(chain_any, n * size.bit_length() // STEPS, **given, tree=tree)
    else:
        run(chain, n // STEPS, **given, lines=_lines(n))
    ends, marks = [0], [True]
    while ends[-1] < n:
        ends.append(int(choices.following[ends[-1]]))
        marks.append(ends[-1] < n)
    return ends[1:], marks[1:], float(costs.diagonal[0])


def _buffers(n: int) -> tuple[RowCosts, Choices]:
    costs = RowCosts(np.zeros(n + 1), np.full(n + 1, np.inf), np.zeros(n + 1, np.int64))
    return costs, Choices(np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64))


def _lines(n: int) -> Lines:
    return Lines(np.zeros(n + 1), np.zeros(n + 1), np.zeros(n + 1, np.int64))
