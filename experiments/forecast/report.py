"""Output of a forecast or an advice: a sentence, a table, and a JSON document."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from holdfast.experiments.forecast.advice import Advice
from holdfast.experiments.forecast.forecasts import Forecast
from holdfast.experiments.forecast.requests import Request
from holdfast.experiments.forecast.time_parsing import format_duration
from holdfast.experiments.forecast.track_record import FEWEST, Quality
from holdfast.experiments.tables import render
from holdfast.workloads.ground.columns import Quantity
from holdfast.workloads.ground.job_ids import job_id_text
from holdfast.workloads.ground.units import walltime_text
from holdfast.workloads.ground.wording import count_text

__all__ = [
    "FROM_NOW",
    "advice_document",
    "advice_sentence",
    "advice_table",
    "document",
    "quality_sentence",
    "sentence",
    "table",
]

#: Line above the table of an answer whose first sentence names the present time.
FROM_NOW = "Times from now:"
#: Jobs ahead that a sentence names.
_MOST = 3
_HOUR = 1 / 3600


def sentence(forecast: Forecast, job_id: int, moment: Callable[[float], str] | None = None) -> str:
    """Sentences on when one job will start.

    Parameters
    ----------
    forecast
        The forecast.
    job_id
        One of its jobs.
    moment
        Formats a time of the log as a date; None: only times from now are shown.
    """
    row = next(row for row in forecast.rows() if row["job_id"] == job_id)
    low, middle, high = (row[f"start_p{level}"] for level in ("05", "50", "95"))
    size = f"{row['nodes']:,} node{'s' * (row['nodes'] != 1)} for {format_duration(row['walltime'])}"
    if high < 1:
        text = f"Job {job_id_text(job_id)} ({size}) starts now in nearly all draws."
    elif format_duration(low) == format_duration(high):
        text = f"Job {job_id_text(job_id)} ({size}) starts in {format_duration(middle)}."
    else:
        text = (
            f"Job {job_id_text(job_id)} ({size}) starts in {format_duration(middle)} (median), with 90 % probability "
            f"between {format_duration(low)} and {format_duration(high)} from now."
        )
    if row["corrected"]:
        low, middle, high = (row[f"simulated_p{level}"] for level in ("05", "50", "95"))
        text += (
            f" This is corrected by past forecasts; the simulation alone says {format_duration(middle)}, "
            f"{format_duration(low)} to {format_duration(high)}."
        )
    if moment is not None and row["start_p95"] >= 1:
        text += f" The median is {moment(forecast.state.at + row['start_p50'])}."
    ahead = [other for other, _ in forecast.before(job_id)]
    if ahead:
        named = ", ".join(map(job_id_text, ahead[:_MOST]))
        text += f" {count_text(len(ahead), 'waiting jobs', 'usually start')} before it"
        text += f": {named}." if len(ahead) <= _MOST else f", the surest {named}."
    return " ".join([text, *map(quality_sentence, forecast.qualities([job_id]))])


def quality_sentence(quality: Quality) -> str:
    """Sentence on how well back-tests went."""
    jobs = "waiting jobs" if quality.waiting else "jobs just submitted"
    if quality.inside_90 is None or quality.median_error is None:
        return (
            f"The quality of forecasts of {jobs} here is unknown: {quality.count:,} past ones "
            f"{'was' if quality.count == 1 else 'were'} tested, and at least {FEWEST} are needed."
        )
    return (
        f"In the last {quality.count:,} forecasts of {jobs} here the 90 % interval held "
        f"{100 * quality.inside_90:.0f} %, median error {_span(quality.median_error)}."
    )


def table(forecast: Forecast, unit: str = "nodes", heading: str = "") -> str:
    """Table of all jobs of a forecast: quantiles of the time to the start, and probabilities.

    Parameters
    ----------
    forecast
        The forecast.
    unit
        What sizes count.
    heading
        Line above the table; empty: none.
    """
    columns = [
        Quantity("job_id", "job"),
        Quantity("nodes"),
        Quantity("walltime", unit="h", scale=_HOUR, digits=1),
        Quantity("waited", unit="h", scale=_HOUR, digits=1),
        Quantity("start_p05", "5 %", "h", "start", _HOUR, 1),
        Quantity("start_p50", "median", "h", "start", _HOUR, 1),
        Quantity("start_p95", "95 %", "h", "start", _HOUR, 1),
        Quantity("end_p50", "end", "h", "", _HOUR, 1),
        Quantity("start_within_1h", "1 h", "%", "start within", 100, 1),
        Quantity("start_within_4h", "4 h", "%", "start within", 100, 1),
        Quantity("start_within_24h", "24 h", "%", "start within", 100, 1),
    ]
    found = forecast.rows()
    if any(row["corrected"] for row in found):
        columns += [
            Quantity("simulated_p05", "5 %", "h", "simulated", _HOUR, 1),
            Quantity("simulated_p50", "median", "h", "simulated", _HOUR, 1),
            Quantity("simulated_p95", "95 %", "h", "simulated", _HOUR, 1),
        ]
    rows = [{**row, "job_id": job_id_text(row["job_id"])} for row in found]
    text = _with_heading(heading, render(rows, columns, unit))
    return "\n".join([text, *map(quality_sentence, forecast.qualities())])


def _with_heading(heading: str, table: str) -> str:
    return f"{heading}\n{table}" if heading else table


def document(forecast: Forecast, **about: Any) -> dict[str, Any]:
    """JSON document of a forecast: times are seconds from now, probabilities shares."""
    jobs = []
    for row in forecast.rows():
        before = [{"job_id": other, **_task(other), "share": share} for other, share in forecast.before(row["job_id"])]
        jobs.append({**row, **_task(row["job_id"]), "usually_before": before})
    state = forecast.state
    return {
        **about,
        "at": state.at,
        "nodes": state.nodes,
        "running": len(state.running),
        "waiting": len(state.waiting),
        "draws": len(forecast.starts),
        "quality": [quality.row() for quality in forecast.qualities()],
        "jobs": jobs,
    }


def _task(job_id: int) -> dict[str, str]:
    """The id of an array task in Slurm's notation; other ids are unchanged."""
    text = job_id_text(job_id)
    return {} if text == str(job_id) else {"job": text}


