"""Writer of the Standard Workload Format, version 2.2, for a trace or for single lines.

Source: Chapin et al., "Benchmarks and standards for the evaluation of parallel job schedulers", JSSPP 1999, and the
Parallel Workloads Archive, https://www.cs.huji.ac.il/labs/parallel/workload/swf.html.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from holdfast.workloads.ground.errors import FormatWarning
from holdfast.workloads.ground.files import atomic_open
from holdfast.workloads.ground.units import format_seconds, to_ticks
from holdfast.workloads.ground.wording import count_text
from holdfast.workloads.logs.trace import Trace

__all__ = ["CANCELLED", "CONVERSION", "SwfJob", "note_holds", "number_names", "write_lines", "write_swf"]

#: The archive's word for the maker of the file; in ours, status 0 says "killed at its walltime".
CONVERSION = "Holdfast"
#: Status of a job that was cancelled.
CANCELLED = 5
#: Directives that stay true when a log is cleaned or cut.
_CARRIED = (
    *("Computer", "Installation", "Acknowledge", "Information", "Preemption"),
    *("UnixStartTime", "TimeZone", "TimeZoneString"),
)


class SwfJob(NamedTuple):
    """One line; times in ticks, and None for what is not known.

    Attributes
    ----------
    job_id
        Job number.
    submit, wait, runtime
        For a partial execution other than the first, ``submit`` is None and ``wait`` counts from the end of the one
        before.
    allocated, requested
        Processors.
    walltime
        Requested time.
    status
        1 completed, 0 failed, 5 cancelled; of partial executions 2 to be continued, 3 the last one, and the job
        completed, 4 likewise, and it failed.
    user, group
        As numbers; ``-1`` for unknown.
    queue
        Its number, from 1.
    preceding, think_time
        The job that terminated before it was submitted, and the time between the two [s].
    """

    job_id: int
    submit: int | None
    wait: int | None
    runtime: int | None
    allocated: int | None
    requested: int | None
    walltime: int | None
    status: int
    user: str = "-1"
    group: str = "-1"
    queue: int | None = None
    preceding: int | None = None
    think_time: int | None = None

    def __str__(self) -> str:
        submit, wait, runtime, walltime = map(_time, (self.submit, self.wait, self.runtime, self.walltime))
        allocated, requested, queue = map(_count, (self.allocated, self.requested, self.queue))
        preceding, think_time = _count(self.preceding), _time(self.think_time)
        return (
            f"{self.job_id} {submit} {wait} {runtime} {allocated} -1 -1 {requested} {walltime} -1 "
            f"{self.status} {self.user} {self.group} -1 {queue} -1 {preceding} {think_time}"
        )


def write_lines(path: str | Path, directives: Iterable[tuple[str, str]], jobs: Iterable[SwfJob]) -> None:
    """Write a log: complete or not at all, and nothing in it depends on when or where it is written.

    Parameters
    ----------
    path
        Compressed if the name ends in ``.gz``.
    directives
        Notes of the header; those with several lines stand several times.
    jobs
        In the order of the file.

    Raises
    ------
    OutputError
        If it cannot be written.
    """
    with atomic_open(path) as file:
        for key, value in directives:
            file.writelines(f"; {key}: {line}\n" for line in value.split("\n"))
        file.writelines(f"{job}\n" for job in jobs)


def note_holds(path: str | Path, form: str, held: int) -> list[str]:
    """Warn that a format loses since when jobs that were held have been eligible.

    Parameters
    ----------
    path
        The file that is written.
    form
        Name of the format.
    held
        Number of held jobs.

    Returns
    -------
    list of str
        A note for the file; none where no job was held.
    """
    if not held:
        return []
    jobs = "1 job was held after its" if held == 1 else f"{held:,} jobs were held after their"
    note = f"{form} has no field for eligible times: {jobs} submit, which counts as waiting here"
    warnings.warn(f"{path}: {note}", FormatWarning, stacklevel=3)
    return [note]


def write_swf(trace: Trace, path: str | Path, *, note: str = "") -> None:
    """Write a trace in the Standard Workload Format.

    What :func:`holdfast.workloads.logs.swf.read_swf` makes of the file is equal in ``jobs`` and ``nodes``, where users
    and projects are numbers. Other names are numbered in the order of their first appearance. Nothing in the file
    depends on when or where it is written.

    Parameters
    ----------
    trace
        Sizes are written as requested and as allocated processors; status is 0 for a job killed at its walltime, 5
        for one withdrawn before it started, else 1.
    path
        Compressed if the name ends in ``.gz``.
    note
        A sentence for the header.

    Raises
    ------
    OutputError
        If it cannot be written.
    """
    users, users_renamed = number_names([job.user for job in trace.jobs])
    groups, groups_renamed = number_names([job.project for job in trace.jobs])
    notes = [note] if note else []
    notes.append(f"written by {CONVERSION}; status 0 = killed at the requested time, the run time is cut there")
    for what, renamed in (("users", users_renamed), ("groups (projects)", groups_renamed)):
        if renamed:
            notes.append(f"{what} are numbered in the order of their first appearance")
    notes += note_holds(path, "SWF", sum(job.queued > job.submit for job in trace.jobs))
    notes += [f"left out: {count_text(count, 'jobs')}, {reason}" for reason, count in trace.excluded.items()]
    before = trace.header.get("Conversion", CONVERSION)
    if not before.startswith(CONVERSION):
        notes.append(f"converted before by {before}")
    lines = [
        SwfJob(
            job_id=job.job_id,
            submit=to_ticks(job.submit),
            # The format knows no other time than the submit from which a wait could count.
            wait=None if job.wait is None else to_ticks(job.queued) - to_ticks(job.submit) + to_ticks(job.wait),
            runtime=to_ticks(job.runtime) if job.cancelled_at is None else 0,
            allocated=job.nodes,
            requested=job.nodes,
            walltime=to_ticks(job.walltime),
            status=CANCELLED if job.cancelled_at is not None else 0 if job.killed else 1,
            user=user,
            group=group,
            preceding=job.preceding,
            think_time=None if job.think_time is None else to_ticks(job.think_time),
        )
        for job, user, group in zip(trace.jobs, users, groups, strict=True)
    ]
    write_lines(path, _directives(trace, notes), lines)


def number_names(names: Sequence[str]) -> tuple[list[str], bool]:
    """Names as the numbers that the format wants, -1 for none; and whether they had to be renamed.

    >>> number_names(["ann", "", "bob", "ann"]), number_names(["12", ""])
    ((['1', '-1', '2', '1'], True), (['12', '-1'], False))
    """
    if all(name.isdecimal() or not name for name in names):
        return [name or "-1" for name in names], False
    numbers = {name: str(index) for index, name in enumerate(dict.fromkeys(filter(None, names)), start=1)}
    return [numbers.get(name, "-1") for name in names], True


def _directives(trace: Trace, notes: Sequence[str]) -> list[tuple[str, str]]:
    known = {key: trace.header[key] for key in _CARRIED if key in trace.header}
    # A machine of processors does not say how many nodes it has.
    named = ("MaxNodes", "MaxProcs") if trace.unit == "nodes" else ("MaxProcs",)
    sizes = [(name, str(trace.nodes)) for name in named if trace.nodes]
    return [
        ("Version", "2.2"),
        *((key, value) for key, value in known.items() if key != "UnixStartTime"),
        ("Conversion", CONVERSION),
        ("MaxJobs", str(len(trace.jobs))),
        ("MaxRecords", str(len(trace.jobs))),
        ("UnixStartTime", known.get("UnixStartTime", "0")),
        *sizes,
        *(("Note", text) for text in notes),
    ]


def _time(ticks: int | None) -> str:
    return "-1" if ticks is None else format_seconds(ticks)


def _count(number: int | None) -> str:
    return "-1" if number is None else str(number)
