"""sacct does not quote: separators and line breaks in job names, submit lines, comments and constraints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.workloads.ground.errors import TraceError
from holdfast.workloads.logs.filters import Choice
from holdfast.workloads.logs.readers import read_trace
from holdfast.workloads.logs.sacct import parse_sacct, read_sacct
from holdfast.workloads.logs.sacct_formats import detect_form
from holdfast.workloads.logs.squeue import read_queue
from tests.shared_data import shared_file

NAMES = (
    *("JobID", "JobName", "User", "Account", "Submit", "Start", "End", "TimelimitRaw", "NNodes", "State", "Comment"),
    *("ExitCode", "SubmitLine"),
)
NOW = "2023-11-14T22:1{}:00"


def line(job: int, name: str = "run", comment: str = "", command: str = "sbatch a.sh") -> str:
    times = (NOW.format(0), NOW.format(1), NOW.format(3))
    return "|".join((str(job), name, "ann", "bio", *times, "10", "2", "COMPLETED", comment, "0:0", command))


def text(*lines: str) -> str:
    return "\n".join(["|".join(NAMES), *lines]) + "\n"


def cells(*lines: str) -> list[dict[str, str]]:
    form = detect_form(text(*lines), "a.txt")
    return [dict(zip(form.names, form.cells(record), strict=True)) for _, record in form.records()]


#: Texts that end and begin with a letter, so that each has one reading beside its neighbours.
inner = st.text("abz|\n: -", max_size=8).filter(lambda name: "\n\n" not in name)
hard = st.just("a") | inner.map(lambda name: f"a{name}z")


def test_a_record_with_a_separator_and_a_line_break_is_no_part_of_the_one_above() -> None:
    found = cells(line(1), line(2, name="a|z", comment="b\n|c"))
    assert [(row["JobID"], row["JobName"], row["Comment"], row["SubmitLine"]) for row in found] == [
        ("1", "run", "", "sbatch a.sh"),
        ("2", "a|z", "b\n|c", "sbatch a.sh"),
    ]


def test_separators_before_a_line_break_fill_no_columns() -> None:
    # With its two separators the first line has as many cells as the header.
    found = cells(line(1, comment="a||\nz"), line(2))
    assert [(row["JobID"], row["Comment"], row["ExitCode"]) for row in found] == [
        ("1", "a||\nz", "0:0"),
        ("2", "", "0:0"),
    ]


@settings(max_examples=60)
@given(st.lists(st.tuples(hard, hard, hard), min_size=1, max_size=4))
def test_every_text_comes_back(texts: list[tuple[str, str, str]]) -> None:
    lines = [line(number, *three) for number, three in enumerate(texts, start=1)]
    found = cells(*lines)
    assert [row["JobID"] for row in found] == [str(number) for number in range(1, len(texts) + 1)]
    for row, (name, comment, command) in zip(found, texts, strict=True):
        # A line of blanks alone is no line of a text.
        assert [row["JobName"], row["Comment"], row["SubmitLine"]] == [
            "\n".join(part for part in value.split("\n") if part.strip()) if "\n" in value else value
            for value in (name, comment, command)
        ]
        assert (row["User"], row["NNodes"], row["State"], row["ExitCode"]) == ("ann", "2", "COMPLETED", "0:0")


def test_jobs_are_those_of_plain_names() -> None:
    plain = parse_sacct(text(line(1), line(2), line(3)), "a.txt")
    hard = parse_sacct(
        text(line(1, "a|b"), line(2, "a\nb|c", "x | y"), line(3, command="sbatch <<E\n#!/bin/sh\nrun | tee\nE")),
        "a.txt",
    )
    assert hard.jobs == plain.jobs
    assert not hard.excluded
    chosen = parse_sacct(text(line(1, "a|b"), line(2)), "a.txt", choice=Choice.of("name=a|b"))
    assert [job.job_id for job in chosen.jobs] == [1]


@pytest.mark.parametrize(
    ("broken", "at"),
    [
        (line(2)[:40], 3),  # cut off
        (line(2) + "|more|0:0|x|y", None),  # SubmitLine takes what follows it
        (line(2).replace("COMPLETED", "x|COMPLETED"), 3),  # no text there
    ],
)
def test_what_fits_nowhere_is_refused(broken: str, at: int | None) -> None:
    whole = text(line(1), broken, line(3))
    if at is None:
        assert len(parse_sacct(whole, "a.txt").jobs) == 3
        return
    with pytest.raises(TraceError, match=rf"a\.txt:{at}: a line must have 13 fields"):
        parse_sacct(whole, "a.txt")
    assert [job.job_id for job in parse_sacct(whole, "a.txt", lenient=True).jobs] == [1, 3]


def test_two_readings_are_refused() -> None:
    names = "JobName|User|Comment|JobID|Submit|Start|End|NNodes"
    row = f"a|b|c|d|1|{NOW.format(0)}|{NOW.format(1)}|{NOW.format(2)}|1"
    with pytest.raises(TraceError, match=r"a\.txt:2: a text with \| in it cannot be separated .* --delimiter"):
        parse_sacct(f"{names}\n{row}\n", "a.txt")


def test_the_rest_of_a_record_is_counted() -> None:
    rest = "me|" + line(2).split("|", 2)[2]
    trace = parse_sacct(text(line(1), rest, line(3)), "a.txt")
    assert [job.job_id for job in trace.jobs] == [1, 3]
    assert trace.excluded == {"rest of a line, after a line break in a text, without its beginning": 1}


@pytest.mark.parametrize(("name", "jobs"), [("sacct_simple.log", 4), ("sacct_dump2101.log", 6)])
def test_public_dumps(name: str, jobs: int) -> None:
    trace = read_sacct(shared_file("slurm/ubccr", name))
    assert len(trace.jobs) == jobs


@pytest.mark.parametrize(
    ("document", "quoted"),
    [
        (
            {"errors": [{"error": "Unable to connect to database", "error_number": 7000}], "jobs": []},
            "'Unable to connect to database' (error 7000)",
        ),
        (
            {
                "meta": {"plugin": {"type": "openapi/dbv0.0.38"}},
                "errors": [{"description": "Query failed", "error": "Access denied\n", "source": "slurmdb_jobs_get"}],
            },
            "'Query failed': 'Access denied'",
        ),
        ({"meta": {}, "errors": ["no such cluster"], "jobs": []}, "'no such cluster'"),
        ({"errors": [{"error": "down", "error_number": True}], "jobs": []}, "'down'"),
    ],
)
def test_a_document_with_an_error_alone(document: dict[str, object], quoted: str, tmp_path: Path) -> None:
    path = tmp_path / "sacct.json"
    path.write_text(json.dumps(document))
    for read in (read_trace, read_queue):
        with pytest.raises(TraceError) as raised:
            read(path)
        assert str(raised.value) == f"{path}: holds no job but an error of Slurm: {quoted}"
