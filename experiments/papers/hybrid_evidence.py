"""Evidence: what paired measurements over a few traces say of a claim that has been made exact.

The traces are the repetitions. Every comparison is of the same traces on both sides, so that what differs from trace to
trace is not taken for noise; an interval is of 95 % confidence, by Student's t.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from experiments.statistics import Interval, interval
from experiments.verdicts import Outcome

__all__ = [
    "Evidence",
    "Finding",
    "average",
    "difference",
    "every",
    "mean_of",
    "missing",
    "outcome_of",
    "reaches",
    "within",
]

Floats = NDArray[np.float64]
#: Two sides of a comparison, trace by trace.
Pair = tuple[Floats, Floats]


class Evidence(StrEnum):
    """What the interval of an effect says of a claim."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    UNDECIDED = "undecided"
    MISSING = "not measured"


def outcome_of(evidence: Evidence) -> Outcome:
    """The verdict: a claim that the traces cannot tell from its opposite does not hold."""
    if evidence is Evidence.MISSING:
        return Outcome.NOT_COMPARABLE
    return Outcome.HOLDS if evidence is Evidence.SUPPORTED else Outcome.FAILS


@dataclass(frozen=True)
class Finding:
    """The evidence for one claim.

    Attributes
    ----------
    evidence
        What it says.
    criterion
        When the claim is supported.
    effect
        In the unit of the metric; None if it was not measured.
    size
        The same in standard deviations over the traces, positive in the direction of the claim; None where that has no
        meaning.
    detail
        More about it.
    """

    evidence: Evidence
    criterion: str
    effect: Interval | None = None
    size: Interval | None = None
    detail: str = ""


def mean_of(values: Floats) -> float:
    """The mean of the values that are defined, NaN if none is."""
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else float("nan")


def missing(reason: str) -> Finding:
    """Nothing was measured."""
    return Finding(Evidence.MISSING, "-", detail=reason)


def difference(a: Floats, b: Floats | float, sign: int) -> Finding:
    """Whether a is more (sign 1) or less (sign -1) than b, trace by trace.

    Parameters
    ----------
    a, b
        Of the same traces in the same order; traces where one is not defined are left out.
    sign
        The direction of the claim.

    Examples
    --------
    >>> difference(np.array([2.0, 3.0, 4.5]), np.array([1.0, 2.0, 3.0]), -1).evidence.value
    'contradicted'
    """
    gap = np.asarray(a - b, dtype=float)
    gap = gap[np.isfinite(gap)]
    criterion = f"the interval of the difference lies {'above' if sign > 0 else 'below'} 0"
    if len(gap) < 2:
        return replace(missing("fewer than two traces have such jobs"), criterion=criterion)
    effect = interval(gap)
    evidence = _direction(effect, sign)
    return Finding(evidence, criterion, effect, _size(gap, effect, sign))


def average(pairs: Mapping[str, Pair], sign: int, pattern: str = "+.2f") -> Finding:
    """Whether a is more (or less) than b on average over some pairs, which are one value in each trace.

    Parameters
    ----------
    pairs
        By a short name, which stands in the detail with the pair's own mean difference.
    sign, pattern
        Direction of the claim; format of these means.
    """
    finding = difference(
        np.mean([a for a, _ in pairs.values()], axis=0), np.mean([b for _, b in pairs.values()], axis=0), sign
    )
    told = [f"{name} {mean_of(a - b):{pattern}}" for name, (a, b) in pairs.items()]
    return replace(finding, detail=", ".join(told) if len(told) > 1 else "")


def every(pairs: Mapping[str, Pair], sign: int, pattern: str = "+.2f") -> Finding:
    """Whether a is more (or less) than b in every pair; the effect is that of the pair that decides against it first.

    Raises
    ------
    LookupError
        If there are no pairs.

    Notes
    -----
    Supported if each pair is on its own: an intersection-union test, which keeps the level without a correction.
    """
    if not pairs:
        raise LookupError("anything to compare with")
    found = {name: difference(a, b, sign) for name, (a, b) in pairs.items()}
    undefined = [finding for finding in found.values() if finding.evidence is Evidence.MISSING]
    if undefined:
        return undefined[0]
    states = {finding.evidence for finding in found.values()}
    worst = next(state for state in (Evidence.CONTRADICTED, Evidence.UNDECIDED, Evidence.SUPPORTED) if state in states)
    deciding = [name for name in found if found[name].evidence is worst]
    weakest = min(deciding, key=lambda name: _least(found[name], sign))
    told = ", ".join(f"{name} {mean_of(a - b):{pattern}}" for name, (a, b) in pairs.items())
    criterion = found[weakest].criterion.replace("the difference", "each difference")
    return replace(found[weakest], evidence=worst, criterion=criterion, detail=f"{told}; decisive: {weakest}")


def within(a: Floats, b: Floats | float, margin: float, unit: str) -> Finding:
    """Whether a and b differ by no more than a margin: the whole interval of the difference must lie within it."""
    found = difference(a, b, 1)
    criterion = f"the interval of the difference lies within +-{margin:g} {unit}"
    effect = found.effect
    if effect is None:
        return replace(found, criterion=criterion)
    inside = -margin <= effect.low and effect.high <= margin
    outside = effect.low > margin or effect.high < -margin
    evidence = Evidence.SUPPORTED if inside else Evidence.CONTRADICTED if outside else Evidence.UNDECIDED
    return Finding(evidence, criterion, effect)


def reaches(values: Floats, level: float, unit: str) -> Finding:
    """Whether the mean over the traces is at least a level, as far as the interval can tell.

    The effect is the mean itself. A mean below the level whose interval contains it is undecided.
    """
    found = difference(values, level, 1)
    criterion = f"the mean is at least {level:g} {unit}"
    if found.effect is None:
        return replace(found, criterion=criterion)
    evidence = Evidence.SUPPORTED if found.effect.mean >= 0 else found.evidence
    effect = found.effect.shifted(level)
    return replace(found, evidence=evidence, criterion=criterion, effect=effect)


def _direction(effect: Interval, sign: int) -> Evidence:
    with_it, against = (effect.positive, effect.negative) if sign > 0 else (effect.negative, effect.positive)
    return Evidence.SUPPORTED if with_it else Evidence.CONTRADICTED if against else Evidence.UNDECIDED


def _least(finding: Finding, sign: int) -> float:
    """How much speaks for the claim at least."""
    if finding.effect is None:
        return float("-inf")
    return finding.effect.low if sign > 0 else -finding.effect.high


def _size(gap: Floats, effect: Interval, sign: int) -> Interval | None:
    spread = float(gap.std(ddof=1))
    if spread == 0:
        return None
    bounds: Sequence[float] = sorted((sign * effect.low / spread, sign * effect.high / spread))
    return Interval(sign * effect.mean / spread, bounds[0], bounds[1])
