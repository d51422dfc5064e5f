"""Holdfast and other simulators on the same log: processor time, from the file to the written result, and starts.

Run ``python -m tests.benchmarks.other_simulators LOG.swf.gz --nodes N`` with those that shall be compared:

``--accasim PYTHON``
    An interpreter with AccaSim 1.1.3 (``pip install accasim`` in an environment of its own).
``--cqsim DIR``
    A clone of https://github.com/SPEAR-UIC/CQSim at 788e5283.
``--pyss DIR``
    A clone of https://github.com/dinesh121991/pyss, its ``src`` converted to Python 3 (docs/reference/speed.md).

All replay the jobs under FCFS with EASY backfilling on N identical processors. Other options are those of ``holdfast
run``: ``--passes event --backfill-length runtime`` gives Holdfast the rule of CQSim.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from tests.benchmarks.figures import print_figure
from tests.places import ROOT

#: Start of each job [s], by its id in the log.
Starts = dict[int, float]

#: AccaSim takes abstract classes from ``collections``, where Python 3.10 has them no longer.
_ACCASIM = """
import collections, collections.abc, sys
for name in ("Callable", "Iterable", "Mapping", "MutableMapping", "Sequence"):
    setattr(collections, name, getattr(collections.abc, name))
from accasim.base.allocator_class import FirstFit
from accasim.base.scheduler_class import EASYBackfilling
from accasim.base.simulator_class import Simulator
log, machine, results = sys.argv[1:]
Simulator(
    log, machine, EASYBackfilling(FirstFit()), RESULTS_FOLDER_PATH=results, start_time=0,
    equivalence={"processor": {"core": 1}},
).start_simulation()
"""

#: All jobs, first come first served (by wait), EASY, no window, no debug log.
_CQSIM = """\
cluster_fraction=1.0
start=-1
anchor=0
read_num=-1
debug_lvl=0
alg=w
alg_sign=1
backfill=1
win=0
win_para=5
"""

#: pyss orders events by ``__cmp__``, which Python 3 does not call, and writes no starts.
_PYSS = """
import sys
from base.prototype import JobEvent, _job_inputs_to_jobs
from base.workload_parser import parse_lines
from schedulers.easy_scheduler import EasyBackfillScheduler
from schedulers.simulator import Simulator
JobEvent.__lt__ = lambda one, other: one._cmp_tuple < other._cmp_tuple
log, nodes, starts = sys.argv[1], int(sys.argv[2]), sys.argv[3]
with open(log) as lines:
    jobs = list(_job_inputs_to_jobs(parse_lines(lines), nodes))
Simulator(jobs, nodes, EasyBackfillScheduler(nodes)).run()
with open(starts, "w") as file:
    file.writelines(f"{job.id} {job.start_to_run_at_time}\\n" for job in jobs)
