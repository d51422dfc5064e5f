"""Stranded resources: in total enough for the first waiting job, but not on the nodes that have them free.

Loops over whole numbers, which run compiled or as plain Python.
"""

from __future__ import annotations

from typing import Any

from holdfast.simulator.resources.limit_accounts import stopping_account
from holdfast.simulator.resources.loop_arguments import LoopArguments
from holdfast.simulator.resources.loop_state import CHANGED, NOW, PASSES, RELEASED
from holdfast.simulator.resources.node_choice import place
from holdfast.simulator.resources.window_checks import is_closed

__all__ = ["measure_stranded_amounts"]


def measure_stranded_amounts(loop: LoopArguments) -> None:
    """Write the amounts that are stranded from this pass to the next one into ``records.stranded``.

    They are free where the first such job wants them. Whether that is so is kept for each need until a job starts or
    ends.
    """
    jobs, needs, records = loop.jobs, loop.needs, loop.records
    resources = loop.nodes.resources
    state = records.state
    known, judged = loop.choice.judged, loop.choice.judged_stranded
    at = state[PASSES] * resources
    for kind in range(resources):
        records.stranded[at + kind] = 0
    top = jobs.total
    job = loop.queue.after[top]
    while job != top:
        walltime = jobs.walltimes[job]
        for option in range(jobs.first[job], jobs.first[job] + jobs.options[job]):
            need = jobs.need[option]
            if stopping_account(option, need * 5, needs.sums, loop.accounts) >= 0:
                continue
            if loop.windows.total > 0 or known[need] != state[CHANGED]:
                known[need] = state[CHANGED]
                judged[need] = _has_stranded(need, walltime, loop)
            if judged[need] == 1:
                for kind in range(resources):
                    if needs.wanted[need * resources + kind] > 0:
                        records.stranded[at + kind] = _free_in_total(kind, need, walltime, loop)
                return
        job = loop.queue.after[job]


def _has_stranded(need: Any, walltime: Any, loop: LoopArguments) -> Any:
    """Whether free amounts would in total suffice for a need, but no nodes have room for it."""
    state = loop.records.state
    resources = loop.nodes.resources
    for kind in range(resources):
        if _free_in_total(kind, need, walltime, loop) < loop.needs.wanted[need * resources + kind]:
            return 0
    if loop.windows.total == 0 and loop.choice.failed[need] == state[RELEASED]:
        # It has found no room since nodes were last released.
        return 1
    return 1 - place(need, 0, state[NOW], walltime, 0, loop.rule.tolerance, 1, 0, loop)


def _free_in_total(kind: Any, need: Any, walltime: Any, loop: LoopArguments) -> Any:
    """Free amount of a resource on the nodes of a need that no window closes during a walltime from now on."""
    nodes, needs, windows = loop.nodes, loop.needs, loop.windows
    now = loop.records.state[NOW]
    first = needs.first[need]
    amount = 0
    for spot in range(first, first + needs.eligible[need]):
        node = needs.places[spot]
        if windows.total == 0 or is_closed(node, need, now, now + walltime, loop.rule.tolerance, windows) == 0:
            amount += loop.plan.frees[node * nodes.resources + kind]
    return amount
