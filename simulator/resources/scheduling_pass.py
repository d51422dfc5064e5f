"""One scheduling pass of a replay on named nodes: limits, heads and their reservations, and the jobs that start.

Loops over whole numbers, which run compiled or as plain Python. The rules are those of docs/reference/machines.md.
"""

from __future__ import annotations

from typing import Any

from holdfast.policies.kernels.waiting_ring import unlink
from holdfast.simulator.resources.free_amounts import add_amounts, change_free
from holdfast.simulator.resources.head_plan import append_head, earliest_time, keep_heads
from holdfast.simulator.resources.limit_accounts import count_run, measure_run, stopping_account
from holdfast.simulator.resources.loop_arguments import LoopArguments
from holdfast.simulator.resources.loop_state import (
    BLOCKED,
    CAUSE,
    CHANGED,
    CULPRIT,
    DONE,
    ENTRIES,
    FULL,
    HEADS,
    NET,
    NOW,
    OPEN,
    PLAN_ENTRIES,
    PLANNED,
    RELEASED,
    RUNNING,
    STUCK,
    VERSION,
)
from holdfast.simulator.resources.node_choice import place
from holdfast.simulator.resources.run_lists import insert_run
from holdfast.simulator.resources.wait_causes import LIMIT, NODES, RESERVATION, note_promise, note_start, note_wait

__all__ = ["schedule"]

#: Later than every time.
_NEVER = 1 << 62


def schedule(loop: LoopArguments) -> Any:
    """Start the waiting jobs that can start, in order.

    Returns ``DONE``, or how the replay ends (:mod:`holdfast.simulator.resources.loop_state`).
    """
    state = loop.records.state
    after = loop.queue.after
    state[PLANNED] = 0
    state[PLAN_ENTRIES] = 0
    state[NET] = 0
    for partition in range(loop.nodes.partitions):
        loop.queue.blocked[partition] = 0
    top = loop.jobs.total
    job = after[top]
    while job != top:
        following = after[job]
        state[CAUSE] = -1
        state[CULPRIT] = -1
        state[OPEN] = 0
        started = _start_now(job, loop)
        if started == 0 and state[OPEN] > 0 and loop.rule.depth > 0:
            if state[PLANNED] == loop.plan.most:
                return FULL
            if _earliest_option(job, loop) < 0:
                state[BLOCKED] = job
                return STUCK
            started = _start_or_reserve(job, loop)
        if started == 0:
            _block_partitions(job, loop)
            note_wait(job, state[CAUSE], state[CULPRIT], state[NOW], loop.queue.causes)
        job = following
    if state[PLANNED] > state[HEADS]:
        state[HEADS] = state[PLANNED]
    return DONE


def _start_now(job: Any, loop: LoopArguments) -> Any:
    """Start a job in the first of its partitions where it can start, and return 1; 0: there is none.

    The options that can have a reservation instead are noted.
    """
    first = loop.jobs.first[job]
    for option in range(first, first + loop.jobs.options[job]):
        if _is_held_back(job, option, loop) == 1:
            continue
        found = _place_now(job, option, loop)
        if found > 0:
            if _is_limited(job, option, found, loop) == 1:
                continue
            if _delays_head(job, option, found, loop) == 0:
                _start(job, option, found, loop)
                return 1
        _note_open(option, loop)
    return 0


def _is_held_back(job: Any, option: Any, loop: LoopArguments) -> Any:
    """Whether a limit stops a job before it is known where it would run, or another job blocks its partition."""
    state = loop.records.state
    need = loop.jobs.need[option]
    partition = loop.needs.partition[need]
    account = stopping_account(option, need * 5, loop.needs.sums, loop.accounts)
    if account >= 0:
        loop.queue.stopped[job] = account
        _note_cause(LIMIT, state)
        return 1
    if loop.rule.depth == 0 and loop.queue.blocked[partition] > 0:
        _note_cause(RESERVATION, state)
        state[CULPRIT] = loop.queue.blocker[partition]
        return 1
    return 0


