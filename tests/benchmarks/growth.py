"""How the time for a job grows with the queue: nearly all jobs of a table wait at once.

Run ``python -m tests.benchmarks.growth [--jobs 100 1000 10000] [--large]``. Figures are processor time, as those of
:mod:`tests.benchmarks.deep`; ``--large`` goes on to 100,000 waiting jobs, which takes some minutes.
"""

from __future__ import annotations

import argparse

from tests.benchmarks.deep import measure_in_process
from tests.benchmarks.figures import print_figure

#: Work that is submitted, over what the machine can do meanwhile.
_LOAD = 100.0
_CASES = ("fcfs/easy", "wfp3/easy", "fcfs/conservative")


def main() -> None:
    """Print all of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, nargs="+", default=[100, 1000, 10_000])
    parser.add_argument("--large", action="store_true", help="also 100,000 jobs")
    options = parser.parse_args()
    sizes = [*options.jobs, *([100_000] if options.large else [])]
    for case in _CASES:
        each: dict[int, float] = {}
        for jobs in sizes:
            found = measure_in_process(case, jobs, _LOAD)
            if found is not None:
                each[jobs] = found.seconds / jobs
        for jobs in sizes[2:]:
            # Below, the code that is loaded for a long queue would count most.
            if jobs in each and jobs // 10 in each:
                print_figure(
                    f"a job of {jobs:,} that wait over one of {jobs // 10:,}, {case}",
                    each[jobs] / each[jobs // 10],
                    "x",
                )


if __name__ == "__main__":
    main()
