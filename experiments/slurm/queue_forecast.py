"""Forecast of all waiting jobs of a Slurm that is followed, as a task for another process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from holdfast.experiments.forecast.baselines import PastWaits
from holdfast.experiments.forecast.experts import LEVELS, ask_experts, waited_time
from holdfast.experiments.forecast.forecasts import forecast
from holdfast.experiments.forecast.history import History, read_history
from holdfast.experiments.forecast.known_past import past_log
from holdfast.experiments.forecast.log_cursor import Past
from holdfast.experiments.forecast.machine_state import MachineState, state_of_queue
from holdfast.experiments.forecast.track_record import BackTest, TrackRecord
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.random_streams import stream
from holdfast.workloads.logs.squeue import QueueRow
from holdfast.workloads.logs.trace import Trace, TraceJob, TraceJobs

__all__ = ["QueueForecast", "QueueState", "TwinOptions", "forecast_queue"]

#: Most jobs of a forecast that are back-tests of later ones: jobs of one queue wait alike.
_TESTED = 20


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
    tests
        Earlier forecasts, which correct this one.
    """

    at: float
    rows: Sequence[QueueRow]
    past: Trace
    ended: Sequence[TraceJob]
    options: TwinOptions
    tests: Sequence[BackTest] = ()


class QueueForecast(NamedTuple):
    """Forecasts of the waiting jobs.

    Attributes
    ----------
    rows
        Rows of :meth:`holdfast.experiments.forecast.forecasts.Forecast.rows`, with ``slurm_start``, the time from now
        to the start by Slurm's own plan [s], at least 0; None: it has none.
    tests
        Forecasts of some of them as back-tests without an outcome, by job.
    """

    rows: list[dict[str, Any]]
    tests: dict[int, BackTest]


def forecast_queue(queue: QueueState) -> QueueForecast:
    """Forecast the starts of all waiting jobs, corrected by earlier forecasts as far as there are enough."""
    options = queue.options
    jobs = [*queue.past.jobs, *queue.ended]
    now = state_of_queue(queue.rows, queue.at, options.nodes, past=jobs, names=options.names)
    if not now.waiting:
        return QueueForecast([], {})
    known = replace(queue.past, jobs=TraceJobs(jobs), withdrawn=())
    waits = PastWaits(Past(past_log(known, queue.at), options.nodes)) if jobs else None
    found = forecast(
        now,
        _history(known, queue.at),
        draws=options.draws,
        seed=options.seed,
        workers=options.workers,
        arrivals="weeks" if jobs else "none",
        record=TrackRecord(queue.tests, waits),
        order=options.order,
        backfilling=options.backfilling,
    )
    planned = {row.job_id: row.planned for row in queue.rows}

    def slurm_start(job_id: int) -> float | None:
        plan = planned[job_id]
        # A plan may be some passes old.
        return None if plan is None else max(0.0, plan - queue.at)

    rows = [{**row, "slurm_start": slurm_start(row["job_id"])} for row in found.rows()]
    if waits is None:
        return QueueForecast(rows, {})
    random = stream(options.seed, "back-tests of a queue", round(queue.at))
    chosen = random.permutation(len(rows))[:_TESTED].tolist()
    return QueueForecast(rows, {rows[place]["job_id"]: _back_test(now, rows[place], waits) for place in chosen})


def _back_test(state: MachineState, row: Mapping[str, Any], waits: PastWaits) -> BackTest:
    """The forecast of a job as a back-test without an outcome."""
    job = state.waiting_job(row["job_id"])
    simulated = [row[f"simulated_p{100 * level:02.0f}"] for level in LEVELS]
    by_expert = ask_experts(waits, state, job, simulated)
    return BackTest(state.at, waited_time(state, job), 0.0, by_expert, job.nodes, len(state.waiting) - 1, started=False)


def _history(known: Trace, at: float) -> History | None:
    """Runs that had ended; None: there is none, and walltimes are taken."""
    try:
        return read_history(known, at)
    except InputError:
        return None
