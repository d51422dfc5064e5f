"""A reservation plan: the reservations to request one after the other, and their expected cost."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from holdfast.policies.planning.cost_distribution import Spending
from holdfast.policies.planning.sequence import HORIZON, ReservationSequence
from holdfast.policies.planning.serialisation import arguments
from holdfast.workloads.ground.checksums import seal_json
from holdfast.workloads.ground.errors import InputError, ParameterError
from holdfast.workloads.ground.wording import count_text

if TYPE_CHECKING:
    from holdfast.workloads.distributions import Distribution

__all__ = ["ReservationPlan"]

Floats = NDArray[np.float64]
#: A sum for an expected cost ends at the first term below this fraction of the sum.
NEGLIGIBLE = 1e-18
#: Number of lengths in the representation of a plan.
_SHOWN = 6


@dataclass(frozen=True, eq=False, init=False, repr=False)
class ReservationPlan(ReservationSequence):
    """A sequence of reservations with its cost, for a runtime distribution or for given runtimes.

    Parameters, attributes and errors are those of :class:`~holdfast.policies.planning.sequence.ReservationSequence`.

    Notes
    -----
    [R] is "Reservation and Checkpointing Strategies for Stochastic Jobs".

    Examples
    --------
    The plan of the introduction of [R]: 20 h with a checkpoint, then to 40 h, then to 80 h.

    >>> from holdfast.policies.planning.costs import CostModel
    >>> plan = ReservationPlan([20, 40, 80], [True, False, False], CostModel(checkpoint=7, restart=7))
    >>> plan.length
    array([27., 27., 67.])
    >>> plan.paid_cost([20, 40, 80])
    array([ 27.,  54., 121.])
    """

    def __repr__(self) -> str:
        shown = ", ".join(f"{length:.6g}" for length in self.length[:_SHOWN])
        rest = ", ..." if len(self.length) > _SHOWN else ""
        saves = f"{int(self.checkpointed.sum()):,} checkpointed" if self.checkpointed.any() else "no checkpoints"
        name = f"{self.strategy}: " if self.strategy else ""
        return f"ReservationPlan({name}{count_text(len(self.length), 'reservations')} of {shown}{rest}; {saves})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ReservationPlan):
            return NotImplemented
        return self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.milestones.tobytes(), self.checkpointed.tobytes(), self.strategy))

    def extend_to_cover(self, distribution: Distribution) -> Self:
        """Extend the plan until further reservations add a negligible amount to expectations over the distribution.

        Raises
        ------
        InputError
            If the expectation is infinite, for example because the distribution has an infinite mean.
        """
        if math.isfinite(distribution.upper):
            return self.extend(float(distribution.upper))
        plan = self
        while True:
            beyond = float(distribution.sf(np.array([plan.milestones[-1]]))[0])
            # Further reservations grow by a constant factor: if the first one is negligible, so is the sum of the
            # others.
            if beyond * plan.milestones[-1] * plan.extension <= NEGLIGIBLE * plan.milestones[0]:
                return plan
            if plan.milestones[-1] >= HORIZON:
                raise InputError(f"the tail of {distribution.name} is too heavy for an expected cost")
            # The plan is extended by several reservations at a time, because each extension copies it.
            plan = plan.extend(min(float(plan.milestones[-1]) * plan.extension**7.9, HORIZON))

    # -- cost --

    def probabilities(self, distribution: Distribution) -> Floats:
        """Probability that each reservation is needed, P(X > t_(k-1)); shape (m,)."""
        return np.concatenate(([1.0], np.asarray(distribution.sf(self.milestones[:-1]), float)))

    def expected_cost(self, distribution: Distribution) -> float:
        """Expected cost (Theorem 1 of [R]), with the extension if the distribution exceeds the last milestone.

        Parameters
        ----------
        distribution
            Distribution of the runtime, discrete or continuous.

        Returns
        -------
        float
            Expected cost, in units of cost.
        """
        plan = self.extend_to_cover(distribution)
        costs = self.costs
        needed = plan.probabilities(distribution)
        failed = np.append(needed[1:], float(distribution.sf(plan.milestones[-1:])[0]))
        lost = np.where(plan.checkpointed, 0.0, plan.work)
        asked = (costs.alpha * plan.length + costs.beta * plan.restart + costs.gamma) * needed
        used = costs.beta * (lost + plan.checkpoint) * failed
        mean = costs.beta * distribution.mean() if costs.beta else 0.0  # which may be infinite
        return float(mean + math.fsum(asked) + math.fsum(used))

    def expected_reservations(self, distribution: Distribution) -> float:
        """Expected number of reservations, the sum of P(X > t_(k-1)), with the extension."""
        return math.fsum(self.extend_to_cover(distribution).probabilities(distribution))

    def count_reservations(self, runtimes: ArrayLike) -> NDArray[np.intp]:
        """Number of reservations of jobs with given runtimes, with the extension; in the shape of the runtimes."""
        times = self._check_runtimes(runtimes)
        return np.searchsorted(self._extend_to(times).milestones, times, side="left") + 1

    def paid_cost(self, runtimes: ArrayLike) -> Floats:
        """The cost of jobs with these runtimes (Equation 5 of [R]), with the extension.

        Parameters
        ----------
        runtimes
            Runtimes, >= 0 and finite, any shape.

        Returns
        -------
        numpy.ndarray
            Costs, in the shape of the runtimes.

        Raises
        ------
        ParameterError
            If a runtime is negative, infinite or not a number.
        """
        times = self._check_runtimes(runtimes)
        plan = self._extend_to(times)
        last = np.searchsorted(plan.milestones, times, side="left")
        used = plan.restart[last] + (times - plan.start[last])
        return np.asarray(plan.spent[last] + self.costs.price(plan.length[last], used), float)

    def _check_runtimes(self, runtimes: ArrayLike) -> Floats:
        times = np.asarray(runtimes, float)
        if not np.all(np.isfinite(times) & (times >= 0)):
            raise ParameterError("runtimes", "finite numbers >= 0", runtimes)
        return times

    def _extend_to(self, times: Floats) -> Self:
        return self.extend(float(times.max())) if times.size else self

    def cost_distribution(self, distribution: Distribution) -> Spending:
        """The distribution of the cost, with quantiles, tails and samples."""
        return Spending(self, distribution)

    def omniscient_cost(self, distribution: Distribution) -> float:
        """Expected cost of an omniscient scheduler: one reservation of exactly each runtime."""
        return float(self.costs.omniscient(distribution.mean()))

    def normalised_cost(self, distribution: Distribution) -> float:
        """Expected cost divided by that of the omniscient scheduler; >= 1."""
        return self.expected_cost(distribution) / self.omniscient_cost(distribution)

    # -- output --

    def rows(self, distribution: Distribution | None = None) -> list[dict[str, Any]]:
        """One row per reservation: milestone, checkpointed, length, restart, work, checkpoint, memory (if known), and,
        with a distribution, the probability that the reservation is needed."""
        columns: dict[str, list[Any]] = {
            "milestone": self.milestones.tolist(),
            "checkpointed": self.checkpointed.tolist(),
            "length": self.length.tolist(),
            "restart": self.restart.tolist(),
            "work": self.work.tolist(),
            "checkpoint": self.checkpoint.tolist(),
        }
        if distribution is not None:
            columns["probability"] = self.probabilities(distribution).tolist()
        if self.memory is not None:
            columns["memory"] = self.memory.tolist()
        return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]

    def to_dict(self, distribution: Distribution | None = None) -> dict[str, Any]:
        """The plan as plain Python values; with a distribution also expected values."""
        shown: dict[str, Any] = {"strategy": self.strategy}
        if distribution is not None:
            shown |= {
                "expected_cost": self.expected_cost(distribution),
                "omniscient_cost": self.omniscient_cost(distribution),
                "expected_reservations": self.expected_reservations(distribution),
            }
        shown["costs"] = self.costs.to_dict(self.milestones)
        shown |= {"extension": self.extension, "extension_checkpointed": self.extension_checkpointed}
        if self.growth is not None:
            shown["growth"] = self.growth.to_dict()
        shown["reservations"] = self.rows(distribution)
        return shown

    def to_json(self, distribution: Distribution | None = None) -> str:
        """The plan as JSON text with a digest, in the time unit of the plan; cost functions become tables."""
        return seal_json(self.to_dict(distribution))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read a plan from the text of :meth:`to_json`.

        Raises
        ------
        InputError
            If the text is not a plan, or was changed. A text without a digest is not checked for changes.
        """
        return cls(**arguments(text))
