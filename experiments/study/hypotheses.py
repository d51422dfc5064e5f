"""Hypotheses of the experiments beyond the papers: stated before the measurement, tested on measurements by trace."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from holdfast.experiments.study.evidence import Finding, judge_finding, missing_finding
from holdfast.experiments.study.measurement_table import Measured
from holdfast.experiments.study.verdicts import HYPOTHESIS, Statement, Verdict

__all__ = ["Hypothesis", "hypothesis", "verdicts"]


class Hypothesis(NamedTuple):
    """A statement that the measurements may contradict.

    Attributes
    ----------
    text
        The expectation.
    unit
        Unit of the effect.
    test
        Function from the measurements to the evidence; raises LookupError if measurements are missing.
    """

    text: str
    unit: str
    test: Callable[[Measured], Finding]


def hypothesis(text: str) -> Statement:
    """A statement of this project without a printed value."""
    return Statement(text, "", HYPOTHESIS)


def verdicts(hypotheses: Iterable[Hypothesis], data: Measured) -> list[Verdict]:
    """Verdicts of the hypotheses on the measurements."""
    return [_verdict(item, data) for item in hypotheses]


def _verdict(item: Hypothesis, data: Measured) -> Verdict:
    try:
        found = item.test(data)
    except LookupError as error:
        found = missing_finding(f"no simulations of {error}")
    over = f"over {len(data.traces)} traces" if found.effect is not None else ""
    return judge_finding(hypothesis(item.text), item.unit, found, over)
