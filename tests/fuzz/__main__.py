"""``python -m tests.fuzz``: mutated inputs through the command line, counted by reader."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy is there: each thread maps much memory

from tests.fuzz.cases import READERS, Case, case
from tests.fuzz.judging import Judgement
from tests.fuzz.minimising import minimise
from tests.fuzz.workers import Worker, prepare

#: Cases of a reader before the next one has its turn, so that a search that is stopped has seen all of them.
_TURN = 200


@dataclass
class _Counts:
    """What came of the cases of one reader."""

    inputs: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    findings: int = 0
    seconds: float = 0.0


def main() -> int:
    """Search; the exit status is 1 if there are findings."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="inputs (default 1000)")
    parser.add_argument("--seed", type=int, default=0, help="of the inputs (default 0)")
    parser.add_argument(
        "--reader", action="append", choices=list(READERS), help="only this one; may be given several times"
    )
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after this time (default: never)")
    parser.add_argument("--first", type=int, default=0, help="index of the first input of each reader (default 0)")
    parser.add_argument("--show", type=int, metavar="INDEX", help="carry out this input of --reader alone and show it")
    parser.add_argument("--keep", metavar="DIR", help="write the files of findings, or of --show, to this directory")
    asked = parser.parse_args()
    readers = asked.reader or list(READERS)
    if asked.show is not None:
        with Worker() as worker:
            one = case(readers[0], asked.seed, asked.show)
            _show(one, worker.judgement(one), asked.keep)
        return 0
    prepare(readers)
    return _search(asked, readers)


def _search(asked: argparse.Namespace, readers: list[str]) -> int:
    total = sum(READERS[name][0] for name in readers)
    ends = {name: asked.first + max(1, round(asked.count * READERS[name][0] / total)) for name in readers}
    at = dict.fromkeys(readers, asked.first)
    counts = {name: _Counts() for name in readers}
    found: dict[tuple[str, str], list[tuple[int, Judgement]]] = {}
    stop = time.monotonic() + asked.seconds
    with Worker() as worker:
        while any(at[name] < ends[name] for name in readers) and time.monotonic() < stop:
            for name in readers:
                # Each has its share of every round, so that one that is stopped early has seen all in proportion.
                part = max(1, round(_TURN * len(readers) * READERS[name][0] / total))
                began = time.monotonic()
                for index, judgement in worker.judgements(name, asked.seed, at[name], min(ends[name], at[name] + part)):
                    at[name] = index + 1
                    counts[name].inputs += 1
                    counts[name].statuses[judgement.status] += 1
                    if judgement.finding:
                        counts[name].findings += 1
                        if (name, judgement.finding) not in found:
                            print(f"{name} {index}: {judgement.finding}", file=sys.stderr, flush=True)
                        found.setdefault((name, judgement.finding), []).append((index, judgement))
                    if time.monotonic() > stop:
                        break
                counts[name].seconds += time.monotonic() - began
        _table(counts)
        for (name, finding), cases in sorted(found.items()):
            index, judgement = cases[0]
            smallest = case(name, asked.seed, index)
            if not finding.startswith("hang"):
                smallest = minimise(smallest, finding, lambda one: worker.judgement(one).finding)
            print(f"\n=== {name} {index} (of {len(cases):,}): {finding}")
            _show(smallest, judgement, asked.keep and f"{asked.keep}/{name}-{index}")
    return 1 if found else 0


def _table(counts: dict[str, _Counts]) -> None:
    print(f"\n{'reader':<12}{'inputs':>10}{'exit 0':>10}{'exit 1':>8}{'exit 2':>10}{'findings':>10}{'ms each':>9}")
    for name, count in [*counts.items(), ("all", _sum(list(counts.values())))]:
        statuses = "".join(f"{count.statuses[status]:>{width},}" for status, width in ((0, 10), (1, 8), (2, 10)))
        each = count.seconds / count.inputs * 1e3 if count.inputs else 0
        print(f"{name:<12}{count.inputs:>10,}{statuses}{count.findings:>10,}{each:>9.1f}")


def _sum(counts: list[_Counts]) -> _Counts:
    whole = _Counts()
    for count in counts:
        whole.inputs += count.inputs
        whole.statuses += count.statuses
        whole.findings += count.findings
        whole.seconds += count.seconds
    return whole


def _show(one: Case, judgement: Judgement, keep: str | None) -> None:
    print(
        "holdfast",
        " ".join(
            repr(word[:200]) if len(word.split()) != 1 or not word.isascii() else word[:200] for word in one.words
        ),
    )
    for name, data in one.files.items():
        if keep is not None:
            path = Path(keep) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        if not name.startswith("r/") or len(one.files) == 1:
            print(f"--- {name} ({len(data):,} bytes)\n{data[:1200].decode('utf-8', 'backslashreplace')}")
    print(f"--- exit status {judgement.status}; {judgement.finding or 'accepted'}\n{judgement.details[-2500:]}")


if __name__ == "__main__":
    raise SystemExit(main())
