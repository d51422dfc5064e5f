"""Placement of a job on nodes, by the resources that stay free over its walltime beside the jobs with reservations.

A loop over whole numbers, which runs compiled or as plain Python
(:func:`holdfast.policies.kernels.compiled_or_plain.compiled_loop`).
"""

from __future__ import annotations

from typing import Any

from holdfast.simulator.resources.free_amounts import add_amounts
from holdfast.simulator.resources.loop_arguments import Choice, LoopArguments, Needs, Nodes
from holdfast.simulator.resources.node_order import order_by_cores, order_in_runs
from holdfast.simulator.resources.window_checks import is_closed

__all__ = ["PACK", "SLURM", "SPREAD", "place"]

#: Ways to choose among the nodes that fit (docs/reference/machines.md, "Rules of a replay").
PACK, SPREAD, SLURM = 0, 1, 2


def place(
    need: Any, slot: Any, time: Any, walltime: Any, heads: Any, slack: Any, looks: Any, net: Any, loop: LoopArguments
) -> Any:
    """The nodes of a job, or 0 if it cannot be placed.

    ``need`` is what it needs, ``time`` when it begins and ``walltime`` for how long. ``slot`` is the row of
    ``plan.frees`` with what running jobs leave free at that time. The first ``heads`` reservations are kept; those that
    end up to ``slack`` after ``time`` count as ended (the tolerance at other times). With ``looks`` the
    result is only whether the job can be placed, 1 or 0.

    What is free at the begin of each reservation beside all that are kept stands in ``plan.nets``, from the row ``net``
    on. The need is kept off nodes that are closed.

    Returns the number of nodes. ``choice`` gets them, and what the job takes of each.
    """
    rule, nodes, needs, choice = loop.rule, loop.nodes, loop.needs, loop.choice
    tasks = needs.tasks[need]
    wanted = needs.nodes[need]
    fit_at_begin(need, slot, time, heads, slack, loop)
    # Most times are refused by what is free at their begin.
    if looks == 1 and tasks == 0 and number_with_room(need, loop) < wanted:
        return 0
    fit_until_end(need, time, walltime, heads, net, loop)
    fits = nodes_that_fit(need, time, walltime, loop)
    if fits == 0:
        return 0
    if looks == 1:
        if tasks > 0:
            forget_tasks(fits, nodes, choice)
        return 1
    if rule.placement == SLURM:
        order_in_runs(fits, wanted, tasks, nodes, choice)
    else:
        sign = 1
        if rule.placement == SPREAD:
            sign = -1
        only = 0
        if tasks == 0 and wanted == 1:
            # Most jobs need one node: the first in the order is enough.
            only = 1
        order_by_cores(fits, only, sign, nodes, choice)
    if tasks > 0:
        return take_tasks(need, fits, nodes, needs, choice)
    return take_nodes(need, fits, nodes, needs, choice)


def fit_at_begin(need: Any, slot: Any, time: Any, heads: Any, slack: Any, loop: LoopArguments) -> None:
    """Set ``choice.least`` to what is free at the begin beside the reservations of then."""
    needs, plan = loop.needs, loop.plan
    total, resources = loop.nodes.total, loop.nodes.resources
    frees, head_time, head_end = plan.frees, plan.time, plan.end
    eligible = needs.places
    least = loop.choice.least
    width = total * resources
    first = needs.first[need]
    for spot in range(first, first + needs.eligible[need]):
        at = eligible[spot] * resources
        for kind in range(resources):
            least[at + kind] = frees[slot * width + at + kind]
    for head in range(heads):
        if head_time[head] <= time and head_end[head] > time + slack:
            add_amounts(plan.first[head], plan.size[head], -1, 0, resources, plan.node, plan.amount, least)


def number_with_room(need: Any, loop: LoopArguments) -> Any:
    """How many nodes have room for the last node of a job, which may hold fewer tasks than the others."""
    needs = loop.needs
    resources = loop.nodes.resources
    eligible = needs.places
    need_last = needs.last
    least = loop.choice.least
    first = needs.first[need]
    own = need * resources
    fits = 0
    for spot in range(first, first + needs.eligible[need]):
        at = eligible[spot] * resources
        part = 1
        for kind in range(resources):
            if least[at + kind] < need_last[own + kind]:
                part = 0
        fits += part
    return fits


