"""Statements, their sources, and verdicts by the rules of :mod:`holdfast.experiments.study.rules`.

The rules are fixed before the data. A number judged by a rule has the same verdict wherever it is shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from holdfast.experiments.statistics import Interval, holm
from holdfast.experiments.study.rules import LEVEL, Decision, Digits, Outcome, Rule, together

__all__ = [
    "COLUMNS",
    "HYPOTHESIS",
    "Outcome",
    "Source",
    "Statement",
    "Verdict",
    "correct_p_values",
    "figure",
    "format_p",
    "reference",
    "remaining_decisions",
    "table",
    "text",
    "verdict_row",
]


@dataclass(frozen=True)
class Source:
    """Origin of a printed value.

    Attributes
    ----------
    kind
        ``text``, ``table``, ``figure``, ``own reference`` or ``hypothesis``.
    place
        Section or number; for a reference of this project, its name.
    how
        Method of reading a value from a figure.
    """

    kind: str
    place: str = ""
    how: str = ""

    def __str__(self) -> str:
        names = {"text": "text, section", "table": "Table", "figure": "Fig.", "own reference": "own reference:"}
        parts = [" ".join(part for part in (names.get(self.kind, self.kind), self.place) if part)]
        return ", ".join([*parts, self.how] if self.how else parts)


def text(section: str) -> Source:
    """A sentence of the paper.

    >>> str(text("V-B"))
    'text, section V-B'
    """
    return Source("text", section)


def table(number: str) -> Source:
    """A table of the paper."""
    return Source("table", number)


def figure(number: str, how: str) -> Source:
    """A figure of the paper, and the method of reading the value from it.

    >>> str(figure("6", "read from the bars"))
    'Fig. 6, read from the bars'
    """
    return Source("figure", number, how)


def reference(what: str) -> Source:
    """A named reference of this project, used instead of the paper."""
    return Source("own reference", what)


#: Source of hypotheses of this project, stated before the measurement.
HYPOTHESIS = Source("hypothesis")


@dataclass(frozen=True)
class Verdict:
    """A statement with its measured value and outcome.

    Attributes
    ----------
    claim
        The statement in short.
    printed
        Number or words in the paper; for a hypothesis, the expectation.
    measured
        Measured value, as a text.
    outcome
        Outcome, computed from the measured data.
    remark
        Explanation, if needed.
    rule
        The rule in words, beginning with "holds if "; empty only if the statement is not comparable.
    source
        Origin of the printed value.
    p_value
        p-value of the test that decides the outcome; None for deterministic values.
    adjusted
        p-value after Holm's correction (:func:`correct_p_values`).
    construction
        As in :class:`Statement`.

    Raises
    ------
    ValueError
        If the outcome has no rule.
    """

    claim: str
    printed: str
    measured: str
    outcome: Outcome
    remark: str = ""
    rule: str = field(default="", kw_only=True)
    source: Source = field(kw_only=True)
    p_value: float | None = field(default=None, kw_only=True)
    adjusted: float | None = field(default=None, kw_only=True)
    construction: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        if self.outcome is not Outcome.NOT_COMPARABLE and not self.rule.startswith("holds if "):
            raise ValueError(f'the rule of "{self.claim}" begins with "holds if ", not with "{self.rule[:9]}"')

    @property
    def by_construction(self) -> bool:
        """Whether the statement holds by construction, so that it is not a result and is left out of every count."""
        return bool(self.construction) and self.outcome is Outcome.HOLDS

    @property
    def counted_as(self) -> str:
        """Heading under which the verdict is counted: its outcome, or "by construction"."""
        return f"{self.outcome} by construction" if self.by_construction else str(self.outcome)

    @property
    def outcome_words(self) -> str:
        """The outcome in words, with the reason for a statement that holds by construction."""
        return f"{self.counted_as}: {self.construction}" if self.by_construction else self.counted_as

    @property
    def decided(self) -> bool:
        """Whether the outcome is that the statement holds or does not hold."""
        return self.outcome in (Outcome.HOLDS, Outcome.FAILS)

    @property
    def survives(self) -> bool:
        """Whether the statement is also decided after Holm's correction."""
        return self.decided and (self.adjusted is None or self.adjusted < LEVEL)


