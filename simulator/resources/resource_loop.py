"""Replay of rigid jobs on named nodes with resource vectors, as one loop over integers.

The rules are those of docs/reference/machines.md. There is one plain source, which is compiled for long replays
(:func:`holdfast.policies.kernels.compiled_or_plain.compiled_loop`). Jobs are numbered in the order of their arrivals.
"""

from __future__ import annotations

from typing import Any

from holdfast.simulator.resources.free_amounts import add_amounts
from holdfast.simulator.resources.job_lives import cancel_job, submit_followers
from holdfast.simulator.resources.limit_accounts import count_run, measure_run
from holdfast.simulator.resources.loop_arguments import (
    Accounts,
    Choice,
    Jobs,
    Lives,
    LoopArguments,
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
#: Later than every time.
_NEVER = 1 << 62


def replay_resources(
    rule: Rule, nodes: Nodes, needs: Needs, jobs: Jobs, accounts: Accounts, lives: Lives, queue: WaitingRing,
    runs: Runs, plan: Plan, choice: Choice, windows: Windows, records: LoopRecords,
) -> None:  # fmt: skip
    """Simulate until all jobs have started and ended.

    Runs that a window ends are kept in ``records.past``; their jobs wait again and start anew.

    With ``rule.pauses`` it returns before each pass: the ring of waiting jobs may then be sorted, and the next call
    with the same arguments goes on, after ``state[ENDED]`` was set to 0.
    """
    loop = LoopArguments(rule, nodes, needs, jobs, accounts, lives, queue, runs, plan, choice, windows, records)
    state = records.state
    if state[RESUMED] == 0:
        _prepare(loop)
    while state[RESUMED] == 1 or _has_more(loop) == 1:
        if state[RESUMED] == 0:
            state[NOW] = _next_instant(loop)
            if state[NOW] == _NEVER:
                break
            _end_runs(loop)
            if _move_windows(loop) == CROWDED:
                state[ENDED] = CROWDED
                return
            _cancel_jobs(loop)
            _submit_jobs(loop)
            if rule.pauses == 1:
                state[ENDED] = PAUSED
                state[RESUMED] = 1
                return
        state[RESUMED] = 0
        state[VERSION] += 1
        end = schedule(loop)
        if end != DONE:
            state[ENDED] = end
            return
        records.instants[state[PASSES]] = state[NOW]
        measure_stranded_amounts(loop)
        state[PASSES] += 1
    state[ENDED] = DONE


def _prepare(loop: LoopArguments) -> None:
    """Set the buffers: an empty queue, free nodes, and nothing known."""
    nodes, queue, choice = loop.nodes, loop.queue, loop.choice
    top = loop.jobs.total
    queue.after[top] = top
    queue.before[top] = top
    for spot in range(nodes.total * nodes.resources):
        loop.plan.frees[spot] = nodes.capacities[spot]
        choice.load[spot] = 0
    for need in range(loop.needs.total):
        choice.failed[need] = -1
        choice.judged[need] = -1
        choice.tried[3 * need] = -1
        choice.refused[3 * need] = -1
    for spot in range(top * CAUSES):
        queue.causes[spot] = 0
    for job in range(top):
        queue.causes[job * CAUSES] = -1
        queue.causes[job * CAUSES + OTHER] = -1
        queue.causes[job * CAUSES + PROMISED] = -1


def _has_more(loop: LoopArguments) -> Any:
    """Whether jobs run, come or leave, or wait for windows."""
    state = loop.records.state
    if state[COMING] > 0 or state[RUNNING] > 0 or state[LEAVING] > 0:
        return 1
    top = loop.jobs.total
    if loop.queue.after[top] != top and state[EVENT] < loop.windows.events:
        return 1
    return 0


def _next_instant(loop: LoopArguments) -> Any:
    """When something happens next; never, if nothing does that concerns a job."""
    state, runs, lives, windows = loop.records.state, loop.runs, loop.lives, loop.windows
    # A job that has started ends at its cancellation: there is nothing more to do.
    while state[LEAVING] > 0 and runs.size[lives.leaving[state[LEAVING] - 1]] > 0:
        state[LEAVING] -= 1
    while state[COMING] > 0 and lives.gone[lives.coming[state[COMING] - 1]] >= 0:
        state[COMING] -= 1
    now = _NEVER
    if state[COMING] > 0:
        now = lives.arrivals[lives.coming[state[COMING] - 1]]
    if state[RUNNING] > 0:
        now = min(now, runs.ends[runs.by_end[state[RUNNING] - 1]])
    if state[LEAVING] > 0:
        now = min(now, lives.cancels[lives.leaving[state[LEAVING] - 1]])
    top = loop.jobs.total
    if state[EVENT] < windows.events and (now < _NEVER or loop.queue.after[top] != top):
        now = min(now, windows.event_time[state[EVENT]])
    return now


def _end_runs(loop: LoopArguments) -> None:
    """End the runs that are due."""
    state, runs = loop.records.state, loop.runs
    while state[RUNNING] > 0 and runs.ends[runs.by_end[state[RUNNING] - 1]] <= state[NOW]:
        job = remove_last_run(state[RUNNING], runs)
        state[RUNNING] -= 1
        _release(job, loop)
        state[CHANGED] += 1
        submit_followers(job, state[NOW], loop.lives, state)


def _release(job: Any, loop: LoopArguments) -> None:
    """Release what a run holds."""
    nodes, runs, choice = loop.nodes, loop.runs, loop.choice
    first = runs.first[job]
    size = runs.size[job]
    add_amounts(first, size, 1, 0, nodes.resources, runs.node, runs.amount, loop.plan.frees)
    measure_run(first, size, nodes.resources, runs.node, runs.amount, nodes.memories, choice.held)
    count_run(runs.option[job], -1, choice.held, loop.accounts)
    loop.records.state[RELEASED] += 1


def _move_windows(loop: LoopArguments) -> Any:
    """Close and open nodes; ``CROWDED`` if there is no room for another preempted run, else ``DONE``."""
    state, windows = loop.records.state, loop.windows
    while state[EVENT] < windows.events and windows.event_time[state[EVENT]] <= state[NOW]:
        number = windows.event_window[state[EVENT]]
        kind = windows.event_kind[state[EVENT]]
        state[EVENT] += 1
        state[CHANGED] += 1
        if kind == END:
            windows.window[number * WINDOW + STANDING] = 2
            state[RELEASED] += 1
            continue
        windows.window[number * WINDOW + STANDING] = 1
        if kind == BEGIN and _preempt_runs(number, loop) == CROWDED:
            return CROWDED
    return DONE


def _preempt_runs(number: Any, loop: LoopArguments) -> Any:
    """Preempt the runs that a window hits; ``CROWDED`` if there is no room for another, else ``DONE``."""
    state, runs, cancels = loop.records.state, loop.runs, loop.lives.cancels
    spot = 0
    while spot < state[RUNNING]:
        job = runs.by_end[spot]
        need = loop.jobs.need[runs.option[job]]
        if is_hit(number, job, need, loop.rule.tolerance, loop.windows, runs) == 0:
            spot += 1
            continue
        if state[PAST] == loop.records.most_past:
            return CROWDED
        _release(job, loop)
        remove_run(spot, runs, state)
        keep_past_run(job, state[NOW], runs, loop.queue.causes, loop.records)
        enqueue(job, loop.jobs.total, loop.jobs.ranks, loop.queue, state)
        if cancels[job] < _NEVER:
            expect_cancellation(job, loop.lives, state)
    return DONE


def _cancel_jobs(loop: LoopArguments) -> None:
    """Cancel the jobs that have waited too long."""
    state, lives = loop.records.state, loop.lives
    while state[LEAVING] > 0 and lives.cancels[lives.leaving[state[LEAVING] - 1]] <= state[NOW]:
        state[LEAVING] -= 1
        job = lives.leaving[state[LEAVING]]
        if loop.runs.size[job] == 0:
            cancel_job(job, state[NOW], lives, loop.queue)
            submit_followers(job, state[NOW], lives, state)


def _submit_jobs(loop: LoopArguments) -> None:
    """Submit the jobs that arrive."""
    state, lives = loop.records.state, loop.lives
    while state[COMING] > 0 and lives.arrivals[lives.coming[state[COMING] - 1]] <= state[NOW]:
        state[COMING] -= 1
        job = lives.coming[state[COMING]]
        if lives.gone[job] < 0:
            enqueue(job, loop.jobs.total, loop.jobs.ranks, loop.queue, state)


#: Fifteen seconds, which only long replays are worth (:func:`holdfast.workloads.ground.object_code.object_code`).
replay_resources.slow_to_compile = True  # type: ignore[attr-defined]
