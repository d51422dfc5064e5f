"""The command: ``python -m tests.preset --jobs 100000 --seed 0``; exit status 1 if the two disagree on a job."""

from __future__ import annotations

import argparse
import sys

from tests.preset.comparison import compared_years


def main(arguments: list[str] | None = None) -> int:
    """Compare, and print a line for each year and mechanism."""
    parser = argparse.ArgumentParser(prog="python -m tests.preset", description=__doc__)
    parser.add_argument("--reading", default="paper", help="preset (default paper)")
    parser.add_argument("--jobs", type=int, default=100_000, help="jobs of each mechanism (default 100,000)")
    parser.add_argument("--length", type=int, default=1_000, help="jobs of a year (default 1,000)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first year (default 0)")
    how = parser.parse_args(arguments)
    compared, wrong = 0, 0
    for own in compared_years(how.reading, how.jobs, how.length, how.seed):
        compared += own.jobs
        wrong += bool(own.faults)
        words = f"{len(own.faults)} differ: {own.faults[0]}" if own.faults else "all alike"
        print(
            f"seed {own.seed}, {own.mix}, {own.mechanism}: {own.jobs:,} jobs, {own.preempted:,} preempted, "
            f"{own.shrunk:,} shrunk, {words}",
            flush=True,
        )
    print(f"{compared:,} jobs compared; {wrong} of the simulations differ")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
