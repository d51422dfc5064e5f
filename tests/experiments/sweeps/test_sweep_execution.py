"""Sweeps in other processes: killed by force, on a Dask cluster, with workers that die."""

from __future__ import annotations

import csv
import gc
import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holdfast.experiments import cli
from holdfast.experiments.sweeps import dask_cluster, make_sweep, run_sweep
from holdfast.experiments.sweeps.execution import LocalWorkers, Pool, Workforce, carry_out
from holdfast.experiments.sweeps.grid import GeneratedYear, RunConfiguration, expand
from holdfast.experiments.sweeps.simulations import RunOutcome
from holdfast.workloads.ground.errors import InputError
from tests.experiments.sweeps.test_sweeps import contents
from tests.places import ROOT
from tests.support.processes import alive, children_of, until

SMALL: dict[str, Any] = {"workload": {"seeds": "0:4", "jobs": 400}, "mechanisms": "all"}
RUNS = 28
TOML = "[workload]\nseeds = '0:4'\njobs = 400\n"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sweep as one process makes it, undisturbed."""
    directory = tmp_path_factory.mktemp("whole")
    assert run_sweep(make_sweep(**SMALL), directory, workers=1).complete().computed == RUNS
    return directory


# Killed by force.


def start_sweep(directory: Path, *words: str, before: str = "") -> subprocess.Popen[str]:
    """The command in a process of its own; its output comes to a file."""
    (directory / "a.toml").write_text(TOML)
    command = ["sweep", str(directory / "a.toml"), "-o", str(directory / "out"), *words]
    code = f"import sys\nfrom holdfast.experiments.cli import main\n{before}\nsys.exit(main({command!r}))"
    variables = os.environ | {"PYTHONPATH": str(ROOT)}
    with (directory / "output.txt").open("w") as output:
        return subprocess.Popen(
            [sys.executable, "-c", code], cwd=directory, env=variables, stdout=output, stderr=output, text=True
        )


def held_back(directory: Path, count: int) -> str:
    """Code that lets a sweep store that many runs, and the others once the file "go" is there: never too early."""
    return f"""
import time
from pathlib import Path
from holdfast.experiments.sweeps import execution
from holdfast.experiments.sweeps.store import Store
execution._MOST = 1
write = Store.write

def held_back(self, run, outcome):
    while len([*self.directory.glob("*.jsonl")]) >= {count} and not Path({str(directory / "go")!r}).exists():
        time.sleep(0.02)
    return write(self, run, outcome)

