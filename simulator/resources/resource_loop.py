"""Replay of rigid jobs on named nodes with resource vectors, as one loop over integers.

The rules are those of docs/reference/machines.md. There is one plain source, which is compiled for long replays
(:func:`holdfast.policies.kernels.compiled_or_plain.compiled_loop`). Jobs are numbered in the order of their arrivals.
"""

from __future__ import annotations

from holdfast.simulator.resources.free_amounts import add_amounts
from holdfast.simulator.resources.job_lives import cancel_job, submit_followers
from holdfast.simulator.resources.limit_accounts import count_run, measure_run
from holdfast.simulator.resources.loop_state import (
    CHANGED,
    COMING,
    CROWDED,
    DONE,
    ENDED,
    EVENT,
    LEAVING,
    NOW,
    PASSES,
    PAST,
    PAUSED,
    RELEASED,
    RESUMED,
    RUNS,
    VERSION,
)
from holdfast.simulator.resources.node_windows import BEGIN, END, STANDING, WINDOW, is_hit
from holdfast.simulator.resources.preemptions import enqueue, expect_cancellation, keep_past_run, remove_run
from holdfast.simulator.resources.run_lists import remove_last_run
from holdfast.simulator.resources.scheduling_pass import schedule
from holdfast.simulator.resources.stranded_amounts import measure_stranded
from holdfast.simulator.resources.wait_causes import CAUSES, OTHER, PROMISED

__all__ = ["ALL", "KINDS", "replay_resources"]

#: As many reservations as there are waiting jobs.
ALL = 1 << 40
#: What the arguments of :func:`replay_resources` are
#: (:func:`holdfast.policies.kernels.compiled_or_plain.compiled_loop`).
KINDS = 14 * "n" + 87 * "a"


