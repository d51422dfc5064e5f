"""Execution of many experiments, each in its own process, skipping those that have been measured.

The parent process measures nothing. If an experiment fails or its process dies, the others continue.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from holdfast.experiments.output.signals import start_trackers, without_interruption
from holdfast.experiments.study.experiment import (
    Experiment,
    Resources,
    Row,
    all_experiments,
    is_measured,
    make_record,
    measure_experiment,
    present_experiment,
    read_tables,
)
from holdfast.experiments.study.parameters import with_data
from holdfast.experiments.study.publications import PUBLICATIONS, paper_key
from holdfast.experiments.study.report_pictures import Picture, render_picture
from holdfast.experiments.study.verdicts import Verdict
from holdfast.workloads.ground.errors import MissingPackageError, TraceError, error_sentence
from holdfast.workloads.ground.trust import Trusting

__all__ = ["Done", "Reproduction", "reproduce"]

#: Function that returns the experiments. Workers call it again, because experiments hold functions that cannot be
#: pickled.
Catalogue = Callable[[], Mapping[str, Experiment]]

#: Slow imports that nearly every experiment needs.
_HEAVY = ("matplotlib.backends.backend_agg", "matplotlib.backends.backend_pdf", "matplotlib.backends.backend_svg",
          "numba", "scipy.stats")  # fmt: skip


@dataclass(frozen=True)
class Reproduction:
    """Settings of a reproduction.

    Attributes
    ----------
    directory
        Directory of the tables, figures and verdicts.
    version
        Version of Holdfast.
    quick
        Whether to use the small sizes.
    seed
        Seed of every random choice.
    data
        Directory of public data; None: generated data are used.
    fresh
        Whether to measure existing experiments again.
    workers
        Number of processes; results do not depend on it.
    catalogue
        Function that returns the experiments.
    recorded
        Parameters, with existing data files, and seed of each experiment of an artefact, by id.
    """

    directory: Path
    version: str
    quick: bool = False
    seed: int = 0
    data: Path | None = None
    fresh: bool = False
    workers: int = 1
    catalogue: Catalogue = all_experiments
    recorded: Mapping[str, tuple[Any, int]] = field(default_factory=dict)

    def find_seed(self, experiment: Experiment) -> int:
        """Seed of an experiment in this reproduction."""
        return self.recorded[experiment.id][1] if experiment.id in self.recorded else self.seed

    def parameters(self, experiment: Experiment) -> Any:
        """Parameters of an experiment in this reproduction."""
        if experiment.id in self.recorded:
            return self.recorded[experiment.id][0]
        chosen = experiment.quick if self.quick else experiment.parameters
        return chosen if self.data is None else with_data(chosen, self.data)


@dataclass(frozen=True)
class Done:
    """An experiment that has been reproduced, was not run, or has failed.

    Attributes
    ----------
    id
        Id of the experiment.
    record
        Inputs of its tables (:func:`holdfast.experiments.study.experiment.make_record`); empty if unknown.
    verdicts, picture, table
        Results from its tables; ``table`` is the main table if there is no picture.
    seconds
        Duration of the measurement [s]; None: the tables already existed.
    workers
        Number of available processes.
    note
        Changed files that were made again; empty: none.
    missing
        Missing optional package, with the command that installs it; empty: none.
    error, details
        One-sentence reason of a failure, and the traceback; empty: no failure.
    """

    id: str
    record: Mapping[str, Any]
    verdicts: Sequence[Verdict] = ()
    picture: Picture | None = None
    table: Sequence[Row] = ()
    seconds: float | None = None
    workers: int = 1
    note: str = ""
    missing: str = ""
    error: str = ""
    details: str = ""


def reproduce(names: Sequence[str], how: Reproduction) -> Iterator[Done]:
    """Reproduce the named experiments, yielding each as soon as it is done.

    Those of papers come before our own. Of both, experiments that use several processes run first, one at a time with
    all workers; the others follow, with one worker each.
    """
    known = how.catalogue()
    for printed in (True, False):
        own = [name for name in names if PUBLICATIONS[paper_key(name)].printed is printed]
        sharing = [name for name in own if known[name].stores]
        yield from _run_experiments(sharing, replace(how, workers=1), how.workers)
        yield from _run_experiments([name for name in own if name not in sharing], how, 1)


def _run_experiments(names: Sequence[str], how: Reproduction, processes: int) -> Iterator[Done]:
    waiting = list(reversed(names))
    running: dict[Connection, tuple[str, Any]] = {}
    context = _context()
    try:
        while waiting or running:
            while waiting and len(running) < how.workers:
                name = waiting.pop()
                ours, theirs = context.Pipe(duplex=False)
                arguments = (theirs, name, how, processes)
                process = context.Process(target=Trusting(_work), args=arguments, name=f"holdfast {name}")
                with without_interruption():
                    process.start()
                theirs.close()
                running[ours] = name, process
            for connection in wait(list(running)):
                assert isinstance(connection, Connection)
                name, process = running.pop(connection)
                try:
                    done: Done = connection.recv()
                except EOFError:
                    process.join()
                    done = Done(name, {}, error=f"its process ended without a message, exit status {process.exitcode}")
                connection.close()
                process.join()
                yield done
    finally:
        for _, process in running.values():
            _kill(process.pid)
            process.join()


def _context() -> Any:
    """Start method of processes without shared state; imports are preloaded if the system supports it."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    start_trackers(resource_tracker.ensure_running)
    context = multiprocessing.get_context("forkserver")
    ours = [name for name in sys.modules if name.startswith("holdfast.experiments.")]
    context.set_forkserver_preload([*ours, *_HEAVY])
    return context


