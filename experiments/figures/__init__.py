"""Pictures, each made from tables or a recording alone.

Other folders use this package's own names, and ``planning.advice``, ``planning.costs``, ``planning.forecasts``,
``planning.loop``, ``planning.losses``, ``planning.plans``, ``planning.waits``, ``recording.agreement``,
``recording.gains``, ``recording.portraits``,
``study.aggregates``, ``study.bearing``, ``study.courses``, ``study.datasets``, ``study.delays``,
``study.evaluation``, ``study.evidence``, ``study.factors``, ``study.front``, ``study.honesty``, ``study.inputs``,
``study.intervals``, ``study.machine``, ``study.marginals``, ``study.mechanisms``, ``study.orders``, ``study.rankings``,
``study.reliability``, ``study.requestgains``, ``study.scenarios``, ``study.sensitivity``, ``study.warmups`` and
``style``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from experiments.figures.planning.plans import plot_plan
    from experiments.figures.recording.gains import plot_gains
    from experiments.figures.recording.gantt import plot_gantt
    from experiments.figures.recording.heat import plot_wait_map
    from experiments.figures.recording.ondemand import plot_on_demand
    from experiments.figures.recording.queue import plot_queue
    from experiments.figures.recording.uses import plot_use
    from experiments.figures.study.machine import plot_accounting, plot_machine
    from experiments.figures.study.mechanisms import plot_mechanisms
    from experiments.figures.style import save

__all__ = [
    "plot_accounting",
    "plot_gains",
    "plot_gantt",
    "plot_machine",
    "plot_mechanisms",
    "plot_on_demand",
    "plot_plan",
    "plot_queue",
    "plot_use",
    "plot_wait_map",
    "save",
]

#: The module of each name, imported when the name is first used: drawing one figure needs no other.
_MODULES = {
    "plot_accounting": "study.machine",
    "plot_gains": "recording.gains",
    "plot_gantt": "recording.gantt",
    "plot_machine": "study.machine",
    "plot_mechanisms": "study.mechanisms",
    "plot_on_demand": "recording.ondemand",
    "plot_plan": "planning.plans",
    "plot_queue": "recording.queue",
    "plot_use": "recording.uses",
    "plot_wait_map": "recording.heat",
    "save": "style",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