def replay_resources(  # type: ignore[no-untyped-def] # compiled: types are numba's to infer, from lists and arrays alike
    count, nodes, resources, partitions, needs, depth, placement, tolerance, most_heads,
    pauses, windows, tickets, events, most_past, arrivals, walltimes, runtimes, ranks,
    job_first, job_options,
    option_need, option_first, option_accounts,
    need_partition, need_first, need_eligible, need_nodes, need_tasks, need_exclusive, need_vector, need_last,
    need_base, need_total, eligible,
    capacities, weights, by_name, memories,
    account_most, account_used,
    starts, option_of, taken_first, taken_count, taken_node, taken_amount, stopped,
    instants, stranded,
    after, before, by_end, by_limit, ends, limits, frees, head_time, head_end, plan_first, plan_count, plan_node,
    plan_amount, head_job, head_need, blocked, failed, judged, judgements, least, load, fitting, chosen, chosen_amount,
    nets, twins, tried, refused, held, blocker, causes,
    followers, next_follower, thinks, submits, begins, patiences, cancels, coming, leaving, gone, linked, arrived,
    window, node_first, node_window, admits, event_time, event_window, event_kind, past,
    state,
):  # fmt: skip
    """Simulate until all jobs have started and ended.

    ``depth`` is how many waiting jobs of a partition hold reservations: 0, and the first that cannot start blocks its
    partition. Job j has ``job_options[j]`` options from ``job_first[j]`` on, one for each partition; an option has a
    need and, from ``option_first`` to that of the next one, the accounts of its limits in ``option_accounts``.
    Amounts of accounts are running jobs, nodes, cores, memory and GPUs; -1 in ``account_most`` is no limit.

    ``coming`` and ``leaving`` are the jobs that are known to come and to be cancelled, the latest first. The jobs that
    depend on job j are ``followers[j]``, ``next_follower`` of that and so on (-1: no more); such a job comes
    ``thinks`` after the end of the other (-1: not before that end and ``submits``), not before ``begins``, and is
    cancelled ``patiences`` after its submit (-1: never).

    ``windows`` close nodes (:mod:`holdfast.simulator.resources.node_windows`); what happens to them are ``events``, in
    order of time. A need with ``admits`` for an advance reservation, one of ``tickets``, is not kept off its nodes.
    Runs that a window ends are kept in ``past``, with room for ``most_past``; their jobs wait again and start anew.

    Results: ``starts``; ``option_of``; the nodes of a job from ``taken_first`` on, ``taken_count`` of them, in
    ``taken_node`` and ``taken_amount``; ``stopped``, the account that last stopped a job (-1: none);
    ``causes``, what it waited for (:mod:`holdfast.simulator.resources.wait_causes`). ``instants`` are
    the times of passes, and ``stranded`` the amounts that were stranded from each on; ``arrived``, the jobs that came,
    in that order; ``gone``, when a job was cancelled before its start (-1: it was not). ``state`` gets how it
    ended, and the numbers of :mod:`holdfast.simulator.resources.loop_state`.

    With ``pauses`` it returns before each pass: the list of waiting jobs in ``after`` and ``before`` (whose head is
    ``count``) may then be sorted, and the next call with the same arguments goes on, after ``state[ENDED]`` was set
    to 0.

    The others are buffers.
    """
    # A compiler makes a function of its own for each constant that it is given.
    nought = state[ENDED]
    one = nought + 1
    back = nought - one
    never = 1 << 62
    top = count
    if state[RESUMED] == 0:
        after[top] = top
        before[top] = top
        for spot in range(nodes * resources):
            frees[spot] = capacities[spot]
            load[spot] = 0
        for need in range(needs):
            failed[need] = -1
            judged[need] = -1
            tried[3 * need] = -1
            refused[3 * need] = -1
        for job in range(count):
            for spot in range(CAUSES):
                causes[job * CAUSES + spot] = 0
            causes[job * CAUSES] = -1
            causes[job * CAUSES + OTHER] = -1
            causes[job * CAUSES + PROMISED] = -1
    while (
        state[COMING] > 0
        or state[RUNS] > 0
        or state[LEAVING] > 0
        or state[RESUMED] == 1
        or (after[top] != top and state[EVENT] < events)
    ):
        if state[RESUMED] == 0:
            # A job that has started ends at its cancellation: there is nothing more to do.
            while state[LEAVING] > 0 and taken_count[leaving[state[LEAVING] - 1]] > 0:
                state[LEAVING] -= 1
            while state[COMING] > 0 and gone[coming[state[COMING] - 1]] >= 0:
                state[COMING] -= 1
            now = never
            if state[COMING] > 0:
                now = arrivals[coming[state[COMING] - 1]]
            if state[RUNS] > 0 and ends[by_end[state[RUNS] - 1]] < now:
                now = ends[by_end[state[RUNS] - 1]]
            if state[LEAVING] > 0 and cancels[leaving[state[LEAVING] - 1]] < now:
                now = cancels[leaving[state[LEAVING] - 1]]
            if state[EVENT] < events and event_time[state[EVENT]] < now and (now < never or after[top] != top):
                now = event_time[state[EVENT]]
            if now == never:
                break
            state[NOW] = now
            # Runs end.
            while state[RUNS] > 0 and ends[by_end[state[RUNS] - 1]] <= now:
                job = remove_last_run(state[RUNS], by_end, by_limit)  # type: ignore[no-untyped-call]
                first = taken_first[job]
                found = taken_count[job]
                add_amounts(first, found, one, nought, resources, taken_node, taken_amount, frees)  # type: ignore[no-untyped-call]
                measure_run(first, found, resources, taken_node, taken_amount, memories, held)  # type: ignore[no-untyped-call]
                count_run(option_of[job], back, held, option_first, option_accounts, account_used)  # type: ignore[no-untyped-call]
                state[RUNS] -= 1
                state[RELEASED] += 1
                state[CHANGED] += 1
                submit_followers(  # type: ignore[no-untyped-call]
                    job, now, followers, next_follower, thinks, submits, begins, patiences, arrivals, cancels, coming,
                    leaving, state,
                )  # fmt: skip
            # Nodes are closed and open again.
            while state[EVENT] < events and event_time[state[EVENT]] <= now:
                number = event_window[state[EVENT]]
                kind = event_kind[state[EVENT]]
                state[EVENT] += 1
                state[CHANGED] += 1
                if kind == END:
                    window[number * WINDOW + STANDING] = 2
                    state[RELEASED] += 1
                    continue
                window[number * WINDOW + STANDING] = 1
                spot = nought
                while kind == BEGIN and spot < state[RUNS]:
                    job = by_end[spot]
                    hit = is_hit(  # type: ignore[no-untyped-call]
                        number, job, option_need[option_of[job]], limits[job], tickets, tolerance, window, node_first,
                        node_window, admits, taken_first, taken_count, taken_node,
                    )  # fmt: skip
                    if hit == 0:
                        spot += 1
                        continue
                    if state[PAST] == most_past:
                        state[ENDED] = CROWDED
                        return
                    first = taken_first[job]
                    found = taken_count[job]
                    add_amounts(first, found, one, nought, resources, taken_node, taken_amount, frees)  # type: ignore[no-untyped-call]
                    measure_run(first, found, resources, taken_node, taken_amount, memories, held)  # type: ignore[no-untyped-call]
                    count_run(option_of[job], back, held, option_first, option_accounts, account_used)  # type: ignore[no-untyped-call]
                    remove_run(spot, by_end, by_limit, state)  # type: ignore[no-untyped-call]
                    keep_past_run(job, now, starts, option_of, taken_first, taken_count, causes, past, state)  # type: ignore[no-untyped-call]
                    state[RELEASED] += 1
                    enqueue(job, top, ranks, after, before, linked, arrived, state)  # type: ignore[no-untyped-call]
                    if cancels[job] < never:
                        expect_cancellation(job, cancels, leaving, state)  # type: ignore[no-untyped-call]
            # Jobs are cancelled before they start.
            while state[LEAVING] > 0 and cancels[leaving[state[LEAVING] - 1]] <= now:
                state[LEAVING] -= 1
                job = leaving[state[LEAVING]]
                if taken_count[job] == 0:
                    cancel_job(job, now, linked, after, before, gone, causes)  # type: ignore[no-untyped-call]
                    submit_followers(  # type: ignore[no-untyped-call]
                        job, now, followers, next_follower, thinks, submits, begins, patiences, arrivals, cancels,
                        coming, leaving, state,
                    )  # fmt: skip
            # Jobs arrive.
            while state[COMING] > 0 and arrivals[coming[state[COMING] - 1]] <= now:
                state[COMING] -= 1
                job = coming[state[COMING]]
                if gone[job] >= 0:
                    continue
                enqueue(job, top, ranks, after, before, linked, arrived, state)  # type: ignore[no-untyped-call]
            if pauses == 1:
                state[ENDED] = PAUSED
                state[RESUMED] = 1
                return
        state[RESUMED] = 0
        state[VERSION] += 1
        end = schedule(  # type: ignore[no-untyped-call]
            top, nodes, resources, partitions, depth, placement, tolerance, most_heads,
            walltimes, runtimes, job_first, job_options,
            option_need, option_first, option_accounts,
            need_partition, need_first, need_eligible, need_nodes, need_tasks, need_exclusive, need_vector, need_last,
            need_base, need_total, eligible,
            capacities, weights, by_name, memories,
            account_most, account_used,
            starts, option_of, taken_first, taken_count, taken_node, taken_amount, stopped,
            after, before, by_end, by_limit, ends, limits, frees, head_time, head_end, plan_first, plan_count,
            plan_node, plan_amount, head_job, head_need, blocked, failed, least, load, fitting, chosen, chosen_amount,
            nets, twins, tried, refused, held, blocker, causes, cancels,
            windows, tickets, window, node_first, node_window, admits, state,
        )  # fmt: skip
        if end != DONE:
            state[ENDED] = end
            return
        passes = state[PASSES]
        instants[passes] = state[NOW]
        measure_stranded(  # type: ignore[no-untyped-call]
            top, passes * resources, state[NOW], state[CHANGED], state[RELEASED], tolerance, nodes, resources,
            placement, walltimes, job_first, job_options, option_need, option_first, option_accounts, need_first,
            need_eligible,
            need_nodes, need_tasks, need_exclusive, need_vector, need_last, need_base, need_total, eligible, capacities,
            weights, by_name, account_most, account_used, stranded, after, frees, head_time, head_end, plan_first,
            plan_count, plan_node, plan_amount, failed, judged, judgements,
            least, load, fitting, chosen, chosen_amount, nets, twins,
            windows, tickets, window, node_first, node_window, admits,
        )  # fmt: skip
        state[PASSES] = passes + 1
    state[ENDED] = DONE


#: Twenty seconds, which only long replays are worth (:func:`holdfast.workloads.ground.object_code.object_code`).
replay_resources.slow_to_compile = True  # type: ignore[attr-defined]
