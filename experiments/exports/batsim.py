"""Export to the format of Batsim's ``jobs.csv``, which evalys reads.

Source: Batsim, ``docs/output-jobs.rst``. A line is an execution on a fixed set of nodes. When Batsim's schedulers kill
a job and submit it again, the new one is ``ID#1``, then ``ID#2`` (pybatsim, ``resubmit_job``). The parts of a job that
was preempted, shrunk or expanded, or that used several reservations, are written in the same way; all parts but the
last count as killed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from holdfast.experiments.placement.ranges import Ranges, format_ranges
from holdfast.experiments.placement.spans import RUN, WARNED, Span, place_nodes
from holdfast.simulator.results.recording import Recording, job_reservations, requested_walltime, require_events
from holdfast.simulator.results.records import JobRecord
from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.ground.files import atomic_open
from holdfast.workloads.ground.units import SECOND, format_seconds
from holdfast.workloads.ground.wording import count_text
from holdfast.workloads.logs.swf_writer import note_holds

__all__ = ["COLUMNS", "BatsimExport"]

COLUMNS = (
    *("job_id", "workload_name", "profile", "submission_time", "requested_number_of_resources", "requested_time"),
    *("success", "final_state", "starting_time", "execution_time", "finish_time", "waiting_time", "turnaround_time"),
    *("stretch", "allocated_resources", "consumed_energy", "metadata"),
)
#: Batsim's name for the first workload.
_WORKLOAD = "w0"
#: Batsim's value if energy is not measured.
_NO_ENERGY = "-1"
_STATES = {
    "complete": "COMPLETED_SUCCESSFULLY",
    "kill": "COMPLETED_WALLTIME_REACHED",
    "expire": "COMPLETED_WALLTIME_REACHED",
}


class _Part(NamedTuple):
    """A run, or a part of one, on fixed nodes; ticks of the job table's clock."""

    number: int
    start: int
    end: int
    nodes: Ranges
    ending: str


@dataclass(frozen=True)
class BatsimExport:
    """Writes Batsim's ``jobs.csv``.

    Parameters
    ----------
    grid
        Fractions of a second to which times are rounded, a power of two up to 64; 0: exact to the microsecond. evalys
        adds times in floating point; without such a grid, a job may seem to begin some nanoseconds before another one
        has left its nodes.

    Raises
    ------
    ParameterError
        If the grid is not one of these.
    """

    grid: int = 0

    def __post_init__(self) -> None:
        if self.grid not in (0, 1, 2, 4, 8, 16, 32, 64):
            raise ParameterError("grid", "0 or a power of two up to 64", self.grid)

    def __call__(self, recording: Recording, path: Path) -> str:
        """Write the file; returns a description of its content."""
        note_holds(path, "jobs.csv", sum(record.eligible is not None for record in recording.records))
        jobs = lines = 0
        with atomic_open(path) as file:
            file.write(",".join(COLUMNS) + "\n")
            for rows in self._jobs(recording):
                file.writelines(",".join(row) + "\n" for row in rows)
                jobs, lines = jobs + 1, lines + len(rows)
        return count_text(jobs, "jobs") + (f" in {count_text(lines, 'lines')}" if lines > jobs else "")

    def _jobs(self, recording: Recording) -> Iterator[list[list[str]]]:
        """The lines of each job that was submitted, in the order of the job table; cells as in :data:`COLUMNS`."""
        spans: dict[int, list[Span]] = {}
        for span in place_nodes(require_events(recording)):
            if span.kind in (RUN, WARNED):
                spans.setdefault(span.job_id, []).append(span)
        for record in recording.records:
            if record.submit is not None:
                own = spans.get(record.job_id, [])
                if own:
                    submit = self._round_ticks(record.submit)
                    yield list(_lines(recording, record, submit, self._parts(own, recording.origin, record.start)))
                else:
                    yield [_rejection_row(recording, record)]

    def _parts(self, spans: list[Span], origin: int, first: int | None) -> list[_Part]:
        """Parts between changes of nodes (a warning is none), without those that the grid reduces to zero length."""
        parts: list[_Part] = []
        for (number, nodes), same in groupby(spans, key=lambda span: (span.number, span.nodes)):
            group = list(same)
            # Jobs that were running when the replay began start at their recorded start.
            begun = group[0].start + origin
            if group[0] is spans[0] and number == 1 and first is not None:
                begun = first
            start, end = self._round_ticks(begun), self._round_ticks(group[-1].end + origin)
            if start < end:
                parts.append(_Part(number, start, end, nodes, group[-1].ending))
        return [*parts[:-1], parts[-1]._replace(ending=spans[-1].ending)] if parts else []

    def _round_ticks(self, ticks: int) -> int:
        step = SECOND // self.grid if self.grid else 1
        return (ticks + step // 2) // step * step


def _lines(recording: Recording, record: JobRecord, submit: int, parts: list[_Part]) -> Iterator[list[str]]:
    job, asked = recording.job[record.job_id], job_reservations(recording, record.job_id)
    # A part that follows a change of nodes counts as submitted when the preceding part ended.
    for place, part in enumerate(parts):
        walltime = asked[part.number - 1].length if len(asked) >= part.number else requested_walltime(recording, job)
        state = _STATES.get(part.ending, "COMPLETED_KILLED")
        turnaround, execution = part.end - submit, part.end - part.start
        again = {"parent_job": str(job.job_id), "nb_resubmit": place}
        yield [
            f"{job.job_id}#{place}" if place else str(job.job_id),
            _WORKLOAD,
            str(job.type),
            format_seconds(submit),
            str(job.nodes),
            format_seconds(walltime),
            str(int(part.ending == "complete")),
            state,
            format_seconds(part.start),
            format_seconds(execution),
            format_seconds(part.end),
            format_seconds(part.start - submit),
            format_seconds(turnaround),
            f"{turnaround / execution:.6f}",
            format_ranges(part.nodes),
            _NO_ENERGY,
            _quote(json.dumps(again)) if place else "",
        ]
        submit = part.end


def _quote(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _rejection_row(recording: Recording, record: JobRecord) -> list[str]:
    """Line of a job that was submitted and never ran."""
    job = recording.job[record.job_id]
    known = {
        "job_id": str(job.job_id),
        "workload_name": _WORKLOAD,
        "profile": str(job.type),
        "submission_time": format_seconds(record.submit or 0),
        "requested_number_of_resources": str(job.nodes),
        "requested_time": format_seconds(requested_walltime(recording, job)),
        "success": "0",
        "final_state": "REJECTED",
        "consumed_energy": _NO_ENERGY,
    }
    return [known.get(column, "") for column in COLUMNS]
