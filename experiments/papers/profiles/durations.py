"""Experiments for figures 8 and 10, tables 1 and 2 of the profiles paper: durations of the SLANT tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from holdfast.experiments.papers.profiles.shared_data import (
    TASK_COLORS,
    TaskData,
    data_row,
    mark_figure,
    restrict_verdict,
    task_runs,
)
from holdfast.experiments.statistics import holm
from holdfast.experiments.study.equivalence import close, count
from holdfast.experiments.study.experiment import Experiment, Tables
from holdfast.experiments.study.measurement_table import column, rows_where
from holdfast.experiments.study.rules import LEVEL
from holdfast.experiments.study.verdicts import Statement, Verdict, table, text
from holdfast.workloads.chains.synthetic import SLANT_TABLE
from holdfast.workloads.chains.task_fits import FITS, choose_fit, fit_distribution, leave_one_out_score

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENTS"]

#: Relative margin of a mean or standard deviation.
_SAME = 0.03
#: Smallest very high correlation.
_HIGH = 0.9
#: Table 1 of [P], rows from the diagonal to the right.
_CORRELATION = (
    (1.000, 0.998, -0.308, -0.261, -0.114, -0.039, 0.139),
    (1.000, -0.293, -0.277, 0.142, -0.058, 0.159),
    (1.000, 0.076, 0.547, -0.283, 0.223),
    (1.000, -0.361, 0.296, -0.308),
    (1.000, -0.568, 0.574),
    (1.000, -0.475),
    (1.000,),
)


def _measure_durations(parameters: TaskData, seed: int) -> Tables:
    runs = task_runs(parameters.tasks, parameters.runs, seed)
    rows = [
        {"run": name, "task": task + 1, "duration_s": float(duration)}
        for name, durations in zip(runs.names, runs.durations, strict=True)
        for task, duration in enumerate(durations)
    ]
    fits = []
    for task, durations in enumerate(runs.durations.T):
        distribution = fit_distribution(durations)
        best = choose_fit(durations)
        ends = np.sort(durations)
        steps = np.arange(1, ends.size + 1) / ends.size
        chance = distribution.cdf(ends)
        fits.append(
            {
                "task": task + 1,
                "mean_s": float(durations.mean()),
                "std_s": float(durations.std(ddof=1)),
                "range_min": float(np.ptp(durations)) / 60,
                "peaks": _peaks(durations),
                "distance": float(np.maximum(steps - chance, chance - steps + 1 / ends.size).max()),
                "best": best,
                **{f"score_{fit}": leave_one_out_score(durations, fit) for fit in FITS},
            }
        )
    return {"": rows, "fits": fits, **data_row(bool(parameters.tasks), len(runs))}


def _peaks(durations: np.ndarray[Any, np.dtype[np.float64]]) -> int:
    """Number of peaks of the smoothed density with a prominence of at least a tenth of the highest."""
    distribution = fit_distribution(durations, "kernel")
    at = np.linspace(float(distribution.ppf(1e-4)), float(distribution.isf(1e-4)), 400)
    density = np.diff(distribution.cdf(at))
    least = 0.1 * density.max()
    count, valley, top = 0, 0.0, 0.0
    rising = True
    for value in density:
        if rising:
            top = max(top, value)
            if value < top - least:
                count, rising, valley = count + 1, False, value
        else:
            valley = min(valley, value)
            if value > valley + least:
                rising, top = True, value
    return count + int(rising and top > valley + least)


#: Resolution of durations [min]: section 2.3 and figure 8 of [P] describe them "at the minute level".
_MINUTE = 1.0
_RAW = text("2.3")


def _judge_durations(tables: Tables) -> Sequence[Verdict]:
    fits = tables["fits"]
    ranges = {task: float(np.ptp(_minutes(tables, task))) for task in (row["task"] for row in fits)}
    several = [row["task"] for row in fits if row["peaks"] > 1]
    measured = ", ".join(f"{task}: {value:.1f}" for task, value in ranges.items())
    varying = sum(value > _MINUTE for value in ranges.values())
    peaks = Statement("tasks 5 and 7 have several peaks, the others one", "5 and 7", _RAW)
    verdicts = [
        count(Statement("all tasks vary", "all tasks show variation", _RAW), varying, len(ranges),
              "the range is over a minute", f"range [min] {measured}"),
        peaks.exact_verdict(several == [5, 7],
                       "holds if the kernel densities of these tasks alone have peaks a tenth of the highest apart",
                       " and ".join(map(str, several)) or "none"),
    ]  # fmt: skip
    if {3, 4, 7} <= set(ranges):
        longest = Statement("task 7 varies by up to 25 min", "25 min", _RAW)
        short = Statement("tasks 3 and 4 vary by less than 5 min", "< 5 min", _RAW)
        verdicts += [
            close(longest, ranges[7], 25.0, 2.5, f"{ranges[7]:.1f} min", unit="min"),
            short.exact_verdict(max(ranges[3], ranges[4]) < 5, "holds if both ranges are below 5 min",
                           f"{ranges[3]:.1f} and {ranges[4]:.1f} min"),
        ]  # fmt: skip
    return [restrict_verdict(tables, verdict) for verdict in verdicts]


def _minutes(tables: Tables, task: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Durations of a task in all runs [min]."""
    return column(rows_where(tables[""], task=task), "duration_s") / 60


