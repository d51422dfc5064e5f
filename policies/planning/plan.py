"""A plan: which reservations to ask for, one after the other, until the job is done."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from policies.planning import serialisation
from policies.planning.costs import CostModel
from workloads.errors import InputError, ParameterError

if TYPE_CHECKING:
    from policies.planning.spending import Spending
    from workloads.laws import Law

__all__ = ["ReservationPlan"]

Floats = NDArray[np.float64]
#: A term of the expected cost that is smaller than this part of the sum ends the sum.
NEGLIGIBLE = 1e-18
#: No reservation of an extended plan is longer: an expected cost that still grows there is infinite.
HORIZON = 1e250


@dataclass(frozen=True, eq=False)
class ReservationPlan:
    """A sequence of reservations with checkpoints (Definition 1 of [R]), and what it costs.

    Reservation k (counted from 1) covers the jobs with a runtime in (t_(k-1), t_k]. It restarts from the last
    checkpoint (R_k), works from there to the milestone t_k (T_k), and writes a checkpoint (C_k) if it is to:
    W_k = R_k + T_k + C_k. What was worked without a checkpoint is lost.

    Parameters
    ----------
    milestones
        t_k: work done at the end of each reservation; strictly ascending, > 0, shape (m,).
    checkpointed
        Whether each reservation ends with a checkpoint; shape (m,), or one value for all.
    costs
        Prices and durations.
    strategy
        Name of the strategy that made it.
    memory
        Memory that each reservation asks for, in the caller's unit; shape (m,), or None.
    extension
        A job that outlives the last milestone gets further ones, each this many times the one before; > 1.
    extension_checkpointed
        Whether those reservations are checkpointed; where None, they are if any reservation of the plan is.

    Attributes
    ----------
    work, restart, checkpoint, length
        T_k, R_k, C_k and W_k; shape (m,).

    Raises
    ------
    ParameterError
        If there are no milestones, if they do not ascend, if the shapes differ, or if the extension is not > 1.

    Notes
    -----
    [R] is "Reservation and Checkpointing Strategies for Stochastic Jobs"; section 2. The extension is [S]'s.

    Examples
    --------
    The plan of the introduction of [R]: 20 h with a checkpoint, then to 40 h, then to 80 h.

    >>> plan = ReservationPlan([20, 40, 80], [True, False, False], CostModel(checkpoint=7, restart=7))
    >>> plan.length
    array([27., 27., 67.])
    >>> plan.cost_of([20, 40, 80])
    array([ 27.,  54., 121.])
    """

    milestones: Floats
    checkpointed: NDArray[np.bool_]
    costs: CostModel = field(default_factory=CostModel)
    strategy: str = ""
    memory: Floats | None = None
    extension: float = 1.5
    extension_checkpointed: bool | None = None

    def __init__(
        self,
        milestones: ArrayLike,
        checkpointed: ArrayLike,
        costs: CostModel | None = None,
        strategy: str = "",
        memory: ArrayLike | None = None,
        extension: float = 1.5,
        extension_checkpointed: bool | None = None,
    ) -> None:
        ends = np.array(milestones, float)
        if ends.ndim != 1 or not ends.size or not np.all(np.isfinite(ends)) or not np.all(np.diff(ends, prepend=0) > 0):
            raise ParameterError("milestones", "one or more finite numbers > 0, strictly ascending", milestones)
        flags = np.array(checkpointed, bool)
        if flags.shape not in {ends.shape, ()}:
            raise ParameterError(
                "checkpointed", f"one value, or one for each of the {ends.size} milestones", checkpointed
            )
        flags = np.broadcast_to(flags, ends.shape).copy()
        if memory is not None and np.shape(memory) != ends.shape:
            raise ParameterError("memory", f"one value for each of the {ends.size} milestones", memory)
        if not (math.isfinite(extension) and extension > 1):
            raise ParameterError("extension", "a finite number > 1", extension)
        asked = None if memory is None else np.array(memory, float)
        for array in (ends, flags, asked):
            if array is not None:
                array.flags.writeable = False
        values = {
            "milestones": ends,
            "checkpointed": flags,
            "costs": CostModel() if costs is None else costs,
            "strategy": strategy,
            "memory": asked,
            "extension": float(extension),
            "extension_checkpointed": bool(flags.any()) if extension_checkpointed is None else extension_checkpointed,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return int(self.milestones.size)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ReservationPlan):
            return NotImplemented
        return self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.milestones.tobytes(), self.checkpointed.tobytes(), self.strategy))

    # -- the anatomy of the reservations (Equations 3 and 4 of [R]) --

    @cached_property
    def _from(self) -> NDArray[np.intp]:
        """Number of the last checkpointed reservation before each one, 0 where there is none; shape (m,)."""
        marks = np.where(self.checkpointed, np.arange(1, len(self) + 1), 0)
        return np.concatenate(([0], np.maximum.accumulate(marks)[:-1]))

    @cached_property
    def start(self) -> Floats:
        """Work that is already saved when each reservation begins, t_k - T_k; shape (m,)."""
        return np.concatenate(([0.0], self.milestones))[self._from]

    @cached_property
    def work(self) -> Floats:
        """Work of each reservation, T_k; shape (m,)."""
        return self.milestones - self.start

    @cached_property
    def restart(self) -> Floats:
        """Time to read the last checkpoint, R_k; 0 before the first; shape (m,)."""
        return np.concatenate(([0.0], self.costs.restart_at(self.milestones)))[self._from]

    @cached_property
    def checkpoint(self) -> Floats:
        """Time to write the checkpoint, C_k; 0 without; shape (m,)."""
        return np.where(self.checkpointed, self.costs.checkpoint_at(self.milestones), 0.0)

    @cached_property
    def length(self) -> Floats:
        """Length to ask for, W_k = R_k + T_k + C_k; shape (m,)."""
        return self.restart + self.work + self.checkpoint

    @cached_property
    def _spent(self) -> Floats:
        """Paid for the reservations before each one, all of which failed and were used in full; shape (m,)."""
        return np.concatenate(([0.0], np.cumsum(self.costs.price(self.length, self.length))[:-1]))

    # -- beyond the last milestone --

    def extended(self, runtime: float) -> ReservationPlan:
        """The plan with as many further reservations as a job of that runtime needs (itself where it needs none)."""
        if math.isnan(runtime) or runtime > HORIZON:
            raise ParameterError("runtime", f"a number <= {HORIZON:g}", runtime)
        ends = [float(self.milestones[-1])]
        while ends[-1] < runtime:
            ends.append(ends[-1] * self.extension)
        more = len(ends) - 1
        if not more:
            return self
        return replace(
            self,
            milestones=np.concatenate((self.milestones, ends[1:])),
            checkpointed=np.concatenate((self.checkpointed, np.full(more, bool(self.extension_checkpointed)))),
            memory=None if self.memory is None else np.concatenate((self.memory, np.full(more, self.memory[-1]))),
        )

    def covering(self, law: Law) -> ReservationPlan:
        """The plan extended until what lies beyond it adds nothing to an expectation over the law.

        Raises
        ------
        InputError
            If the expectation is infinite, as that of a law with an infinite mean.
        """
        if math.isfinite(law.upper):
            return self.extended(float(law.upper))
        plan = self
        while True:
            beyond = float(law.sf(np.array([plan.milestones[-1]]))[0])
            # The reservations to come are longer by a constant factor: the first tells when the rest is nothing.
            if beyond * plan.milestones[-1] * plan.extension <= NEGLIGIBLE * plan.milestones[0]:
                return plan
            if plan.milestones[-1] >= HORIZON:
                raise InputError(f"the tail of {law.name} is too heavy for an expected cost")
            # A few at a time, so that the plan is not copied for each.
            plan = plan.extended(min(float(plan.milestones[-1]) * plan.extension**7.9, HORIZON))

    # -- what it costs --

    def probabilities(self, law: Law) -> Floats:
        """Probability that each reservation is needed, P(X > t_(k-1)); shape (m,)."""
        return np.concatenate(([1.0], np.asarray(law.sf(self.milestones[:-1]), float)))

    def expected_cost(self, law: Law) -> float:
        """Expected cost (Theorem 1 of [R]), with the extension where the law goes beyond the last milestone.

        Parameters
        ----------
        law
            Law of the runtime, discrete or not.

        Returns
        -------
        float
            In units of cost.
        """
        plan = self.covering(law)
        costs = self.costs
        needed = plan.probabilities(law)
        failed = np.append(needed[1:], float(law.sf(plan.milestones[-1:])[0]))
        lost = np.where(plan.checkpointed, 0.0, plan.work)
        asked = (costs.alpha * plan.length + costs.beta * plan.restart + costs.gamma) * needed
        used = costs.beta * (lost + plan.checkpoint) * failed
        mean = costs.beta * law.mean() if costs.beta else 0.0  # which may be infinite
        return float(mean + math.fsum(asked) + math.fsum(used))

    def expected_reservations(self, law: Law) -> float:
        """Expected number of reservations, the sum of P(X > t_(k-1)), with the extension."""
        return math.fsum(self.covering(law).probabilities(law))

    def reservations_of(self, runtimes: ArrayLike) -> NDArray[np.intp]:
        """How many reservations jobs of these runtimes need, with the extension; in the shape of the runtimes."""
        times = self._checked(runtimes)
        return np.searchsorted(self._reaching(times).milestones, times, side="left") + 1

    def cost_of(self, runtimes: ArrayLike) -> Floats:
        """What jobs of these runtimes really pay (Equation 5 of [R]), with the extension.

        Parameters
        ----------
        runtimes
            >= 0 and finite, any shape.

        Returns
        -------
        numpy.ndarray
            Costs, in the shape of the runtimes.

        Raises
        ------
        ParameterError
            If a runtime is negative, infinite or not a number.
        """
        times = self._checked(runtimes)
        plan = self._reaching(times)
        last = np.searchsorted(plan.milestones, times, side="left")
        used = plan.restart[last] + (times - plan.start[last])
        return np.asarray(plan._spent[last] + self.costs.price(plan.length[last], used), float)

    def _checked(self, runtimes: ArrayLike) -> Floats:
        times = np.asarray(runtimes, float)
        if not np.all(np.isfinite(times) & (times >= 0)):
            raise ParameterError("runtimes", "finite numbers >= 0", runtimes)
        return times

    def _reaching(self, times: Floats) -> ReservationPlan:
        return self.extended(float(times.max())) if times.size else self

    def cost_distribution(self, law: Law) -> Spending:
        """The law of the cost, itself a :class:`~workloads.laws.Law`: quantiles, tails, samples."""
        from policies.planning.spending import Spending

        return Spending(self, law)

    def omniscient_cost(self, law: Law) -> float:
        """Expected cost for who knows each runtime beforehand: one reservation of that length."""
        return float(self.costs.omniscient(law.mean()))

    def normalised_cost(self, law: Law) -> float:
        """Expected cost in multiples of the omniscient scheduler's; >= 1."""
        return self.expected_cost(law) / self.omniscient_cost(law)

    # -- how it is shown --

    def rows(self, law: Law | None = None) -> list[dict[str, Any]]:
        """One row a reservation: milestone, checkpointed, length, restart, work, checkpoint, and what is known of
        probability (of being needed; with a law) and memory."""
        return serialisation.rows(self, law)

    def to_dict(self, law: Law | None = None) -> dict[str, Any]:
        """Everything about the plan in plain Python values; with a law also what is expected of it."""
        return serialisation.to_dict(self, law)

    def to_json(self, law: Law | None = None) -> str:
        """The plan as JSON text; times in the plan's own unit. Costs that are functions become tables."""
        return json.dumps(self.to_dict(law), indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> ReservationPlan:
        """The plan that :meth:`to_json` wrote.

        Raises
        ------
        InputError
            If the text is no such plan.
        """
        return cls(**serialisation.arguments(text))
