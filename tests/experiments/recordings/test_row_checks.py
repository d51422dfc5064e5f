"""Every result of a simulation is sound, whatever its options; what breaks a law is refused with file and line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from holdfast.experiments import cli
from holdfast.experiments.recordings.row_checks import sound_decisions, sound_entries, sound_records, sound_samples
from holdfast.simulator import simulate
from holdfast.simulator.machine.decisions import Decision
from holdfast.simulator.results.records import JobRecord, Records, Samples, whole_column
from holdfast.workloads.ground.errors import InputError, TraceError
from holdfast.workloads.table.job_table import write_job_table
from tests.search.cases import seeded_case
from tests.support.jobs import reseal, rigid

PATH = Path("events.csv")


def rows(entries: Any) -> Iterator[tuple[int, Any]]:
    return ((line, entry._asdict()) for line, entry in enumerate(entries, start=2))


def sound_course(found: Any, nodes: int, entries: Any) -> Samples:
    """Samples as they stand in the columns of a file."""
    columns = {place: whole_column([sample[place] for sample in found]) for place in range(5)}
    return sound_samples(columns, PATH, range(2, 2 + len(found)), nodes, entries)


def sound(records: Iterable[JobRecord], first: int) -> Records:
    """Records as they stand in the columns of a file, whose rows begin in that line."""
    given = list(records)
    fields = dict(zip(JobRecord._fields, zip(*given, strict=True), strict=True))
    texts = {"type": [str(kind) for kind in fields.pop("type")], "status": list(fields.pop("status"))}
    runtimes = whole_column(fields.pop("runtime"))
    if not any(time is not None for time in fields["eligible"]):
        del fields["eligible"]
    columns = {**texts, **{name: whole_column(values) for name, values in fields.items()}}
    return sound_records(columns, runtimes, PATH, range(first, first + len(given)))


@pytest.mark.parametrize("count", [100, pytest.param(20_000, marks=pytest.mark.slow)])
def test_what_the_simulator_writes_is_sound(count: int) -> None:
    checked = 0
    for index in range(count):
        case = seeded_case(5, index)
        with suppress(InputError):  # failures that let no job end
            result = replace(case, options={**case.options, "decisions": True}).simulate()
            checked += 1
            assert sound(result.records, 2) == result.records
            known = {record.job_id: record for record in result.records}
            entries = list(sound_entries(rows(result.entries), PATH, known, case.nodes))
            assert entries == list(result.entries)
            decisions = list(result.decisions or ())
            assert list(sound_decisions(rows(decisions), PATH)) == decisions
            assert sound_course(result.samples, case.nodes, entries) == result.samples
    assert checked > count // 2


RESULT = simulate([rigid(1, 0, 2, 60), rigid(2, 10, 2, 60)], 2)
KNOWN = {record.job_id: record for record in RESULT.records}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda log: [*log[:2], log[1], *log[2:]], r"events\.csv:4: job 1 is already running"),
        (lambda log: [log[0], *log[2:]], r"events\.csv:4: job 1 is not running"),
        (lambda log: [*log, log[0]], "its time is before that of the line above"),
        (lambda log: [*log, log[-1]], "job 2 has ended in a line above"),
        (lambda log: [log[0]._replace(event="begin")], "'begin' is not an event of a job"),
        (lambda log: [log[0]._replace(job_id=7)], "there is no such job"),
        (lambda log: [log[0]._replace(job_id=7, event="down")], "job 7 is not among the jobs that were simulated"),
        (lambda log: [log[0]._replace(after=-1)], "numbers of nodes must be from 0 to 1,000,000,000"),
        (lambda log: [log[0]._replace(after=10**19)], "numbers of nodes must be from 0 to 1,000,000,000"),
        (lambda log: [log[0]._replace(time=None)], "a cell is empty"),
        (
            lambda log: [*log[:1], log[1]._replace(after=3), *log[2:]],
            "3: runs and outages have 3 nodes, of 2 in the machine",
        ),
        (lambda log: [*log[:3], log[1]._replace(time=log[2].time, job_id=2)], "have 4 nodes, of 2 in the machine"),
        (
            lambda log: [*log[:2], log[1]._replace(job_id=-1, event="down")],
            "have 4 nodes, of 2 in the machine",
        ),
        (
            lambda log: [*log[:1], log[1]._replace(before=1), *log[2:]],
            "'start' cannot change job 1 from 1 to 2 nodes: it",
        ),
        (lambda log: [*log[:1], log[1]._replace(after=0), *log[2:]], "from 0 to 0 nodes: it has 0"),
        (lambda log: [*log[:2], log[1]._replace(event="expand", before=2)], "from 2 to 2 nodes: it has 2"),
        (lambda log: [*log[:2], log[1]._replace(event="shrink", before=2)], "from 2 to 2 nodes: it has 2"),
        (
            lambda log: [*log[:2], log[1]._replace(event="warn", before=2, after=1)],
            "from 2 to 1 nodes: it has 2",
        ),
        (lambda log: [*log[:3], log[3]._replace(after=1)], "from 2 to 1 nodes: it has 2"),
    ],
)
def test_an_altered_event_log_is_refused(change: Any, sentence: str) -> None:
    with pytest.raises(TraceError, match=sentence):
        list(sound_entries(rows(change(list(RESULT.entries))), PATH, KNOWN, 2))


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"status": "done"}, "must have one of the states completed"),
        ({"end": None}, "must have a submit, a start and an end"),
        ({"start": None}, "must have a submit, a start and an end"),
        ({"start": 10**12}, "must be submitted, then start, then end"),
        ({"lost": None}, "lost node-seconds of at least 0"),
        ({"shrinks": -1}, "lost node-seconds of at least 0"),
        ({"status": "no_show"}, "did not arrive, but has a start or an end"),
    ],
)
def test_an_altered_record_is_refused(values: dict[str, Any], sentence: str) -> None:
    with pytest.raises(TraceError, match=rf"events\.csv:9: job 1 .*{sentence}"):
        sound([RESULT.records[0]._replace(**values)], 9)


def test_the_line_is_that_of_the_broken_row() -> None:
    with pytest.raises(TraceError, match=r"events\.csv:6: job 2 .*must be submitted, then start"):
        sound([RESULT.records[0], RESULT.records[1]._replace(start=0), RESULT.records[0]], 5)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda found: found[:1] + found, "its time is not after that of the line above"),
        (lambda found: found[:-1], "has a time that is not in this table"),
        (lambda found: [(*found[0][:1], 3, *found[0][2:]), *found[1:]], "from 0 to the 2 of the machine"),
        (lambda found: [*found[:1], (*found[1][:4], None), *found[2:]], r":3: a cell is empty"),
        (lambda found: [*found[:1], (*found[1][:4], -1), (0,) * 5], r":3: busy and held nodes"),
        (lambda found: [], r":1: the event log has a time"),
    ],
)
def test_an_altered_course_is_refused(change: Any, sentence: str) -> None:
    with pytest.raises(TraceError, match=sentence):
        sound_course(change(list(RESULT.samples)), 2, RESULT.entries)


DECIDED = [Decision(0, "promise", 1, at=5), Decision(1, "victim", 1, 2, 3, loss=4), Decision(2, "reason", why="so")]


@pytest.mark.parametrize(
    ("place", "values", "sentence"),
    [
        (0, {"time": None}, r"events\.csv:2: a cell is empty"),
        (0, {"job_id": None}, r"events\.csv:2: a cell is empty"),
        (1, {"loss": None}, r"events\.csv:3: a cell is empty"),
        (2, {"time": 0}, r"events\.csv:4: its time is before that of the line above"),
        (2, {"decision": "hope"}, r"events\.csv:4: 'hope' is not a decision"),
    ],
)
def test_an_altered_decision_is_refused(place: int, values: dict[str, Any], sentence: str) -> None:
    assert list(sound_decisions(rows(DECIDED), PATH)) == DECIDED
    altered = [*DECIDED[:place], DECIDED[place]._replace(**values), *DECIDED[place + 1 :]]
    with pytest.raises(TraceError, match=sentence):
        list(sound_decisions(rows(altered), PATH))


def test_an_event_log_with_more_nodes_than_the_machine_has_no_placement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_job_table([rigid(1, 0, 2, 60), rigid(2, 10, 2, 60)], "t.csv")
    assert cli.main(["run", "t.csv", "-o", "r", "--nodes", "2", "--mechanism", "baseline", "--events"]) == 0
    path = Path("r/events-baseline.csv")
    path.write_text(path.read_text().replace("start,1,0,2", "start,1,0,3"))
    reseal(tmp_path / "r")
    capsys.readouterr()
    for words in (["export", "r", "-o", "x.csv", "--format", "batsim"], ["gantt", "r", "-o", "x.html"]):
        assert cli.main(words) == 2
        error = capsys.readouterr().err
        assert "events-baseline.csv:3: runs and outages have 3 nodes, of 2 in the machine" in error
        assert error.count("\n") == 1


@pytest.mark.parametrize("seconds", ["9223372036854775808", "-1e23", "9223372036854.776", "-5"])
def test_a_time_that_no_simulation_reaches_is_refused(
    seconds: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_job_table([rigid(1, 10, 2, 60), rigid(2, 20, 2, 60)], "t.csv")
    assert cli.main(["run", "t.csv", "-o", "r", "--nodes", "2", "--mechanism", "baseline", "--events"]) == 0
    lasts = {"jobs": ("70.0,130.0", "70.0,{}", "end"), "events": ("130.0,complete", "{},complete", "time")}
    for table, (before, after, column) in lasts.items():
        path = Path(f"r/{table}-baseline.csv")
        text = path.read_text()
        assert before in text
        path.write_text(text.replace(before, after.format(seconds)))
        reseal(tmp_path / "r")
        capsys.readouterr()
        for words in (["gantt", "r", "-o", "x.html"], ["explain", "r", "1"]):
            assert cli.main(words) == 2
            error = capsys.readouterr().err
            assert f"{path.name}:" in error
            assert f"{column} must be from 10 to 9,223,372,036,854.7" in error
            assert error.count("\n") == 1
        path.write_text(text)


def test_a_damaged_result_names_file_and_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_job_table([rigid(1, 0, 2, 60), rigid(2, 10, 2, 60)], "t.csv")
    assert cli.main(["run", "t.csv", "-o", "r", "--nodes", "2", "--mechanism", "baseline", "--events"]) == 0
    path = Path("r/jobs-baseline.csv")
    path.write_text(path.read_text().replace("completed", "withdrawn", 1))
    reseal(tmp_path / "r")
    capsys.readouterr()
    for words in (["explain", "r", "1"], ["gantt", "r", "-o", "x.html"], ["export", "r", "-o", "x.swf"]):
        assert cli.main(words) == 2
        error = capsys.readouterr().err
        assert "jobs-baseline.csv:2: job 1 must have one of the states" in error
        assert error.count("\n") == 1