def _judge_normals(tables: Tables) -> Sequence[Verdict]:
    from scipy.stats import shapiro

    fits = tables["fits"]
    tasks = [row["task"] for row in fits]
    chances = dict(zip(tasks, holm([float(shapiro(_minutes(tables, task)).pvalue) for task in tasks]), strict=True))
    not_normal = [str(task) for task, chance in chances.items() if chance < LEVEL]
    measured = f"tasks {', '.join(not_normal)}" if not_normal else "none"
    distances = ", ".join(f"{row['task']}: {row['distance']:.2f}" for row in fits)
    choices = ", ".join(f"{row['task']}: {row['best']}" for row in fits)
    statement = Statement("normal laws may not be the best candidate for some tasks", "some tasks", text("3.2"))
    rule = f"holds if a test of Shapiro and Wilk rejects a normal law for a task at 5 % after Holm, {len(tasks)} tasks"
    remark = f"distance of the normal CDF to the runs: {distances}; held-out runs prefer {choices}"
    return [restrict_verdict(tables, statement.exact_verdict(bool(not_normal), rule, measured, remark))]


def _judge_table2(tables: Tables) -> Sequence[Verdict]:
    verdicts = []
    for row, (mean, std) in zip(tables["fits"], SLANT_TABLE, strict=False):
        statement = Statement(f"task {row['task']}: mean and standard deviation", f"{mean:g}, {std:g} s", table("2"))
        near = abs(row["mean_s"] / mean - 1) <= _SAME and abs(row["std_s"] / std - 1) <= _SAME
        rule = f"holds if both are within {100 * _SAME:g} % of the printed ones"
        verdicts.append(
            restrict_verdict(tables, statement.exact_verdict(near, rule, f"{row['mean_s']:.0f}, {row['std_s']:.1f} s"))
        )
    return verdicts


