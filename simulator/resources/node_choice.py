"""Placement of a job on nodes, by the resources that stay free over its walltime beside the jobs with reservations.

A loop over whole numbers, which runs compiled or as plain Python
(:func:`holdfast.policies.kernels.compiled_or_plain.compiled_loop`).
"""

from __future__ import annotations

from holdfast.simulator.resources.free_amounts import add_amounts
from holdfast.simulator.resources.node_order import order_by_cores, order_in_runs
from holdfast.simulator.resources.node_windows import is_closed

__all__ = ["PACK", "SLURM", "SPREAD", "place"]

#: Ways to choose among the nodes that fit (docs/reference/machines.md, "Rules of a replay").
PACK, SPREAD, SLURM = 0, 1, 2


def place(  # type: ignore[no-untyped-def] # compiled: types are numba's to infer, from lists and arrays alike
    need, slot, time, walltime, heads, slack, tolerance, looks, nodes, resources, placement,
    need_first, need_eligible, need_nodes, need_tasks, need_exclusive, need_vector, need_last, need_base, eligible,
    capacities, weights, by_name, frees, head_time, head_end, plan_first, plan_count, plan_node, plan_amount,
    net, nets, twins, least, load, fitting, chosen, chosen_amount,
    windows, tickets, window, node_first, node_window, admits,
):  # fmt: skip
    """The nodes of a job, or 0 if it cannot be placed.

    ``need`` is what it needs, ``time`` when it begins and ``walltime`` for how long. ``slot`` is the place in ``frees``
    of the resources that running jobs leave free at that time. The first ``heads`` reservations are kept; those that
    end up to ``slack`` after ``time`` count as ended (``tolerance`` at other times). With ``looks`` it is only
    found out whether the job can be placed.

    What is free at the begin of each reservation beside all that are kept stands in ``nets``, from the row ``net`` on;
    those with ``twins`` begin at the same time as an earlier one. The need is kept off nodes that are closed
    (:mod:`holdfast.simulator.resources.node_windows`).

    Returns the number of nodes. ``chosen`` gets them, ``chosen_amount`` what the job takes of each.
    """
    nought = 0 * need
    back = nought - 1
    width = nodes * resources
    first = need_first[need]
    count = need_eligible[need]
    own = need * resources
    for spot in range(first, first + count):
        node = eligible[spot]
        for kind in range(resources):
            least[node * resources + kind] = frees[slot * width + node * resources + kind]
    # The free vector over an interval is the least at its begin and at each begin of a reservation within it.
    for head in range(heads):
        if head_time[head] <= time and head_end[head] > time + slack:
            add_amounts(  # type: ignore[no-untyped-call]
                plan_first[head], plan_count[head], back, nought, resources, plan_node, plan_amount, least
            )
    wanted = need_nodes[need]
    if looks == 1 and need_tasks[need] == 0:
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
            if 2 * count > nodes:
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
    tasks = need_tasks[need]
    for spot in range(first, first + count):
        node = eligible[spot]
        at = node * resources
        if need_exclusive[need] == 1 and least[at] != capacities[at]:
            continue
        if windows > 0:
            shut = is_closed(  # type: ignore[no-untyped-call]
                node, need, time, time + walltime, tolerance, tickets, window, node_first, node_window, admits
            )
            if shut == 1:
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
    if placement == 2:
        order_in_runs(fits, wanted, tasks, resources, weights, by_name, least, load, fitting)  # type: ignore[no-untyped-call]
    else:
        sign = nought + 1
        if placement == 1:
            sign = back
        only = nought
        if tasks == 0 and wanted == 1:
            # Most jobs need one node: the first in the order is enough.
            only = nought + 1
        order_by_cores(fits, only, sign, resources, weights, least, fitting)  # type: ignore[no-untyped-call]

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
                    if need_exclusive[need] == 1:
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
            if need_exclusive[need] == 1:
                amount = capacities[node * resources + kind]
            chosen_amount[found * resources + kind] = amount
        found += 1
    if found == wanted - 1:
        node = rest
        chosen[found] = node
        for kind in range(resources):
            amount = need_last[own + kind]
            if need_exclusive[need] == 1:
                amount = capacities[node * resources + kind]
            chosen_amount[found * resources + kind] = amount
        found += 1
    return found


#: It is called from several places (:func:`holdfast.workloads.ground.compilation.assembly`).
place.stands_alone = True  # type: ignore[attr-defined]
