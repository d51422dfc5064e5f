"""Dates of a trace: on the clock of all options, and none where it does not count from a date."""

import json

import pytest

from holdfast.experiments import cli
from holdfast.experiments.figures.recording.time_axis import TimeAxis
from holdfast.experiments.gantt.page import write_gantt
from holdfast.experiments.recordings.archive import read_recording
from holdfast.experiments.stories.story import explain
from holdfast.experiments.tables import read_csv
from holdfast.experiments.traces.calendar import submits_between
from holdfast.workloads.logs.trace import Trace, TraceJob
from tests.workloads.logs.test_sacct_formats import delimited_text, row

START = {"UnixStartTime": "1767225600"}


@pytest.mark.parametrize(
    ("format", "header", "expected"),
    [
        ("swf", START, "Thu 2026-01-01 00:00 to Thu 2026-01-01 01:30 UTC"),
        # The zone of the log does not matter: these are dates that --at and --until read.
        ("swf", {**START, "TimeZoneString": "US/Pacific"}, "Thu 2026-01-01 00:00 to Thu 2026-01-01 01:30 UTC"),
        ("sacct", {**START, "Clock": "local"}, "Thu 2026-01-01 00:00 to Thu 2026-01-01 01:30 local time"),
        ("alcf", START, "Thu 2026-01-01 00:00 to Thu 2026-01-01 01:30 local time"),
        ("swf", {}, ""),
        ("swf", {"UnixStartTime": "253402300799"}, ""),
    ],
)
def test_dates_are_on_the_clock_of_all_options(format, header, expected):
    jobs = tuple(TraceJob(number, submit, 1, 60.0, 60.0) for number, submit in enumerate((5400.0, 0.0)))
    assert submits_between(Trace(jobs, format=format, header=header)) == expected


def test_a_long_row_goes_on_below_its_text(tmp_path, capsys):
    path = tmp_path / "a.swf"
    words = " ".join(f"word{number}" for number in range(30))
    path.write_text(f"; MaxNodes: 4\n; Installation: {words}\n1 0 0 60 1 -1 -1 1 60 -1 1 1 1 -1 1 -1 -1 -1\n")
    assert cli.main(["info", str(path), "--no-simulation"]) == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("  ")]
    assert all(len(line) <= 120 and line[20] == " " != line[21] for line in rows)
    assert f"Installation {words}" in " ".join(line[21:] for line in rows)


def test_a_short_log_is_described_in_minutes(tmp_path, capsys):
    rows = [row(n, submit=60 * n, start=60 * n + 30, end=60 * n + 330, limit="10") for n in range(4)]
    iso = dict.fromkeys(("Submit", "Start", "End"), "2026-01-31T23:%02d:00")
    path = tmp_path / "a.txt"
    path.write_text(delimited_text(rows))
    assert cli.main(["info", str(path)]) == 0
    out = capsys.readouterr().out
    for line in (
        "assumed: a machine of 16 nodes, enough for what the jobs held at once in 99 % of the time (--nodes",
        "  submits            Tue 2023-11-14 22:13 to Tue 2023-11-14 22:16 UTC",
        "  period             3 min of submits, 80.0 jobs an hour",
        "  walltime           median 10 min (half in 10 - 10 min, 90 % in 10 - 10 min)",
        "  runtime            median 5 min (half",
        "  wait, recorded     mean 30.00 s, median 30.00 s, 95 % within 30.00 s",
    ):
        assert line in out
    path.write_text(delimited_text([one | {name: iso[name] % n for name in iso} for n, one in enumerate(rows)]))
    assert cli.main(["info", str(path), "--nodes", "5"]) == 0
    out = capsys.readouterr().out
    assert "Sat 2026-01-31 23:00 to Sat 2026-01-31 23:03 local time" in out
    assert "assumed" not in out
    path.write_text(delimited_text(rows[:1]))
    assert cli.main(["info", str(path), "--where", "partition=batch", "--unit", "cores"]) == 0
    out = capsys.readouterr().out
    assert "  period             all submits at once" in out
    assert "  machine            256 processors" in out
    assert "  format             sacct, partition=batch" in out


@pytest.mark.parametrize("local", [True, False])
def test_dates_of_a_run_are_in_the_clock_of_its_log(tmp_path, capsys, local):
    path, out = tmp_path / "a.txt", tmp_path / "out"
    iso = {"Submit": "2026-01-31T23:00:00", "Start": "2026-01-31T23:01:00", "End": "2026-01-31T23:31:00"}
    path.write_text(delimited_text([row(1) | (iso if local else {})]))
    assert cli.main(["run", str(path), "-o", str(out), "--mechanism", "baseline", "--events"]) == 0
    capsys.readouterr()
    zone = "local time" if local else "UTC"
    recording = read_recording(out)
    assert recording.zone == zone
    assert ("zone" in json.loads((out / "run.json").read_text())) is local
    assert f"Times are {zone}." in str(explain(recording, 1))
    write_gantt(tmp_path / "g.html", recording)
    assert f"(times are {zone})" in (tmp_path / "g.html").read_text()
    assert TimeAxis.of(recording).zone == zone


def test_a_part_of_a_log_is_prepared_run_and_read_back(tmp_path, capsys):
    path, out = tmp_path / "a.txt", tmp_path / "out"
    path.write_text(delimited_text([row(n, Partition=("batch", "gpu")[n % 2], submit=n) for n in range(6)]))
    words = ["run", str(path), "-o", str(out), "--mechanism", "baseline", "--where", "partition=gpu", "--unit", "cores"]
    assert cli.main(words) == 0
    assert "3 jobs on 768 processors; left out: 3 (3 not partition=gpu)" in capsys.readouterr().out
    # Without a job table the jobs are read from the log again, in the same way.
    assert [job.nodes for job in read_recording(out, events=False).table] == [256, 256, 256]
    assert cli.main(["prepare", str(path), "-o", str(tmp_path / "t.csv"), "--where", "partition=gpu"]) == 0
    assert "3 jobs written" in capsys.readouterr().out
    (tmp_path / "s.toml").write_text(
        f'mechanisms = "baseline"\n[workload]\nnodes = 16\n'
        f'traces = ["{path}", {{path = "{path}", where = "partition=gpu"}}]\n'
    )
    assert cli.main(["sweep", str(tmp_path / "s.toml"), "-o", str(tmp_path / "sweep"), "--workers", "1"]) == 0
    rows = read_csv(tmp_path / "sweep" / "summary.csv")
    assert [row["workload"] for row in rows] == [str(path), f"{path} partition=gpu"]
    for wrong in (["--where", "gpu"], ["--unit", "racks"]):
        assert cli.main(["info", str(path), *wrong]) == 2
        assert f"holdfast info: error: {wrong[0]} must be " in capsys.readouterr().err
