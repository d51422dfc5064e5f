"""One task in a process of its own, while the calling process goes on."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any, Protocol

from holdfast.experiments.output.signals import start_trackers, without_interruption
from holdfast.experiments.sweeps.execution import LocalWorkers
from holdfast.workloads.ground.trust import Trusting

__all__ = ["Background", "BackgroundProcess"]


class Background(Protocol):
    """Runs tasks beside the caller."""

    def submit(self, task: Callable[[Any], Any], item: Any) -> Future[Any]:
        """Start the task for an item."""

    def stop(self, future: Future[Any]) -> None:
        """Stop a task that has not completed."""


class BackgroundProcess:
    """A process on this machine, started at the first task; it ends with this one."""

    def __init__(self) -> None:
        self._workers = LocalWorkers(1)
        self._executor: Executor | None = None

    def submit(self, task: Callable[[Any], Any], item: Any) -> Future[Any]:
        """Start the task, a function of a module, for an item."""
        from multiprocessing import resource_tracker

        from loky.backend import resource_tracker as loky_tracker

        start_trackers(resource_tracker.ensure_running, loky_tracker.ensure_running)
        with without_interruption():
            self._executor = self._workers.executor()
            return self._executor.submit(Trusting(task), item)

    def stop(self, future: Future[Any]) -> None:
        """Kill the process, and those that it has started."""
        if self._executor is not None:
            self._workers.stop(self._executor, [future])
