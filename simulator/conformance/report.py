"""Reports of the violations that a policy committed."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

from holdfast.workloads.ground.errors import InputError

__all__ = ["BrokenPolicyError", "Finding", "Report"]


class BrokenPolicyError(InputError):
    """Raised if a policy breaks its contract; the message is the whole report."""


@dataclass(frozen=True)
class Finding:
    """A violation of the contract.

    Attributes
    ----------
    rule
        Name of the rule, e.g. ``start``, ``state``, ``runtime``.
    what
        Description of the violation, as a sentence.
    scenario
        The smallest machine and jobs that show it; empty: none are needed.
    answer
        Answer of the policy there; empty: none.
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
    """Result of a conformance check.

    Attributes
    ----------
    policy, kind
        Name and kind of the policy.
    scenarios
        Number of scenarios.
    findings
        Violations, one for each broken rule.
    """

    policy: str
    kind: str
    scenarios: int
    findings: tuple[Finding, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the policy keeps the contract."""
        return not self.findings

    def __str__(self) -> str:
        head = f"{self.kind} {self.policy}: "
        if self.ok:
            return f"{head}keeps the contract in {self.scenarios} scenarios"
        rules = f"breaks {len(self.findings)} {'rule' if len(self.findings) == 1 else 'rules'} of the contract"
        return "\n".join([f"{head}{rules}", *map(str, self.findings)])
