"""Without cancellations, dependencies and a starting state every result is what it was before there were any.

The digests were made by this file from the commit before (403970b): ``python -m tests.test_life_off`` prints them.
"""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path

import pytest

from experiments.cli import main
from simulator import Result, simulate
from tests.reference.hybrid import MECHANISMS
from tests.stochastic_strategies import random_mix
from tests.strategies import random_job_table

#: What a result said then, by name, so that others may add to it.
_RECORD = ["job_id", "type", "submit", "start", "end", "nodes", "runtime", "preemptions", "shrinks", "status", "lost"]
_CHOICES = ({}, {"passes": "event"}, {"tenants": "fits", "backfill_length": "runtime"})
#: Columns of wall-clock times, and files that name the version and the options.
_TIMES = ("decision_ms_p99", "decision_ms_max", "engine_seconds", "planning_seconds")

SIMULATIONS = {
    "baseline": "a88dd889b007c48c",
    "N&PAA": "a5ac39472b8e48fb",
    "N&SPAA": "b9b54c3602d5cdb5",
    "CUA&PAA": "5d5b96eb7f577600",
    "CUA&SPAA": "703b8b9c21444b72",
    "CUP&PAA": "a086784852495de1",
    "CUP&SPAA": "cde7b9e2210be581",
}
FILES = {
    "accounting.csv": "39a34eed3c79b9c3",
    "events-CUP-SPAA.csv": "0ed379302a490453",
    "events-baseline.csv": "6f117abafde14c39",
    "jobs-CUP-SPAA.csv": "1b41a443c09a16d7",
    "jobs-baseline.csv": "f884dac137338d2f",
    "jobs.csv": "09d6c82e6ff4f18b",
    "reservations-CUP-SPAA.csv": "51924eb0ab60abbf",
    "reservations-baseline.csv": "5f6ba54dc34041a1",
    "stochastic-CUP-SPAA.csv": "31f3006f75162307",
    "stochastic-baseline.csv": "8bd76d34c2cfdeec",
    "summary.csv": "6c5539d3e91c843c",
    "types.csv": "85d3b468bdb9f5a1",
    "table.csv": "09d6c82e6ff4f18b",
    "year.swf": "1eacbf29efea77bc",
}


def digest_of(results: list[Result]) -> str:
    """One word for all that the simulations have shown."""
    word = hashlib.sha256()
    for result in results:
        records = [tuple(getattr(record, name) for name in _RECORD) for record in result.records]
        entries = [tuple(entry) for entry in result.entries]
        shown = (
            records,
            entries,
            list(result.samples),
            tuple(result.accounting[:7]),
            list(result.losses),
            result.origin,
        )
        word.update(repr(shown).encode())
    return word.hexdigest()[:16]


def simulated(mechanism: str) -> list[Result]:
    """Crowded tables with every kind of job."""
    results = []
    for seed in range(40):
        table = random_job_table(seed, max_jobs=30)
        results.append(simulate(table.jobs, table.nodes, mechanism, **_CHOICES[seed % 3]))
        mix = random_mix(seed)
        results.append(simulate(mix.jobs, mix.nodes, mechanism, plans=mix.plans, **_CHOICES[seed % 3]))
    return results


def written(directory: Path) -> dict[str, str]:
    """The files of a small year from end to end, without their wall-clock times."""
    trace, table, out = directory / "year.swf", directory / "table.csv", directory / "out"
    assert main(["generate", "-o", str(trace), "--jobs", "300", "--seed", "3"]) == 0
    assert main(["prepare", str(trace), "-o", str(table), "--seed", "2", "--stochastic-share", "0.4"]) == 0
    options = ["--seed", "2", "--stochastic-share", "0.4", "--mechanism", "baseline,CUP-SPAA", "--events"]
    assert main(["run", str(trace), "-o", str(out), *options]) == 0
    digests = {}
    for path in sorted([trace, table, *out.glob("*.csv")]):
        lines = path.read_text().splitlines()
        if path.name == "summary.csv":
            names = lines[0].split(",")
            kept = [place for place, name in enumerate(names) if name not in _TIMES]
            lines = [",".join(line.split(",")[place] for place in kept) for line in lines]
        digests[path.name] = hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]
    return digests


@pytest.mark.parametrize("mechanism", ["baseline", *MECHANISMS])
def test_simulations_are_what_they_were(mechanism: str) -> None:
    assert digest_of(simulated(mechanism)) == SIMULATIONS[mechanism]


def test_files_are_what_they_were(tmp_path: Path) -> None:
    # Later versions may write more of them.
    found = written(tmp_path)
    assert {name: found.get(name) for name in FILES} == FILES


if __name__ == "__main__":
    print("SIMULATIONS = {")
    for name in ("baseline", *MECHANISMS):
        print(f'    "{name}": "{digest_of(simulated(name))}",')
    print("}")
    with tempfile.TemporaryDirectory() as folder:
        print(f"FILES = {written(Path(folder))}")
