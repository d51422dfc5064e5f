"""The set-up of a simulation: everything that is needed to run it, already checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from policies.mechanism import Mechanism
from simulator.clock.walltime_trial import Trial
from simulator.machine.decisions import Decisions
from simulator.machine.event_log import EventLog
from simulator.machine.job_factory import job_states
from simulator.machine.job_state import JobState
from simulator.machine.prior_state import PriorState
from simulator.options import Options
from simulator.services.starting_state import StartingState, find_starting_state
from workloads.table.job import Job
from workloads.table.job_lifecycle import has_life

if TYPE_CHECKING:
    from policies.planning.plan_book import PlanBook
    from simulator.clock.decision_request import Asking
    from simulator.clock.stream import Stream
    from simulator.services.downtime import Closures

__all__ = ["Setup"]


@dataclass(frozen=True)
class Setup:
    """A simulation that can begin; all of it has been checked.

    Attributes
    ----------
    table
        The jobs, in the order of the input.
    nodes
        Size of the machine.
    mechanism
        How on-demand jobs are served; None: the baseline.
    options
        How the machine is operated.
    log
        Where events go.
    decisions
        Recorder of decisions.
    origin
        Ticks of the table's clock at its first event.
    progress
        Told now and then how many jobs have ended.
    book
        Plans of the stochastic jobs; None: there are no such jobs.
    closures
        Outages; None: there are none.
    begin
        When the replay begins [ticks of the simulated clock]; None: the jobs tell.
    awaited
        Jobs with whose last start the simulation ends; None: it ends when all jobs have ended.
    trial
        A job that is tried with several walltimes; None: there is none.
    asking
        What the driver is asked; None: nothing.
    stream
        Where the states of rigid jobs come from one by one; None: all are made before the simulation begins.
    prior
        Usage and nodes at the beginning of a replay from a state; None: nothing is known of the time before.
    """

    table: Sequence[Job]
    nodes: int
    mechanism: Mechanism | None
    options: Options
    log: EventLog
    decisions: Decisions
    origin: int
    progress: Callable[[int], None] | None = None
    book: PlanBook | None = None
    closures: Closures | None = None
    begin: int | None = None
    awaited: frozenset[int] | None = None
    trial: Trial | None = None
    asking: Asking | None = None
    stream: Stream | None = None
    prior: PriorState | None = None

    @cached_property
    def states(self) -> list[JobState]:
        """The states of the jobs, in the order of the input; none of a stream, which makes them one by one."""
        if self.stream is not None:
            return []
        return job_states(self.table, self.origin, self.options, baseline=self.mechanism is None)

    @cached_property
    def lively(self) -> bool:
        """Whether any job may be withdrawn, depends on another, or runs already."""
        # Most tables say nothing of it, and then no job has to be looked at again.
        return self.stream is None and any(map(has_life, self.table))

    @cached_property
    def running(self) -> StartingState | None:
        """The jobs that run already; None: there are none."""
        if not self.lively and self.begin is None:
            return None
        return find_starting_state(self.states, self.origin, self.begin)
