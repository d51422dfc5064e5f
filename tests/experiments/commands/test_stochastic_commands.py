"""Stochastic jobs on the command line and in files: what is written, what comes back, what is refused."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holdfast.experiments import cli
from holdfast.experiments.planning.plan_inputs import read_plan
from holdfast.policies.planning.costs import CostModel
from holdfast.policies.planning.plan import ReservationPlan
from holdfast.policies.planning.strategies import optimal
from holdfast.workloads.distributions import uniform
from holdfast.workloads.ground.units import to_ticks
from holdfast.workloads.hybrid.assignment import Assignment, assign
from holdfast.workloads.hybrid.groups import group_jobs, group_names
from holdfast.workloads.logs.trace import Trace, TraceJob
from holdfast.workloads.table.columns import COLUMNS, STOCHASTIC_COLUMNS
from holdfast.workloads.table.job import Job, JobType
from holdfast.workloads.table.job_table import read_job_table, write_job_table
from tests.support.jobs import manifest_without_times, rigid, stochastic

#: Wall-clock times: the only columns that differ between two runs.
TIMES = ("decision_ms_p99", "decision_ms_max", "engine_seconds", "planning_seconds")


@pytest.fixture(scope="module")
def year(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("traces") / "year.swf"
    assert cli.main(["generate", "-o", str(path), "--jobs", "500", "--seed", "5"]) == 0
    return path


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def check_refusal(capsys: pytest.CaptureFixture[str], words: list[str], *expected: str) -> None:
    """Exit status 2, and one sentence."""
    capsys.readouterr()
    try:
        status = cli.main(words)
    except SystemExit as ended:  # how argparse refuses
        status = int(ended.code or 0)
    error = capsys.readouterr().err
    assert status == 2, error
    assert error.startswith("holdfast")
    assert len(error.strip().splitlines()) == 1, error
    assert "Traceback" not in error
    for part in expected:
        assert part in error


# -- files --


def test_a_table_with_stochastic_jobs_comes_back(tmp_path: Path) -> None:
    jobs = [
        rigid(1, 0, 4, 100),
        stochastic(2, 5.5, 3, 33.333333, 'a, "b".json', application="x,y\nz", walltime=50.0, checkpoint_cost=1.25),
        stochastic(3, 6, 3, 1e6, "masi k=10 factor=2", walltime=20.0, restart_cost=0.000001),
        stochastic(4, 6, 3, 30.5, "optimal", memory_profile="10:2.5 20.5:1e1"),
        replace(stochastic(5, 6, 3, 30.0, "optimal"), true_runtime=None),
    ]
    for name in ("jobs.csv", "jobs.csv.gz", "jobs.parquet"):
        if name.endswith(".parquet"):
            pytest.importorskip("pyarrow")
        write_job_table(jobs, tmp_path / name)
        assert list(read_job_table(tmp_path / name).jobs) == jobs
        again = tmp_path / f"again-{name}"
        write_job_table(read_job_table(tmp_path / name).jobs, again)
        assert again.read_bytes() == (tmp_path / name).read_bytes()
    text = (tmp_path / "jobs.csv").read_text()
    assert text.splitlines()[0] == ",".join((*COLUMNS, *STOCHASTIC_COLUMNS))


def test_without_stochastic_jobs_their_columns_are_not_written(tmp_path: Path) -> None:
    write_job_table([rigid(1, 0, 4, 100)], tmp_path / "jobs.csv")
    assert (tmp_path / "jobs.csv").read_text().splitlines()[0] == ",".join(COLUMNS)


GOOD = {
    **{"job_id": "7", "type": "stochastic", "submit": "0", "nodes": "4", "runtime": "10", "walltime": "20"},
    **{"application": "atlas", "plan": "optimal"},
}
RIGID = {name: GOOD[name] for name in ("job_id", "submit", "nodes", "runtime", "walltime")} | {"type": "rigid"}
WRONG_ROWS: list[tuple[dict[str, str], str]] = [
    ({**GOOD, "plan": ""}, "plan of job 7 must be a planning strategy or the name of a plan for a stochastic job, not"),
    ({**GOOD, "plan": "  "}, "plan of job 7 must be a planning strategy or the name of a plan"),
    ({**GOOD, "application": ""}, "application of job 7 must be given for a stochastic job"),
    ({**GOOD, "setup": "1"}, "setup of job 7 must be 0 for a stochastic job, which has restarts instead, not 1.0"),
    ({**GOOD, "restart_cost": "-1"}, "restart_cost of job 7 must be from 0 to 1,000,000,000,000 s, not -1.0"),
    ({**GOOD, "restart_cost": "inf"}, "restart_cost must be a finite number, not 'inf'"),
    ({**GOOD, "restart_cost": "soon"}, "restart_cost must be a"),
    ({**GOOD, "checkpoint_cost": "-2"}, "checkpoint_cost of job 7 must be from 0 to 1,000,000,000,000 s"),
    ({**GOOD, "checkpoint_interval": "9"}, "checkpoint_interval of job 7 must be missing for a job that is not rigid"),
    ({**GOOD, "true_runtime": "0"}, "true_runtime of job 7 must be from 0.000001 to 1,000,000,000,000 s, or missing"),
    ({**GOOD, "true_runtime": "-3"}, "true_runtime of job 7 must be from 0.000001 to 1,000,000,000,000 s, or missing"),
    ({**GOOD, "true_runtime": "nan"}, "true_runtime must be a finite number, not 'nan'"),
    ({**GOOD, "memory_profile": "10"}, "memory_profile of job 7 must be SECONDS:GB for each task"),
    ({**GOOD, "memory_profile": "10:-1"}, "memory_profile of job 7 must be SECONDS:GB for each task"),
    ({**GOOD, "memory_profile": "10:x"}, "memory_profile of job 7 must be SECONDS:GB for each task"),
    ({**GOOD, "memory_profile": " "}, "memory_profile of job 7 must be SECONDS:GB for each task"),
    ({**GOOD, "memory_profile": "9:1"}, "memory_profile of job 7 must be as long as its true runtime of 10.0 s"),
    (
        {**GOOD, "memory_profile": "10:1", "true_runtime": "12"},
        "memory_profile of job 7 must be as long as its true runtime of 12.0 s",
    ),
    ({**GOOD, "min_nodes": "2"}, "min_nodes of job 7 must be missing or its 4 nodes"),
    ({**GOOD, "notice": "0", "estimated_arrival": "5"}, "notice of job 7 must be missing for a stochastic job"),
    ({**GOOD, "submit": ""}, "submit of job 7 must be from 0 to 1,000,000,000,000 s, not missing"),
    ({**GOOD, "runtime": "30"}, "runtime of job 7 must be at most its walltime of 20.0 s"),
    *(
        ({**RIGID, name: value}, f"{name} of job 7 must be missing for a rigid job, not {shown}")
        for name, value, shown in (
            ("application", "atlas", "'atlas'"),
            ("plan", "optimal", "'optimal'"),
            ("true_runtime", "5", "5.0"),
            ("true_runtime", "0", "0.0"),
            ("restart_cost", "5", "5.0"),
            ("memory_profile", "10:1", "'10:1'"),
        )
    ),
]


@pytest.mark.parametrize(("row", "sentence"), WRONG_ROWS, ids=[sentence[:45] for _, sentence in WRONG_ROWS])
def test_wrong_rows(row: dict[str, str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "table.csv"
    names = (*COLUMNS, *STOCHASTIC_COLUMNS)
    fine = {**GOOD, "job_id": "1"}
    lines = [",".join(names), *(",".join(item.get(name, "") for name in names) for item in (fine, row))]
    path.write_text("\n".join(lines) + "\n")
    check_refusal(capsys, ["run", str(path), "-o", str(tmp_path / "out"), "--nodes", "16"], f"{path}:3: {sentence}")
    assert not (tmp_path / "out").exists()


# -- prepare --


def test_prepare_writes_the_same_bytes_twice(year: Path, tmp_path: Path) -> None:
    words = ["prepare", str(year), "--stochastic-share", "0.4", "--plan", "masi k=10 factor=2", "-o"]
    for name in ("one.csv", "two.csv"):
        assert cli.main([*words, str(tmp_path / name)]) == 0
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()
    jobs = read_job_table(tmp_path / "one.csv").jobs
    chosen = [job for job in jobs if job.type is JobType.STOCHASTIC]
    assert 0 < len(chosen) < len(jobs)
    assert {job.plan for job in chosen} == {"masi k=10 factor=2"}
    assert all(job.application and job.restart_cost == job.checkpoint_cost > 0 for job in chosen)


def test_a_share_of_nothing_changes_nothing_and_a_larger_one_adds_groups(year: Path, tmp_path: Path) -> None:
    tables: dict[str, dict[int, Job]] = {}
    for share in ("0", "0.3", "0.6", "1"):
        path = tmp_path / f"{share}.csv"
        assert cli.main(["prepare", str(year), "--stochastic-share", share, "-o", str(path)]) == 0
        tables[share] = {job.job_id: job for job in read_job_table(path).jobs}
    assert cli.main(["prepare", str(year), "-o", str(tmp_path / "plain.csv")]) == 0
    assert (tmp_path / "0.csv").read_bytes() == (tmp_path / "plain.csv").read_bytes()
    before: set[int] = set()
    for share, jobs in tables.items():
        chosen = {job_id for job_id, job in jobs.items() if job.type is JobType.STOCHASTIC}
        assert before <= chosen
        assert len(chosen) > len(before) or share == "0"
        assert all(jobs[job_id] == tables["0"][job_id] for job_id in jobs if job_id not in chosen)
        before = chosen
    assert len(before) == len(tables["1"])


@pytest.mark.parametrize("group_by", ["auto", "project", "user", "campaign"])
def test_an_application_is_a_group(group_by: str) -> None:
    """Also where a project, a user and a campaign are called alike."""
    rng = np.random.default_rng(2)
    names = ["", "group-1", "group-2", "anna", "user anna", "project anna"]
    jobs = tuple(
        TraceJob(
            number,
            10.0 * number,
            int(rng.integers(1, 4)),
            50.0,
            60.0,
            user=names[int(rng.integers(0, 6))],
            project=names[int(rng.integers(0, 6))],
        )
        for number in range(200)
    )
    trace = Trace(jobs, nodes=16)
    assigned = assign(trace, Assignment(group_by=group_by, stochastic_share=0.7), seed=1)
    groups: dict[str, set[int]] = defaultdict(set)
    applications: dict[int, set[str]] = defaultdict(set)
    for job, group in zip(assigned, group_jobs(trace, group_by), strict=True):
        if job.type is JobType.STOCHASTIC:
            groups[job.application].add(group)
            applications[group].add(job.application)
    assert len(groups) > 2
    assert all(len(of) == 1 for of in groups.values())
    assert all(len(of) == 1 for of in applications.values())
    plain = Trace(tuple(replace(job, user="", project=f"p{job.job_id % 3}") for job in jobs), nodes=16)
    assert set(group_names(plain)) == {"p0", "p1", "p2"}


def test_the_true_runtime_is_the_traces(year: Path, tmp_path: Path) -> None:
    plain, stochastic_table = tmp_path / "plain.csv", tmp_path / "stochastic.csv"
    assert cli.main(["prepare", str(year), "-o", str(plain)]) == 0
    assert cli.main(["prepare", str(year), "--stochastic-share", "1", "-o", str(stochastic_table)]) == 0
    for before, after in zip(read_job_table(plain).jobs, read_job_table(stochastic_table).jobs, strict=True):
        assert (before.runtime, before.walltime, before.nodes) == (after.runtime, after.walltime, after.nodes)
        assert (after.setup, after.checkpoint_interval, after.killed, after.true_runtime) == (0, None, False, None)


WRONG_WORDS: list[tuple[list[str], str]] = [
    (["--stochastic-share", "2"], "--stochastic-share must be a share from 0 to 1, not '2'"),
    (["--stochastic-share", "-0.1"], "--stochastic-share must be a share from 0 to 1"),
    (["--stochastic-share", "nan"], "--stochastic-share must be a share from 0 to 1"),
    (["--stochastic-share", "half"], "--stochastic-share must be a share from 0 to 1, not 'half'"),
    (["--stochastic-share", "0.5", "--plan", "optimum"], "unknown planning strategy 'optimum': did you mean optimal"),
    (["--stochastic-share", "0.5", "--plan", ""], "plan"),
    (["--stochastic-share", "0.5", "--plan", "masi q=3"], "unknown parameter of the strategy masi 'q'"),
    (["--stochastic-share", "0.5", "--plan", "masi k=x"], "k must be a number, not 'x'"),
    (["--stochastic-share", "0.5", "--plan", "masi k=0"], "k must be a whole number >= 1, not 0"),
    (
        ["--stochastic-share", "0.5", "--plan", "masi factor=0.5"],
        "factor must be a number above 1 and at most 1,000,000",
    ),
    (["--stochastic-share", "0.5", "--plan", "optimal n=0"], "n must be a whole number of cells from 1 to 200,000"),
    (["--stochastic-share", "0.5", "--plan", "optimal grid=cubist"], "unknown grid 'cubist'"),
    (["--stochastic-share", "0.5", "--plan", "mem-all-ckpt"], "chain"),
]


@pytest.mark.parametrize(("words", "sentence"), WRONG_WORDS, ids=[" ".join(words) for words, _ in WRONG_WORDS])
def test_wrong_words(
    words: list[str], sentence: str, year: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check_refusal(capsys, ["prepare", str(year), "-o", str(tmp_path / "out"), *words], sentence)
    check_refusal(capsys, ["run", str(year), "-o", str(tmp_path / "out"), *words], sentence)
    assert not (tmp_path / "out").exists()


# -- run --


@pytest.mark.system
def test_run_writes_the_same_bytes_twice(year: Path, tmp_path: Path) -> None:
    words = ["run", str(year), "--stochastic-share", "0.4", "--mechanism", "baseline,CUP-SPAA", "--events"]
    words += ["--checkpoint-variation", "0.2", "--checkpoint-mode", "strict", "--known-runs", "4", "--fit", "discrete"]
    for name in ("one", "two"):
        assert cli.main([*words, "-o", str(tmp_path / name)]) == 0
    written = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert {"stochastic-CUP-SPAA.csv", "reservations-CUP-SPAA.csv", "reservations-baseline.csv"} <= set(written)
    for name in written:
        one, other = tmp_path / "one" / name, tmp_path / "two" / name
        if name == "summary.csv":
            assert [{**row, **dict.fromkeys(TIMES)} for row in rows(one)] == [
                {**row, **dict.fromkeys(TIMES)} for row in rows(other)
            ]
        elif name == "run.json":  # has the digest of that file
            assert manifest_without_times(one) == manifest_without_times(other)
        else:
            assert one.read_bytes() == other.read_bytes(), name
    # The table beside the results gives the results.
    again = ["run", str(tmp_path / "one" / "jobs.csv"), "-o", str(tmp_path / "again"), "--nodes", "4392", *words[4:]]
    assert cli.main(again) == 0
    for name in ("stochastic-CUP-SPAA.csv", "reservations-CUP-SPAA.csv", "jobs-baseline.csv"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "one" / name).read_bytes()


def test_the_tables_of_a_run_agree(year: Path, tmp_path: Path) -> None:
    words = ["run", str(year), "--stochastic-share", "0.4", "--mechanism", "CUP-PAA", "--fit", "discrete"]
    assert cli.main([*words, "-o", str(tmp_path)]) == 0
    of_job = defaultdict(list)
    for row in rows(tmp_path / "reservations-CUP-PAA.csv"):
        of_job[row["job_id"]].append(row)
    jobs = {row["job_id"]: row for row in rows(tmp_path / "jobs-CUP-PAA.csv")}
    table = rows(tmp_path / "stochastic-CUP-PAA.csv")
    assert {row["job_id"] for row in table} == set(of_job)
    assert {job_id for job_id, row in jobs.items() if row["type"] == "stochastic"} == set(of_job)
    learnt = 0
    for row in table:
        items, job = of_job[row["job_id"]], jobs[row["job_id"]]
        used = sum(float(item["end"]) - float(item["start"]) for item in items)
        assert float(row["used"]) == pytest.approx(used, abs=1e-5)
        assert float(row["reserved"]) == pytest.approx(sum(float(item["length"]) for item in items))
        assert int(row["reservations"]) == len(items)
        assert float(row["execution_stretch"]) == pytest.approx(used / float(row["runtime"]))
        assert float(row["stretch"]) == pytest.approx(float(job["turnaround"]) / float(row["runtime"]))
        assert items[-1]["ending"] == "completed"
        assert float(items[-1]["end"]) == float(job["end"])
        wasted = [item for item in items if item["ending"] not in ("saved", "completed")]
        assert float(row["wasted"]) == pytest.approx(
            sum(float(item["end"]) - float(item["start"]) for item in wasted), abs=1e-5
        )
        assert (row["expected_cost"] == "") == (row["strategy"] == "walltime") == (row["runs_known"] == "0")
        learnt += row["strategy"] == "optimal"
    assert learnt > 20
    (summary,) = rows(tmp_path / "summary.csv")
    mean = sum(float(row["paid_cost"]) for row in table) / len(table)
    assert float(summary["paid_cost_h"]) == pytest.approx(mean / 3600)
    assert float(summary["reservations_per_job"]) == pytest.approx(sum(map(len, of_job.values())) / len(of_job))


def write_table(path: Path, plan: str, runtimes: list[float]) -> None:
    write_job_table(
        [stochastic(number, 1e5 * number, 1, runtime, plan) for number, runtime in enumerate(runtimes)], path
    )


def test_a_plan_of_the_plan_command_is_a_plan_of_a_table(tmp_path: Path) -> None:
    """What ``holdfast plan --json`` wrote is what the jobs ask for, and what Python plans."""
    words = ["plan", "uniform", "--min", "1h", "--max", "5h", "--checkpoint", "5m", "--restart", "2m", "--n", "60"]
    words += ["--alpha", "2", "--beta", "0.5", "--gamma", "10m", "--json", str(tmp_path / "the plan.json")]
    assert cli.main(words) == 0
    plan = read_plan(tmp_path / "the plan.json")
    costs = CostModel(2.0, 0.5, 600.0, 300.0, 120.0)
    planned = optimal(uniform(3600.0, 18_000.0), costs, n=60)
    assert plan == planned
    runtimes = [3700.0, 9000.0, 17_999.0, 18_000.0, 40_000.0]
    write_table(tmp_path / "jobs.csv", "the plan.json", runtimes)
    words = ["run", str(tmp_path / "jobs.csv"), "-o", str(tmp_path / "out"), "--nodes", "1", "--mechanism", "baseline"]
    assert cli.main(words) == 0
    lengths = defaultdict(list)
    for row in rows(tmp_path / "out" / "reservations-baseline.csv"):
        lengths[int(row["job_id"])].append(to_ticks(float(row["length"])))
    for number, runtime in enumerate(runtimes):
        whole = planned.extend(runtime)
        count = int(planned.count_reservations(runtime))
        assert lengths[number] == pytest.approx([to_ticks(x) for x in whole.length[:count]], abs=3)
    paid = [float(row["paid_cost"]) for row in rows(tmp_path / "out" / "stochastic-baseline.csv")]
    assert paid == pytest.approx(planned.paid_cost(runtimes).tolist(), abs=1e-4)
    configuration = json.loads((tmp_path / "out" / "run.json").read_text())
    assert list(configuration["plans"]) == ["the plan.json"]


def plan_text(**changes: Any) -> str:
    """A plan file with another value somewhere: ``reservation_`` of the first reservation, ``cost_`` of the costs."""
    plan = ReservationPlan([20, 40], [True, False], CostModel(checkpoint=7, restart=5))
    shown = json.loads(plan.to_json())
    for name, value in changes.items():
        kind, _, rest = name.partition("_")
        if kind == "reservation":
            shown["reservations"][0][rest] = value
        elif kind == "cost":
            shown["costs"][rest] = value
        else:
            shown[name] = value
    return json.dumps(shown)


BROKEN: dict[str, str] = {
    "empty": "",
    "prose": "To be, or not to be",
    "a list": "[1, 2]",
    "a number": "5",
    "nothing": "{}",
    "no costs": json.dumps({"reservations": [], "strategy": "x"}),
    "no reservations": plan_text(reservations=[]),
    "reservations of another kind": plan_text(reservations={"milestone": 1}),
    "a word for a milestone": plan_text(reservation_milestone="soon"),
    "no milestone": plan_text(reservation_milestone=None),
    "a negative milestone": plan_text(reservation_milestone=-1),
    "a milestone too far": plan_text(reservation_milestone=50),
    "a milestone that no float holds": plan_text(reservation_milestone=10**400),
    "a word for a flag": plan_text(reservation_checkpointed="no"),
    "no flag": plan_text(reservation_checkpointed=None),
    "a word for the extension": plan_text(extension="far"),
    "no extension": plan_text(extension=None),
    "an extension of 1": plan_text(extension=1),
    "a word for the extension's flag": plan_text(extension_checkpointed="no"),
    "a list of costs": plan_text(costs=[1, 2]),
    "a word for a cost": plan_text(cost_alpha="dear"),
    "no alpha": plan_text(cost_alpha=0),
    "an unknown cost": plan_text(cost_delta=1),
    "a table of words": plan_text(cost_checkpoint={"milestones": [20, 40], "durations": ["a", "b"]}),
    "a negative table": plan_text(cost_restart={"milestones": [20, 40], "durations": [-1, 2]}),
    "a table of two lengths": plan_text(cost_checkpoint={"milestones": [20, 40], "durations": [1]}),
    "an empty table": plan_text(cost_checkpoint={"milestones": [], "durations": []}),
    "another table": plan_text(cost_checkpoint={"at": [20, 40], "takes": [1, 2]}),
    "memory for one reservation": plan_text(reservation_memory=4),
    "not UTF-8": "\udcff\udcfe",
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_plan_files(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "plan.json"
    path.write_bytes(BROKEN[name].encode("utf-8", "surrogateescape"))
    write_table(tmp_path / "jobs.csv", "plan.json", [5.0])
    check_refusal(capsys, ["run", str(tmp_path / "jobs.csv"), "-o", str(tmp_path / "out"), "--nodes", "1"], "plan.json")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("plan", "sentence"),
    [
        ("none.json", "none.json"),
        ("optima", "optimal"),
        ("masi q=3", "'q'"),
        ("masi factor=1", "factor must be a number above 1"),
        ("jobs", "unknown planning strategy 'jobs'"),
    ],
)
def test_wrong_plans_of_a_table(plan: str, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_table(tmp_path / "jobs.csv", plan, [5.0])
    check_refusal(capsys, ["run", str(tmp_path / "jobs.csv"), "-o", str(tmp_path / "out"), "--nodes", "1"], sentence)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--fit", "kernal"], "kernel"),
        (["--known-runs", "0"], "--known-runs"),
        (["--known-runs", "some"], "--known-runs"),
        (["--refit-growth", "-1"], "--refit-growth"),
        (["--refit-growth", "nan"], "--refit-growth"),
        (["--checkpoint-variation", "2"], "--checkpoint-variation"),
        (["--checkpoint-variation", "some"], "--checkpoint-variation"),
        (["--checkpoint-mode", "lax"], "absorbed or strict"),
    ],
)
def test_wrong_options_of_run(
    words: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_table(tmp_path / "jobs.csv", "optimal", [5.0])
    check_refusal(
        capsys, ["run", str(tmp_path / "jobs.csv"), "-o", str(tmp_path / "out"), "--nodes", "1", *words], sentence
    )
    assert not (tmp_path / "out").exists()
