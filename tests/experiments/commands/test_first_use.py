"""What a first user of the commands met: units, zones, hints and windows, from end to end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdfast.experiments import cli

SACCT = "JobIDRaw|User|Account|Partition|State|Submit|Eligible|Start|End|ElapsedRaw|TimelimitRaw|NNodes|NodeList\n"


def refusal(capsys: pytest.CaptureFixture[str], words: str) -> str:
    assert cli.main(words.split()) == 2
    return capsys.readouterr().err


def command_output(capsys: pytest.CaptureFixture[str], words: str) -> str:
    assert cli.main(words.split()) == 0
    captured = capsys.readouterr()
    return captured.out + captured.err


@pytest.fixture
def processors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Hourly jobs of 8 processors on 16, in two nodes."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "log.swf"
    line = "{} {} 0 1800 8 -1 -1 8 3600 -1 1 1 1 -1 1 -1 -1 -1\n"
    jobs = "".join(line.format(n, n * 3600) for n in range(1, 40))
    path.write_text("; UnixStartTime: 1646092800\n; MaxProcs: 16\n; MaxNodes: 2\n" + jobs)
    return path


@pytest.fixture
def local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An sacct export whose dates are local time; its jobs are held for ten minutes each."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "sacct.txt"
    row = "{0}|u|a|p|COMPLETED|2026-03-01T{1:02}:00:00|2026-03-01T{1:02}:10:00|2026-03-01T{1:02}:20:00|"
    rows = "".join(row.format(n, n) + f"2026-03-01T{n:02}:50:00|1800|60|4|n[1-4]\n" for n in range(1, 20))
    path.write_text(SACCT + rows)
    return path


def test_forecasts_refuse_in_the_unit_of_the_log(processors: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sentence = refusal(capsys, f"forecast {processors} --at 1d --draws 2 --workers 1 --nodes 17 --walltime 1h")
    assert "requests 17 processors, but the machine has only 16 processors" in sentence


def test_forecasts_of_results_count_and_date_as_the_log_does(
    processors: Path, local: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    draw = "--draws 2 --workers 1 --least 1 --nodes 1 --walltime 1h"
    assert cli.main(f"run {processors} -o a --mechanism baseline".split()) == 0
    assert cli.main(f"run {local} --nodes 4 -o b --mechanism baseline".split()) == 0
    capsys.readouterr()
    assert "of 16 processors" in command_output(capsys, f"forecast a --at 1d {draw}")
    assert "Now is 2026-03-01 15:00 local time" in command_output(capsys, f"forecast b --at 2026-03-01T15:00 {draw}")


def test_a_forecast_names_its_own_option_for_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    line = "{} {} 0 1800 1 -1 -1 1 3600 -1 1 1 1 -1 -1 {} -1 -1\n"
    text = "; MaxNodes: 4\n" + "".join(line.format(n, n * 3600, 1 + n % 2) for n in range(1, 40))
    Path("log.swf").write_text(text)
    output = command_output(capsys, "forecast log.swf --at 1d --draws 2 --workers 1 --least 1 --nodes 1 --walltime 1h")
    assert "2 partitions" in output and "--where partition=NAME --machine N simulates one" in output
    assert "--where partition=NAME --nodes N" in command_output(capsys, "info log.swf --no-simulation")


def test_streaming_refuses_other_formats_by_name(local: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sentence = refusal(capsys, f"run {local} -o out --stream --mechanism baseline")
    assert "--stream reads SWF, and this is a file of the format sacct" in sentence
    assert not Path("out").exists()


def test_too_few_names_of_nodes_are_not_the_machine(local: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Jobs of four nodes in a list that names one: the list was cut."""
    local.write_text(local.read_text().replace("n[1-4]", "n1"))
    assert "share nodes" not in command_output(capsys, f"info {local} --nodes 4 --no-simulation")


@pytest.mark.parametrize("time", ["1e308", "-1e308", "1e11y", "9999999d"])
@pytest.mark.parametrize("option", ["--from", "--to"])
def test_windows_beyond_the_calendar_are_refused(
    local: Path, capsys: pytest.CaptureFixture[str], option: str, time: str
) -> None:
    assert cli.main(f"run {local} --nodes 4 -o b --mechanism baseline --events".split()) == 0
    capsys.readouterr()
    assert f"{option} must be a time" in refusal(capsys, f"gantt b -o page.html {option}={time}")


@pytest.mark.parametrize("until", ["9999-12-31T23:59", "300y", "30y"])
def test_an_axis_of_centuries_has_few_ticks(local: Path, capsys: pytest.CaptureFixture[str], until: str) -> None:
    from holdfast.experiments.figures.recording.time_axis import TimeAxis
    from holdfast.experiments.recordings.archive import read_recording
    from holdfast.experiments.recordings.time_windows import Window

    assert cli.main(f"run {local} --nodes 4 -o b --mechanism baseline --events".split()) == 0
    capsys.readouterr()
    axis = TimeAxis.of(read_recording("b"), Window(None, until))
    major, minor = axis._ticks()
    assert 1 <= len(major) <= 12 and len(minor) < 1000
    assert set(major) <= set(minor)


def test_an_error_of_slurm_without_anything_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sacct.json").write_text(json.dumps({"errors": [{"error": "no\x1b database", "error_number": 7000}]}))
    sentence = refusal(capsys, "info sacct.json")
    assert "no job but an error of Slurm" in sentence and "(error 7000)" in sentence and "\x1b" not in sentence


def test_a_result_of_an_impossible_machine_is_refused(local: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from tests.support.jobs import reseal

    assert cli.main(f"run {local} --nodes 4 -o b --mechanism baseline --events".split()) == 0
    capsys.readouterr()
    reseal(Path("b"), nodes=2**63)
    assert "must name a positive number of nodes, at most 1,000,000,000" in refusal(capsys, "explain b 1")
