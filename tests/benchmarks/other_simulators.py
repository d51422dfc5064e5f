"""Processor time of Holdfast and of AccaSim for the same log: whole processes, from the file to the written result.

Run ``python -m tests.benchmarks.other_simulators LOG.swf.gz --nodes N --accasim PYTHON``, where ``PYTHON`` is an
interpreter with AccaSim 1.1.3 (``pip install accasim`` in an environment of its own). Both replay the jobs under FCFS
with EASY backfilling on N identical processors.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.benchmarks.figures import print_figure
from tests.places import ROOT

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


def processor_time(command: list[str]) -> float:
    """Processor time of a process [s]."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=ROOT, env=os.environ, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def accasim_wait(results: Path) -> float:
    """Mean wait that AccaSim reports [s]."""
    (statistics,) = results.glob("stats-*")
    line = next(line for line in statistics.read_text().splitlines() if line.startswith("Avg. waiting times"))
    return float(line.partition(":")[2])


def main() -> None:
    """Print times, mean waits and the ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("log", type=Path)
    parser.add_argument("--nodes", type=int, required=True)
    parser.add_argument("--accasim", required=True, help="an interpreter with AccaSim")
    parser.add_argument("--repeat", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        log, machine = place / "log.swf", place / "machine.json"
        opened = gzip.open if options.log.suffix == ".gz" else open
        with opened(options.log, "rt") as text:
            log.write_text("".join(line for line in text if not line.startswith(";")))
        machine.write_text(json.dumps({"groups": {"node": {"core": 1}}, "resources": {"node": options.nodes}}))
        own = [sys.executable, "-c", "from holdfast import main; main()", "run", str(log), "--nodes"]
        own += [str(options.nodes), "--mechanism", "baseline", "--force", "-o", str(place / "holdfast")]
        other = [options.accasim, "-c", _ACCASIM, str(log), str(machine), str(place / "accasim")]
        times = [(processor_time(own), processor_time(other)) for _ in range(options.repeat)]
        least = [min(column) for column in zip(*times, strict=True)]
        summary = (place / "holdfast" / "summary.csv").read_text().splitlines()
        row = dict(zip(summary[0].split(","), summary[1].split(","), strict=True))
        print(f"{options.log.name}: Holdfast {least[0]:.2f} s, mean wait {float(row['wait_h']):.2f} h")
        wait = accasim_wait(place / "accasim") / 3600
        print(f"{options.log.name}: AccaSim {least[1]:.2f} s, mean wait {wait:.2f} h")
    print_figure(f"AccaSim over Holdfast, {options.log.name}", least[1] / least[0], "x")


if __name__ == "__main__":
    main()