def _work(connection: Connection, name: str, how: Reproduction, processes: int) -> None:
    """Main function of a worker process."""
    if hasattr(os, "setpgrp"):
        # An experiment may start processes, which must end together with it.
        os.setpgrp()
    threading.Thread(target=_follow, daemon=True).start()
    connection.send(_reproduce(name, how, processes))
    connection.close()
    if "loky" in sys.modules:
        from loky import get_reusable_executor

        # A multiprocessing process waits for its children, and loky's workers idle for five minutes.
        get_reusable_executor(reuse=True).shutdown(wait=True)


def _follow() -> None:
    """End this process when its parent ends for any reason."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        _kill(os.getpid())


def _kill(process: int) -> None:
    with suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process, signal.SIGKILL)
        else:
            os.kill(process, signal.SIGTERM)


def _reproduce(name: str, how: Reproduction, processes: int) -> Done:
    record: dict[str, Any] = {}
    seconds = None
    pictures: list[Picture] = []
    notes: list[str] = []
    try:
        experiment = how.catalogue()[name]
        parameters = how.parameters(experiment)
        record = make_record(experiment, parameters, how.find_seed(experiment), how.version)
        if how.fresh or not _stands(record, how.directory, notes):
            began = time.perf_counter()
            resources = Resources(how.directory / "runs", processes)
            measure_experiment(experiment, parameters, how.find_seed(experiment), how.directory, how.version, resources)
            seconds = time.perf_counter() - began
        verdicts = present_experiment(
            experiment,
            how.directory,
            also=lambda figure: pictures.append(render_picture(figure)),
            say=notes.append,
        )
    except MissingPackageError as error:
        return Done(name, record, missing=str(error), workers=processes)
    except Exception as error:
        return Done(
            name,
            record,
            error=error_sentence(error),
            details=traceback.format_exc(),
            seconds=seconds,
            workers=processes,
        )
    note = "; ".join(notes)
    if pictures:
        return Done(name, record, verdicts, pictures[0], seconds=seconds, workers=processes, note=note)
    table = read_tables(name, how.directory).get("", ())
    return Done(name, record, verdicts, table=table, seconds=seconds, workers=processes, note=note)


def _stands(record: Mapping[str, Any], directory: Path, notes: list[str]) -> bool:
    """Whether the experiment has been measured and its files are unchanged; otherwise it is measured again."""
    try:
        return is_measured(record, directory)
    except TraceError as error:
        notes.append(error.fault)
        return False
