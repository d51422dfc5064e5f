"""Reservations of waiting jobs on named nodes: their earliest times, and their update when another job starts.

Loops over whole numbers, which run compiled or as plain Python.
"""

from __future__ import annotations

from typing import Any

from holdfast.simulator.resources.free_amounts import add_amounts
from holdfast.simulator.resources.loop_arguments import LoopArguments
from holdfast.simulator.resources.loop_state import NET, NOW, PLAN_ENTRIES, PLANNED, RUNNING, VERSION
from holdfast.simulator.resources.node_choice import place
from holdfast.simulator.resources.window_checks import STANDING, UNTIL, WINDOW

__all__ = ["append_head", "earliest_time", "keep_heads"]


def earliest_time(need: Any, walltime: Any, before_time: Any, loop: LoopArguments) -> Any:
    """The earliest time before another at which a job can be placed for its whole walltime; -1: there is none.

    It is now, or the end of a walltime, of a planned job or of a window. ``choice.tried`` has for each need the version
    of the plan, the walltime and the time at which the last search ended.
    """
    state, nodes, runs, windows = loop.records.state, loop.nodes, loop.runs, loop.windows
    heads, running, version = state[PLANNED], state[RUNNING], state[VERSION]
    resources = nodes.resources
    width = nodes.total * resources
    limits = runs.limits
    by_limit = runs.by_limit
    frees = loop.plan.frees
    head_end = loop.plan.end
    tried = loop.choice.tried
    slot = heads + 1
    at = slot * width
    for spot in range(width):
        frees[at + spot] = frees[spot]
    release = 0
    time = state[NOW]
    answer = -1
    if tried[3 * need] == version and tried[3 * need + 1] <= walltime:
        # No time before the one at which such a job stopped will do for this one.
        time = tried[3 * need + 2]
        while release < running and limits[by_limit[release]] <= time:
            other = by_limit[release]
            add_amounts(runs.first[other], runs.size[other], 1, at, resources, runs.node, runs.amount, frees)
            release += 1
    while time < before_time:
        if place(need, slot, time, walltime, heads, 0, 1, state[NET], loop) > 0:
            answer = time
            break
        # The next end of a walltime, of a planned head, or of a window.
        later = 1 << 62
        if release < running:
            later = limits[by_limit[release]]
        for head in range(heads):
            if head_end[head] > time and head_end[head] < later:
                later = head_end[head]
        for number in range(windows.total):
            end = windows.window[number * WINDOW + UNTIL]
            if windows.window[number * WINDOW + STANDING] == 1 and end > time and end < later:
                later = end
        time = later
        while release < running and limits[by_limit[release]] <= time:
            other = by_limit[release]
            add_amounts(runs.first[other], runs.size[other], 1, at, resources, runs.node, runs.amount, frees)
            release += 1
    tried[3 * need] = version
    tried[3 * need + 1] = walltime
    tried[3 * need + 2] = time
    return answer


def append_head(found: Any, loop: LoopArguments) -> None:
    """Add the reservation whose begin and end stand behind the others' to the plan, on the chosen nodes."""
    state, nodes, plan = loop.records.state, loop.nodes, loop.plan
    heads, net = state[PLANNED], state[NET]
    tolerance = loop.rule.tolerance
    resources = nodes.resources
    width = nodes.total * resources
    frees, head_time, head_end, nets, twins = plan.frees, plan.time, plan.end, plan.nets, plan.twins
    begin = head_time[heads]
    _give_nodes(heads, state[PLAN_ENTRIES], found, loop)
    # What is free at its begin beside all reservations, and at the begin of each beside it.
    here = (net + heads) * width
    for spot in range(width):
        nets[here + spot] = frees[(heads + 1) * width + spot]
    twins[heads] = 0
    for head in range(heads):
        if head_time[head] == begin:
            twins[heads] = 1
        if head_time[head] <= begin and head_end[head] > begin + tolerance:
            add_amounts(plan.first[head], plan.size[head], -1, here, resources, plan.node, plan.amount, nets)
    _take_from_nets(heads, heads + 1, net, loop)
    state[PLANNED] += 1
    state[PLAN_ENTRIES] += found


def keep_heads(begin: Any, loop: LoopArguments) -> Any:
    """Place the reservations from ``begin`` on again, in order, at their times, beside a run that is in ``plan.frees``.

    Returns -1, or the first reservation that has no place, and the plan is as it was.
    """
    state, nodes, plan = loop.records.state, loop.nodes, loop.plan
    heads, entries = state[PLANNED], state[PLAN_ENTRIES]
    # There is room for two plans: the new one is made beside the other.
    net = plan.most - state[NET]
    resources = nodes.resources
    width = nodes.total * resources
    tolerance = loop.rule.tolerance
    frees, head_time, head_end, nets = plan.frees, plan.time, plan.end, plan.nets
    most, plan_first, plan_count = plan.most, plan.first, plan.size
    for head in range(heads):
        for spot in range(width):
            nets[(net + head) * width + spot] = frees[(head + 1) * width + spot]
    for head in range(begin):
        _take_from_nets(head, heads, net, loop)
    fresh = entries
    for head in range(begin, heads):
        # To go back to.
        plan_first[most + head] = plan_first[head]
        plan_count[most + head] = plan_count[head]
    for head in range(begin, heads):
        got = place(
            plan.need[head], head + 1, head_time[head], head_end[head] - head_time[head], head, tolerance, 0, net, loop
        )
        if got == 0:
            for former in range(begin, heads):
                plan_first[former] = plan_first[most + former]
                plan_count[former] = plan_count[most + former]
            return head
        _give_nodes(head, fresh, got, loop)
        _take_from_nets(head, heads, net, loop)
        fresh += got
    # The new plan takes the place of the former one.
    gone = entries - plan_first[most + begin]
    for entry in range(entries, fresh):
        plan.node[entry - gone] = plan.node[entry]
        for kind in range(resources):
            plan.amount[(entry - gone) * resources + kind] = plan.amount[entry * resources + kind]
    for head in range(begin, heads):
        plan_first[head] -= gone
    state[NET] = net
    state[PLAN_ENTRIES] = fresh - gone
    return -1


def _give_nodes(head: Any, first: Any, count: Any, loop: LoopArguments) -> None:
    """Put a reservation on the ``count`` chosen nodes; its entries begin at ``first``."""
    plan, choice = loop.plan, loop.choice
    resources = loop.nodes.resources
    plan.first[head] = first
    plan.size[head] = count
    plan_node, plan_amount, chosen_node, chosen_amount = plan.node, plan.amount, choice.node, choice.amount
    for entry in range(count):
        plan_node[first + entry] = chosen_node[entry]
        for kind in range(resources):
            plan_amount[(first + entry) * resources + kind] = chosen_amount[entry * resources + kind]


def _take_from_nets(head: Any, points: Any, net: Any, loop: LoopArguments) -> None:
    """Take the nodes of a reservation from ``plan.nets`` at each of the first ``points`` begins at which it lasts."""
    plan = loop.plan
    resources = loop.nodes.resources
    width = loop.nodes.total * resources
    tolerance = loop.rule.tolerance
    times, begin, end = plan.time, plan.time[head], plan.end[head]
    for point in range(points):
        if begin <= times[point] and end > times[point] + tolerance:
            at = (net + point) * width
            add_amounts(plan.first[head], plan.size[head], -1, at, resources, plan.node, plan.amount, plan.nets)
