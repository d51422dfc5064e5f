"""The runs of a recording that has no event log: on a machine from its allocations, else if each job ran once."""

from __future__ import annotations

from holdfast.experiments.recordings.allocations import Allocation, Allocations, result_allocations
from holdfast.policies.mechanism import BASELINE
from holdfast.simulator.results.recording import Recording
from holdfast.simulator.results.run_table import LoggedRun, runs_by_job
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.table.job import JobType

__all__ = ["recorded_runs"]


def recorded_runs(recording: Recording, allocations: Allocations | None = None) -> dict[int, list[LoggedRun]]:
    """The runs of each job that started, in the order of their starts.

    Parameters
    ----------
    recording
        A recording.
    allocations
        The runs on a machine of named nodes; None: those of the recording in memory.

    Raises
    ------
    InputError
        If there is no event log, and neither allocations nor the records contain the runs.
    """
    if recording.entries:
        return runs_by_job(recording)
    allocations = allocations or result_allocations(recording)
    if allocations is not None:
        return _machine_runs(recording, allocations)
    if not _ran_once(recording):
        raise InputError(
            f"the runs of jobs under {recording.name} are only in an event log, which 'holdfast run --events' and "
            "simulate(..., events=True) keep"
        )
    return {
        record.job_id: [_run(recording, record.job_id, 1, record.start, record.end, record.nodes)]
        for record in recording.records
        if record.start is not None and record.end is not None
    }


def _ran_once(recording: Recording) -> bool:
    """Whether the record of a job says all about its run: no job was preempted, resized or stochastic."""
    records = recording.records
    stochastic = records.are(JobType.STOCHASTIC).any()
    return recording.mechanism == BASELINE and not stochastic and not records.column("preemptions").any()


def _machine_runs(recording: Recording, allocations: Allocations) -> dict[int, list[LoggedRun]]:
    found: dict[int, list[LoggedRun]] = {}
    runs = sorted(allocations.runs(recording.record), key=lambda item: item[1:])
    for run, start, end in runs:
        job_runs = found.setdefault(run.job_id, [])
        job_runs.append(_run(recording, run.job_id, len(job_runs) + 1, start, end, _size(run, recording.unit)))
    return found


def _size(run: Allocation, unit: str) -> int:
    """Size of a run in the unit of the machine."""
    return len(run.nodes) if unit == "nodes" else sum(run.taken["cores"])


def _run(recording: Recording, job_id: int, number: int, start: int, end: int, size: int) -> LoggedRun:
    begun, ended = start - recording.origin, end - recording.origin
    pieces = ((begun, ended, size),) if ended > begun else ()
    return LoggedRun(job_id, number, begun, ended, size, pieces, None, "", "")
