"""Checks of backfilling and tenants rules: which jobs they may start, and which ones they must not delay."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import takewhile
from typing import Any

from holdfast.policies.port import TOLERANCE, Promise, Start
from holdfast.policies.shadow_time import NEVER
from holdfast.simulator.conformance.contract import Claims, Problem
from holdfast.simulator.conformance.scenario import Running, Scenario, View
from holdfast.simulator.services.action_checks import describe, start_problem, tenant_problem
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.table.job import JobType

__all__ = ["ask_starts", "judge_backfilling", "judge_tenants"]


def ask_starts(rule: Any, view: View) -> Any:
    return rule(view)


def judge_backfilling(rule: Any, scenario: Scenario, starts: Any, claims: Claims) -> Iterator[Problem]:
    if not isinstance(starts, list | tuple):
        yield "action", f"must answer with a list of Start, not {type(starts).__name__}"
        return
    jobs = {job.job_id: job for job in scenario.queue}
    left, free = dict(jobs), scenario.free
    for start in starts:
        job = jobs.get(getattr(start, "job_id", None))  # type: ignore[arg-type]
        problem = start_problem(start, job, job is not None and job.job_id in left, free)
        if problem:
            twice = job is not None and job.job_id not in left
            yield "start", f"started job {job.job_id} twice" if twice and job else f"{describe(start)}: {problem}"
            return
        if start.draws or start.returned:
            yield "start", f"{describe(start)} takes nodes of reservations, which only a tenants rule may do"
            return
        del left[start.job_id]
        free -= start.nodes
    late = _into_windows(scenario, starts)
    if late is not None:
        yield "window", f"started job {late.job_id}, and its walltime takes nodes that a window needs"
        return
    if jobs and not starts and not (scenario.running or scenario.reservations or scenario.windows):
        yield "idle", "starts no job although jobs wait and all nodes are free: a simulation would never end"
    yield from _broken_promises(rule, scenario, list(starts), claims)


def _broken_promises(rule: Any, scenario: Scenario, starts: list[Start], claims: Claims) -> Iterator[Problem]:
    """Find jobs that the starts delay beyond a promise, or beyond their start without them."""
    if scenario.reservations:
        # Reservations collect released nodes before the queue does, so that the rule alone cannot keep promises.
        return
    if claims.head and not scenario.windows:
        yield from _delayed_head(scenario, starts)
    if not claims.runtime and callable(getattr(rule, "promises", None)):
        yield from _late_promise(rule, scenario, starts)


def _delayed_head(scenario: Scenario, starts: list[Start]) -> Iterator[Problem]:
    """Compare when the first job that must wait can start, with all starts and with only those before it."""
    sizes = {start.job_id: start.nodes for start in starts}
    before_head = list(takewhile(lambda job: job.job_id in sizes, scenario.queue))
    if len(before_head) == len(scenario.queue):
        return
    head = scenario.queue[len(before_head)]
    without = _after_starts(scenario, [Start(job.job_id, sizes[job.job_id]) for job in before_head])
    earliest = _earliest(without, head.min_nodes)
    delayed = _earliest(_after_starts(scenario, starts), head.min_nodes)
    if delayed > earliest + TOLERANCE:
        times = f"from {earliest / SECOND:g} s to {delayed / SECOND:g} s"
        yield "head", f"delayed job {head.job_id}, the first that must wait: {times}"


def _late_promise(rule: Any, scenario: Scenario, starts: list[Start]) -> Iterator[Problem]:
    """Compare what the rule promises before its starts and after them, and find the first job that is promised later.

    A job without a promise after the starts has started, or can start now.
    """
    after = _after_starts(scenario, starts)
    later = {item.job_id: item.at for item in rule.promises(View(after))}
    for promise in rule.promises(View(scenario)):
        if not isinstance(promise, Promise):
            yield "promise", f"must promise with Promise, not {promise!r}"
            return
        at = later.get(promise.job_id, scenario.now)
        if at > promise.at + TOLERANCE:
            times = f"at {promise.at / SECOND:g} s at the latest, and after its own starts at {at / SECOND:g} s"
            yield "promise", f"promised job {promise.job_id} to start {times}"
            return


def _into_windows(scenario: Scenario, starts: Any) -> Start | None:
    """Find the first start that leaves a window without its nodes, by brute force."""
    for count, start in enumerate(starts, 1):
        after = _after_starts(scenario, list(starts[:count]))
        ends = sorted(run.expected_end for run in after.running)
        own = after.running[-1].expected_end
        for window in scenario.windows:
            for at in (window.start, *(end for end in ends if window.start < end < window.end)):
                busy = sum(run.nodes for run in after.running if run.expected_end - TOLERANCE > at)
                if own - TOLERANCE > at and busy + window.nodes > scenario.nodes:
                    return start  # type: ignore[no-any-return]
    return None


def _after_starts(scenario: Scenario, starts: list[Start]) -> Scenario:
    """The machine after these starts."""
    sizes = {start.job_id: start.nodes for start in starts}
    jobs = {job.job_id: job for job in scenario.queue}
    runs = tuple(
        Running(
            start.job_id, jobs[start.job_id].type, start.nodes, jobs[start.job_id].min_nodes,
            jobs[start.job_id].nodes, scenario.now, scenario.now + jobs[start.job_id].limit(start.nodes),
        )
        for start in starts
    )  # fmt: skip
    queue = tuple(job for job in scenario.queue if job.job_id not in sizes)
    return replace(scenario, queue=queue, running=scenario.running + runs)


def _earliest(scenario: Scenario, nodes: int) -> int:
    """Time at which ``nodes`` nodes are free, with exact walltimes and no further starts; by brute force."""
    ends = sorted({scenario.now, *(run.expected_end for run in scenario.running)})
    for at in ends:
        if scenario.free + sum(run.nodes for run in scenario.running if run.expected_end <= at) >= nodes:
            return at
    return NEVER


def judge_tenants(rule: Any, scenario: Scenario, starts: Any, claims: Claims) -> Iterator[Problem]:
    if not isinstance(starts, list | tuple):
        yield "action", f"must answer with a list of Start, not {type(starts).__name__}"
        return
    jobs = {job.job_id: job for job in scenario.queue}
    left = dict(jobs)
    idle = {item.job_id: item.idle for item in scenario.reservations}
    for start in starts:
        job = jobs.get(getattr(start, "job_id", None))  # type: ignore[arg-type]
        problem = start_problem(start, job, job is not None and job.job_id in left, sum(idle.values()))
        problem = problem or tenant_problem(start, idle)
        if not problem and job is not None and job.type is JobType.ON_DEMAND:
            problem = f"job {job.job_id} is on-demand: no other job may take its nodes"
        if problem:
            yield "start", f"{describe(start)}: {problem}"
            return
        del left[start.job_id]
        for job_id, nodes in start.draws.items():
            idle[job_id] -= nodes
