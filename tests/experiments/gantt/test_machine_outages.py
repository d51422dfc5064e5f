"""Pages of machines with outages: runs and closed nodes fill the rows as the accounts say."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

import holdfast as hf
from holdfast.experiments.gantt.machine_rows import MachineRows
from holdfast.experiments.placement.spans import DOWN, HELD, RUN
from holdfast.experiments.recordings.allocations import result_allocations
from holdfast.experiments.timelines.phases import use_of_time
from holdfast.workloads.ground.units import to_ticks
from holdfast.workloads.machines.fitted_requests import NodeTable, needs_of_jobs
from holdfast.workloads.machines.machine_file import make_machine
from holdfast.workloads.machines.request import ResourceRequest
from tests.strategies.machines import random_jobs, random_machine, random_outages
from tests.support.jobs import rigid


@pytest.mark.parametrize("seed", range(3, 13))
def test_spans_and_uses_agree_with_the_accounts(seed: int) -> None:
    random = Random(seed)
    machine = replace(random_machine(random), limits=())
    asked = random_jobs(random, machine, 25)
    table = NodeTable.for_requests(machine, [job.request for job in asked])
    needs, _ = needs_of_jobs(table, [job.request for job in asked], [job.walltime for job in asked])
    asked = [job for job, need in zip(asked, needs, strict=True) if need is not None]
    jobs = [
        rigid(job.job_id, job.submit, 1, min(job.runtime, job.walltime), job.walltime, user=job.user) for job in asked
    ]
    outages = random_outages(random, machine, asked)
    result = hf.simulate(jobs, machine=machine, requests=[job.request for job in asked], outages=outages)
    allocations = result_allocations(result)
    assert allocations is not None
    rows = MachineRows(result, allocations)
    booked = result.accounting
    areas = dict.fromkeys((RUN, DOWN, HELD), 0)
    for span in rows.spans:
        areas[span.kind] += sum(high - low for low, high in span.nodes) * (span.end - span.start)
    assert areas == {RUN: booked.compute + booked.lost, DOWN: booked.down, HELD: booked.held}
    assert use_of_time(rows.recording).node_ticks() == booked._asdict()
    # No row holds two things at once.
    for place, one in enumerate(rows.spans):
        for other in rows.spans[:place]:
            if one.start < other.end and other.start < one.end:
                assert all(a >= d or c >= b for a, b in one.nodes for c, d in other.nodes)


def test_a_run_that_is_preempted_as_it_starts_changes_nothing() -> None:
    jobs = [rigid(1, 0, 1, 100, 100), rigid(2, 50, 1, 100, 100)]
    machine = make_machine(nodes=[{"names": "n1", "cores": 4}], partitions=[{"name": "p", "nodes": "n1"}])
    requests = [ResourceRequest(cores=4), ResourceRequest(cores=4)]
    result = hf.simulate(jobs, machine=machine, requests=requests)
    allocations = result_allocations(result)
    assert allocations is not None
    empty = replace(allocations.jobs[2], start=to_ticks(100), preempted_at=to_ticks(100), ending="preempted")
    rows, with_empty = (MachineRows(result, part) for part in (allocations, replace(allocations, past=[empty])))
    assert with_empty.spans == rows.spans
    assert list(with_empty.recording.samples) == list(rows.recording.samples)
