"""Experiments for figure 15 and table 3 of the profiles paper: the tasks of MaCRUISE.

The runs of MaCRUISE are not public; runs drawn from table 3 replace them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from holdfast.experiments.papers.profiles.model import completion_rows, draw_ends
from holdfast.experiments.papers.profiles.shared_data import data_row, restrict_verdict
from holdfast.experiments.study.equivalence import most, reaches
from holdfast.experiments.study.experiment import Experiment, Row, Tables
from holdfast.experiments.study.measurement_table import column, rows_where
from holdfast.experiments.study.verdicts import Statement, Verdict, figure, table, text
from holdfast.workloads.chains.chain import TaskChain
from holdfast.workloads.chains.synthetic import MACRUISE_TABLE, macruise_like
from holdfast.workloads.ground.random_streams import stream

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENTS"]

_WHY = "MaCRUISE runs are not public; runs drawn from table 3 stand in"
#: Section 4.3 of [P]: the walltime "fluctuates between 2h and 5h" [min].
_SPAN = (120.0, 300.0)
#: Share of the runs that a printed range must contain.
_WITHIN = 0.9
#: Relative margin of drawn values; the standard deviation of 46 runs has a standard error of 10 %.
_DRAWN = 0.2


@dataclass(frozen=True)
class Macruise:
    """Parameters.

    Attributes
    ----------
    runs
        Number of drawn runs.
    reading
        Meaning of a "mean time" in table 3: ``"ends"`` or ``"durations"`` of the tasks.
    step_min
        Step of the time grid [min].
    """

    runs: int = 46
    reading: str = "ends"
    step_min: float = 1.0


def _measure_ends(parameters: Macruise, seed: int) -> Tables:
    runs = macruise_like(parameters.runs, stream(seed, "profiles", "macruise"), parameters.reading)
    rows = completion_rows(runs, {"normal": TaskChain.from_runs(runs)}, parameters.step_min)
    readings = []
    for reading in ("ends", "durations"):
        minutes = macruise_like(parameters.runs, stream(seed, "profiles", "macruise"), reading).walltimes / 60
        readings.append(
            {"reading": reading, "least_min": float(minutes.min()), "mean_min": float(minutes.mean()),
             "most_min": float(minutes.max()), "within": float(((minutes >= _SPAN[0]) & (minutes <= _SPAN[1])).mean())}
        )  # fmt: skip
    return {"": rows, "readings": readings, **data_row(False, len(runs), _WHY)}


#: Meanings of the mean times in table 3: the stated one, and the one that the range of walltimes suggests.
_READINGS = {"durations": "durations of the tasks, as table 3 says", "ends": "ends of the tasks"}


def _span(row: Row, words: str) -> Verdict:
    statement = Statement(
        f"the walltime fluctuates between 2 h and 5 h, if mean times are {words}", "2 h to 5 h", text("4.3")
    )
    measured = f"{row['least_min'] / 60:.1f} to {row['most_min'] / 60:.1f} h, {100 * row['within']:.0f} % within"
    return reaches(statement, row["within"], _WITHIN, "the part of the runs within", measured)


def _judge_ends(tables: Tables) -> Sequence[Verdict]:
    readings = {row["reading"]: row for row in tables["readings"]}
    errors = [
        float(np.abs(column(of, "normal") - column(of, "runs")).max())
        for task in dict.fromkeys(row["task"] for row in tables[""])
        for of in [rows_where(tables[""], task=task)]
    ]
    close_to = Statement("normal laws follow the ends of the tasks", "close", figure("15", "its caption"))
    quantity = "the largest distance of the two CDFs"
    measured = ", ".join(f"{error:.2f}" for error in errors)
    verdicts = [_span(readings[name], words) for name, words in _READINGS.items()]
    verdicts.append(most(close_to, max(errors), 0.15, quantity, measured))
    return [restrict_verdict(tables, verdict) for verdict in verdicts]


def _draw_ends(tables: Tables) -> Figure:
    return draw_ends(tables, ("normal",))


def _measure_table(parameters: Macruise, seed: int) -> Tables:
    runs = macruise_like(parameters.runs, stream(seed, "profiles", "macruise"), parameters.reading)
    times = runs.ends if parameters.reading == "ends" else runs.durations
    rows = [
        {
            "task": task + 1,
            "mean_min": float(times[:, task].mean()) / 60,
            "std_min": float(times[:, task].std(ddof=1)) / 60,
            "peak_gb": float(runs.peaks[:, task].max()),
            "printed_mean_min": mean,
            "printed_std_min": std,
            "printed_peak_gb": peak,
        }
        for task, (mean, std, peak) in enumerate(MACRUISE_TABLE)
    ]
    return {"": rows, **data_row(False, len(runs), _WHY)}


def _judge_table(tables: Tables) -> Sequence[Verdict]:
    """Judge whether the drawn runs have the printed statistics."""
    rule = f"holds if mean and standard deviation are within {100 * _DRAWN:g} % of the printed ones, and the peak, too"
    verdicts = []
    for row in tables[""]:
        near = all(abs(row[name] / row[f"printed_{name}"] - 1) <= _DRAWN for name in ("mean_min", "std_min", "peak_gb"))
        statement = Statement(
            f"task {row['task']}: mean time, standard deviation, peak memory",
            f"{row['printed_mean_min']:g}, {row['printed_std_min']:g} min, {row['printed_peak_gb']:g} GB", table("3"),
        )  # fmt: skip
        measured = f"{row['mean_min']:.1f}, {row['std_min']:.1f} min, {row['peak_gb']:.2f} GB"
        verdicts.append(restrict_verdict(tables, statement.exact_verdict(near, rule, measured)))
    return verdicts


def _draw_table(tables: Tables) -> Figure:
    """Draw printed and drawn values side by side: mean times with deviations, and peak memory."""
    from holdfast.experiments.figures.canvas import PAGE, new_figure, subplots
    from holdfast.experiments.figures.style import STATE_COLORS, dress, legend_above

    rows = tables[""]
    tasks = column(rows, "task")
    figure = new_figure(PAGE, 2.4)
    times, memory = subplots(figure, 1, 2)
    for shift, prefix, label, color in (
        (-0.2, "printed_", "printed", STATE_COLORS["idle"]),
        (0.2, "", "drawn", STATE_COLORS["compute"]),
    ):
        mean, std, peak = (column(rows, f"{prefix}{name}") for name in ("mean_min", "std_min", "peak_gb"))
        times.bar(tasks + shift, mean, width=0.4, yerr=std, color=color, label=label, error_kw={"linewidth": 0.8})
        memory.bar(tasks + shift, peak, width=0.4, color=color)
    dress(times, x="task", y="mean time, deviation (min)", grid="y")
    dress(memory, x="task", y="peak memory (GB)", grid="y")
    for axes in (times, memory):
        axes.set_xticks(tasks)
    legend_above(figure, *times.get_legend_handles_labels())
    return figure


_CHOICES = (
    "The runs are not public; generated runs are drawn from Table 3.",
    "`reading`: whether a mean time of Table 3 is the end or the duration of a task. Both are compared with the "
    "printed range of the walltimes.",
)

EXPERIMENTS = (
    Experiment("profiles-fig15", "MaCRUISE: probability that a task is finished", "Does a chain of tasks describe "
                                                                                  "the application?",
               Macruise(), Macruise(step_min=5.0), _measure_ends, _judge_ends, _draw_ends, choices=_CHOICES),
    Experiment("profiles-table3", "MaCRUISE: times and memory of the tasks", "From which table are the generated "
                                                                             "runs drawn?",
               Macruise(), Macruise(), _measure_table, _judge_table, _draw_table, choices=_CHOICES),
)  # fmt: skip
