"""Figures 8 and 10, tables 1 and 2 of the profiles paper: how long the tasks of SLANT take, and how they depend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.experiment import Experiment, Tables
from experiments.papers.profiles_data import (
    TASK_COLORS,
    Measured,
    column,
    data_row,
    judged,
    marked,
    rows_where,
    task_runs,
)
from experiments.verdicts import Verdict
from workloads.chains.fits import FITS, choose_fit, fit_law, held_out_score
from workloads.chains.standin import SLANT_TABLE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENTS"]

#: Table 1 of [P], from the diagonal to the right.
_CORRELATION = (
    (1.000, 0.998, -0.308, -0.261, -0.114, -0.039, 0.139),
    (1.000, -0.293, -0.277, 0.142, -0.058, 0.159),
    (1.000, 0.076, 0.547, -0.283, 0.223),
    (1.000, -0.361, 0.296, -0.308),
    (1.000, -0.568, 0.574),
    (1.000, -0.475),
    (1.000,),
)


def _measure_durations(parameters: Measured, seed: int) -> Tables:
    runs = task_runs(parameters.tasks, parameters.runs, seed)
    rows = [
        {"run": name, "task": task + 1, "duration_s": float(duration)}
        for name, durations in zip(runs.names, runs.durations, strict=True)
        for task, duration in enumerate(durations)
    ]
    fits = []
    for task, durations in enumerate(runs.durations.T):
        law = fit_law(durations)
        best = choose_fit(durations)
        ends = np.sort(durations)
        steps = np.arange(1, ends.size + 1) / ends.size
        chance = law.cdf(ends)
        fits.append(
            {
                "task": task + 1,
                "mean_s": float(durations.mean()),
                "std_s": float(durations.std(ddof=1)),
                "range_min": float(np.ptp(durations)) / 60,
                "peaks": _peaks(durations),
                "distance": float(np.maximum(steps - chance, chance - steps + 1 / ends.size).max()),
                "best": best,
                **{f"score_{fit}": held_out_score(durations, fit) for fit in FITS},
            }
        )
    return {"": rows, "fits": fits, **data_row(bool(parameters.tasks), len(runs))}


def _peaks(durations: np.ndarray[Any, np.dtype[np.float64]]) -> int:
    """Peaks of the smoothed density that stand at least a tenth of the highest above the valley beside them."""
    law = fit_law(durations, "kernel")
    at = np.linspace(float(law.ppf(1e-4)), float(law.isf(1e-4)), 400)
    density = np.diff(law.cdf(at))
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


def _judge_durations(tables: Tables) -> Sequence[Verdict]:
    fits = tables["fits"]
    ranges = {row["task"]: row["range_min"] for row in fits}
    several = [row["task"] for row in fits if row["peaks"] > 1]
    told = ", ".join(f"{row['task']}: {row['range_min']:.1f}" for row in fits)
    verdicts = [
        judged(tables, "all tasks vary", "all tasks show variation", f"range [min] {told}",
               all(value > 0 for value in ranges.values())),
        judged(tables, "tasks 5 and 7 have several peaks, the others one", "5 and 7",
               " and ".join(map(str, several)) or "none", several == [5, 7],
               "peaks of a kernel density that stand out by a tenth of the highest"),
    ]  # fmt: skip
    if {3, 4, 7} <= set(ranges):
        verdicts += [
            judged(tables, "task 7 varies by up to 25 min (within 10 %)", "25 min", f"{ranges[7]:.1f} min",
                   abs(ranges[7] / 25 - 1) <= 0.1),
            judged(tables, "tasks 3 and 4 vary by less than 5 min", "< 5 min",
                   f"{ranges[3]:.1f} and {ranges[4]:.1f} min", max(ranges[3], ranges[4]) < 5),
        ]  # fmt: skip
    return verdicts


def _judge_normals(tables: Tables) -> Sequence[Verdict]:
    fits = tables["fits"]
    poor = [str(row["task"]) for row in fits if row["best"] != "normal"]
    distances = ", ".join(f"{row['task']}: {row['distance']:.2f}" for row in fits)
    choices = ", ".join(f"{row['task']}: {row['best']}" for row in fits)
    return [
        judged(tables, "normal laws may not be the best candidate for some tasks", "e.g. tasks with several peaks",
               f"held-out runs prefer {choices}", bool(poor), f"distance of the normal CDF to the runs: {distances}")
    ]  # fmt: skip


def _judge_table2(tables: Tables) -> Sequence[Verdict]:
    verdicts = []
    for row, (mean, std) in zip(tables["fits"], SLANT_TABLE, strict=False):
        near = abs(row["mean_s"] / mean - 1) <= 0.03 and abs(row["std_s"] / std - 1) <= 0.03
        verdicts.append(
            judged(tables, f"task {row['task']}: mean and standard deviation within 3 %", f"{mean:g}, {std:g} s",
                   f"{row['mean_s']:.0f}, {row['std_s']:.1f} s", near)
        )  # fmt: skip
    return verdicts


def _draw_durations(tables: Tables, *, normals: bool = False) -> Figure:
    from experiments.figures.style import INK, PAGE, dress, new_figure

    fits = tables["fits"]
    figure = new_figure(PAGE, 3.2)
    panels = figure.subplots(2, (len(fits) + 1) // 2).ravel()
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
        dress(axes, x="[min]", y="density [1/min]" if normals else "runs", title=f"task {row['task']}", grid="y")
    for axes in panels[len(fits) :]:
        axes.set_visible(False)
    return marked(figure, tables)


def _draw_normals(tables: Tables) -> Figure:
    return _draw_durations(tables, normals=True)


def _measure_correlation(parameters: Measured, seed: int) -> Tables:
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
    told = "; ".join(
        f"tasks {row['task']}, {row['with']}: printed {row['printed']:.3f}, measured {row['r']:.3f}"
        for row in apart[:3]
    )
    told += f"; and {len(apart) - 3} more" if len(apart) > 3 else ""
    first = rows_where(pairs, task=1, **{"with": 2})[0]["r"]
    others = [abs(row["r"]) for row in pairs if (row["task"], row["with"]) != (1, 2)]
    # |r| sqrt(n - 2) / sqrt(1 - r^2) is Student's t with n - 2 degrees, close to normal for the 88 runs.
    runs = tables["data"][0]["runs"]
    bound = 1.96 / np.sqrt(runs - 2 + 1.96**2) if runs > 2 else 1.0
    significant = sum(value > bound for value in others)
    return [
        judged(tables, "the correlations are as printed (within 0.01)", f"{len(pairs)} pairs",
               f"{len(pairs) - len(apart)} pairs agree", not apart, told),
        judged(tables, "only tasks 1 and 2 are highly correlated (above 0.9)", "0.998",
               f"{first:.3f}; the next {max(others):.3f}", first > 0.9 > max(others)),
        judged(tables, "the other tasks have meaningless correlations", "meaningless",
               f"{significant} of {len(others)} differ from 0 at the level of 5 % (|r| > {bound:.2f})",
               significant <= 0.1 * len(others)),
    ]  # fmt: skip


def _draw_correlation(tables: Tables) -> Figure:
    from experiments.figures.style import COLUMN, INK, dress, new_figure

    tasks = max(row["with"] for row in tables[""])
    matrix = np.full((tasks, tasks), np.nan)
    for row in tables[""]:
        if row["r"] is not None:
            matrix[row["task"] - 1, row["with"] - 1] = row["r"]
    figure = new_figure(COLUMN, 2.9)
    axes = figure.subplots()
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
    return marked(figure, tables)


_QUICK = Measured(runs=30)

EXPERIMENTS = (
    Experiment("profiles-fig8", "SLANT: durations of the tasks", "How much does each task vary?",
               Measured(), _QUICK, _measure_durations, _judge_durations, _draw_durations),
    Experiment("profiles-fig10", "SLANT: durations of the tasks and normal laws", "Are the tasks normal?",
               Measured(), _QUICK, _measure_durations, _judge_normals, _draw_normals),
    Experiment("profiles-table1", "SLANT: correlation between the tasks", "Do the tasks of an input vary together?",
               Measured(), _QUICK, _measure_correlation, _judge_correlation, _draw_correlation),
    Experiment("profiles-table2", "SLANT: means and deviations of the tasks", "Which normal laws fit the tasks?",
               Measured(), _QUICK, _measure_durations, _judge_table2, _draw_normals),
)  # fmt: skip
