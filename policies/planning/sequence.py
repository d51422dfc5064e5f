"""A sequence of reservations: their lengths, and the restart, work and checkpoint of each."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from holdfast.policies.planning.costs import CostModel
from holdfast.policies.planning.grid_refinement import Growth
from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.ground.ranges import Range

__all__ = ["FACTOR", "HORIZON", "ReservationSequence"]

Floats = NDArray[np.float64]
#: Maximum length of a reservation in an extended sequence.
HORIZON = 1e250
#: Ratio of successive reservations; a few of them applied to the horizon must not overflow.
FACTOR = Range(1, 1e6, above=True)
#: Maximum number of reservations in an extension.
MOST_FURTHER = 100_000


@dataclass(frozen=True, eq=False, init=False)
class ReservationSequence:
    """A sequence of reservations with checkpoints (Definition 1 of [R]).

    Reservation k (counted from 1) covers the jobs with a runtime in (t_(k-1), t_k]. It restarts from the last
    checkpoint (R_k), works from there to the milestone t_k (T_k), and may write a checkpoint (C_k):
    W_k = R_k + T_k + C_k. Work without a checkpoint is lost.

    Parameters
    ----------
    milestones
        Work done at the end of each reservation, t_k; strictly ascending, > 0, shape (m,).
    checkpointed
        Whether each reservation ends with a checkpoint; shape (m,), or one value for all.
    costs
        Prices and durations.
    strategy
        Name of the strategy that made the sequence.
    memory
        Memory request of each reservation, in the caller's unit, shape (m,); or None.
    extension
        Ratio of successive milestones after the last one, for longer jobs; > 1.
    extension_checkpointed
        Whether reservations of the extension have checkpoints; None: if any reservation of the plan has one.
    growth
        Refinement of the grid until the cost settled; None if it was not needed.

    Attributes
    ----------
    work, restart, checkpoint, length
        T_k, R_k, C_k and W_k; shape (m,).

    Raises
    ------
    ParameterError
        If there are no milestones, if they do not ascend, if the shapes differ, if memory is not > 0, or if the
        extension is not > 1.

    Notes
    -----
    Source: "Reservation and Checkpointing Strategies for Stochastic Jobs" [R], section 2; the extension is from [S].
    """

    milestones: Floats
    checkpointed: NDArray[np.bool_]
    costs: CostModel
    strategy: str
    memory: Floats | None
    extension: float
    extension_checkpointed: bool | None
    growth: Growth | None

    def __init__(
        self,
        milestones: ArrayLike,
        checkpointed: ArrayLike,
        costs: CostModel | None = None,
        strategy: str = "",
        memory: ArrayLike | None = None,
        extension: float = 1.5,
        extension_checkpointed: bool | None = None,
        growth: Growth | None = None,
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
        FACTOR.check("extension", extension)
        asked = None if memory is None else np.array(memory, float)
        # After exceeded memory, a multiple of the request is requested, which would stay 0 for a request of 0.
        if asked is not None and not np.all(np.isfinite(asked) & (asked > 0)):
            raise ParameterError("memory", "finite numbers > 0", memory)
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
            "growth": growth,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return int(self.milestones.size)

    # -- parts of the reservations (Equations 3 and 4 of [R]) --

    @cached_property
    def _from(self) -> NDArray[np.intp]:
        """Number, from 1, of the last reservation with a checkpoint before each one, 0 if there is none; shape (m,)."""
        marks = np.where(self.checkpointed, np.arange(1, len(self) + 1), 0)
        return np.concatenate(([0], np.maximum.accumulate(marks)[:-1]))

    @cached_property
    def start(self) -> Floats:
        """Saved work at the start of each reservation, t_k - T_k; shape (m,)."""
        return np.concatenate(([0.0], self.milestones))[self._from]

    @cached_property
    def work(self) -> Floats:
        """Work of each reservation, T_k; shape (m,)."""
        return self.milestones - self.start

    @cached_property
    def restart(self) -> Floats:
        """Time to read the last checkpoint, R_k; 0 before the first checkpoint; shape (m,)."""
        return np.concatenate(([0.0], self.costs.restart_at(self.milestones)))[self._from]

    @cached_property
    def checkpoint(self) -> Floats:
        """Time to write the checkpoint, C_k; 0 without a checkpoint; shape (m,)."""
        return np.where(self.checkpointed, self.costs.checkpoint_at(self.milestones), 0.0)

    @cached_property
    def length(self) -> Floats:
        """Length to request, W_k = R_k + T_k + C_k; shape (m,)."""
        return self.restart + self.work + self.checkpoint

    @cached_property
    def spent(self) -> Floats:
        """Total cost of the reservations before each one, which were used in full; shape (m,)."""
        return np.concatenate(([0.0], np.cumsum(self.costs.price(self.length, self.length))[:-1]))

    # -- beyond the last milestone --

    def extend(self, runtime: float) -> Self:
        """Extend the sequence for a job of a given runtime; a sequence that is long enough is returned unchanged."""
        if math.isnan(runtime) or runtime > HORIZON:
            raise ParameterError("runtime", f"a number <= {HORIZON:g}", runtime)
        last = float(self.milestones[-1])
        if last < runtime:
            # A difference of logarithms is used, because the quotient may be infinite.
            further = (math.log(runtime) - math.log(last)) / math.log(self.extension)
            if further > MOST_FURTHER:
                raise ParameterError(
                    "extension",
                    f"large enough to reach {runtime:g} from {last:g} in {MOST_FURTHER:,} reservations",
                    self.extension,
                )
        ends = [last]
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
