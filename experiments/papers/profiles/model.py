"""Experiments for figures 9, 11 and 12 of the profiles paper: Markov chains of tasks fitted to few runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from holdfast.experiments.papers.profiles.shared_data import (
    TASK_COLORS,
    data_row,
    mark_figure,
    restrict_verdict,
    task_runs,
)
from holdfast.experiments.statistics import binomial, interval
from holdfast.experiments.study.equivalence import POINTS, SHARE, most
from holdfast.experiments.study.experiment import Experiment, Row, Tables
from holdfast.experiments.study.measurement_table import column, rows_where
from holdfast.experiments.study.parameters import data_file
from holdfast.experiments.study.rules import AtMost, Near
from holdfast.experiments.study.verdicts import HYPOTHESIS, Statement, Verdict, text
from holdfast.workloads.chains.chain import Task, TaskChain
from holdfast.workloads.chains.runs import TaskRuns
from holdfast.workloads.distributions import from_samples
from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.ground.random_streams import stream

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENTS", "chain_of_runs", "completion_rows", "draw_ends"]

#: Probabilities printed in section 2.3 of [P] at 100 min: tasks 5, 6, 7 and the end of the run.
_AT_100 = {"task 5 runs": 0.06, "task 6 runs": 0.50, "task 7 runs": 0.38, "the run has ended": 0.06}
#: Settings (fit, ends) of :meth:`holdfast.workloads.chains.chain.TaskChain.from_runs`; the first is that of [P].
_WAYS = {
    "normal": ("normal", "independent"),
    "normal, correlated": ("normal", "observed"),
    "best fit": ("auto", "independent"),
    "best fit, correlated": ("auto", "observed"),
}


@dataclass(frozen=True)
class Chains:
    """Parameters.

    Attributes
    ----------
    tasks
        CSV file of measured runs (:func:`holdfast.workloads.chains.runs.read_slant_tasks`); empty: runs drawn from
        Table 2.
    runs
        Number of drawn runs.
    samples
        Sizes of the samples of past runs, drawn with replacement.
    repetitions
        Number of samples of each size, two or more.
    tau
        Threshold of M_tau.
    step_min
        Step of the time grid [min].
    """

    tasks: str = data_file("slant/slant_drd_tasks.csv")
    runs: int = 88
    samples: tuple[int, ...] = (5, 10, 20, 50)
    repetitions: int = 10
    tau: float = 0.1
    step_min: float = 1.0


def chain_of_runs(runs: TaskRuns) -> TaskChain:
    """Make a chain with the empirical distributions of durations and ends."""
    averages = [None] * runs.tasks if runs.averages is None else list(runs.averages.mean(axis=0))
    tasks = tuple(
        Task(from_samples(np.maximum(durations, 1e-9)), float(peaks.max()), average)
        for durations, peaks, average in zip(runs.durations.T, runs.peaks.T, averages, strict=True)
    )
    return TaskChain(tasks, tuple(from_samples(np.maximum(ends, 1e-9)) for ends in runs.ends.T))


def _minutes(runs: TaskRuns, step: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.arange(0.0, 1.1 * float(runs.walltimes.max()) / 60 + step, step)


def completion_rows(runs: TaskRuns, chains: dict[str, TaskChain], step: float) -> list[Row]:
    """Rows of y_i(t) of the runs and of the chains, for each time and task."""
    minutes = _minutes(runs, step)
    raw = runs.finish_shares(60 * minutes)
    probabilities = {name: chain.finish_probabilities(60 * minutes) for name, chain in chains.items()}
    return [
        {"minute": float(minute), "task": task + 1, "runs": float(raw[task, place])}
        | {name: float(table[task, place]) for name, table in probabilities.items()}
        for place, minute in enumerate(minutes)
        for task in range(runs.tasks)
    ]


def draw_ends(tables: Tables, ways: Sequence[str]) -> Figure:
    """Draw y_i(t) over time: runs as solid lines, models dashed."""
    from matplotlib.lines import Line2D

    from holdfast.experiments.figures.canvas import PAGE, new_figure, subplots
    from holdfast.experiments.figures.style import INK, dress, legend_above

    figure = new_figure(PAGE, 2.6)
    axes = subplots(figure)
    tasks = list(dict.fromkeys(row["task"] for row in tables[""]))
    for task in tasks:
        rows = rows_where(tables[""], task=task)
        color = TASK_COLORS[(task - 1) % len(TASK_COLORS)]
        minutes = column(rows, "minute")
        axes.plot(minutes, column(rows, "runs"), color=color, linewidth=1.2, drawstyle="steps-pre")
        for way in ways:
            axes.plot(minutes, column(rows, way), color=color, linewidth=1.0, linestyle=(0, (3, 1.5)))
    axes.set_ylim(0, 1.02)
    axes.set_xlim(0, float(column(tables[""], "minute").max()))
    dress(axes, x="time (min)", y="probability to be finished")
    handles = [Line2D([], [], color=TASK_COLORS[(task - 1) % len(TASK_COLORS)]) for task in tasks]
    names = [f"task {task}" for task in tasks]
    if ways:
        handles += [Line2D([], [], color=INK), Line2D([], [], color=INK, linestyle=(0, (3, 1.5)))]
        names += ["runs", ways[0]]
    legend_above(figure, handles, names)
    return mark_figure(figure, tables)


def _measure_raw(parameters: Chains, seed: int) -> Tables:
    runs = task_runs(parameters.tasks, parameters.runs, seed)
    return {"": completion_rows(runs, {}, parameters.step_min), **data_row(bool(parameters.tasks), len(runs))}


def _judge_raw(tables: Tables) -> Sequence[Verdict]:
    rows = sorted(rows_where(tables[""], minute=100), key=lambda row: int(row["task"]))
    if len(rows) != 7:
        return []
    ended = column(rows, "runs")
    runs = int(tables["data"][0]["runs"])
    counts = np.rint(runs * np.array([*(ended[3:6] - ended[4:7]), ended[6]])).astype(int)
    verdicts = []
    for (name, printed), count in zip(_AT_100.items(), counts.tolist(), strict=True):
        found = binomial(count, runs)
        rule = Near(printed, POINTS, "the binomial probability")
        statement = Statement(f"at 100 min: {name}", f"{printed:.2f}", text("2.3"))
        verdicts.append(statement.judge(rule, found, f"{found.text('.2f')}, {count} of {runs} runs"))
    return [restrict_verdict(tables, verdict) for verdict in verdicts]


def _draw_raw(tables: Tables) -> Figure:
    return draw_ends(tables, ())


def _measure_model(parameters: Chains, seed: int) -> Tables:
    runs = task_runs(parameters.tasks, parameters.runs, seed)
    chains = {name: TaskChain.from_runs(runs, fit, ends=ends) for name, (fit, ends) in _WAYS.items()}
    rows = completion_rows(runs, chains, parameters.step_min)
    errors = [
        {"task": task, "model": name, "error": float(np.abs(column(of, name) - column(of, "runs")).max())}
        for task in range(1, runs.tasks + 1)
        for of in [rows_where(rows, task=task)]
        for name in _WAYS
    ]
    return {"": rows, "errors": errors, **data_row(bool(parameters.tasks), len(runs))}


#: Required relative improvement by the best-fit distributions, which have more parameters.
_NEARER = 0.1


def _judge_model(tables: Tables) -> Sequence[Verdict]:
    errors = {name: column(rows_where(tables["errors"], model=name), "error") for name in _WAYS}
    normal, best = errors["normal"], errors["best fit, correlated"]
    distances = ", ".join(f"{name} {values.max():.2f} (mean {values.mean():.2f})" for name, values in errors.items())
    closer = Statement("the sum of the models gets closer to the data with time", "closer with time", text("3.2.1"))
    fits = Statement(
        "laws chosen by held-out runs, correlated as observed, come closer to the runs than independent normal laws",
        f"by {100 * _NEARER:g} % or more", HYPOTHESIS,
    )  # fmt: skip
    verdicts = [
        closer.exact_verdict(
            bool(normal[-3:].mean() < normal[:3].mean()),
            "holds if the mean of the largest distances is smaller for the last three ends than for the first three",
            f"largest distance {', '.join(f'{value:.2f}' for value in normal)} for tasks 1 to {normal.size}",
        ),
        most(fits, float(best.mean() / normal.mean()), 1 - _NEARER, "the ratio of the mean largest distances",
             f"{best.mean():.3f} against {normal.mean():.3f}", f"largest distance: {distances}"),
    ]  # fmt: skip
    return [restrict_verdict(tables, verdict) for verdict in verdicts]


def _draw_model(tables: Tables) -> Figure:
    return draw_ends(tables, ("normal",))


def _measure_samples(parameters: Chains, seed: int) -> Tables:
    if parameters.repetitions < 2:
        raise ParameterError("repetitions", "at least 2", parameters.repetitions)
    runs = task_runs(parameters.tasks, parameters.runs, seed)
    minutes = _minutes(runs, parameters.step_min)
    whole = chain_of_runs(runs)
    truth = whole.memory_quantile(60 * minutes, parameters.tau)
    averages: list[Row] = [
        {"samples": 0, "repetition": 0, "mean_gb": runs.mean_memory(), "model_gb": whole.mean_memory()}
    ]
    used = None if runs.averages is None else runs.mean_memory(peaks=False)
    tables = []
    for samples in parameters.samples:
        total = np.zeros(minutes.size)
        for repetition in range(parameters.repetitions):
            past = runs.draw(samples, stream(seed, "profiles-fig12", samples, repetition))
            chain = TaskChain.from_runs(past)
            needed = chain.memory_quantile(60 * minutes, parameters.tau)
            total += needed
            averages.append(
                {
                    "samples": samples,
                    "repetition": repetition,
                    "mean_gb": chain.mean_memory(),
                    "below": float((needed < 0.9 * truth).mean()),
                    "above": float((needed > 1.1 * truth).mean()),
                }
            )
        tables.append(total / parameters.repetitions)
    rows = [
        {"minute": float(minute), "all": float(truth[place])}
        | {f"k{samples}": float(table[place]) for samples, table in zip(parameters.samples, tables, strict=True)}
        for place, minute in enumerate(minutes)
    ]
    reality = [{"peaks_gb": runs.mean_memory(), "used_gb": used}]
    return {"": rows, "average": averages, "reality": reality, **data_row(bool(parameters.tasks), len(runs))}


def _judge_samples(tables: Tables) -> Sequence[Verdict]:
    reality = tables["reality"][0]
    drawn = [row for row in tables["average"] if row["samples"]]
    sizes = sorted({row["samples"] for row in drawn})
    spread, wrong = {}, {}
    truth = rows_where(tables["average"], samples=0)[0]["model_gb"]
    for size in sizes:
        rows = rows_where(drawn, samples=size)
        spread[size] = interval(np.abs(column(rows, "mean_gb") / truth - 1), bounds=(0.0, math.inf))
        wrong[size] = interval(column(rows, "below") + column(rows, "above"), bounds=(0.0, 1.0))
    few = sizes[0]
    precise = Statement(
        f"{few} runs give the mean memory nearly as well as all", "no significant gain in precision", text("3.2.2")
    )
    likely = Statement(f"{few} runs already give a good M_tau(t)", "already good performance", text("3.2.2"))
    off, times = (
        "; ".join(f"k = {size}: {found.text('.1f', 100)} % {words}" for size, found in of.items())
        for of, words in ((spread, "off"), (wrong, "of the time"))
    )
    far = AtMost(SHARE, "the mean relative distance to the mean memory of all runs", "%", 100)
    part = AtMost(0.1, "the mean part of the time in which it is off by more than 10 %", "%", 100)
    verdicts = [precise.judge(far, spread[few], off), likely.judge(part, wrong[few], times)]
    if reality["used_gb"] is not None:
        over = Statement(
            "peaks overestimate the average memory", "may lead to an overestimation", text("3.2.2"),
            "no average exceeds its peak",
        )  # fmt: skip
        verdicts.append(
            over.exact_verdict(reality["peaks_gb"] > reality["used_gb"], "holds if the mean by peaks is the larger one",
                          f"{reality['peaks_gb']:.1f} GB by peaks, {reality['used_gb']:.1f} GB used")
        )  # fmt: skip
    return [restrict_verdict(tables, verdict) for verdict in verdicts]


def _draw_samples(tables: Tables) -> Figure:
    from holdfast.experiments.figures.canvas import PAGE, new_figure, subplots
    from holdfast.experiments.figures.style import INK, dress, legend_above, panel_letters

    figure = new_figure(PAGE, 2.7)
    left, right = subplots(figure, 1, 2, width_ratios=(1, 2))
    drawn = [row for row in tables["average"] if row["samples"]]
    sizes = sorted({row["samples"] for row in drawn})
    reality = tables["reality"][0]
    minutes = column(tables[""], "minute")
    handles = [right.plot(minutes, column(tables[""], "all"), color=INK, linewidth=1.8)[0]]
    left.axhline(reality["peaks_gb"], color=INK, linewidth=1.2)
    names = ["all runs"]
    for place, size in enumerate(sizes):
        color = TASK_COLORS[(0, 2, 3, 4, 5, 6, 1)[place % 7]]
        values = column(rows_where(drawn, samples=size), "mean_gb")
        left.plot(place + np.linspace(-0.2, 0.2, values.size), values, "o", color=color, markersize=3)
        handles.append(right.plot(minutes, column(tables[""], f"k{size}"), color=color, linewidth=1)[0])
        names.append(f"{size} runs")
    if reality["used_gb"] is not None:
        left.axhline(reality["used_gb"], color=INK, linewidth=1.2, linestyle=":")
        left.annotate("really used", (0.02, reality["used_gb"]), (0, 2), xycoords=left.get_yaxis_transform(),
                      textcoords="offset points", fontsize=6.5, color=INK)  # fmt: skip
    left.set_ylim(0, 1.1 * max(reality["peaks_gb"], float(column(drawn, "mean_gb").max())))
    left.set_xticks(range(len(sizes)), [str(size) for size in sizes])
    right.set_ylim(bottom=0)
    right.set_xlim(0, minutes.max())
    dress(left, x="past runs", y="mean memory (GB)", title="mean", grid="y")
    dress(right, x="time (min)", y="memory (GB)", title="needed with probability 1 - tau")
    panel_letters((left, right))
    legend_above(figure, handles, names)
    return mark_figure(figure, tables)


_QUICK = Chains(runs=30, samples=(5, 20), repetitions=2, step_min=5.0)

_CHOICES = ("Past runs are drawn from the runs with replacement.",)

EXPERIMENTS = (
    Experiment("profiles-fig9", "SLANT: probability that a task is finished, from the runs",
               "Which task runs at a given time?", Chains(), _QUICK, _measure_raw, _judge_raw, _draw_raw),
    Experiment("profiles-fig11", "SLANT: probability that a task is finished, from fitted distributions",
               "Does a chain of independent tasks describe the runs?", Chains(), _QUICK, _measure_model, _judge_model,
               _draw_model),
    Experiment("profiles-fig12", "SLANT: mean and likely largest memory from few runs",
               "How many past runs does a chain need?", Chains(), _QUICK, _measure_samples, _judge_samples,
               _draw_samples, choices=_CHOICES),
)  # fmt: skip
