"""Rule 7 on shared nodes as timelines that were computed by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

import holdfast as hf
from holdfast.simulator.results.result import Result
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.machines.machine import Machine
from holdfast.workloads.machines.machine_file import make_machine
from holdfast.workloads.machines.request import ResourceRequest
from holdfast.workloads.table.job import Job, JobType
from tests.support.jobs import on_demand, rigid


def shared_machine(nodes: int, cores: int = 4) -> Machine:
    return make_machine(nodes=[{"names": f"n[1-{nodes}]", "cores": cores}], partitions=[{"name": "p", "nodes": "ALL"}])


def malleable(job_id: int, submit: float, cores: int, runtime: float, least: int) -> Job:
    return Job(
        job_id, JobType.MALLEABLE, submit=submit, nodes=cores, runtime=runtime, walltime=runtime, min_nodes=least
    )


def simulate(machine: Machine, jobs: list[tuple[Job, ResourceRequest]], mechanism: str, **options: object) -> Result:
    found: Result = hf.simulate(
        [job for job, _ in jobs],
        machine=machine,
        requests=[request for _, request in jobs],
        mechanism=mechanism,
        **options,
    )
    return found


def times(result: Result) -> dict[int, tuple[float, float]]:
    return {record.job_id: (record.start / SECOND, record.end / SECOND) for record in result.records}


def runs(result: Result, job_id: int) -> list[tuple[float, float, tuple[int, ...]]]:
    """Start, end and nodes of each stretch of a job."""
    replay = result.on_machine
    rows = [record.job_id for record in result.records]
    every = [*replay.past, *((row, run) for row, run in enumerate(replay.starts) if run is not None)]
    return sorted((run.start / SECOND, run.end / SECOND, run.nodes) for row, run in every if rows[row] == job_id)


def test_the_cheapest_set_of_jobs_on_the_cheapest_node_is_preempted() -> None:
    # On n1 a job of 3 cores has run for 100 s: 300 core-seconds. On n2 one of 2 cores for 100 s and one of 2 cores for
    # 50 s: either leaves 2 cores. The arriving job needs 2 cores: n2's later job is the cheapest, with 100.
    jobs = [
        (rigid(1, 0, 3, 1000, 1000), ResourceRequest(cores=3)),
        (rigid(2, 0, 2, 1000, 1000), ResourceRequest(cores=2)),
        (rigid(3, 50, 2, 1000, 1000), ResourceRequest(cores=2)),
        (on_demand(4, 100, 2, 60, 60), ResourceRequest(cores=2)),
    ]
    result = simulate(shared_machine(2), jobs, "N-PAA")
    assert times(result)[4] == (100, 160)
    assert [record.preemptions for record in result.records] == [0, 0, 1, 0]
    # It gets its node back at once, and begins again.
    assert runs(result, 3) == [(50, 100, (1,)), (160, 1160, (1,))]
    assert result.accounting.lost == 2 * 50 * SECOND


def test_two_jobs_leave_a_node_if_that_costs_less_than_one() -> None:
    # n1: one job of 4 cores, 400 core-seconds. n2: two of 1 core, 200 in all, and two cores are free.
    jobs = [
        (rigid(1, 0, 4, 1000, 1000), ResourceRequest(cores=4)),
        (rigid(2, 0, 1, 1000, 1000), ResourceRequest(cores=1)),
        (rigid(3, 0, 1, 1000, 1000), ResourceRequest(cores=1)),
        (on_demand(4, 100, 4, 60, 60), ResourceRequest(cores=4)),
    ]
    result = simulate(shared_machine(2), jobs, "N-PAA")
    assert [record.preemptions for record in result.records] == [0, 1, 1, 0]
    assert times(result)[4] == (100, 160)


def test_a_reservation_collects_a_node_once_it_has_room_for_the_part() -> None:
    # The on-demand job needs 4 cores. At its notice n1 has 2 free, n2 none. Job 2 leaves n1 at 300, and job 1 at 400:
    # then n1 has room, and job 4, which came at 310 and needs 3 cores, waits until the arrival has ended.
    notice = replace(on_demand(3, 600, 4, 100, 100), notice=200.0, estimated_arrival=600.0)
    jobs = [
        (rigid(0, 0, 4, 2000, 2000), ResourceRequest(cores=4, features="b")),
        (rigid(1, 0, 2, 400, 400), ResourceRequest(cores=2)),
        (rigid(2, 0, 2, 300, 300), ResourceRequest(cores=2)),
        (notice, ResourceRequest(cores=4)),
        (rigid(4, 350, 3, 50, 50), ResourceRequest(cores=3)),
    ]
    machine = make_machine(
        nodes=[{"names": "n1", "cores": 4}, {"names": "n2", "cores": 4, "features": ["b"]}],
        partitions=[{"name": "p", "nodes": "ALL"}],
    )
    alone = simulate(machine, jobs, "CUA-PAA", tenants="none")
    assert times(alone)[3] == (600, 700)
    assert times(alone)[4] == (700, 750)
    # Held from 400 to 600, with 4 cores.
    assert alone.accounting.held == 4 * 200 * SECOND
    lent = simulate(machine, jobs, "CUA-PAA")
    # As a tenant it runs on the reserved node from 400 on.
    assert times(lent)[4] == (400, 450)
    assert lent.accounting.held == (4 * 200 - 3 * 50) * SECOND


def test_malleable_jobs_shrink_by_whole_nodes_and_get_the_same_nodes_back() -> None:
    # Without setup: 4 nodes of 2 cores for 1,000 s are 4,000 node-seconds. At 100 it gives up n1; at 160, when 3,420 of
    # its node-seconds are left, it gets it back, and ends 855 s later.
    jobs = [
        (malleable(1, 0, 8, 1000, 2), ResourceRequest(nodes=4, cores=2)),
        (on_demand(2, 100, 3, 60, 60), ResourceRequest(cores=3)),
    ]
    result = simulate(shared_machine(4), jobs, "N-SPAA")
    assert times(result)[2] == (100, 160)
    # n1 has 2 free cores and needs 3: the job gives up its 2 cores there.
    assert runs(result, 1) == [(0, 100, (0, 1, 2, 3)), (100, 160, (1, 2, 3)), (160, 1015, (0, 1, 2, 3))]
    assert result.records[0].shrinks == 1
    accounting = result.accounting
    assert accounting.compute == (4000 * 2 + 3 * 60) * SECOND
    assert accounting.idle == 16 * 1015 * SECOND - accounting.compute


def test_a_warned_job_stays_for_two_minutes_and_the_other_cores_of_the_node_are_kept() -> None:
    # One node: the malleable job on 3 cores cannot shrink. From 100 on it is under warning; job 3, which needs the free
    # core, must wait, because the arriving job needs all 4.
    jobs = [
        (malleable(1, 0, 3, 500, 3), ResourceRequest(cores=3)),
        (on_demand(2, 100, 4, 60, 60), ResourceRequest(cores=4)),
        (rigid(3, 110, 1, 20, 20), ResourceRequest(cores=1)),
    ]
    result = simulate(shared_machine(1), jobs, "N-SPAA")
    assert times(result)[2] == (220, 280)
    # The lender resumes with the 400 s that it had left, before job 3, for which one core remains.
    assert runs(result, 1) == [(0, 220, (0,)), (280, 680, (0,))]
    assert times(result)[3] == (280, 300)
    assert result.accounting.warning == 3 * 120 * SECOND
    assert result.accounting.held == 1 * 120 * SECOND


def test_a_plan_preempts_after_a_checkpoint_and_the_victim_lends() -> None:
    # Setup 10, then dumps of 10 s after each 90 s: complete at 110, 210, 310. The plan for an arrival at 250 preempts
    # at 210, and loses the setup alone.
    victim = Job(
        1, JobType.RIGID, submit=0, nodes=4, runtime=1000, walltime=1000, setup=10, checkpoint_interval=90,
        checkpoint_cost=10,
    )  # fmt: skip
    notice = replace(on_demand(2, 250, 2, 50, 50), notice=150.0, estimated_arrival=250.0)
    result = simulate(
        shared_machine(1), [(victim, ResourceRequest(cores=4)), (notice, ResourceRequest(cores=2))], "CUP-PAA"
    )
    assert times(result)[2] == (250, 300)
    assert result.accounting.lost == 4 * 10 * SECOND
    # 180 s are secured and two of its nine dumps are done: 990 - 200 s are left, and a setup.
    assert runs(result, 1) == [(0, 210, (0,)), (300, 1100, (0,))]


def test_a_job_that_waits_at_the_beginning_comes_before_one_that_is_submitted_then() -> None:
    # At 100 job 2 has waited since 50; job 1 arrives, and its id is smaller. Of the three cores job 3 has one: job 2
    # takes the other two, and job 1 preempts job 3.
    jobs = [
        (on_demand(1, 100, 1, 60), ResourceRequest()),
        (on_demand(2, 50, 2, 60), ResourceRequest(nodes=2)),
        (rigid(3, 0, 1, 500, running_since=100), ResourceRequest()),
    ]
    result = simulate(shared_machine(3, cores=1), jobs, "N-PAA")
    assert runs(result, 2) == [(100, 160, (1, 2))]
    assert runs(result, 1) == [(100, 160, (0,))]
    assert runs(result, 3) == [(100, 100, (0,)), (160, 660, (0,))]


def test_a_planned_victim_under_warning_lends_all_its_nodes_together() -> None:
    # Job 4 is on n1 until 280, job 1 on n2 and n3. The plan for an arrival at 200 warns job 1 at 100; job 2 arrives at
    # 150, and takes both nodes when the warning ends at 220. At 280 it returns them before job 4 leaves: job 1 resumes
    # on two nodes, which takes 800 s for the 1,600 node-seconds that it has left.
    jobs = [
        (rigid(4, 0, 1, 280, 280), ResourceRequest()),
        (malleable(1, 0, 3, 600, 2), ResourceRequest(nodes=3)),
        (replace(on_demand(2, 150, 2, 60, 60), notice=100.0, estimated_arrival=200.0), ResourceRequest(nodes=2)),
    ]
    result = simulate(shared_machine(3, cores=1), jobs, "CUP-PAA")
    assert runs(result, 1) == [(0, 220, (1, 2)), (280, 1080, (1, 2))]
    assert times(result)[2] == (220, 280)


def test_a_run_without_duration_has_its_nodes_until_the_next_pass() -> None:
    # Job 2 runs on n2 alone, and is preempted a microsecond before its end. Its warning ends just before 320 s: it
    # starts on both nodes with half a microsecond left, which is rounded to nothing. Job 4 starts when it has ended.
    tick = 1 / SECOND
    jobs = [
        (rigid(1, 0, 4, 300, 300), ResourceRequest(cores=4)),
        (malleable(2, 0, 8, 100, 4), ResourceRequest(nodes=2, cores=4)),
        (replace(on_demand(3, 200 - tick, 4, 50, 50), cancelled_at=250.0), ResourceRequest(cores=4)),
        (rigid(4, 320 - tick, 4, 60, 60), ResourceRequest(cores=4)),
    ]
    result = simulate(shared_machine(2), jobs, "N-PAA")
    at = 320 - tick
    assert runs(result, 2) == [(0, at, (1,)), (at, at, (0, 1))]
    assert runs(result, 4) == [(at, pytest.approx(at + 60), (0,))]


def test_an_arrival_for_which_there_is_no_room_preempts_nothing() -> None:
    jobs = [
        (on_demand(1, 0, 3, 500, 500), ResourceRequest(cores=3)),
        (rigid(2, 0, 1, 500, 500), ResourceRequest(cores=1)),
        (on_demand(3, 100, 2, 50, 50), ResourceRequest(cores=2)),
    ]
    result = simulate(shared_machine(1), jobs, "N-PAA")
    assert times(result) == {1: (0, 500), 2: (0, 500), 3: (500, 550)}


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"mechanism": "WEIGH-PAA"}, "notice strategy must be N, CUA, CUP with mechanisms on shared nodes"),
        ({"mechanism": "N-KNAPSACK"}, "arrival strategy must be PAA, SPAA with mechanisms on shared nodes"),
        ({"placement": "slurm"}, "placement must be pack or spread with mechanisms on shared nodes"),
        ({"backfilling": "easy length=runtime"}, "backfilling must be none, easy, easy depth=K or conservative with"),
        ({"expansion": "even"}, "expansion must be none with mechanisms on shared nodes"),
    ],
)
def test_what_is_not_modelled_is_refused(options: dict[str, object], sentence: str) -> None:
    jobs = [(on_demand(1, 0, 1, 10, 10), ResourceRequest())]
    with pytest.raises(hf.InputError, match=sentence):
        simulate(shared_machine(1), jobs, **{"mechanism": "N-PAA", **options})  # type: ignore[arg-type]
