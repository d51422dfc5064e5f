"""Reinforcement-learning environments over the simulator, and a small trainer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.workloads.ground.lazy_names import late_names

if TYPE_CHECKING:
    from holdfast.experiments.learning.arrival_choice import ArrivalChoice as ArrivalChoice
    from holdfast.experiments.learning.job_choice import JobChoice as JobChoice
    from holdfast.experiments.learning.plan_choice import PlanChoice as PlanChoice
    from holdfast.experiments.learning.training import compare as compare
    from holdfast.experiments.learning.training import compare_orders as compare_orders
    from holdfast.experiments.learning.training import train as train
    from holdfast.experiments.learning.vector import vector as vector
    from holdfast.policies.score_network import ScoringNetwork as ScoringNetwork

__all__ = ["ArrivalChoice", "JobChoice", "PlanChoice", "ScoringNetwork", "compare", "compare_orders", "train", "vector"]

#: Gymnasium is imported with the first environment only.
_PLACES = {
    "ArrivalChoice": "holdfast.experiments.learning.arrival_choice",
    "JobChoice": "holdfast.experiments.learning.job_choice",
    "PlanChoice": "holdfast.experiments.learning.plan_choice",
    "ScoringNetwork": "holdfast.policies.score_network",
    "compare": "holdfast.experiments.learning.training",
    "compare_orders": "holdfast.experiments.learning.training",
    "train": "holdfast.experiments.learning.training",
    "vector": "holdfast.experiments.learning.vector",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = late_names(__name__, _PLACES)
