"""Free amounts that are of no use to the first waiting job that could not be placed, though in all they would suffice.

A loop over whole numbers, which runs compiled or as plain Python. Names are those of
:func:`holdfast.simulator.resources.resource_loop.replay_resources`.
"""

from __future__ import annotations

from holdfast.simulator.resources.limit_accounts import stopping_account
from holdfast.simulator.resources.node_choice import place
from holdfast.simulator.resources.node_windows import is_closed

__all__ = ["measure_stranded"]


def measure_stranded(  # type: ignore[no-untyped-def] # compiled: types are numba's to infer, from lists and arrays alike
    top, at, now, changed, released, tolerance, nodes, resources, placement, walltimes, job_first, job_options,
    option_need, option_first, option_accounts,
    need_first, need_eligible, need_nodes, need_tasks, need_exclusive, need_vector, need_last, need_base, need_total,
    eligible, capacities, weights, by_name, account_most, account_used, stranded, after, frees,
    head_time, head_end, plan_first, plan_count, plan_node, plan_amount, failed, judged, judgements,
    least, load, fitting, chosen, chosen_amount, nets, twins, windows, tickets, window, node_first, node_window, admits,
):  # fmt: skip
    """Write the amounts that are stranded from now to the next pass into ``stranded``, from ``at`` on.

    They are free where the first such job wants them. ``judgements`` keep for each need whether that was so when
    ``judged`` was what ``changed`` is.
    """
    one = 0 * top + 1
    nought = one - 1
    for kind in range(resources):
        stranded[at + kind] = 0
    job = after[top]
    while job != top:
        for option in range(job_first[job], job_first[job] + job_options[job]):
            need = option_need[option]
            account = stopping_account(  # type: ignore[no-untyped-call]
                option, need * 5, need_total, option_first, option_accounts, account_most, account_used
            )
            if account >= 0:
                continue
            if windows > 0 or judged[need] != changed:
                judged[need] = changed
                judgements[need] = 1
                for kind in range(resources):
                    wanted = need_vector[need * resources + kind]
                    if need_tasks[need] > 0:
                        wanted = (
                            need_tasks[need] * wanted + need_total[need * 5 + 1] * need_base[need * resources + kind]
                        )
                    else:
                        wanted = (need_nodes[need] - 1) * wanted + need_last[need * resources + kind]
                    total = 0
                    for spot in range(need_first[need], need_first[need] + need_eligible[need]):
                        node = eligible[spot]
                        shut = nought
                        if windows > 0:
                            shut = is_closed(  # type: ignore[no-untyped-call]
                                node,
                                need,
                                now,
                                now + walltimes[job],
                                tolerance,
                                tickets,
                                window,
                                node_first,
                                node_window,
                                admits,
                            )
                        if shut == 0:
                            total += frees[node * resources + kind]
                    if total < wanted:
                        judgements[need] = 0
                if judgements[need] == 1 and (windows > 0 or failed[need] != released):
                    fits = place(  # type: ignore[no-untyped-call]
                        need, nought, now, walltimes[job], nought, tolerance, tolerance, one, nodes, resources,
                        placement,
                        need_first, need_eligible, need_nodes, need_tasks, need_exclusive, need_vector, need_last,
                        need_base, eligible, capacities, weights, by_name, frees, head_time, head_end, plan_first,
                        plan_count, plan_node, plan_amount, nought, nets, twins, least, load, fitting, chosen,
                        chosen_amount, windows, tickets, window, node_first, node_window, admits,
                    )  # fmt: skip
                    if fits > 0:
                        judgements[need] = 0
            if judgements[need] == 1:
                for spot in range(need_first[need], need_first[need] + need_eligible[need]):
                    if windows > 0:
                        shut = is_closed(  # type: ignore[no-untyped-call]
                            eligible[spot], need, now, now + walltimes[job], tolerance, tickets, window, node_first,
                            node_window, admits,
                        )  # fmt: skip
                        if shut == 1:
                            continue
                    for kind in range(resources):
                        if need_vector[need * resources + kind] + need_base[need * resources + kind] > 0:
                            stranded[at + kind] += frees[eligible[spot] * resources + kind]
                return
        job = after[job]


#: It is compiled once (:func:`holdfast.workloads.ground.compilation.assembly`).
measure_stranded.stands_alone = True  # type: ignore[attr-defined]