def _place_now(job: Any, option: Any, loop: LoopArguments) -> Any:
    """Choose nodes for a start now; returns their number, 0 if there are too few."""
    state = loop.records.state
    failed = loop.choice.failed
    need = loop.jobs.need[option]
    found = 0
    # What could not be placed cannot be until resources are released: less is free later in a pass.
    if loop.windows.total > 0 or failed[need] != state[RELEASED]:
        found = place(need, 0, state[NOW], loop.jobs.walltimes[job], 0, loop.rule.tolerance, 0, state[NET], loop)
    if found == 0:
        failed[need] = state[RELEASED]
        _note_cause(NODES, state)
    return found


def _is_limited(job: Any, option: Any, found: Any, loop: LoopArguments) -> Any:
    """Whether a limit keeps a job from the chosen nodes."""
    nodes, accounts, choice = loop.nodes, loop.accounts, loop.choice
    if accounts.first[option] == accounts.first[option + 1]:
        return 0
    measure_run(0, found, nodes.resources, choice.node, choice.amount, nodes.memories, choice.held)
    account = stopping_account(option, 0, choice.held, accounts)
    if account < 0:
        return 0
    loop.queue.stopped[job] = account
    _note_cause(LIMIT, loop.records.state)
    return 1


def _delays_head(job: Any, option: Any, found: Any, loop: LoopArguments) -> Any:
    """Whether a start on the chosen nodes would delay a reservation; if not, they are taken.

    ``choice.refused`` has for each need the version of the plan, the walltime and the reservation that the last such
    job would have delayed: as long as that stands, it does so for an equal job.
    """
    state = loop.records.state
    refused = loop.choice.refused
    at = 3 * loop.jobs.need[option]
    walltime = loop.jobs.walltimes[job]
    if refused[at] != state[VERSION] or refused[at + 1] != walltime:
        head = _take_nodes(found, state[NOW] + walltime, loop)
        if head < 0:
            return 0
        refused[at] = state[VERSION]
        refused[at + 1] = walltime
        refused[at + 2] = head
    _note_delay(refused[at + 2], loop)
    return 1


def _take_nodes(found: Any, limit: Any, loop: LoopArguments) -> Any:
    """Take the chosen nodes until a time, if all reservations can be placed again, in order, at their times.

    Returns -1, or the first reservation that cannot, and nothing is taken. The nodes are written down behind those of
    the runs in either case.
    """
    state, runs, plan, choice = loop.records.state, loop.runs, loop.plan, loop.choice
    resources = loop.nodes.resources
    tolerance = loop.rule.tolerance
    entries = state[ENTRIES]
    heads = state[PLANNED]
    for entry in range(found):
        runs.node[entries + entry] = choice.node[entry]
        for kind in range(resources):
            runs.amount[(entries + entry) * resources + kind] = choice.amount[entry * resources + kind]
    change_free(entries, found, -1, limit, heads, loop)
    # Heads before the first that it overlaps keep their nodes.
    begin = 0
    while begin < heads and limit <= plan.time[begin] + tolerance:
        begin += 1
    if begin == heads:
        return -1
    delayed = keep_heads(begin, loop)
    if delayed >= 0:
        change_free(entries, found, 1, limit, heads, loop)
    return delayed


def _earliest_option(job: Any, loop: LoopArguments) -> Any:
    """The option by which a job can start first beside the reservations; -1: it can never start.

    The option and the time are written behind those of the reservations.
    """
    state, plan = loop.records.state, loop.plan
    heads = state[PLANNED]
    best = -1
    time = _NEVER
    for turn in range(state[OPEN]):
        option = loop.choice.node[loop.nodes.total + turn]
        need = loop.jobs.need[option]
        earlier = earliest_time(need, loop.jobs.walltimes[job], time, loop)
        if earlier >= 0:
            best = option
            time = earlier
    plan.option[heads] = best
    plan.time[heads] = time
    return best


def _start_or_reserve(job: Any, loop: LoopArguments) -> Any:
    """Start a job by its earliest option, and return 1; if that is later or would delay a head, reserve its nodes.

    A job that a limit keeps from these nodes has no reservation.
    """
    state, plan = loop.records.state, loop.plan
    now = state[NOW]
    heads = state[PLANNED]
    option, time = plan.option[heads], plan.time[heads]
    walltime = loop.jobs.walltimes[job]
    found = _place_later(job, option, time, loop)
    if time == now:
        if _is_limited(job, option, found, loop) == 1:
            state[OPEN] = 0
            return 0
        head = _take_nodes(found, now + walltime, loop)
        if head < 0:
            _start(job, option, found, loop)
            return 1
        _note_delay(head, loop)
        _choose_again(found, loop)
    plan.end[heads] = time + walltime
    plan.job[heads] = job
    plan.need[heads] = loop.jobs.need[option]
    note_promise(job, time, now, loop.queue.causes)
    append_head(found, loop)
    return 0


