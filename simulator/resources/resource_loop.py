"""Replay of rigid jobs on named nodes with resource vectors, as one loop over integers.

The rules are those of docs/reference/machines.md. There is one plain source, which is compiled for long replays
(:func:`holdfast.policies.kernels.compiled_or_plain.compiled_loop`). Jobs are numbered in the order of their arrivals.
"""

from __future__ import annotations

from holdfast.simulator.resources.free_amounts import add_amounts
from holdfast.simulator.resources.job_lives import cancel_job, submit_followers
from holdfast.simulator.resources.limit_accounts import count_run, measure_run
from holdfast.simulator.resources.loop_arguments import (
    Accounts,
    Choice,
    Jobs,
    Lives,
    LoopRecords,
    Needs,
    Nodes,
    Plan,
    Rule,
    Runs,
    WaitingRing,
    Windows,
)
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
    RUNNING,
    VERSION,
)
from holdfast.simulator.resources.preemptions import enqueue, expect_cancellation, keep_past_run, remove_run
from holdfast.simulator.resources.run_lists import remove_last_run
from holdfast.simulator.resources.scheduling_pass import schedule
from holdfast.simulator.resources.stranded_amounts import measure_stranded_amounts
from holdfast.simulator.resources.wait_causes import CAUSES, OTHER, PROMISED
from holdfast.simulator.resources.window_checks import BEGIN, END, STANDING, WINDOW, is_hit

__all__ = ["ALL", "replay_resources"]

#: As many reservations as there are waiting jobs.
ALL = 1 << 40


def replay_resources(
    rule: Rule, nodes: Nodes, needs: Needs, jobs: Jobs, accounts: Accounts, lives: Lives, queue: WaitingRing,
    runs: Runs, plan: Plan, choice: Choice, windows: Windows, records: LoopRecords,
) -> None:  # fmt: skip
    """Simulate until all jobs have started and ended.

    Runs that a window ends are kept in ``records.past``; their jobs wait again and start anew.

    With ``rule.pauses`` it returns before each pass: the ring of waiting jobs may then be sorted, and the next call
    with the same arguments goes on, after ``state[ENDED]`` was set to 0.
    """
    state = records.state
    resources = nodes.resources
    memories = nodes.memories
    events = windows.events
    count = jobs.total
    arrivals, cancels, coming, leaving, gone = lives.arrivals, lives.cancels, lives.coming, lives.leaving, lives.gone
    after = queue.after
    causes = queue.causes
    _, option_of, taken_first, taken_count, taken_node, taken_amount, ends, _, by_end, _ = runs
    frees = plan.frees
    # A compiler makes a function of its own for each constant that it is given.
    nought = state[ENDED]
    one = nought + 1
    back = nought - one
    never = 1 << 62
    top = count
    if state[RESUMED] == 0:
        after[top] = top
        queue.before[top] = top
        for spot in range(nodes.total * resources):
            frees[spot] = nodes.capacities[spot]
            choice.load[spot] = 0
        for need in range(needs.total):
            choice.failed[need] = -1
            choice.judged[need] = -1
            choice.tried[3 * need] = -1
            choice.refused[3 * need] = -1
        for job in range(count):
            for spot in range(CAUSES):
                causes[job * CAUSES + spot] = 0
            causes[job * CAUSES] = -1
            causes[job * CAUSES + OTHER] = -1
            causes[job * CAUSES + PROMISED] = -1
    while (
        state[COMING] > 0
        or state[RUNNING] > 0
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
            if state[RUNNING] > 0 and ends[by_end[state[RUNNING] - 1]] < now:
                now = ends[by_end[state[RUNNING] - 1]]
            if state[LEAVING] > 0 and cancels[leaving[state[LEAVING] - 1]] < now:
                now = cancels[leaving[state[LEAVING] - 1]]
            if state[EVENT] < events and windows.event_time[state[EVENT]] < now and (now < never or after[top] != top):
                now = windows.event_time[state[EVENT]]
            if now == never:
                break
            state[NOW] = now
            # Runs end.
            while state[RUNNING] > 0 and ends[by_end[state[RUNNING] - 1]] <= now:
                job = remove_last_run(state[RUNNING], runs)
                first = taken_first[job]
                found = taken_count[job]
                add_amounts(first, found, one, nought, resources, taken_node, taken_amount, frees)
                measure_run(first, found, resources, taken_node, taken_amount, memories, choice.held)
                count_run(option_of[job], back, choice.held, accounts)
                state[RUNNING] -= 1
                state[RELEASED] += 1
                state[CHANGED] += 1
                submit_followers(job, now, lives, state)
            # Nodes are closed and open again.
            while state[EVENT] < events and windows.event_time[state[EVENT]] <= now:
                number = windows.event_window[state[EVENT]]
                kind = windows.event_kind[state[EVENT]]
                state[EVENT] += 1
                state[CHANGED] += 1
                if kind == END:
                    windows.window[number * WINDOW + STANDING] = 2
                    state[RELEASED] += 1
                    continue
                windows.window[number * WINDOW + STANDING] = 1
                spot = nought
                while kind == BEGIN and spot < state[RUNNING]:
                    job = by_end[spot]
                    if is_hit(number, job, jobs.need[option_of[job]], rule.tolerance, windows, runs) == 0:
                        spot += 1
                        continue
                    if state[PAST] == records.most_past:
                        state[ENDED] = CROWDED
                        return
                    first = taken_first[job]
                    found = taken_count[job]
                    add_amounts(first, found, one, nought, resources, taken_node, taken_amount, frees)
                    measure_run(first, found, resources, taken_node, taken_amount, memories, choice.held)
                    count_run(option_of[job], back, choice.held, accounts)
                    remove_run(spot, runs, state)
                    keep_past_run(job, now, runs, causes, records)
                    state[RELEASED] += 1
                    enqueue(job, top, jobs.ranks, queue, state)
                    if cancels[job] < never:
                        expect_cancellation(job, lives, state)
            # Jobs are cancelled before they start.
            while state[LEAVING] > 0 and cancels[leaving[state[LEAVING] - 1]] <= now:
                state[LEAVING] -= 1
                job = leaving[state[LEAVING]]
                if taken_count[job] == 0:
                    cancel_job(job, now, lives, queue)
                    submit_followers(job, now, lives, state)
            # Jobs arrive.
            while state[COMING] > 0 and arrivals[coming[state[COMING] - 1]] <= now:
                state[COMING] -= 1
                job = coming[state[COMING]]
                if gone[job] >= 0:
                    continue
                enqueue(job, top, jobs.ranks, queue, state)
            if rule.pauses == 1:
                state[ENDED] = PAUSED
                state[RESUMED] = 1
                return
        state[RESUMED] = 0
        state[VERSION] += 1
        end = schedule(rule, nodes, needs, jobs, accounts, lives, queue, runs, plan, choice, windows, state)
        if end != DONE:
            state[ENDED] = end
            return
        records.instants[state[PASSES]] = state[NOW]
        measure_stranded_amounts(rule, nodes, needs, jobs, accounts, queue, plan, choice, windows, records)
        state[PASSES] += 1
    state[ENDED] = DONE


#: Twenty seconds, which only long replays are worth (:func:`holdfast.workloads.ground.object_code.object_code`).
replay_resources.slow_to_compile = True  # type: ignore[attr-defined]
