"""Amounts that become free or are taken, node by node: the sums that a replay on named nodes keeps.

Loops over whole numbers, which run compiled or as plain Python.
"""

from __future__ import annotations

__all__ = ["add_amounts", "change_free"]


def add_amounts(first, count, sign, at, resources, nodes, amounts, into):  # type: ignore[no-untyped-def] # compiled
    """Add ``sign`` times the amounts of ``count`` entries to the row of all nodes that begins at ``at``."""
    for entry in range(first, first + count):
        for kind in range(resources):
            into[at + nodes[entry] * resources + kind] += sign * amounts[entry * resources + kind]


def change_free(  # type: ignore[no-untyped-def] # compiled
    first, count, sign, limit, heads, tolerance, width, resources, nodes, amounts, frees, head_time,
):  # fmt: skip
    """Add ``sign`` times the amounts of a run to what is free now, and at each reservation's begin until its limit."""
    add_amounts(first, count, sign, 0 * first, resources, nodes, amounts, frees)  # type: ignore[no-untyped-call]
    for head in range(heads):
        if limit > head_time[head] + tolerance:
            at = (head + 1) * width
            add_amounts(first, count, sign, at, resources, nodes, amounts, frees)  # type: ignore[no-untyped-call]


#: They are called from several places (:func:`holdfast.workloads.ground.compilation.assembly`).
add_amounts.stands_alone = True  # type: ignore[attr-defined]
change_free.stands_alone = True  # type: ignore[attr-defined]
