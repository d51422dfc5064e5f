"""Conformance tests for policies: they check that a policy keeps the contract of its interface and report violations in
words.

>>> from holdfast.simulator.conformance import check_policy
>>> check_policy("saf", kind="order").ok
True
"""

from holdfast.simulator.conformance.check import KINDS, MOST_SCENARIOS, check_policy
from holdfast.simulator.conformance.report import BrokenPolicyError, Finding, Report

__all__ = ["KINDS", "MOST_SCENARIOS", "BrokenPolicyError", "Finding", "Report", "check_policy"]