Store.write = held_back
"""


def exit_status(process: subprocess.Popen[str], directory: Path) -> int:
    """The exit status; what was told is shown where a test fails."""
    status = process.wait(timeout=600)
    print((directory / "output.txt").read_text())
    return status


def kill_and_resume(tmp_path: Path, whole: Path, kills: int, seed: int) -> None:
    """Kill that many sweeps once they have stored a number of runs that is drawn, and finish each."""
    rng = np.random.default_rng(seed)
    for number in range(kills):
        place = tmp_path / str(number)
        place.mkdir()
        out = place / "out"
        # The first is killed before anything is stored.
        count = int(rng.integers(1, RUNS - 4)) if number else 0
        process = start_sweep(place, "--workers", "2", before=held_back(place, max(1, count + 3)))
        until(lambda count=count, out=out: out.exists() and len([*out.glob("store/*.jsonl")]) >= count)
        workers = children_of(process.pid)
        process.kill()
        process.wait()
        check_nothing_is_broken(out)
        # Nobody told the workers, and still they do not stay.
        until(lambda workers=workers: not any(map(alive, workers)))
        stored = {path: path.stat().st_mtime_ns for path in (out / "store").glob("*.jsonl")}
        assert count <= len(stored) < RUNS
        result = run_sweep(make_sweep(**SMALL), out, workers=1).complete()
        assert (result.stored, result.computed) == (len(stored), RUNS - len(stored))
        assert all(path.stat().st_mtime_ns == when for path, when in stored.items())
        assert contents(out) == contents(whole)
        assert not [*out.rglob("*.part")]


def check_nothing_is_broken(out: Path) -> None:
    for path in (out / "store").glob("*.jsonl"):
        assert json.loads(path.read_text())["measured"]
    if (out / "summary.csv").exists():
        text = (out / "summary.csv").read_text()
        assert text.endswith("\n")
        widths = {len(row) for row in csv.reader(text.splitlines())}
        assert len(widths) == 1


@pytest.mark.system
def test_a_sweep_that_is_killed_loses_nothing_that_was_done(tmp_path: Path, whole: Path) -> None:
    kill_and_resume(tmp_path, whole, kills=2, seed=3)


@pytest.mark.slow
def test_twenty_sweeps_that_are_killed(tmp_path: Path, whole: Path) -> None:
    kill_and_resume(tmp_path, whole, kills=20, seed=20)


# Workers that die.


def one_by_one(
    task: Callable[[RunConfiguration], RunOutcome], runs: Iterable[RunConfiguration]
) -> Iterator[RunOutcome]:
    return map(task, runs)


def deadly(run: RunConfiguration) -> RunOutcome:
    """The run of seed 3 takes its worker with it."""
    assert isinstance(run.workload, GeneratedYear)
    if run.workload.seed == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return RunOutcome(run.key, {"process": os.getpid()}, {})


def delay_run(go: str, run: RunConfiguration) -> RunOutcome:
    """The first three runs end at once, the others when that file is there."""
    assert isinstance(run.workload, GeneratedYear)
    if run.workload.seed >= 3:
        until(Path(go).exists)
    return RunOutcome(run.key, {"process": os.getpid()}, {})


def quick(run: RunConfiguration) -> RunOutcome:
    return RunOutcome(run.key, {}, {"run_seconds": 0.1})


@dataclass(frozen=True)
class Recorded(Pool):
    """Two workers that are one, and what they were handed."""

    batches: list[tuple[RunConfiguration, ...]] = field(default_factory=list)

    def map(self, task: Callable[[Any], Any], items: Iterable[Any], *, ordered: bool = False) -> Iterator[Any]:
        for item in items:
            self.batches.append(item.runs)
            yield task(item)


@pytest.mark.parametrize("tables", [7, 40])
def test_a_job_table_is_made_by_one_worker_unless_its_runs_are_more_than_a_batch(tables: int) -> None:
    sweep = make_sweep(
        workload={"seeds": f"0:{tables}", "jobs": 5}, mechanisms="all", options={"order": ["fcfs", "sjf"]}
    )
    pool = Recorded("loky", 2)
    runs = expand(sweep)
    assert [outcome.key for outcome in carry_out(partial(one_by_one, quick), runs, pool)] == [run.key for run in runs]
    for before, after in pairwise(pool.batches):
        if before[-1].workload == after[0].workload:
            # Only a batch of one table ends within it.
            assert len({run.workload for run in before}) == 1


def some_runs(count: int) -> list[RunConfiguration]:
    return expand(make_sweep(workload={"seeds": f"0:{count}"}, mechanisms="baseline"))


@pytest.mark.system
def test_a_run_that_kills_its_worker_has_failed_and_the_others_go_on() -> None:
    runs = some_runs(12)
    with Workforce(workers=2).assemble() as pool:
        outcomes = {outcome.key: outcome for outcome in carry_out(partial(one_by_one, deadly), runs, pool)}
    assert len(outcomes) == 12
    assert [run.workload.label for run in runs if outcomes[run.key].error] == ["seed 3"]
    assert "its worker died, possibly out of memory" in outcomes[runs[3].key].error


def test_one_worker_is_the_calling_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "loky", None)  # whatever imports it now fails
    with Workforce(workers=1).assemble() as pool:
        assert list(pool.map(lambda item: (item, os.getpid()), [3, 4])) == [(3, os.getpid()), (4, os.getpid())]


@pytest.mark.system
def test_a_worker_that_is_killed_costs_nothing_but_time(tmp_path: Path) -> None:
    runs, go = some_runs(10), tmp_path / "go"
    with Workforce(workers=2).assemble() as pool:
        outcomes = []
        for outcome in carry_out(partial(one_by_one, partial(delay_run, str(go))), runs, pool):
            outcomes.append(outcome)
            if len(outcomes) == 3:
                os.kill(outcome.measured["process"], signal.SIGKILL)
                go.touch()
    assert {outcome.key for outcome in outcomes} == {run.key for run in runs}
    assert not [outcome.error for outcome in outcomes if outcome.error]


@pytest.mark.system
def test_an_interruption_between_two_outcomes_leaves_no_warning(tmp_path: Path) -> None:
    go = tmp_path / "go"
    with Workforce(workers=2).assemble() as pool, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        outcomes = carry_out(partial(one_by_one, partial(delay_run, str(go))), some_runs(20), pool)
        next(outcomes)
        go.touch()
        del outcomes  # as where an exception goes through the caller
    assert not caught


class Killable(ThreadPoolExecutor):
    """A thread in place of loky's processes."""

    killed = False

    def shutdown(self, wait: bool = True, *, kill_workers: bool = False, **_: Any) -> None:  # type: ignore[override]
        self.killed = kill_workers
        super().shutdown(wait=wait)


