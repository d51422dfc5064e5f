"""Forecasts of starts, kept until the jobs start, and compared with the starts and with Slurm's own plans.

They are the back-tests by which later forecasts are corrected, too.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from statistics import median
from typing import Any

from holdfast.experiments.forecast.track_record import BackTest

__all__ = ["QUANTILES", "SCORE_COLUMNS", "ForecastScores", "StartForecast"]

#: Quantiles of the start that are stored.
QUANTILES = ("p05", "p25", "p50", "p75", "p95")
#: Columns of the table of scores; times in seconds since 1970.
SCORE_COLUMNS = (
    *("forecast_at", "job_id", "start", *QUANTILES, "inside_50", "inside_90", "error_s"),
    *("slurm_start", "slurm_error_s"),
)
#: Number of earlier forecasts that correct later ones: those of the jobs that started last, since queues change.
_LATEST = 400
#: Time by which a start may miss its interval [s]: a forecast is made up to a minute after the state that it is of.
_SLACK = 60.0


@dataclass(frozen=True)
class StartForecast:
    """A forecast of the start of a job.

    Attributes
    ----------
    at
        Time of the forecast [s since 1970].
    job_id
        The job.
    starts
        Its start [s since 1970] by the names of :data:`QUANTILES`.
    slurm_start
        Its start by Slurm's plan at that time [s since 1970]; None: Slurm had no plan.
    test
        The forecast as a back-test without an outcome; None: it corrects no other one.
    """

    at: float
    job_id: int
    starts: Mapping[str, float]
    slurm_start: float | None = None
    test: BackTest | None = None

    def outcome(self, time: float, *, started: bool) -> Iterable[BackTest]:
        """The back-test with the start of the job, or the time until which it has waited [s since 1970], if any."""
        return [] if self.test is None else [replace(self.test, wait=max(0.0, time - self.at), started=started)]

    def score(self, start: float) -> dict[str, Any]:
        """The forecast beside the start of the job [s since 1970], a row of :data:`SCORE_COLUMNS`."""
        row: dict[str, Any] = {"forecast_at": round(self.at), "job_id": self.job_id, "start": round(start)}
        row |= {name: round(self.starts[name]) for name in QUANTILES}
        for share, low, high in ((50, "p25", "p75"), (90, "p05", "p95")):
            row[f"inside_{share}"] = self.starts[low] - _SLACK <= start <= self.starts[high] + _SLACK
        row["error_s"] = round(abs(start - self.starts["p50"]))
        planned = self.slurm_start
        row["slurm_start"] = None if planned is None else round(planned)
        row["slurm_error_s"] = None if planned is None else round(abs(start - planned))
        return row


class ForecastScores:
    """Forecasts of jobs that have not started, and how earlier ones did.

    A forecast takes a while. Jobs that start or are cancelled meanwhile are remembered, so that the scores do not
    depend on its duration.
    """

    def __init__(self) -> None:
        self._open: dict[int, list[StartForecast]] = {}
        #: Start of each job that has left the queue since :meth:`expect`; None: it was cancelled.
        self._left: dict[int, float | None] = {}
        self._outcomes: deque[BackTest] = deque(maxlen=_LATEST)
        # Only what the summary needs is kept: a day of a large machine has a million forecasts.
        self._inside = [0, 0]
        self._errors: list[int] = []
        self._planned: list[tuple[int, int]] = []

    def expect(self) -> None:
        """Remember which jobs leave the queue from now on, until the next :meth:`add`."""
        self._left = {}

    def add(self, forecasts: Iterable[StartForecast]) -> list[dict[str, Any]]:
        """Enter the forecasts of all waiting jobs; scores of those that have started since :meth:`expect`."""
        found = []
        for one in forecasts:
            if one.job_id not in self._left:
                self._open.setdefault(one.job_id, []).append(one)
            elif (start := self._left[one.job_id]) is not None:
                found.append(one.score(start))
                self._outcomes.extend(one.outcome(start, started=True))
        self._left = {}
        return self._count(found)

    def leave(self, job_id: int, start: float | None) -> list[dict[str, Any]]:
        """Enter that a job has left the queue, by its start [s since 1970] or cancelled (None); its scores."""
        self._left[job_id] = start
        waiting = self._open.pop(job_id, [])
        if start is None:
            return []
        self._outcomes.extend(test for one in waiting for test in one.outcome(start, started=True))
        return self._count([one.score(start) for one in waiting])

    def tests(self, at: float) -> list[BackTest]:
        """The latest back-tests of jobs that have started, and those of jobs that wait at a time [s since 1970]."""
        open_tests = (one.outcome(at, started=False) for own in self._open.values() for one in own)
        return sorted(chain(self._outcomes, *open_tests), key=lambda test: (test.at, test.waited, test.wait))

    def _count(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        for row in rows:
            self._inside[0] += row["inside_50"]
            self._inside[1] += row["inside_90"]
            self._errors.append(row["error_s"])
            if row["slurm_error_s"] is not None:
                self._planned.append((row["error_s"], row["slurm_error_s"]))
        return rows

    def summary(self) -> str:
        """How earlier forecasts did, for the end of a line; empty: none has come to its start."""
        number = len(self._errors)
        if not number:
            return ""
        half, most = (f"{100 * count / number:.0f} %" for count in self._inside)
        text = f"; of {number:,} earlier forecasts {half} in their 50 % and {most} in their 90 % interval"
        text += f", median error {median(self._errors):,.0f} s"
        if self._planned:
            ours, plans = (median(errors) for errors in zip(*self._planned, strict=True))
            text += f"; {len(self._planned):,} beside Slurm's plans: {ours:,.0f} s, of the plans {plans:,.0f} s"
        return text
