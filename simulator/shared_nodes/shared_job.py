"""A job on a machine of shared nodes: its state, and what it demands."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.simulator.machine.job_state import JobState
from holdfast.simulator.shared_nodes.demand import Demand
from holdfast.workloads.machines.machine import Limit
from holdfast.workloads.table.job import ON_DEMAND

__all__ = ["SharedJob", "WaitTimes"]


@dataclass
class WaitTimes:
    """What a job has waited for so far.

    Attributes
    ----------
    nodes, reservation, limit
        Ticks for which no nodes had room for it, for which it would have delayed a job before it, and for which a limit
        stopped it.
    since
        From when on the present reason holds [ticks]; None: it does not wait.
    blocked
        Whether it would delay a job before it.
    stopped_by, last_limit, limited_until
        The limit that stops it now and that stopped it last, and until when that did [ticks]; None: none.
    other
        Id of the last job that it would have delayed; None: none.
    promised, promised_at
        Its first shadow time, and when it got that [ticks]; None: none.
    """

    nodes: int = 0
    reservation: int = 0
    limit: int = 0
    since: int | None = None
    blocked: bool = False
    stopped_by: Limit | None = None
    last_limit: Limit | None = None
    limited_until: int | None = None
    other: int | None = None
    promised: int | None = None
    promised_at: int | None = None

    def pass_to(self, now: int) -> None:
        """Count the time since the last pass."""
        if self.since is not None:
            if self.stopped_by is not None:
                self.limit += now - self.since
                self.last_limit, self.limited_until = self.stopped_by, now
            elif self.blocked:
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
    qos, account
        Its QOS and account; empty: none.
    gone
        Whether it was cancelled while it did not run, or was preempted and a limit never let it run again.
    served
        Whether a mechanism can serve it: its parts are equal.
    """

    state: JobState
    demand: Demand
    size: int
    tier: int
    waits: WaitTimes
    qos: str = ""
    account: str = ""
    gone: bool = False

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
