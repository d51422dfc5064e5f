"""Types of the conformance contract: claims of a policy, problems, and answers formatted as text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from holdfast.policies.port import Start
from holdfast.simulator.services.action_checks import describe

__all__ = ["Claims", "Problem", "in_words"]

#: The broken rule, and a description of the violation.
Problem = tuple[str, str]


@dataclass(frozen=True)
class Claims:
    """What a policy claims beyond the contract.

    Attributes
    ----------
    head
        Whether it never delays the first waiting job.
    runtime
        Whether it may read true runtimes.
    """

    head: bool = False
    runtime: bool = False


def in_words(answer: Any) -> str:
    """Format an answer as text."""
    if isinstance(answer, list | tuple):
        return ", ".join(in_words(item) for item in answer) or "nothing"
    if isinstance(answer, dict):
        return "; ".join(f"{key}: {in_words(value)}" for key, value in answer.items())
    if isinstance(answer, Start) and answer.draws:
        return f"{describe(answer)[:-1]}, draws={answer.draws!r})"
    return describe(answer)
