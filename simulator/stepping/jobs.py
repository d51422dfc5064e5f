"""A simulation that stops whenever a job is to be selected from the queue, so that the caller schedules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from holdfast.policies.port import WaitingJob
from holdfast.simulator.clock.decision_request import Asking
from holdfast.simulator.clock.interactive import AskingScheduler
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

__all__ = ["SteppedSimulation"]


class SteppedSimulation(Stepped):
    """A replay of rigid jobs in which the caller chooses the job that goes first.

    It uses the engine of :func:`holdfast.simulator.simulation.simulate`, and stops whenever two or more jobs wait and
    one of them fits. The chosen job starts if it fits, and the next one is chosen in the same instant. Otherwise it is
    the first of the queue until the next choice, and the backfilling rule starts jobs that do not delay it.

    Parameters
    ----------
    jobs
        Rigid jobs.
    nodes
        Size of the machine.
    events
        Whether the event log is kept.
    checked
        Whether the jobs have already been validated.
    **options
        Fields of :class:`holdfast.simulator.options.Options`; ``backfilling`` is ``easy`` or ``none``.

    Raises
    ------
    InputError
        If the table, the machine or an option is not legal.

    Examples
    --------
    >>> from holdfast.workloads.table.job import Job, JobType
    >>> jobs = [Job(i, JobType.RIGID, submit=0, nodes=2, runtime=60.0 * i, walltime=3600) for i in (1, 2, 3)]
    >>> simulation = SteppedSimulation(jobs, nodes=2)
    >>> while simulation.asks:
    ...     simulation.choose(len(simulation.queue) - 1)  # last come, first served
    >>> simulation.result().jobs["start"].tolist()
    [300.0, 180.0, 0.0]
    """

    def __init__(
        self, jobs: Iterable[Job], nodes: int, *, events: bool = True, checked: bool = False, **options: object
    ) -> None:
        settings, table = Options.of(**options), list(jobs) if checked else checked_table(jobs, nodes).rows()
        if settings.backfilling not in ("easy", "none"):
            raise ParameterError("backfilling", "easy or none if jobs are chosen one by one", settings.backfilling)
        if any(job.type is not JobType.RIGID for job in table):
            raise InputError("jobs must be rigid to be chosen one by one: prepare the trace with as_rigid")
        asking = Asking(order=True)
        origin = clock_origin(table)
        super().__init__(
            Setup(table, nodes, None, settings, EventLog(events), Decisions(False), origin, asking=asking), asking
        )
        self._system = self._engine.system
        # The jobs last returned by rows() without those chosen since, and their rows.
        self._known: list[JobState] = []
        self._rows = np.empty(0, np.intp)
        self._launch()

    @property
    def queue(self) -> Sequence[WaitingJob]:
        """The waiting jobs, in the order of the options."""
        return self._system.queue

    @property
    def waiting(self) -> int:
        """Number of waiting jobs."""
        return self._system.waiting.jobs

    def rows(self, most: int) -> npt.NDArray[np.intp]:
        """Rows in the table of the first waiting jobs, at most ``most``; valid until the next choice."""
        jobs: list[Any] = self._system.queue[:most]  # type: ignore[assignment]  # pieces of queues are lists
        known, count = self._known, len(self._known)
        if len(self._rows) < most:
            self._rows = np.empty(most, np.intp)
            count = 0
        # Usually only the chosen job has left, and others have joined at the end.
        elif jobs[:count] != known:
            count = 0
        if count < len(jobs):
            self._rows[count : len(jobs)] = [job.row for job in jobs[count:]]
        self._known = jobs
        return self._rows[: len(jobs)]

    def choose(self, place: int) -> None:
        """Let the job at a place of the queue go first, and continue to the next choice.

        Raises
        ------
        ParameterError
            If there is no such place.
        InvariantError
            If no choice is pending.
        """
        scheduler, waiting = self._engine.scheduler, self._system.waiting.jobs
        if not self.asks or not isinstance(scheduler, AskingScheduler):
            raise InvariantError("the simulation is over: no choice is pending")
        if not is_whole(place, 0) or place >= waiting:
            raise ParameterError("place", f"from 0 to {waiting - 1}", place)
        scheduler.answer(int(place))
        known, rows = self._known, self._rows
        if place < len(known) and not known[place].waiting:
            del known[place]
            rows[place : len(known)] = rows[place + 1 : len(known) + 1]
        self.asks = self._asking.pending or self._engine.advance()
