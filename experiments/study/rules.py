"""Decision rules for verdicts: a statement holds, does not hold, or is undecided by the data.

A rule is an object that has a description in words and computes an outcome from an interval. It is fixed before the
data are measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from holdfast.experiments.statistics import Interval

__all__ = [
    "LEVEL",
    "Above",
    "AtLeast",
    "AtMost",
    "Below",
    "Decision",
    "Digits",
    "Near",
    "Outcome",
    "Rule",
    "either",
    "together",
]

Floats = NDArray[np.float64]
#: Largest probability of a wrong decision; after Holm's correction, of any wrong decision in a family.
LEVEL = 0.05


class Outcome(StrEnum):
    """Outcome of a statement on the measured data."""

    HOLDS = "holds"
    FAILS = "does not hold"
    UNDECIDED = "undecided"
    NOT_COMPARABLE = "not comparable"


@dataclass(frozen=True)
class Decision:
    """An outcome, and the p-value of its test."""

    outcome: Outcome
    p_value: float | None = None


class Rule(Protocol):
    """Decision rule of a statement, fixed before the data."""

    @property
    def words(self) -> str:
        """The rule in a sentence that begins with "holds if"."""
        ...

    def decide(self, found: Interval) -> Decision:
        """Decide on an interval."""
        ...

    def slack(self, mean: Floats) -> Floats:
        """Margin by which means satisfy the rule, in the unit of the interval; negative if they break it."""
        ...


@dataclass(frozen=True)
class Above:
    """Rule for a direction: the quantity is above a level.

    Attributes
    ----------
    level
        Level in the unit of the interval.
    quantity
        Name of the quantity in the interval.
    unit
        Unit of the level in words.
    scale
        Factor of the level in words, e.g. 100 for per cent.

    Examples
    --------
    >>> Above().words
    'holds if the 95 % interval of the paired difference lies above 0, does not hold if it lies below'
    >>> Above().decide(Interval(2.0, 1.0, 3.0)).outcome.value
    'holds'
    """

    level: float = 0.0
    quantity: str = "the paired difference"
    unit: str = ""
    scale: float = 1.0

    @property
    def words(self) -> str:
        """The rule."""
        level = _format(self.level * self.scale, self.unit)
        return f"holds if the 95 % interval of {self.quantity} lies above {level}, does not hold if it lies below"

    def decide(self, found: Interval) -> Decision:
        """Decide on a 95 % interval; a difference of exactly 0 does not hold."""
        return _decision(found, found.low > self.level, found.high <= self.level, self.level)

    def slack(self, mean: Floats) -> Floats:
        """Difference to the level, positive above it."""
        return mean - self.level


@dataclass(frozen=True)
class Below(Above):
    """Rule for a direction: the quantity is below a level."""

    @property
    def words(self) -> str:
        """The rule."""
        level = _format(self.level * self.scale, self.unit)
        return f"holds if the 95 % interval of {self.quantity} lies below {level}, does not hold if it lies above"

    def decide(self, found: Interval) -> Decision:
        """Decide on a 95 % interval."""
        return _decision(found, found.high < self.level, found.low >= self.level, self.level)

    def slack(self, mean: Floats) -> Floats:
        """Difference to the level, positive below it."""
        return self.level - mean


@dataclass(frozen=True)
class AtLeast(Above):
    """Rule for a lower bound: the quantity is at least a level."""

    quantity: str = "the mean"

    @property
    def words(self) -> str:
        """The rule."""
        level = _format(self.level * self.scale, self.unit)
        return (
            f"holds if the 95 % interval of {self.quantity} lies at or above {level}, "
            "does not hold if it lies wholly below"
        )

    def decide(self, found: Interval) -> Decision:
        """Decide on a 95 % interval."""
        return _decision(found, found.low >= self.level, found.high < self.level, self.level)


@dataclass(frozen=True)
class AtMost(Above):
    """Rule for an upper bound: the quantity is at most a level."""

    quantity: str = "the mean"

    @property
    def words(self) -> str:
        """The rule."""
        level = _format(self.level * self.scale, self.unit)
        return (
            f"holds if the 95 % interval of {self.quantity} lies at or below {level}, "
            "does not hold if it lies wholly above"
        )

    def decide(self, found: Interval) -> Decision:
        """Decide on a 95 % interval."""
        return _decision(found, found.high <= self.level, found.low > self.level, self.level)

    def slack(self, mean: Floats) -> Floats:
        """Difference to the level, positive below it."""
        return self.level - mean


@dataclass(frozen=True)
class Near:
    """Rule for equivalence: the mean differs from the printed value by less than a margin fixed before the data.

    The rule holds by two one-sided tests at 5 %: the 90 % interval must be within the margin. It does not hold only if
    the 95 % interval is completely outside.

    Attributes
    ----------
    value, margin
        The printed value, and the margin of equality.
    quantity, unit, scale
        As in :class:`Above`.

    Examples
    --------
    >>> Near(22.0, 1.0, unit="h").words  # doctest: +NORMALIZE_WHITESPACE
    'holds if the 90 % interval of the mean lies within 22 +- 1 h (two one-sided tests),
    does not hold if the 95 % interval lies outside'
    """

    value: float
    margin: float
    quantity: str = "the mean"
    unit: str = ""
    scale: float = 1.0

    @property
    def words(self) -> str:
        """The rule."""
        margin = _format(self.margin * self.scale, self.unit)
        return (
            f"holds if the 90 % interval of {self.quantity} lies within {self.value * self.scale:g} +- {margin} "
            "(two one-sided tests), does not hold if the 95 % interval lies outside"
        )

    def decide(self, found: Interval) -> Decision:
        """Decide on an interval of measured values.

        Raises
        ------
        ParameterError
            If only its bounds are known.
        """
        low, high = self.value - self.margin, self.value + self.margin
        close, wide = found.at(1 - 2 * LEVEL), found.at(1 - LEVEL)
        if found.error == 0:
            return Decision(Outcome.HOLDS if low <= found.mean <= high else Outcome.FAILS)
        inside = max(found.p_above(low), found.p_below(high))
        outside = min(1.0, 2 * min(found.p_above(high), found.p_below(low)))
        if low <= close.low and close.high <= high:
            return Decision(Outcome.HOLDS, inside)
        if wide.low > high or wide.high < low:
            return Decision(Outcome.FAILS, outside)
        return Decision(Outcome.UNDECIDED, min(inside, outside))

    def slack(self, mean: Floats) -> Floats:
        """Distance to the nearer end of the margin."""
        return self.margin - np.abs(mean - self.value)


@dataclass(frozen=True)
class Digits:
    """Rule for a deterministic number: the computed value rounds to the printed digits.

    Attributes
    ----------
    printed
        Number as printed in the paper, e.g. ``"41.50"``.

    Examples
    --------
    >>> Digits("47.2").equal(47.1962), Digits("47.2").equal(47.26), Digits("1,234").equal(1234)
    (True, False, True)
    """

    printed: str

    @property
    def words(self) -> str:
        """The rule."""
        return f"holds if the computed value rounds to the printed digits, {self.printed}"

    def equal(self, value: float) -> bool:
        """Whether a value rounds to the printed digits."""
        plain = self.printed.replace(",", "")
        half = 0.5 * 10.0 ** -len(plain.partition(".")[2])
        # A value halfway between two digits may be rounded to either.
        return abs(value - float(plain)) <= half * (1 + 1e-9)

    def decide(self, found: Interval) -> Decision:
        """Decide on a value, given as an interval without width."""
        return Decision(Outcome.HOLDS if self.equal(found.mean) else Outcome.FAILS)

    def slack(self, mean: Floats) -> Floats:
        """Distance to the nearer end of the range that rounds to the printed digits."""
        plain = self.printed.replace(",", "")
        return 0.5 * 10.0 ** -len(plain.partition(".")[2]) - np.abs(mean - float(plain))


def together(decisions: Sequence[Decision]) -> Decision:
    """The decision on the conjunction of several statements.

    It holds if each statement holds (an intersection-union test, which needs no correction for the level). It does not
    hold if one statement does not hold even after Holm's correction for their number.

    Raises
    ------
    ValueError
        If there are no decisions.
    """
    if not decisions:
        raise ValueError("a conjunction needs one or more decisions")
    if any(decision.outcome is Outcome.NOT_COMPARABLE for decision in decisions):
        return Decision(Outcome.NOT_COMPARABLE)
    if all(decision.outcome is Outcome.HOLDS for decision in decisions):
        known = [decision.p_value for decision in decisions if decision.p_value is not None]
        return Decision(Outcome.HOLDS, max(known, default=None))
    failed = [decision for decision in decisions if decision.outcome is Outcome.FAILS]
    if any(decision.p_value is None for decision in failed):
        return Decision(Outcome.FAILS)
    least = min((len(decisions) * (decision.p_value or 0.0) for decision in failed), default=1.0)
    if least < LEVEL:
        return Decision(Outcome.FAILS, least)
    open_ = [decision.p_value for decision in decisions if decision.outcome is Outcome.UNDECIDED]
    return Decision(Outcome.UNDECIDED, max((value for value in open_ if value is not None), default=min(1.0, least)))


def either(decisions: Sequence[Decision]) -> Decision:
    """The decision on the disjunction of several statements.

    It holds if one statement holds even after Holm's correction for their number. It does not hold if no statement
    holds.

    Raises
    ------
    ValueError
        If there are no decisions.
    """
    turned = {Outcome.HOLDS: Outcome.FAILS, Outcome.FAILS: Outcome.HOLDS}
    none = together([Decision(turned.get(item.outcome, item.outcome), item.p_value) for item in decisions])
    return Decision(turned.get(none.outcome, none.outcome), none.p_value)


def _decision(found: Interval, holds: bool, fails: bool, level: float) -> Decision:
    # Intervals without variation, or with bounds only, have no test.
    tested = found.error > 0
    p_value = min(1.0, 2 * min(found.p_above(level), found.p_below(level))) if tested else None
    outcome = Outcome.HOLDS if holds else Outcome.FAILS if fails else Outcome.UNDECIDED
    return Decision(outcome, p_value)


def _format(value: float, unit: str) -> str:
    return f"{value:g} {unit}" if unit else f"{value:g}"
