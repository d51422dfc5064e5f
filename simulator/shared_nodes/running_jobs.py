"""Jobs that already run on shared nodes when a simulation begins."""

from __future__ import annotations

from holdfast.simulator.services.starting_state import StartingState
from holdfast.simulator.shared_nodes.shared_job import SharedJob
from holdfast.simulator.shared_nodes.state import SharedMachine
from holdfast.workloads.ground.errors import InputError

__all__ = ["place_running_jobs"]


def place_running_jobs(machine: SharedMachine, state: StartingState) -> list[SharedJob]:
    """Place the running jobs of a starting state, at their full sizes; returns them in this order.

    Their nodes are not known. Exclusive jobs come first, then those with more GPUs, with more cores, and that have run
    longer: small jobs find room between the others.

    Raises
    ------
    InputError
        If a job has no room.
    """
    running = [(since, machine.jobs[job.job_id]) for since, job in state.running]
    running.sort(key=lambda item: _turn(item[1]))
    for since, job in running:
        _place(machine, job, since)
    return [job for _, job in running]


def _turn(job: SharedJob) -> tuple[bool, int, int]:
    need = job.demand.options[0]
    cores, _, gpus, *_ = need.total
    return not need.exclusive, -gpus, -cores


def _place(machine: SharedMachine, job: SharedJob, since: int) -> None:
    for need in job.demand.options:
        size = job.state.nodes
        taken = machine.placer.place(job.demand.resize(need, size), machine.free)
        if taken is not None:
            machine.start(job, need, taken, size, "ran at the beginning, placed anew", since=since)
            return
    raise InputError(
        f"job {job.job_id}, which runs at the beginning, must have room on the machine (--machine) beside the other "
        "jobs that run then"
    )
