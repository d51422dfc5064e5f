"""Stepping: a simulation that stops wherever the next job is to be chosen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from time import perf_counter

from policies.port import SystemView, WaitingJob
from simulator.clock.asking import AskingScheduler
from simulator.clock.engine import Engine
from simulator.clock.setup import Setup
from simulator.machine.decisions import Decisions
from simulator.machine.eventlog import EventLog
from simulator.options import Options
from simulator.results.recording import origin_of
from simulator.results.result import Result
from simulator.simulation import checked_table, result_of
from workloads.ground.errors import InputError, InvariantError, ParameterError
from workloads.ground.numbers import is_whole
from workloads.table.job import Job, JobType

__all__ = ["SteppedSimulation"]


class SteppedSimulation:
    """A replay of rigid jobs in which the caller chooses the job that goes first.

    It is the engine of :func:`simulator.simulation.simulate`, and stops wherever two or more jobs wait and one of them
    fits. The chosen job starts if it fits, and the next one is chosen in the same instant; else it is the first of the
    queue until the next choice, and the backfilling rule starts what does not delay it.

    Parameters
    ----------
    jobs
        Rigid jobs.
    nodes
        Size of the machine.
    **options
        Fields of :class:`simulator.options.Options`; ``backfilling`` is ``easy`` or ``none``.

    Raises
    ------
    InputError
        If the table, the machine or an option is not legal.

    Examples
    --------
    >>> from workloads.table.job import Job, JobType
    >>> jobs = [Job(i, JobType.RIGID, submit=0, nodes=2, runtime=60.0 * i, walltime=3600) for i in (1, 2, 3)]
    >>> simulation = SteppedSimulation(jobs, nodes=2)
    >>> while simulation.asks:
    ...     simulation.choose(len(simulation.queue) - 1)  # last come, first served
    >>> simulation.result().jobs["start"].tolist()
    [300.0, 180.0, 0.0]
    """

    def __init__(self, jobs: Iterable[Job], nodes: int, **options: object) -> None:
        settings, table = Options.of(**options), checked_table(jobs, nodes)
        if settings.backfilling not in ("easy", "none"):
            raise ParameterError("backfilling", "easy or none, where jobs are chosen one by one", settings.backfilling)
        if any(job.type is not JobType.RIGID for job in table):
            raise InputError("jobs that are chosen one by one must be rigid: prepare the trace with as_rigid")
        self._began = perf_counter()
        self._setup = Setup(
            table, nodes, None, settings, EventLog(True), Decisions(False), origin_of(table), asking=True
        )
        self._engine = Engine(self._setup)
        self._result: Result | None = None
        self._engine.launch()
        #: Whether a job is to be chosen; else the simulation has come to its end.
        self.asks = self._engine.advance()

    @property
    def queue(self) -> Sequence[WaitingJob]:
        """The waiting jobs, in the order of the options."""
        return self._engine.system.queue

    @property
    def view(self) -> SystemView:
        """The machine as a policy sees it."""
        return self._engine.system

    def choose(self, place: int) -> None:
        """Let the job at this place of the queue go first, and go on to the next choice.

        Raises
        ------
        ParameterError
            If there is no such place.
        InvariantError
            If nothing is to be chosen.
        """
        scheduler = self._engine.scheduler
        if not self.asks or not isinstance(scheduler, AskingScheduler):
            raise InvariantError("the simulation is over: no job is to be chosen")
        if not is_whole(place, 0) or place >= self._engine.system.waiting.jobs:
            raise ParameterError("place", f"from 0 to {self._engine.system.waiting.jobs - 1}", place)
        scheduler.answer(int(place))
        self.asks = scheduler.asking or self._engine.advance()

    def result(self) -> Result:
        """The result, once nothing is to be chosen any more.

        Raises
        ------
        InvariantError
            If a job is still to be chosen.
        """
        if self.asks:
            raise InvariantError("the simulation is not over: a job is to be chosen")
        if self._result is None:
            self._result = result_of(self._setup, self._engine, perf_counter() - self._began)
        return self._result
