"""Recordings: what is known of one simulation, of a result in memory or read back from a directory.

Pictures, explanations and exports are made from a :class:`Recording`, so that they do not ask where it comes from. It
has the fields of :class:`simulator.results.records.Records` that these need, under the same names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from policies.mechanism import BASELINE
from policies.order import ORDERS, Order
from simulator.clock.instants import Sample
from simulator.machine.eventlog import Entry
from simulator.machine.stochastic import ReservationRecord
from simulator.options import Options
from simulator.results.records import JobRecord, Records
from workloads.ground.errors import InputError
from workloads.ground.importing import importing
from workloads.ground.units import to_ticks
from workloads.table.job import Job, JobType

__all__ = ["Recording", "origin_of"]


@dataclass(frozen=True)
class Recording:
    """One simulation of a job table under a mechanism.

    Attributes
    ----------
    mechanism, nodes, options
        What was simulated.
    jobs
        The job table.
    records
        What became of each job, in the same order; times in ticks of the job table's clock.
    entries, samples
        Event log and course of the machine, in ticks of the simulated clock (:attr:`origin`); empty if the event log
        was switched off.
    reservations
        Those of stochastic jobs, job by job.
    origin
        Ticks of the job table's clock at which the simulated clock stands at 0.
    epoch
        Seconds since 1970 at which the job table's clock stands at 0; None: not known.
    trusted
        Whether a queue order that the options name by its import path may be imported.

    Raises
    ------
    InputError
        If the jobs are not those of the records.
    """

    mechanism: str
    nodes: int
    options: Options
    jobs: Sequence[Job]
    records: Sequence[JobRecord]
    entries: Sequence[Entry]
    samples: Sequence[Sample]
    reservations: Sequence[ReservationRecord] = ()
    origin: int = 0
    epoch: float | None = field(default=None, compare=False)
    trusted: bool = field(default=True, compare=False, repr=False)

    def __post_init__(self) -> None:
        if [job.job_id for job in self.jobs] != [record.job_id for record in self.records]:
            raise InputError("the job table must hold the jobs that were simulated, in the same order")

    @classmethod
    def of(cls, result: Records | Recording, jobs: Sequence[Job] | None = None) -> Recording:
        """That of a result in memory; ``jobs`` is the job table that was simulated, by default the result's own.

        A recording is itself.
        """
        if isinstance(result, Recording):
            return result
        return cls(
            mechanism=result.mechanism,
            nodes=result.nodes,
            options=result.options,
            jobs=result.table if jobs is None else jobs,
            records=result.records,
            entries=result.entries,
            samples=result.samples if result.entries else [],
            reservations=[item for course in result.stochastic for item in course.reservations],
            origin=result.origin,
        )

    @cached_property
    def order(self) -> Order:
        """The queue order.

        Raises
        ------
        InputError
            If it cannot be had, or is not trusted.
        """
        with importing(self.trusted):
            return ORDERS[self.options.order]

    @cached_property
    def job(self) -> dict[int, Job]:
        """The job table by job id."""
        return {job.job_id: job for job in self.jobs}

    @cached_property
    def record(self) -> dict[int, JobRecord]:
        """The records by job id."""
        return {record.job_id: record for record in self.records}

    @cached_property
    def down(self) -> list[tuple[int, int]]:
        """(time, nodes that are down) from each change on; nothing where there are no outages."""
        of_outage: dict[int, int] = {}
        course: list[tuple[int, int]] = []
        for entry in self.entries:
            if entry.event in ("down", "up"):
                of_outage[entry.job_id] = entry.after
                if course and course[-1][0] == entry.time:
                    course.pop()
                course.append((entry.time, sum(of_outage.values())))
        return course

    @cached_property
    def _reservations(self) -> dict[int, list[ReservationRecord]]:
        of_job: dict[int, list[ReservationRecord]] = {}
        for item in self.reservations:
            of_job.setdefault(item.job_id, []).append(item)
        return of_job

    def reservations_of(self, job_id: int) -> Sequence[ReservationRecord]:
        """Those of a stochastic job, in the order of their submits; of other jobs none."""
        return self._reservations.get(job_id, ())

    def walltime(self, job: Job) -> int:
        """What a job asks for at its requested size [ticks]; under the baseline that of the trace."""
        as_traced = self.mechanism == BASELINE and job.type is not JobType.STOCHASTIC
        asked = job.trace_walltime if as_traced else None
        return to_ticks(job.walltime if asked is None else asked)

    def with_events(self) -> Recording:
        """This recording.

        Raises
        ------
        InputError
            If it has no event log.
        """
        if not self.entries:
            raise InputError("this result has no event log; simulate with events=True")
        return self


def origin_of(jobs: Sequence[Job]) -> int:
    """Where the simulated clock begins: at the first submit or notice of the table [ticks of its own clock]."""
    return to_ticks(min((time for job in jobs for time in (job.submit, job.notice) if time is not None), default=0.0))
