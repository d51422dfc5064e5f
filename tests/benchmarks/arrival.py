"""How long arrival strategies take to find nodes, and what their decisions lose, in a simulated year.

Run ``python -m tests.benchmarks.arrival [--notice N] [--seed 0] [--crowd]``. Each strategy has a year of its own;
``--crowd`` asks for the worst that a machine of 4,392 nodes can be: many small jobs, losses of all kinds.
"""

from __future__ import annotations

import argparse
from time import perf_counter
from typing import Any

import numpy as np

from holdfast.policies.arrival import ARRIVALS
from holdfast.policies.knapsack import Item, cheapest_cover
from holdfast.policies.port import Preempt, Request, Shrink, SystemView
from holdfast.simulator import simulate
from holdfast.workloads.hybrid.assignment import assign
from holdfast.workloads.theta.generator import generate
from holdfast.workloads.theta.year import ThetaYear

NAMES = ("PAA", "KNAPSACK", "SPAA", "SKNAPSACK")


class Timed:
    """A strategy with a watch."""

    def __init__(self, strategy: Any) -> None:
        self.strategy = strategy
        self.spent: list[float] = []

    def room(self, view: SystemView, request: Request) -> int:
        return int(self.strategy.room(view, request))

    def make_room(self, view: SystemView, request: Request, missing: int) -> list[Preempt | Shrink]:
        began = perf_counter()
        actions: list[Preempt | Shrink] = self.strategy.make_room(view, request, missing)
        self.spent.append(perf_counter() - began)
        return actions


def latency_line(name: str, spent: list[float]) -> str:
    middle, high, longest = np.percentile(np.array(spent) * 1e3, [50, 99, 100])
    return f"{name:<12}{len(spent):>7,} decisions  p50 {middle:7.3f} ms  p99 {high:7.3f} ms  longest {longest:7.3f} ms"


def in_a_year(notice: str, seed: int) -> None:
    """Every decision of a year."""
    trace = generate(ThetaYear(), seed=seed)
    jobs = assign(trace, seed=seed)
    for name in NAMES:
        timed = Timed(ARRIVALS[name])
        ARRIVALS.add("TIMED", timed)
        summary = simulate(jobs, trace.nodes or 0, f"{notice}-TIMED", events=False).summary()
        lost = float(summary["lost_node_hours"])
        print(
            f"{latency_line(name, timed.spent)}  whole decisions p99 {summary['decision_ms_p99']:.3f} ms"
            f"  lost {lost:,.0f} nh"
        )


def in_a_crowd(repeat: int = 200) -> None:
    """Hundreds of jobs of all sizes on the machine."""
    rng = np.random.default_rng(0)
    for least, most in ((1, 8), (1, 64), (16, 128), (64, 1024)):
        spent = []
        for _ in range(repeat):
            items: list[Item] = []
            while (used := sum(item.weight for item in items)) < 4392:
                nodes = min(int(rng.integers(least, most + 1)), 4392 - used)
                items.append(Item(nodes * int(rng.integers(0, 86400 * 10**6)), len(items), nodes))
            demand = int(rng.integers(1, 2196))
            began = perf_counter()
            cheapest_cover(items, demand)
            spent.append(perf_counter() - began)
        print(latency_line(f"{least}-{most}", spent))


def main() -> None:
    """Print all of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--notice", default="N")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--crowd", action="store_true")
    arguments = parser.parse_args()
    if arguments.crowd:
        in_a_crowd()
    else:
        in_a_year(arguments.notice, arguments.seed)


if __name__ == "__main__":
    main()