"""


def processor_time(command: list[str], limit: int, folder: Path = ROOT, **variables: str) -> float:
    """Processor time of a process [s]; a TimeoutError says that it did not end within the limit."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        ["bash", "-c", f'ulimit -S -t {limit}; exec "$@"', "limited", *command],
        cwd=folder,
        env=os.environ | variables,
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode == -signal.SIGXCPU:
        raise TimeoutError(f"not finished after {limit} s")
    if done.returncode:
        raise SystemExit(done.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def holdfast(log: Path, nodes: int, place: Path, limit: int, *, options: list[str]) -> tuple[float, Starts]:
    """Processor time [s] and starts of Holdfast with these options."""
    command = [sys.executable, "-c", "from holdfast import main; main()", "run", str(log), "--nodes", str(nodes)]
    command += ["--mechanism", "baseline", "--force", "-o", str(place), *options]
    seconds = processor_time(command, limit)
    with (place / "jobs-baseline.csv").open() as lines:
        return seconds, {int(row["job_id"]): float(row["start"]) for row in csv.DictReader(lines)}


def accasim(log: Path, nodes: int, place: Path, limit: int, *, python: str) -> tuple[float, Starts]:
    """Processor time [s] and starts of AccaSim in this interpreter."""
    machine = place / "machine.json"
    machine.write_text(json.dumps({"groups": {"node": {"core": 1}}, "resources": {"node": nodes}}))
    command = [python, "-c", _ACCASIM, str(log), str(machine), str(place)]
    seconds, starts = processor_time(command, limit, TZ="UTC"), {}
    for line in (place / f"sched-{log.name}").read_text().splitlines():
        job, *_, run = line.split("__")
        start = datetime.fromisoformat(run.split(";")[0]).replace(tzinfo=UTC)
        starts[int(job.split(";")[0])] = start.timestamp()
    return seconds, starts


def cqsim(log: Path, nodes: int, place: Path, limit: int, *, source: Path) -> tuple[float, Starts]:
    """Processor time [s] and starts of CQSim in a copy of its folder ``src``, beside which it reads and writes."""
    folder = place / "src"
    shutil.copytree(source / "src", folder)
    (folder / "Config" / "easy.set").write_text(_CQSIM)
    data = place / "data" / "InputFiles"
    data.mkdir(parents=True)
    (data / "log.swf").write_text(f"; MaxNodes: {nodes}\n; MaxProcs: {nodes}\n{log.read_text()}")
    command = [sys.executable, "cqsim.py", "-j", "log.swf", "-n", "log.swf", "-C", "easy.set", "-I", "1000"]
    seconds = processor_time(command, limit, folder)
    rows = [line.split(";") for line in (place / "data" / "Results" / "log.rst").read_text().splitlines()]
    return seconds, {int(row[0]): float(row[7]) for row in rows}


def pyss(log: Path, nodes: int, place: Path, limit: int, *, source: Path) -> tuple[float, Starts]:
    """Processor time [s] and starts of pyss, without its assertions, which take quadratic time."""
    starts = place / "starts.txt"
    command = [sys.executable, "-O", "-c", _PYSS, str(log), str(nodes), str(starts)]
    seconds = processor_time(command, limit, PYTHONPATH=str(source / "src"))
    rows = [line.split() for line in starts.read_text().splitlines()]
    return seconds, {int(job): float(start) for job, start in rows}


def main() -> None:
    """Print processor times, mean waits, numbers of equal starts, and ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("log", type=Path)
    parser.add_argument("--nodes", type=int, required=True)
    parser.add_argument("--accasim", metavar="PYTHON", help="an interpreter with AccaSim")
    parser.add_argument("--cqsim", metavar="DIR", type=Path, help="a clone of CQSim")
    parser.add_argument("--pyss", metavar="DIR", type=Path, help="a clone of pyss, in Python 3")
    parser.add_argument("--repeat", type=int, default=2, help="runs of each; the shortest counts (default: 2)")
    parser.add_argument("--limit", type=int, default=600, help="processor time of a run [s] (default: 600)")
    options, rest = parser.parse_known_args()
    replays: dict[str, Callable[[Path, int, Path, int], tuple[float, Starts]]] = {}
    replays["Holdfast"] = partial(holdfast, options=rest)
    if options.accasim:
        replays["AccaSim"] = partial(accasim, python=options.accasim)
    if options.cqsim:
        replays["CQSim"] = partial(cqsim, source=options.cqsim)
    if options.pyss:
        replays["pyss"] = partial(pyss, source=options.pyss)

    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        log = place / "log.swf"
        opened = gzip.open if options.log.suffix == ".gz" else open
        with opened(options.log, "rt") as text:
            log.write_text("".join(line for line in text if not line.startswith(";")))
        submits = {int(line.split()[0]): float(line.split()[1]) for line in log.read_text().splitlines()}
        own: Starts = {}
        own_seconds = 0.0
        for simulator, replay in replays.items():
            times: list[float] = []
            starts: Starts = {}
            try:
                for run in range(options.repeat):
                    (folder := place / f"{simulator}{run}").mkdir()
                    seconds, starts = replay(log, options.nodes, folder, options.limit)
                    times.append(seconds)
            except TimeoutError as failure:
                if not own:
                    raise SystemExit(f"Holdfast {failure}") from failure
                print(f"{options.log.name}: {simulator} {failure}")
                continue
            own, own_seconds = own or starts, own_seconds or min(times)
            both = own.keys() & starts.keys()
            wait = sum(starts[job] - submits[job] for job in both) / len(both) / 3600
            equal = sum(abs(own[job] - starts[job]) < 0.5 for job in both)
            print(
                f"{options.log.name}: {simulator} {min(times):.2f} s, mean wait {wait:.2f} h, "
                f"{equal:,} of {len(own):,} starts equal"
            )
            if starts is not own:
                print_figure(f"{simulator} over Holdfast, {options.log.name}", min(times) / own_seconds, "x")


if __name__ == "__main__":
    main()
