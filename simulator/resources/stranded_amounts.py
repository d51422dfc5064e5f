"""Stranded resources: in total enough for the first waiting job, but not on the nodes that have them free.

A loop over whole numbers, which runs compiled or as plain Python.
"""

from __future__ import annotations

from holdfast.simulator.resources.limit_accounts import stopping_account
from holdfast.simulator.resources.loop_arguments import LoopArguments
from holdfast.simulator.resources.loop_state import CHANGED, NOW, PASSES, RELEASED
from holdfast.simulator.resources.node_choice import place
from holdfast.simulator.resources.node_windows import is_closed

__all__ = ["measure_stranded_amounts"]


def measure_stranded_amounts(loop: LoopArguments) -> None:
    """Write the amounts that are stranded from this pass to the next one into ``records.stranded``.

    They are free where the first such job wants them. Whether that is so is kept for each need until a job starts or
    ends.
    """
    rule, nodes, needs, jobs, accounts, _, queue, _, plan, choice, windows, records = loop
    resources = nodes.resources
    top = jobs.total
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
                can_fit = windows.total > 0 or choice.failed[need] != state[RELEASED]
                if judged[need] == 1 and can_fit:
                    fits = place(need, 0, now, jobs.walltimes[job], 0, rule.tolerance, 1, 0, loop)
                    judged[need] = 1 - fits
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
