"""One clock: a date means the same in every option and file, and messages name its zone."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from holdfast.experiments.cli import main
from holdfast.workloads.ground.dates import is_date
from holdfast.workloads.ground.errors import InputError, ParameterError, TraceError
from holdfast.workloads.logs.clock import LOCAL, LogClock
from holdfast.workloads.outages.file import read_outages

BEGIN = datetime(2026, 1, 12, 8, tzinfo=UTC).timestamp()
#: A log whose clock stands at 0 on 12 January 2026, 8:00.
DATED = LogClock(600.0, BEGIN, source="a.swf")


def test_dates_and_durations() -> None:
    assert DATED.date("2026-01-12T09:00", "--at") == 3600.0
    assert DATED.date("2026-01-12T09:00+01:00", "--at") == 0.0
    assert DATED.time("90m", "--at") == 600.0 + 5400.0
    assert DATED.show(3600.0) == "2026-01-12 09:00 UTC"
    local = LogClock(600.0, BEGIN, LOCAL, "b.txt")
    assert local.date("2026-01-12T09:00", "--at") == 3600.0
    assert local.show(3600.0, seconds=True) == "2026-01-12 09:00:00 local time"
    with pytest.raises(InputError, match=r"b\.txt are local time without their zone; give the date without a zone"):
        local.date("2026-01-12T09:00Z", "--at")
    with pytest.raises(InputError, match=r"start: 2026-01-12 is a date, but c has no dates"):
        LogClock(source="c").date("2026-01-12", "start")
    for wrong in ("2026-13-01", "9999-99-99T00:00", "12:00"):
        with pytest.raises(ParameterError, match="must be a time after the first submit"):
            DATED.time(wrong, "--at")
    assert [is_date(text) for text in ("2026-01-12", "12:00", "-5", "1e-3", "-1e-3", "604800")] == [True] * 2 + [
        False
    ] * 4


HEAD = "kind,start,end,nodes,announced\n"


def test_outages_with_dates_and_all_nodes(tmp_path: Path) -> None:
    path = tmp_path / "o.csv"
    path.write_text(HEAD + "maintenance,2026-01-12T10:00,2026-01-12 20:00,ALL,2026-01-12\nmaintenance,90000,90060,2,\n")
    first, second = read_outages(path, nodes=16, clock=DATED)
    assert (first.start, first.end, first.nodes, first.announced) == (7200.0, 43200.0, 16, -28800.0)
    assert (second.start, second.nodes) == (90000.0, 2)
    with pytest.raises(TraceError, match=r"o\.csv:2: start: 2026-01-12T10:00 is a date, but the log has no dates"):
        read_outages(path, nodes=16)
    path.write_text(HEAD + "maintenance,0,60,all,\n")
    with pytest.raises(TraceError, match="nodes must be a whole number where the size of the machine is not known"):
        read_outages(path)
    for cells, sentence in (
        ("2026-02-30,2026-03-01,1", "start must be a date such as 2022-03-01T12:00, or a number of seconds"),
        ("0,6_0,1", "end must be a finite number, not '6_0'"),
        ("0,60,1_6", "nodes must be a whole number, not '1_6'"),
    ):
        path.write_text(HEAD + f"maintenance,{cells},\n")
        with pytest.raises(TraceError, match=sentence):
            read_outages(path, nodes=16, clock=DATED)


def log(path: Path, local: bool = False) -> Path:
    """Ten jobs, one each hour from 12 January 2026, 8:00 on, each half an hour long."""
    rows = ["JobID|User|Submit|Start|End|TimelimitRaw|NNodes|State"]
    for k in range(10):
        times = (3600 * k, 3600 * k + 60, 3600 * k + 1860)
        shown = [f"{datetime.fromtimestamp(BEGIN + t, UTC):%Y-%m-%dT%H:%M:%S}" if local else BEGIN + t for t in times]
        rows.append("|".join(map(str, (k + 1, "ann", *shown, 60, 2, "COMPLETED"))))
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.mark.parametrize("local", [False, True])
def test_all_options_mean_the_same_instant(local: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = str(log(tmp_path / "a.txt", local))
    zone = "local time" if local else "UTC"
    at = "2026-01-12T12:30"
    words = ["--machine", "4", "--draws", "2", "--workers", "1"]
    assert main(["forecast", trace, "--at", at, *words, "--nodes", "1", "--walltime", "1h"]) == 0
    where = f"Now is 2026-01-12 12:30 {zone} (--at {at}): 1 job runs on 2 of 4 nodes"
    assert capsys.readouterr().out.startswith(where)
    assert main(["forecast", trace, "--at", "2026-02-01", *words]) == 2
    error = capsys.readouterr().err
    assert f"from 2026-01-12 08:00:00 {zone} to 2026-01-12 17:00:00 {zone}, not at 2026-02-01 00:00:00 {zone}" in error
    # A replay from then on is that from 4.5 h after the first submit on.
    both = []
    for begin in (at, "4.5h"):
        run = ["run", trace, "--nodes", "4", "--mechanism", "baseline", "--starting-state", begin, "--events"]
        assert main([*run, "--until", "2026-01-12T15:30", "-o", str(tmp_path / begin)]) == 0
        both.append((tmp_path / begin / "jobs-baseline.csv").read_bytes())
    assert both[0] == both[1]
    assert both[0].count(b"\n") == 5
    capsys.readouterr()
    run = ["run", trace, "--nodes", "4", "--mechanism", "baseline", "-o", str(tmp_path / "no")]
    assert main([*run, "--starting-state", "2025-01-01"]) == 2
    assert (
        f"--starting-state must be at the first submit, 2026-01-12 08:00:00 {zone}, or later" in capsys.readouterr().err
    )
    assert main([*run, "--until", "2026-01-12T07:00"]) == 2
    assert "--until must be later than the start of the replay" in capsys.readouterr().err
    assert not (tmp_path / "no").exists()


def test_a_window_of_maintenance_by_dates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = str(log(tmp_path / "a.txt"))
    starts = {}
    for name, cells in (
        ("dates", "2026-01-12T10:00,2026-01-12T20:00+00:00,all"),
        ("seconds", f"{BEGIN + 7200:.0f},{BEGIN + 43200:.0f},4"),
    ):
        (tmp_path / f"{name}.csv").write_text(f"kind,start,end,nodes\nmaintenance,{cells}\n")
        run = ["run", trace, "--nodes", "4", "--mechanism", "baseline", "--outages", str(tmp_path / f"{name}.csv")]
        assert main([*run, "-o", str(tmp_path / name)]) == 0
        starts[name] = [
            float(row.split(",")[3]) - BEGIN
            for row in (tmp_path / name / "jobs-baseline.csv").read_text().splitlines()[1:]
        ]
    assert starts["dates"] == starts["seconds"]
    # By hand: the jobs of 8:00 and 9:00 (limit an hour) start at once, no other before 20:00.
    assert starts["dates"][:2] == [0.0, 3600.0]
    assert min(starts["dates"][2:]) == 43200.0
    capsys.readouterr()
    (tmp_path / "late.csv").write_text("kind,start,end,nodes\nmaintenance,2027-01-01,2027-01-02,all\n")
    run = ["run", trace, "--nodes", "4", "--mechanism", "baseline", "--outages", str(tmp_path / "late.csv")]
    assert main([*run, "-o", str(tmp_path / "late")]) == 0
    assert (
        "outage 1 (maintenance, 2027-01-01 00:00:00 to 2027-01-02 00:00:00) lies outside the simulated time, "
        "2026-01-12 08:00:00 to 2026-01-12 17:30:00 UTC"
    ) in capsys.readouterr().err
