"""Checks of strategies for on-demand jobs: what a notice strategy may hold and plan, and the nodes an arrival strategy
must free.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from holdfast.policies.port import Expect, Hold, Preempt, Shrink
from holdfast.simulator.conformance.contract import Claims, Problem
from holdfast.simulator.conformance.scenario import Running, Scenario, View
from holdfast.simulator.services.action_checks import describe, plan_problem, room_problem
from holdfast.workloads.table.job import JobType

__all__ = ["ask_arrival", "ask_notice", "judge_arrival", "judge_notice"]


def ask_notice(strategy: Any, view: View) -> Any:
    return strategy(view, view.request)


def judge_notice(strategy: Any, scenario: Scenario, actions: Any, claims: Claims) -> Iterator[Problem]:
    if not isinstance(actions, list | tuple):
        yield "action", f"must answer with a list of actions, not {type(actions).__name__}"
        return
    request = scenario.request
    assert request is not None
    holds = [action.nodes for action in actions if isinstance(action, Hold)]
    if actions and not holds:
        yield "hold", "plans without a reservation: the actions must include a Hold, if necessary of 0 nodes"
    if any(type(nodes) is not int or nodes < 0 for nodes in holds):
        yield "hold", f"holds {holds[0]!r} nodes"
        return
    held = sum(holds)
    if held > scenario.free:
        yield "hold", f"holds {held} nodes while {scenario.free} are free"
    if held > request.nodes:
        yield "hold", f"holds {held} nodes for a job that requests {request.nodes}"
    if held and any(job.type is JobType.ON_DEMAND for job in scenario.queue):
        yield "hold", f"holds {held} nodes while an on-demand job waits for them"
    planned: set[int] = set()
    runs: dict[Any, Any] = {run.job_id: run for run in scenario.running}
    for action in actions:
        run = runs.get(getattr(action, "job_id", None))
        problem = plan_problem(action, run, scenario.now)
        if not problem and isinstance(action, Expect | Preempt):
            if action.job_id in planned:
                problem = f"job {action.job_id} is planned twice"
            planned.add(action.job_id)
        if problem:
            yield "plan", f"{describe(action)}: {problem}"
            return


def ask_arrival(strategy: Any, view: View) -> dict[str, Any]:
    """Call ``room``, and ``make_room`` after the job's tenants have been preempted."""
    room = strategy.room(view, view.request)
    answers: dict[str, Any] = {"room": room}
    if type(room) is int:
        for missing in sorted({1, (room + 1) // 2, room} - {0}) if room > 0 else ():
            gone = View(_without_reservation(view.scenario))
            answers[f"missing {missing}"] = strategy.make_room(gone, gone.request, missing)
            view.peeks += gone.peeks
    return answers


def _without_reservation(scenario: Scenario) -> Scenario:
    """The scenario without the reservation of the arriving job and without its tenants."""
    request = scenario.request
    assert request is not None
    running = []
    idle = {item.job_id: 0 for item in scenario.reservations}
    for run in scenario.running:
        if run.owes(request.job_id):
            for job_id, nodes in run.lent.items():
                idle[job_id] += nodes
        else:
            running.append(run if run.plan != request.job_id else replace(run, plan=None))
    reservations = tuple(
        replace(item, idle=item.idle + idle[item.job_id], lent=item.lent - idle[item.job_id])
        for item in scenario.reservations
        if item.job_id != request.job_id
    )
    return replace(scenario, running=tuple(running), reservations=reservations)


def judge_arrival(strategy: Any, scenario: Scenario, answers: dict[str, Any], claims: Claims) -> Iterator[Problem]:
    room = answers["room"]
    if type(room) is not int or room < 0:
        yield "room", f"room must be a whole number of nodes, not {room!r}"
        return
    for name, actions in answers.items():
        if name != "room":
            yield from _judge_room(_without_reservation(scenario), int(name.split()[1]), actions, room)


def _judge_room(scenario: Scenario, needed: int, actions: Any, room: int) -> Iterator[Problem]:
    if not isinstance(actions, list | tuple):
        yield "action", f"must answer with a list of actions, not {type(actions).__name__}"
        return
    runs: dict[Any, Running] = {run.job_id: run for run in scenario.running}
    missing = needed
    for action in actions:
        run = runs.get(getattr(action, "job_id", None))
        problem = room_problem(action, run, missing)
        if not problem and run is not None and isinstance(action, Preempt) and run.nodes == run.borrowed:
            problem = f"all nodes of job {run.job_id} belong to reservations, so that preempting it frees none"
        if problem or run is None:
            yield "victim", f"{describe(action)} to find {needed} missing: {problem}"
            return
        if isinstance(action, Shrink):
            missing -= action.nodes
            runs[run.job_id] = replace(run, nodes=run.nodes - action.nodes - action.surplus)
        else:
            missing -= run.nodes - run.borrowed
            del runs[run.job_id]
    if missing > 0:
        yield (
            "room",
            f"reports room for {room}, but frees {needed - missing} of {needed} missing nodes",
        )
