"""Expansion of running malleable jobs into the nodes that an instant leaves free."""

from __future__ import annotations

from holdfast.policies.backfilling import Backfilling
from holdfast.policies.expansion import EXPANSIONS
from holdfast.simulator.machine.run import is_malleable
from holdfast.simulator.machine.system import System
from holdfast.simulator.services.action_checks import answer_error, check_list, growth_problem

__all__ = ["Growth"]


class Growth:
    """Expands running malleable jobs after the pass of an instant.

    Parameters
    ----------
    name
        Name of the expansion policy.
    rule
        Backfilling rule; its promises are kept. Under a rule without promises, jobs expand only while the queue is
        empty.
    """

    def __init__(self, name: str, rule: Backfilling) -> None:
        self._expansion = EXPANSIONS[name]
        self._name = f"expansion {name}"
        self._promises = getattr(rule, "promises", None)

    def __call__(self, system: System) -> None:
        """Carry out the expansions that the policy returns."""
        if not system.waiting.jobs:
            promises = []
        elif self._promises is not None:
            promises = self._promises(system)
        else:
            return
        for action in check_list(self._name, self._expansion(system, promises)):
            run = system.runs.get(getattr(action, "job_id", -1))
            problem = growth_problem(action, run, system.free)
            if problem or not is_malleable(run):
                raise answer_error(self._name, action, problem)
            system.resize(run, system.cluster.pool, action.nodes, "idle: no waiting job fits")
