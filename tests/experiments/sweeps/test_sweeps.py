"""Sweeps: what stands in the tables, what is stored, and what fails."""

from __future__ import annotations

import ast
import csv
import json
import math
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from holdfast.experiments import cli
from holdfast.experiments.sweeps import (
    execution,
    job_tables,
    make_sweep,
    progress,
    run_sweep,
    simulations,
    sweep,
    table,
)
from holdfast.experiments.sweeps.fingerprint import MODEL, model_fingerprint, strip_comments
from holdfast.experiments.sweeps.grid import RunConfiguration, expand
from holdfast.experiments.sweeps.progress import Remaining, follow
from holdfast.experiments.sweeps.store import Store, _seal
from holdfast.simulator import simulate
from holdfast.simulator.results.catalogue import WALL_CLOCK
from holdfast.simulator.results.metrics import summarize, summarize_types
from holdfast.workloads.ground.errors import HoldfastError, InputError
from holdfast.workloads.hybrid.assignment import assign
from holdfast.workloads.logs.swf import write_swf
from holdfast.workloads.table.job import JobType
from holdfast.workloads.theta.generator import generate
from holdfast.workloads.theta.year import ThetaYear
from tests.places import ROOT

JOBS = 150
#: Two workloads, two mixes, three mechanisms: 12 runs of some 10 ms.
SMALL: dict[str, Any] = {
    "workload": {"seeds": "0:2", "jobs": JOBS},
    "mechanisms": ["baseline", "CUA-SPAA", "CUP-PAA"],
    "assignment": {"notice_mix": ["W1", "W5"]},
}
#: Files whose bytes depend on the configuration alone.
SAME = ("summary.csv", "summary.parquet", "types.csv", "accounting.csv", "weeks.csv", "sweep.json")


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def contents(directory: Path) -> dict[str, Any]:
    manifest = json.loads((directory / "sweep.json").read_text())
    manifest["files"].pop("timings.csv")  # what the clock says
    return {name: (directory / name).read_bytes() for name in SAME} | {"sweep.json": {**manifest, "digest": ""}}


def times(directory: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in (directory / "store").glob("*.jsonl")}


