"""Recorder of the reasons for decisions, which the event log does not contain.

The log records what happened to nodes. Explanations need more: promises to waiting jobs and their changes, the cost of
preempting a victim and of the next-best candidate, loans, plans, and the reasons that policies give. Recording does not
affect any decision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from holdfast.policies.port import Action, Expect, Hold, Preempt, Promise, Start, SystemView
from holdfast.simulator.machine.node_accounts import Run
from holdfast.workloads.table.job import ON_DEMAND

__all__ = ["Decision", "Decisions"]


class Decision(NamedTuple):
    """One recorded decision; fields that its kind does not use are None.

    Attributes
    ----------
    time
        Tick of the simulated clock.
    decision
        ``promise`` (at the end of this instant the job is promised a start at ``at``; None: the promise is withdrawn),
        ``draw`` (a tenant borrows nodes that are reserved for ``other``), ``lend`` (the job gives up nodes for
        ``other``), ``return`` (gets them back), ``expect`` (the plan for ``other`` counts on its release), ``plan``
        (the plan is to preempt it), ``drop`` (the planned preemption is no longer needed), ``lacking`` (nodes that an
        arriving job lacks beyond free nodes and its own), ``room`` (nodes that its arrival strategy could obtain at
        most), ``victim`` (preempted for ``other``), ``spared`` (the alternative victim that would have lost least),
        ``reason`` (given by the policy, in its own words).
    job_id, other
        Job concerned, and the other job involved.
    nodes
        Number of nodes; for a victim, those that it frees for others.
    at
        Promised or planned time [ticks].
    loss
        Cost of a preemption [node-ticks].
    why
        Reason given by the policy.
    """

    time: int
    decision: str
    job_id: int | None = None
    other: int | None = None
    nodes: int | None = None
    at: int | None = None
    loss: int | None = None
    why: str = ""


class _Reasoned(Protocol):
    @property
    def reason(self) -> str: ...


class Decisions:
    """Collects decisions.

    Parameters
    ----------
    enabled
        Whether decisions are recorded; otherwise every call returns at once.
    """

    def __init__(self, enabled: bool = False) -> None:
        self.entries: list[Decision] = []
        self.enabled = enabled
        self._promises: Callable[[SystemView], list[Promise]] | None = None
        self._promised: dict[int, int] = {}

    def ask(self, rule: object) -> None:
        """Set the backfilling rule; its ``promises(view)``, if any, is called at the end of each instant."""
        self._promises = getattr(rule, "promises", None)

    def _note(self, time: int, decision: str, job_id: int | None = None, **others: Any) -> None:
        self.entries.append(Decision(time, decision, job_id, **others))

    def instant_over(self, view: SystemView, waits: Callable[[int], bool]) -> None:
        """Record the promises that have changed in an instant.

        Parameters
        ----------
        view
            The machine at the end of the instant.
        waits
            Function of a job id: whether the job still waits; a started job needs no promise.
        """
        if self._promises is None or not (self._promised or view.queue):
            return
        promised = {promise.job_id: promise.at for promise in self._promises(view)} if view.queue else {}
        if promised != self._promised:
            for job_id in self._promised:
                if job_id not in promised and waits(job_id):
                    self._note(view.now, "promise", job_id)
            for job_id, at in promised.items():
                if self._promised.get(job_id) != at:
                    self._note(view.now, "promise", job_id, at=at)
            self._promised = promised

    def record_draws(self, now: int, start: Start, draws: Mapping[int, int]) -> None:
        """Record that a tenant has started on nodes of reservations."""
        if self.enabled:
            for other, nodes in draws.items():
                self._note(now, "draw", start.job_id, other=other, nodes=nodes)
            self.reason(now, start.job_id, start)

    def lent(self, now: int, job_id: int, other: int, nodes: int) -> None:
        """Record that a job has lent nodes to another one."""
        if self.enabled:
            self._note(now, "lend", job_id, other=other, nodes=nodes)

    def record_return(self, now: int, job_id: int, other: int, nodes: int) -> None:
        """Record that a lender has got nodes back."""
        if self.enabled:
            self._note(now, "return", job_id, other=other, nodes=nodes)

    def record_plan(self, now: int, other: int, actions: Iterable[Action], runs: dict[int, Run]) -> None:
        """Record the plan of a notice strategy."""
        if not self.enabled:
            return
        for action in actions:
            if isinstance(action, Expect):
                run = runs[action.job_id]
                self._note(now, "expect", run.job_id, other=other, nodes=run.nodes, at=run.expected_end)
            elif isinstance(action, Preempt):
                run = runs[action.job_id]
                at = now if action.at is None else action.at
                self._note(now, "plan", run.job_id, other=other, nodes=run.nodes, at=at, loss=run.loss(at))
            self.reason(now, other if isinstance(action, Hold) else getattr(action, "job_id", None), action, other)

    def record_drop(self, now: int, job_id: int, other: int) -> None:
        """Record that a planned preemption was no longer needed."""
        if self.enabled:
            self._note(now, "drop", job_id, other=other)

    def lacks(self, now: int, job_id: int, lacking: int, room: int) -> None:
        """Record that an arriving on-demand job lacks nodes."""
        if self.enabled:
            self._note(now, "lacking", job_id, nodes=lacking)
            self._note(now, "room", job_id, nodes=room)

    def record_victims(self, now: int, other: int, actions: Sequence[Action], runs: dict[int, Run]) -> None:
        """Record the victims of an arrival strategy; called before any of them is changed."""
        if not self.enabled:
            return
        # Actions are validated later, so that an action may name a job that does not run.
        victims = [action.job_id for action in actions if isinstance(action, Preempt) and action.job_id in runs]
        for job_id in victims:
            run = runs[job_id]
            self._note(now, "victim", job_id, other=other, nodes=run.nodes - run.borrowed, loss=run.loss(now))
        if victims:
            left = [
                (run.loss(now), run.job_id, run.nodes - run.borrowed)
                for run in runs.values()
                if run.job_id not in victims and run.type is not ON_DEMAND and run.nodes > run.borrowed
            ]
            if left:
                loss, job_id, nodes = min(left)
                self._note(now, "spared", job_id, other=other, nodes=nodes, loss=loss)
        for action in actions:
            self.reason(now, getattr(action, "job_id", None), action, other)

    def reason(self, now: int, job_id: int | None, action: _Reasoned, other: int | None = None) -> None:
        """Record the reason that a policy gives for an action, if any."""
        if self.enabled and action.reason:
            self._note(now, "reason", job_id, other=other, why=action.reason)
