"""Figures, each drawn from tables or from one recording."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.workloads.ground.lazy_names import late_names

if TYPE_CHECKING:
    from holdfast.experiments.figures.planning.plans import plot_plan
    from holdfast.experiments.figures.recording.gantt import plot_gantt
    from holdfast.experiments.figures.recording.heat import plot_wait_map
    from holdfast.experiments.figures.recording.node_use import plot_use
    from holdfast.experiments.figures.recording.on_demand_jobs import plot_on_demand
    from holdfast.experiments.figures.recording.paired_gains import plot_gains
    from holdfast.experiments.figures.recording.queue import plot_queue
    from holdfast.experiments.figures.study.machine import plot_accounting, plot_machine
    from holdfast.experiments.figures.study.mechanisms import plot_mechanisms
    from holdfast.experiments.figures.style import save

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
    "plot_accounting": "holdfast.experiments.figures.study.machine",
    "plot_gains": "holdfast.experiments.figures.recording.paired_gains",
    "plot_gantt": "holdfast.experiments.figures.recording.gantt",
    "plot_machine": "holdfast.experiments.figures.study.machine",
    "plot_mechanisms": "holdfast.experiments.figures.study.mechanisms",
    "plot_on_demand": "holdfast.experiments.figures.recording.on_demand_jobs",
    "plot_plan": "holdfast.experiments.figures.planning.plans",
    "plot_queue": "holdfast.experiments.figures.recording.queue",
    "plot_use": "holdfast.experiments.figures.recording.node_use",
    "plot_wait_map": "holdfast.experiments.figures.recording.heat",
    "save": "holdfast.experiments.figures.style",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = late_names(__name__, _MODULES)