#: Names of requests in a sentence.
_TITLES = {"own": "your own request", "planner": "the planner's first reservation"}


#: Meanings of the roles of requests, below the table.
_MEANINGS = {
    "own": "your request",
    "planner": "the first reservation of the plan that counts waits",
    "reserved": "that of the plan that pays only for reserved time",
}


def advice_sentence(advice: Advice) -> str:
    """Sentences on the best request."""
    best = advice.best
    row = next(row for row in advice.rows() if row["best"])
    text = f"Ask for {_request_text(best)}: the expected response time is {format_duration(row['response'])}"
    parts = []
    for name, title in _TITLES.items():
        other = advice.request_for(name)
        if other is None:
            continue
        if other is best:
            parts.append(f"this is {title}")
            continue
        gain = advice.gain(other).total
        more = "less" if gain.mean >= 0 else "more"
        low, high = sorted((abs(gain.low), abs(gain.high)))
        span = f" (95 %: {_span(low)} to {_span(high)})" if gain.low * gain.high > 0 else " (within the noise)"
        parts.append(f"{_span(abs(gain.mean))}{span} {more} than with {title} of {_request_text(other)}")
    text += f", {'; '.join(parts)}." if parts else "."
    wait = format_duration(row["wait_p50"])
    median = "median" if advice.simulated is None else "median, corrected by past forecasts"
    text += f" The request starts {wait if wait == 'now' else f'in {wait}'} ({median})"
    if best.completes < 1:
        text += f" and completes with {100 * best.completes:.0f} % probability; otherwise "
        text += "a checkpoint keeps its work" if best.saves else "its work is lost"
        text += f", and {walltime_text(best.next or 0.0)} are asked for next"
    own = advice.request_for("own")
    other = own if own is not None and own is not best else advice.request_for("planner")
    if other is not None and other is not best:
        saved = advice.gain(other)
        if saved.total.mean >= 1 and saved.backfilling >= 1:
            text += f". Of the gain over {_TITLES['own' if other is own else 'planner']}, "
            text += f"{_span(saved.backfilling)} come from draws in which the request is backfilled"
    return f"{text}."


