"""Reports of the violations that a policy committed."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

from workloads.ground.errors import InputError

__all__ = ["BrokenPolicyError", "Finding", "Report"]


class BrokenPolicyError(InputError):
    """A policy does not keep the contract; the message is the whole report."""


@dataclass(frozen=True)
class Finding:
    """Something that a policy broke.

    Attributes
    ----------
    rule
        Which rule, as a word: e.g. ``start``, ``state``, ``runtime``.
    what
        What happened, in a sentence.
    scenario
        The smallest machine and jobs on which it was seen; empty: it needs none.
    answer
        What the policy answered there; empty: nothing.
    """

    rule: str
    what: str
    scenario: str = ""
    answer: str = ""

    def __str__(self) -> str:
        lines = [f"- {self.what}"]
        if self.scenario:
            lines.append(textwrap.indent(self.scenario, "    "))
        if self.answer:
            lines.append(f"    it answered: {self.answer}")
        return "\n".join(lines)


@dataclass(frozen=True)
class Report:
    """What was found out about a policy.

    Attributes
    ----------
    policy, kind
        What was checked.
    scenarios
        How many scenarios it went through.
    findings
        What it broke, one for each rule.
    """

    policy: str
    kind: str
    scenarios: int
    findings: tuple[Finding, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether it broke nothing."""
        return not self.findings

    def __str__(self) -> str:
        head = f"{self.kind} {self.policy}: "
        if self.ok:
            return f"{head}keeps the contract in {self.scenarios} scenarios"
        rules = f"breaks {len(self.findings)} {'rule' if len(self.findings) == 1 else 'rules'} of the contract"
        return "\n".join([f"{head}{rules}", *map(str, self.findings)])
