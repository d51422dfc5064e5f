"""The estimated cost of a replay grows with the queue, which a plain aggregate of the machine gives."""

from __future__ import annotations

from random import Random

import pytest

from holdfast.policies.kernels.compiled_or_plain import COMPILE_FROM
from holdfast.simulator.resources import loop_call
from holdfast.simulator.resources.loop_cost import loop_steps, mean_queue, queue_steps
from holdfast.simulator.resources.machine_jobs import MachineJob
from holdfast.simulator.resources.machine_replay import replay_on_machine
from holdfast.simulator.resources.replay_columns import ReplayColumns
from holdfast.workloads.machines.fitted_requests import NodeTable, needs_of_jobs
from holdfast.workloads.machines.machine import Machine
from holdfast.workloads.machines.machine_file import make_machine
from holdfast.workloads.machines.request import ResourceRequest

SERVERS = make_machine(nodes=[{"names": "s[1-4]", "cores": 8, "gpus": 8}])


def columns(machine: Machine, jobs: list[MachineJob]) -> ReplayColumns:
    requests = [job.request for job in jobs]
    table = NodeTable.for_requests(machine, requests)
    needs, _ = needs_of_jobs(table, requests, [job.walltime for job in jobs])
    return ReplayColumns(table, jobs, [need or () for need in needs], "fcfs", ())


def gpu_job(number: int, submit: float, runtime: float, gpus: int, nodes: int = 1) -> MachineJob:
    return MachineJob(number, submit, runtime, runtime, ResourceRequest(nodes=nodes, gpus={"gpu": gpus}))


def test_the_mean_queue_by_hand() -> None:
    # Two jobs on all GPUs: the second waits for 10 of the 10 s between the first arrival and the last start.
    assert mean_queue(columns(SERVERS, [gpu_job(1, 0, 10, 8, 4), gpu_job(2, 0, 30, 8, 4)])) == 1
    # The third comes after 5 s and waits for 15 of 20 s, the second for 10; half of the machine is free for none.
    jobs = [gpu_job(1, 0, 10, 8, 4), gpu_job(2, 0, 10, 8, 4), gpu_job(3, 5, 10, 8, 2)]
    assert mean_queue(columns(SERVERS, jobs)) == (10 + 15) / 20
    # A quarter is free beside three jobs on a node each.
    assert mean_queue(columns(SERVERS, [gpu_job(number, number, 100, 8) for number in range(4)])) == 0


@pytest.mark.parametrize("gap", [30.0, 60.0, 300.0])
def test_it_is_near_the_queue_of_the_replay(gap: float) -> None:
    random = Random(int(gap))
    submit, jobs = 0.0, []
    for number in range(400):
        submit += random.expovariate(1 / gap)
        jobs.append(gpu_job(number, submit, random.choice((60.0, 600.0, 3000.0)), random.choice((1, 1, 2, 4, 8))))
    replay = replay_on_machine(SERVERS, jobs)
    waits = [place.start - queued for place, queued in zip(replay.starts, replay.queued, strict=True) if place]
    last = max(place.start for place in replay.starts if place)
    actual = sum(waits) / (last - replay.queued[0])
    assert actual / 3 - 1 < mean_queue(columns(SERVERS, jobs)) < 3 * actual + 1


def test_the_estimate_grows_with_the_queue_and_with_reservations() -> None:
    crowded, quiet = ([gpu_job(number, gap * number, 100, 8) for number in range(200)] for gap in (1, 100))
    assert loop_steps(columns(SERVERS, quiet)) == loop_steps(columns(SERVERS, crowded)) == 2 * 200 * (4 // 4 + 5)
    assert queue_steps(columns(SERVERS, quiet), 1) == 0
    steps = queue_steps(columns(SERVERS, crowded), 1)
    assert steps == pytest.approx(2 * 200 * 2 * mean_queue(columns(SERVERS, crowded)), abs=1)
    assert queue_steps(columns(SERVERS, crowded), 100) == pytest.approx(10 * steps, rel=1e-3)


@pytest.mark.parametrize(("gap", "compiles"), [(1, True), (200, False)])
def test_code_is_compiled_for_a_long_queue_alone(gap: float, compiles: bool) -> None:
    jobs = columns(SERVERS, [gpu_job(number, gap * number, 100, 8) for number in range(1500)])
    assert (loop_steps(jobs) + queue_steps(jobs, 1) >= COMPILE_FROM) == compiles


def test_a_replay_without_code_counts_the_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(loop_call, "compiled_loop", lambda loop, steps: asked.append(steps))
    jobs = [gpu_job(number, number, 100, 8) for number in range(40)]
    replay_on_machine(SERVERS, jobs)
    assert asked == [loop_steps(columns(SERVERS, jobs)), queue_steps(columns(SERVERS, jobs), 1)]
    assert asked[1] > 0
