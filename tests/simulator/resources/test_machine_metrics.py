"""Use and waits of a replay, worked out by hand."""

from __future__ import annotations

import pytest

from holdfast.simulator.resources.machine_jobs import MachineJob
from holdfast.simulator.resources.machine_metrics import partition_rows, resource_rows
from holdfast.simulator.resources.machine_replay import replay_on_machine
from holdfast.workloads.machines.machine_file import make_machine
from holdfast.workloads.machines.request import ResourceRequest


def test_rows_of_resources_and_partitions() -> None:
    machine = make_machine(
        nodes=[{"names": "n[1-2]", "cores": 4, "gpus": 1}],
        partitions=[{"name": "a", "nodes": "n[1-2]"}, {"name": "b", "nodes": "n2"}, {"name": "idle", "nodes": "n1"}],
        limits=[{"user": "eve", "together": {"running": 1}}],
    )
    jobs = [
        MachineJob(1, 0, 10, 10, ResourceRequest(cores=3), "ada"),  # n1
        MachineJob(2, 0, 20, 20, ResourceRequest(cores=3, gpus={"gpu": 1}, partitions=("b",)), "eve"),  # n2
        MachineJob(3, 0, 10, 10, ResourceRequest(cores=2), "ada"),  # n1 at 10: two cores were free, one on each
        MachineJob(4, 5, 10, 10, ResourceRequest(), "eve"),  # at 20, when her other job has ended
    ]
    replay = replay_on_machine(machine, jobs)
    # 30 s of 8 cores and 2 GPUs.
    assert resource_rows(replay) == [
        {"resource": "nodes", "capacity": 2, "used": 50 / 60, "stranded": 0, "free": 10 / 60},
        {"resource": "cores", "capacity": 8, "used": 120 / 240, "stranded": 20 / 240, "free": 100 / 240},
        {"resource": "gpus", "capacity": 2, "used": 20 / 60, "stranded": 0, "free": 40 / 60},
    ]
    assert partition_rows(replay) == [
        {
            "partition": "a",
            "jobs": 3,
            "mean_wait": pytest.approx(25 / 3),
            "longest_wait": 15,
            "stopped": 1,
            "cores": 60 / 240,
            "gpus": 0,
        },
        {
            "partition": "b",
            "jobs": 1,
            "mean_wait": 0,
            "longest_wait": 0,
            "stopped": 0,
            "cores": 60 / 120,
            "gpus": 20 / 30,
        },
    ]
