"""Speed of the planner, and how close each grid comes to the converged cost.

Run with ``python -m tests.benchmarks.planner`` (``--quick``: without the largest plan). It prints; it judges nothing.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Callable

from holdfast.policies.kernels import compiled_or_plain
from holdfast.policies.planning.costs import CostModel
from holdfast.policies.planning.discretisation import GRID, SIZE
from holdfast.policies.planning.optimal import cheapest
from holdfast.policies.planning.strategies import optimal
from holdfast.workloads.distributions import GRIDS, TABLE_1, Distribution, bound_support, discretise, exponential

COSTS = CostModel(checkpoint=0.1, restart=0.1)
SIZES = (100, 200, 500, 1000)
#: The converged cost is the least of all grids at this size.
CONVERGED = 16000


def seconds(call: Callable[[], object], repeats: int = 3) -> float:
    """The fastest of some calls after one to warm up."""
    call()
    taken = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return min(taken)


def speed(quick: bool) -> None:
    """Print how long plans take after warm-up."""
    print("time of a plan after warm-up [s]")
    for n in (1000, 5000) if quick else (1000, 5000, 20_000):
        distribution = discretise(bound_support(exponential(1.0)), n, "equal-time")
        v, f = distribution.values, distribution.probabilities
        took = seconds(lambda v=v, f=f: cheapest(v, f, COSTS), repeats=3 if n < 20_000 else 1)  # type: ignore[misc]
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"  optimal   n = {n:7,}  {took:8.4f}   peak memory of the process {memory:.0f} MB")
    for label, restart in (("", 0.1), (" restart varies", lambda t: 0.1 + 0.001 * t)):
        for which in ("all", "none"):
            costs = CostModel(checkpoint=0.1, restart=restart)
            distribution = discretise(bound_support(exponential(1.0)), 100_000, "equal-time")
            v, f = distribution.values, distribution.probabilities
            took = seconds(lambda v=v, f=f, c=costs, w=which: cheapest(v, f, c, w))  # type: ignore[misc]
            print(f"  {which:9} n = {v.size:7,}  {took:8.4f}  {label}")


def threshold() -> None:
    """Print what the plain source costs beside the compiled one, and what loading that costs."""
    print("plain source against compiled [s]")
    usual = compiled_or_plain.LOAD_FROM
    for n in (100, 200, 500, 1000):
        distribution = discretise(bound_support(exponential(1.0)), n, "equal-time")
        took = []
        for compiled_or_plain.LOAD_FROM in (10**18, 0):
            took.append(
                seconds(
                    lambda distribution=distribution: cheapest(distribution.values, distribution.probabilities, COSTS)
                )
            )  # type: ignore[misc]
        print(f"  n = {n:5}  {took[0]:8.4f} {took[1]:8.4f}")
    compiled_or_plain.LOAD_FROM = usual
    code = (
        "import time, numpy as np; from holdfast.policies.planning import optimal, costs;"
        "from holdfast.policies.kernels import compiled_or_plain;"
        "compiled_or_plain.LOAD_FROM = 0; start = time.process_time();"
        "optimal.cheapest(np.arange(1.0, 9.0), np.full(8, 0.125), costs.CostModel());"
        "print(time.process_time() - start)"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    print(f"  compiled code from the cache, in a new process: {float(loaded):.3f}")


def accuracy(quick: bool) -> None:
    """Print the excess over the converged cost [%] of each grid and size on the nine distributions."""
    print(f"cost above the converged cost [%], C = R = 0.1 h, alpha = 1; the default is {GRID}, n = {SIZE}")
    print(f"{'':18}" + "".join(f"{grid:^{9 * len(SIZES)}}" for grid in GRIDS))
    print(f"{'':18}" + "".join(f"{n:9}" for _ in GRIDS for n in SIZES) + f"{'cost':>12}{'default':>9}")
    worst = 0.0
    for name, given in TABLE_1.items():
        distribution = bound_support(given)
        best = min(_cost(distribution, 4000 if quick else CONVERGED, grid) for grid in GRIDS)
        excess = [100 * (_cost(distribution, n, grid) / best - 1) for grid in GRIDS for n in SIZES]
        default = 100 * (optimal(distribution, COSTS).expected_cost(distribution) / best - 1)
        worst = max(worst, default)
        print(f"{name:18}" + "".join(f"{value:9.4f}" for value in excess) + f"{best:12.6f}{default:9.4f}")
    print(f"the default grid and size: at most {worst:.4f} % above")


def _cost(distribution: Distribution, n: int, grid: str) -> float:
    return optimal(distribution, COSTS, n=n, grid=grid).expected_cost(distribution)


def main() -> None:
    """Print all of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller plans")
    quick = parser.parse_args().quick
    speed(quick)
    threshold()
    accuracy(quick)


if __name__ == "__main__":
    main()
