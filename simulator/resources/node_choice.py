"""Placement of a job on nodes, by the resources that stay free over its walltime beside the jobs with reservations.

A loop over whole numbers, which runs compiled or as plain Python
(:func:`policies.kernels.compiled_or_plain.compiled_loop`).
"""

from __future__ import annotations

__all__ = ["PACK", "SLURM", "SPREAD", "place"]

#: Ways to choose among the nodes that fit (docs/reference/machines.md, "Rules of a replay").
PACK, SPREAD, SLURM = 0, 1, 2


def place(  # type: ignore[no-untyped-def] # compiled: types are numba's to infer, from lists and arrays alike
    need, slot, time, walltime, heads, slack, tolerance, looks, nodes, resources, placement,
    need_first, need_eligible, need_nodes, need_tasks, need_exclusive, need_vector, need_last, need_base, eligible,
    capacities, weights, by_name, frees, head_time, head_end, plan_first, plan_count, plan_node, plan_amount,
    net, nets, twins, least, load, fitting, chosen, chosen_amount,
):  # fmt: skip
    """The nodes of a job, or 0 if it cannot be placed.

    ``need`` is what it needs, ``time`` when it begins and ``walltime`` for how long. ``slot`` is the place in ``frees``
    of the resources that running jobs leave free at that time. The first ``heads`` reservations are kept; those that
    end up to ``slack`` after ``time`` count as ended (``tolerance`` at other times). With ``looks`` it is only
    found out whether the job can be placed.

    What is free at the begin of each reservation beside all that are kept stands in ``nets``, from the row ``net`` on;
    those with ``twins`` begin at the same time as an earlier one.

    Returns the number of nodes. ``chosen`` gets them, ``chosen_amount`` what the job takes of each.
    """
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
            for entry in range(plan_first[head], plan_first[head] + plan_count[head]):
                for kind in range(resources):
                    least[plan_node[entry] * resources + kind] -= plan_amount[entry * resources + kind]
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
    if placement != 2:
        sign = 1
        if placement == 1:
            sign = -1
        only = 0
        if tasks == 0 and wanted == 1:
            # Most jobs need one node: the first in the order is enough.
            only = 1
        gap = 1
        while gap < fits // 3:
            gap = 3 * gap + 1
        if only == 1:
            best = 0
            for spot in range(1, fits):
                node = fitting[spot]
                other = fitting[best]
                if weights[node] < weights[other] or (
                    weights[node] == weights[other]
                    and (
                        sign * least[node * resources] < sign * least[other * resources]
                        or (least[node * resources] == least[other * resources] and node < other)
                    )
                ):
                    best = spot
            node = fitting[0]
            fitting[0] = fitting[best]
            fitting[best] = node
            gap = 0
        while gap > 0:
            for spot in range(gap, fits):
                node = fitting[spot]
                at = spot
                while at >= gap:
                    other = fitting[at - gap]
                    if weights[node] < weights[other] or (
                        weights[node] == weights[other]
                        and (
                            sign * least[node * resources] < sign * least[other * resources]
                            or (least[node * resources] == least[other * resources] and node < other)
                        )
                    ):
                        fitting[at] = other
                        at -= gap
                    else:
                        break
                fitting[at] = node
            gap //= 3
    else:
        # By weight, then by name; then run after run of nodes that follow each other by name.
        for spot in range(1, fits):
            node = fitting[spot]
            at = spot
            while at > 0 and (
                weights[fitting[at - 1]] > weights[node]
                or (weights[fitting[at - 1]] == weights[node] and by_name[fitting[at - 1]] > by_name[node])
            ):
                fitting[at] = fitting[at - 1]
                at -= 1
            fitting[at] = node
        done = 0
        got = 0
        goal = wanted
        if tasks > 0:
            goal = tasks
        while done < fits:
            # The run that suffices with the fewest free cores, else the largest, among those of the lowest weight.
            weight = weights[fitting[done]]
            best = -1
            best_end = 0
            best_takes = 0
            best_cores = 0
            begin = done
            while begin < fits and weights[fitting[begin]] == weight:
                end = begin
                takes = 0
                cores = 0
                while (
                    end < fits
                    and weights[fitting[end]] == weight
                    and (end == begin or by_name[fitting[end]] == by_name[fitting[end - 1]] + 1)
                ):
                    if tasks > 0:
                        takes += load[fitting[end] * resources]
                    else:
                        takes += 1
                    cores += least[fitting[end] * resources]
                    end += 1
                better = 0
                if best < 0:
                    better = 1
                elif takes >= goal - got:
                    if best_takes < goal - got or cores < best_cores:
                        better = 1
                elif best_takes < goal - got and takes > best_takes:
                    better = 1
                if better == 1:
                    best = begin
                    best_end = end
                    best_takes = takes
                    best_cores = cores
                begin = end
            # It goes to the front, the others keep their order; within it, the fewest free cores first.
            size = best_end - best
            for spot in range(best, best_end):
                node = fitting[spot]
                at = spot
                while at > done + spot - best:
                    fitting[at] = fitting[at - 1]
                    at -= 1
                fitting[at] = node
            for spot in range(done + 1, done + size):
                node = fitting[spot]
                at = spot
                while at > done and least[fitting[at - 1] * resources] > least[node * resources]:
                    fitting[at] = fitting[at - 1]
                    at -= 1
                fitting[at] = node
            done += size
            got += best_takes

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


#: It is called from several places (:func:`workloads.ground.compilation.assembly`).
place.stands_alone = True  # type: ignore[attr-defined]
