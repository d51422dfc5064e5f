"""The command: ``python -m tests.search --count 100000 --seed 0``."""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections import Counter
from contextlib import suppress
from functools import partial

from holdfast.workloads.ground.errors import InputError
from tests.search.cases import Case, seeded_case
from tests.search.checker import broken_laws
from tests.search.smaller import smallest


def faults(case: Case, *, measured: bool = True) -> list[str]:
    """What is wrong with a case; a legal refusal is not."""
    try:
        return broken_laws(case, case.simulate(), measured=measured)
    except InputError as error:
        return [] if "nodes fail too often" in str(error) else [f"refused: {error}"]
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        return [f"{type(error).__name__} in {place.name}: {error}"]


def kind_of(sentence: str) -> str:
    """A sentence without its numbers."""
    return "".join(letter for letter in sentence if not letter.isdigit())[:60]


def _fails(kind: str, case: Case) -> bool:
    return any(kind_of(sentence) == kind for sentence in faults(case))


def main(arguments: list[str] | None = None) -> int:
    """Search; returns how many cases break a law, at most 1."""
    parser = argparse.ArgumentParser(prog="python -m tests.search", description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="cases to try (default: 1000)")
    parser.add_argument("--seed", type=int, default=0, help="seed of all cases (default: 0)")
    parser.add_argument("--first", type=int, default=0, help="number of the first case (default: 0)")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="time to stop after, in s")
    parser.add_argument("--shown", type=int, default=3, help="cases to print of each kind of fault (default: 3)")
    given = parser.parse_args(arguments)
    began, tried, jobs = time.monotonic(), 0, 0
    kinds: Counter[str] = Counter()
    # Interrupted, it tells what it has found so far.
    with suppress(KeyboardInterrupt):
        for index in range(given.first, given.first + given.count):
            if time.monotonic() - began > given.seconds:
                break
            case = seeded_case(given.seed, index)
            found = faults(case, measured=index % 4 == 0)
            tried, jobs = tried + 1, jobs + len(case.jobs)
            if not found:
                continue
            kind = kind_of(found[0])
            kinds[kind] += 1
            if kinds[kind] <= given.shown:
                small = smallest(case, partial(_fails, kind))
                print(f"# case {index} of seed {given.seed}: {found[0]}")
                print(f"# made small: {faults(small)[0]}")
                print(small.source(), flush=True)
    print(f"{tried:,} simulations of {jobs:,} jobs in {time.monotonic() - began:.0f} s, {kinds.total()} break a law")
    for kind, count in kinds.most_common():
        print(f"{count:8,}  {kind}")
    return int(bool(kinds))


if __name__ == "__main__":
    sys.exit(main())
