"""A job on a machine of shared nodes: its state, and what it demands."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.simulator.machine.job_state import JobState
from holdfast.simulator.shared_nodes.demand import Demand
from holdfast.workloads.table.job import ON_DEMAND

__all__ = ["SharedJob", "WaitTimes"]


@dataclass
class WaitTimes:
    """What a job has waited for so far.

    Attributes
    ----------
    nodes, reservation
        Ticks for which no nodes had room for it, and for which it would have delayed a job before it.
    since
        From when on the present reason holds [ticks]; None: it does not wait.
    blocked
        Whether it would delay a job before it.
    other
        Id of the last job that it would have delayed; None: none.
    promised, promised_at
        Its first shadow time, and when it got that [ticks]; None: none.
    """

    nodes: int = 0
    reservation: int = 0
    since: int | None = None
    blocked: bool = False
    other: int | None = None
    promised: int | None = None
    promised_at: int | None = None

    def pass_to(self, now: int) -> None:
        """Count the time since the last pass."""
        if self.since is not None:
            if self.blocked:
                self.reservation += now - self.since
            else:
                self.nodes += now - self.since
            self.since = None


@dataclass(eq=False)
class SharedJob:
    """A job.

    Attributes
    ----------
    state
        Its state; sizes count parts.
    demand
        What it demands.
    size
        Its size in the unit of the machine.
    tier
        The highest tier of its partitions.
    waits
        What it has waited for.
    served
        Whether a mechanism can serve it: its parts are equal.
    """

    state: JobState
    demand: Demand
    size: int
    tier: int
    waits: WaitTimes

    @property
    def job_id(self) -> int:
        return self.state.job_id

    @property
    def on_demand(self) -> bool:
        return self.state.type is ON_DEMAND

    @property
    def served(self) -> bool:
        return self.demand.divided

    @property
    def estimated_arrival(self) -> int:
        return self.state.estimated_arrival
