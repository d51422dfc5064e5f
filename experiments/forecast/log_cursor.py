"""Incremental reader of a log that yields states and histories at successive times without reading the log again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from experiments.forecast.completed_runs import Runs
from experiments.forecast.history import History, past_run
from experiments.forecast.machine_state import MachineState
from experiments.forecast.prior_usage import node_names, past_usage
from experiments.forecast.seen_job import SeenJob
from simulator.machine.prior_state import PriorState
from workloads.logs.cancellations import keep_cancelled_jobs
from workloads.logs.node_names import NodeNumbers
from workloads.logs.trace import Trace

__all__ = ["Past"]

Floats = npt.NDArray[np.float64]


class Past:
    """Cursor over a log that gives states and histories at successive times.

    It gives the same results as :func:`experiments.forecast.machine_state.state_at` and
    :func:`experiments.forecast.history.read_history`.

    Parameters
    ----------
    trace
        A log with recorded waits.
    nodes
        Size of the machine.
    fit, least
        As of :class:`experiments.forecast.history.History`.

    Attributes
    ----------
    submits, queued, starts, ends
        Submit, eligible time, start and end of each job [s], ordered by submit; start and end of a job that never
        started are NaN, shape (jobs,).
    requests
        Nodes and walltime [s] of each job, shape (jobs, 2).
    withdrawn
        Cancellation time of each job [s]; infinite: not cancelled, shape (jobs,).
    """

    def __init__(self, trace: Trace, nodes: int, fit: str = "discrete", least: int = 10) -> None:
        jobs = keep_cancelled_jobs(trace).jobs.rows()
        places = sorted(range(len(jobs)), key=lambda place: (jobs[place].submit, place))
        unique = len({job.job_id for job in jobs}) == len(jobs)
        chosen = [jobs[place] for place in places]
        self.nodes = nodes
        self.source = trace.source or "the state"
        self._fit, self._least = fit, least
        self.submits = np.array([job.submit for job in chosen])
        self.withdrawn = np.array([np.inf if job.cancelled_at is None else job.cancelled_at for job in chosen])
        self.queued = np.array([job.queued for job in chosen])
        self.starts = np.array([np.nan if job.start is None else job.start for job in chosen])
        self.ends = self.starts + np.array([job.runtime for job in chosen])
        self.requests = np.array([(job.nodes, job.walltime) for job in chosen])
        #: Jobs of states and of histories, identified by their ids and indices in the log.
        self._seen = [
            SeenJob(
                job.job_id if unique else place + 1, job.submit, job.nodes, job.walltime, job.user, job.project,
                eligible=job.eligible,
            )
            for place, job in zip(places, chosen, strict=True)
        ]  # fmt: skip
        #: Jobs of histories are in the order in which they entered the queue.
        self._order = np.lexsort((np.array(places, np.int64), self.queued))
        self._submitted = [
            SeenJob(places[row] + 1, job.queued, job.nodes, job.walltime, job.user, job.project)
            for row in self._order.tolist()
            for job in (chosen[row],)
        ]
        self._numbers = NodeNumbers(node_names(chosen), nodes)
        self._node_lists = [job.node_list for job in chosen]
        self._usage = past_usage(jobs)
        self._runs = Runs()
        for number in np.argsort(self.ends, kind="stable").tolist():
            if np.isfinite(self.ends[number]):
                self._runs.add(past_run(chosen[number], float(self.ends[number])))

    def __len__(self) -> int:
        return len(self.submits)

    def job(self, place: int) -> SeenJob:
        """The job at an index in the order of submits."""
        return self._seen[place]

    def state(self, at: float, waits: int | None = None) -> MachineState:
        """The state at a time.

        Parameters
        ----------
        at
            The time [s].
        waits
            Index of a job submitted at that time, which counts as waiting even if the log starts it at once.
        """
        come = (self.queued <= at) & (self.withdrawn > at)
        runs = come & (self.starts <= at) & (self.ends > at)
        # A job without a start may have ended long ago, unless it was cancelled later.
        queued = come & ((self.starts > at) | (np.isnan(self.starts) & np.isfinite(self.withdrawn)))
        if waits is not None:
            runs[waits], queued[waits] = False, True
        there = np.flatnonzero(runs | queued).tolist()
        jobs = [self._running(place) if runs[place] else self._seen[place] for place in there]
        named = (
            (place, self._numbers.bits(self._node_lists[place], self._seen[place].nodes))
            for place in there
            if runs[place]
        )
        places = {self._seen[place].job_id: bits for place, bits in named if bits}
        prior = PriorState(self._usage.until(at), places)
        return MachineState.fit(at, self.nodes, jobs, (), float(self.submits[0]), self.source, prior)

    def _running(self, place: int) -> SeenJob:
        job = self._seen[place]
        start = float(self.starts[place])
        return replace(job, start=start)

    def history(self, at: float) -> History:
        """The history at a time.

        Raises
        ------
        InputError
            If no run had ended.
        """
        count = int(np.searchsorted(self.queued[self._order], at, side="right"))
        left = self.withdrawn[self._order[:count]] > at
        known: Sequence[SeenJob] = self._submitted[:count]
        if not left.all():
            known = [self._submitted[place] for place in np.flatnonzero(left).tolist()]
        return History(self._runs.until(at), known, self._fit, self._least)
