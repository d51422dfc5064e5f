"""Logs in SWF as columns: the compiled loop, the plain loop and the reader of single lines read the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from holdfast.workloads.ground.errors import TraceError
from holdfast.workloads.ground.object_code import object_code
from holdfast.workloads.ground.row_views import Codes
from holdfast.workloads.logs import swf_records
from holdfast.workloads.logs.cleaning import Intake, OutOfBoundsError, Records, Tally
from holdfast.workloads.logs.readers import read_trace
from holdfast.workloads.logs.swf import parse_swf, read_long_swf
from holdfast.workloads.logs.swf_loop import KINDS, read_lines
from holdfast.workloads.logs.trace import Trace, TraceJob
from tests.golden.tables import swf
from tests.reference.intake import clean_records
from tests.support.seeds import in_parts

#: Cells that the loop must leave to the reader of lines, or read like it.
CELLS = (
    *("0", "1", "-1", "007", "7.0", "-0", "-0.0", "0.5", "-1.5", "1.1234567", "123456789", "1234567890", "9000000000"),
    *("8999999999.999999", "9000000001", "1e3", "nan", "+1", "1_0", "-", ".", "5.", ".5", "1-2", "1.2.3", "x"),
    *("9" * 20, "4294967296", "-7", "3.25"),
)


def odd(seed: int) -> bytes:
    """A log in which some cells are what a loop over digits could misread."""
    rng = Random(seed)
    lines = swf(seed, 60).decode().split("\n")
    for _ in range(rng.randrange(6)):
        place = rng.randrange(len(lines))
        cells = lines[place].split()
        if len(cells) > 16:
            cells[rng.randrange(len(cells))] = rng.choice(CELLS)
            lines[place] = (
                rng.choice(("", " ", "\t")) + rng.choice((" ", "\t", "  ")).join(cells) + rng.choice(("", " "))
            )
    ends = rng.choice(("\n", "\r\n"))
    return ends.join(lines).encode()


def plain(data: np.ndarray, begin: int, end: int, line: int, table: np.ndarray, rows: int, state: np.ndarray) -> None:
    """The loop as Python runs it."""
    found, place = table.tolist(), state.tolist()
    read_lines(data.tolist(), begin, end, line, found, rows, place)
    table[:], state[:] = found, place


def read(data: bytes, loop: Callable[..., None] | None, monkeypatch: pytest.MonkeyPatch, **options: Any) -> Any:
    monkeypatch.setattr(swf_records, "_loop", lambda length: loop)
    try:
        trace = parse_swf(data, "a.swf", **options)
    except TraceError as error:
        return str(error)
    return list(trace.jobs), trace, list(trace.remarks.items()), list(trace.excluded.items()), trace.header


@pytest.mark.parametrize("seeds", in_parts(range(60), 24))
@pytest.mark.parametrize("lenient", [False, True])
def test_loops_and_lines_read_the_same(lenient: bool, seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = object_code(read_lines, KINDS)
    loops = [plain] if compiled is None else [plain, compiled]
    monkeypatch.setattr(swf_records, "_ROWS", 32)
    read_as_numbers = 0
    for seed in seeds:
        data = odd(seed)
        exact = read(data, None, monkeypatch, lenient=lenient)
        for loop in loops if seed < 20 else loops[1:]:
            assert read(data, loop, monkeypatch, lenient=lenient) == exact
        read_as_numbers += not isinstance(exact, str)
    assert read_as_numbers > 4


def test_small_windows_and_whole_files_give_the_same(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    data = swf(3, 400)
    (tmp_path / "a.swf").write_bytes(data)
    whole = parse_swf(data, tmp_path / "a.swf")
    for size in (50, 1000, 1 << 20):
        monkeypatch.setattr("holdfast.workloads.ground.files._BLOCK", size)
        part = read_long_swf(tmp_path / "a.swf")
        assert part == whole
        assert list(part.remarks) == list(whole.remarks)


def draw_records(seed: int, count: int) -> list[dict[str, Any]]:
    """Records with everything that an intake looks at."""
    rng = Random(seed)
    times = (-1.0, 0.0, 4e-7, 1.0, 60.0, 60.5, 3600.0)
    return [
        {
            "job_id": rng.randrange(9), "submit": rng.choice((-1.0, 0.0, 5.0, 7.5, 9.0)),
            "nodes": rng.choice((-1, 0, 1, 4)), "runtime": rng.choice(times), "walltime": rng.choice(times),
            "wait": rng.choice((-1.0, 0.0, 3.0)), "user": rng.choice(("", "a")), "project": rng.choice(("", "b")),
            "stopped": rng.random() < 0.5, "preceding": rng.choice((0, 0, 3)),
            "think_time": rng.choice((-1.0, 0.0, 2.0)), "partition": rng.choice(("", "p")),
        }
        for _ in range(count)
    ]  # fmt: skip


def in_columns(rows: list[dict[str, Any]], codes: Codes) -> Records:
    columns: dict[str, Any] = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    for name in ("user", "project", "partition"):
        columns[name] = np.array([codes.code(row[name]) for row in rows], np.int32)
    return Records(**columns)


@pytest.mark.parametrize("seed", range(20))
def test_records_in_columns_are_cleaned_like_single_ones(seed: int) -> None:
    rows = draw_records(seed, 40)
    one, all_, tally = Intake(), Intake(), Tally()
    expected = clean_records(rows)
    for row in rows:
        given = dict(row)
        before = {"preceding": given.pop("preceding") or None, "think_time": given.pop("think_time")}
        before["think_time"] = before["think_time"] if before["think_time"] >= 0 else None
        one.add(**given, **before)
    # In two parts, as blocks of a file come.
    kept = []
    for part in (rows[:13], rows[13:]):
        kept.append(all_.take(in_columns(part, all_.codes), tally))
        tally.count()
    found = [intake.trace("a", "swf", None, {}) for intake in (one, all_)]
    assert list(found[0].jobs) == list(found[1].jobs) == expected
    assert list(found[0].excluded.items()) == list(found[1].excluded.items())
    assert dict(found[0].remarks) == dict(found[1].remarks)
    assert int(np.concatenate(kept).sum()) == len(expected)


@pytest.mark.parametrize(
    ("name", "value"), [("nodes", 2_000_000_000), ("submit", 2e12), ("wait", 1e13), ("think_time", 1e15)]
)
def test_out_of_bounds_records_are_refused_alike(name: str, value: float) -> None:
    rows = draw_records(1, 10)
    rows[4] |= {"submit": 1.0, "nodes": 1, "runtime": 5.0, "walltime": 9.0, name: value}
    with pytest.raises(ValueError, match="must be at most") as single:
        given = {key: cell for key, cell in rows[4].items() if key not in ("preceding", "think_time")}
        Intake().add(**given, preceding=3, think_time=rows[4]["think_time"])
    intake = Intake()
    with pytest.raises(OutOfBoundsError) as several:
        intake.take(in_columns(rows, intake.codes), Tally())
    assert (several.value.row, str(several.value)) == (4, str(single.value))
    lenient, tally = Intake(), Tally()
    kept = lenient.take(in_columns(rows, lenient.codes), tally, lenient=True)
    tally.count()
    assert not kept[4]
    assert lenient.excluded["broken line"] == 1


def test_a_trace_takes_rows_and_columns_alike() -> None:
    trace = parse_swf(swf(5, 100), "a.swf")
    rows = Trace(tuple(trace.jobs), trace.nodes)
    assert rows.jobs == trace.jobs
    for name, column in trace.jobs.columns.items():
        if trace.jobs.kinds[name] != "text":
            assert np.array_equal(rows.jobs.column(name), column, equal_nan=trace.jobs.kinds[name] == "time")
    assert rows.on_machine(4).jobs == trace.on_machine(4).jobs


def test_columns_of_texts_are_replaced_in_rows_and_columns_alike() -> None:
    trace = parse_swf(swf(5, 100), "a.swf")
    queues = [("", "new", trace.jobs[0].user)[place % 3] for place in range(len(trace.jobs))]
    for jobs in (trace.jobs, Trace(tuple(trace.jobs)).jobs):
        named = jobs.with_texts(partition=queues)
        assert [job.partition for job in named] == queues
        assert [job.user for job in named] == [job.user for job in trace.jobs]


@pytest.mark.parametrize("as_rows", [False, True])
def test_a_frame_has_the_fields_that_the_log_records(as_rows: bool) -> None:
    pytest.importorskip("pandas")
    trace = parse_swf(swf(5, 100), "a.swf")
    frame = (Trace(tuple(trace.jobs)) if as_rows else trace).frame
    for item in fields(TraceJob):
        values = [getattr(job, item.name) for job in trace.jobs]
        if item.name in frame:
            found = [None if value != value else value for value in frame[item.name].tolist()]
            assert found == values
        elif item.name not in ("preceding", "think_time"):
            assert not any(values)


@pytest.mark.filterwarnings("error")
def test_a_job_that_is_left_out_may_have_any_numbers(tmp_path: Path) -> None:
    path = tmp_path / "a.swf"
    row = "{0} {0} -1 {1} 256 -1 -1 256 {1} -1 1 1 1 1 -1 -1 -1 -1\n"
    path.write_text("; MaxNodes: 4392\n" + row.format(1, "60") + row.format(2, "1e307"))
    assert [job.job_id for job in read_trace(path, lenient=True).jobs] == [1]


@pytest.mark.parametrize("cell", ["9223372036854775807", "1e308", "-1e30"])
def test_a_status_beyond_64_bits_is_the_text_that_stands_there(cell: str) -> None:
    lines = b"".join(b"%d 0 0 60 4 -1 -1 4 60 -1 %s 1 1 1 1 1 -1 -1\n" % job for job in ((1, b"1"), (2, cell.encode())))
    (found,) = swf_records.read_lines([lines], False)
    codes = Codes()
    assert [codes.names[code] for code in found.codes(10, codes, signed=True)] == [
        "1",
        cell,
    ]  # and no warning of a cast
