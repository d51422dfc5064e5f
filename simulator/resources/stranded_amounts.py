"""Stranded resources: in total enough for the first waiting job, but not on the nodes that have them free.

A loop over whole numbers, which runs compiled or as plain Python.
"""

from __future__ import annotations

from typing import Any

from holdfast.simulator.resources.limit_accounts import stopping_account
from holdfast.simulator.resources.loop_arguments import (
    Accounts,
    Choice,
    Jobs,
    LoopRecords,
    Needs,
    Nodes,
    Plan,
    Rule,
    WaitingRing,
    Windows,
)
from holdfast.simulator.resources.loop_state import CHANGED, NOW, PASSES, RELEASED
from holdfast.simulator.resources.node_choice import place
from holdfast.simulator.resources.window_checks import is_closed

__all__ = ["measure_stranded_amounts"]


def measure_stranded_amounts(
    rule: Rule, nodes: Nodes, needs: Needs, jobs: Jobs, accounts: Accounts, queue: WaitingRing, plan: Plan,
    choice: Choice, windows: Windows, records: LoopRecords,
) -> None:  # fmt: skip
    """Write the amounts that are stranded from this pass to the next one into ``records.stranded``.

    They are free where the first such job wants them. Whether that is so is kept for each need until a job starts or
    ends.
    """
    resources = nodes.resources
    state = records.state
    judged = choice.judged_stranded
    at = state[PASSES] * resources
    for kind in range(resources):
        records.stranded[at + kind] = 0
    top = jobs.total
    job = queue.after[top]
    while job != top:
        for option in range(jobs.first[job], jobs.first[job] + jobs.options[job]):
            need = jobs.need[option]
            if stopping_account(option, need * 5, needs.sums, accounts) >= 0:
                continue
            if windows.total > 0 or choice.judged[need] != state[CHANGED]:
                choice.judged[need] = state[CHANGED]
                judged[need] = has_stranded(need, jobs.walltimes[job], rule, nodes, needs, plan, choice, windows, state)
            if judged[need] == 1:
                end = state[NOW] + jobs.walltimes[job]
                for kind in range(resources):
                    if needs.wanted[need * resources + kind] > 0:
                        records.stranded[at + kind] = free_in_total(
                            kind, need, state[NOW], end, rule, nodes, needs, plan, windows
                        )
                return
        job = queue.after[job]


def has_stranded(
    need: Any, walltime: Any, rule: Rule, nodes: Nodes, needs: Needs, plan: Plan, choice: Choice, windows: Windows,
    state: Any,
) -> Any:  # fmt: skip
    """Whether free amounts would in total suffice for a need, but no nodes have room for it."""
    now = state[NOW]
    for kind in range(nodes.resources):
        free = free_in_total(kind, need, now, now + walltime, rule, nodes, needs, plan, windows)
        if free < needs.wanted[need * nodes.resources + kind]:
            return 0
    if windows.total == 0 and choice.failed[need] == state[RELEASED]:
        # It has found no room since nodes were last released.
        return 1
    nought = 0 * need
    one = nought + 1
    fits = place(
        need, nought, now, walltime, nought, rule.tolerance, one, nought, rule, nodes, needs, plan, choice, windows
    )
    return 0 if fits > 0 else 1


def free_in_total(
    kind: Any, need: Any, now: Any, end: Any, rule: Rule, nodes: Nodes, needs: Needs, plan: Plan, windows: Windows
) -> Any:
    """Free amount of a resource on the nodes of a need that no window closes until ``end``."""
    first = needs.first[need]
    amount = 0
    for spot in range(first, first + needs.eligible[need]):
        node = needs.places[spot]
        if windows.total == 0 or is_closed(node, need, now, end, rule.tolerance, windows) == 0:
            amount += plan.frees[node * nodes.resources + kind]
    return amount


#: They are compiled once (:func:`holdfast.workloads.ground.compilation.assembly`).
measure_stranded_amounts.stands_alone = True  # type: ignore[attr-defined]
has_stranded.stands_alone = True  # type: ignore[attr-defined]
free_in_total.stands_alone = True  # type: ignore[attr-defined]