@dataclass(frozen=True)
class Statement:
    """A statement of a paper, or a hypothesis of this project, made before the measurement.

    Attributes
    ----------
    claim, printed, source
        As in :class:`Verdict`.
    construction
        Clause that explains why the statement holds whenever the code is correct; empty: measurements may contradict
        it.
    """

    claim: str
    printed: str
    source: Source
    construction: str = ""

    def judge(self, rule: Rule, found: Interval, measured: str, remark: str = "") -> Verdict:
        """Judge an interval by a rule."""
        return self.verdict(rule.decide(found), rule.words, measured, remark)

    def each(self, rule: Rule, found: Mapping[str, Interval], measured: str, remark: str = "") -> Verdict:
        """Judge several intervals by a rule, all of which must hold (:func:`together`)."""
        decision = together([rule.decide(item) for item in found.values()])
        words = rule.words if len(found) == 1 else f"{rule.words}; each of {len(found)}, refuted by one after Holm"
        return self.verdict(decision, words, measured, remark)

    def exact_verdict(self, holds: bool, rule: str, measured: str, remark: str = "") -> Verdict:
        """Verdict on a deterministic value; the rule begins with "holds if"."""
        return self.verdict(Decision(Outcome.HOLDS if holds else Outcome.FAILS), rule, measured, remark)

    def exact(self, value: float, measured: str = "", remark: str = "") -> Verdict:
        """Judge a deterministic number by the digits of the printed text."""
        rule = Digits(self.printed)
        return self.exact_verdict(rule.equal(value), rule.words, measured or f"{value:,.6g}", remark)

    def open(self, reason: str, measured: str = "-", rule: str = "") -> Verdict:
        """Verdict "not comparable", with a reason."""
        return self.verdict(Decision(Outcome.NOT_COMPARABLE), rule, measured, reason)

    def verdict(self, decision: Decision, rule: str, measured: str, remark: str = "") -> Verdict:
        """Verdict of a given decision."""
        return Verdict(
            self.claim,
            self.printed,
            measured,
            decision.outcome,
            remark,
            rule=rule,
            source=self.source,
            p_value=decision.p_value,
            construction=self.construction,
        )


def correct_p_values(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Adjust the p-values of verdicts by Holm's method.

    The family consists of all verdicts with a p-value, except statements by construction, which are not tests.
    """
    family = [
        place for place, verdict in enumerate(verdicts) if verdict.p_value is not None and not verdict.by_construction
    ]
    done = list(verdicts)
    for place, adjusted in zip(family, holm([verdicts[place].p_value or 0.0 for place in family]), strict=True):
        done[place] = replace(verdicts[place], adjusted=adjusted)
    return done


def remaining_decisions(verdicts: Sequence[Verdict]) -> str:
    """Sentence on the decisions that remain after Holm's correction; empty for fewer than two tests.

    >>> statement = Statement("it falls", "-", HYPOTHESIS)
    >>> sure, weak = (statement.verdict(Decision(Outcome.HOLDS, p), "holds if it falls", "1") for p in (0.001, 0.04))
    >>> remaining_decisions(correct_p_values([sure, weak, replace(weak, p_value=0.5, outcome=Outcome.UNDECIDED)]))
    "Of 3 tests, 2 decide at 5 % each; Holm's correction for their number leaves 1 (1 holds, 0 do not hold)."
    """
    tests = [
        verdict
        for verdict in verdicts
        if verdict.p_value is not None and verdict.outcome in _TESTED and not verdict.by_construction
    ]
    if len(tests) < 2:
        return ""
    decided = sum(verdict.decided for verdict in tests)
    left = [verdict.outcome for verdict in tests if verdict.survives]
    holds, fails = left.count(Outcome.HOLDS), left.count(Outcome.FAILS)
    return (
        f"Of {len(tests)} tests, {decided} decide{'s' if decided == 1 else ''} at 5 % each; Holm's correction for "
        f"their number leaves {len(left)} ({holds} hold{'s' if holds == 1 else ''}, "
        f"{fails} do{'es' if fails == 1 else ''} not hold)."
    )


def format_p(verdict: Verdict) -> str:
    """Format the p-value of a verdict and the adjusted one; empty without a p-value.

    >>> statement = Statement("it falls", "-", HYPOTHESIS)
    >>> both = [statement.verdict(Decision(Outcome.HOLDS, p), "holds if it falls", "1") for p in (0.00001, 0.04)]
    >>> format_p(correct_p_values(both)[0])
    'p < 0.0001, < 0.0001 after Holm'
    """
    if verdict.p_value is None:
        return ""
    whole = f"p {_p(verdict.p_value)}"
    return whole if verdict.adjusted is None else f"{whole}, {_p(verdict.adjusted).removeprefix('= ')} after Holm"


def _p(value: float) -> str:
    return "< 0.0001" if value < 0.0001 else f"= {value:.2g}"


_TESTED = (Outcome.HOLDS, Outcome.FAILS, Outcome.UNDECIDED)

#: Columns of the file of verdicts.
COLUMNS = ("claim", "printed", "source", "measured", "outcome", "construction", "rule", "p_value", "adjusted", "remark")


def verdict_row(verdict: Verdict) -> dict[str, Any]:
    """A row of the file of verdicts, by :data:`COLUMNS`."""
    row = {name: getattr(verdict, name) for name in COLUMNS}
    return row | {"source": str(verdict.source), "outcome": str(verdict.outcome)}
