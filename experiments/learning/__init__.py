"""Reinforcement-learning environments over the simulator, and a small trainer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workloads.ground.lazy_names import late_names

if TYPE_CHECKING:
    from experiments.learning.arrival_choice import ArrivalChoice as ArrivalChoice
    from experiments.learning.job_choice import JobChoice as JobChoice
    from experiments.learning.plan_choice import PlanChoice as PlanChoice
    from experiments.learning.training import compare as compare
    from experiments.learning.training import compare_orders as compare_orders
    from experiments.learning.training import train as train
    from experiments.learning.vector import vector as vector
    from policies.score_network import ScoringNetwork as ScoringNetwork

__all__ = ["ArrivalChoice", "JobChoice", "PlanChoice", "ScoringNetwork", "compare", "compare_orders", "train", "vector"]

#: Gymnasium is imported with the first environment only.
_PLACES = {
    "ArrivalChoice": "experiments.learning.arrival_choice",
    "JobChoice": "experiments.learning.job_choice",
    "PlanChoice": "experiments.learning.plan_choice",
    "ScoringNetwork": "policies.score_network",
    "compare": "experiments.learning.training",
    "compare_orders": "experiments.learning.training",
    "train": "experiments.learning.training",
    "vector": "experiments.learning.vector",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = late_names(__name__, _PLACES)
