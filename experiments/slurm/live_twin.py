"""Live twin of a Slurm: reads its queue at intervals, keeps the simulator's state beside it, and forecasts.

A directory gets ``readings.csv`` (a row for each reading, with its drift), a file of each forecast, and ``scores.csv``:
how earlier forecasts of the jobs that have started since then did.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from holdfast.experiments.forecast.forecasts import forecast
from holdfast.experiments.forecast.history import read_history
from holdfast.experiments.forecast.machine_state import state_of_queue
from holdfast.experiments.slurm.live_replay import SomeSlurm, patiently
from holdfast.experiments.slurm.live_state import Drift, LiveState, Update
from holdfast.experiments.tables import csv_lines, write_csv
from holdfast.policies.order import ORDERS
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.logs.squeue import parse_queue
from holdfast.workloads.logs.trace import Trace, TraceJobs

__all__ = ["READING_COLUMNS", "SCORE_COLUMNS", "LiveTwin", "TwinOptions"]

#: Columns of the table of readings, and of that of scores; times in seconds since 1970.
READING_COLUMNS = (
    *("at", "waiting", "running", "submitted", "started", "ended", "cancelled"),
    *("drift_jobs", "drift_nodes", "drift_order"),
)
SCORE_COLUMNS = ("forecast_at", "job_id", "start", "p05", "p50", "p95", "inside_90", "error_s")
#: Time by which a start may miss its interval [s].
_SLACK = 60.0
_QUEUE = "%i|%T|%V|%S|%l|%D|%u|%a|%r|%N|%C|%Q"
#: Columns of a forecast that are stored.
_FORECAST_COLUMNS = ("job_id", "nodes", "walltime", "waited", "start_p05", "start_p50", "start_p95")


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
class _Guess:
    """Quantiles of the start of a job [s since 1970], at the time of the forecast."""

    at: float
    job_id: int
    p05: float
    p50: float
    p95: float

    def score(self, start: float) -> dict[str, Any]:
        """The guess beside the start of the job [s since 1970]."""
        row = {name: round(getattr(self, name)) for name in ("p05", "p50", "p95")}
        # A forecast is made up to a minute after the state that it is of.
        inside = self.p05 - _SLACK <= start <= self.p95 + _SLACK
        known = {"forecast_at": round(self.at), "job_id": self.job_id, "start": round(start)}
        return {**known, **row, "inside_90": inside, "error_s": round(abs(start - self.p50))}


class LiveTwin:
    """Follows a Slurm.

    Parameters
    ----------
    slurm
        The Slurm.
    past
        Log of its past, on its clock.
    options
        How it is followed.
    folder
        Directory for the tables.
    log
        Called with lines for the user.
    """

    def __init__(
        self, slurm: SomeSlurm, past: Trace, options: TwinOptions, folder: Path, log: Callable[[str], None]
    ) -> None:
        self._slurm, self._past, self._options, self._folder, self._log = slurm, past, options, folder, log
        self._order = ORDERS[options.order]
        self.state = LiveState(options.nodes)
        self._next_forecast = 0.0
        self._guesses: dict[int, list[_Guess]] = {}
        # Of the forecasts that have come to their starts: a day of a large machine has a million.
        self._errors: list[int] = []
        self._inside = 0
        self._known = False

    def run(self, seconds: float | None) -> None:
        """Follow for a time [s]; None: until it is interrupted. A reading that fails is reported, and tried again."""
        end = None if seconds is None else self._slurm.now() + seconds
        while True:
            began = self._slurm.now()
            try:
                self.read()
            except InputError as error:
                self._log(f"{error}; reads again in {self._options.every:g} s")
            if end is not None and self._slurm.now() >= end:
                return
            pause = began + self._options.every - self._slurm.now()
            time.sleep(max(0.0, pause) / self._slurm.speed)

    def read(self) -> Drift:
        """Read the queue and the nodes once, and forecast if that is due.

        Raises
        ------
        InputError
            If Slurm does not answer.
        """
        at = self._slurm.now()
        printed = patiently(self._slurm, ["squeue", "--array", "-t", "R,PD,CG", "-o", _QUEUE])
        rows, _ = parse_queue(printed, "squeue")
        update = self.state.update([row for row in rows if row.start is None or row.start <= at], at)
        drift = self.state.drift(at, self._nodes(), self._order)
        self._note(at, update, drift)
        self._score(update)
        if at >= self._next_forecast:
            self._next_forecast = at + self._options.forecast_every
            self._forecast(at)
        return drift

    def _nodes(self) -> dict[str, str]:
        text = patiently(self._slurm, ["sinfo", "-h", "-N", "-o", "%N|%T"])
        return {name: state for name, _, state in (line.strip().partition("|") for line in text.splitlines()) if name}

    def _note(self, at: float, update: Update, drift: Drift) -> None:
        state = self.state
        # What was there at the first reading is no change.
        counts = [len(jobs) if self._known else 0 for jobs in update]
        self._known = True
        row = dict(
            zip(READING_COLUMNS, (round(at), len(state.waiting), len(state.running), *counts, *drift), strict=True)
        )
        _append(self._folder / "readings.csv", [row], READING_COLUMNS)
        if drift:
            self._log(f"drift: {drift.jobs:,} jobs, {drift.nodes:,} nodes, {drift.order:,} pairs in another order")

    def _score(self, update: Update) -> None:
        """Compare the forecasts of jobs that have started with their starts."""
        found: list[dict[str, Any]] = []
        for job_id in update.started:
            start = self.state.running[job_id].start
            if start is not None:
                found += [guess.score(start) for guess in self._guesses.pop(job_id, ())]
        for job_id in update.cancelled:
            self._guesses.pop(job_id, None)
        if found:
            self._errors += [score["error_s"] for score in found]
            self._inside += sum(score["inside_90"] for score in found)
            _append(self._folder / "scores.csv", found, SCORE_COLUMNS)

    def _forecast(self, at: float) -> None:
        """Forecast the starts of all waiting jobs."""
        options, state = self._options, self.state
        if not state.waiting:
            self._log(f"{_clock(at)}: {len(state.running):,} jobs run, none waits{self.score()}")
            return
        jobs = [*self._past.jobs, *state.ended]
        now = state_of_queue(state.rows(), at, options.nodes, past=jobs, names=options.names)
        if not now.waiting:
            return
        found = forecast(
            now,
            _history(self._past, jobs, at),
            draws=options.draws,
            seed=options.seed,
            workers=options.workers,
            arrivals="weeks" if jobs else "none",
            order=options.order,
            backfilling=options.backfilling,
        )
        rows = found.rows()
        write_csv(self._folder / f"forecast-{round(at)}.csv", rows, _FORECAST_COLUMNS)
        for row in rows:
            times = (at + row[f"start_{name}"] for name in ("p05", "p50", "p95"))
            self._guesses.setdefault(row["job_id"], []).append(_Guess(at, row["job_id"], *times))
        self._log(f"{_clock(at)}: {len(state.running):,} jobs run, {len(rows):,} wait and are forecast{self.score()}")

    def score(self) -> str:
        """How earlier forecasts did, for a line; empty: none has come to its start."""
        if not self._errors:
            return ""
        number = len(self._errors)
        held = f"{100 * self._inside / number:.0f} % in their 90 % interval, median error {median(self._errors):,.0f} s"
        return f"; of {number:,} earlier forecasts {held}"


def _append(path: Path, rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> None:
    """Add rows to a table, which begins with them if it is not there: the table of a day is long."""
    if not path.exists():
        write_csv(path, rows, columns)
        return
    with path.open("a") as file:
        file.writelines(csv_lines(rows, columns))


def _history(past: Trace, jobs: Sequence[Any], at: float) -> Any:
    """Runs that had ended; None: there is none, and walltimes are taken."""
    try:
        return read_history(replace(past, jobs=TraceJobs(jobs), withdrawn=()), at)
    except InputError:
        return None


def _clock(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(at))
