"""A way to operate the machine of a log: today's, or an alternative to it."""

from __future__ import annotations

from dataclasses import dataclass, field

from holdfast.policies.mechanism import BASELINE
from holdfast.simulator.options import Options
from holdfast.workloads.machines.machine import Quota
from holdfast.workloads.outages.outage import Outage

__all__ = ["OnDemandProjects", "Operation"]


@dataclass(frozen=True)
class OnDemandProjects:
    """Projects with on-demand jobs; all others have rigid ones.

    Attributes
    ----------
    share
        Probability of a project to be one of them; 0: they are named.
    names
        Their names.
    grouping
        What the share is of: ``project``, or where the log has none, ``user`` or ``campaign``.
    """

    share: float = 0.0
    names: tuple[str, ...] = ()
    grouping: str = "project"

    def __str__(self) -> str:
        if self.share:
            return f"{100 * self.share:.3g} % on-demand {self.grouping}s"
        return f"on-demand project{'s' if len(self.names) > 1 else ''} {', '.join(self.names)}"


@dataclass(frozen=True)
class Operation:
    """How the machine is operated.

    Attributes
    ----------
    name
        Words for tables.
    nodes
        Size of the machine, in the unit of the log, or in that of ``machine``.
    order, backfilling
        Queue order and backfilling rule.
    outages
        Maintenance, failures and advance reservations.
    mechanism
        Mechanism for on-demand jobs, or ``baseline``.
    on_demand
        Projects with on-demand jobs; None: all jobs are rigid.
    per_user
        Most that the running jobs of one user may have; None: no limit.
    machine
        File of a machine with partitions; None: one pool of equal nodes.
    """

    name: str
    nodes: int
    order: str = "fcfs"
    backfilling: str = "easy"
    outages: tuple[Outage, ...] = field(default=())
    mechanism: str = BASELINE
    on_demand: OnDemandProjects | None = None
    per_user: Quota | None = None
    machine: str | None = None

    @property
    def options(self) -> Options:
        """Options of the simulation.

        Raises
        ------
        UnknownNameError
            If the order or the backfilling rule is unknown.
        """
        return Options(order=self.order, backfilling=self.backfilling)
