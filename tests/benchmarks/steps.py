"""How many decisions a second an agent can make: steps of environments, with what the simulator does between them.

Run ``python -m tests.benchmarks.steps [--episodes 12] [--repeat 3]``. The jobs are those of a generated year, as they
come and with a tenth of the time between them, so that the queue is as long as what is shown of it. The agent always
takes the first answer. Figures are processor time, resets and rewards included, the fastest of some runs; beside them
stands what a simulation of the same jobs takes for a job, because processors differ.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from time import process_time
from typing import Any

from holdfast.experiments.learning.arrival_choice import ArrivalChoice
from holdfast.experiments.learning.environment import Environment
from holdfast.experiments.learning.job_choice import JobChoice
from holdfast.experiments.learning.plan_choice import PlanChoice
from holdfast.simulator import simulate
from holdfast.workloads.hybrid.assignment import as_rigid, assign
from holdfast.workloads.table.job import Job
from holdfast.workloads.theta.generator import generate
from holdfast.workloads.theta.year import ThetaYear
from tests.benchmarks.figures import print_figure

_FIRST, _LENGTH = 128, 256


def play(environment: Environment[Any], numbers: Sequence[int]) -> tuple[int, float]:
    """Steps of these episodes, and seconds of processor time."""
    began, steps = process_time(), 0
    for number in numbers:
        environment.reset(options={"slice": number})
        over = False
        while not over:
            _, _, over, _, _ = environment.step(0)
            steps += 1
    return steps, process_time() - began


def simulation_time(environment: Environment[Any], numbers: Sequence[int], nodes: int) -> float:
    """Seconds of processor time that a simulation of the same episodes takes for a job, on SimPy as the steps do."""
    tables = [environment.episodes[number] for number in numbers]
    began = process_time()
    for table in tables:
        simulate(table, nodes, events=False, engine="simpy")
    return (process_time() - began) / sum(map(len, tables))


def measure(name: str, environment: Environment[Any], episodes: int, repeat: int) -> tuple[float, float]:
    """Print and return steps a second, and a step over a simulated job."""
    count = environment.episodes.count
    numbers = [count * place // episodes for place in range(episodes)]
    play(environment, numbers[:1])
    steps, took = min((play(environment, numbers) for _ in range(repeat)), key=lambda found: found[1])
    job = min(simulation_time(environment, numbers, environment.nodes) for _ in range(repeat))
    rate, ratio = steps / took, took / steps / job
    print(
        f"{name:<40}{steps:>7,} steps  {took / steps * 1e6:8.1f} us a step  {rate:9,.0f} steps a second"
        f"  a simulated job {job * 1e6:6.1f} us  ratio {ratio:6.2f}"
    )
    return rate, ratio


def main() -> None:
    """Print all of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=12)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    trace = generate(replace(ThetaYear(), jobs=6000), seed=3)
    nodes, jobs = trace.nodes or 0, as_rigid(trace)
    how: dict[str, Any] = {"first": _FIRST, "length": _LENGTH}

    def choices(rows: Sequence[Job]) -> JobChoice:
        return JobChoice(rows, nodes, **how)

    measure("next job, as the jobs come", choices(jobs), options.episodes, options.repeat)
    dense = [replace(job, submit=(job.submit or 0.0) / 10) for job in jobs]
    rate, ratio = measure("next job, ten times as dense", choices(dense), options.episodes, options.repeat)
    print_figure(f"choosing the next of {_FIRST} jobs, a step over a simulated job", ratio, "x")
    print_figure(f"choosing the next of {_FIRST} jobs", rate, "steps/s", ">= 20,000")
    hybrid = assign(trace, seed=1, shares=(0.2, 0.5, 0.3))
    measure("answer to an arrival", ArrivalChoice(hybrid, nodes, length=_LENGTH), options.episodes, options.repeat)
    planned = assign(trace, seed=1, stochastic_share=0.3)
    measure("plan of a stochastic job", PlanChoice(planned, nodes, length=_LENGTH), options.episodes, options.repeat)


if __name__ == "__main__":
    main()
