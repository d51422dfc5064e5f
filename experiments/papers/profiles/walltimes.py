"""Experiments for figures 1 to 5 of the profiles paper: walltimes by dataset, by repetition and by input size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from holdfast.experiments.papers.profiles.shared_data import (
    DATASET_COLORS,
    data_row,
    makespans,
    mark_figure,
    restrict_verdict,
)
from holdfast.experiments.study.equivalence import SHARE, close
from holdfast.experiments.study.experiment import Experiment, Tables
from holdfast.experiments.study.measurement_table import column, rows_where
from holdfast.experiments.study.parameters import data_file
from holdfast.experiments.study.verdicts import Source, Statement, Verdict, text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENTS"]

#: Centre [min] and relative range of the walltimes in section 2.2 of [P].
_PRINTED = {"OASIS": (70.0, 0.15), "DRD": (125.0, 0.30)}
#: Margin of half the range, relative to the mean.
_SPREAD = 0.05
#: Margin of a correlation of the same runs, for rounding.
_SAME_R = 0.01
#: Pearson correlation of size and walltime in section 2.2 of [P].
_CORRELATION = {"OASIS": 0.30, "DRD": -0.15}


@dataclass(frozen=True)
class Walltimes:
    """Parameters.

    Attributes
    ----------
    makespans
        CSV file of measured walltimes (:func:`holdfast.workloads.chains.runs.read_slant_makespans`); empty: drawn
        walltimes.
    repetitions
        Number of runs of each drawn input.
    inputs
        Number of inputs of each dataset with repetitions.
    """

    makespans: str = data_file("slant/slant_makespan.csv")
    repetitions: int = 5
    inputs: int = 3


@dataclass(frozen=True)
class Nothing:
    """No parameters."""


def _measure_variation(parameters: Walltimes, seed: int) -> Tables:
    runs = makespans(parameters.makespans, seed)
    rows = [
        {"run": name, "dataset": dataset, "walltime_min": float(walltime) / 60}
        for name, dataset, walltime in zip(runs.names, runs.datasets, runs.walltimes, strict=True)
    ]
    return {"": rows, **data_row(bool(parameters.makespans), len(rows))}


def _judge_variation(tables: Tables) -> Sequence[Verdict]:
    verdicts = []
    for dataset, (middle, spread) in _PRINTED.items():
        minutes = column(rows_where(tables[""], dataset=dataset), "walltime_min")
        if not minutes.size:
            continue
        half = float(np.ptp(minutes)) / 2 / float(minutes.mean())
        statement = Statement(f"walltime of {dataset} inputs", f"{middle:g} min +- {100 * spread:g} %", text("2.2"))
        verdict = statement.exact_verdict(
            bool(abs(minutes.mean() / middle - 1) <= SHARE and abs(half - spread) <= _SPREAD),
            f"holds if the mean is within {100 * SHARE:g} %, and half the range within {100 * _SPREAD:g} points",
            f"mean {minutes.mean():.1f} min, {minutes.min():.1f} to {minutes.max():.1f} (+- {100 * half:.0f} %), "
            f"standard deviation {100 * minutes.std() / minutes.mean():.1f} %, {minutes.size} runs",
        )
        verdicts.append(restrict_verdict(tables, verdict))
    return verdicts


def _draw_variation(tables: Tables) -> Figure:
    from holdfast.experiments.figures.canvas import PAGE, new_figure, subplots
    from holdfast.experiments.figures.style import dress, legend_above

    figure = new_figure(PAGE, 2.6)
    axes = subplots(figure)
    place, handles = 0, []
    for dataset, (middle, spread) in _PRINTED.items():
        minutes = column(rows_where(tables[""], dataset=dataset), "walltime_min")
        at = np.arange(place, place + minutes.size)
        color = DATASET_COLORS[dataset]
        handles.append(axes.plot(at, minutes, ".", color=color, markersize=3)[0])
        axes.fill_between(
            [place - 0.5, place + minutes.size - 0.5],
            middle * (1 - spread),
            middle * (1 + spread),
            color=color,
            alpha=0.12,
            linewidth=0,
        )
        place += minutes.size
    axes.set_ylim(bottom=0)
    dress(axes, x="run, by dataset", y="walltime (min)", grid="y")
    legend_above(figure, handles, [f"{name} (band: as printed)" for name in _PRINTED])
    return mark_figure(figure, tables)


def _measure_repetitions(parameters: Walltimes, seed: int) -> Tables:
    runs = makespans(parameters.makespans, seed)
    measured = len(set(runs.inputs)) < len(runs.inputs)
    if not measured:
        # The file has no input with several runs.
        runs = makespans("", seed, parameters.repetitions)
    rows = []
    for dataset in dict.fromkeys(runs.datasets):
        names = [name for name, of in zip(runs.inputs, runs.datasets, strict=True) if of == dataset]
        repeated = [name for name in dict.fromkeys(names) if names.count(name) > 1][: parameters.inputs]
        rows += [
            {"dataset": dataset, "input": name, "walltime_min": float(walltime) / 60}
            for name, walltime in zip(runs.inputs, runs.walltimes, strict=True)
            if name in repeated
        ]
    why = "the measured walltimes have no repeated inputs, so that drawn ones with 1 % of noise stand in"
    return {"": rows, **data_row(measured and bool(parameters.makespans), len(rows), why)}


def _spreads(tables: Tables) -> tuple[float, float]:
    """Largest relative standard deviation within an input, and smallest one between the inputs of a dataset."""
    within, across = [], []
    for dataset in dict.fromkeys(row["dataset"] for row in tables[""]):
        means = []
        for name in dict.fromkeys(row["input"] for row in rows_where(tables[""], dataset=dataset)):
            minutes = column(rows_where(tables[""], dataset=dataset, input=name), "walltime_min")
            within.append(minutes.std(ddof=1) / minutes.mean())
            means.append(minutes.mean())
        across.append(np.std(means) / np.mean(means))
    return float(max(within)), float(max(across))


def _judge_repetitions(tables: Tables) -> Sequence[Verdict]:
    within, across = _spreads(tables)
    statement = Statement("an input takes nearly the same time again", "slight variations", text("2.2"))
    rule = "holds if the largest deviation of one input is less than a third of that between inputs"
    measured = f"at most {100 * within:.1f} % for one input, {100 * across:.1f} % between inputs"
    return [restrict_verdict(tables, statement.exact_verdict(within < across / 3, rule, measured))]


def _draw_repetitions(tables: Tables) -> Figure:
    from holdfast.experiments.figures.canvas import COLUMN, new_figure, subplots
    from holdfast.experiments.figures.style import dress, legend_above

    figure = new_figure(COLUMN, 2.4)
    axes = subplots(figure)
    handles = {}
    inputs = list(dict.fromkeys((row["dataset"], row["input"]) for row in tables[""]))
    for place, (dataset, name) in enumerate(inputs, 1):
        minutes = column(rows_where(tables[""], dataset=dataset, input=name), "walltime_min")
        shift = np.linspace(-0.15, 0.15, minutes.size)
        handles[dataset] = axes.plot(place + shift, minutes, "o", color=DATASET_COLORS.get(dataset), markersize=3)[0]
    axes.set_ylim(bottom=0)
    axes.set_xticks(range(1, len(inputs) + 1))
    dress(axes, x="input", y="walltime (min)", grid="y")
    legend_above(figure, list(handles.values()), list(handles))
    return mark_figure(figure, tables)


def _measure_sizes(parameters: Walltimes, seed: int) -> Tables:
    runs = makespans(parameters.makespans, seed)
    measured = bool(np.isfinite(runs.sizes).any())
    if not measured:
        runs = makespans("", seed)
    rows = [
        {"dataset": dataset, "size_mb": float(size), "walltime_min": float(walltime) / 60}
        for dataset, size, walltime in zip(runs.datasets, runs.sizes, runs.walltimes, strict=True)
        if np.isfinite(size)
    ]
    why = "the measured walltimes have no input sizes, so that drawn ones stand in"
    return {"": rows, **data_row(measured and bool(parameters.makespans), len(rows), why)}


def _judge_sizes(tables: Tables) -> Sequence[Verdict]:
    verdicts = []
    for dataset, printed in _CORRELATION.items():
        rows = rows_where(tables[""], dataset=dataset)
        if len(rows) < 3:
            continue
        found = float(np.corrcoef(column(rows, "size_mb"), column(rows, "walltime_min"))[0, 1])
        statement = Statement(
            f"correlation of size and walltime of {dataset} inputs", f"r = {printed:.2f}", text("2.2")
        )
        verdicts.append(restrict_verdict(tables, close(statement, found, printed, _SAME_R, f"r = {found:.2f}")))
    return verdicts


def _draw_sizes(tables: Tables) -> Figure:
    from holdfast.experiments.figures.canvas import COLUMN, new_figure, subplots
    from holdfast.experiments.figures.style import dress, legend_above

    figure = new_figure(COLUMN, 2.4)
    axes = subplots(figure)
    handles, names = [], []
    for dataset in dict.fromkeys(row["dataset"] for row in tables[""]):
        rows = rows_where(tables[""], dataset=dataset)
        color = DATASET_COLORS.get(dataset)
        points = axes.plot(column(rows, "size_mb"), column(rows, "walltime_min"), ".", color=color, markersize=3)
        handles.append(points[0])
        names.append(dataset)
    axes.set_ylim(bottom=0)
    axes.set_xlim(left=0)
    dress(axes, x="size of the input (MB)", y="walltime (min)")
    legend_above(figure, handles, names)
    return mark_figure(figure, tables)


def _unavailable_figure(figure: str, what: str) -> Experiment:
    """Experiment for a figure without public data."""

    def measure(parameters: Nothing, seed: int) -> Tables:
        return {"": [{"figure": figure, "needs": what, "public": 0}]}

    def judge(tables: Tables) -> Sequence[Verdict]:
        needs = tables[""][0]["needs"]
        statement = Statement(f"{figure} is reproducible", "-", Source("figure", figure.removeprefix("fig")))
        return [statement.open("not reproducible: the data are not public", f"it shows {needs}")]

    question = "Which data would a reproduction need?"
    title = what[0].upper() + what[1:]
    return Experiment(f"profiles-{figure}", title, question, Nothing(), Nothing(), measure, judge)


EXPERIMENTS = (
    _unavailable_figure(
        "fig1", "memory requested and used by nine applications of Vanderbilt University, six months of 2018"
    ),
    Experiment(
        "profiles-fig2",
        "SLANT: walltimes of the inputs of two datasets",
        "How much does the walltime vary from input to input?",
        Walltimes(),
        Walltimes(),
        _measure_variation,
        _judge_variation,
        _draw_variation,
        single_runs=True,
    ),
    Experiment(
        "profiles-fig3",
        "SLANT: walltimes of repeated runs of the same inputs",
        "Does the walltime vary with the input or with the machine?",
        Walltimes(),
        Walltimes(),
        _measure_repetitions,
        _judge_repetitions,
        _draw_repetitions,
        single_runs=True,
    ),
    Experiment(
        "profiles-fig4",
        "SLANT: walltime against size of the input",
        "Does the input size determine the walltime?",
        Walltimes(),
        Walltimes(),
        _measure_sizes,
        _judge_sizes,
        _draw_sizes,
        single_runs=True,
    ),
    _unavailable_figure("fig5", "brain images before and after segmentation, of both datasets"),
)
