"""Figures, each drawn from tables or from one recording."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workloads.ground.lazy_names import late_names

if TYPE_CHECKING:
    from experiments.figures.planning.plans import plot_plan
    from experiments.figures.recording.gantt import plot_gantt
    from experiments.figures.recording.heat import plot_wait_map
    from experiments.figures.recording.node_use import plot_use
    from experiments.figures.recording.on_demand_jobs import plot_on_demand
    from experiments.figures.recording.paired_gains import plot_gains
    from experiments.figures.recording.queue import plot_queue
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
    "plot_accounting": "experiments.figures.study.machine",
    "plot_gains": "experiments.figures.recording.paired_gains",
    "plot_gantt": "experiments.figures.recording.gantt",
    "plot_machine": "experiments.figures.study.machine",
    "plot_mechanisms": "experiments.figures.study.mechanisms",
    "plot_on_demand": "experiments.figures.recording.on_demand_jobs",
    "plot_plan": "experiments.figures.planning.plans",
    "plot_queue": "experiments.figures.recording.queue",
    "plot_use": "experiments.figures.recording.node_use",
    "plot_wait_map": "experiments.figures.recording.heat",
    "save": "experiments.figures.style",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = late_names(__name__, _MODULES)
