"""Reservations of waiting jobs on named nodes: the earliest time of one, adding it, and keeping all beside a new run.

Loops over whole numbers, which run compiled or as plain Python. Names are those of
:func:`holdfast.simulator.resources.resource_loop.replay_resources`. A plan stands in ``plan_node`` and ``plan_amount``,
that of a reservation from ``plan_first`` on; row ``head + 1`` of ``frees`` is what running jobs leave free at the begin
of a reservation, and row ``net + head`` of ``nets`` what reservations leave of that.
"""

from __future__ import annotations

from holdfast.simulator.resources.free_amounts import add_amounts
from holdfast.simulator.resources.node_choice import place
from holdfast.simulator.resources.node_windows import STANDING, UNTIL, WINDOW

__all__ = ["append_head", "earliest_time", "keep_heads"]


def earliest_time(  # type: ignore[no-untyped-def] # compiled: types are numba's to infer, from lists and arrays alike
    need, walltime, now, before_time, heads, runs, version, tolerance, nodes, resources, placement,
    need_first, need_eligible, need_nodes, need_tasks, need_exclusive, need_vector, need_last, need_base, eligible,
    capacities, weights, by_name, taken_first, taken_count, taken_node, taken_amount, by_limit, limits,
    frees, head_time, head_end, plan_first, plan_count, plan_node, plan_amount, net,
    nets, twins, least, load, fitting, chosen, chosen_amount, tried,
    windows, tickets, window, node_first, node_window, admits,
):  # fmt: skip
    """The earliest time before another at which a job can be placed for its whole walltime; -1: there is none.

    It is now, or the end of a walltime, of a planned job or of a window. ``tried`` has for each need the version of the
    plan, the walltime and the time at which the last search ended.
    """
    one = 0 * need + 1
    nought = one - 1
    width = nodes * resources
    slot = heads + 1
    at = slot * width
    for spot in range(width):
        frees[at + spot] = frees[spot]
    release = nought
    time = now
    answer = nought - 1
    if tried[3 * need] == version and tried[3 * need + 1] <= walltime:
        # No time before the one at which such a job stopped will do for this one.
        time = tried[3 * need + 2]
        while release < runs and limits[by_limit[release]] <= time:
            other = by_limit[release]
            add_amounts(  # type: ignore[no-untyped-call]
                taken_first[other], taken_count[other], one, at, resources, taken_node, taken_amount, frees
            )
            release += 1
    while time < before_time:
        found = place(  # type: ignore[no-untyped-call]
            need, slot, time, walltime, heads, nought, tolerance, one, nodes, resources, placement, need_first,
            need_eligible, need_nodes, need_tasks, need_exclusive, need_vector, need_last, need_base, eligible,
            capacities, weights, by_name, frees, head_time, head_end, plan_first, plan_count, plan_node, plan_amount,
            net, nets, twins, least, load, fitting, chosen, chosen_amount,
            windows, tickets, window, node_first, node_window, admits,
        )  # fmt: skip
        if found > 0:
            answer = time
            break
        # The next end of a walltime, of a planned head, or of a window.
        later = 1 << 62
        if release < runs:
            later = limits[by_limit[release]]
        for head in range(heads):
            if head_end[head] > time and head_end[head] < later:
                later = head_end[head]
        for number in range(windows):
            end = window[number * WINDOW + UNTIL]
            if window[number * WINDOW + STANDING] == 1 and end > time and end < later:
                later = end
        time = later
        while release < runs and limits[by_limit[release]] <= time:
            other = by_limit[release]
            add_amounts(  # type: ignore[no-untyped-call]
                taken_first[other], taken_count[other], one, at, resources, taken_node, taken_amount, frees
            )
            release += 1
    tried[3 * need] = version
    tried[3 * need + 1] = walltime
    tried[3 * need + 2] = time
    return answer