def _request_text(request: Request) -> str:
    return f"{count_text(request.nodes, 'nodes')} for {walltime_text(request.walltime)}"


def _span(seconds: float) -> str:
    return format_duration(seconds) if seconds >= 1 else "0 s"


def advice_table(advice: Advice, unit: str = "nodes", heading: str = "") -> str:
    """Table of all requests of an advice, with the best one marked; ``unit`` and ``heading`` as in :func:`table`."""
    other = "own" if advice.request_for("own") is not None else "planner"
    # The waits of the simulation alone stand beside corrected ones.
    simulated = (
        [Quantity("simulated_p50", "median", "h", "simulated", _HOUR, 1)] if advice.simulated is not None else []
    )
    columns = [
        Quantity("mark", " "),
        Quantity("nodes"),
        Quantity("asked", "walltime", "HH:MM:SS"),
        Quantity("wait", "mean", "h", "wait", _HOUR, 1),
        Quantity("wait_p05", "5 %", "h", "wait", _HOUR, 1),
        Quantity("wait_p95", "95 %", "h", "wait", _HOUR, 1),
        *simulated,
        Quantity("backfilled", unit="%", scale=100, digits=0),
        Quantity("completes", unit="%", scale=100, digits=0),
        Quantity("then", unit="HH:MM:SS"),
        Quantity("response", "mean", "h", "response", _HOUR, 1),
        Quantity("response_p05", "5 %", "h", "response", _HOUR, 1),
        Quantity("response_p95", "95 %", "h", "response", _HOUR, 1),
        Quantity(f"gain_{other}", "mean", "h", f"less than {other}", _HOUR, 1),
        Quantity(f"gain_{other}_low", "low", "h", f"less than {other}", _HOUR, 1),
        Quantity(f"gain_{other}_high", "high", "h", f"less than {other}", _HOUR, 1),
    ]
    rows = [
        {
            **row,
            "mark": ", ".join([*(["best"] * row["best"]), *row["names"]]),
            "asked": walltime_text(row["walltime"]),
            "then": walltime_text(row["next_walltime"]) if row["next_walltime"] is not None else None,
        }
        for row in advice.rows()
    ]
    names = {name for request in advice.requests for name in request.names}
    legend = "; ".join(f"{name}: {meaning}" for name, meaning in _MEANINGS.items() if name in names)
    return "\n".join([_with_heading(heading, render(rows, columns, unit)), *([legend] if legend else [])])


def advice_document(advice: Advice, **about: Any) -> dict[str, Any]:
    """JSON document of an advice: times are seconds from now, probabilities shares."""
    state, rows = advice.state, advice.rows()
    gains = {}
    for name in _TITLES:
        other = advice.request_for(name)
        if other is not None:
            gain = advice.gain(other)
            total = gain.total
            gains[f"over_{name}"] = {
                "response": total.mean,
                "low": total.low,
                "high": total.high,
                "wait": gain.wait,
                "backfilling": gain.backfilling,
            }
    return {
        **about,
        "at": state.at,
        "nodes": state.nodes,
        "running": len(state.running),
        "waiting": len(state.waiting),
        "draws": len(advice.waits),
        "corrected": advice.simulated is not None,
        "later_waits": [
            {"nodes": size, "alpha": waits.alpha, "gamma": waits.gamma, "of": "today" if waits.today else "the past"}
            for size, waits in advice.later.items()
        ],
        "best": next(row for row in rows if row["best"]),
        "plan": advice.best.plan.to_dict(advice.best.distribution),
        "gains": gains,
        "requests": rows,
    }
