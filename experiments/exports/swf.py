"""Export to a log in the Standard Workload Format, as the machine itself would have kept it.

Source: Parallel Workloads Archive, https://www.cs.huji.ac.il/labs/parallel/workload/swf.html. A job is one line, whose
run time is the sum of its runs. If partial executions are requested, the line of a job with several runs is followed by
one line for each run, with status 2 (to be continued), 3 (the last, completed) or 4 (the last, killed), and the header
contains ``Preemption: Double``, as the format requires.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from holdfast.experiments.exports.recorded_runs import recorded_runs
from holdfast.experiments.recordings.allocations import Allocations
from holdfast.simulator.results.recording import Recording, job_reservations, requested_walltime
from holdfast.simulator.results.records import JobRecord
from holdfast.simulator.results.run_table import LoggedRun
from holdfast.workloads.ground.units import to_ticks
from holdfast.workloads.ground.wording import count_text
from holdfast.workloads.logs.swf_writer import CANCELLED, CONVERSION, SwfJob, note_holds, number_names, write_lines
from holdfast.workloads.table.job import JobType

__all__ = ["SwfExport"]

#: Queues of the file, by type of job.
_QUEUES = {kind: number for number, kind in enumerate(JobType, start=1)}
_COMPLETED, _FAILED = 1, 0
_STATUS = {"completed": _COMPLETED, "cancelled": CANCELLED}
_CONTINUED, _LAST_COMPLETED, _LAST_FAILED = 2, 3, 4


@dataclass(frozen=True)
class SwfExport:
    """Writes a log in the Standard Workload Format.

    Parameters
    ----------
    partial
        Whether jobs with several runs also have a line for each run.
    """

    partial: bool = False

    def __call__(self, recording: Recording, path: Path) -> str:
        """Write the file; returns a description of its content."""
        return self.write(recording, path)

    def write(self, recording: Recording, path: Path, allocations: Allocations | None = None) -> str:
        """Write the file, of a replay on a machine from its allocations; returns a description of its content.

        Raises
        ------
        InputError
            If the runs are not known (:func:`~holdfast.experiments.exports.recorded_runs.recorded_runs`).
        """
        runs = recorded_runs(recording, allocations)
        came = [record for record in recording.records if record.submit is not None]
        came.sort(key=lambda record: record.submit or 0)
        users, users_renamed = number_names([recording.job[record.job_id].user for record in came])
        groups, groups_renamed = number_names([recording.job[record.job_id].project for record in came])
        lines: list[SwfJob] = []
        for record, user, group in zip(came, users, groups, strict=True):
            lines += self._lines(recording, record, runs.get(record.job_id, []), user, group)
        held = note_holds(path, "SWF", sum(record.eligible is not None for record in came))
        renamed = {"users": users_renamed, "groups (projects)": groups_renamed}
        write_lines(path, self._directives(recording, len(came), len(lines), renamed, held), lines)
        return count_text(len(came), "jobs") + (
            f" in {count_text(len(lines), 'lines')}" if len(lines) > len(came) else ""
        )

    def _lines(
        self, recording: Recording, record: JobRecord, runs: Sequence[LoggedRun], user: str, group: str
    ) -> Iterator[SwfJob]:
        """The line of a job, followed by its runs if requested."""
        job = recording.job[record.job_id]
        asked = [item.length for item in job_reservations(recording, job.job_id)] or [
            requested_walltime(recording, job)
        ]
        status = _STATUS.get(record.status, _FAILED)
        summary = SwfJob(
            job_id=job.job_id,
            submit=record.submit,
            wait=_since(record.submit, record.start if runs else record.end),
            runtime=sum(run.end - run.start for run in runs),
            allocated=_processors(runs),
            requested=job.nodes,
            walltime=sum(asked),
            status=status,
            user=user,
            group=group,
            queue=_QUEUES[job.type],
            preceding=job.preceding,
            think_time=None if job.think_time is None else to_ticks(job.think_time),
        )
        yield summary
        if not self.partial or len(runs) < 2:
            return
        before = None
        for run in runs:
            started, last = run.start + recording.origin, run is runs[-1]
            yield summary._replace(
                submit=record.submit if before is None else None,
                wait=started - (record.submit or 0) if before is None else run.start - before,
                runtime=run.end - run.start,
                allocated=_processors([run]),
                walltime=asked[run.number - 1] if len(asked) == len(runs) else asked[0],
                status=_CONTINUED if not last else _LAST_COMPLETED if status == _COMPLETED else _LAST_FAILED,
            )
            before = run.end

    def _directives(
        self, recording: Recording, jobs: int, lines: int, renamed: dict[str, bool], held: Sequence[str]
    ) -> Iterator[tuple[str, str]]:
        yield "Version", "2.2"
        yield "Conversion", CONVERSION
        yield "MaxJobs", str(jobs)
        yield "MaxRecords", str(lines)
        yield "Preemption", "Double" if self.partial else "No"
        yield "UnixStartTime", f"{recording.epoch or 0:.0f}"
        yield "MaxNodes", str(recording.nodes)
        yield "MaxProcs", str(recording.nodes)
        yield "MaxQueues", str(len(_QUEUES))
        for kind, number in _QUEUES.items():
            yield "Queue", f"{number} {kind}"
        counted = "; a processor is a node" if recording.unit == "nodes" else ""
        yield "Note", f"simulated by {CONVERSION} under {recording.name}{counted}"
        yield "Note", "status 0 = killed at the requested time, 5 = withdrawn; queues are the types of the jobs"
        yield (
            "Note",
            "run time = sum over the runs of a job that was preempted; it ended later than submit + wait + run",
        )
        yield "Note", "allocated processors = node time / run time, rounded, of a job that changed its size"
        yield from (("Note", note) for note in held)
        absent = len(recording.records) - jobs
        if absent:
            yield "Note", f"left out: {count_text(absent, 'jobs')}, never submitted (no-show)"
        for what, changed in renamed.items():
            if changed:
                yield "Note", f"{what} are numbered in the order of their first appearance"


def _since(begin: int | None, end: int | None) -> int | None:
    return None if begin is None or end is None else end - begin


def _processors(runs: Sequence[LoggedRun]) -> int | None:
    """Average number of nodes while the job ran."""
    ticks = sum(run.end - run.start for run in runs)
    return max(1, round(sum(run.node_ticks for run in runs) / ticks)) if ticks else None
