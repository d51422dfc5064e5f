"""The set-up of a simulation: everything that is needed to run it, already checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from holdfast.policies.mechanism import Mechanism
from holdfast.simulator.clock.walltime_trial import Trial
from holdfast.simulator.machine.decisions import Decisions
from holdfast.simulator.machine.event_log import EventLog
from holdfast.simulator.machine.job_factory import job_states
from holdfast.simulator.machine.job_state import JobState
from holdfast.simulator.machine.prior_state import PriorState
from holdfast.simulator.options import Options
from holdfast.simulator.services.starting_state import StartingState, find_starting_state
from holdfast.workloads.table.job import Job
from holdfast.workloads.table.job_lifecycle import has_life

if TYPE_CHECKING:
    from holdfast.policies.planning.plan_book import PlanBook
    from holdfast.simulator.clock.decision_request import Asking
    from holdfast.simulator.clock.stream import Stream
    from holdfast.simulator.services.downtime import Closures

__all__ = ["Setup"]


@dataclass(frozen=True)
class Setup:
    """The checked inputs and components of a simulation.

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
        Event log.
    decisions
        Recorder of decisions.
    origin
        Ticks of the table's clock at its first event.
    progress
        Called from time to time with the number of ended jobs.
    book
        Plans of the stochastic jobs; None: there are no such jobs.
    closures
        Outages; None: there are none.
    begin
        Begin of the replay [ticks of the simulated clock]; None: at the first event of the jobs.
    awaited
        The simulation ends when these jobs have started; None: when all jobs have ended.
    trial
        Trial of one job with several walltimes; None: there is none.
    asking
        Decisions that the simulation requests from its driver; None: none.
    stream
        Stream that creates the states of rigid jobs one by one; None: all are created before the simulation begins.
    prior
        Past usage and occupied nodes at the beginning of a replay from a state; None: unknown.
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
        """States of the jobs in the order of the input; empty for a stream, which creates them one by one."""
        if self.stream is not None:
            return []
        return job_states(self.table, self.origin, self.options, baseline=self.mechanism is None)

    @cached_property
    def lively(self) -> bool:
        """Whether any job may be cancelled, depends on another one, or is already running."""
        # Most tables lack these columns, and then no job needs to be inspected.
        return self.stream is None and any(map(has_life, self.table))

    @cached_property
    def running(self) -> StartingState | None:
        """The jobs that are already running; None: there are none."""
        if not self.lively and self.begin is None:
            return None
        return find_starting_state(self.states, self.origin, self.begin)
