"""How fast replays are: against the plain reference of the EASY rule, for each mechanism, and as traces grow.

Run ``python -m tests.benchmarks.replay [--repeat 3] [--mechanisms all] [--traces]``. Each figure is the fastest of
several runs, in seconds of processor time, of the simulation alone. What is compared runs in turn, so that other work
on the machine slows all alike; machines differ, so compare the ratios.
"""

from __future__ import annotations

import argparse
import resource
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter, process_time

from holdfast.experiments.recordings.replay import parse_mechanisms
from holdfast.policies.mechanism import BASELINE
from holdfast.simulator import Result, simulate
from holdfast.simulator.results.metrics import summarize
from holdfast.workloads.hybrid.assignment import as_rigid, assign
from holdfast.workloads.logs.readers import read_trace
from holdfast.workloads.logs.trace import Trace
from holdfast.workloads.table.job import Job
from holdfast.workloads.theta.generator import generate
from holdfast.workloads.theta.year import ThetaYear
from tests.benchmarks.figures import print_figure
from tests.reference.easy import replay_easy

_TRACES = Path(__file__).parents[3] / "shared" / "data" / "traces"


def _reference(trace: Trace) -> float:
    """Seconds that the plain reference needs."""
    columns = zip(*((job.submit, job.nodes, job.walltime, job.runtime) for job in trace.jobs), strict=True)
    submit, nodes, walltime, runtime = (list(column) for column in columns)
    began = process_time()
    replay_easy(submit, nodes, walltime, runtime, trace.nodes or 0)
    return process_time() - began


def _engine(jobs: Sequence[Job], nodes: int, mechanism: str = BASELINE, engine: str = "simpy") -> tuple[float, Result]:
    """Seconds of processor time of a simulation, without the checks of its table, and its result."""
    began, cpu = perf_counter(), process_time()
    result = simulate(jobs, nodes, mechanism, events=False, engine=engine)
    # The share of the processor that the process had, where others ran beside it.
    share = (process_time() - cpu) / (perf_counter() - began)
    return result.engine_seconds * share, result


def against_reference(name: str, trace: Trace, repeat: int) -> tuple[float, float, float]:
    """Print and return the times of the baseline with SimPy, of the plain reference, and of compiled loops [s]."""
    jobs, nodes = as_rigid(trace), trace.nodes or 0
    _engine(jobs, nodes, engine="compiled")  # loads the code
    measured = [
        (_reference(trace), _engine(jobs, nodes)[0], _engine(jobs, nodes, engine="compiled")[0]) for _ in range(repeat)
    ]
    plain, engine, loops = (min(seconds) for seconds in zip(*measured, strict=True))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    per_job = engine / len(trace.jobs) * 1e6
    print(
        f"{name:<24}{len(trace.jobs):>9,} jobs  engine {engine:7.3f} s  plain reference {plain:7.3f} s"
        f"  ratio {engine / plain:5.2f}  compiled {loops:7.3f} s  ratio {loops / plain:5.2f}"
        f"  {per_job:6.1f} us a job  peak {memory:,.0f} MiB"
    )
    return engine, plain, loops


def by_mechanism(trace: Trace, mechanisms: Sequence[str], repeat: int) -> dict[str, float]:
    """Print engine time and decision latency of each mechanism on the generated year; returns the engine times [s]."""
    jobs = assign(trace, seed=0)
    runs: dict[str, list[tuple[float, float, float]]] = {mechanism: [] for mechanism in mechanisms}
    for _ in range(repeat):
        for mechanism in mechanisms:
            seconds, result = _engine(jobs, trace.nodes or 0, mechanism)
            summary = summarize(result)
            runs[mechanism].append((seconds, float(summary["decision_ms_p99"]), float(summary["decision_ms_max"])))
    took: dict[str, float] = {}
    for mechanism, found in runs.items():
        engine, p99, longest = (min(column) for column in zip(*found, strict=True))
        print(f"{mechanism:<24}engine {engine:7.3f} s  decisions: p99 {p99:.3f} ms, longest {longest:.3f} ms")
        took[mechanism] = engine
    return took


def as_it_grows(year: ThetaYear, repeat: int) -> tuple[float, float, float]:
    """Time per job for a quarter, one, two and four years; returns what :func:`against_reference` does of one year."""
    took = {}
    for factor in (0.25, 1, 2, 4):
        trace = generate(replace(year, jobs=round(year.jobs * factor)), seed=0)
        took[factor] = against_reference(f"generated, {factor:g} years", trace, repeat)
    return took[1]


def main() -> None:
    """Print all of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--mechanisms", default="all")
    parser.add_argument("--traces", action="store_true", help="also the real traces, where they are")
    arguments = parser.parse_args()
    year = ThetaYear()
    engine, plain, loops = as_it_grows(year, arguments.repeat)
    mechanisms = by_mechanism(generate(year, seed=0), parse_mechanisms(arguments.mechanisms), arguments.repeat)
    print_figure("engine of a generated year", engine, "s")
    print_figure("engine over the plain loop, a generated year", engine / plain, "x")
    print_figure("compiled loops over the plain loop, a generated year", loops / plain, "x")
    for name, took in mechanisms.items():
        if name != BASELINE and BASELINE in mechanisms:
            print_figure(f"{name} over the baseline, a generated year", took / mechanisms[BASELINE], "x", "<= 1.5")
    if arguments.traces:
        for name, nodes in (("theta_2022", 4392), ("KTH-SP2-1996-2.1-cln", 100), ("SDSC-BLUE-2000-4.2-cln", 1152)):
            path = _TRACES / f"{name}.swf.gz"
            if path.exists():
                took, loop, loops = against_reference(name, read_trace(path).on_machine(nodes), arguments.repeat)
                print_figure(
                    f"engine over the plain loop, {name}", took / loop, "x", "<= 1.7" if name == "theta_2022" else ""
                )
                print_figure(f"compiled loops over the plain loop, {name}", loops / loop, "x")
            else:
                print(f"{name:<24}is not here ({path})")


if __name__ == "__main__":
    main()
