"""Scheduling policies: queue orders, backfilling, notice and arrival strategies, and the return of borrowed nodes.

Policies are pure. They see the machine through the read-only port of :mod:`policies.port` and return actions. They
know nothing of SimPy, keep no clock and do no input or output, so each is tested as a function.
"""

from policies.mechanism import BASELINE, MECHANISMS, Mechanism, parse_mechanism
from policies.port import Expand, Expect, Hold, Preempt, Promise, Shrink, Start, SystemView, Window

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
