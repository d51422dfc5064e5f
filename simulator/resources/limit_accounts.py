"""Amounts that the running jobs of each limited account hold, and the account that stops another job by its limit.

Amounts are running jobs, nodes, cores, memory and GPUs, in this order; -1 is no limit. Loops over whole numbers, which
run compiled or as plain Python.
"""

from __future__ import annotations

from typing import Any

from holdfast.simulator.resources.loop_arguments import Accounts

__all__ = ["count_run", "measure_run", "stopping_account"]


def stopping_account(option: Any, at: Any, amounts: Any, accounts: Accounts) -> Any:
    """The first account of an option that has no room for the amounts from ``at`` on; -1: each has."""
    first, members, limits, used = accounts
    for spot in range(first[option], first[option + 1]):
        account = members[spot] * 5
        for kind in range(5):
            most = limits[account + kind]
            if most >= 0 and used[account + kind] + amounts[at + kind] > most:
                return members[spot]
    return -1


def measure_run(first: Any, count: Any, resources: Any, nodes: Any, amounts: Any, memories: Any, held: Any) -> None:
    """The amounts of ``count`` entries of nodes together, into ``held``; memory only where it is counted."""
    held[0] = 1
    held[1] = count
    for kind in range(3):
        held[2 + kind] = 0
        for entry in range(first, first + count):
            if kind != 1 or memories[nodes[entry]] == 1:
                held[2 + kind] += amounts[entry * resources + kind]


def count_run(option: Any, sign: Any, held: Any, accounts: Accounts) -> None:
    """Add ``sign`` times the amounts of a run to each account of its option."""
    first, members, _, used = accounts
    for spot in range(first[option], first[option + 1]):
        for kind in range(5):
            used[members[spot] * 5 + kind] += sign * held[kind]
