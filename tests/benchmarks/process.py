"""What ``holdfast run LOG --mechanism baseline`` takes as a whole process, under each engine, and ``holdfast --help``.

Run ``python -m tests.benchmarks.process [--repeat 3] [--log FILE --nodes N | --jobs N]``; without a log it takes Theta
2022, where that is, else a generated year. With ``--jobs`` it streams a generated log of that many jobs instead, into
CSV, into Parquet, and with SimPy. Each figure is the least processor time of several processes, in turn with a process
that reads and replays the log with the plain EASY loop of the tests: the ratios are to that process.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from holdfast.workloads.logs.swf_writer import write_swf
from holdfast.workloads.theta.generator import generate
from holdfast.workloads.theta.year import ThetaYear
from tests.benchmarks.figures import print_figure
from tests.places import ROOT

_THETA = ROOT.parent / "shared" / "data" / "traces" / "theta_2022.swf.gz"
_PLAIN = """
import sys
from time import process_time
from tests.reference.easy import load_swf, replay_easy
jobs = load_swf(sys.argv[1], int(sys.argv[2]))
began = process_time()
replay_easy(jobs.submit, jobs.nodes, jobs.walltime, jobs.runtime, int(sys.argv[2]))
print(process_time() - began)
"""


def seconds(*command: str) -> tuple[float, str]:
    """Processor time of a process [s], and what it prints; modules are compiled as after an installation."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    output = subprocess.run(
        [sys.executable, *command], cwd=ROOT, env=environment, check=True, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ).stdout  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, output


def measure(cases: Mapping[str, Sequence[str]], log: Path, nodes: int, repeat: int) -> dict[str, float]:
    """Least processor time [s] of each case, the words of a process, and of the plain loop."""
    took: dict[str, list[float]] = {"plain": [], "loop alone": [], **{case: [] for case in cases}}
    # The first time, code is compiled.
    for _ in range(repeat + 1):
        whole, loop = seconds("-c", _PLAIN, str(log), str(nodes))
        took["plain"].append(whole)
        took["loop alone"].append(float(loop))
        for case, words in cases.items():
            took[case].append(seconds("-c", "from holdfast import main; main()", *words)[0])
    least = {case: min(found[1:]) for case, found in took.items()}
    print(f"{log.name}: " + "  ".join(f"{case} {value:.2f} s" for case, value in least.items()))
    return least


def print_stream_cost(jobs: int, repeat: int, place: Path) -> None:
    """Tell what a long generated log takes."""
    log, nodes = place / "long.swf", ThetaYear().nodes
    write_swf(generate(ThetaYear(jobs=jobs), seed=0), log)
    run = ("run", str(log), "--nodes", str(nodes), "--mechanism", "baseline", "--force", "--stream", "-o")
    cases = {
        "CSV": (*run, str(place / "csv")),
        "Parquet": (*run, str(place / "parquet"), "--stream-format", "parquet"),
        "SimPy": (*run, str(place / "simpy"), "--engine", "simpy"),
    }
    least = measure(cases, log, nodes, repeat)
    for case, aim in (("CSV", "<= 0.6"), ("Parquet", "<= 0.25"), ("SimPy", "<= 1.6")):
        name = f"a log of {jobs:,} jobs streamed, {case}, the whole process over that of the plain loop"
        print_figure(name, least[case] / least["plain"], "x", aim)


def main() -> None:
    """Print all of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--log", type=Path)
    parser.add_argument("--nodes", type=int, default=4392)
    parser.add_argument("--jobs", type=int, help="number of jobs of a generated log that is streamed")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        if options.jobs is not None:
            print_stream_cost(options.jobs, options.repeat, Path(place))
            return
        log, name = options.log or _THETA, "Theta 2022" if options.log is None else options.log.name
        if not log.exists():
            log, name = Path(place) / "year.swf", "a generated year"
            write_swf(generate(ThetaYear(), seed=0), log)
        one = Path(place) / "one.swf"
        one.write_text("1 0 0 10 1 -1 -1 1 20 -1 1 1 1 1 1 1 -1 -1\n", encoding="utf-8")
        run = ("run", str(log), "--nodes", str(options.nodes), "--mechanism", "baseline", "--force")
        cases: dict[str, Sequence[str]] = {
            engine: (*run, "--engine", engine, "-o", f"{place}/{engine}") for engine in ("simpy", "auto")
        }
        cases |= {"one job": ("run", str(one), "--nodes", "1", "--force", "-o", f"{place}/one"), "help": ("--help",)}
        least = measure(cases, log, options.nodes, options.repeat)
    print_figure(
        f"the whole process over that of the plain loop, {name}", least["auto"] / least["plain"], "x", "<= 1.5"
    )
    print_figure(
        f"the whole process with SimPy over that of the plain loop, {name}", least["simpy"] / least["plain"], "x"
    )
    print_figure("a replay of one job, the whole process", least["one job"], "s")
    print_figure("holdfast --help", least["help"], "s", "<= 0.1")


if __name__ == "__main__":
    main()
