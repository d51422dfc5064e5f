"""A forecast as one HTML page: a self-contained file in the look of the pages of ``whatif``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.experiments.forecast.forecasts import Forecast
from holdfast.experiments.forecast.report import quality_sentence
from holdfast.experiments.forecast.time_parsing import format_duration
from holdfast.experiments.output.csp import with_policy
from holdfast.experiments.output.page_templates import page_templates
from holdfast.experiments.output.small_pictures import Scale, interval_picture, use_picture
from holdfast.workloads.ground.files import atomic_open
from holdfast.workloads.ground.job_ids import job_id_text
from holdfast.workloads.ground.release import VERSION

__all__ = ["render_page", "write_page"]

#: Columns of the picture of the queue.
_COLUMNS = 100


def write_page(path: str | Path, forecast: Forecast, **text: Any) -> None:
    """Write :func:`render_page`.

    Raises
    ------
    OutputError
        If it cannot be written.
    """
    html = render_page(forecast, **text)
    with atomic_open(path) as file:
        file.write(html)


def render_page(
    forecast: Forecast,
    *,
    title: str,
    lead: Sequence[str],
    moment: Callable[[float], str],
    zone: str = "",
    unit: str = "nodes",
    notes: Sequence[str] = (),
    command: str = "",
) -> str:
    """The page: the same HTML for the same forecast and text.

    Parameters
    ----------
    forecast
        The forecast.
    title
        Name of the log.
    lead
        Sentences that answer the question, a paragraph each.
    moment
        Formats a time of the log as a date.
    zone
        Zone of these dates; empty: none is named.
    unit
        What sizes count.
    notes
        Assumptions and warnings, a sentence each.
    command
        Command that makes the page again; empty: none is shown.
    """
    times = np.linspace(0.0, _span(forecast), _COLUMNS + 1)
    waiting = np.median(forecast.queue(times), axis=0)
    html = page_templates("holdfast.experiments.forecast").get_template("forecast.html").render(
        title=title,
        lead=lead,
        draws=len(forecast.starts),
        zone=zone,
        unit=unit,
        rows=list(_rows(forecast, moment)),
        queue=use_picture(waiting[:-1] / len(forecast.waiting)),
        waiting=len(forecast.waiting),
        left=int(waiting[-1]),
        span=times[-1],
        quality=[quality_sentence(quality) for quality in forecast.qualities()],
        notes=notes,
        command=command,
        version=VERSION,
        duration=format_duration,
    )  # fmt: skip
    return with_policy(html, scripts=1)


def _span(forecast: Forecast) -> float:
    """Time after which nine tenths of the waiting jobs have started in half of the simulations [s]."""
    last = np.quantile(forecast.others - forecast.state.at, 0.9, axis=1, method="inverted_cdf")
    return max(1.0, float(np.median(last)))


def _rows(forecast: Forecast, moment: Callable[[float], str]) -> Iterator[dict[str, Any]]:
    """The rows of the table, with pictures of the intervals on one scale."""
    rows = forecast.rows()
    # A single interval of weeks would reduce all others to dots.
    longest = 4.0 * float(np.median([row["start_p95"] for row in rows]))
    scale = Scale.of([max(row["start_p50"], min(row["start_p95"], longest)) for row in rows])
    for row in rows:
        low, middle, high = (row[f"start_p{level}"] for level in ("05", "50", "95"))
        yield {
            **row,
            "name": job_id_text(row["job_id"]),
            "moment": moment(forecast.state.at + middle) if middle >= 1 else "",
            "picture": interval_picture(scale, middle, low, high),
        }
