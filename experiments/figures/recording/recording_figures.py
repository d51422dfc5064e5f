"""Registry of the figures of one simulation, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from holdfast.experiments.figures.style import relabel
from holdfast.experiments.output.filenames import file_part
from holdfast.experiments.recordings.run_file import holds_run, open_run
from holdfast.experiments.recordings.time_windows import Window
from holdfast.simulator.results.recording import Recording
from holdfast.workloads.ground.errors import InputError, UnknownNameError
from holdfast.workloads.ground.files import is_plain_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["RECORDING_FIGURES", "FigureEntry", "existing_pictures", "figure_path", "select_figures"]


@dataclass(frozen=True)
class FigureEntry:
    """A figure of a simulation.

    Attributes
    ----------
    about
        Short description.
    plot
        The function that draws it, as ``module:function``: matplotlib is imported when it is called.
    events
        Whether it needs the event log.
    quantile
        Whether it shows a quantile of the waits.
    color
        Whether its colours can show several properties.
    """

    about: str
    plot: str
    events: bool = True
    quantile: bool = False
    color: bool = False

    def draw(self, recording: Recording, window: Window, quantile: float, color: str = "type") -> Figure:
        """Draw the figure."""
        how: dict[str, Any] = {"quantile": quantile} if self.quantile else {}
        how |= {"color": color} if self.color else {}
        figure: Figure = resolve_name(self.plot)(recording, window, **how)
        return relabel(figure, recording.unit)


RECORDING_FIGURES: Mapping[str, FigureEntry] = {
    "gantt": FigureEntry(
        "nodes of each job over time", "holdfast.experiments.figures.recording.gantt:plot_gantt", color=True
    ),
    "use": FigureEntry("use of the nodes over time", "holdfast.experiments.figures.recording.node_use:plot_use"),
    "queue": FigureEntry(
        "waiting jobs, their nodes and node-hours, and the wait of the first job",
        "holdfast.experiments.figures.recording.queue:plot_queue",
    ),
    "on-demand": FigureEntry(
        "notice, arrival and start of on-demand jobs, and the jobs that made room",
        "holdfast.experiments.figures.recording.on_demand_jobs:plot_on_demand",
    ),
    "waits": FigureEntry(
        "waits by size and walltime",
        "holdfast.experiments.figures.recording.heat:plot_wait_map",
        events=False,
        quantile=True,
    ),
}


def select_figures(name: str) -> list[str]:
    """Select a figure by name, or ``all``.

    Raises
    ------
    UnknownNameError
        If there is no such picture.
    """
    if name == "all":
        return list(RECORDING_FIGURES)
    if name not in RECORDING_FIGURES:
        raise UnknownNameError("picture", name, [*RECORDING_FIGURES, "all"])
    return [name]


def figure_path(directory: Path, kind: str, mechanism: str) -> Path:
    """Path of a figure beside its results, without suffix."""
    return directory / f"{kind}-{file_part(mechanism)}"


def existing_pictures(directory: Path) -> list[Path]:
    """Existing figures of the result in a directory, at :func:`figure_path`; empty without a result."""
    if not holds_run(directory):
        return []
    try:
        tables = open_run(directory).files or ()
    except InputError:  # a damaged result can be replaced, too
        return []
    parts = [name.removeprefix("jobs").removesuffix(".csv") for name in tables if name.startswith("jobs-")]
    paths = (
        directory / f"{kind}{part}.{suffix}"
        for part in parts
        for kind in RECORDING_FIGURES
        for suffix in ("png", "pdf", "svg")
    )
    return [path for path in paths if is_plain_file(path)]