def _draw_durations(tables: Tables, *, normals: bool = False) -> Figure:
    from holdfast.experiments.figures.canvas import PAGE, new_figure, subplots
    from holdfast.experiments.figures.style import INK, dress

    fits = tables["fits"]
    figure = new_figure(PAGE, 3.2)
    panels = subplots(figure, 2, (len(fits) + 1) // 2).ravel()
    for axes, row in zip(panels, fits, strict=False):
        minutes = column(rows_where(tables[""], task=row["task"]), "duration_s") / 60
        width = max(1.0, np.ceil(np.ptp(minutes) / 20))
        edges = np.arange(np.floor(minutes.min()) - 1, np.ceil(minutes.max()) + width + 1, width)
        color = TASK_COLORS[(row["task"] - 1) % len(TASK_COLORS)]
        axes.hist(minutes, edges, density=normals, color=color, alpha=0.6 if normals else 1.0, linewidth=0)
        if normals:
            mean, std = row["mean_s"] / 60, row["std_s"] / 60
            at = np.linspace(min(edges[0], mean - 3 * std), max(edges[-1], mean + 3 * std), 200)
            axes.plot(at, np.exp(-(((at - mean) / std) ** 2) / 2) / (std * np.sqrt(2 * np.pi)), color=INK, linewidth=1)
        dress(
            axes, x="duration (min)", y="density (1/min)" if normals else "runs", title=f"task {row['task']}", grid="y"
        )
    for axes in panels[len(fits) :]:
        axes.set_visible(False)
    return mark_figure(figure, tables)


def _draw_normals(tables: Tables) -> Figure:
    return _draw_durations(tables, normals=True)


def _measure_correlation(parameters: TaskData, seed: int) -> Tables:
    runs = task_runs(parameters.tasks, parameters.runs, seed)
    matrix = runs.correlation()
    rows = [
        {
            "task": left + 1,
            "with": right + 1,
            "r": float(matrix[left, right]),
            "printed": _CORRELATION[left][right - left] if runs.tasks == len(_CORRELATION) else None,
        }
        for left in range(runs.tasks)
        for right in range(left, runs.tasks)
    ]
    return {"": rows, **data_row(bool(parameters.tasks), len(runs))}


def _judge_correlation(tables: Tables) -> Sequence[Verdict]:
    pairs = [row for row in tables[""] if row["task"] != row["with"]]
    apart = [row for row in pairs if row["printed"] is not None and abs(row["r"] - row["printed"]) > 0.01]
    remark = "; ".join(
        f"tasks {row['task']}, {row['with']}: printed {row['printed']:.3f}, measured {row['r']:.3f}"
        for row in apart[:3]
    )
    remark += f"; and {len(apart) - 3} more" if len(apart) > 3 else ""
    first = rows_where(pairs, task=1, **{"with": 2})[0]["r"]
    others = [abs(row["r"]) for row in pairs if (row["task"], row["with"]) != (1, 2)]
    # |r| sqrt(n - 2) / sqrt(1 - r^2) is Student's t with n - 2 degrees, close to normal for the 88 runs.
    runs = tables["data"][0]["runs"]
    bound = 1.96 / np.sqrt(runs - 2 + 1.96**2) if runs > 2 else 1.0
    significant = sum(value > bound for value in others)
    agree = Statement("the correlations are as printed", f"{len(pairs)} pairs", table("1"))
    only = Statement("only tasks 1 and 2 present a very high correlation", "0.998", table("1"))
    rest = Statement("the other tasks have meaningless correlations", "meaningless", text("2.3"))
    verdicts = [
        count(agree, len(pairs) - len(apart), len(pairs), "the difference is at most 0.01", remark=remark),
        only.exact_verdict(first > _HIGH > max(others), f"holds if theirs alone is above {_HIGH:g}",
                      f"{first:.3f}; the next {max(others):.3f}"),
        rest.exact_verdict(significant <= 0.1 * len(others),
                      "holds if at most a tenth of them differs from 0 at 5 % each",
                      f"{significant} of {len(others)} differ from 0 (|r| > {bound:.2f})"),
    ]  # fmt: skip
    return [restrict_verdict(tables, verdict) for verdict in verdicts]


def _draw_correlation(tables: Tables) -> Figure:
    from holdfast.experiments.figures.canvas import COLUMN, new_figure, subplots
    from holdfast.experiments.figures.style import INK, dress

    tasks = max(row["with"] for row in tables[""])
    matrix = np.full((tasks, tasks), np.nan)
    for row in tables[""]:
        if row["r"] is not None:
            matrix[row["task"] - 1, row["with"] - 1] = row["r"]
    figure = new_figure(COLUMN, 2.9)
    axes = subplots(figure)
    axes.imshow(matrix, cmap="RdBu_r", vmin=-1, vmax=1)
    for row in tables[""]:
        if row["r"] is None:
            continue
        color = "white" if abs(row["r"]) > 0.7 else INK
        axes.text(row["with"] - 1, row["task"] - 1, f"{row['r']:.2f}", ha="center", va="center", fontsize=6.5,
                  color=color)  # fmt: skip
    axes.set_xticks(range(tasks), [str(task) for task in range(1, tasks + 1)])
    axes.set_yticks(range(tasks), [str(task) for task in range(1, tasks + 1)])
    dress(axes, x="task", y="task", grid="none")
    return mark_figure(figure, tables)


_QUICK = TaskData(runs=30)

EXPERIMENTS = (
    Experiment("profiles-fig8", "SLANT: durations of the tasks", "How much does each task vary?",
               TaskData(), _QUICK, _measure_durations, _judge_durations, _draw_durations),
    Experiment("profiles-fig10", "SLANT: durations of the tasks and normal distributions", "Are the durations of "
                                                                                           "tasks normal?",
               TaskData(), _QUICK, _measure_durations, _judge_normals, _draw_normals),
    Experiment("profiles-table1", "SLANT: correlation between the tasks", "Are the durations of tasks correlated?",
               TaskData(), _QUICK, _measure_correlation, _judge_correlation, _draw_correlation),
    Experiment("profiles-table2", "SLANT: means and deviations of the tasks", "Which normal distributions fit the "
                                                                              "tasks?",
               TaskData(), _QUICK, _measure_durations, _judge_table2, _draw_normals),
)  # fmt: skip
