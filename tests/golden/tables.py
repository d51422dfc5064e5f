"""``python -m tests.golden.tables``: make ``tables.json`` again, digests of what readers and assignments make.

``--dump FILE`` writes what stands behind the digests, case by case: compare two of them to find what has changed.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.hybrid.assignment import as_rigid, assign
from holdfast.workloads.hybrid.groups import GROUPINGS
from holdfast.workloads.hybrid.type_balance import imbalance
from holdfast.workloads.logs.cancellations import keep_cancelled_jobs
from holdfast.workloads.logs.dependencies import follow_dependencies
from holdfast.workloads.logs.one_pool import caveats
from holdfast.workloads.logs.readers import read_workload
from holdfast.workloads.logs.starting_state import starting_state
from holdfast.workloads.logs.swf import write_swf
from holdfast.workloads.logs.trace import Trace, TraceJob
from holdfast.workloads.table.job import Job
from holdfast.workloads.table.job_table import JobTable, write_job_table
from holdfast.workloads.theta.generator import generate
from holdfast.workloads.theta.presets import preset_year
from holdfast.workloads.theta.year import ThetaYear
from tests.fuzz import seeds
from tests.fuzz.mutations import mutant
from tests.places import GOLDEN

__all__ = ["FILE", "REAL", "digest_of", "lively_trace", "made_cases", "real_cases", "swf"]

FILE = GOLDEN / "tables.json"
#: Real logs, and the sizes of their machines where they do not say them.
REAL = {
    "theta_2022.swf.gz": {},
    "theta_2018_sample_projects.swf.gz": {},
    "theta_sample_noprojects.swf.gz": {},
    "KTH-SP2-1996-2.1-cln.swf.gz": {},
    "SDSC-BLUE-2000-4.2-cln.swf.gz": {"procs_per_node": 8},
    "wagap-2013.swf.gz": {},
}
#: Mutations of each small log.
_MUTATIONS = 300

Case = Callable[[], Iterator[str]]


def digest_of(case: Case) -> str:
    """The SHA-256 of what a case makes."""
    found = hashlib.sha256()
    for line in case():
        found.update(line.encode("utf-8", "surrogatepass") + b"\n")
    return found.hexdigest()


def _row(job: TraceJob | Job) -> str:
    cells = (getattr(job, field.name) for field in fields(job))
    return ",".join(repr(float(cell)) if type(cell) is float else repr(cell) for cell in cells)


def _contents(workload: Trace | JobTable) -> Iterator[str]:
    """Everything that a workload holds."""
    yield from map(_row, workload.jobs)
    if isinstance(workload, Trace):
        for field in fields(workload):
            if field.name not in ("jobs", "withdrawn", "ended", "source"):
                value = getattr(workload, field.name)
                yield f"{field.name} {list(value.items()) if isinstance(value, Mapping) else value!r}"
        for item in workload.withdrawn:
            yield f"withdrawn {item.place} {item.reason} {item.tasks} {_row(item.job)}"
        yield from (f"ended {_row(job)}" for job in workload.ended)


def _file_contents(jobs: Any) -> Iterator[str]:
    """A job table as it is written."""
    with TemporaryDirectory() as place:
        for name in ("table.csv", "table.parquet"):
            write_job_table(jobs, Path(place) / name)
        # The bytes of Parquet name the version of pyarrow.
        yield hashlib.sha256((Path(place) / "table.csv").read_bytes()).hexdigest()
        yield from _contents(read_workload(Path(place) / "table.csv"))
        yield from _contents(read_workload(Path(place) / "table.parquet"))


def _swf(trace: Trace) -> Iterator[str]:
    with TemporaryDirectory() as place:
        write_swf(trace, Path(place) / "log.swf", note="a note")
        yield (Path(place) / "log.swf").read_text()


def _year_case(seed: int, preset: str) -> Case:
    def case() -> Iterator[str]:
        trace = generate(replace(preset_year(preset), jobs=700), seed)
        yield from _contents(trace)
        yield from _swf(trace)
        yield from _file_contents(as_rigid(trace))

    return case


def lively_trace(count: int = 400, seed: int = 5) -> Trace:
    """A trace in which all happens to jobs that can."""
    rng = Random(seed)
    jobs = []
    submit = 0.0
    for number in range(count):
        submit += rng.choice((0.0, 0.25, 60.0, 333.3333337))
        walltime = rng.choice((0.0000012, 59.5, 1800.0, 7200.0, 86400.0))
        runtime = min(walltime, rng.choice((0.0000011, 60.0, 1800.0, rng.uniform(1, 90000))))
        eligible = submit + rng.uniform(1, 5000) if rng.random() < 0.2 else None
        wait = rng.uniform(0, 9000) if rng.random() < 0.8 else None
        gone = rng.random() < 0.1 and wait is not None
        jobs.append(
            TraceJob(
                number * 3 + 1, submit, rng.choice((1, 2, 7, 64, 900, 1023, 1024, 3000)), runtime, walltime,
                runtime == walltime, wait, rng.choice(("", "ada", 'b "o", b', "7")), rng.choice(("", "p1", "ada", "9")),
                rng.randrange(1, 3 * count) if rng.random() < 0.3 else None, rng.choice((None, 5.0, 0.3333333)),
                (submit if eligible is None else eligible) + wait if gone and wait is not None else None, None,
                rng.choice(("", "batch", "debug")), eligible, "", rng.choice(("", "high")),
            )
        )  # fmt: skip
    return Trace(tuple(jobs), nodes=4360, source="made", format="made")


#: What differs from the defaults of an assignment, case by case.
_ASSIGNMENTS: tuple[dict[str, Any], ...] = (
    {},
    *({"group_by": name} for name in GROUPINGS[1:]),
    *({"notice_mix": mix, "no_show_share": 0.3} for mix in ("W1", "W2", "W3", "W4")),
    {"notice_mix": (0.1, 0.2, 0.3, 0.4), "notice_lead": (0.0, 7200.5), "lateness": 0.3},
    {"shares": (0.6, 0.4, 0.0), "largest_on_demand": 0.01},
    {"shares": (1.0, 0.0, 0.0), "largest_on_demand": 0.1},
    {"shares": (0.0, 0.5, 0.5), "overheads": "added"},
    {"shares": (0.0, 0.5, 0.5), "overheads": "added", "walltimes": "trace"},
    *(
        {"shares": (0.2, 0.6, 0.2), "checkpoint_factor": factor, "extra_dumps": dumps, "overheads": overheads}
        for factor in (0.05, 0.5, 2.0)
        for dumps in ("charged", "free")
        for overheads in ("inside", "added")
    ),
    {"checkpoint_factor": 0.1, "walltimes": "trace"},
    {"node_mtbf": 1000.0, "rigid_setup": (0.0, 0.0)},
    {"node_mtbf": 1e-9},
    {"checkpoint_factor": 1e30},
    {"stochastic_share": 0.5, "plan": "masi k=10"},
    {"stochastic_share": 1.0},
    {"min_share": 0.07, "malleable_setup": (0.3, 0.9)},
)


def _assignment_case(trace: Trace, changes: dict[str, Any], seed: int) -> Case:
    def case() -> Iterator[str]:
        try:
            jobs = assign(trace, seed=seed, **changes)
            yield from map(_row, jobs)
            yield imbalance(trace, jobs)
            linked, remarks = follow_dependencies(trace, jobs)
            yield str(remarks)
            yield from _file_contents(linked)
        except InputError as error:
            yield str(error)

    return case


def _life() -> Iterator[str]:
    trace = lively_trace()
    yield from caveats(trace)
    for begin in (4000.0, 12000.0, 20000.0):
        part = starting_state(replace(trace, nodes=20_000), begin)
        yield from _contents(part)
        yield from _file_contents(as_rigid(part))
        yield from map(_row, assign(part, seed=3, stochastic_share=0.2))
    yield from _contents(trace.on_machine(64))


def swf(seed: int = 7, count: int = 250) -> bytes:
    """A log with everything that the format allows."""
    rng = Random(seed)
    lines = ["; Version: 2.2", "; MaxProcs: 128", "; MaxNodes: 32", "; Queue: 1 express", "; Note: a", ";   b"]
    submit = 0
    for number in range(1, count):
        submit += rng.choice((0, 1, 60, -5))
        cells: list[Any] = [
            number if rng.random() < 0.97 else number - 1, submit if rng.random() < 0.95 else f"{submit}.5",
            rng.choice((-1, 0, 5, 100, 7.25)), rng.choice((0, -1, 1, 60, 3600, 59.75)), rng.choice((-1, 0, 4, 8)),
            rng.choice((-1, 1.5)), rng.choice((-1, 1024)), rng.choice((-1, 1, 4, "8.0", 16)),
            rng.choice((-1, 60, 3600, 4000)), rng.choice((-1, 0, 512)), rng.choice((-1, 0, 1, 1, 1, 2, 3, 4, 5)),
            rng.choice((-1, 3, 7, "007", "7.0")), rng.choice((-1, 1, 2)), rng.choice((-1, 1)), rng.choice((-1, 1, 2)),
            rng.choice((-1, 1, 2)), rng.choice((-1, -1, number - 1, 0, number + 1)), rng.choice((-1, 30, 0)),
        ]  # fmt: skip
        if rng.random() < 0.02:
            del cells[17]
        if rng.random() < 0.02:
            cells += ["512", "node17"]
        lines.append(rng.choice((" ", "  ", "\t")).join(map(str, cells)))
        if rng.random() < 0.02:
            lines.append(rng.choice(("", "; a comment", "   ")))
    return "\n".join(lines).encode() + b"\n"


def _arrays() -> bytes:
    """Accounting of Slurm in which arrays were withdrawn before they started."""
    text = seeds.sacct().decode()
    rows = [
        f"{2000 + n}|{name}|u1|a1|batch|CANCELLED by 7|{1_700_000_000 + n}|{1_700_000_050}|None|1700009000|0|120|2|128"
        for n, name in enumerate(("990_[1-20%4]", "991_[1,5-7]", "992", "993+1", "994_[1-3,...]"))
    ]
    lines = text.split("\n")
    return "\n".join([*lines[:4], *rows, *lines[4:]]).encode()


#: Small logs by name.
_LOGS: dict[str, Callable[[], bytes]] = {
    "swf": swf,
    "alea": seeds.alea,
    "alcf": seeds.alcf,
    "columns": seeds.columns,
    "sacct": seeds.sacct,
    "sacct-texts": seeds.sacct_texts,
    "sacct-aligned": seeds.aligned_sacct,
    "sacct-json": seeds.json_sacct,
    "sacct-arrays": _arrays,
}
_CHOICES: tuple[dict[str, Any], ...] = (
    {},
    {"lenient": True},
    {"procs_per_node": 4},
    {"unit": "nodes"},
    {"unit": "processors"},
    {"where": "user=3,u1,7"},
    {"where": ["user!=7", "queue=1,default,batch"], "lenient": True},
    {"where": "state=completed"},
    {"where": "nosuch=1"},
)


def _read(data: bytes, options: dict[str, Any], place: Path) -> Iterator[str]:
    path = place / "log"
    path.write_bytes(data)
    try:
        workload = read_workload(path, **options)
        yield from _contents(workload)
        if isinstance(workload, Trace):
            yield from caveats(workload)
            yield from _contents(keep_cancelled_jobs(workload))
            yield from map(_row, follow_dependencies(workload, as_rigid(workload))[0])
    except InputError as error:
        yield str(error).replace(str(place), "")


def _log(name: str) -> Case:
    def case() -> Iterator[str]:
        with TemporaryDirectory() as place:
            for options in _CHOICES:
                yield from _read(_LOGS[name](), options, Path(place))
            yield from _read(gzip.compress(_LOGS[name](), mtime=0), {}, Path(place))

    return case


def _mutation_case(name: str, make: Callable[[], bytes]) -> Case:
    def case() -> Iterator[str]:
        rng = Random(f"golden {name}")
        with TemporaryDirectory() as place:
            for index in range(_MUTATIONS):
                yield f"mutation {index}"
                options = rng.choice(_CHOICES[:-1])
                yield from _read(mutant(rng, make()), options, Path(place))

    return case


def _table() -> bytes:
    with TemporaryDirectory() as place:
        write_job_table(seeds.table(), Path(place) / "a.csv")
        return (Path(place) / "a.csv").read_bytes()


def _lively_table() -> bytes:
    trace = lively_trace(40)
    with TemporaryDirectory() as place:
        write_job_table(follow_dependencies(trace, assign(trace, seed=2))[0], Path(place) / "a.csv")
        return (Path(place) / "a.csv").read_bytes()


def made_cases() -> dict[str, Case]:
    """Cases that need no files."""
    year = generate(ThetaYear(jobs=500), 1)
    lively = lively_trace()
    cases: dict[str, Case] = {f"generated {preset}": _year_case(3, preset) for preset in
                              ("default", "runtime-backfilling", "even-projects")}  # fmt: skip
    cases["life"] = _life
    for number, changes in enumerate(_ASSIGNMENTS):
        cases[f"assigned year {number}"] = _assignment_case(year, changes, number)
        cases[f"assigned lively {number}"] = _assignment_case(lively, changes, number + 1)
    for name, make in _LOGS.items():
        cases[f"log {name}"] = _log(name)
        cases[f"mutated {name}"] = _mutation_case(name, make)
    cases["mutated table"] = _mutation_case("table", _table)
    cases["mutated lively table"] = _mutation_case("lively table", _lively_table)
    return cases


def real_cases(find: Callable[[str], Path]) -> dict[str, Case]:
    """Cases of real logs."""

    def case(name: str, options: dict[str, Any]) -> Case:
        def log_contents() -> Iterator[str]:
            trace = read_workload(find(name), **options)
            if not isinstance(trace, Trace):
                raise TypeError(name)
            yield from _contents(trace)
            yield from caveats(trace)
            nodes = trace.nodes or max(job.nodes for job in trace.jobs)
            kept = keep_cancelled_jobs(trace).on_machine(nodes)
            jobs, remarks = follow_dependencies(kept, as_rigid(kept))
            yield str(remarks)
            yield from map(_row, jobs)
            yield from map(_row, assign(trace.on_machine(nodes), seed=1))
            yield from _swf(trace)

        return log_contents

    return {name: case(name, options) for name, options in REAL.items()}


def main() -> None:
    """Write the digests."""
    from tests.places import ROOT

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dump", type=Path)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    traces = ROOT.parent / "shared" / "data" / "traces"
    cases = {**made_cases(), **real_cases(lambda name: traces / name)}
    if options.dump:
        with options.dump.open("w", encoding="utf-8", errors="surrogatepass", newline="\n") as file:
            for name, case in cases.items():
                if name.startswith(options.only):
                    file.writelines(f"{line}\n" for line in (f"== {name}", *case()))
        return
    FILE.write_text(json.dumps({name: digest_of(case) for name, case in cases.items()}, indent=1) + "\n")


if __name__ == "__main__":
    main()
