"""Connection to a Dask scheduler, existing or started here, and the workers behind it."""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import CancelledError, Executor, Future
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from holdfast.experiments.output.signals import without_interruption
from holdfast.experiments.terminal import note, warn
from holdfast.workloads.ground.documents import read_toml
from holdfast.workloads.ground.errors import (
    InputError,
    MissingPackageError,
    ParameterError,
    TraceError,
    UnknownNameError,
    installation,
)
from holdfast.workloads.ground.trust import is_trusted

__all__ = ["CLUSTERS", "DaskWorkers", "Lost", "cluster_options", "dask_client"]

#: Clusters that can be started, by name: module and class.
CLUSTERS = {
    "local": ("distributed", "LocalCluster"),
    "slurm": ("dask_jobqueue", "SLURMCluster"),
    "pbs": ("dask_jobqueue", "PBSCluster"),
    "lsf": ("dask_jobqueue", "LSFCluster"),
    "sge": ("dask_jobqueue", "SGECluster"),
    "oar": ("dask_jobqueue", "OARCluster"),
    "moab": ("dask_jobqueue", "MoabCluster"),
    "htcondor": ("dask_jobqueue", "HTCondorCluster"),
}

#: Interval between counts of the workers, and time without any until a warning [s].
LOOK_EVERY, PATIENCE = 5.0, 60.0

#: Arguments that become comments of a job's script, and what may stand there; the others become words of a command.
_DIRECTIVES = ("job_directives_skip", "job_extra_directives")
_WORD, _DIRECTIVE = re.compile(r"[\w./:,=@%+~-]*"), re.compile(r"[\w./:,=@%+~ -]*")
#: Arguments of a cluster's class that name no code, each with the keys of the table that it may be.
_PLAIN: dict[str, frozenset[str]] = {
    **dict.fromkeys(
        ("cores", "memory", "processes", "queue", "project", "account", "walltime", "ncpus", "mem", "resource_spec"),
        frozenset(),
    ),
    **dict.fromkeys(("job_cpu", "job_mem", *_DIRECTIVES, "name"), frozenset()),
    **dict.fromkeys(("n_workers", "threads_per_worker", "memory_limit", "nanny", "death_timeout"), frozenset()),
    **dict.fromkeys(("interface", "host", "protocol", "security", "dashboard_address", "silence_logs"), frozenset()),
    **dict.fromkeys(("local_directory", "log_directory", "shared_temp_directory", "scheduler_port"), frozenset()),
    "scheduler_options": frozenset({"dashboard_address", "host", "interface", "port", "protocol", "contact_address"}),
}

_OPEN = (
    "the scheduler listens on all interfaces of this machine, and everyone that reaches its port can run code as you: "
    "name the one that workers use (interface = 'ib0' in --cluster-options), or ask for certificates (security = true)"
)
_MISSING = f"a Dask cluster needs packages that are not installed; install them with {installation('cluster')}"


@dataclass(frozen=True)
class Lost:
    """Result of a task that no worker survived.

    Attributes
    ----------
    argument
        Argument of the task.
    reason
        What the scheduler says.
    """

    argument: Any
    reason: str


def cluster_options(path: str | Path) -> dict[str, Any]:
    """Keyword arguments of a cluster's class from a TOML file.

    Raises
    ------
    InputError
        If the file cannot be read; or it holds an argument that can name code or a command, and is not trusted
        (:func:`holdfast.workloads.ground.trust.trust`).
    """
    options = read_toml(path)
    strange = next(_strange(options, _PLAIN), None)
    if strange is not None and not is_trusted():
        raise TraceError(
            path,
            None,
            f"{strange} can make the cluster run code that a file names; legal without trust are plain words for "
            f"{', '.join(sorted(_PLAIN))}",
            "look at the file, then add --trust",
        )
    return options


def _strange(options: Mapping[str, Any], plain: Mapping[str, frozenset[str]]) -> Iterator[str]:
    """The arguments of a cluster that may hold more than sizes, names and addresses."""
    for name, value in options.items():
        inner = plain.get(name)
        if inner is None:
            yield name
        elif isinstance(value, Mapping):
            yield from (f"{name}.{part}" for part in _strange(value, dict.fromkeys(inner, frozenset())))
        else:
            legal = _DIRECTIVE if name in _DIRECTIVES else _WORD
            if not all(legal.fullmatch(str(item)) for item in (value if isinstance(value, list) else [value])):
                yield name  # a shell would make something else of it


