"""Execution of tasks in processes of this machine or of a cluster, through joblib in both cases."""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from experiments.output.signals import start_trackers, without_interruption
from experiments.sweeps.clusters import CLUSTERS, Lost, dask_backend, dask_client
from workloads.ground.errors import HoldfastError, ParameterError, UnknownNameError
from workloads.ground.trust import Trusting

if TYPE_CHECKING:
    from experiments.sweeps.grid import RunConfiguration
    from experiments.sweeps.simulations import RunOutcome

__all__ = ["BACKENDS", "Pool", "Workforce", "available_workers", "carry_out", "spread"]

BACKENDS = ("loky", "dask")

#: Function applied to each run.
Task = Callable[["RunConfiguration"], "RunOutcome"]

#: Target duration of a batch of short runs [s], and its largest number of runs.
_BATCH_SECONDS, _MOST = 2.0, 64
#: Interval at which a worker checks that its parent is alive [s].
_LOOK_EVERY = 1.0


@dataclass(frozen=True, kw_only=True)
class Workforce:
    """Workers of a sweep.

    Attributes
    ----------
    workers
        Processes; None: one for each core of this machine, or all workers of the scheduler.
    backend
        ``loky``, processes on this machine; or ``dask``.
    scheduler
        Address of a Dask scheduler.
    cluster
        A cluster to start where no scheduler is given: a name of :data:`experiments.sweeps.clusters.CLUSTERS`.
    cluster_options
        Keyword arguments of its class.

    Raises
    ------
    InputError
        If they do not go together.
    """

    workers: int | None = None
    backend: str = "loky"
    scheduler: str | None = None
    cluster: str | None = None
    cluster_options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers < 1:
            raise ParameterError("workers", "a whole number of at least 1", self.workers)
        if self.backend not in BACKENDS:
            raise UnknownNameError("backend", self.backend, BACKENDS)
        if self.cluster is not None and self.cluster not in CLUSTERS:
            raise UnknownNameError("cluster", self.cluster, CLUSTERS)
        if self.backend != "dask":
            for name in ("scheduler", "cluster"):
                if getattr(self, name) is not None:
                    raise ParameterError(name, "left out unless the backend is dask", getattr(self, name))
        if self.scheduler is not None:
            for name in ("cluster", "workers"):
                if getattr(self, name) is not None:
                    raise ParameterError(
                        name, "left out where a scheduler is given, which has its own workers", getattr(self, name)
                    )
        if self.cluster_options and self.cluster is None:
            raise ParameterError("cluster_options", "left out where no cluster is named", dict(self.cluster_options))

    @contextmanager
    def assemble(self) -> Iterator[Pool]:
        """Context manager that starts the workers and stops them at the end."""
        here = self.workers or available_workers()
        if self.backend == "loky" and here == 1:
            yield Pool(None, 1, "", {})
            return
        if self.backend == "loky":
            from multiprocessing import resource_tracker

            from joblib.externals.loky.backend import resource_tracker as loky_tracker

            # Start both before the workers: a tracker started later would unblock signals.
            start_trackers(resource_tracker.ensure_running, loky_tracker.ensure_running)
            yield Pool("loky", here, "n_jobs", {"initializer": _follow, "initargs": (os.getpid(),)})
            return
        with dask_client(self.scheduler, self.cluster or "local", self.workers or here, self.cluster_options) as (
            client,
            count,
        ):
            yield Pool(dask_backend(client, count), count, "2 * n_jobs", {})


@dataclass(frozen=True)
class Pool:
    """Task runner: joblib with a backend, or the calling process.

    Attributes
    ----------
    backend
        Name of a backend, or one; None: the calling process is the only worker, and no other one is started.
    workers
        How many there are.
    ahead
        Number of tasks dispatched ahead, in joblib's notation.
    parameters
        Parameters of the backend.
    """

    backend: Any
    workers: int
    ahead: str
    parameters: Mapping[str, Any]

    def map(self, task: Callable[[Any], Any], items: Iterable[Any], *, ordered: bool = False) -> Iterator[Any]:
        """Results of the task for all items, in order of completion or of the items.

        The workers trust files as far as this process does (:func:`workloads.ground.trust.trust`).
        """
        if self.backend is None:
            yield from map(task, items)
            return
        from joblib import Parallel, delayed, parallel_config

        trusting = Trusting(task)
        backend = _loky_backend(**self.parameters) if self.backend == "loky" else self.backend
        with parallel_config(backend=backend, n_jobs=self.workers):
            how = "generator" if ordered else "generator_unordered"
            parallel = Parallel(return_as=how, batch_size=1, pre_dispatch=self.ahead)
        with warnings.catch_warnings():
            # joblib warns about unfinished tasks after an interruption, which the command reports itself.
            warnings.filterwarnings("ignore", r".*(still being processed by|but not used)", UserWarning, "joblib")
            # An item is one argument, small and not a container: Dask would scatter a large one to a single worker,
            # and lose it with that worker.
            with without_interruption():  # the first tasks start the workers
                answers = parallel(delayed(trusting)(item) for item in items)
            yield from answers


