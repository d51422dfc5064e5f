"""Holds: parts of nodes that are kept for on-demand jobs, and the loans of those that gave them up."""

from __future__ import annotations

from dataclasses import dataclass, field

from holdfast.simulator.shared_nodes.demand import Amounts
from holdfast.simulator.shared_nodes.shared_job import SharedJob
from holdfast.simulator.shared_nodes.shared_run import SharedRun

__all__ = ["Hold", "PartGathering", "PartLoan", "PartReservation"]


@dataclass(eq=False)
class Hold:
    """A part of a node that is kept for an on-demand job.

    Attributes
    ----------
    job
        The on-demand job.
    node
        The node.
    part
        What is kept of it.
    guests
        Runs inside of it: a tenant of a reservation, or runs under warning for which an arrived job waits.
    """

    job: SharedJob
    node: int
    part: Amounts
    guests: list[SharedRun] = field(default_factory=list)

    @property
    def used(self) -> Amounts:
        """What its guests take."""
        return tuple(sum(column) for column in zip(*(guest.taken[self.node] for guest in self.guests), strict=True))

    @property
    def footprint(self) -> Amounts:
        """What it and its guests take of the node: the larger of the part and of what the guests take."""
        if not self.guests:
            return self.part
        return tuple(map(max, self.part, self.used))


@dataclass(eq=False)
class PartLoan:
    """Nodes that a run gave up for an on-demand job.

    Attributes
    ----------
    run
        The run that was shrunk or preempted.
    nodes
        The nodes, ascending.
    parts
        What a shrunk run had of each of them; None: the run was preempted.
    """

    run: SharedRun
    nodes: list[int]
    parts: dict[int, Amounts] | None = None


@dataclass(eq=False)
class PartReservation:
    """Nodes that are reserved for an on-demand job that gave notice.

    Attributes
    ----------
    job
        The job.
    notice
        Time of the notice [ticks].
    plan
        The runs in its plan.
    loans
        What planned victims have given up for it.
    open
        Whether it is open.
    """

    job: SharedJob
    notice: int
    plan: list[SharedRun] = field(default_factory=list)
    loans: list[PartLoan] = field(default_factory=list)
    open: bool = True

    def horizon(self, now: int) -> int:
        """Until when waiting jobs expect it to keep its nodes [ticks]."""
        return max(self.job.estimated_arrival, now) + self.job.state.walltime


@dataclass(eq=False)
class PartGathering:
    """An arrived on-demand job that waits until runs under warning leave its nodes.

    Attributes
    ----------
    job
        The job.
    loans
        What jobs have given up for it.
    ready
        When the last of these runs leaves [ticks].
    """

    job: SharedJob
    loans: list[PartLoan]
    ready: int
