"""The result of a simulation: its records as tables, and its metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from holdfast.simulator.results.measured_simulation import MeasuredWindow
from holdfast.simulator.results.metrics import summarize
from holdfast.simulator.results.recording import Recording
from holdfast.simulator.results.schema import EVENTS, RESERVATIONS, RUNS, STUDIED_JOBS, jobs_schema, timeline_schema

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

__all__ = ["Result"]

#: Module that draws results. It is above this package, which works without it, and is imported when it is needed.
_BACKEND = "holdfast.experiments.figures.recording.notebook"
#: Names that ``dir()`` of a result lists.
_PUBLIC = (
    *("accounting", "events", "jobs", "mechanism", "name", "nodes", "options", "plot", "reservations", "runs"),
    *("summary", "timeline"),
)


@dataclass(frozen=True, repr=False)
class Result(Recording):
    """Result of a simulation: its tables, its metrics and its pictures.

    ``dir()`` lists what users need. The other fields of a :class:`~holdfast.simulator.results.recording.Recording` are
    for the modules of Holdfast, and may change between releases.
    """

    def __dir__(self) -> list[str]:
        return [*(name for name in super().__dir__() if name.startswith("_")), *_PUBLIC]

    @cached_property
    def jobs(self) -> pd.DataFrame:
        """A row for each job: its request, user and project, and its outcome; seconds, nodes and node-seconds.

        The columns of ``jobs-*.csv`` are among them. A column of numbers stays one where values are missing: those of a
        job that never came, or was withdrawn.
        """
        return jobs_schema(self, STUDIED_JOBS).frame(self)

    @cached_property
    def runs(self) -> pd.DataFrame:
        """A row for each run of a job, from a start to the next end: times [s], nodes at its start, cause, ending.

        Raises
        ------
        InputError
            If the event log was switched off.
        """
        return RUNS.frame(self)

    @cached_property
    def reservations(self) -> pd.DataFrame:
        """A row for each reservation of a stochastic job, with the columns of ``reservations-*.csv``."""
        return RESERVATIONS.frame(self)

    @cached_property
    def events(self) -> pd.DataFrame:
        """The event log: time [s], event, job_id, nodes before, nodes after, cause."""
        return EVENTS.frame(self)

    def plot(self, kind: str = "machine", **how: Any) -> Figure:
        """Draw a picture of the result.

        Parameters
        ----------
        kind
            ``machine`` (busy and held nodes and the queue over time), ``accounting`` (node-hours by use), ``gantt``,
            ``use``, ``queue``, ``on-demand`` or ``waits``.
        **how
            ``start`` and ``end`` of the window of time, as of ``holdfast picture``; ``quantile`` of the waits.

        Raises
        ------
        InputError
            If there is no such picture, or the result has no event log and the picture needs it.
        """
        figure: Figure = resolve_name(f"{_BACKEND}:plot_result")(self, kind, **how)
        return figure

    def _repr_html_(self) -> str:
        """The result as a notebook shows it: its metrics and a small picture."""
        html: str = resolve_name(f"{_BACKEND}:result_html")(self)
        return html

    def timeline(self) -> pd.DataFrame:
        """The machine over time: a row for each instant at which something happened, valid until the next.

        Returns
        -------
        pandas.DataFrame
            time [s], busy, held and idle nodes, waiting jobs, and the nodes that they ask for; where nodes were down,
            these, too.
        """
        return timeline_schema(self).frame(self)

    def summary(
        self, *, instant_tolerance: float | None = None, warmup: float = 0.0, cooldown: float = 0.0
    ) -> Mapping[str, str | int | float]:
        """The metrics (docs/model.md, "Metrics") as a pandas Series.

        Parameters
        ----------
        instant_tolerance
            How late an on-demand job may start and still count as started instantly [s]; None: the warning.
        warmup, cooldown
            Time after the first submit and before the last that is left out [s].
        """
        import pandas as pd

        values = summarize(self, instant_tolerance=instant_tolerance, window=MeasuredWindow(warmup, cooldown))
        return pd.Series(values, name=self.name, dtype=object)  # type: ignore[return-value]  # it is a mapping
