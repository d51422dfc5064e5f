"""What a grid of many small runs costs beyond their simulations.

Run ``python -m tests.benchmarks.sweeps [--runs 1000] [--plain]``.

Half of the runs have an order of their own, five mechanisms share each job table, and each table has 500 jobs of a
generated year; with ``--plain`` ten orders and two rules share it, all under the baseline. Printed are the wall-clock
time times the number of workers over the sum of all engine times, the largest memory of a worker, and how many files
the store has; of plain runs, the time of each. With one worker, which is the calling process, all times are processor
times: on a busy machine they can be believed, and they have everything but the hand-over to workers. A first sweep of a
few runs, which is not counted, lets each process load its libraries.
"""

from __future__ import annotations

import argparse
import math
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter, process_time

import pytest

from holdfast.experiments.sweeps import make_sweep, run_sweep
from holdfast.experiments.sweeps.execution import available_workers
from holdfast.simulator import simulation
from tests.benchmarks.figures import print_figure

_ORDERS = ["fcfs", "sjf", "ljf", "smallest", "largest", "saf", "laf", "f1", "f2", "f3"]
_MECHANISMS = ["baseline", "N-SPAA", "CUA-SPAA", "CUP-PAA", "CUP-SPAA"]


def measure(runs: int, jobs: int, workers: int, *, plain: bool = False) -> dict[str, float]:
    """A sweep of so many runs: cost over that of the simulations, memory [MiB], files of the store."""
    mechanisms = ["baseline"] if plain else _MECHANISMS
    options = {"order": _ORDERS, "backfilling": ["easy", "none"]} if plain else {"order": ["fcfs", "sjf"]}
    tables = runs // (len(mechanisms) * math.prod(map(len, options.values())))
    sweep = make_sweep(mechanisms=mechanisms, workload={"seeds": f"0:{max(1, tables)}", "jobs": jobs}, options=options)
    clock = process_time if workers == 1 else perf_counter
    with tempfile.TemporaryDirectory() as place, pytest.MonkeyPatch.context() as patch:
        patch.setattr(simulation, "perf_counter", clock)
        began = clock()
        result = run_sweep(sweep, place, workers=workers).complete()
        took = clock() - began
        files = sum(1 for _ in (Path(place) / "store").iterdir())
    engine = sum(float(row["engine_seconds"]) for row in result.timings)
    peak = max(float(row["worker_peak_mib"]) for row in result.timings)
    return {"runs": len(result.summary), "took": took, "ratio": took * workers / engine, "peak": peak, "files": files}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line for each number of runs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, nargs="+", default=[1000])
    parser.add_argument("--jobs", type=int, default=500)
    parser.add_argument("--workers", type=int, default=available_workers())
    parser.add_argument("--plain", action="store_true")
    options = parser.parse_args(arguments)
    # Two seeds or more, because intervals load scipy.
    measure(40 * options.workers, options.jobs, options.workers, plain=options.plain)
    for runs in options.runs:
        costs = measure(runs, options.jobs, options.workers, plain=options.plain)
        if options.plain:
            each = costs["took"] * options.workers / costs["runs"] * 1e3
            print(f"plain sweep of {costs['runs']:,.0f} runs of {options.jobs} jobs: {each:.2f} ms a run", flush=True)
            print_figure(f"a plain run of {options.jobs} jobs in a sweep of {costs['runs']:,.0f}", each, "ms", "<= 0.7")
            continue
        print(
            f"sweep of {costs['runs']:,.0f} runs of {options.jobs} jobs on {options.workers} workers: "
            f"{costs['took']:.1f} s, {costs['ratio']:.2f} x the engine time, {costs['peak']:.0f} MiB a worker, "
            f"{costs['files']:,.0f} files in the store",
            flush=True,
        )
        name = f"{costs['runs']:,.0f} runs of {options.jobs} jobs on {options.workers} workers over their engine time"
        print_figure(name, costs["ratio"], "x", "<= 1.3")


if __name__ == "__main__":
    main()
