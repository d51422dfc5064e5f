"""Placement of a job on nodes, by the resources that stay free over its walltime beside the jobs with reservations.

A loop over whole numbers, which runs compiled or as plain Python
(:func:`holdfast.policies.kernels.compiled_or_plain.compiled_loop`).
"""

from __future__ import annotations

from typing import Any

from holdfast.simulator.resources.free_amounts import add_amounts
from holdfast.simulator.resources.loop_arguments import Choice, Needs, Nodes, Plan, Rule, Windows
from holdfast.simulator.resources.node_order import order_by_cores, order_in_runs
from holdfast.simulator.resources.node_windows import is_closed

__all__ = ["PACK", "SLURM", "SPREAD", "place"]

#: Ways to choose among the nodes that fit (docs/reference/machines.md, "Rules of a replay").
PACK, SPREAD, SLURM = 0, 1, 2


def place(
    need: Any, slot: Any, time: Any, walltime: Any, heads: Any, slack: Any, looks: Any, net: Any, rule: Rule,
    nodes: Nodes, needs: Needs, plan: Plan, choice: Choice, windows: Windows,
) -> Any:  # fmt: skip
    """The nodes of a job, or 0 if it cannot be placed.

    ``need`` is what it needs, ``time`` when it begins and ``walltime`` for how long. ``slot`` is the row of
    ``plan.frees`` with what running jobs leave free at that time. The first ``heads`` reservations are kept; those that
    end up to ``slack`` after ``time`` count as ended (the tolerance at other times). With ``looks`` it is only
    found out whether the job can be placed.

    What is free at the begin of each reservation beside all that are kept stands in ``plan.nets``, from the row ``net``
    on. The need is kept off nodes that are closed.

    Returns the number of nodes. ``choice`` gets them, and what the job takes of each.
    """
    total, resources, _, capacities, _, _, _ = nodes
    _, frees, head_time, head_end, _, _, plan_first, plan_count, _, _, nets, twins = plan
    least, load, fitting, chosen, chosen_amount, _, _, _, _, _, _ = choice
    eligible = needs.places
    need_vector = needs.vector
    need_last = needs.last
    need_base = needs.base
    tolerance = rule.tolerance
    nought = 0 * need
    back = nought - 1
    width = total * resources
    first = needs.first[need]
    count = needs.eligible[need]
    tasks = needs.tasks[need]
    exclusive = needs.exclusive[need]
    own = need * resources
    for spot in range(first, first + count):
        node = eligible[spot]
        for kind in range(resources):
            least[node * resources + kind] = frees[slot * width + node * resources + kind]
    # The free vector over an interval is the least at its begin and at each begin of a reservation within it.
    for head in range(heads):
        if head_time[head] <= time and head_end[head] > time + slack:
            add_amounts(plan_first[head], plan_count[head], back, nought, resources, plan.node, plan.amount, least)
    wanted = needs.nodes[need]
    if looks == 1 and tasks == 0:
        # Most times are refused by what is free at their begin.
        fits = 0
        for spot in range(first, first + count):
            at = eligible[spot] * resources
            part = 1
            for kind in range(resources):
                if least[at + kind] < need_last[own + kind]:
                    part = 0
            fits += part
        if fits < wanted:
            return 0
    for point in range(heads):
        when = head_time[point]
        if twins[point] == 0 and when > time and when + tolerance < time + walltime:
            here = (net + point) * width
            if 2 * count > total:
                # All nodes in a row take less time than half of them one by one.
                for spot in range(width):
                    left = nets[here + spot]
                    if left < least[spot]:
                        least[spot] = left
            else:
                for spot in range(first, first + count):
                    at = eligible[spot] * resources
                    for kind in range(resources):
                        left = nets[here + at + kind]
                        if left < least[at + kind]:
                            least[at + kind] = left

    # Nodes that fit.
    fits = 0
    whole = 0
    held = 0
    for spot in range(first, first + count):
        node = eligible[spot]
        at = node * resources
        if exclusive == 1 and least[at] != capacities[at]:
            continue
        if windows.total > 0 and is_closed(node, need, time, time + walltime, tolerance, windows) == 1:
            continue
        if tasks > 0:
            takes = tasks
            for kind in range(resources):
                left = least[at + kind] - need_base[own + kind]
                if left < 0:
                    takes = 0
                elif need_vector[own + kind] > 0 and left < takes * need_vector[own + kind]:
                    takes = left // need_vector[own + kind]
            if takes > 0:
                fitting[fits] = node
                fits += 1
                held += takes
                # How many tasks a node takes is kept where nothing else is.
                load[at] = takes
        else:
            part = 1
            full = 1
            for kind in range(resources):
                if least[at + kind] < need_last[own + kind]:
                    part = 0
                if least[at + kind] < need_vector[own + kind]:
                    full = 0
            if part == 1:
                fitting[fits] = node
                fits += 1
                whole += full
    enough = 1
    if tasks > 0:
        if held < tasks:
            enough = 0
    elif fits < wanted or whole < wanted - 1:
        enough = 0
    if enough == 0 or looks == 1:
        if tasks > 0:
            for spot in range(fits):
                load[fitting[spot] * resources] = 0
        return enough

    # Their order.
    if rule.placement == SLURM:
        order_in_runs(fits, wanted, tasks, nodes, choice)
    else:
        sign = nought + 1
        if rule.placement == SPREAD:
            sign = back
        only = nought
        if tasks == 0 and wanted == 1:
            # Most jobs need one node: the first in the order is enough.
            only = nought + 1
        order_by_cores(fits, only, sign, nodes, choice)

    # The first of them that suffice.
    found = 0
    if tasks > 0:
        left = tasks
        for spot in range(fits):
            node = fitting[spot]
            takes = load[node * resources]
            load[node * resources] = 0
            if takes > left:
                takes = left
            if takes > 0:
                left -= takes
                chosen[found] = node
                for kind in range(resources):
                    amount = takes * need_vector[own + kind] + need_base[own + kind]
                    if exclusive == 1:
                        amount = capacities[node * resources + kind]
                    chosen_amount[found * resources + kind] = amount
                found += 1
        return found
    rest = -1
    for spot in range(fits):
        if found == wanted:
            break
        node = fitting[spot]
        full = 1
        for kind in range(resources):
            if least[node * resources + kind] < need_vector[own + kind]:
                full = 0
        # The last node may hold fewer tasks: it is the first that is not among the others.
        if found < wanted - 1 and full == 0:
            if rest < 0:
                rest = node
            continue
        if found == wanted - 1 and rest >= 0:
            node = rest
        chosen[found] = node
        for kind in range(resources):
            amount = need_vector[own + kind]
            if found == wanted - 1:
                amount = need_last[own + kind]
            if exclusive == 1:
                amount = capacities[node * resources + kind]
            chosen_amount[found * resources + kind] = amount
        found += 1
    if found == wanted - 1:
        node = rest
        chosen[found] = node
        for kind in range(resources):
            amount = need_last[own + kind]
            if exclusive == 1:
                amount = capacities[node * resources + kind]
            chosen_amount[found * resources + kind] = amount
        found += 1
    return found


#: It is called from several places (:func:`holdfast.workloads.ground.compilation.assembly`).
place.stands_alone = True  # type: ignore[attr-defined]
