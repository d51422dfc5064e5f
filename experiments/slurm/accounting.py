"""Job records from Slurm's accounting: one entry for each job, from ``sacct`` or from its saved output."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from holdfast.experiments.slurm.client import call
from holdfast.experiments.slurm.job_chain import MINUTE
from holdfast.workloads.ground.errors import TraceError
from holdfast.workloads.ground.files import read_text
from holdfast.workloads.ground.numbers import integer
from holdfast.workloads.ground.text_cells import Columns, number
from holdfast.workloads.logs.sacct_formats import detect_form
from holdfast.workloads.logs.sacct_values import is_missing, parse_clock, parse_time, state_of_job

__all__ = ["AccountedJob", "parse_entries", "query_accounting", "read_entries"]

_COLUMNS = "JobIDRaw,State,ExitCode,Submit,Eligible,Start,End,ElapsedRaw,TimelimitRaw"
Value = TypeVar("Value")


@dataclass(frozen=True)
class AccountedJob:
    """A job as recorded by the accounting.

    Attributes
    ----------
    job
        Its id.
    state
        As Slurm names it.
    status
        Exit status; None: unknown.
    submit
        Submit time; for a link of a chain, that of the chain [s since 1970]; None: unknown.
    eligible
        Eligible time, from which the wait counts [s since 1970]; None: never eligible.
    start
        None: it has not started.
    used
        Elapsed time [s].
    limit
        Requested time [s]; None: unknown.
    end
        None: it has not ended, or the end is unknown.
    """

    job: int
    state: str
    status: int | None
    submit: float | None
    eligible: float | None
    start: float | None
    used: float
    limit: float | None
    end: float | None = None

    @property
    def ran(self) -> bool:
        """Whether it has started. A job cancelled in the queue also has a start, but no elapsed time."""
        return self.start is not None and (self.used > 0 or self.state not in ("CANCELLED", "PENDING"))

    @property
    def waited(self) -> float | None:
        """Wait from the eligible time [s]; None: it has not started, or the eligible time is unknown."""
        return max(0.0, self.start - self.eligible) if self.ran and self.start and self.eligible else None


def query_accounting(jobs: Iterable[int]) -> dict[int, AccountedJob]:
    """Query the accounting with ``sacct``.

    Raises
    ------
    InputError
        If ``sacct`` is missing or fails, as without an accounting database.
    """
    ids = ",".join(map(str, jobs))
    text = call(["sacct", "-X", "-P", "-j", ids, "-o", _COLUMNS], environment={"SLURM_TIME_FORMAT": "%s"})
    return parse_entries(text, "sacct")


def read_entries(path: str | Path) -> dict[int, AccountedJob]:
    """Read entries from saved output of ``sacct`` in any of its formats.

    Raises
    ------
    TraceError
        If it cannot be read, or lacks a column.
    """
    return parse_entries(read_text(path), path)


def parse_entries(text: str, path: str | Path) -> dict[int, AccountedJob]:
    """Parse entries by job, keeping the last execution of each; ``path`` is for messages."""
    form = detect_form(text, path)
    try:
        columns = Columns(form.names)
        job = columns.need("JobIDRaw", "JobID")
        state, start = columns.need("State"), columns.need("Start")
        elapsed, clock = columns.find("ElapsedRaw"), columns.find("Elapsed")
        columns.need("ElapsedRaw", "Elapsed")
    except ValueError as error:
        raise TraceError(path, form.first or None, str(error)) from None
    status, submit, eligible = columns.find("ExitCode"), columns.find("Submit"), columns.find("Eligible", "Submit")
    minutes, limit, end = columns.find("TimelimitRaw"), columns.find("Timelimit"), columns.find("End")
    entries = {}
    for place, line in form.records():
        try:
            row = form.cells(line)
            if not row[job].strip().isdecimal():
                continue  # a step, or a task of an array
            used = _first((elapsed, _seconds), (clock, _clock), row=row)
            asked = _first((minutes, _minutes), (limit, _clock), row=row)
            ended = _first((status, _status), row=row)
            entry = AccountedJob(
                integer(row[job]),
                state_of_job(row[state]),
                ended,
                None if submit is None else parse_time(row[submit], "Submit"),
                None if eligible is None else parse_time(row[eligible], "Eligible"),
                parse_time(row[start], "Start"),
                used or 0.0,
                asked,
                None if end is None else parse_time(row[end], "End"),
            )
        except ValueError as error:
            raise TraceError(path, place, str(error)) from None
        entries[entry.job] = entry
    return entries


def _first(*readings: tuple[int | None, Callable[[str], Value]], row: Iterable[str]) -> Value | None:
    """The first present, non-empty value among some columns."""
    cells = list(row)
    for place, read in readings:
        if place is not None and not is_missing(cells[place]):
            return read(cells[place])
    return None


def _seconds(cell: str) -> float:
    return number(cell, "ElapsedRaw")


def _minutes(cell: str) -> float:
    return MINUTE * number(cell, "TimelimitRaw")


def _clock(cell: str) -> float:
    return parse_clock(cell, "a time")


def _status(cell: str) -> int:
    return int(number(cell.partition(":")[0], "ExitCode"))
