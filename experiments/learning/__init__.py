"""How do schedulers learn: environments over the simulator for reinforcement learning, and a small trainer.

Other folders use this package's own names.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from experiments.learning.arrivalchoice import ArrivalChoice as ArrivalChoice
    from experiments.learning.jobchoice import JobChoice as JobChoice
    from experiments.learning.planchoice import PlanChoice as PlanChoice
    from experiments.learning.training import compare as compare
    from experiments.learning.training import compare_orders as compare_orders
    from experiments.learning.training import train as train
    from experiments.learning.vector import vector as vector
    from policies.network import ScoringNetwork as ScoringNetwork

__all__ = ["ArrivalChoice", "JobChoice", "PlanChoice", "ScoringNetwork", "compare", "compare_orders", "train", "vector"]

#: Gymnasium is imported with the first environment only.
_PLACES = {
    "ArrivalChoice": "experiments.learning.arrivalchoice",
    "JobChoice": "experiments.learning.jobchoice",
    "PlanChoice": "experiments.learning.planchoice",
    "ScoringNetwork": "policies.network",
    "compare": "experiments.learning.training",
    "compare_orders": "experiments.learning.training",
    "train": "experiments.learning.training",
    "vector": "experiments.learning.vector",
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_PLACES[name]), name)