def fit_until_end(need: Any, time: Any, walltime: Any, heads: Any, net: Any, loop: LoopArguments) -> None:
    """Reduce ``choice.least`` to what is free at the begin of each reservation within the walltime."""
    needs = loop.needs
    total, resources = loop.nodes.total, loop.nodes.resources
    head_time, nets, twins = loop.plan.time, loop.plan.nets, loop.plan.twins
    eligible = needs.places
    least = loop.choice.least
    width = total * resources
    first = needs.first[need]
    count = needs.eligible[need]
    for point in range(heads):
        when = head_time[point]
        if twins[point] == 0 and when > time and when + loop.rule.tolerance < time + walltime:
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


def nodes_that_fit(need: Any, time: Any, walltime: Any, loop: LoopArguments) -> Any:
    """The number of nodes with room over the walltime, or 0 if they are too few; ``choice.fitting`` gets them.

    For a job of tasks, ``choice.load`` gets how many of them each node can take, in place of its first resource.
    """
    nodes, needs, choice, windows = loop.nodes, loop.needs, loop.choice, loop.windows
    resources = nodes.resources
    capacities = nodes.capacities
    eligible = needs.places
    need_vector = needs.vector
    need_last = needs.last
    need_base = needs.base
    least, load, fitting = choice.least, choice.load, choice.fitting
    first = needs.first[need]
    tasks = needs.tasks[need]
    wanted = needs.nodes[need]
    exclusive = needs.exclusive[need]
    own = need * resources
    fits = 0
    whole = 0
    held = 0
    for spot in range(first, first + needs.eligible[need]):
        node = eligible[spot]
        at = node * resources
        if exclusive == 1 and least[at] != capacities[at]:
            continue
        if windows.total > 0 and is_closed(node, need, time, time + walltime, loop.rule.tolerance, windows) == 1:
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
    if tasks > 0:
        if held < tasks:
            forget_tasks(fits, nodes, choice)
            fits = 0
    elif fits < wanted or whole < wanted - 1:
        fits = 0
    return fits


def forget_tasks(fits: Any, nodes: Nodes, choice: Choice) -> None:
    """Clear how many tasks each of the nodes that fit can take."""
    for spot in range(fits):
        choice.load[choice.fitting[spot] * nodes.resources] = 0


def take_tasks(need: Any, fits: Any, nodes: Nodes, needs: Needs, choice: Choice) -> Any:
    """Put the tasks of a job on the first nodes that suffice, and clear how many each can take."""
    resources = nodes.resources
    own = need * resources
    load, fitting, chosen, chosen_amount = choice.load, choice.fitting, choice.node, choice.amount
    found = 0
    left = needs.tasks[need]
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
                amount = takes * needs.vector[own + kind] + needs.base[own + kind]
                if needs.exclusive[need] == 1:
                    amount = nodes.capacities[node * resources + kind]
                chosen_amount[found * resources + kind] = amount
            found += 1
    return found


def take_nodes(need: Any, fits: Any, nodes: Nodes, needs: Needs, choice: Choice) -> Any:
    """Take the first nodes that suffice.

    The last node of a job may hold fewer tasks than the others: it is the first that is not among them.
    """
    resources = nodes.resources
    own = need * resources
    least, fitting, chosen, chosen_amount = choice.least, choice.fitting, choice.node, choice.amount
    wanted = needs.nodes[need]
    found = 0
    rest = -1
    for spot in range(fits):
        if found == wanted:
            break
        node = fitting[spot]
        full = 1
        for kind in range(resources):
            if least[node * resources + kind] < needs.vector[own + kind]:
                full = 0
        if found < wanted - 1 and full == 0:
            if rest < 0:
                rest = node
            continue
        if found == wanted - 1 and rest >= 0:
            node = rest
        chosen[found] = node
        found += 1
    if found == wanted - 1:
        chosen[found] = rest
        found += 1
    for place in range(found):
        node = chosen[place]
        for kind in range(resources):
            amount = needs.vector[own + kind]
            if place == wanted - 1:
                amount = needs.last[own + kind]
            if needs.exclusive[need] == 1:
                amount = nodes.capacities[node * resources + kind]
            chosen_amount[place * resources + kind] = amount
    return found
