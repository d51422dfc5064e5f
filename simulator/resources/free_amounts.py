"""Updates of the free amounts of nodes when a run of a replay takes or releases resources.

Loops over whole numbers, which run compiled or as plain Python.
"""

from __future__ import annotations

from typing import Any

from holdfast.simulator.resources.loop_arguments import LoopArguments

__all__ = ["add_amounts", "change_free"]


def add_amounts(
    first: Any, count: Any, sign: Any, at: Any, resources: Any, nodes: Any, amounts: Any, into: Any
) -> None:
    """Add ``sign`` times the amounts of ``count`` entries to the row of all nodes that begins at ``at``."""
    for entry in range(first, first + count):
        for kind in range(resources):
            into[at + nodes[entry] * resources + kind] += sign * amounts[entry * resources + kind]


def change_free(first: Any, count: Any, sign: Any, limit: Any, heads: Any, loop: LoopArguments) -> None:
    """Add ``sign`` times the amounts of a run to what is free now, and at each reservation's begin until its limit."""
    runs, plan = loop.runs, loop.plan
    resources = loop.nodes.resources
    width = loop.nodes.total * resources
    add_amounts(first, count, sign, 0, resources, runs.node, runs.amount, plan.frees)
    for head in range(heads):
        if limit > plan.time[head] + loop.rule.tolerance:
            at = (head + 1) * width
            add_amounts(first, count, sign, at, resources, runs.node, runs.amount, plan.frees)
