"""A streamed replay is the ordinary one: the same bytes, told piece by piece, and nothing told is lost by a kill."""

from __future__ import annotations

import csv
import gc
import gzip
import io
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import holdfast as hf
from holdfast.experiments.cli import main
from holdfast.experiments.recordings.streamed_jobs import ENDED, EndedJobs
from holdfast.experiments.recordings.streamed_replay import stream_log
from holdfast.experiments.recordings.table_files import write_rows
from holdfast.simulator import simulate
from holdfast.simulator.results.measured_simulation import MeasuredWindow
from holdfast.simulator.results.metrics import summarize, summarize_types
from holdfast.simulator.results.schema import JOBS
from holdfast.simulator.simulation import simulate_table
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.hybrid.assignment import as_rigid
from holdfast.workloads.logs.filters import Choice
from holdfast.workloads.logs.swf import read_long_swf, read_swf
from holdfast.workloads.theta.generator import generate
from holdfast.workloads.theta.year import ThetaYear
from tests.support.processes import until

#: Columns that are measured by the clock.
_CLOCK = ("decision_ms_p99", "decision_ms_max", "engine_seconds")


def swf(seed: int, jobs: int = 60, *, fractions: bool = False, broken: bool = False) -> str:
    """A log with all that a reader must cope with: unknown sizes and requests, jobs that never ran, equal times."""
    rng = np.random.default_rng([seed, 16])
    lines = ["; Computer: made up", "; MaxProcs: 16", "; UnixStartTime: 1000000000"]
    submit = 0.0
    for number in range(1, jobs + 1):
        submit += float(rng.choice([0, 0, 7, 60, 400])) + (0.25 * float(rng.integers(4)) if fractions else 0.0)
        runtime = float(rng.choice([-1, 0, 5, 90, 700, 4000])) + (0.5 if fractions else 0.0)
        asked = int(rng.choice([-1, 60, 800, 5000]))
        size, used = int(rng.choice([-1, 1, 3, 8, 16, 20])), int(rng.integers(1, 9))
        user, group = rng.integers(-1, 3, size=2)
        row = [number if rng.random() < 0.99 else 1, f"{submit:g}", rng.integers(0, 9), f"{runtime:g}", used, -1, -1]
        row += [size, asked, -1, rng.integers(0, 6), user, group, -1, rng.integers(1, 3), rng.integers(-1, 2), -1, -1]
        lines.append(" ".join(map(str, row)))
        if broken and rng.random() < 0.1:
            lines.append("7 8 nonsense")
        if rng.random() < 0.05:
            lines.append("; Note: between the jobs")
    return "\r\n".join(lines) + "\n"


@pytest.mark.parametrize("seed", range(6))
def test_the_long_reader_reads_what_the_other_reads(tmp_path: Path, seed: int) -> None:
    path = tmp_path / ("log.swf.gz" if seed % 2 else "log.swf")
    text = swf(seed, 200, fractions=seed > 2, broken=seed % 3 == 0).encode()
    path.write_bytes(gzip.compress(text) if seed % 2 else text)
    how: dict[str, Any] = {"lenient": seed % 3 == 0, "procs_per_node": 4 if seed == 5 else None}
    choice = Choice.of("partition!=1" if seed == 4 else None)
    short, long = read_swf(path, choice=choice, **how), read_long_swf(path, choice=choice, **how)
    assert long.jobs == short.jobs
    assert long.withdrawn == short.withdrawn
    assert [job.partition for job in long.jobs] == [job.partition for job in short.jobs]
    assert long.jobs[3] == list(long.jobs)[3]
    attributes = ("nodes", "source", "format", "header", "excluded", "remarks", "unit")
    assert [getattr(long, name) for name in attributes] == [getattr(short, name) for name in attributes]
    small = long.on_machine(8)
    assert small.excluded == short.on_machine(8).excluded
    assert list(as_rigid(small)) == as_rigid(short.on_machine(8))


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is empty"),
        (b"\n \n", "is empty"),
        (b"\0\1", "is a binary file"),
        (gzip.compress(b"; x: 1\n" * 999, mtime=0)[:-9], "is a damaged gzip file"),
        (b"; MaxProcs: 9\n1 2 3\n", r"log.*2.*: a job must have 17 or more fields"),
        (b"; MaxProcs: 9\n", "holds no job"),
    ],
    ids=["nothing", "blank", "binary", "truncated", "short", "empty"],
)
def test_what_is_no_log_is_refused(tmp_path: Path, content: bytes, sentence: str) -> None:
    (tmp_path / "log").write_bytes(content)
    with pytest.raises(InputError, match=sentence):
        read_long_swf(tmp_path / "log")


