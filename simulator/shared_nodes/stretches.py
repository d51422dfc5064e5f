"""The past of runs on shared nodes, and the clock that they need."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from holdfast.simulator.shared_nodes.demand import Amounts
from holdfast.simulator.shared_nodes.occupants import SharedRun
from holdfast.simulator.shared_nodes.shared_job import SharedJob
from holdfast.workloads.machines.fitted_requests import Need

__all__ = ["Clock", "Stretch"]


class Clock(Protocol):
    """Events that the state causes, and the usage that orders count."""

    def hold(self, run: SharedRun) -> None:
        """Count what a run holds from now on; nothing if it is over."""

    def end(self, run: SharedRun) -> None:
        """Call the completion of a run at its end."""

    def vacate(self, run: SharedRun) -> None:
        """Call the end of the warning of a run."""


class Stretch(NamedTuple):
    """Time that a run spent on the same nodes.

    Attributes
    ----------
    job
        The job.
    start, end
        [ticks of the simulated clock].
    need
        What the job needed in its partition.
    taken
        What it took of each node.
    cause, ending
        Why the job got these nodes, and why it left them before its end; empty: it did not.
    place
        Place of the run among all starts, from 0.
    resized
        Whether the run went on, on other nodes.
    """

    job: SharedJob
    start: int
    end: int
    need: Need
    taken: Mapping[int, Amounts]
    cause: str
    ending: str
    place: int
    resized: bool
