"""A simulation that stops whenever an on-demand job arrives and lacks nodes, so that the caller chooses the
preemptions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from holdfast.policies.arrival import ARRIVALS, ArrivalStrategy
from holdfast.policies.mechanism import Mechanism
from holdfast.policies.notice import NOTICES
from holdfast.policies.port import Preempt, Request, Shrink, SystemView
from holdfast.simulator.clock.decision_request import Asking
from holdfast.simulator.clock.setup import Setup
from holdfast.simulator.machine.decisions import Decisions
from holdfast.simulator.machine.event_log import EventLog
from holdfast.simulator.machine.job_state import JobState
from holdfast.simulator.options import Options
from holdfast.simulator.results.recording import clock_origin
from holdfast.simulator.simulation import checked_table
from holdfast.simulator.stepping.base import Stepped
from holdfast.workloads.ground.errors import InputError, InvariantError, ParameterError
from holdfast.workloads.ground.numbers import is_whole
from holdfast.workloads.table.job import Job, JobType

__all__ = ["SteppedArrivals"]


class _Answers:
    """An arrival strategy that delegates to the strategy chosen for each job."""

    def __init__(self, strategy: ArrivalStrategy) -> None:
        # If a job lacks nothing, but its nodes fail later, the strategy of the previous job is used.
        self.last = strategy
        self._of: dict[int, ArrivalStrategy] = {}

    def choose(self, job_id: int, strategy: ArrivalStrategy) -> None:
        self.last = self._of[job_id] = strategy

    def room(self, view: SystemView, request: Request) -> int:
        return self._of.get(request.job_id, self.last).room(view, request)

    def make_room(self, view: SystemView, request: Request, missing: int) -> list[Preempt | Shrink]:
        return self._of.get(request.job_id, self.last).make_room(view, request, missing)


@dataclass(frozen=True)
class _Answered(Mechanism):
    """A mechanism with an arrival strategy chosen for each job."""

    answers: _Answers

    @property
    def on_arrival(self) -> ArrivalStrategy:
        return self.answers


class SteppedArrivals(Stepped):
    """A replay in which the caller chooses the arrival strategy for each on-demand job.

    It uses the engine of :func:`holdfast.simulator.simulation.simulate`, and stops before the arrival of an on-demand
    job that lacks nodes beyond free ones and its own reservation, if at least one strategy would free enough of them.

    Parameters
    ----------
    jobs
        Job table; no stochastic jobs.
    nodes
        Size of the machine.
    notice
        Notice strategy.
    answers
        Names of two or more arrival strategies.
    events
        Whether the event log is kept.
    checked
        Whether the jobs have already been validated.
    **options
        Fields of :class:`holdfast.simulator.options.Options`.

    Attributes
    ----------
    strategies
        The strategies to choose from.

    Raises
    ------
    InputError
        If the table, the machine, a strategy or an option is not legal.

    Examples
    --------
    >>> from holdfast.workloads.table.job import Job, JobType
    >>> rigid = Job(1, JobType.RIGID, submit=0, nodes=4, runtime=3600, walltime=7200)
    >>> urgent = Job(2, JobType.ON_DEMAND, submit=600, nodes=2, runtime=600, walltime=600)
    >>> simulation = SteppedArrivals([rigid, urgent], nodes=4, answers=("PAA", "WAIT"))
    >>> while simulation.asks:
    ...     print("job", simulation.request.job_id, "lacks", simulation.lacking, "nodes")
    ...     simulation.answer(1)
    job 2 lacks 2 nodes
    >>> simulation.result().jobs["start"].tolist()
    [0.0, 3600.0]
    """

    def __init__(
        self,
        jobs: Iterable[Job],
        nodes: int,
        *,
        notice: str = "CUA",
        answers: Sequence[str] = ("PAA", "SPAA"),
        events: bool = True,
        checked: bool = False,
        **options: object,
    ) -> None:
        settings, table = Options.of(**options), list(jobs) if checked else checked_table(jobs, nodes).rows()
        if isinstance(answers, str) or len(answers) < 2:
            raise ParameterError("answers", "the names of two or more arrival strategies", answers)
        _ = NOTICES[notice]
        if any(job.type is JobType.STOCHASTIC for job in table):
            raise InputError("jobs must not be stochastic where the strategy of each arrival is chosen")
        self.strategies = [ARRIVALS[name] for name in answers]
        self._answers = _Answers(self.strategies[0])
        asking = Asking(about=self._is_due)
        log, origin = EventLog(events), clock_origin(table)
        mechanism = _Answered(notice, "ANSWERED", self._answers)
        super().__init__(Setup(table, nodes, mechanism, settings, log, Decisions(False), origin, asking=asking), asking)
        self._launch()

    @property
    def request(self) -> Request:
        """The on-demand job that arrives.

        Raises
        ------
        InvariantError
            If no job arrives.
        """
        job = self._asking.job
        if job is None:
            raise InvariantError("the simulation is over: no job arrives")
        return job

    @property
    def lacking(self) -> int:
        """Number of nodes that the job lacks."""
        return self._missing_nodes(self._asking.job)

    @property
    def enough(self) -> list[bool]:
        """Whether each strategy would free enough nodes; with another one, the job waits at the front of the queue."""
        view, request, lacking = self.view, self.request, self.lacking
        return [strategy.room(view, request) >= lacking for strategy in self.strategies]

    def answer(self, place: int) -> None:
        """Choose the strategy for the arrival and continue to the next one.

        Raises
        ------
        ParameterError
            If there is no such strategy.
        InvariantError
            If no job arrives.
        """
        if not is_whole(place, 0) or place >= len(self.strategies):
            raise ParameterError("answer", f"from 0 to {len(self.strategies) - 1}", place)
        self._answers.choose(self.request.job_id, self.strategies[place])
        self._submit()

    def _is_due(self, job: JobState) -> bool:
        lacking = self._missing_nodes(job)
        if lacking <= 0:
            return False
        view, request = self.view, job
        return any(strategy.room(view, request) >= lacking for strategy in self.strategies)

    def _missing_nodes(self, job: JobState | None) -> int:
        service = self._engine.service
        if service is None or job is None or job.type is not JobType.ON_DEMAND:
            return 0
        return service.missing_nodes(job)
