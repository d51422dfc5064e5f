"""Incremental reader of a log that yields states and histories at successive times without reading the log again."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from holdfast.experiments.forecast.batches import batch_numbers
from holdfast.experiments.forecast.completed_runs import Runs
from holdfast.experiments.forecast.history import History
from holdfast.experiments.forecast.machine_state import MachineState
from holdfast.experiments.forecast.node_name_history import NodeNameHistory
from holdfast.experiments.forecast.prior_usage import past_usage
from holdfast.experiments.forecast.run_columns import RunColumns
from holdfast.experiments.forecast.seen_job import SeenJob
from holdfast.experiments.forecast.submissions import Submissions
from holdfast.simulator.machine.prior_state import PastUsage, PriorState
from holdfast.workloads.logs.cancellations import keep_cancelled_jobs
from holdfast.workloads.logs.trace import Trace

__all__ = ["Past"]

Floats = npt.NDArray[np.float64]


class Past:
    """Cursor over a log that gives states and histories at successive times.

    It gives the same results as :func:`holdfast.experiments.forecast.machine_state.state_at` and
    :func:`holdfast.experiments.forecast.history.read_history`.

    Parameters
    ----------
    trace
        A log with recorded waits.
    nodes
        Size of the machine.
    fit, least
        As of :class:`holdfast.experiments.forecast.history.History`.

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
        jobs = keep_cancelled_jobs(trace).jobs
        self._file_places = np.argsort(jobs.column("submit"), kind="stable")
        self._jobs = jobs.select(self._file_places)
        ids = self._jobs.column("job_id")
        self._ids = ids if len(np.unique(ids)) == len(ids) else self._file_places + 1
        self.nodes = nodes
        self.source = trace.source or "the state"
        self._fit, self._least = fit, least
        self.submits: Floats = self._jobs.column("submit")
        cancelled = self._jobs.column("cancelled_at")
        self.withdrawn: Floats = np.where(np.isnan(cancelled), np.inf, cancelled)
        self.queued: Floats = self._jobs.queued
        self.starts: Floats = self._jobs.starts
        self.ends: Floats = self.starts + self._jobs.column("runtime")
        self.requests: Floats = np.column_stack((self._jobs.column("nodes"), self._jobs.column("walltime")))

    def __len__(self) -> int:
        return len(self.submits)

    @cached_property
    def _submissions(self) -> Submissions:
        """Jobs of histories, in the order in which they entered the queue."""
        return Submissions(self._jobs.select(self._order), self._file_places[self._order] + 1)

    @cached_property
    def batches(self) -> npt.NDArray[np.int64]:
        """Number of the batch of each job, shape (jobs,)."""
        return batch_numbers(self._jobs)

    @cached_property
    def _order(self) -> npt.NDArray[np.int64]:
        order: npt.NDArray[np.int64] = np.lexsort((self._file_places, self.queued))
        return order

    @cached_property
    def _runs(self) -> Runs:
        ended = np.flatnonzero(np.isfinite(self.ends))
        return Runs.from_columns(RunColumns(self._jobs.select(ended[np.argsort(self.ends[ended], kind="stable")])))

    @cached_property
    def _usage(self) -> PastUsage:
        return past_usage(self._jobs)

    @cached_property
    def _names(self) -> NodeNameHistory:
        return NodeNameHistory(self._jobs, self.nodes)

    def job(self, place: int) -> SeenJob:
        """The job at an index in the order of submits."""
        return self._seen_jobs(np.array([place]))[0]

    def job_ids(self, places: npt.NDArray[np.int64]) -> list[int]:
        """Ids of the jobs at some indices."""
        found: list[int] = self._ids[places].tolist()
        return found

    def texts(self, name: str, places: npt.NDArray[np.int64]) -> list[str]:
        """Texts of a column of the log, such as ``user``, of the jobs at some indices."""
        return self._jobs.select(places).texts(name)

    def _seen_jobs(self, places: npt.NDArray[np.int64], runs: npt.NDArray[np.bool_] | None = None) -> list[SeenJob]:
        """Jobs as a state shows them; only the running ones have a start."""
        jobs = self._jobs.select(places).rows()
        started = [False] * len(jobs) if runs is None else runs[places].tolist()
        return [
            SeenJob(
                job_id, job.submit, job.nodes, job.walltime, job.user, job.project, job.start if has_start else None,
                job.eligible,
            )
            for job_id, job, has_start in zip(self.job_ids(places), jobs, started, strict=True)
        ]  # fmt: skip

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
        jobs = self._seen_jobs(np.flatnonzero(runs | queued), runs)
        running = np.flatnonzero(runs)
        named = zip(self.job_ids(running), self._names.bits(running, at), strict=True)
        prior = PriorState(self._usage.until(at), {job_id: bits for job_id, bits in named if bits})
        return MachineState.fit(at, self.nodes, jobs, (), float(self.submits[0]), self.source, prior)

    def history(self, at: float) -> History:
        """The history at a time.

        Raises
        ------
        InputError
            If no run had ended.
        """
        count = int(np.searchsorted(self.queued[self._order], at, side="right"))
        left = self.withdrawn[self._order[:count]] > at
        known = self._submissions.select(slice(count) if left.all() else np.flatnonzero(left))
        return History(self._runs.until(at), known, self._fit, self._least)
