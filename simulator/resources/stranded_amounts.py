"""Stranded resources: in total enough for the first waiting job, but not on the nodes that have them free.

A loop over whole numbers, which runs compiled or as plain Python.
"""

from __future__ import annotations

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
from holdfast.simulator.resources.node_windows import is_closed

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
    top = jobs.total
    one = 0 * top + 1
    nought = one - 1
    state = records.state
    now = state[NOW]
    at = state[PASSES] * resources
    stranded = records.stranded
    judged = choice.judged_stranded
    frees = plan.frees
    for kind in range(resources):
        stranded[at + kind] = 0
    job = queue.after[top]
    while job != top:
        end = now + jobs.walltimes[job]
        for option in range(jobs.first[job], jobs.first[job] + jobs.options[job]):
            need = jobs.need[option]
            if stopping_account(option, need * 5, needs.sums, accounts) >= 0:
                continue
            first = needs.first[need]
            last = first + needs.eligible[need]
            own = need * resources
            if windows.total > 0 or choice.judged[need] != state[CHANGED]:
                choice.judged[need] = state[CHANGED]
                judged[need] = 1
                for kind in range(resources):
                    amount = 0
                    for spot in range(first, last):
                        node = needs.places[spot]
                        if windows.total == 0 or is_closed(node, need, now, end, rule.tolerance, windows) == 0:
                            amount += frees[node * resources + kind]
                    if amount < needs.wanted[own + kind]:
                        judged[need] = 0
                if judged[need] == 1 and (windows.total > 0 or choice.failed[need] != state[RELEASED]):
                    fits = place(
                        need, nought, now, jobs.walltimes[job], nought, rule.tolerance, one, nought, rule, nodes,
                        needs, plan, choice, windows,
                    )  # fmt: skip
                    if fits > 0:
                        judged[need] = 0
            if judged[need] == 1:
                for spot in range(first, last):
                    node = needs.places[spot]
                    if windows.total > 0 and is_closed(node, need, now, end, rule.tolerance, windows) == 1:
                        continue
                    for kind in range(resources):
                        if needs.wanted[own + kind] > 0:
                            stranded[at + kind] += frees[node * resources + kind]
                return
        job = queue.after[job]


#: It is compiled once (:func:`holdfast.workloads.ground.compilation.assembly`).
measure_stranded_amounts.stands_alone = True  # type: ignore[attr-defined]
