"""Counts of delayed on-demand jobs agree with a plain loop over their arrivals."""

from __future__ import annotations

from bisect import insort
from random import Random

from holdfast.experiments.sweeps.delays import count_delays
from holdfast.simulator.results.records import JobRecord, Records
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.table.job import JobType


def count_one_by_one(records: list[JobRecord], nodes: int, tolerance: int, gathering: int) -> tuple[int, int]:
    """The same by inserting each job among those that are present at its arrival."""
    arrivals = sorted(
        (job.queued, job.job_id, job.start, job.end, job.nodes)
        for job in records
        if job.type is JobType.ON_DEMAND and None not in (job.submit, job.start, job.end)
    )
    present: list[tuple[int, int, int]] = []
    late = crowded = 0
    for submit, _, start, end, size in arrivals:
        assert start is not None and end is not None
        while present and present[0][0] <= submit:
            del present[0]
        if start - submit > tolerance:
            late += 1
            crowded += size + sum(other for _, holds, other in present if holds <= submit) > nodes
        insort(present, (end, submit if start - submit <= gathering else start, size))
    return late, crowded


def random_record(job_id: int, rng: Random) -> JobRecord:
    submit = rng.randrange(20)
    start = submit + rng.choice((0, 0, 1, 2, 5))
    return JobRecord(
        job_id=job_id,
        type=rng.choice((JobType.ON_DEMAND, JobType.ON_DEMAND, JobType.RIGID)),
        submit=None if rng.random() < 0.1 else submit * SECOND,
        start=None if rng.random() < 0.1 else start * SECOND,
        end=(start + rng.randrange(8)) * SECOND,
        nodes=rng.randrange(1, 12),
        runtime=SECOND,
        preemptions=0,
        shrinks=0,
        status="completed",
        lost=0,
        eligible=(submit + 1) * SECOND if start > submit and rng.random() < 0.3 else None,
    )


def test_delays_are_those_of_a_plain_loop() -> None:
    seen = set()
    for seed in range(300):
        rng = Random(seed)
        records = [random_record(job_id, rng) for job_id in rng.sample(range(1000), rng.randrange(30))]
        found = count_delays(Records.of(records), 15, 1, 2)
        expected = count_one_by_one(records, 15, SECOND, 2 * SECOND)
        assert (found["delayed_on_demand"], found["crowded_on_demand"]) == expected
        seen.add(expected)
    assert len(seen) > 20
