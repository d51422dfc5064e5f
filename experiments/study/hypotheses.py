"""Hypotheses of the experiments beyond the papers: stated before the measurement, tested on measurements by trace."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from experiments.study.evidence import Finding, judge_finding, missing
from experiments.study.measurement_table import Measured
from experiments.study.verdicts import HYPOTHESIS, Statement, Verdict

__all__ = ["Hypothesis", "hypothesis", "verdicts"]


class Hypothesis(NamedTuple):
    """A statement that the measurements may contradict.

    Attributes
    ----------
    text
        What is expected.
    unit
        Unit of the effect.
    test
        From the measurements to the evidence; a LookupError means that they are not enough.
    """

    text: str
    unit: str
    test: Callable[[Measured], Finding]


def hypothesis(text: str) -> Statement:
    """A statement of ours, beside which nothing is printed."""
    return Statement(text, "", HYPOTHESIS)


def verdicts(hypotheses: Iterable[Hypothesis], data: Measured) -> list[Verdict]:
    """What the measurements say of each hypothesis."""
    return [_verdict(item, data) for item in hypotheses]


def _verdict(item: Hypothesis, data: Measured) -> Verdict:
    try:
        found = item.test(data)
    except LookupError as error:
        found = missing(f"no simulations of {error}")
    over = f"over {len(data.traces)} traces" if found.effect is not None else ""
    return judge_finding(hypothesis(item.text), item.unit, found, over)