def append_head(  # type: ignore[no-untyped-def] # compiled
    heads, plans, found, net, tolerance, width, resources, frees, head_time, head_end, plan_first, plan_count,
    plan_node, plan_amount, nets, twins, chosen, chosen_amount,
):  # fmt: skip
    """Add the reservation whose begin and end stand behind the others' to the plan, on the chosen nodes.

    Returns the number of entries of the plan.
    """
    back = 0 * heads - 1
    begin = head_time[heads]
    plan_first[heads] = plans
    plan_count[heads] = found
    for entry in range(found):
        plan_node[plans + entry] = chosen[entry]
        for kind in range(resources):
            plan_amount[(plans + entry) * resources + kind] = chosen_amount[entry * resources + kind]
    # What is free at its begin beside all reservations, and at the begin of each beside it.
    here = (net + heads) * width
    for spot in range(width):
        nets[here + spot] = frees[(heads + 1) * width + spot]
    twins[heads] = 0
    for head in range(heads):
        if head_time[head] == begin:
            twins[heads] = 1
        if head_time[head] <= begin and head_end[head] > begin + tolerance:
            add_amounts(  # type: ignore[no-untyped-call]
                plan_first[head], plan_count[head], back, here, resources, plan_node, plan_amount, nets
            )
    for point in range(heads + 1):
        if begin <= head_time[point] and head_end[heads] > head_time[point] + tolerance:
            at = (net + point) * width
            add_amounts(plans, found, back, at, resources, plan_node, plan_amount, nets)  # type: ignore[no-untyped-call]
    return plans + found


def keep_heads(  # type: ignore[no-untyped-def] # compiled
    begin, heads, plans, following_net, most_heads, tolerance, nodes, resources, placement,
    need_first, need_eligible, need_nodes, need_tasks, need_exclusive, need_vector, need_last, need_base, eligible,
    capacities, weights, by_name, frees, head_time, head_end, head_need, plan_first, plan_count, plan_node, plan_amount,
    nets, twins, least, load, fitting, chosen, chosen_amount, windows, tickets, window, node_first, node_window, admits,
):  # fmt: skip
    """Place the reservations from ``begin`` on again, in order, at their times, beside a run that is in ``frees``.

    Returns the number of entries of the new plan, in whose rows of ``nets`` ``following_net`` is the first; -1
    less the number of a reservation that has no place, and the plan is as it was.
    """
    one = 0 * begin + 1
    nought = one - 1
    back = nought - one
    width = nodes * resources
    for head in range(heads):
        for spot in range(width):
            nets[(following_net + head) * width + spot] = frees[(head + 1) * width + spot]
    for head in range(begin):
        for point in range(heads):
            if head_time[head] <= head_time[point] and head_end[head] > head_time[point] + tolerance:
                at = (following_net + point) * width
                add_amounts(  # type: ignore[no-untyped-call]
                    plan_first[head], plan_count[head], back, at, resources, plan_node, plan_amount, nets
                )
    fresh = plans
    for head in range(begin, heads):
        # To go back to.
        plan_first[most_heads + head] = plan_first[head]
        plan_count[most_heads + head] = plan_count[head]
    for head in range(begin, heads):
        got = place(  # type: ignore[no-untyped-call]
            head_need[head], head + 1, head_time[head], head_end[head] - head_time[head], head, tolerance, tolerance,
            nought, nodes, resources, placement, need_first, need_eligible, need_nodes, need_tasks, need_exclusive,
            need_vector, need_last, need_base, eligible, capacities, weights, by_name, frees, head_time, head_end,
            plan_first, plan_count, plan_node, plan_amount, following_net,
            nets, twins, least, load, fitting, chosen, chosen_amount,
            windows, tickets, window, node_first, node_window, admits,
        )  # fmt: skip
        if got == 0:
            for former in range(begin, heads):
                plan_first[former] = plan_first[most_heads + former]
                plan_count[former] = plan_count[most_heads + former]
            return back - head
        plan_first[head] = fresh
        plan_count[head] = got
        for entry in range(got):
            plan_node[fresh + entry] = chosen[entry]
            for kind in range(resources):
                plan_amount[(fresh + entry) * resources + kind] = chosen_amount[entry * resources + kind]
        for point in range(heads):
            if head_time[head] <= head_time[point] and head_end[head] > head_time[point] + tolerance:
                at = (following_net + point) * width
                add_amounts(fresh, got, back, at, resources, plan_node, plan_amount, nets)  # type: ignore[no-untyped-call]
        fresh += got
    # The new plan takes the place of the former one.
    gone = plans - plan_first[most_heads + begin]
    for entry in range(plans, fresh):
        plan_node[entry - gone] = plan_node[entry]
        for kind in range(resources):
            plan_amount[(entry - gone) * resources + kind] = plan_amount[entry * resources + kind]
    for head in range(begin, heads):
        plan_first[head] -= gone
    return fresh - gone


#: Each is compiled once (:func:`holdfast.workloads.ground.compilation.assembly`).
earliest_time.stands_alone = True  # type: ignore[attr-defined]
append_head.stands_alone = True  # type: ignore[attr-defined]
keep_heads.stands_alone = True  # type: ignore[attr-defined]
