"""An arrival strategy learned by a network, which chooses one of the other strategies at each arrival.

The network scores each strategy by its consequences for the running jobs (:data:`CONSEQUENCES`), which are computed
from the port like in any policy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import log10
from typing import Any

import numpy as np
import numpy.typing as npt

from holdfast.policies.arrival import ARRIVALS, ArrivalStrategy, WaitAtArrival
from holdfast.policies.port import Preempt, Request, RunningJob, Shrink, SystemView
from holdfast.policies.score_network import ScoringNetwork
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.table.job import MALLEABLE

__all__ = ["CONSEQUENCES", "LearnedAtArrival", "consequences", "missing_nodes", "possible"]

#: Features of each strategy at an arrival. Of the strategy: whether it finds enough nodes, nodes from preempted and
#: from shrunk jobs [share of the machine], number of these jobs [log10(1 + jobs) / 6], and lost work [log10(1 +
#: node-seconds) / 12]. Of the arriving job: missing nodes and nodes [share of the machine], walltime [log10(1 + s) /
#: 6]. Of the machine: free nodes, reserved nodes, and nodes by which malleable jobs could shrink [share of the
#: machine], waiting jobs [log10(1 + jobs) / 6].
_EFFECTS = ("enough", "preempted", "shrunk", "jobs", "lost")
_SITUATION = ("lacking", "nodes", "walltime", "free", "reserved", "spare", "queue")
CONSEQUENCES = (*_EFFECTS, *_SITUATION)
_NODE_HOURS = 12.0


class _ViewAfterTenants:
    """The machine after the tenants of the arriving job have left."""

    def __init__(self, view: SystemView, running: Sequence[RunningJob]) -> None:
        self._view = view
        self.running = running

    def __getattr__(self, name: str) -> Any:
        return getattr(self._view, name)


def missing_nodes(view: SystemView, request: Request) -> int:
    """Nodes that an arriving job lacks beyond free nodes and its reservation."""
    own = sum(item.idle + item.lent for item in view.reservations if item.job_id == request.job_id)
    return max(0, request.nodes - view.free - own)


def possible(
    view: SystemView, request: Request, strategies: Sequence[ArrivalStrategy], lacking: int
) -> npt.NDArray[np.bool_]:
    """Mask of the strategies that find enough nodes, or make the job wait on purpose, shape (strategies,)."""
    return np.array(
        [isinstance(item, WaitAtArrival) or item.room(view, request) >= lacking for item in strategies], bool
    )


def consequences(
    view: SystemView, request: Request, strategies: Sequence[ArrivalStrategy], lacking: int
) -> npt.NDArray[np.float32]:
    """The consequences of each strategy at an arrival.

    Parameters
    ----------
    view
        The machine.
    request
        The arriving job.
    strategies
        The strategies.
    lacking
        Nodes that the job lacks.

    Returns
    -------
    numpy.ndarray
        Shape (strategies, 12): :data:`CONSEQUENCES`, all non-negative.
    """
    running = [run for run in view.running if not run.owes(request.job_id)]
    by_id = {run.job_id: run for run in running}
    later: Any = _ViewAfterTenants(view, running)
    reserved = sum(item.idle + item.lent for item in view.reservations)
    spare = sum(run.nodes - run.min_nodes for run in running if run.type is MALLEABLE and not run.borrowed)
    situation = {
        "lacking": lacking / view.nodes,
        "nodes": request.nodes / view.nodes,
        "walltime": log10(1.0 + request.walltime / SECOND) / 6.0,
        "free": view.free / view.nodes,
        "reserved": reserved / view.nodes,
        "spare": spare / view.nodes,
        "queue": log10(1.0 + len(view.queue)) / 6.0,
    }
    features = np.zeros((len(strategies), len(CONSEQUENCES)), np.float32)
    features[:, len(_EFFECTS) :] = [situation[name] for name in _SITUATION]
    for row, strategy in zip(features, strategies, strict=True):
        if strategy.room(view, request) >= lacking:
            actions = strategy.make_room(later, request, lacking) if lacking else []
            row[: len(_EFFECTS)] = _effects(actions, by_id, view)
    return features


def _effects(
    actions: Sequence[Preempt | Shrink], running: Mapping[int, RunningJob], view: SystemView
) -> tuple[float, ...]:
    """The features in ``_EFFECTS`` of a strategy that answers with these actions."""
    applied = [action for action in actions if action.job_id in running]
    preempted = [running[action.job_id] for action in applied if isinstance(action, Preempt)]
    shrunk = sum(action.nodes for action in applied if isinstance(action, Shrink))
    lost = sum(run.loss(view.now) for run in preempted)
    return (
        1.0,
        sum(run.nodes for run in preempted) / view.nodes,
        shrunk / view.nodes,
        log10(1.0 + len(applied)) / 6.0,
        log10(1.0 + lost / SECOND) / _NODE_HOURS,
    )


@dataclass(frozen=True)
class LearnedAtArrival:
    """Choose the strategy with the highest score of a network, among those in its training.

    Attributes
    ----------
    model
        The npz file of the network, as :func:`holdfast.gym.train` returns it for an ``ArrivalChoice``.
    """

    model: str = ""
    network: ScoringNetwork | None = field(default=None, metadata={"parameter": False}, repr=False, compare=False)

    def ready(self) -> LearnedAtArrival:
        """Load the network and return the strategy.

        Raises
        ------
        InputError
            If there is no network.
        """
        if self.network is not None:
            return self
        scores = "answers to arrivals"
        return LearnedAtArrival(
            self.model, ScoringNetwork.for_policy(self.model, features=len(CONSEQUENCES), scores=scores)
        )

    def begin(self) -> ArrivalStrategy:
        """Return the strategy for one simulation."""
        network = self.ready().network
        assert network is not None  # ready() has loaded it
        return _ChoiceAtArrival(network)

    def room(self, view: SystemView, request: Request) -> int:
        return self.begin().room(view, request)

    def make_room(self, view: SystemView, request: Request, missing: int) -> list[Preempt | Shrink]:
        return self.begin().make_room(view, request, missing)


class _ChoiceAtArrival:
    """Strategy of one simulation; it stores the choice for each arrival between ``room`` and ``make_room``."""

    def __init__(self, network: ScoringNetwork) -> None:
        self._network = network
        self._strategies = [ARRIVALS[name] for name in network.answers]
        self._chosen: dict[int, ArrivalStrategy] = {}

    def room(self, view: SystemView, request: Request) -> int:
        lacking = missing_nodes(view, request)
        chosen = self._chosen[request.job_id] = self._best(view, request, lacking)
        return chosen.room(view, request)

    def make_room(self, view: SystemView, request: Request, missing: int) -> list[Preempt | Shrink]:
        chosen = self._chosen.pop(request.job_id, None) or self._best(view, request, missing)
        return chosen.make_room(view, request, missing)

    def _best(self, view: SystemView, request: Request, lacking: int) -> ArrivalStrategy:
        scores = self._network.scores(consequences(view, request, self._strategies, lacking))
        legal = possible(view, request, self._strategies, lacking)
        return self._strategies[int(np.argmax(np.where(legal, scores, -np.inf)))]
