"""Simulations of one job with many walltimes and sizes, each on the same sampled workloads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from holdfast.experiments.forecast.forecasts import machine_starts
from holdfast.experiments.forecast.sampled_workloads import Drawing
from holdfast.experiments.forecast.seen_job import SeenJob
from holdfast.experiments.sweeps.execution import spread
from holdfast.simulator.options import Options
from holdfast.simulator.start_times import is_blind, starts_by_walltime
from holdfast.workloads.machines.request import ResourceRequest
from holdfast.workloads.table.job import Job, JobType

__all__ = ["simulate_requests"]


@dataclass(frozen=True)
class _Task:
    """Some draws for a worker, and the walltimes to try at each size."""

    drawing: Drawing
    draws: range
    job: SeenJob
    walltimes: Mapping[int, Sequence[float]]
    options: Mapping[str, object]
    requests: Mapping[int, ResourceRequest]


def simulate_requests(
    drawing: Drawing,
    job: SeenJob,
    walltimes: Mapping[int, Sequence[float]],
    options: Mapping[str, object],
    workers: int | None,
    requests: Mapping[int, ResourceRequest] | None = None,
) -> npt.NDArray[np.float64]:
    """Start times of a job with each size and walltime in each draw.

    Parameters
    ----------
    drawing
        The sampled workloads, of a state with the job.
    job
        The job.
    walltimes
        Walltimes to try at each size [s], ascending.
    options
        Order, backfilling, ...
    workers
        Processes; None: one for each core.
    requests
        What the job asks of a machine at each size; None: nodes of one pool.

    Returns
    -------
    numpy.ndarray
        Start [s], and 1 where it was backfilled, else 0; shape (draws, sizes and walltimes, 2).
    """
    parts = drawing.divide_draws(workers, Options.of(**options), len(walltimes))
    tasks = [_Task(drawing, some, job, walltimes, options, requests or {}) for some in parts]
    return np.array([row for rows in spread(_simulate_task, tasks, len(tasks)) for row in rows])


def _simulate_task(task: _Task) -> list[list[tuple[float, bool]]]:
    """Start of each request [s] and whether it was backfilled, in some draws."""
    drawing, options = task.drawing, Options.of(**task.options)
    found = []
    for draw in task.draws:
        row: list[tuple[float, bool]] = []
        for size, walltimes in task.walltimes.items():
            if drawing.machine is not None:
                row += _simulate_on_machine(task, draw, size, walltimes)
                continue
            simulation = drawing.fast_starts(options, (task.job.job_id, size)) if is_blind(options) else None
            if simulation is None:
                row += _simulate_size(task, draw, size, walltimes)
            else:
                row += drawing.drawn_starts(simulation, draw, [task.job.job_id], walltimes)[1]
        found.append(row)
    return found


def _simulate_size(task: _Task, draw: int, size: int, walltimes: Sequence[float]) -> list[tuple[float, bool]]:
    """The same for the requests of one size, by full simulations."""
    state, asked = task.drawing.state, task.job
    others = [job for job in task.drawing.table(draw) if job.job_id != asked.job_id]
    job = Job(
        asked.job_id, JobType.RIGID, asked.submit, size, 1.0, 1.0, user=asked.user, project=asked.project,
        eligible=asked.eligible,
    )  # fmt: skip
    return starts_by_walltime(
        others,
        state.nodes,
        state.at,
        job,
        walltimes,
        origin=state.origin,
        outages=state.outages,
        failures=task.drawing.failures(draw),
        prior=state.prior,
        **task.options,
    )


def _simulate_on_machine(task: _Task, draw: int, size: int, walltimes: Sequence[float]) -> list[tuple[float, bool]]:
    """The same on a machine, by one replay for each walltime."""
    job_id, found = task.job.job_id, []
    for walltime in walltimes:
        changed = task.drawing.with_request(job_id, size, walltime, task.requests[size])
        found.append(machine_starts(changed, draw, [job_id], task.options)[job_id])
    return found
