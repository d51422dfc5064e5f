"""Working directory of a sequence: its scripts, its JSON document, and the records that the scripts write."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, NamedTuple

from holdfast.experiments.slurm.job_chain import Link
from holdfast.experiments.slurm.reservation_sequence import Sequence
from holdfast.experiments.slurm.scripts import make_scripts
from holdfast.workloads.ground.documents import read_json
from holdfast.workloads.ground.errors import InputError, OutputError, ParameterError, TraceError
from holdfast.workloads.ground.files import partial_name, read_text, sync
from holdfast.workloads.ground.numbers import is_number, is_whole

__all__ = [
    "Record",
    "Remains",
    "check_directory",
    "holds_sequence",
    "read_remains",
    "read_sequence",
    "write_sequence",
]

_DOCUMENT = "sequence.json"
_FORMAT = "holdfast sequence 1"
#: Upper limit of times [s] and numbers in a sequence.
_MOST = 1e15
#: A whole number as the scripts write it; their times and ids have no more digits.
_WHOLE = re.compile("[0-9]{1,18}")


class Record(NamedTuple):
    """Record written by the script of a reservation at its end.

    Attributes
    ----------
    number, job
        Number of the reservation, and id of its job.
    start, end
        Seconds since 1970.
    outcome
        ``saved``, ``done``, ``stopped`` (by the limit, or cancelled) or ``died``.
    """

    number: int
    job: int
    start: int
    end: int
    outcome: str


class Remains(NamedTuple):
    """What a sequence has left in its directory.

    Attributes
    ----------
    jobs
        Ids of the jobs, by the number of the reservation; empty: nothing is submitted.
    submitted
        Whether all of them are.
    records
        Records of the ended reservations, in order.
    runtime
        Runtime of the finished run [s]; None: it is not done.
    broken
        Why the sequence ended without being done; empty: it did not.
    """

    jobs: dict[int, int]
    submitted: bool
    records: list[Record]
    runtime: int | None
    broken: str


def check_directory(directory: Path) -> None:
    """Refuse a directory with a name that Slurm would change, or with other contents than a sequence not yet submitted.

    Raises
    ------
    InputError
        If it is such a directory.
    """
    if any(letter in str(directory) for letter in "\\\0\n\r"):
        raise ParameterError(
            "-o", "a directory without backslashes and line breaks, which Slurm changes", str(directory)
        )
    if not directory.exists():
        if not directory.parent.is_dir():
            raise OutputError(f"{directory}: cannot be written: {directory.parent} is not a directory")
        return
    if not directory.is_dir():
        raise OutputError(f"{directory}: cannot be written: is a file")
    names = {path.name for path in directory.iterdir()}
    if names and _DOCUMENT not in names:
        raise InputError(f"{directory}: holds other files; take a new directory")
    if "submitted" in names:
        raise InputError(
            f"{directory}: is submitted; 'holdfast status' shows it, and another run needs a new directory"
        )
    if "jobs" in names:
        raise InputError(f"{directory}: is submitted in part; 'bash submit.sh' in it goes on, and cancel.sh cancels it")


#: Source of each field of a sequence on the command line, for messages.
_SOURCES = {
    "name": "--name",
    "program": "PROGRAM",
    "folder": "working directory",
    "nodes": "--nodes",
    "options": "--sbatch",
    "history": "--history",
    "retries": "--retries",
    "plan": "PLAN",
    "expected_cost": "PLAN",
    "links": "--most, --spare or --margin",
}


def holds_sequence(directory: Path, sequence: Sequence) -> bool:
    """Whether a directory holds this sequence, not yet submitted; its scripts, perhaps edited, then stay as they are.

    Raises
    ------
    InputError
        If it holds another sequence.
    """
    if not (directory / _DOCUMENT).exists():
        return False
    there, new = (json.loads(json.dumps(asdict(each))) for each in (read_sequence(directory), sequence))
    changed = next((source for name, source in _SOURCES.items() if there[name] != new[name]), None)
    if changed is not None:
        raise InputError(
            f"{directory}: holds another sequence (other {changed}); take a new directory, or remove this one"
        )
    return True


def write_sequence(sequence: Sequence, directory: Path) -> None:
    """Write the scripts and the document of a sequence.

    Parameters
    ----------
    sequence
        What to submit.
    directory
        Absolute; made if it is not there, and empty if it is.
    """
    # Arguments are bytes and need not be valid UTF-8.
    files = {name: os.fsencode(text) for name, text in make_scripts(sequence, str(directory)).items()}
    document = json.dumps({"format": _FORMAT, **asdict(sequence)}, indent=1)
    files[_DOCUMENT] = f"{document}\n".encode()
    # All files are written under temporary names first, so that a full disk leaves the former files intact.
    new = directory.with_name(partial_name(directory.name))
    try:
        new.mkdir()
        for name, content in files.items():
            (new / name).write_bytes(content)
            sync(new / name)
        if not directory.exists():
            new.rename(directory)
            return
        for name in files:
            (new / name).replace(directory / name)
    except OSError as error:
        raise OutputError(f"{directory}: cannot be written: {error.strerror}") from None
    finally:
        shutil.rmtree(new, ignore_errors=True)


def read_sequence(directory: Path) -> Sequence:
    """The sequence of a directory.

    Raises
    ------
    TraceError
        If there is none, or it cannot be read.
    """
    path = directory / _DOCUMENT
    if directory.is_dir() and not path.exists():
        raise TraceError(directory, None, "is no submitted plan; 'holdfast submit' writes one")
    document = read_json(path)
    try:
        if document.pop("format") != _FORMAT:
            raise KeyError("format")
        if set(document) != {field.name for field in fields(Sequence)}:
            raise KeyError("fields")
        links = [_link(link) for link in document["links"]]
        for name, is_legal in _LEGAL.items():
            if not is_legal(document[name]):
                raise KeyError(name)
        sequence = Sequence(**{**document, "links": links})
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
        raise TraceError(path, None, "is not a sequence written by 'holdfast submit'") from None
    try:
        sequence.reservations  # noqa: B018  # the plan is checked where it is read
    except InputError as error:
        raise TraceError(path, None, f"its plan cannot be read: {error}") from None
    return sequence


def _is_words(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(word, str) for word in value)


#: Validators of the fields of a sequence, other than its links and its plan.
_LEGAL: dict[str, Callable[[Any], bool]] = {
    "name": lambda value: isinstance(value, str),
    "program": lambda value: _is_words(value) and bool(value),
    "folder": lambda value: isinstance(value, str),
    "nodes": lambda value: is_whole(value, 1),
    "options": _is_words,
    "history": lambda value: isinstance(value, str),
    "retries": lambda value: is_whole(value, 0),
    "plan": lambda value: isinstance(value, dict),
    "expected_cost": lambda value: value is None or (is_number(value) and abs(value) <= _MOST),
}


def _link(document: dict[str, Any]) -> Link:
    values: dict[str, Any] = {name: int(value) for name, value in document.items() if 0 <= value <= _MOST}
    return Link(**{**values, "checkpointed": bool(values["checkpointed"])})


def read_remains(directory: Path) -> Remains:
    """What a sequence has left in its directory.

    Raises
    ------
    TraceError
        If a file there is not as the scripts write it.
    """
    jobs = {}
    for number, job in _rows(directory / "jobs", 2):
        jobs[int(number)] = int(job)
    records = [
        Record(int(number), int(job), int(start), int(end), outcome)
        for number, job, start, end, outcome, _ in _rows(directory / "records.tsv", 6)
    ]
    runtime = [int(value) for (value,) in _rows(directory / "done", 1)]
    broken = directory / "broken"
    return Remains(
        jobs,
        (directory / "submitted").exists(),
        records,
        runtime[0] if runtime else None,
        read_text(broken).strip() if broken.exists() else "",
    )


def _rows(path: Path, cells: int) -> list[list[str]]:
    """Rows of a small table; empty without the file."""
    if not path.exists() or not path.stat().st_size:
        return []
    rows = []
    for line, text in enumerate(read_text(path).splitlines(), 1):
        row = text.split()
        # All but outcomes are whole numbers.
        if len(row) != cells or not all(_WHOLE.fullmatch(cell) for cell in (*row[:4], *row[5:])):
            raise TraceError(path, line, "is not a line written by the scripts of a sequence")
        rows.append(row)
    return rows
