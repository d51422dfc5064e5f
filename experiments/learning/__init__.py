"""How do schedulers learn: environments over the simulator for reinforcement learning, and a small trainer.

Other folders use this package's own names.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from experiments.learning.jobchoice import JobChoice as JobChoice
    from experiments.learning.training import compare_orders as compare_orders
    from experiments.learning.training import play as play
    from experiments.learning.training import train as train
    from policies.orders.network import ScoringNetwork as ScoringNetwork

__all__ = ["JobChoice", "ScoringNetwork", "compare_orders", "play", "train"]

#: Gymnasium is imported with the first environment only.
_PLACES = {
    "JobChoice": "experiments.learning.jobchoice",
    "ScoringNetwork": "policies.orders.network",
    "compare_orders": "experiments.learning.training",
    "play": "experiments.learning.training",
    "train": "experiments.learning.training",
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_PLACES[name]), name)