def _place_later(job: Any, option: Any, time: Any, loop: LoopArguments) -> Any:
    """Choose nodes for a start at a time beside the reservations: what ends a moment after it counts as ended."""
    state, nodes, runs, plan = loop.records.state, loop.nodes, loop.runs, loop.plan
    heads = state[PLANNED]
    tolerance = loop.rule.tolerance
    resources = nodes.resources
    width = nodes.total * resources
    at = (heads + 1) * width
    for spot in range(width):
        plan.frees[at + spot] = plan.frees[spot]
    if time > state[NOW]:
        for place_of_run in range(state[RUNNING]):
            other = runs.by_limit[place_of_run]
            if runs.limits[other] <= time + tolerance:
                add_amounts(runs.first[other], runs.size[other], 1, at, resources, runs.node, runs.amount, plan.frees)
    need = loop.jobs.need[option]
    return place(need, heads + 1, time, loop.jobs.walltimes[job], heads, tolerance, 0, state[NET], loop)


def _choose_again(found: Any, loop: LoopArguments) -> None:
    """Choose the nodes that were written down behind those of the runs: the heads were placed since."""
    runs, choice = loop.runs, loop.choice
    resources = loop.nodes.resources
    entries = loop.records.state[ENTRIES]
    for entry in range(found):
        choice.node[entry] = runs.node[entries + entry]
        for kind in range(resources):
            choice.amount[entry * resources + kind] = runs.amount[(entries + entry) * resources + kind]


def _start(job: Any, option: Any, found: Any, loop: LoopArguments) -> None:
    """Start a job on the nodes that it has taken, and take it out of the queue."""
    state, nodes, queue, runs, choice = loop.records.state, loop.nodes, loop.queue, loop.runs, loop.choice
    now = state[NOW]
    partition = loop.needs.partition[loop.jobs.need[option]]
    note_start(job, queue.blocked[partition], now, queue.causes)
    runs.starts[job] = now
    runs.option[job] = option
    runs.first[job] = state[ENTRIES]
    runs.size[job] = found
    runs.ends[job] = min(now + loop.jobs.runtimes[job], loop.lives.cancels[job])
    runs.limits[job] = now + loop.jobs.walltimes[job]
    insert_run(job, state[RUNNING], runs)
    measure_run(state[ENTRIES], found, nodes.resources, runs.node, runs.amount, nodes.memories, choice.held)
    count_run(option, 1, choice.held, loop.accounts)
    state[ENTRIES] += found
    state[RUNNING] += 1
    state[VERSION] += 1
    state[CHANGED] += 1
    unlink(job, queue.after, queue.before)


def _note_open(option: Any, loop: LoopArguments) -> None:
    """An option can have a reservation, unless its partition has as many as the rule allows."""
    state, choice = loop.records.state, loop.choice
    depth = loop.rule.depth
    partition = loop.needs.partition[loop.jobs.need[option]]
    if loop.queue.blocked[partition] < depth or depth == 0:
        choice.node[loop.nodes.total + state[OPEN]] = option
        state[OPEN] += 1


def _block_partitions(job: Any, loop: LoopArguments) -> None:
    """A job waits for nodes of each partition in which it could have a reservation."""
    queue = loop.queue
    for turn in range(loop.records.state[OPEN]):
        option = loop.choice.node[loop.nodes.total + turn]
        partition = loop.needs.partition[loop.jobs.need[option]]
        queue.blocked[partition] += 1
        queue.blocker[partition] = job


def _note_cause(cause: Any, state: Any) -> None:
    """A cause counts unless the job has a later one: limits come before nodes, and nodes before reservations."""
    if state[CAUSE] < cause:
        state[CAUSE] = cause


def _note_delay(head: Any, loop: LoopArguments) -> None:
    """A job waits because it would delay a reservation."""
    _note_cause(RESERVATION, loop.records.state)
    loop.records.state[CULPRIT] = loop.plan.job[head]
