"""The result of a simulation: its records as tables, and its metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from simulator.results.metrics import MeasuredWindow, summarize
from simulator.results.recording import Recording
from simulator.results.schema import EVENTS, JOBS, timeline_schema

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Result"]


@dataclass(frozen=True)
class Result(Recording):
    """Result of a simulation: a :class:`~simulator.results.recording.Recording` with tables and metrics."""

    @cached_property
    def jobs(self) -> pd.DataFrame:
        """One row a job, with the columns of ``jobs-*.csv``; seconds, nodes and node-seconds."""
        return JOBS.frame(self)

    @cached_property
    def events(self) -> pd.DataFrame:
        """The event log: time [s], event, job_id, nodes before, nodes after, cause."""
        return EVENTS.frame(self)

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
