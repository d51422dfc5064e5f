"""Costs of a reservation: the prices of the platform, and the times of checkpoints and restarts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.ground.numbers import decimal

__all__ = ["CostModel", "Duration", "Table"]

Floats = NDArray[np.float64]
#: A duration, or a function that returns durations for an array of milestones.
Duration = float | Callable[[Floats], ArrayLike]


@dataclass(frozen=True, eq=False)
class Table:
    """A duration as a function of the milestone: piecewise linear between given points, constant outside.

    Plans in JSON contain such tables in place of cost functions, exact at the milestones of the plan.

    Parameters
    ----------
    milestones
        Milestones in ascending order, shape (m,).
    durations
        Durations at the milestones, shape (m,).

    Examples
    --------
    >>> Table([1.0, 3.0], [0.0, 2.0])(np.array([2.0, 9.0]))
    array([1., 2.])
    """

    milestones: ArrayLike
    durations: ArrayLike

    def __call__(self, milestones: ArrayLike) -> Floats:
        """Durations at the milestones, in their shape."""
        x, y = np.asarray(self.milestones, float), np.asarray(self.durations, float)
        return np.asarray(np.interp(np.asarray(milestones, float), x, y), float)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Table):
            return NotImplemented
        return np.array_equal(self.milestones, other.milestones) and np.array_equal(self.durations, other.durations)

    def __hash__(self) -> int:
        return hash(np.asarray(self.milestones, float).tobytes() + np.asarray(self.durations, float).tobytes())


@dataclass(frozen=True)
class CostModel:
    """Prices of a reservation, and durations of checkpoint and restart (Equation 1 of [R]).

    A reservation of length W, used for a time w, costs ``alpha * W + beta * w + gamma``. The caller chooses the unit of
    time, which is the same for a whole plan; the unit of cost is that of ``alpha`` times the unit of time.

    Parameters
    ----------
    alpha
        Price of a unit of reserved time; > 0.
    beta
        Price of a unit of used time; >= 0.
    gamma
        Fixed price of a reservation; >= 0.
    checkpoint
        Duration of a checkpoint, C; >= 0. If it varies, e.g. with the memory in use: a function from an array of
        milestones to an array of durations.
    restart
        Duration of a restart, R; >= 0. If it varies: such a function of the milestone of the checkpoint that is read.

    Raises
    ------
    ParameterError
        If a value is negative, not finite or not a number.

    Notes
    -----
    [R] is "Reservation and Checkpointing Strategies for Stochastic Jobs", section 2.2; there C and R are constant.

    Examples
    --------
    >>> costs = CostModel(checkpoint=0.1, restart=lambda t: 0.05 * t)
    >>> costs.checkpoint_at([1.0, 2.0])
    array([0.1, 0.1])
    >>> costs.restart_at([1.0, 2.0])
    array([0.05, 0.1 ])
    """

    alpha: float = 1.0
    beta: float = 0.0
    gamma: float = 0.0
    checkpoint: Duration = 0.0
    restart: Duration = 0.0

    def __post_init__(self) -> None:
        for name in ("alpha", "beta", "gamma", "checkpoint", "restart"):
            value = getattr(self, name)
            if callable(value) and name in {"checkpoint", "restart"}:
                continue
            positive = name == "alpha"
            legal = f"a finite number {'>' if positive else '>='} 0"
            try:
                number = decimal(value) if isinstance(value, str) else float(value)
            except (TypeError, ValueError):
                raise ParameterError(name, legal, value) from None
            if not np.isfinite(number) or number < 0 or (positive and number == 0):
                raise ParameterError(name, legal, value)
            object.__setattr__(self, name, number)

    @property
    def checkpoint_varies(self) -> bool:
        """Whether C is a function of the milestone."""
        return callable(self.checkpoint)

    @property
    def restart_varies(self) -> bool:
        """Whether R is a function of the milestone."""
        return callable(self.restart)

    def checkpoint_at(self, milestones: ArrayLike) -> Floats:
        """Duration of a checkpoint at each milestone.

        Parameters
        ----------
        milestones
            Milestones, any shape.

        Returns
        -------
        numpy.ndarray
            Durations, in the same shape.

        Raises
        ------
        ParameterError
            If a user function returns negative, infinite or undefined durations, or another shape.
        """
        return _durations("checkpoint", self.checkpoint, milestones)

    def restart_at(self, milestones: ArrayLike) -> Floats:
        """Duration of a restart from the checkpoint at each milestone; parameters as in :meth:`checkpoint_at`."""
        return _durations("restart", self.restart, milestones)

    def price(self, length: ArrayLike, used: ArrayLike) -> Floats:
        """Cost of reservations of these lengths, used for the times ``used`` (Equation 1 of [R])."""
        return np.asarray(self.alpha * np.asarray(length) + self.beta * np.asarray(used) + self.gamma, float)

    def omniscient(self, runtime: ArrayLike) -> Floats:
        """Cost of an omniscient scheduler: one reservation of exactly the runtime."""
        return self.price(runtime, runtime)

    def to_dict(self, milestones: ArrayLike) -> dict[str, Any]:
        """The costs as JSON values; functions are replaced by tables of their values at the milestones."""
        at = np.asarray(milestones, float)
        shown: dict[str, Any] = {"alpha": self.alpha, "beta": self.beta, "gamma": self.gamma}
        for name, value, durations in (
            ("checkpoint", self.checkpoint, self.checkpoint_at),
            ("restart", self.restart, self.restart_at),
        ):
            varies = {"milestones": at.tolist(), "durations": durations(at).tolist()}
            shown[name] = varies if callable(value) else value
        return shown


def _durations(name: str, duration: Duration, milestones: ArrayLike) -> Floats:
    at = np.asarray(milestones, float)
    if not callable(duration):
        return np.full(at.shape, duration)
    found = np.asarray(duration(at), float)
    if found.shape not in {at.shape, ()}:
        raise ParameterError(name, f"a function that gives an array of shape {at.shape}", found.shape)
    if not np.all(np.isfinite(found) & (found >= 0)):
        raise ParameterError(name, "a function with durations that are finite and >= 0", found.tolist())
    return np.broadcast_to(found, at.shape).astype(float)