@contextmanager
def dask_client(
    scheduler: str | None, cluster: str, workers: int | None, options: Mapping[str, Any]
) -> Iterator[tuple[Any, int]]:
    """A client with at least one worker, and the expected number of workers.

    Parameters
    ----------
    scheduler
        Address of a running scheduler; None: a cluster is started.
    cluster
        Kind of cluster to start, a name of :data:`CLUSTERS`.
    workers
        Number of workers to start.
    options
        Keyword arguments of the cluster's class.

    Raises
    ------
    InputError
        If the scheduler does not answer, or the cluster cannot be started so.
    """
    try:
        from distributed import Client
    except ImportError:
        raise MissingPackageError(_MISSING) from None
    with ExitStack() as stack:
        if scheduler is not None:
            target: Any = scheduler
        else:
            with without_interruption():
                target = stack.enter_context(_start_cluster(cluster, workers or 1, options))
        # The client's event loop logs a traceback for each task that was cancelled while the sweep ended.
        log = logging.getLogger("tornado.application")
        log.addFilter(_is_failure)
        stack.callback(log.removeFilter, _is_failure)
        try:
            client: Any = Client(target, set_as_default=False)  # type: ignore[no-untyped-call]  # half typed
            stack.enter_context(client)
        except (OSError, ValueError) as error:
            raise InputError(f"the scheduler {scheduler} does not answer: {error}") from None
        stack.enter_context(_watch_workers(client))
        if not client.ncores():
            note("waiting for the first worker")
            client.wait_for_workers(1)
        yield client, workers or sum(client.ncores().values())


def _is_failure(record: logging.LogRecord) -> bool:
    """Whether a record reports more than the cancellation of a task."""
    return not (record.exc_info and isinstance(record.exc_info[1], CancelledError))


@contextmanager
def _watch_workers(client: Any) -> Iterator[None]:
    """Warn once for each period in which no worker has been present for a minute."""
    over = threading.Event()

    def watch() -> None:
        since: float | None = None
        announced = False
        while not over.wait(LOOK_EVERY):
            try:
                there = bool(client.ncores())
            except Exception:  # the scheduler is gone; the process that waits for a result gets an error
                return
            if there:
                since, announced = None, False
                continue
            since = time.monotonic() if since is None else since
            if not announced and time.monotonic() - since >= PATIENCE:
                announced = True
                warn(
                    "sweep",
                    f"the cluster has had no worker for {PATIENCE:.0f} s: the sweep waits for one. Finished runs "
                    "are stored: start workers, or stop this command and repeat it later",
                )

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()


def _start_cluster(name: str, workers: int, options: Mapping[str, Any]) -> Any:
    if name not in CLUSTERS:
        raise UnknownNameError("cluster", name, CLUSTERS)
    module, kind = CLUSTERS[name]
    # One simulation at a time in a process: threads would only share its interpreter.
    given: dict[str, Any] = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None, **options}
    if name != "local":
        scheduler = options.get("scheduler_options", {})
        if not isinstance(scheduler, Mapping):
            raise ParameterError("scheduler_options", "a table", scheduler)
        # By default the dashboard would accept connections from any host.
        given = {**options, "scheduler_options": {"dashboard_address": "127.0.0.1:0", **scheduler}}
        if not (options.get("interface") or options.get("security") or {"host", "interface"} & set(scheduler)):
            warn("sweep", _OPEN)
    try:
        cluster = getattr(import_module(module), kind)(**given)
    except ImportError:
        raise MissingPackageError(_MISSING) from None
    except (TypeError, ValueError) as error:
        raise InputError(f"the cluster {name} cannot be started with these options: {error}") from None
    if name != "local":
        cluster.scale(workers)
    return cluster


@dataclass(frozen=True)
class DaskWorkers:
    """The workers of a Dask cluster, of which some may join or leave later.

    Attributes
    ----------
    client
        Client of the cluster.
    """

    client: Any

    def executor(self) -> Executor:
        """Executor that gives each task to the scheduler."""
        executor: Executor = self.client.get_executor(pure=False)
        return executor

    def answer(self, future: Future[Any], item: Any) -> Any:
        """Result of the task; a :class:`Lost` where worker after worker died of it.

        Raises
        ------
        InputError
            If the connection to the scheduler was lost.
        """
        try:
            return future.result()
        except CancelledError:
            raise InputError(
                "the connection to the scheduler was lost; finished runs are stored, and the same command continues"
            ) from None
        except Exception as error:
            return Lost(item, str(error))

    def stop(self, executor: Executor, futures: Collection[Future[Any]]) -> None:
        """Cancel the tasks; the workers stay."""
        executor.shutdown(wait=False)
