"""Choices and plans of Slurm on nodes with resources, worked out by hand from its source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from holdfast.policies.slurm_backfill import SlurmBackfill
from holdfast.simulator.resources.machine_jobs import MachineJob
from holdfast.simulator.resources.machine_replay import replay_on_machine
from holdfast.simulator.resources.slurm_choice import Room, choose_nodes
from holdfast.simulator.resources.slurm_nodes import NodeState, PlannedRun, node_set
from holdfast.simulator.resources.slurm_plan import Request, SlurmPass
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.machines.fitted_requests import Need, NodeTable, UnfitError
from holdfast.workloads.machines.machine_file import make_machine
from holdfast.workloads.machines.request import ResourceRequest


def need(nodes: int, cores: int, *, memory_per_core: int = 0, eligible: Sequence[int] = range(5)) -> Need:
    vector = (cores, memory_per_core * cores, 0)
    return Need(0, tuple(eligible), nodes, vector, vector, (0, 0, 0), 0, False, nodes, memory_per_core)


@pytest.mark.parametrize(
    ("nodes", "free", "chosen"),
    [
        # 3 cores are free on the second run and 4 on the first; of its nodes the one with fewer suffices.
        (1, {0: 4, 2: 2, 3: 1}, [3]),
        # The single node has more cores than the run that suffices, and thereby replaces it.
        (2, {0: 2, 1: 2, 3: 8}, [3, 0]),
        # It does not where it comes first: then it is replaced by the first run that suffices.
        (2, {0: 8, 2: 2, 3: 2}, [2, 3]),
        # No run suffices: the largest, then the one that is left.
        (3, {0: 1, 2: 3, 3: 3}, [2, 3, 0]),
    ],
)
def test_runs_are_compared_by_their_free_cores(nodes: int, free: dict[int, int], chosen: list[int]) -> None:
    rooms = {node: Room(1, cores) for node, cores in free.items()}
    assert choose_nodes(need(nodes, 1), rooms, [1] * 5) == chosen


def test_cores_without_memory_do_not_count() -> None:
    state = NodeState([(8, 1000, 0), (8, 1000, 0), (8, 1000, 0)], [1, 1, 1])
    state.start(PlannedRun(SECOND, (0,), ((2, 900, 0),), 1))
    state.start(PlannedRun(SECOND, (1,), ((4, 0, 0),), 2))
    assert [state.rooms(need(1, 1), 7)[node].cores for node in range(3)] == [6, 4, 8]
    assert [state.rooms(need(1, 1, memory_per_core=100), 7)[node].cores for node in range(3)] == [1, 4, 8]


def test_cores_count_in_whole_tasks_and_beside_gpus_as_far_as_they_are_needed() -> None:
    # As nodes x3 and x4 of a lab: 12 and 8 free cores are one task of eight each, so that the first node is chosen.
    state = NodeState([(12, 0, 2), (8, 0, 2)], [1, 1])
    wide = replace(need(1, 8), task_cores=8)
    gpus = replace(need(1, 2), vector=(2, 0, 1), last=(2, 0, 1))
    assert [[state.rooms(each, 3)[node].cores for node in (0, 1)] for each in (need(1, 8), wide, gpus)] == [
        [12, 8],
        [8, 8],
        [2, 2],
    ]


def test_an_exclusive_job_needs_its_memory_per_core_for_all_cores() -> None:
    machine = make_machine(
        nodes=[{"names": "a1", "cores": 4, "memory": "8000M"}, {"names": "a2", "cores": 8, "memory": "8000M"}]
    )
    request = ResourceRequest(cores=2, memory=1500, memory_per_core=True, exclusive=True)
    table = NodeTable.for_requests(machine, [request])
    (found,) = table.needs(request, 60.0)
    assert (found.eligible, found.considered) == ((0,), (0, 1))
    with pytest.raises(UnfitError, match="more memory than a node of its partition has"):
        table.needs(request._replace(memory=3000), 60.0)
    jobs = [MachineJob(number, 0, 10, 10, request) for number in (1, 2)]
    for placement, rule in (("pack", "easy"), ("slurm", SlurmBackfill())):
        starts = replay_on_machine(machine, jobs, backfilling=rule, placement=placement).starts
        assert [run.start // SECOND for run in starts if run is not None] == [0, 10], placement


def test_a_plan_is_tried_beyond_reservations_that_follow_one_another() -> None:
    # Job 1 has node 0 from 100 to 200, and jobs 2 and 3 have node 3 from 130 on, one after the other. Job 4 wants two
    # of the first three nodes for 110 s, released at 400 at last. At 0 it is tried without node 0. The next interval,
    # from 130 on, is followed by one in which no more nodes are free, but Slurm has joined both, and the next try, at
    # 200, gets node 0. Job 5 has room now.
    state = NodeState([(1, 0, 0)] * 5, [1] * 5)
    running = [PlannedRun(end * SECOND, (node,), ((1, 0, 0),), node) for node, end in enumerate((100, 400, 400, 130))]
    for run in running:
        state.start(run)
    wanted = {1: ((0,), 1, 100), 2: ((3,), 1, 20), 3: ((3,), 1, 900), 4: ((0, 1, 2), 2, 110), 5: ((4,), 1, 10)}
    queue = [
        Request(job, 0, need(count, 1, eligible=nodes), walltime * SECOND)
        for job, (nodes, count, walltime) in wanted.items()
    ]
    moment = SlurmPass(SlurmBackfill(), 0, state, running, lambda each: node_set(each.eligible), [31])
    moment.backfill(queue)
    assert [request.job for request, _ in moment.starts] == [5]
    plans = {job: (plan.start // SECOND, plan.nodes) for (job, _), plan in moment.reserved.items()}
    assert plans == {1: (100, 0b1), 2: (130, 0b1000), 3: (150, 0b1000), 4: (400, 0b11)}


@pytest.mark.parametrize("other", [True, False])
def test_a_run_on_other_nodes_takes_the_next_one_into_its_window(other: bool) -> None:
    # Job 4 wants a whole node with a feature: a1, where job 1 ends at 100, or a3, where job 3 ends at 1,000. The run of
    # job 2 ends ten seconds after the first. Slurm looks at its end, skips it, since it is on another node, and adds
    # the run of job 3 to the same window: the plan is for 1,000, on a1, and job 5 has time to run there.
    machine = make_machine(nodes=[{"names": "a[1,3]", "cores": 4, "features": ["F"]}, {"names": "a2", "cores": 4}])
    jobs = [
        MachineJob(1, 0, 100, 100, ResourceRequest(cores=3, features="F")),
        MachineJob(3, 0, 1000, 1000, ResourceRequest(cores=4, features="F")),
        MachineJob(4, 1, 50, 50, ResourceRequest(cores=4, features="F")),
        MachineJob(5, 2, 500, 500, ResourceRequest(cores=1, features="F")),
    ]
    if other:
        jobs.insert(1, MachineJob(2, 0, 110, 110, ResourceRequest(cores=4)))
    found = replay_on_machine(machine, jobs, backfilling=SlurmBackfill(), placement="slurm").starts
    starts = {job.job_id: run.start // SECOND for job, run in zip(jobs, found, strict=True) if run is not None}
    assert (starts[4], starts[5]) == ((502, 2) if other else (100, 150))


@pytest.mark.parametrize(
    ("most", "start"),
    [
        ({"nodes": 2}, 2),
        ({"cores": 8}, 2),
        ({"memory": "299M"}, 2),
        ({"nodes": 3, "cores": 9, "memory": "300M"}, 100),
    ],
)
def test_a_plan_with_an_idle_node_more_than_a_limit_allows_is_not_kept(most: dict[str, int | str], start: int) -> None:
    # Jobs 1 and 2 share n1 and n2 until 100. Job 3 wants three cores on two nodes, and has them then; Slurm plans n3 in
    # addition, which is idle. If a limit of job 3 forbids three nodes, there is no plan, and job 4 has room on n3.
    machine = make_machine(
        nodes=[{"names": "n[1-3]", "cores": 4, "memory": "1000M"}], limits=[{"qos": "q", "together": most}]
    )
    jobs = [
        MachineJob(1, 0, 100, 100, ResourceRequest(cores=2)),
        MachineJob(2, 0, 100, 100, ResourceRequest(cores=3)),
        MachineJob(3, 1, 50, 50, ResourceRequest(nodes=2, cores=3, memory=100, qos="q")),
        MachineJob(4, 2, 500, 500, ResourceRequest(cores=3)),
    ]
    found = replay_on_machine(machine, jobs, backfilling=SlurmBackfill(), placement="slurm").starts
    starts = {job.job_id: run.start // SECOND for job, run in zip(jobs, found, strict=True) if run is not None}
    assert starts == {1: 0, 2: 0, 3: 100, 4: start}
    third = found[2]
    assert third is not None
    assert len(third.nodes) == 2
    # Job 3 has waited for nodes, not for the limit.
    assert third.limit is None


def test_nodes_that_complete_are_kept_for_the_job_that_will_have_them() -> None:
    # Three nodes are free, and the first two complete. Job 1 wants two: a plan chooses the first two, and keeps them
    # until they have completed; jobs 2 and 3 want one, and one of them has room on the third.
    def starts_by_job(completing: int) -> list[tuple[int, tuple[int, ...]]]:
        state = NodeState([(4, 0, 0)] * 3, [1] * 3)
        moment = SlurmPass(SlurmBackfill(), 0, state, [], lambda _: 7, [7], completing=completing)
        queue = [Request(1, 0, need(2, 4), 100 * SECOND), *(Request(n, 0, need(1, 4), 900 * SECOND) for n in (2, 3))]
        return [(request.job, run.nodes) for request, run in moment.starts_now(queue)]

    assert starts_by_job(0) == [(1, (0, 1)), (2, (2,))]
    assert starts_by_job(0b011) == [(2, (2,))]


def test_nodes_on_which_a_job_with_gpus_was_tested_come_first() -> None:
    # Of four nodes the second and third have a GPU; all are in use until 100 but the last, where jobs 8 and 9 start.
    state = NodeState([(4, 0, 0), (4, 0, 1), (4, 0, 1), (4, 0, 0)], [1] * 4)
    running = [PlannedRun(100 * SECOND, (node,), ((4, 0, 0),), node) for node in range(3)]
    for run in running:
        state.start(run)
    moment = SlurmPass(SlurmBackfill(), 0, state, running, lambda each: node_set(each.eligible), [15])

    def plans(*queue: tuple[int, Need]) -> dict[int, int]:
        moment.backfill([Request(job, 0, each, 60 * SECOND) for job, each in queue])
        return {job: plan.nodes for (job, _), plan in moment.reserved.items()}

    plain, last = need(1, 4, eligible=(0, 1, 2)), need(1, 1, eligible=(3,))
    gpu = replace(need(1, 4, eligible=(1, 2)), vector=(4, 0, 1), last=(4, 0, 1))
    assert plans((1, plain), (2, gpu), (8, last)) == {1: 0b1, 2: 0b10}
    # Slurm has tested job 2 on both, and job 1 now gets one of them.
    assert plans((1, plain), (2, gpu), (9, last)) == {1: 0b10, 2: 0b100}
    # The main scheduler comes in between, and tries to start job 1 on all nodes.
    moment.start_in_order([Request(1, 0, plain, 60 * SECOND), Request(2, 0, gpu, 60 * SECOND)])
    assert plans((1, plain), (2, gpu), (10, last)) == {1: 0b1, 2: 0b10}
    # If job 2 comes first, it tests whether it could ever start.
    moment.start_in_order([Request(2, 0, gpu, 60 * SECOND)])
    assert plans((1, plain), (11, last)) == {1: 0b10}
    assert [request.job for request, _ in moment.starts] == [8, 9, 10, 11]


@pytest.mark.parametrize("gpus", [0, 1])
def test_a_job_with_gpus_is_tested_also_where_no_job_after_it_is_able_to_start(gpus: int) -> None:
    # Jobs 1 to 3 use a1, where a core is free, a2 and a3 until 100. At 1, job 4 wants a3 and closes the partition.
    # Job 5 starts on a4, job 6 is planned on a1, so that job 8 has no room there, and job 7 is planned on a2. If job 7
    # has a GPU, the next plan prefers a2 for job 6, and job 8 starts on a1.
    machine = make_machine(
        nodes=[
            {"names": "a1", "cores": 4, "features": ["F", "one"]},
            {"names": "a2", "cores": 4, "features": ["F", "two"], "gpus": 1},
            {"names": "a3", "cores": 4, "features": ["three"]},
            {"names": "a4", "cores": 4, "features": ["four"]},
        ]
    )
    wanted = [
        MachineJob(1, 0, 100, 100, ResourceRequest(cores=3, features="one")),
        MachineJob(2, 0, 100, 100, ResourceRequest(cores=4, features="two")),
        MachineJob(3, 0, 100, 100, ResourceRequest(cores=4, features="three")),
        MachineJob(4, 1, 60, 60, ResourceRequest(cores=4, features="three")),
        MachineJob(5, 1, 60, 60, ResourceRequest(cores=4, features="four")),
        MachineJob(6, 1, 60, 60, ResourceRequest(cores=4, features="F")),
        MachineJob(7, 1, 60, 60, ResourceRequest(cores=4, features="two", gpus={"gpu": gpus} if gpus else {})),
        MachineJob(8, 1, 900, 900, ResourceRequest(cores=1, features="one")),
    ]
    found = replay_on_machine(machine, wanted, backfilling=SlurmBackfill(), placement="slurm").starts
    starts = {job.job_id: run.start // SECOND for job, run in zip(wanted, found, strict=True) if run is not None}
    expected = {6: 100, 7: 160, 8: 1} if gpus else {6: 100, 7: 100, 8: 160}
    assert starts == {1: 0, 2: 0, 3: 0, 4: 100, 5: 1} | expected


@pytest.mark.parametrize(
    ("nodes", "eligible", "alone", "starts"),
    [
        (1, (0,), False, True),  # node 0 alone would do, which is kept for job 1
        (1, (0, 1), False, False),  # it waits for node 1
        (2, (0, 1), False, True),  # node 1 is not enough, although a job uses all of it
        (2, (0, 1), True, False),  # and is another job's alone
    ],
)
def test_a_job_that_the_nodes_left_could_never_hold_does_not_stop_the_next_ones(
    nodes: int, eligible: tuple[int, ...], alone: bool, starts: bool
) -> None:
    # Job 1 waits for node 0 in a partition of a higher tier; job 2 wants whole nodes, and job 3 has room on node 2.
    state = NodeState([(4, 0, 0)] * 3, [1] * 3)
    running = [
        PlannedRun(100 * SECOND, (0,), ((2, 0, 0),), 8),
        PlannedRun(100 * SECOND, (1,), ((4, 0, 0),), 9, exclusive=alone),
    ]
    for run in running:
        state.start(run)
    moment = SlurmPass(SlurmBackfill(), 0, state, running, lambda each: node_set(each.eligible), [7, 1])
    queue = [
        Request(1, 0, replace(need(1, 4, eligible=(0,)), partition=1), 60 * SECOND),
        Request(2, 0, need(nodes, 4, eligible=eligible), 60 * SECOND),
        Request(3, 0, need(1, 1, eligible=(2,)), 60 * SECOND),
    ]
    left = moment.start_in_order(queue)
    assert [request.job for request in left] == ([1, 2] if starts else [1, 2, 3])


def test_a_start_takes_time() -> None:
    # Job 2 starts three seconds after job 1, and its end, with which the plan of job 3 begins, is as much later.
    state = NodeState([(4, 0, 0)] * 3, [1] * 3)
    times = iter([0, 3 * SECOND])
    moment = SlurmPass(SlurmBackfill(), 0, state, [], lambda each: node_set(each.eligible), [7], times=times)
    wanted = {1: (1, (0,)), 2: (1, (1,)), 3: (2, (0, 1)), 4: (1, (2,))}
    queue = [Request(job, 0, need(count, 4, eligible=nodes), 100 * SECOND) for job, (count, nodes) in wanted.items()]
    moment.backfill(queue)
    assert [(request.job, run.end // SECOND) for request, run in moment.starts] == [(1, 100), (2, 103), (4, 103)]
    assert moment.reserved[3, 0].start == 103 * SECOND
