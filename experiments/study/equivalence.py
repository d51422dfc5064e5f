"""Verdicts on deterministic values: near a printed value, or within a printed bound.

If a paper states no margin, the same margins apply in all experiments: 5 % of a printed level, and 3 points of a
printed percentage. Each rule states its margin.
"""

from __future__ import annotations

from holdfast.experiments.study.verdicts import Statement, Verdict

__all__ = ["POINTS", "ROUNDING", "SHARE", "close", "count", "most", "reaches"]

#: Margin of a printed level, as a share of the level.
SHARE = 0.05
#: Margin of a printed percentage: 3 points.
POINTS = 0.03
#: Tolerance of a bound printed in whole per cents: 5.4 % rounds to 5 % and does not exceed a bound of 5 %.
ROUNDING = 0.005


def close(
    statement: Statement, value: float, printed: float, margin: float, measured: str, remark: str = "", *,
    unit: str = "", scale: float = 1.0,
) -> Verdict:  # fmt: skip
    """Verdict: a computed value is within a margin of the printed one.

    Parameters
    ----------
    statement
        Statement to judge.
    value, printed, margin
        Computed value, printed value and margin, in the same unit.
    measured
        The measured value as a text.
    remark
        Remark of the verdict.
    unit, scale
        Unit and factor for the numbers in the words of the rule.
    """
    rule = f"holds if the computed value is within {_format(printed * scale)} +- {_format(margin * scale, unit)}"
    # The tolerance allows for rounding, because the bound may be a computed number.
    return statement.exact_verdict(abs(value - printed) <= margin * (1 + 1e-9), rule, measured, remark)


def most(statement: Statement, value: float, bound: float, quantity: str, measured: str, remark: str = "") -> Verdict:
    """Verdict: a computed value does not exceed a bound."""
    return statement.exact_verdict(value <= bound, f"holds if {quantity} is at most {_format(bound)}", measured, remark)


def reaches(
    statement: Statement, value: float, bound: float, quantity: str, measured: str, remark: str = ""
) -> Verdict:
    """Verdict: a computed value is at least a bound."""
    rule = f"holds if {quantity} is at least {_format(bound)}"
    return statement.exact_verdict(value >= bound, rule, measured, remark)


def count(statement: Statement, number: int, of: int, what: str, measured: str = "", remark: str = "") -> Verdict:
    """Verdict: a condition, given as the clause ``what``, holds for all counted items."""
    tail = f" ({measured})" if measured else ""
    return statement.exact_verdict(number == of > 0, f"holds if {what} for all {of}", f"{number} of {of}{tail}", remark)


def _format(value: float, unit: str = "") -> str:
    return f"{value:.6g} {unit}" if unit else f"{value:.6g}"
