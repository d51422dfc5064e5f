"""Statistical evidence for a claim from measurements that are paired by trace.

Traces are repetitions. Every comparison uses the same traces on both sides, which removes the variation between traces.
Intervals have 95 % confidence, by Student's t. The rules are those of :mod:`holdfast.experiments.study.rules`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.experiments.statistics import Interval, interval
from holdfast.experiments.study.rules import Above, AtLeast, Below, Decision, Near, Outcome, Rule, together
from holdfast.experiments.study.verdicts import Statement, Verdict

__all__ = [
    "PERCENT",
    "Finding",
    "Pair",
    "Test",
    "average",
    "difference",
    "every",
    "finite_mean",
    "judge_finding",
    "missing_finding",
    "near",
    "reaches",
    "within",
]

Floats = NDArray[np.float64]
#: Values of both sides of a comparison, by trace.
Pair = tuple[Floats, Floats]

#: Bounds of a share in per cent. A duration has the bounds (0, infinity).
PERCENT = (0.0, 100.0)
_DURATION = (0.0, float("inf"))


class Test(NamedTuple):
    """One comparison of a claim.

    Attributes
    ----------
    rule
        Rule that the mean must satisfy.
    values
        Measurements by trace; NaN for a trace without a measurement.
    """

    rule: Rule
    values: Floats


@dataclass(frozen=True)
class Finding:
    """The evidence for one claim.

    Attributes
    ----------
    outcome
        Outcome of the rule.
    rule
        The rule in words.
    effect
        Effect in the unit of the metric; None if it was not measured.
    size
        Effect in standard deviations over the traces, positive in the direction of the claim; None if undefined.
    detail
        Further details.
    p_value
        p-value of the test that decides the outcome; None if measurements do not vary.
    level
        Whether the effect is a level instead of a difference.
    tests
        Comparisons of the claim by name, all of which must hold.
    """

    outcome: Outcome
    rule: str
    effect: Interval | None = None
    size: Interval | None = None
    detail: str = ""
    p_value: float | None = None
    level: bool = False
    tests: Mapping[str, Test] = field(default_factory=dict)

    @property
    def decision(self) -> Decision:
        """The outcome with its p-value."""
        return Decision(self.outcome, self.p_value)


def finite_mean(values: Floats) -> float:
    """Mean of the defined values; NaN if there are none."""
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else float("nan")


def missing_finding(reason: str, rule: str = "") -> Finding:
    """Finding of a claim without measurements."""
    return Finding(Outcome.NOT_COMPARABLE, rule, detail=reason)


def difference(a: Floats, b: Floats | float, sign: int) -> Finding:
    """Test whether a is greater (sign 1) or less (sign -1) than b, paired by trace.

    Parameters
    ----------
    a, b
        Values for the same traces in the same order; traces with a missing value are left out.
    sign
        Direction of the claim.

    Examples
    --------
    >>> difference(np.array([2.0, 3.0, 4.5]), np.array([1.0, 2.0, 3.0]), -1).outcome.value
    'does not hold'
    """
    return _finding(a - b, Above() if sign > 0 else Below(), sign)


def average(pairs: Mapping[str, Pair], sign: int, pattern: str = "+.2f") -> Finding:
    """Test whether a is greater (or less) than b on average over some pairs, with one mean per trace.

    Parameters
    ----------
    pairs
        Pairs by short name; the detail contains the name and the mean difference of each pair.
    sign, pattern
        Direction of the claim, and format of the mean differences.
    """
    finding = difference(
        np.mean([a for a, _ in pairs.values()], axis=0), np.mean([b for _, b in pairs.values()], axis=0), sign
    )
    parts = [f"{name} {finite_mean(a - b):{pattern}}" for name, (a, b) in pairs.items()]
    return replace(finding, detail=", ".join(parts) if len(parts) > 1 else "")


def every(pairs: Mapping[str, Pair], sign: int, pattern: str = "+.2f") -> Finding:
    """Test whether a is greater (or less) than b in every pair; the effect is the effect of the decisive pair.

    Raises
    ------
    LookupError
        If there are no pairs.
    """
    found = {name: difference(a, b, sign) for name, (a, b) in pairs.items()}
    return _each(found, {name: finite_mean(a - b) for name, (a, b) in pairs.items()}, pattern)


def _each(found: Mapping[str, Finding], means: Mapping[str, float], pattern: str) -> Finding:
    """Combine findings of one rule (:func:`holdfast.experiments.study.rules.together`)."""
    if not found:
        raise LookupError("anything to compare with")
    rule = next(iter(found.values())).rule
    words = f"{rule}; each of {len(found)}, refuted by one after Holm" if len(found) > 1 else rule
    undefined = [item for item in found.values() if item.outcome is Outcome.NOT_COMPARABLE]
    tests = {f"{name} {part}".strip(): test for name, item in found.items() for part, test in item.tests.items()}
    if undefined:
        return replace(undefined[0], rule=words, tests=tests)
    decision = together([item.decision for item in found.values()])
    outcomes = {item.outcome for item in found.values()}
    worst = next(item for item in (Outcome.FAILS, Outcome.UNDECIDED, Outcome.HOLDS) if item in outcomes)
    # The decisive finding is the least certain one if all hold, else the most certain one that does not hold.
    order = max if worst is not Outcome.FAILS else min
    deciding = [name for name in found if found[name].outcome is worst]
    weakest = order(deciding, key=lambda name: (found[name].p_value or 0.0, -abs(means[name])))
    means_text = ", ".join(f"{name} {mean:{pattern}}" for name, mean in means.items())
    return replace(
        found[weakest],
        outcome=decision.outcome,
        p_value=decision.p_value,
        rule=words,
        detail=f"{means_text}; decisive: {weakest}" if len(found) > 1 else means_text,
        tests=tests,
    )


def within(pairs: Mapping[str, Pair], margin: float, unit: str) -> Finding:
    """Test whether a and b of every pair differ by at most a margin (two one-sided tests)."""
    rule = Near(0.0, margin, "the paired difference", unit)
    found = {name: _finding(a - b, rule) for name, (a, b) in pairs.items()}
    finding = _each(found, {name: finite_mean(a - b) for name, (a, b) in pairs.items()}, "+.2f")
    return finding if len(pairs) > 1 else replace(finding, detail="")


def near(levels: Mapping[str, Floats], value: float, margin: float, unit: str) -> Finding:
    """Test whether every level is within a margin of the printed value (two one-sided tests); the effect is a level."""
    rule = Near(value, margin, "the mean", unit)
    bounds = PERCENT if unit == "%" else _DURATION
    found = {name: _finding(values, rule, bounds=bounds) for name, values in levels.items()}
    finding = _each(found, {name: finite_mean(values) for name, values in levels.items()}, ".2f")
    detail = finding.detail if len(levels) > 1 else "".join(levels)
    return replace(finding, level=True, detail=detail)


def reaches(values: Floats, level: float, unit: str) -> Finding:
    """Test whether the mean over the traces is at least a level; the effect is the mean."""
    bounds = PERCENT if unit == "%" else _DURATION
    return replace(_finding(values, AtLeast(level, unit=unit), bounds=bounds), level=True)


def _finding(values: Floats, rule: Rule, sign: int = 0, bounds: tuple[float, float] | None = None) -> Finding:
    own = np.asarray(values, dtype=float)
    tests = {"": Test(rule, own)}
    known = own[np.isfinite(own)]
    if len(known) < 2:
        return replace(missing_finding("fewer than two traces have such jobs", rule.words), tests=tests)
    effect = interval(known) if bounds is None else interval(known, bounds=bounds)
    decision = rule.decide(effect)
    size = _size(known, effect, sign) if sign else None
    return Finding(decision.outcome, rule.words, effect, size, p_value=decision.p_value, tests=tests)


def _size(gap: Floats, effect: Interval, sign: int) -> Interval | None:
    spread = float(gap.std(ddof=1))
    if spread == 0:
        return None
    bounds: Sequence[float] = sorted((sign * effect.low / spread, sign * effect.high / spread))
    return Interval(sign * effect.mean / spread, bounds[0], bounds[1])


def judge_finding(statement: Statement, unit: str, finding: Finding, remark: str = "") -> Verdict:
    """Make the verdict on a statement from its finding.

    Parameters
    ----------
    statement
        The statement and its source.
    unit
        Unit of the effect; differences of percentages are in points.
    finding
        The evidence.
    remark
        Remark before the detail of the finding.
    """
    measured = "-"
    if finding.effect is not None:
        effect = finding.effect
        if unit.startswith("points"):
            # Two shares differ by at most 100 points.
            effect = replace(effect, low=max(-100.0, effect.low), high=min(100.0, effect.high))
        pattern = ".0f" if unit == "node-hours" else ".2f"
        measured = f"{effect.text(pattern if finding.level else f'+{pattern}')} {unit}"
    remarks = "; ".join(part for part in (remark, finding.detail) if part)
    return statement.verdict(finding.decision, finding.rule, measured, remarks)
