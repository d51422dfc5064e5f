"""Portraits: the pictures of one simulation, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from experiments.recordings.windows import Window
from simulator.results.recording import Recording
from workloads.ground.errors import UnknownNameError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["PORTRAITS", "Portrait", "chosen_portraits"]


@dataclass(frozen=True)
class Portrait:
    """A picture of a simulation.

    Attributes
    ----------
    about
        What it shows, in a few words.
    draw
        ``draw(recording, window, quantile)``; the quantile is of waits.
    events
        Whether it needs the event log.
    """

    about: str
    draw: Callable[[Recording, Window, float], Figure]
    events: bool = True


def _gantt(recording: Recording, window: Window, _: float) -> Figure:
    from experiments.figures.recording.gantt import plot_gantt

    return plot_gantt(recording, window)


def _use(recording: Recording, window: Window, _: float) -> Figure:
    from experiments.figures.recording.uses import plot_use

    return plot_use(recording, window)


def _queue(recording: Recording, window: Window, _: float) -> Figure:
    from experiments.figures.recording.queue import plot_queue

    return plot_queue(recording, window)


def _on_demand(recording: Recording, window: Window, _: float) -> Figure:
    from experiments.figures.recording.ondemand import plot_on_demand

    return plot_on_demand(recording, window)


def _waits(recording: Recording, window: Window, quantile: float) -> Figure:
    from experiments.figures.recording.heat import plot_wait_map

    return plot_wait_map(recording, window, quantile=quantile)


PORTRAITS: Mapping[str, Portrait] = {
    "gantt": Portrait("nodes of each job over time", _gantt),
    "use": Portrait("use of the nodes over time", _use),
    "queue": Portrait("waiting jobs, their nodes and node-hours, and the wait of the first job", _queue),
    "on-demand": Portrait("notice, arrival and start of on-demand jobs, and the jobs that made room", _on_demand),
    "waits": Portrait("waits by size and walltime", _waits, events=False),
}


def chosen_portraits(name: str) -> list[str]:
    """The named one, or ``all``.

    Raises
    ------
    UnknownNameError
        If there is no such picture.
    """
    if name == "all":
        return list(PORTRAITS)
    if name not in PORTRAITS:
        raise UnknownNameError("picture", name, [*PORTRAITS, "all"])
    return [name]
