"""One scheduling pass of a replay on named nodes: limits, heads and their reservations, and the jobs that start.

A loop over whole numbers, which runs compiled or as plain Python. The rules are those of docs/reference/machines.md.
"""

from __future__ import annotations

from typing import Any

from holdfast.simulator.resources.free_amounts import add_amounts, change_free
from holdfast.simulator.resources.head_plan import append_head, earliest_time, keep_heads
from holdfast.simulator.resources.limit_accounts import count_run, measure_run, stopping_account
from holdfast.simulator.resources.loop_arguments import (
    Accounts,
    Choice,
    Jobs,
    Lives,
    Needs,
    Nodes,
    Plan,
    Rule,
    Runs,
    WaitingRing,
    Windows,
)
from holdfast.simulator.resources.loop_state import (
    BLOCKED,
    CHANGED,
    ENTRIES,
    FULL,
    HEADS,
    NOW,
    RELEASED,
    RUNNING,
    STUCK,
    VERSION,
)
from holdfast.simulator.resources.node_choice import place
from holdfast.simulator.resources.run_lists import insert_run
from holdfast.simulator.resources.wait_causes import LIMIT, NODES, RESERVATION, note_promise, note_start, note_wait

__all__ = ["schedule"]


def schedule(
    rule: Rule, nodes: Nodes, needs: Needs, jobs: Jobs, accounts: Accounts, lives: Lives, queue: WaitingRing,
    runs: Runs, plan: Plan, choice: Choice, windows: Windows, state: Any,
) -> Any:  # fmt: skip
    """Start the waiting jobs that can start, in order.

    Returns 0, or how the replay ends (:mod:`holdfast.simulator.resources.loop_state`).
    """
    depth = rule.depth
    tolerance = rule.tolerance
    resources = nodes.resources
    memories = nodes.memories
    top, walltimes, runtimes, _, job_first, job_options, option_need = jobs
    after, before, _, _, stopped, causes, blocked, blocker = queue
    starts, option_of, taken_first, taken_count, taken_node, taken_amount, ends, limits, _, by_limit = runs
    most_heads, frees, head_time, head_end, head_job, head_need, _, _, _, _, _, _ = plan
    _, _, _, chosen, chosen_amount, held, failed, _, _, _, refused = choice
    one = 0 * top + 1
    nought = one - 1
    back = nought - one
    never = 1 << 62
    width = nodes.total * resources
    now = state[NOW]
    entries = state[ENTRIES]
    running = state[RUNNING]
    released = state[RELEASED]
    changed = state[CHANGED]
    version = state[VERSION]
    # The row of the plan's first reservation in the free amounts at the begin of each; there is room for two plans.
    net = nought
    heads = nought
    plans = 0
    for partition in range(nodes.partitions):
        blocked[partition] = 0
    job = after[top]
    while job != top:
        following = after[job]
        started = -1
        waits = 0
        found = 0
        best = -1
        best_time = never
        cause = back
        culprit = back
        # Each partition of the job, and at last the earliest time at which it can start beside the heads.
        for attempt in range(job_options[job] + 1):
            option = job_first[job] + attempt
            need = 0
            account = -1
            if attempt < job_options[job]:
                need = option_need[option]
                partition = needs.partition[need]
                # What the job asks for, before it is known where.
                account = stopping_account(option, need * 5, needs.sums, accounts)
                if account >= 0:
                    stopped[job] = account
                    if cause < LIMIT:
                        cause = nought + LIMIT
                    continue
                if depth == 0 and blocked[partition] > 0:
                    cause = nought + RESERVATION
                    culprit = blocker[partition]
                    continue
                found = 0
                if windows.total > 0 or failed[need] != released:
                    found = place(
                        need, nought, now, walltimes[job], nought, tolerance, nought, net, rule, nodes, needs, plan,
                        choice, windows,
                    )  # fmt: skip
                if found == 0:
                    # It cannot be placed until more resources are released: less is free later in this pass.
                    failed[need] = released
                    if cause < NODES:
                        cause = nought + NODES
                    if blocked[partition] < depth or depth == 0:
                        chosen[nodes.total + waits] = option
                        waits += 1
                    continue
            else:
                if waits == 0 or depth == 0:
                    continue
                if heads == most_heads:
                    return FULL
                slot = heads + 1
                for turn in range(waits):
                    option = chosen[nodes.total + turn]
                    need = option_need[option]
                    time = earliest_time(
                        need, walltimes[job], now, best_time, heads, running, version, net, rule, nodes, needs, runs,
                        plan, choice, windows,
                    )  # fmt: skip
                    if time >= 0:
                        best = option
                        best_time = time
                if best < 0:
                    state[BLOCKED] = job
                    return STUCK
                # The nodes that it will have: what ends a moment after that time counts as ended.
                option = best
                need = option_need[best]
                for spot in range(width):
                    frees[slot * width + spot] = frees[spot]
                for release in range(running):
                    other = by_limit[release]
                    if best_time > now and limits[other] <= best_time + tolerance:
                        add_amounts(
                            taken_first[other], taken_count[other], one, slot * width, resources, taken_node,
                            taken_amount, frees,
                        )  # fmt: skip
                found = place(
                    need, slot, best_time, walltimes[job], heads, tolerance, nought, net, rule, nodes, needs, plan,
                    choice, windows,
                )  # fmt: skip
                if best_time > now:
                    continue

            # What it would get now.
            if accounts.first[option] < accounts.first[option + 1]:
                measure_run(nought, found, resources, chosen, chosen_amount, memories, held)
                account = stopping_account(option, nought, held, accounts)
            if account >= 0:
                stopped[job] = account
                if cause < LIMIT:
                    cause = nought + LIMIT
                if attempt == job_options[job]:
                    waits = 0
                continue
            # It is written down, and stays so if all heads can still be placed, in order, at their times.
            limit = now + walltimes[job]
            for entry in range(found):
                taken_node[entries + entry] = chosen[entry]
                for kind in range(resources):
                    taken_amount[(entries + entry) * resources + kind] = chosen_amount[entry * resources + kind]
            change_free(entries, found, back, limit, heads, tolerance, width, resources, runs, plan)
            # Heads before the first that it overlaps keep their nodes.
            begin = 0
            while begin < heads and limit <= head_time[begin] + tolerance:
                begin += 1
            fresh = plans
            if attempt < job_options[job] and refused[3 * need] == version and refused[3 * need + 1] == walltimes[job]:
                # An equal job was refused these nodes because of heads that are still there.
                fresh = refused[3 * need + 2]
            elif begin < heads:
                fresh = keep_heads(
                    begin, heads, plans, most_heads - net, rule, nodes, needs, plan, choice, windows
                )  # fmt: skip
                if fresh >= 0:
                    net = most_heads - net
            if fresh >= 0:
                plans = fresh
                started = option
                break
            cause = nought + RESERVATION
            culprit = head_job[-1 - fresh]
            if attempt < job_options[job]:
                refused[3 * need] = version
                refused[3 * need + 1] = walltimes[job]
                refused[3 * need + 2] = fresh
            change_free(entries, found, one, limit, heads, tolerance, width, resources, runs, plan)
            if attempt < job_options[job]:
                if blocked[partition] < depth or depth == 0:
                    chosen[nodes.total + waits] = option
                    waits += 1
            else:
                # The nodes of its plan, which the heads before it have just been placed beside.
                for entry in range(found):
                    chosen[entry] = taken_node[entries + entry]
                    for kind in range(resources):
                        spot = entry * resources + kind
                        chosen_amount[spot] = taken_amount[(entries + entry) * resources + kind]

        if started < 0 and waits > 0:
            for spot in range(waits):
                partition = needs.partition[option_need[chosen[nodes.total + spot]]]
                blocked[partition] += 1
                blocker[partition] = job
            if depth > 0:
                head_time[heads] = best_time
                head_end[heads] = best_time + walltimes[job]
                head_job[heads] = job
                note_promise(job, best_time, now, causes)
                head_need[heads] = option_need[best]
                plans = append_head(heads, plans, found, net, tolerance, nodes, plan, choice)
                heads += 1

        if started < 0:
            note_wait(job, cause, culprit, now, causes)
        else:
            note_start(job, blocked[needs.partition[option_need[started]]], now, causes)
            version += 1
            starts[job] = now
            option_of[job] = started
            taken_first[job] = entries
            taken_count[job] = found
            entries += found
            ends[job] = now + runtimes[job]
            if lives.cancels[job] < ends[job]:
                ends[job] = lives.cancels[job]
            limits[job] = now + walltimes[job]
            insert_run(job, running, runs)
            running += 1
            measure_run(taken_first[job], found, resources, taken_node, taken_amount, memories, held)
            count_run(started, one, held, accounts)
            after[before[job]] = following
            before[following] = before[job]
            changed += 1
        job = following
    state[ENTRIES] = entries
    state[RUNNING] = running
    state[CHANGED] = changed
    state[VERSION] = version
    if heads > state[HEADS]:
        state[HEADS] = heads
    return nought


#: It is compiled once (:func:`holdfast.workloads.ground.compilation.assembly`).
schedule.stands_alone = True  # type: ignore[attr-defined]
