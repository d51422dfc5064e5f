"""Live twin of a Slurm: reads its queue at intervals, keeps the simulator's state beside it, and forecasts.

A directory gets ``readings.csv`` (a row for each reading, with its drift), a file of each forecast beside Slurm's own
plan, and ``scores.csv``: how earlier forecasts and plans of the jobs that have started since then did. Forecasts are
made by another process, so that readings go on meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any, NamedTuple

from holdfast.experiments.forecast.track_record import BackTest
from holdfast.experiments.output.signals import hold_interruptions
from holdfast.experiments.slurm.forecast_scores import QUANTILES, SCORE_COLUMNS, ForecastScores, StartForecast
from holdfast.experiments.slurm.live_replay import SomeSlurm, patiently
from holdfast.experiments.slurm.live_state import Drift, LiveState, Update
from holdfast.experiments.slurm.queue_forecast import QueueForecast, QueueState, TwinOptions, forecast_queue
from holdfast.experiments.sweeps.background import Background
from holdfast.experiments.tables import csv_lines, write_csv
from holdfast.policies.order import ORDERS
from holdfast.workloads.ground.errors import HoldfastError, InputError
from holdfast.workloads.ground.wording import count_text
from holdfast.workloads.logs.squeue import parse_queue
from holdfast.workloads.logs.trace import Trace

__all__ = ["FORECAST_COLUMNS", "READING_COLUMNS", "LiveTwin"]

#: Columns of the table of readings; times in seconds since 1970.
READING_COLUMNS = (
    *("at", "waiting", "running", "submitted", "started", "ended", "cancelled"),
    *("drift_jobs", "drift_nodes", "drift_order"),
)
#: Columns of the file of a forecast: times from the forecast on [s].
FORECAST_COLUMNS = (
    *("job_id", "nodes", "walltime", "waited"),
    *(f"start_{name}" for name in QUANTILES),
    "slurm_start",
)
_QUEUE = "%i|%T|%V|%S|%l|%D|%u|%a|%r|%N|%C|%Q"


class _Pending(NamedTuple):
    """A forecast that is being made, and its time [s since 1970]."""

    at: float
    found: Future[QueueForecast]


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
    background
        Makes the forecasts.
    """

    def __init__(
        self,
        slurm: SomeSlurm,
        past: Trace,
        options: TwinOptions,
        folder: Path,
        log: Callable[[str], None],
        background: Background,
    ) -> None:
        self._slurm, self._past, self._options, self._folder, self._log = slurm, past, options, folder, log
        self._background = background
        self._order = ORDERS[options.order]
        self.state = LiveState(options.nodes)
        self.scores = ForecastScores()
        self._next_forecast = 0.0
        self._pending: _Pending | None = None
        self._known = False

    def run(self, seconds: float | None) -> None:
        """Follow for a time [s]; None: until it is interrupted. A reading that fails is reported, and tried again."""
        end = None if seconds is None else self._slurm.now() + seconds
        try:
            while True:
                began = self._slurm.now()
                try:
                    self.read()
                except InputError as error:
                    self._log(f"{error}; reads again in {self._options.every:g} s")
                if end is not None and self._slurm.now() >= end:
                    break
                pause = began + self._options.every - self._slurm.now()
                time.sleep(max(0.0, pause) / self._slurm.speed)
            self._finish_forecast(wait=True)
        finally:
            if self._pending is not None:
                self._background.stop(self._pending.found)

    def read(self) -> Drift:
        """Read the queue and the nodes once, and forecast if that is due.

        Raises
        ------
        InputError
            If Slurm does not answer.
        """
        asked = self._slurm.now()
        printed = patiently(self._slurm, ["squeue", "--array", "-t", "R,PD,CG", "-o", _QUEUE])
        # A job that starts while squeue works has a start after the question.
        answered = self._slurm.now()
        rows = [row for row in parse_queue(printed, "squeue")[0] if row.start is None or row.start <= answered]
        at = max([asked, *(row.start for row in rows if row.start is not None)])
        update = self.state.update(rows, at)
        drift = self.state.drift(at, self._nodes(), self._order)
        self._note(at, update, drift)
        self._score(update)
        self._finish_forecast()
        if at >= self._next_forecast and self._pending is None:
            self._next_forecast = at + self._options.forecast_every
            self._begin_forecast(at)
            self._finish_forecast()
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
            found += self.scores.leave(job_id, self.state.running[job_id].start)
        for job_id in update.cancelled:
            self.scores.leave(job_id, None)
        self._store(found)

    def _store(self, scores: Sequence[Mapping[str, Any]]) -> None:
        if scores:
            _append(self._folder / "scores.csv", scores, SCORE_COLUMNS)

    def _begin_forecast(self, at: float) -> None:
        """Begin to forecast the starts of all waiting jobs."""
        state = self.state
        if not state.waiting:
            self._log(
                f"{_clock(at)}: {count_text(len(state.running), 'jobs', 'run')}, none waits{self.scores.summary()}"
            )
            return
        tests = tuple(self.scores.tests(at))
        queue = QueueState(at, tuple(state.rows()), self._past, tuple(state.ended), self._options, tests)
        self.scores.expect()
        # An interruption between the start of the process and this note would leave it, and wait for it at the end.
        with hold_interruptions():
            self._pending = _Pending(at, self._background.submit(forecast_queue, queue))

    def _finish_forecast(self, *, wait: bool = False) -> None:
        """Store the forecast that is being made, if it is complete."""
        if self._pending is None or not (wait or self._pending.found.done()):
            return
        at, future = self._pending
        try:
            rows, tests = future.result()
        except (HoldfastError, BrokenProcessPool) as error:
            self._log(f"{_clock(at)}: no forecast: {error}")
            rows, tests = [], {}
        self._pending = None
        if not rows:
            return
        write_csv(self._folder / f"forecast-{round(at)}.csv", rows, FORECAST_COLUMNS)
        self._store(self.scores.add(_start_forecast(at, row, tests.get(row["job_id"])) for row in rows))
        running = count_text(len(self.state.running), "jobs", "run")
        self._log(f"{_clock(at)}: {running}, {len(rows):,} wait and are forecast{self.scores.summary()}")


def _start_forecast(at: float, row: Mapping[str, Any], test: BackTest | None) -> StartForecast:
    """A row of a forecast with times since 1970."""
    planned = row["slurm_start"]
    starts = {name: at + row[f"start_{name}"] for name in QUANTILES}
    return StartForecast(at, row["job_id"], starts, None if planned is None else at + planned, test)


def _append(path: Path, rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> None:
    """Add rows to a table, which begins with them if it is not there: the table of a day is long."""
    if not path.exists():
        write_csv(path, rows, columns)
        return
    # An interruption must not cut a line.
    with hold_interruptions(), path.open("a") as file:
        file.write("".join(csv_lines(rows, columns)))


def _clock(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(at))
