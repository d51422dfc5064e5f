"""Experiments for figures 6 and 7 of the profiles paper: memory of SLANT over time, and decomposition into tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from holdfast.experiments.papers.profiles.shared_data import (
    TASK_COLORS,
    TaskData,
    data_row,
    mark_figure,
    restrict_verdict,
    task_runs,
)
from holdfast.experiments.study.equivalence import close
from holdfast.experiments.study.experiment import Experiment, Row, Tables
from holdfast.experiments.study.measurement_table import rows_where
from holdfast.experiments.study.verdicts import Statement, Verdict, figure, text
from holdfast.workloads.chains.synthetic import SLANT_PEAKS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENTS"]

#: Peak memory that distinguishes tasks 6 and 7 [GB], which have 3.5 and 10 GB.
_FOREIGN_PEAK = 7.0


def _measure_profile(parameters: TaskData, seed: int) -> Tables:
    runs = task_runs(parameters.tasks, parameters.runs, seed)
    middle = np.median(runs.durations, axis=0)
    typical = np.abs(runs.durations - middle) @ (1 / np.maximum(middle, 1.0))
    chosen = {"shortest": runs.walltimes.argmin(), "typical": typical.argmin(), "longest": runs.walltimes.argmax()}
    rows: list[Row] = []
    for label, run in chosen.items():
        starts = np.concatenate(([0.0], runs.ends[run, :-1]))
        rows += [
            {
                "walltime": label,
                "run": runs.names[run],
                "task": task + 1,
                "start_min": float(starts[task]) / 60,
                "end_min": float(runs.ends[run, task]) / 60,
                "peak_gb": float(runs.peaks[run, task]),
                "average_gb": None if runs.averages is None else float(runs.averages[run, task]),
            }
            for task in range(runs.tasks)
        ]
    peaks = [
        {
            "task": task + 1,
            "printed_gb": SLANT_PEAKS[task] if task < len(SLANT_PEAKS) else None,
            "median_gb": float(np.median(column_)),
            "least_gb": float(column_.min()),
            "most_gb": float(column_.max()),
        }
        for task, column_ in enumerate(runs.peaks.T)
    ]
    return {"": rows, "peaks": peaks, **data_row(bool(parameters.tasks), len(runs))}


#: Sections that print a peak, if it is not section 2.3, which has only "up to" 50 GB for task 5.
_PLACES = {5: "4.2.2"}
#: Relative margin of a peak, because the paper says "around" and "about".
_MARGIN = 0.1


def _judge_profile(tables: Tables) -> Sequence[Verdict]:
    shorter = Statement(
        "fewer pre- and post-processing for OASIS inputs", "fewer", figure("6", "read by the authors in section 2.3")
    )
    verdicts = [shorter.open("memory was published for DRD inputs only")]
    for row in tables["peaks"]:
        printed, median = row["printed_gb"], row["median_gb"]
        if printed is None:
            continue
        statement = Statement(
            f"peak memory of task {row['task']}", f"{printed:g} GB", text(_PLACES.get(row["task"], "2.3"))
        )
        found = f"median {median:.1f} GB, {row['least_gb']:.1f} to {row['most_gb']:.1f}"
        verdicts.append(
            restrict_verdict(tables, close(statement, median, printed, _MARGIN * printed, found, unit="GB"))
        )
    return verdicts


def _draw_profile(tables: Tables) -> Figure:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    from holdfast.experiments.figures.canvas import PAGE, new_figure, subplots
    from holdfast.experiments.figures.style import INK, dress, legend_above, panel_letters

    labels = list(dict.fromkeys(row["walltime"] for row in tables[""]))
    figure = new_figure(PAGE, 2.3)
    panels = subplots(figure, 1, len(labels), sharex=True, sharey=True)
    for axes, label in zip(panels, labels, strict=True):
        rows = rows_where(tables[""], walltime=label)
        for row in rows:
            color = TASK_COLORS[(row["task"] - 1) % len(TASK_COLORS)]
            width = row["end_min"] - row["start_min"]
            axes.bar(row["start_min"], row["peak_gb"], width, align="edge", color=color, linewidth=0)
            if row["average_gb"] is not None:
                axes.plot([row["start_min"], row["end_min"]], [row["average_gb"]] * 2, color=INK, linewidth=1.2)
            middle = (row["start_min"] + row["end_min"]) / 2
            axes.annotate(str(row["task"]), (middle, row["peak_gb"]), (0, 2), textcoords="offset points",
                          ha="center", fontsize=6.5, color=INK)  # fmt: skip
        dress(axes, x="time (min)", y="memory (GB)" if axes is panels[0] else "", title=f"{label} run", grid="y")
    panel_letters(panels)
    if any(row["average_gb"] is not None for row in tables[""]):
        names = ["peak of each task, by its number", "average of each task"]
        legend_above(figure, [Patch(color="#BBBBBB"), Line2D([], [], color=INK)], names)
    return mark_figure(figure, tables)


def _measure_decomposition(parameters: TaskData, seed: int) -> Tables:
    runs = task_runs(parameters.tasks, parameters.runs, seed)
    rows = [
        {
            "run": name,
            "task": task + 1,
            "end_min": float(runs.ends[run, task]) / 60,
            "peak_gb": float(runs.peaks[run, task]),
        }
        for run, name in enumerate(runs.names)
        for task in range(runs.tasks)
    ]
    return {"": rows, **data_row(bool(parameters.tasks), len(runs))}


def _foreign(tables: Tables) -> int:
    """Number of runs in which task 6 has the memory of task 7, or task 7 that of task 6."""
    sixth = {row["run"] for row in rows_where(tables[""], task=6) if row["peak_gb"] > _FOREIGN_PEAK}
    seventh = {row["run"] for row in rows_where(tables[""], task=7) if row["peak_gb"] < _FOREIGN_PEAK}
    return len(sixth | seventh)


def _judge_decomposition(tables: Tables) -> Sequence[Verdict]:
    wrong, runs = _foreign(tables), tables["data"][0]["runs"]
    statement = Statement(
        "the decomposition into tasks can be incorrect: tasks 6 and 7 of some runs are swapped or run together",
        "can be incorrect", text("2.3"),
    )  # fmt: skip
    rule = f"holds if task 6 of a run has over {_FOREIGN_PEAK:g} GB, or task 7 less"
    return [restrict_verdict(tables, statement.exact_verdict(wrong > 0, rule, f"{wrong} of {runs} runs"))]


def _draw_decomposition(tables: Tables) -> Figure:
    from matplotlib.patches import Patch

    from holdfast.experiments.figures.canvas import PAGE, new_figure, subplots
    from holdfast.experiments.figures.style import dress, legend_above

    figure = new_figure(PAGE, 3.2)
    axes = subplots(figure)
    tasks = list(dict.fromkeys(row["task"] for row in tables[""]))
    last = {row["run"]: row["end_min"] for row in rows_where(tables[""], task=tasks[-1])}
    order = {run: place for place, run in enumerate(sorted(last, key=lambda run: (last[run], str(run))))}
    start = dict.fromkeys(order, 0.0)
    for task in tasks:
        rows = rows_where(tables[""], task=task)
        widths = [row["end_min"] - start[row["run"]] for row in rows]
        color = TASK_COLORS[(task - 1) % len(TASK_COLORS)]
        places = [order[row["run"]] for row in rows]
        axes.barh(places, widths, 1.0, [start[row["run"]] for row in rows], color=color, linewidth=0)
        start.update({row["run"]: row["end_min"] for row in rows})
    axes.set_ylim(-0.5, len(order) - 0.5)
    dress(axes, x="time (min)", y="run, by walltime", grid="x")
    patches = [Patch(color=TASK_COLORS[(task - 1) % len(TASK_COLORS)]) for task in tasks]
    legend_above(figure, patches, [f"task {task}" for task in tasks])
    return mark_figure(figure, tables)


_QUICK = TaskData(runs=30)

EXPERIMENTS = (
    Experiment("profiles-fig6", "SLANT: memory over time, by task", "How much memory does a run need over time?",
               TaskData(), _QUICK, _measure_profile, _judge_profile, _draw_profile, single_runs=True),
    Experiment("profiles-fig7", "SLANT: decomposition of the runs into tasks", "How long are the tasks of each run?",
               TaskData(), _QUICK, _measure_decomposition, _judge_decomposition, _draw_decomposition,
               single_runs=True),
)  # fmt: skip
