"""Checks of expansion policies: which running malleable jobs may grow, and which promises must be kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from holdfast.policies.backfilling import Easy
from holdfast.policies.port import TOLERANCE
from holdfast.simulator.conformance.contract import Claims, Problem
from holdfast.simulator.conformance.scenario import Running, Scenario, View
from holdfast.simulator.services.action_checks import describe, growth_problem
from holdfast.workloads.ground.units import SECOND

__all__ = ["ask_expansion", "judge_expansion"]


def ask_expansion(expansion: Any, view: View) -> Any:
    """Call the expansion with the view and the promises of EASY."""
    return expansion(view, Easy().promises(View(view.scenario)))


def judge_expansion(expansion: Any, scenario: Scenario, actions: Any, claims: Claims) -> Iterator[Problem]:
    if not isinstance(actions, list | tuple):
        yield "action", f"must answer with a list of Expand, not {type(actions).__name__}"
        return
    runs: dict[Any, Running] = {run.job_id: run for run in scenario.running}
    free = scenario.free
    for action in actions:
        run = runs.get(getattr(action, "job_id", None))
        problem = growth_problem(action, run, free)
        if problem or run is None:
            yield "growth", f"{describe(action)}: {problem}"
            return
        ready = max(scenario.now, run.start + run.setup)
        end = ready + -(-(run.expected_end - ready) * run.nodes // (run.nodes + action.nodes))
        runs[run.job_id] = replace(run, nodes=run.nodes + action.nodes, expected_end=max(scenario.now, end))
        free -= action.nodes
    if actions and not scenario.reservations:
        grown = replace(scenario, running=tuple(runs.values()))
        later = {item.job_id: item.at for item in Easy().promises(View(grown))}
        for promise in Easy().promises(View(scenario)):
            at = later.get(promise.job_id, promise.at)
            if at > promise.at + TOLERANCE:
                times = f"from {promise.at / SECOND:g} s to {at / SECOND:g} s"
                yield "promise", f"delays job {promise.job_id} beyond its promised start: {times}"
                return
