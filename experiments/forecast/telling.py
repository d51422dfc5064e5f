"""Telling a forecast: a sentence, a table, and a document for programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from experiments.forecast.forecasts import Forecast
from experiments.forecast.moments import duration_told
from experiments.tables import render
from workloads.ground.quantities import Quantity

__all__ = ["document", "sentence", "table"]

#: Jobs ahead that a sentence names.
_MOST = 3
_HOUR = 1 / 3600


def sentence(forecast: Forecast, job_id: int, moment: Callable[[float], str] | None = None) -> str:
    """When one job will start, in two or three sentences.

    Parameters
    ----------
    forecast
        The forecast.
    job_id
        One of its jobs.
    moment
        Writes a time of the log as people do; None: only times from now are told.
    """
    row = next(row for row in forecast.rows() if row["job_id"] == job_id)
    low, middle, high = (row[f"start_p{level}"] for level in ("05", "50", "95"))
    size = f"{row['nodes']:,} node{'s' * (row['nodes'] != 1)} for {duration_told(row['walltime'])}"
    if high < 1:
        told = f"Job {job_id} ({size}) starts now in nearly all draws."
    elif duration_told(low) == duration_told(high):
        told = f"Job {job_id} ({size}) starts in {duration_told(middle)}."
    else:
        told = (
            f"Job {job_id} ({size}) starts in {duration_told(middle)} (median), with 90 % probability between "
            f"{duration_told(low)} and {duration_told(high)} from now."
        )
    if moment is not None and high >= 1:
        told += f" The median is {moment(forecast.state.at + middle)}."
    ahead = [other for other, _ in forecast.before(job_id)]
    if ahead:
        named = ", ".join(map(str, ahead[:_MOST]))
        told += f" {len(ahead):,} waiting job{'s' * (len(ahead) != 1)} usually start{'s' * (len(ahead) == 1)} before it"
        told += f": {named}." if len(ahead) <= _MOST else f", the surest {named}."
    return told


def table(forecast: Forecast) -> str:
    """All jobs of a forecast, a line each: quantiles of the time to the start, and probabilities."""
    columns = [
        Quantity("job_id", "job"),
        Quantity("nodes"),
        Quantity("walltime", unit="h", scale=_HOUR, digits=1),
        Quantity("waited", unit="h", scale=_HOUR, digits=1),
        Quantity("start_p05", "5 %", "h", "start", _HOUR, 1),
        Quantity("start_p50", "median", "h", "start", _HOUR, 1),
        Quantity("start_p95", "95 %", "h", "start", _HOUR, 1),
        Quantity("end_p50", "end", "h", "", _HOUR, 1),
        Quantity("start_within_1h", "1 h", "%", "start within", 100, 0),
        Quantity("start_within_4h", "4 h", "%", "start within", 100, 0),
        Quantity("start_within_24h", "24 h", "%", "start within", 100, 0),
    ]
    return render([{**row, "job_id": str(row["job_id"])} for row in forecast.rows()], columns)


def document(forecast: Forecast, **about: Any) -> dict[str, Any]:
    """A forecast for programs: times are seconds from now, probabilities shares."""
    jobs = []
    for row in forecast.rows():
        before = [{"job_id": other, "share": share} for other, share in forecast.before(row["job_id"])]
        jobs.append({**row, "usually_before": before})
    state = forecast.state
    return {
        **about,
        "at": state.at,
        "nodes": state.nodes,
        "running": len(state.running),
        "waiting": len(state.waiting),
        "draws": len(forecast.starts),
        "jobs": jobs,
    }
