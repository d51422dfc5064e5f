"""Execution of tasks in processes of this machine (loky) or of a cluster (Dask), by concurrent.futures."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol, cast

from holdfast.experiments.output.signals import start_trackers, without_interruption
from holdfast.experiments.sweeps.dask_cluster import CLUSTERS, DaskWorkers, Lost, dask_client
from holdfast.workloads.ground.errors import HoldfastError, ParameterError, UnknownNameError
from holdfast.workloads.ground.library_threads import thread_limits
from holdfast.workloads.ground.trust import Trusting

if TYPE_CHECKING:
    from holdfast.experiments.sweeps.grid import RunConfiguration
    from holdfast.experiments.sweeps.simulations import RunOutcome

__all__ = ["BACKENDS", "LocalWorkers", "Pool", "Workforce", "available_workers", "carry_out", "spread"]

BACKENDS = ("loky", "dask")

#: Function that gives the outcome of each of the runs, in their order.
Task = Callable[[Iterable["RunConfiguration"]], Iterator["RunOutcome"]]

#: Target duration of a batch of short runs [s], and its largest number of runs.
_BATCH_SECONDS, _MOST = 2.0, 64
#: Time after which idle processes end [s].
_IDLE_SECONDS = 300
#: Least number of workers that a cluster's tasks are counted for: some workers join later, and an adaptive cluster
#: grows only while tasks wait.
_UNDER_WAY = 8
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
        A cluster to start where no scheduler is given: a name of
        :data:`holdfast.experiments.sweeps.dask_cluster.CLUSTERS`.
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
            yield Pool(None, 1)
            return
        if self.backend == "loky":
            from multiprocessing import resource_tracker

            from loky.backend import resource_tracker as loky_tracker

            # Start both before the workers: a tracker started later would unblock signals.
            start_trackers(resource_tracker.ensure_running, loky_tracker.ensure_running)
            yield Pool("loky", here, here + 1, LocalWorkers(here))
            return
        with dask_client(self.scheduler, self.cluster or "local", self.workers or here, self.cluster_options) as (
            client,
            count,
        ):
            yield Pool("dask", count, 2 * max(_UNDER_WAY, count), DaskWorkers(client))


class Workers(Protocol):
    """Processes that execute tasks."""

    def executor(self) -> Executor:
        """Executor of :mod:`concurrent.futures`."""

    def answer(self, future: Future[Any], item: Any) -> Any:
        """Result of the completed task for an item."""

    def stop(self, executor: Executor, futures: Collection[Future[Any]]) -> None:
        """Stop the tasks that have not completed, and the processes that execute them."""


@dataclass(frozen=True)
class Pool:
    """Task runner: some workers, or the calling process.

    Attributes
    ----------
    backend
        Their kind, a name of :data:`BACKENDS`; None: the calling process is the only worker.
    count
        Number of workers.
    ahead
        Number of tasks under way.
    workers
        The workers, unless the backend is None.
    """

    backend: str | None
    count: int
    ahead: int = 1
    workers: Workers | None = None

    def map(self, task: Callable[[Any], Any], items: Iterable[Any], *, ordered: bool = False) -> Iterator[Any]:
        """Results of the task for all items, in order of completion or of the items.

        The workers trust files as far as this process does (:func:`holdfast.workloads.ground.trust.trust`).
        """
        if self.workers is None:
            yield from map(task, items)
            return
        trusting, source = Trusting(task), iter(items)
        executor = self.workers.executor()
        under_way: dict[Future[Any], Any] = {}

        def submit(count: int) -> None:
            for item in islice(source, count):
                under_way[executor.submit(trusting, item)] = item

        try:
            with without_interruption():  # the first tasks start the workers
                submit(self.ahead)
            while under_way:
                done = [next(iter(under_way))] if ordered else wait(under_way, return_when=FIRST_COMPLETED).done
                for future in done:
                    wait([future])
                    item = under_way.pop(future)
                    submit(1)
                    yield self.workers.answer(future, item)
        finally:
            if under_way:
                self.workers.stop(executor, under_way)


@dataclass(frozen=True)
class LocalWorkers:
    """Processes on this machine; they stay for a while, for the next tasks.

    Attributes
    ----------
    count
        Number of processes.
    """

    count: int

    def executor(self) -> Executor:
        """loky's executor, which starts processes again after one has died."""
        from loky import get_reusable_executor

        executor: Executor = get_reusable_executor(
            max_workers=self.count,
            timeout=_IDLE_SECONDS,
            initializer=_follow,
            initargs=(os.getpid(),),
            env=thread_limits(),
        )
        return executor

    def answer(self, future: Future[Any], item: Any) -> Any:
        """Result of the task.

        Raises
        ------
        concurrent.futures.process.BrokenProcessPool
            If a worker died.
        """
        return future.result()

    def stop(self, executor: Executor, futures: Collection[Future[Any]]) -> None:
        """Kill the processes."""
        # A task that no process has yet is dropped together with its number: loky's thread fails if it finds the
        # number of a task that is gone.
        wait([future for future in futures if future.cancel()])
        executor.shutdown(kill_workers=True)  # type: ignore[call-arg]  # a parameter of loky's


def available_workers() -> int:
    """Number of cores available to this process."""
    from loky import cpu_count

    return int(cpu_count())


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
    return list(task(batch.runs))


def _in_turn(task: Task, batch: _Batch) -> Iterator[RunOutcome]:
    """The same in the calling process, where an interruption loses only the current runs."""
    return task(batch.runs)


class _Pace:
    """Adapts the batch size, because dispatching a batch takes as long as a very small run."""

    def __init__(self, pool: Pool) -> None:
        self._workers = pool.count
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
        from holdfast.experiments.sweeps.simulations import RunOutcome

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
