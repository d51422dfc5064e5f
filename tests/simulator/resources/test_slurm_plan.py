"""Choices and plans of Slurm on nodes with resources, worked out by hand from its source."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from holdfast.policies.slurm_backfill import SlurmBackfill
from holdfast.simulator.resources.machine_jobs import MachineJob
from holdfast.simulator.resources.machine_replay import replay_on_machine
from holdfast.simulator.resources.slurm_choice import Room, choose_nodes
from holdfast.simulator.resources.slurm_nodes import NodeState, PlannedRun
from holdfast.simulator.resources.slurm_plan import Request, SlurmPass
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.machines.fitted_requests import Need
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


def test_nodes_that_complete_are_kept_for_the_job_that_will_have_them() -> None:
    # Three nodes are free, and the first two complete. Job 1 wants two: a plan chooses the first two, and keeps them
    # until they have completed; jobs 2 and 3 want one, and one of them has room on the third.
    def found(completing: int) -> list[tuple[int, tuple[int, ...]]]:
        state = NodeState([(4, 0, 0)] * 3, [1] * 3)
        moment = SlurmPass(SlurmBackfill(), 0, state, [], lambda _: 7, [7], completing=completing)
        queue = [Request(1, 0, need(2, 4), 100 * SECOND), *(Request(n, 0, need(1, 4), 900 * SECOND) for n in (2, 3))]
        return [(request.job, run.nodes) for request, run in moment.starts_now(queue)]

    assert found(0) == [(1, (0, 1)), (2, (2,))]
    assert found(0b011) == [(2, (2,))]
