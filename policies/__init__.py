"""Scheduling policies: queue orders, backfilling, notice and arrival strategies, and the return of borrowed nodes.

Policies are pure: they read the state of the machine through the port of :mod:`holdfast.policies.port` and return
actions. They do not use SimPy, a clock, or input and output, so that each policy can be tested as a function.
"""

from holdfast.policies.mechanism import BASELINE, MECHANISMS, Mechanism, parse_mechanism
from holdfast.policies.port import Expand, Expect, Hold, Preempt, Promise, Shrink, Start, SystemView, Window

__all__ = [
    "BASELINE",
    "MECHANISMS",
    "Expand",
    "Expect",
    "Hold",
    "Mechanism",
    "Preempt",
    "Promise",
    "Shrink",
    "Start",
    "SystemView",
    "Window",
    "parse_mechanism",
]