def without_clock(summary: Mapping[str, Any]) -> dict[str, str]:
    return {name: repr(value) for name, value in summary.items() if name not in _CLOCK}


@pytest.mark.parametrize("order", ["fcfs", "sjf", "wfp3", "fairshare"])
def test_a_stream_gives_the_ordinary_result(tmp_path: Path, order: str) -> None:
    for seed in range(8):
        (tmp_path / "log").write_text(swf(seed, fractions=seed > 3))
        trace = read_long_swf(tmp_path / "log").on_machine(16)
        jobs, ended_rows = as_rigid(trace), list[int]()
        ours = simulate_table(
            jobs,
            16,
            events=False,
            consume=lambda rows, start, end: ended_rows.extend(rows.tolist()),  # noqa: B023
            batch_size=7,
            order=order,
            engine="simpy",
        )
        theirs = simulate(list(jobs), 16, order=order, events=True)
        assert list(ours.records) == theirs.records
        assert list(ours.samples) == list(theirs.samples)
        assert ours.accounting == theirs.accounting
        assert ours.opened == theirs.opened
        assert ours.closed == theirs.closed
        for window in (None, MeasuredWindow(60.0, 60.0)):
            assert without_clock(summarize(ours, window=window)) == without_clock(summarize(theirs, window=window))
            assert repr(summarize_types(ours, window=window)) == repr(summarize_types(theirs, window=window))
        # Each job once, in the order of their ends.
        assert sorted(ended_rows) == list(range(len(jobs)))
        assert [ours.records[row].end for row in ended_rows] == sorted(record.end or 0 for record in ours.records)


def test_the_frame_of_a_streamed_result_is_that_of_any_other(tmp_path: Path) -> None:
    (tmp_path / "log").write_text(swf(2))
    jobs = as_rigid(read_long_swf(tmp_path / "log").on_machine(16))
    ours, theirs = (simulate(list(jobs), 16, events=events, engine="simpy") for events in (False, True))
    assert ours.jobs.equals(theirs.jobs)
    assert ours.timeline().equals(theirs.timeline())


def test_a_stream_leaves_no_circles_that_only_the_collector_finds() -> None:
    jobs = as_rigid(generate(ThetaYear(jobs=400), 1))
    # A pass may free what leaves garbage itself, as compilers do.
    assert any(gc.collect() == 0 for _ in range(5))
    gc.disable()
    try:
        result = simulate_table(jobs, 4392, events=False, batch_size=50, engine="simpy")
        assert gc.collect() < 200
    finally:
        gc.enable()
    assert len(result.records) == 400


def files(directory: Path) -> dict[str, bytes]:
    """The tables of a directory, without what is measured by the clock."""
    found = {path.name: path.read_bytes() for path in directory.iterdir() if path.suffix == ".csv"}
    rows = list(csv.DictReader(found.pop("summary.csv").decode().splitlines()))
    found["summary"] = repr([without_clock(row) for row in rows]).encode()
    return found


def test_the_command_writes_the_same_bytes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log.swf"
    log.write_text(swf(5))
    words = ["run", str(log), "--order", "sjf", "--warmup", "1m"]
    assert main([*words, "-o", str(tmp_path / "a"), "--stream"]) == 0
    output = capsys.readouterr().out
    assert main([*words, "-o", str(tmp_path / "b"), "--mechanism", "baseline"]) == 0
    assert output.replace("/a", "/b") == capsys.readouterr().out
    assert files(tmp_path / "a") == files(tmp_path / "b")
    assert not (tmp_path / "a" / ENDED).exists()
    assert hf.read_result(tmp_path / "a", events=False).records == hf.read_result(tmp_path / "b", events=False).records


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--mechanism", "N-PAA"], "--mechanism must be baseline with --stream, not 'N-PAA'"),
        (["--events"], "--events must be left out with --stream"),
        (["--failure-mtbf", "1y"], "--failure-mtbf must be left out with --stream"),
        (["--order", "fcfs,sjf"], "--order must be one value with --stream, not 'fcfs,sjf'"),
        (["--stream-format", "xls"], "--stream-format must be csv or parquet, not 'xls'"),
        (["--format", "sacct"], "--format must be swf with --stream, not 'sacct'"),
    ],
)
def test_what_a_stream_has_no_room_for_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], sentence: str
) -> None:
    (tmp_path / "log.swf").write_text(swf(5))
    assert main(["run", str(tmp_path / "log.swf"), "-o", str(tmp_path / "out"), "--stream", *words]) == 2
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