def _loky_backend(**parameters: Any) -> Any:
    """joblib's backend of local processes, with a workaround for a race at shutdown.

    Where an iteration ends early, loky (3.5) drops the tasks that no worker has, but not their numbers. Its thread
    then dies of a ``KeyError`` if it finds the number of a task that was handed out at that moment.
    """
    from queue import Empty

    from joblib._parallel_backends import LokyBackend

    class Backend(LokyBackend):  # type: ignore[misc]  # joblib has no types
        def abort_everything(self, ensure_ready: bool = True) -> None:
            executor = self._workers
            # A task is handed out under this lock, and none is once the flags are set.
            with executor._flags.shutdown_lock:
                try:
                    while True:
                        executor._work_ids.get(block=False)
                except Empty:
                    executor._flags.shutdown = executor._flags.kill_workers = True
            super().abort_everything(ensure_ready)

    return Backend(**parameters)


def available_workers() -> int:
    """Number of cores available to this process."""
    import joblib

    return int(joblib.cpu_count())


def spread(task: Callable[[Any], Any], items: Sequence[Any], workers: int | None) -> Iterator[Any]:
    """Results of the task for all items, in their order, computed in local processes.

    Parameters
    ----------
    task
        A function of a module.
    items
        Its arguments.
    workers
        Processes; 1: the calling one; None: one for each core.

    Raises
    ------
    HoldfastError
        If a worker died.
    """
    with Workforce(workers=workers).assemble() as pool:
        try:
            yield from pool.map(task, items, ordered=True)
        except BrokenProcessPool as error:
            raise HoldfastError("a worker died, possibly out of memory: use fewer workers") from error


def carry_out(
    task: Task, runs: Sequence[RunConfiguration], pool: Pool, after: Callable[[], None] = lambda: None
) -> Iterator[RunOutcome]:
    """Outcomes of the runs as they complete; ``after`` is called after each batch has been consumed.

    If a worker dies, all runs in flight are set aside, since any of them may have killed it. The others continue, and
    the runs set aside are then retried one by one; a run that kills its worker again has failed.
    """
    waiting = deque(runs)
    aside: list[RunConfiguration] = []
    pace = _Pace(pool)
    while waiting:
        away: dict[str, RunConfiguration] = {}
        try:
            each = _in_turn if pool.backend is None else _each
            for answer in pool.map(partial(each, task), _next_batches(waiting, away, pace)):
                if isinstance(answer, Lost):
                    aside += [away.pop(run.key) for run in answer.argument.runs]
                    continue
                for outcome in answer:
                    del away[outcome.key]
                    pace.took(outcome)
                    yield outcome
                after()
        except BrokenProcessPool:
            aside += away.values()
    for run in aside:
        yield _alone(task, run, pool)
        after()


@dataclass(frozen=True)
class _Batch:
    """Runs that one worker executes in sequence."""

    runs: tuple[RunConfiguration, ...]


def _each(task: Task, batch: _Batch) -> list[RunOutcome]:
    return [task(run) for run in batch.runs]


def _in_turn(task: Task, batch: _Batch) -> Iterator[RunOutcome]:
    """The same in the calling process, where an interruption loses only the current run."""
    return map(task, batch.runs)


class _Pace:
    """Adapts the batch size, because dispatching a batch takes as long as a very small run."""

    def __init__(self, pool: Pool) -> None:
        self._workers = pool.workers
        # A Dask scheduler distributes single runs, and moves them when workers join or leave.
        self._most = _MOST if pool.backend in ("loky", None) else 1
        self._runs, self._seconds = 0, 0.0

    def took(self, outcome: RunOutcome) -> None:
        """A run is done."""
        self._runs += 1
        self._seconds += outcome.timings.get("run_seconds") or 0.0

    def size(self, waiting: int) -> int:
        """Number of runs in the next batch, smaller towards the end so that all workers finish together."""
        if not self._seconds:
            return 1
        fitting = int(_BATCH_SECONDS * self._runs / self._seconds)
        return max(1, min(self._most, fitting, waiting // (2 * self._workers)))


def _next_batches(waiting: deque[RunConfiguration], away: dict[str, RunConfiguration], pace: _Pace) -> Iterator[_Batch]:
    while waiting:
        runs = [waiting.popleft() for _ in range(min(pace.size(len(waiting)), len(waiting)))]
        # Runs of one job table go to one worker, which builds it once, unless they exceed a batch.
        last = _table(runs[-1])
        if waiting and _table(waiting[0]) == last != _table(runs[0]):
            while _table(runs[-1]) == last:
                waiting.appendleft(runs.pop())
        away |= {run.key: run for run in runs}
        yield _Batch(tuple(runs))


def _table(run: RunConfiguration) -> tuple[Any, ...]:
    """Key of the job table of a run."""
    return run.workload, run.assignment, run.assignment_seed


def _alone(task: Task, run: RunConfiguration, pool: Pool) -> RunOutcome:
    """Outcome of a run executed alone, so that no other run can have killed its worker."""
    try:
        (answer,) = pool.map(partial(_each, task), [_Batch((run,))])
    except BrokenProcessPool as error:
        answer = Lost(run, str(error))
    if isinstance(answer, Lost):
        from experiments.sweeps.simulations import RunOutcome

        reason = " ".join(answer.reason.split())
        return RunOutcome(run.key, {}, {}, f"its worker died, possibly out of memory: {reason}")
    (outcome,) = answer
    return cast("RunOutcome", outcome)


def _follow(parent: int) -> None:
    """Make this worker end when the process that started it ends.

    A process that is killed cannot stop its workers: they would finish their tasks and then idle for five minutes,
    keeping their memory.
    """

    def look() -> None:
        while os.getppid() == parent:
            time.sleep(_LOOK_EVERY)
        os._exit(1)

    # A terminal signals the whole process group; the parent handles the interruption and reports it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=look, daemon=True).start()
