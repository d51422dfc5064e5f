"""Display of results in notebooks: any figure of a result by name, and an HTML summary with metrics and a figure."""

from __future__ import annotations

import base64
import io
from html import escape
from typing import TYPE_CHECKING, Any

from holdfast.experiments.figures.recording.recording_figures import RECORDING_FIGURES
from holdfast.experiments.figures.style import relabel
from holdfast.experiments.recordings.time_windows import Window
from holdfast.experiments.tables import cell_text
from holdfast.simulator.results.catalogue import metric
from holdfast.simulator.results.result import Result
from holdfast.workloads.ground.errors import InputError, UnknownNameError
from holdfast.workloads.ground.wording import count_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.figure import Figure

__all__ = ["KINDS", "plot_result", "result_html"]

#: Figures of one result that take no window.
_WHOLE = ("machine", "accounting")
#: All figures of one result.
KINDS = (*_WHOLE, *RECORDING_FIGURES)
#: Metrics in the order of the console; a wall-clock time would differ from run to run.
_SHOWN = (
    *("jobs", "wait_h", "wait_median_h", "wait_p95_h", "bounded_slowdown", "turnaround_h", "turnaround_on_demand_h"),
    *("instant_start_ratio", "preemption_ratio_rigid", "preemption_ratio_malleable", "shrink_ratio"),
    *("utilization", "lost_node_hours", "makespan_h"),
)
#: Resolution of the small picture [dots per inch].
_DPI = 72


def plot_result(
    result: Result,
    kind: str = "machine",
    start: float | str | None = None,
    end: float | str | None = None,
    quantile: float = 0.9,
) -> Figure:
    """Draw a result.

    Parameters
    ----------
    result
        The result; all kinds except ``waits`` and ``accounting`` need its event log.
    kind
        ``machine`` (busy and held nodes and the queue over time), ``accounting`` (node-hours by use), or a picture of
        ``holdfast picture``: ``gantt``, ``use``, ``queue``, ``on-demand`` or ``waits``.
    start, end
        Time window of the figures of ``holdfast picture``
        (:class:`~holdfast.experiments.recordings.time_windows.Window`).
    quantile
        Quantile that ``waits`` draws beside the median.

    Raises
    ------
    UnknownNameError
        If there is no such kind.
    InputError
        If the result lacks the data of the figure, or a window is given for ``machine`` or ``accounting``.
    """
    if kind not in KINDS:
        raise UnknownNameError("picture", kind, KINDS)
    if kind in RECORDING_FIGURES:
        return RECORDING_FIGURES[kind].draw(result, Window(start, end), quantile)
    if start is not None or end is not None:
        raise InputError(
            f"start and end are for {', '.join(RECORDING_FIGURES)}; the picture {kind} shows the whole result"
        )
    from holdfast.experiments.figures.study.machine import plot_accounting, plot_machine

    return relabel(plot_machine(result) if kind == "machine" else plot_accounting(result), result.unit)


def result_html(result: Result) -> str:
    """HTML of a result for notebooks: description, metrics, and busy nodes and queue over time."""
    options = result.options
    head = (
        f"{escape(result.name)}: {count_text(len(result.records), 'jobs')} on {count_text(result.nodes, result.unit)}, "
        f"order {escape(options.order)}, backfilling {escape(options.backfilling)}"
    )
    rows = "".join(
        f'<tr><td style="text-align:left">{escape(name)}</td><td>{escape(value)}</td></tr>'
        for name, value in _metrics(result)
    )
    table = f'<table style="margin-right:1.5em">{rows}</table>' if rows else ""
    return (
        f"<div><p><b>{head}</b></p>"
        f'<div style="display:flex;flex-wrap:wrap;align-items:flex-start">{table}{_picture(result)}</div></div>'
    )


def _metrics(result: Result) -> Iterator[tuple[str, str]]:
    """Name with unit and value of each known metric; empty for a result that was read back."""
    try:
        summary: Any = result.summary()
    except InputError:
        return
    for name in _SHOWN:
        value, shown = summary[name], metric(name)
        if value == value:
            jobs = "" if shown.of in ("all jobs", "machine") else f" ({shown.of})"
            unit = f" [{shown.unit}]" if shown.unit else ""
            number = value if name == "jobs" else float(value) * shown.scale
            digits = shown.digits
            text = cell_text(number) if digits is None or name == "jobs" else f"{number:,.{digits}f}"
            yield f"{shown.title}{jobs}{unit}", text


def _picture(result: Result) -> str:
    """The machine over time as an inline image; empty without an event log."""
    try:
        figure = plot_result(result)
    except InputError:
        return ""
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=_DPI, metadata={"Software": None})
    data = base64.b64encode(out.getvalue()).decode()
    return f'<img alt="busy and held nodes and the queue over time" src="data:image/png;base64,{data}">'