@pytest.fixture(scope="module")
def finished_sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small sweep, carried out in this process."""
    directory = tmp_path_factory.mktemp("sweep")
    assert run_sweep(make_sweep(**SMALL), directory, workers=1).computed == 12
    return directory


@pytest.fixture
def run_list(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[RunConfiguration]]:
    """The runs that are carried out."""
    carried_out: list[RunConfiguration] = []

    def record_runs(runs: Sequence[RunConfiguration]) -> Iterator[simulations.RunOutcome]:
        carried_out.extend(runs)
        return simulations.simulate_runs(runs)

    monkeypatch.setattr(sweep, "simulate_runs", record_runs)
    return carried_out


# What stands in the tables.


def test_rows_are_what_simulate_says(finished_sweep: Path) -> None:
    summary, types, accounting = (rows(finished_sweep / f"{name}.csv") for name in ("summary", "types", "accounting"))
    assert len(summary) == len(accounting) == 12
    assert len(types) == 12 * 4
    place = 0
    for seed in (0, 1):
        trace = generate(ThetaYear(jobs=JOBS), seed)
        for mix in ("W1", "W5"):
            jobs = assign(trace, seed=seed, notice_mix=mix)
            for mechanism in ("baseline", "CUA-SPAA", "CUP-PAA"):
                result = simulate(jobs, 4392, mechanism, events=False)
                row = summary[place]
                assert (row["workload"], row["notice_mix"], row["mechanism"]) == (f"seed {seed}", mix, mechanism)
                expected = summarize(result)
                for name, value in expected.items():
                    if name not in ("mechanism", *WALL_CLOCK):
                        assert row[name] == ("" if math.isnan(float(value)) else str(value))
                for given, row in zip(summarize_types(result), types[4 * place : 4 * place + 4], strict=True):
                    assert {
                        name: "" if value != value else str(value) for name, value in given.items()
                    }.items() <= row.items()
                hours = {name: ticks / 3.6e9 for name, ticks in result.accounting.by_state().items()}
                assert {name: float(accounting[place][f"{name}_node_hours"]) for name in hours} == hours
                place += 1


def test_stochastic_jobs_have_their_metrics_and_others_none(tmp_path: Path) -> None:
    shares = [0.0, 0.5]
    how = {"stochastic_share": shares, "plan": "masi k=3"}
    sweep = make_sweep(workload={"seeds": 0, "jobs": 300}, mechanisms="baseline,CUP-SPAA", assignment=how)
    result = run_sweep(sweep, tmp_path, workers=1).complete()
    plain, planned = list(result.summary[:2]), list(result.summary[2:])
    assert all(row[name] is None for row in plain for name in table._STOCHASTIC)
    jobs = assign(generate(ThetaYear(jobs=300), 0), seed=0, stochastic_share=0.5, plan="masi k=3")
    for row in planned:
        expected = summarize(simulate(jobs, 4392, row["mechanism"], events=False))
        for name in table._STOCHASTIC:
            value = float(expected[name])
            assert row[name] == (None if math.isnan(value) else expected[name]), name
        assert row["reservations_per_job"] >= 1
    assert {row["type"] for row in result.weeks if row["stochastic_share"] == 0.5} == set(map(str, JobType))
    assert {row["type"] for row in result.weeks if row["stochastic_share"] == 0} == set(map(str, JobType)) - {
        "stochastic"
    }
    assert all(row["planning_seconds"] is not None for row in result.timings[2:])


def test_weeks_count_what_arrives(finished_sweep: Path) -> None:
    weeks = rows(finished_sweep / "weeks.csv")
    for seed in (0, 1):
        for mix in ("W1", "W5"):
            jobs = assign(generate(ThetaYear(jobs=JOBS), seed), seed=seed, notice_mix=mix)
            first = min(job.submit for job in jobs if job.submit is not None)
            counted: Counter[tuple[int, str]] = Counter()
            hours: Counter[tuple[int, str]] = Counter()
            for job in jobs:
                assert job.submit is not None
                cell = int((job.submit - first) / (7 * 86400)) + 1, job.type.value
                counted[cell] += 1
                hours[cell] += job.nodes * job.runtime / 3600  # type: ignore[assignment]
            seen = [row for row in weeks if row["workload"] == f"seed {seed}" and row["notice_mix"] == mix]
            assert {(int(row["week"]), row["type"]): int(row["jobs"]) for row in seen if row["jobs"] != "0"} == counted
            for row in seen:
                assert float(row["node_hours"]) == pytest.approx(hours[int(row["week"]), row["type"]])
    assert len({tuple(row.values()) for row in weeks}) == len(weeks)


def test_times_of_the_clock_stand_apart(finished_sweep: Path) -> None:
    assert not set(table.SUMMARY) & {*WALL_CLOCK, "decision_ms_p50"}
    timings = rows(finished_sweep / "timings.csv")
    assert [row["run"] for row in timings] == [row["run"] for row in rows(finished_sweep / "summary.csv")]
    for row in timings:
        decisions = [row[name] for name in ("decision_ms_p50", "decision_ms_p99", "decision_ms_max")]
        if row["mechanism"] == "baseline":  # compiled loops take no decision one by one
            assert decisions == ["", "", ""]
        else:
            assert 0 < float(decisions[0]) <= float(decisions[1]) <= float(decisions[2])
        assert 0 < float(row["engine_seconds"]) < float(row["run_seconds"])
        assert 10 < float(row["worker_peak_mib"]) < 10_000


def test_the_parquet_file_is_the_same_table(finished_sweep: Path) -> None:
    parquet = pq.read_table(finished_sweep / "summary.parquet").to_pylist()
    assert tuple(parquet[0]) == table.SUMMARY
    for read, row in zip(parquet, rows(finished_sweep / "summary.csv"), strict=True):
        assert {name: "" if value is None else str(value) for name, value in read.items()} == row


def test_without_pyarrow_there_is_no_parquet_file_and_no_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = make_sweep(workload={"seeds": 0, "jobs": 50}, mechanisms="baseline")
    run_sweep(small, tmp_path, workers=1)
    assert (tmp_path / "summary.parquet").exists()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    run_sweep(small, tmp_path, workers=1)
    assert not (tmp_path / "summary.parquet").exists()
    assert len(rows(tmp_path / "summary.csv")) == 1


def test_the_rows_that_come_back_are_those_of_the_files(finished_sweep: Path) -> None:
    result = run_sweep(make_sweep(**SMALL), finished_sweep, workers=1).complete()
    assert (result.stored, result.computed) == (12, 0)
    assert list(result.frame["mechanism"]) == [row["mechanism"] for row in rows(finished_sweep / "summary.csv")]
    for name in ("summary", "types", "accounting", "weeks", "timings"):
        for given, read in zip(getattr(result, name), rows(finished_sweep / f"{name}.csv"), strict=True):
            assert {key: "" if value is None else str(value) for key, value in given.items()} == read


def test_rows_appear_while_it_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "_LEAST", 0.0)
    monkeypatch.setattr(sweep, "_SHARE", math.inf)
    seen: list[list[str]] = []

    def read_summaries(runs: Sequence[RunConfiguration]) -> Iterator[simulations.RunOutcome]:
        for run in runs:
            seen.append([row["run"] for row in rows(tmp_path / "summary.csv")])
            yield from simulations.simulate_runs([run])

    monkeypatch.setattr(sweep, "simulate_runs", read_summaries)
    run_sweep(make_sweep(**SMALL), tmp_path, workers=1)
    order = [row["run"] for row in rows(tmp_path / "summary.csv")]
    assert seen == [order[:count] for count in range(12)]


# What is stored.


def test_nothing_is_done_twice_and_an_extension_does_only_what_is_new(
    tmp_path: Path, run_list: list[RunConfiguration]
) -> None:
    part = {**SMALL, "assignment": {"notice_mix": "W5"}, "mechanisms": ["CUP-PAA", "baseline"]}
    assert run_sweep(make_sweep(**part), tmp_path, workers=1).computed == len(run_list) == 4
    before, stored = contents(tmp_path), times(tmp_path)
    assert run_sweep(make_sweep(**part), tmp_path, workers=1).stored == 4
    assert len(run_list) == 4
    assert (contents(tmp_path), times(tmp_path)) == (before, stored)
    result = run_sweep(make_sweep(**SMALL), tmp_path, workers=1)
    assert (result.stored, result.computed, len(run_list)) == (4, 8, 12)
    assert stored.items() < times(tmp_path).items()
    # Back to the smaller grid: its rows alone, from the store.
    assert run_sweep(make_sweep(**part), tmp_path, workers=1).computed == 0
    assert contents(tmp_path) == before


def test_the_same_bytes_for_one_process_and_for_two_and_for_an_extended_sweep(
    finished_sweep: Path, tmp_path: Path
) -> None:
    run_sweep(make_sweep(**{**SMALL, "mechanisms": "CUP-PAA"}), tmp_path, workers=1)
    assert run_sweep(make_sweep(**SMALL), tmp_path, workers=2).computed == 8
    assert contents(tmp_path) == contents(finished_sweep)


def test_sweeps_may_share_a_store(tmp_path: Path, run_list: list[RunConfiguration]) -> None:
    run_sweep(make_sweep(**SMALL), tmp_path / "one", store=tmp_path / "store", workers=1)
    smaller = make_sweep(**{**SMALL, "mechanisms": "baseline"})
    assert run_sweep(smaller, tmp_path / "two", store=tmp_path / "store", workers=1).stored == 4
    assert len(run_list) == 12
    assert not (tmp_path / "two" / "store").exists()


def test_what_is_damaged_is_done_again(
    tmp_path: Path, run_list: list[RunConfiguration], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(execution, "_MOST", 1)
    sweep = make_sweep(**SMALL)
    run_sweep(sweep, tmp_path, workers=1)
    before, stored = contents(tmp_path), times(tmp_path)
    run_list.clear()
    own = {json.loads(path.read_text())["key"]: path for path in (tmp_path / "store").glob("*.jsonl")}
    paths = [own[run.key] for run in expand(sweep)]
    texts = [path.read_text() for path in paths]
    record = json.loads(texts[6])
    del record["digest"]
    assert _seal(texts[6].rpartition(', "digest"')[0].encode() + b"}") == texts[6].encode()
    paths[0].write_text("")
    paths[1].write_text(texts[1][: len(texts[1]) // 2])
    paths[2].write_bytes(b"\xff\xfe\0")
    paths[3].write_text("[]")
    paths[4].write_text(texts[8])  # a whole file, of another run
    paths[5].write_text(texts[5].replace('"jobs":150', '"jobs":151', 1))
    assert paths[5].read_text() != texts[5]
    paths[6].write_bytes(_seal(json.dumps({**record, "format": 0}).encode()))
    paths[7].unlink()
    assert run_sweep(sweep, tmp_path, workers=1).stored == 4
    assert [run.key for run in run_list] == [run.key for run in expand(sweep)[:8]]
    assert contents(tmp_path) == before
    assert {
        name: times(tmp_path)[name] for name in stored if name in {path.name for path in paths[8:]}
    }.items() <= stored.items()


def test_results_of_other_sources_do_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = make_sweep(workload={"seeds": 0, "jobs": 50}, mechanisms="baseline")
    run_sweep(small, tmp_path, workers=1)
    for module in ("grid", "simulations"):
        monkeypatch.setattr(f"holdfast.experiments.sweeps.{module}.model_fingerprint", lambda: "0" * 16)
    assert run_sweep(small, tmp_path, workers=1).computed == 1
    monkeypatch.setattr("holdfast.experiments.sweeps.grid.model_fingerprint", model_fingerprint)
    (failure,) = run_sweep(small, tmp_path / "other", workers=1).failures
    assert "install the same version on the workers" in failure.error


def test_two_sweeps_do_not_share_a_store_at_one_time(tmp_path: Path) -> None:
    small = make_sweep(workload={"seeds": 0, "jobs": 50}, mechanisms="baseline")
    with Store(tmp_path / "store").lock(), pytest.raises(InputError, match="another sweep is at work in"):
        run_sweep(small, tmp_path, workers=1)
    assert run_sweep(small, tmp_path, workers=1).computed == 1


def test_what_a_killed_sweep_was_writing_is_cleared_away(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    for path in (tmp_path / ".summary.csv.0a1b2c3d.part", tmp_path / "store" / ".x.json.0a1b2c3d.part"):
        path.write_text("half")
    run_sweep(make_sweep(workload={"seeds": 0, "jobs": 50}, mechanisms="baseline"), tmp_path, workers=1)
    assert not [*tmp_path.rglob("*.part")]


def test_small_runs_share_a_file_and_of_a_damaged_one_the_other_lines_count(
    tmp_path: Path, finished_sweep: Path
) -> None:
    run_sweep(make_sweep(**SMALL), tmp_path, workers=1)
    files = {path: path.read_bytes().splitlines(keepends=True) for path in (tmp_path / "store").glob("*.jsonl")}
    assert len(files) < sum(map(len, files.values())) == 12
    path, lines = max(files.items(), key=lambda item: len(item[1]))
    path.write_bytes(b"".join([lines[0][:40] + b"?" + lines[0][41:], *lines[1:]]))
    assert run_sweep(make_sweep(**SMALL), tmp_path, workers=1).computed == 1
    assert contents(tmp_path) == contents(finished_sweep)


def test_the_remaining_time_is_that_of_runs_like_those_that_are_left() -> None:
    """Ten short runs and ten that take five times as long, on two workers; a mean over all would say 10 s."""
    remaining = Remaining([("100 jobs", "fcfs")] * 10 + [("500 jobs", "fcfs")] * 9 + [("500 jobs", "sjf")])
    assert remaining.seconds(0.0) is None
    for _ in range(10):
        remaining.took(("100 jobs", "fcfs"), 1.0)
    # Nothing is known of longer runs yet.
    assert remaining.seconds(5.0) == pytest.approx(10 * 1.0 / 2)
    remaining.took(("500 jobs", "fcfs"), 5.0)
    # The order does not matter as much as the number of jobs.
    assert remaining.seconds(7.5) == pytest.approx(9 * 5.0 / 2)


def test_an_interrupted_sweep_shows_what_is_done_and_goes_on(
    finished_sweep: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    carried_out: list[str] = []

    def interrupt_after_five(runs: Sequence[RunConfiguration]) -> Iterator[simulations.RunOutcome]:
        for run in runs:
            if len(carried_out) == 5:
                raise KeyboardInterrupt
            carried_out.append(run.key)
            yield from simulations.simulate_runs([run])

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(sweep, "simulate_runs", interrupt_after_five)
        run_sweep(make_sweep(**SMALL), tmp_path, workers=1)
    assert [row["run"] for row in rows(tmp_path / "types.csv")][::4] == [key[:12] for key in carried_out]
    assert run_sweep(make_sweep(**SMALL), tmp_path, workers=1).stored == 5
    assert contents(tmp_path) == contents(finished_sweep)


def test_a_workload_is_made_once_for_its_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: Counter[str] = Counter()
    for name in ("generate", "assign"):
        original = getattr(job_tables, name)

        def count_call(*arguments: Any, _name: str = name, _call: Any = original, **others: Any) -> Any:
            made[_name] += 1
            return _call(*arguments, **others)

        monkeypatch.setattr(job_tables, name, count_call)
    for cache in (job_tables.job_table, job_tables._trace):
        cache.cache_clear()
    run_sweep(make_sweep(**SMALL), tmp_path, workers=1)
    assert made == {"generate": 2, "assign": 4}


# What fails.


@pytest.fixture
def traces(tmp_path: Path) -> Path:
    """A trace that is whole, one that does not say its machine, one that is broken, and one without jobs."""
    write_swf(generate(ThetaYear(jobs=50), 0), tmp_path / "good.swf")
    lines = (tmp_path / "good.swf").read_text().splitlines()
    jobs = [line for line in lines if not line.startswith(";")]
    (tmp_path / "no-machine.swf").write_text("\n".join(jobs))
    (tmp_path / "broken.swf").write_text("\n".join([*lines[:-1], "1 2 three"]))
    (tmp_path / "a.toml").write_text(
        "mechanisms = ['baseline', 'N-PAA']\n[workload]\ntraces = ['broken.swf', 'good.swf', 'no-machine.swf']\n"
    )
    return tmp_path


def test_a_run_that_fails_is_reported_and_the_others_go_on(traces: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["sweep", str(traces / "a.toml"), "-o", str(traces / "out"), "--workers", "1"]
    assert cli.main(words) == 1
    out, err = capsys.readouterr()
    assert "6 runs: 0 were stored, 2 done now, 4 failed" in out
    # Each reason once: the runs of one trace fail alike.
    assert "failed (no-machine.swf, baseline): no-machine.swf: does not record the size of the machine" in err
    assert err.count("does not record the size") == 1
    assert "4 runs failed for 2 reasons; all are in" in err
    assert "failures.json" in err
    failures = json.loads((traces / "out" / "failures.json").read_text())
    assert [failure["label"] for failure in failures] == [
        f"{name}.swf, {mechanism}" for name in ("broken", "no-machine") for mechanism in ("baseline", "N-PAA")
    ]
    assert "broken.swf:" in failures[0]["error"]
    assert not failures[0]["trace"]  # the input is to blame
    assert failures[3]["configuration"]["mechanism"] == "N-PAA"
    assert [row["workload"] for row in rows(traces / "out" / "summary.csv")] == ["good.swf", "good.swf"]
    # With the missing size the second trace is a run like any other; a failure that is none any more is forgotten.
    assert cli.main([*words, "--set", 'workload.traces=["good.swf", {path = "no-machine.swf", nodes = 4392}]']) == 0
    assert not (traces / "out" / "failures.json").exists()
    good, given = (
        [
            {k: v for k, v in row.items() if k not in ("run", "workload")}
            for row in rows(traces / "out" / "summary.csv")
        ][at : at + 2]
        for at in (0, 2)
    )
    assert good == given


def test_a_defect_is_reported_with_its_traceback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def defective(*arguments: Any, **options: Any) -> None:
        raise ZeroDivisionError("of all things")

    line = defective.__code__.co_firstlineno + 1
    monkeypatch.setattr(simulations, "simulate_table", defective)
    result = run_sweep(make_sweep(workload={"seeds": 0, "jobs": 50}, mechanisms="baseline,N-PAA"), tmp_path, workers=1)
    assert [failure.error for failure in result.failures] == [
        f"a defect of Holdfast or of a plug-in (test_sweeps.py, line {line}): of all things"
    ] * 2
    assert "in defective" in result.failures[0].trace
    with pytest.raises(HoldfastError, match="2 of the runs failed; the first"):
        result.complete()


def test_a_table_with_named_columns_is_the_log_that_it_was_made_of(tmp_path: Path) -> None:
    trace = generate(ThetaYear(jobs=30), seed=0)
    write_swf(trace, tmp_path / "a.swf")
    lines = [
        "came,size,took,asked,ann,lab",
        *(f"{job.submit},{job.nodes},{job.runtime},{job.walltime},{job.user},{job.project}" for job in trace.jobs),
    ]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    columns = "submit=came,nodes=size,runtime=took,walltime=asked,user=ann,project=lab"
    traces = [str(tmp_path / "a.swf"), {"path": str(tmp_path / "a.csv"), "columns": columns}]
    result = run_sweep(
        make_sweep(workload={"nodes": trace.nodes, "traces": traces}, mechanisms="baseline"),
        tmp_path / "out",
        workers=1,
    ).complete()
    one, other = ({**row, "workload": "", "run": ""} for row in result.summary)
    assert one == other


def test_a_trace_that_has_changed_meanwhile_is_refused(traces: Path) -> None:
    run = expand(make_sweep(workload={"traces": str(traces / "good.swf")}, mechanisms="baseline"))[0]
    with (traces / "good.swf").open("a") as file:
        file.write("\n")
    assert "has changed since the sweep began" in simulations.simulate_run(run).error


# The command.


def test_the_command_sweeps_and_lists(finished_sweep: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.toml"
    path.write_text(f"mechanisms = ['baseline', 'CUA-SPAA', 'CUP-PAA']\n[workload]\nseeds = '0:9'\njobs = {JOBS}\n"
                    "[assignment]\nnotice_mix = ['W1', 'W5']")  # fmt: skip
    words = ["sweep", str(path), "-o", str(tmp_path / "out"), "--set", "workload.seeds=0:2"]
    assert cli.main([*words, "--dry-run"]) == 0
    assert not (tmp_path / "out").exists()
    listed = capsys.readouterr().out.splitlines()
    assert len(listed) == 13
    assert listed[-1] == "12 runs: 0 are stored, 12 missing"
    assert cli.main([*words, "--workers", "1"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("12 runs: 0 were stored, 12 done now, 0 failed\n")
    assert "%" not in err.replace("%)", "")  # no progress where it is not read on a terminal
    assert contents(tmp_path / "out") == contents(finished_sweep)
    assert cli.main([*words, "--dry-run", "--set", "workload.seeds=1:3"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in listed[:-1]] == ["stored"] * 6 + ["missing"] * 6
    assert listed[0].endswith("seed 1, baseline, notice_mix W1")


def test_the_configuration_stands_beside_the_tables(finished_sweep: Path) -> None:
    manifest = json.loads((finished_sweep / "sweep.json").read_text())
    assert manifest["runs"] == 12
    assert manifest["model"] == model_fingerprint()
    sweep = json.loads(json.dumps(asdict(make_sweep(**SMALL))))
    # No machine is described, and the file does not mention any.
    assert (sweep["workload"].pop("machine"), sweep["workload"].pop("placement")) == (None, None)
    assert manifest["sweep"] == sweep


class _WithoutDocstrings(ast.NodeTransformer):
    """Each text that is a statement of its own becomes an ellipsis."""

    def visit_Expr(self, node: ast.Expr) -> ast.Expr:
        text = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return ast.Expr(ast.Constant(...)) if text else node


@pytest.mark.system
def test_fingerprints_hold_all_code_and_no_sentence() -> None:
    """What is hashed of each module means the same as the module, by Python's own parser."""
    for path in sorted(path for pattern in MODEL for path in ROOT.glob(pattern)):
        source = path.read_text()
        plain = ast.dump(_WithoutDocstrings().visit(ast.parse(source)))
        assert ast.dump(ast.parse(strip_comments(source))) == plain, path
        assert strip_comments(source.replace('"""\n', 'A sentence more."""\n')) == strip_comments(source), path


def test_pieces_are_followed_from_the_first_one_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "shows_progress", lambda: True)

    def refuse() -> Iterator[int]:
        raise InputError("jobs must be 1 or more, not 0")
        yield 0

    with pytest.raises(InputError):
        list(follow(refuse(), 3, shown=True))
    assert capsys.readouterr().err == ""
    assert list(follow(iter("abc"), 3, shown=True)) == ["a", "b", "c"]
    assert "1/3" in capsys.readouterr().err
    assert list(follow(iter("abc"), 3, shown=False)) == ["a", "b", "c"]
    assert capsys.readouterr().err == ""
