"""The trace: what a log says of each job, before any type is assigned.

Readers (swf, alcf, sacct) and the generator all produce a :class:`Trace`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from workloads.errors import ParameterError

__all__ = ["Trace", "TraceJob"]


@dataclass(frozen=True, slots=True)
class TraceJob:
    """One job of a log, cleaned by rule 1 of easy-backfilling.md.

    Attributes
    ----------
    job_id
        As in the log; not necessarily unique or sorted.
    submit
        Submit time [s], on the log's own clock.
    nodes
        Requested size, in the unit of the trace.
    runtime
        min(recorded runtime, walltime) [s], > 0.
    walltime
        Requested wall time [s]; the recorded runtime where the log has none.
    killed
        Whether the recorded runtime was longer than the walltime.
    wait
        Recorded wait [s]; None if unknown.
    user, project
        Names or numbers as text; empty if unknown.
    """

    job_id: int
    submit: float
    nodes: int
    runtime: float
    walltime: float
    killed: bool = False
    wait: float | None = None
    user: str = ""
    project: str = ""


@dataclass(frozen=True)
class Trace:
    """A log of jobs in file order.

    Attributes
    ----------
    jobs
        The jobs kept, in file order.
    nodes
        Size of the machine by the header, in the unit of the trace; None if it does not say.
    source
        Where it came from: a path, or the generator with its seed.
    format
        ``"swf"``, ``"alcf"``, ``"sacct"`` or ``"generated"``.
    header
        Directives of the file.
    excluded
        Jobs left out, counted by reason.
    remarks
        Oddities that were read all the same, counted by kind.
    """

    jobs: tuple[TraceJob, ...]
    nodes: int | None = None
    source: str = ""
    format: str = ""
    header: Mapping[str, str] = field(default_factory=dict)
    excluded: Mapping[str, int] = field(default_factory=dict)
    remarks: Mapping[str, int] = field(default_factory=dict)

    def on_machine(self, nodes: int) -> Trace:
        """The trace as a machine of ``nodes`` nodes can run it: larger jobs are left out and counted.

        Raises
        ------
        ParameterError
            If ``nodes`` is not positive.
        """
        if nodes < 1:
            raise ParameterError("nodes", "a positive number of nodes", nodes)
        kept = tuple(job for job in self.jobs if job.nodes <= nodes)
        excluded = dict(self.excluded)
        if len(kept) < len(self.jobs):
            reason = "larger than the machine"
            excluded[reason] = excluded.get(reason, 0) + len(self.jobs) - len(kept)
        return replace(self, jobs=kept, nodes=nodes, excluded=excluded)
