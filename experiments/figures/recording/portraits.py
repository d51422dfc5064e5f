"""Portraits: the pictures of one simulation, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pkgutil import resolve_name
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
    plot
        The function that draws it, as ``module:function``: matplotlib is imported when it is called.
    events
        Whether it needs the event log.
    quantile
        Whether it shows a quantile of the waits.
    """

    about: str
    plot: str
    events: bool = True
    quantile: bool = False

    def draw(self, recording: Recording, window: Window, quantile: float) -> Figure:
        """Draw it."""
        how = {"quantile": quantile} if self.quantile else {}
        figure: Figure = resolve_name(self.plot)(recording, window, **how)
        return figure


PORTRAITS: Mapping[str, Portrait] = {
    "gantt": Portrait("nodes of each job over time", "experiments.figures.recording.gantt:plot_gantt"),
    "use": Portrait("use of the nodes over time", "experiments.figures.recording.uses:plot_use"),
    "queue": Portrait(
        "waiting jobs, their nodes and node-hours, and the wait of the first job",
        "experiments.figures.recording.queue:plot_queue",
    ),
    "on-demand": Portrait(
        "notice, arrival and start of on-demand jobs, and the jobs that made room",
        "experiments.figures.recording.ondemand:plot_on_demand",
    ),
    "waits": Portrait(
        "waits by size and walltime", "experiments.figures.recording.heat:plot_wait_map", events=False, quantile=True
    ),
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