class Killed(BaseException):
    """Stands for a kill."""


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_what_was_written_before_a_kill_is_whole_and_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: Any
) -> None:
    if format == "parquet":
        pytest.importorskip("pyarrow")
    log = tmp_path / "log.swf"
    log.write_text(swf(3, 90))
    expected = stream_log(log, tmp_path / "whole", 16, format=format, batch_size=10, engine="simpy")
    write = EndedJobs.write

    def kill_at_third(self: EndedJobs, records: Any) -> None:
        if self._number == 3:
            raise Killed
        write(self, records)

    monkeypatch.setattr(EndedJobs, "write", kill_at_third)
    with pytest.raises(Killed):
        stream_log(log, tmp_path / "out", 16, format=format, batch_size=10, engine="simpy")
    monkeypatch.setattr(EndedJobs, "write", write)
    parts = sorted((tmp_path / "out" / ENDED).glob("jobs-*"))
    assert len(parts) == 3
    if format == "csv":
        rows = [row for part in parts for row in csv.DictReader(part.read_text().splitlines())]
    else:
        import pyarrow.parquet as pq

        rows = [row for part in parts for row in pq.read_table(part).to_pylist()]
    ends = sorted((record.end or 0) / 1e6 for record in expected.records)
    assert [float(row["end"]) for row in rows] == ends[:30]
    # Another call has no right to these parts.
    with pytest.raises(InputError, match="holds jobs of another, unfinished streamed run"):
        stream_log(log, tmp_path / "out", 16, format=format, batch_size=10, order="sjf", engine="simpy")
    again = stream_log(log, tmp_path / "out", 16, format=format, batch_size=10, engine="simpy")
    assert list(again.records) == list(expected.records)
    assert not (tmp_path / "out" / ENDED).exists()
    name = f"jobs-baseline.{format}"
    assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_parts_that_are_there_already_are_not_written_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EndedJobs, "remove", lambda self: None)
    log = tmp_path / "log.swf"
    log.write_text(swf(3, 90))
    stream_log(log, tmp_path / "out", 16, batch_size=10, engine="simpy")
    parts = sorted((tmp_path / "out" / ENDED).glob("jobs-*"))
    before = [part.stat().st_ino for part in parts]
    parts[1].write_text("damaged")
    stream_log(log, tmp_path / "out", 16, batch_size=10, engine="simpy")
    after = [part.stat().st_ino for part in parts]
    assert [one == other for one, other in zip(before, after, strict=True)] == [True, False, *[True] * (len(parts) - 2)]
    assert parts[1].read_text() != "damaged"


def test_lines_are_those_of_the_table_whatever_the_times() -> None:
    year = as_rigid(generate(ThetaYear(jobs=40), 1))
    for shift in (0, 0.25, 2.0**33):
        jobs = year.with_columns(submit=year.column("submit") + shift)
        result, file = simulate(jobs, 4392, events=False), io.BytesIO()
        write_rows(file, JOBS, result, result.records)
        rows = list(csv.reader(file.getvalue().decode().splitlines()))[1:]
        assert [float(row[2]) for row in rows] == jobs.column("submit").tolist()


@pytest.mark.system
def test_a_killed_command_goes_on_where_it_was(tmp_path: Path) -> None:
    log, out = tmp_path / "log.swf", tmp_path / "out"
    hf.write_swf(generate(ThetaYear(jobs=70_000), 1), log)
    code = "import sys; from holdfast.experiments.cli import main; sys.exit(main())"
    words = [sys.executable, "-c", code, "run", str(log), "-o", str(out), "--stream", "--engine", "simpy"]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until(lambda: (out / ENDED / "jobs-000001.csv").exists())
        os.kill(process.pid, signal.SIGKILL)
    finally:
        process.kill()
        process.wait()
    kept = (out / ENDED / "jobs-000001.csv").read_bytes()
    assert len(list(csv.DictReader(kept.decode().splitlines()))) == 1 << 16
    resumed = subprocess.run(words, capture_output=True, text=True, check=True)
    assert "kept: 1 table of an earlier start" in resumed.stdout
    final = (out / "jobs-baseline.csv").read_bytes().splitlines()
    assert set(kept.splitlines()) <= set(final)
    assert len(final) == 70_001