def test_processes_are_killed_only_when_no_cancelled_task_is_left() -> None:
    """loky's thread fails of a ``KeyError`` if the processes are killed while it still holds the number of a task."""
    gate = threading.Event()
    executor = Killable(max_workers=1)
    running, waiting = executor.submit(gate.wait), executor.submit(int)
    stopping = threading.Thread(target=LocalWorkers(1).stop, args=(executor, [running, waiting]))
    stopping.start()
    while not waiting.cancelled():
        time.sleep(0)
    # The executor has not looked at the cancelled task yet, since its thread is busy: nothing may be killed.
    assert not executor.killed
    gate.set()
    stopping.join()
    assert executor.killed


# Dask.


@contextmanager
def dask_processes(
    directory: Path, workers: int, **environment: str
) -> Iterator[tuple[str, subprocess.Popen[bytes], list[subprocess.Popen[bytes]]]]:
    """A scheduler and workers, each a process of its own as on a cluster; its address, itself, and the workers."""
    file = directory / "scheduler.json"
    variables = os.environ | {"PYTHONPATH": str(ROOT)} | environment
    processes: list[subprocess.Popen[bytes]] = []

    def start(module: str, *words: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.{module}", "--no-dashboard", *words]
        with (directory / f"{len(processes)}.log").open("w") as log:
            process = subprocess.Popen(command, cwd=directory, env=variables, stdout=log, stderr=log)
        processes.append(process)
        return process

    try:
        scheduler = start("dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(file))
        address = until(lambda: file.exists() and file.stat().st_size and json.loads(file.read_text())["address"])
        crew = [start("dask_worker", address, "--nthreads", "1", "--no-nanny") for _ in range(workers)]
        yield address, scheduler, crew
    finally:
        for process in processes:
            process.kill()
            process.wait()


@pytest.mark.system
def test_a_sweep_on_a_dask_cluster_one_of_whose_workers_is_killed(tmp_path: Path, whole: Path) -> None:
    out = tmp_path / "out"
    with dask_processes(tmp_path, 2) as (address, _, workers):
        third = held_back(tmp_path, RUNS // 3)
        sweep = start_sweep(tmp_path, "--backend", "dask", "--scheduler", address, before=third)
        until(lambda: len([*(out / "store").glob("*.jsonl")]) == RUNS // 3)
        workers[0].kill()
        workers[0].wait()
        (tmp_path / "go").touch()
        assert exit_status(sweep, tmp_path) == 0
        assert workers[1].poll() is None
    assert contents(out) == contents(whole)
    assert not (out / "failures.json").exists()


@pytest.mark.system
def test_a_run_that_kills_dask_workers_has_failed_and_the_others_go_on(tmp_path: Path) -> None:
    runs = some_runs(8)
    # Given up at the first death, and tried once more alone: two workers die, the third does the rest.
    with dask_processes(tmp_path, 3, DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="0") as (address, _, workers):
        with Workforce(backend="dask", scheduler=address).assemble() as pool:
            outcomes = {outcome.key: outcome for outcome in carry_out(partial(one_by_one, deadly), runs, pool)}
        assert sorted(worker.poll() is None for worker in workers) == [False, False, True]
    assert [run.workload.label for run in runs if outcomes[run.key].error] == ["seed 3"]
    assert "its worker died" in outcomes[runs[3].key].error
    # In this process nothing was done.
    assert os.getpid() not in {outcome.measured.get("process") for outcome in outcomes.values()}


@pytest.mark.system
def test_a_sweep_without_workers_says_so_and_how_to_go_on(tmp_path: Path) -> None:
    out, output = tmp_path / "out", tmp_path / "output.txt"
    with dask_processes(tmp_path, 1) as (address, _, workers):
        soon = "from holdfast.experiments.sweeps import dask_cluster as d\nd.LOOK_EVERY, d.PATIENCE = 0.1, 1.0\n"
        soon += held_back(tmp_path, 1)
        sweep = start_sweep(tmp_path, "--backend", "dask", "--scheduler", address, before=soon)
        until(lambda: len([*out.glob("store/*.jsonl")]) >= 1)
        workers[0].kill()
        workers[0].wait()
        (tmp_path / "go").touch()
        until(lambda: "the cluster has had no worker for 1 s: the sweep waits for one" in output.read_text())
        sweep.send_signal(signal.SIGTERM)
        assert exit_status(sweep, tmp_path) == 128 + signal.SIGTERM
    assert "holds the runs that are done, and their tables" in output.read_text().splitlines()[-1]
    assert "Traceback" not in output.read_text()


@pytest.mark.system
def test_cancelled_tasks_are_not_logged_and_other_failures_are(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    from distributed.client import FutureCancelledError

    log = logging.getLogger("tornado.application")

    def fail(error: BaseException) -> None:
        try:
            raise error
        except BaseException:
            log.error("Exception in callback %r", type(error).__name__, exc_info=True)

    with dask_processes(tmp_path, 1) as (address, _, _), dask_cluster.dask_client(address, "local", None, {}):
        fail(FutureCancelledError("a", "unknown"))
        fail(OSError("the disk is full"))
    fail(FutureCancelledError("b", "unknown"))
    logged = [record.getMessage() for record in caplog.records if record.name == log.name]
    assert logged == ["Exception in callback 'OSError'", "Exception in callback 'FutureCancelledError'"]


@pytest.mark.system
def test_a_scheduler_that_dies_is_one_sentence(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with dask_processes(tmp_path, 1) as (address, scheduler, _):
        sweep = start_sweep(tmp_path, "--backend", "dask", "--scheduler", address, before=held_back(tmp_path, 3))
        until(lambda: len([*out.glob("store/*.jsonl")]) == 3)
        scheduler.kill()
        scheduler.wait()
        (tmp_path / "go").touch()
        assert exit_status(sweep, tmp_path) == 2
    # Before it stands what Dask logs.
    last = (tmp_path / "output.txt").read_text().splitlines()[-1]
    assert last.startswith("holdfast sweep: error: the connection to the scheduler was lost; finished runs are stored")
    with (out / "summary.csv").open() as file:
        assert len([*csv.DictReader(file)]) == len([*out.glob("store/*.jsonl")])


@pytest.mark.system
def test_a_scheduler_that_does_not_answer_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import dask
    import distributed  # noqa: F401  # its defaults must stand before some of them are set for a while

    path = tmp_path / "a.toml"
    path.write_text(TOML)
    words = ["sweep", str(path), "-o", str(tmp_path / "out"), "--backend", "dask", "--scheduler", "tcp://127.0.0.1:9"]
    with dask.config.set({"distributed.comm.timeouts.connect": "200ms"}):
        assert cli.main(words) == 2
    error = capsys.readouterr().err
    assert "holdfast sweep: error: the scheduler tcp://127.0.0.1:9 does not answer: " in error
    assert "Traceback" not in error


def test_without_dask_the_sentence_names_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match=r'install them with pip install "holdfast\[cluster\]"'):
        run_sweep(make_sweep(**SMALL), tmp_path, backend="dask", scheduler="tcp://127.0.0.1:9")


# Clusters that are started: dask-jobqueue's own stand-in for a batch system runs the job scripts on this machine.


@pytest.mark.system
def test_a_cluster_is_started_by_its_name_with_its_own_options(tmp_path: Path, whole: Path) -> None:
    stand_in = (
        "from holdfast.experiments.sweeps.dask_cluster import CLUSTERS\n"
        "CLUSTERS['slurm'] = 'dask_jobqueue.local', 'LocalCluster'"
    )
    options = tmp_path / "options.toml"
    options.write_text("cores = 1\nprocesses = 1\nmemory = '1GB'\n")
    words = ["--backend", "dask", "--workers", "2", "--cluster", "slurm", "--cluster-options", str(options)]
    assert exit_status(start_sweep(tmp_path, *words, before=stand_in), tmp_path) == 0
    assert contents(tmp_path / "out") == contents(whole)


@pytest.mark.parametrize(
    ("name", "line"), [("slurm", "#SBATCH -p night"), ("pbs", "#PBS -q night"), ("lsf", "#BSUB -q night")]
)
def test_the_options_reach_the_job_script(name: str, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import dask_jobqueue

    seen: list[Any] = []

    class Client:
        """Stands for the client, so that no worker is waited for."""

        loop = None

        def __init__(self, cluster: Any, **options: Any) -> None:
            seen.append(cluster.job_script())

        def __enter__(self) -> Client:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def ncores(self) -> dict[str, int]:
            return {"a": 1}

    kind = getattr(dask_jobqueue, dask_cluster.CLUSTERS[name][1])
    scaled: list[int] = []
    monkeypatch.setattr(kind, "scale", lambda self, count: scaled.append(count))
    monkeypatch.setattr("distributed.Client", Client)
    options = {"cores": 1, "memory": "2GB", "queue": "night"}
    with dask_cluster.dask_client(None, name, 3, options) as (client, count):
        assert (type(client), count) == (Client, 3)
    assert scaled[0] == 3
    assert line in seen[0]


@pytest.mark.system
@pytest.mark.parametrize("options", [{"cores": 1}, {"core": 1, "memory": "1GB"}])
# What dask-jobqueue leaves behind in its constructor is not ours to close.
@pytest.mark.filterwarnings("ignore:unclosed cluster:ResourceWarning")
def test_options_that_a_cluster_does_not_know_are_one_sentence(options: dict[str, Any]) -> None:
    sentence = "the cluster slurm cannot be started with these options: "
    with (
        pytest.raises(InputError, match=sentence),
        Workforce(backend="dask", cluster="slurm", cluster_options=options).assemble(),
    ):
        pass
    gc.collect()
