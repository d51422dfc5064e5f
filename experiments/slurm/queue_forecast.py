"""Forecast of all waiting jobs of a Slurm that is followed, as a task for another process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from holdfast.experiments.forecast.forecasts import forecast
from holdfast.experiments.forecast.history import History, read_history
from holdfast.experiments.forecast.machine_state import state_of_queue
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.logs.squeue import QueueRow
from holdfast.workloads.logs.trace import Trace, TraceJob, TraceJobs

__all__ = ["QueueState", "TwinOptions", "forecast_rows"]


@dataclass(frozen=True)
class TwinOptions:
    """How a Slurm is followed.

    Attributes
    ----------
    nodes
        Size of the machine.
    order, backfilling
        As in a simulation.
    every, forecast_every
        Time between readings, and between forecasts [s].
    draws, seed, workers
        As of :func:`holdfast.experiments.forecast.forecasts.forecast`.
    names
        Names of the nodes.
    """

    nodes: int
    order: str = "fcfs"
    backfilling: str = "slurm"
    every: float = 60.0
    forecast_every: float = 3600.0
    draws: int = 100
    seed: int = 0
    workers: int | None = 1
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class QueueState:
    """A queue at a time, and the past.

    Attributes
    ----------
    at
        The time [s since 1970].
    rows
        Running and waiting jobs.
    past
        Log of the past.
    ended
        Jobs that have ended since the end of the log.
    options
        How the Slurm is followed.
    """

    at: float
    rows: Sequence[QueueRow]
    past: Trace
    ended: Sequence[TraceJob]
    options: TwinOptions


def forecast_rows(queue: QueueState) -> list[dict[str, Any]]:
    """Forecast the starts of all waiting jobs.

    Returns
    -------
    list of dict
        Rows of :meth:`holdfast.experiments.forecast.forecasts.Forecast.rows`, with ``slurm_start``, the time from now
        to the start by Slurm's own plan [s], at least 0; None: it has none.
    """
    options = queue.options
    jobs = [*queue.past.jobs, *queue.ended]
    now = state_of_queue(queue.rows, queue.at, options.nodes, past=jobs, names=options.names)
    if not now.waiting:
        return []
    found = forecast(
        now,
        _history(queue.past, jobs, queue.at),
        draws=options.draws,
        seed=options.seed,
        workers=options.workers,
        arrivals="weeks" if jobs else "none",
        order=options.order,
        backfilling=options.backfilling,
    )
    planned = {row.job_id: row.planned for row in queue.rows}

    def slurm_start(job_id: int) -> float | None:
        plan = planned[job_id]
        # A plan may be some passes old.
        return None if plan is None else max(0.0, plan - queue.at)

    return [{**row, "slurm_start": slurm_start(row["job_id"])} for row in found.rows()]


def _history(past: Trace, jobs: Sequence[TraceJob], at: float) -> History | None:
    """Runs that had ended; None: there is none, and walltimes are taken."""
    try:
        return read_history(replace(past, jobs=TraceJobs(jobs), withdrawn=()), at)
    except InputError:
        return None
