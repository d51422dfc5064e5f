"""Figure 17 of the profiles paper: the memory of one run on two machines, and the reservations of Mem-All-Ckpt V2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.experiment import Experiment, Row, Tables
from experiments.papers.profiles_data import TASK_COLORS, data_row, judged, marked, rows_where
from experiments.papers.profiles_machines import DRAWN, HERE, THERE, V2, Machines, TwoMachines, moved
from experiments.papers.profiles_plans import plan_from
from experiments.verdicts import Verdict
from policies.planning.plan import ReservationPlan
from workloads.chains.runs import TaskRuns
from workloads.errors import ParameterError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENTS"]

_LINE = "#B00020"


@dataclass(frozen=True)
class Footprint(TwoMachines):
    """Parameters; of several samples and scales the first is taken.

    Attributes
    ----------
    share
        The run with the walltime that this part of the runs does not exceed is shown.
    """

    samples: tuple[int, ...] = (50,)
    scales: tuple[str, ...] = ("printed",)
    share: float = 0.9


def _measure(parameters: Footprint, seed: int) -> Tables:
    if not 0 <= parameters.share <= 1:
        raise ParameterError("share", "within [0, 1]", parameters.share)
    machines = Machines(parameters, seed)
    order = np.argsort(machines.runs.walltimes, kind="stable")
    run = int(order[round(parameters.share * (len(order) - 1))])
    here = machines.runs.take([run])
    shown = {HERE: here, THERE: machines.slowed(here, "shown")}
    past, model = machines.past(parameters.samples[0], 0)
    plan = plan_from(V2, past, model, parameters.n)
    scaling = machines.scaling(parameters.scales[0], "shown")
    plans = {HERE: plan, THERE: moved(plan, scaling)}
    tasks: list[Row] = []
    reservations: list[Row] = []
    for machine, runs in shown.items():
        tasks += _footprint(machine, runs)
        reservations += _shares(machine, plans[machine].extended(float(runs.walltimes[0])), float(runs.walltimes[0]))
    ends = shown[THERE].ends[0] - shown[THERE].durations[0]
    settings = [{"heavy_task": machines.heavy + 1, "heavy_start_min": float(ends[machines.heavy]) / 60,
                 "scale": parameters.scales[0], "factor": scaling.factor, "first": scaling.first}]  # fmt: skip
    measured = bool(parameters.tasks)
    return {"": tasks, "reservations": reservations, "settings": settings, **data_row(measured, len(machines.runs))}


def _footprint(machine: str, runs: TaskRuns) -> list[Row]:
    starts = runs.ends[0] - runs.durations[0]
    return [
        {
            "machine": machine,
            "task": task + 1,
            "start_min": float(starts[task]) / 60,
            "end_min": float(runs.ends[0, task]) / 60,
            "peak_gb": float(runs.peaks[0, task]),
            "average_gb": None if runs.averages is None else float(runs.averages[0, task]),
        }
        for task in range(runs.tasks)
    ]


def _shares(machine: str, plan: ReservationPlan, walltime: float) -> list[Row]:
    """The reservations that a run of that walltime reaches, and the part of it that each is for."""
    rows: list[Row] = []
    begin = 0.0
    for place, row in enumerate(plan.rows(), 1):
        end = float(row["milestone"])
        rows.append(
            {
                "machine": machine,
                "reservation": place,
                "begin_min": begin / 60,
                "end_min": end / 60,
                "length_min": float(row["length"]) / 60,
                "memory_gb": float(row["memory"]),
                "share": (min(end, walltime) - begin) / walltime,
            }
        )
        if end >= walltime:
            break
        begin = end
    return rows


def _judge(tables: Tables) -> Sequence[Verdict]:
    by = {machine: rows_where(tables["reservations"], machine=machine) for machine in (HERE, THERE)}
    firsts = {machine: rows[0]["share"] for machine, rows in by.items()}
    verdicts = [
        judged(tables, f"{machine}: the first reservation's part of the walltime (within 3 points)", f"{printed} %",
               f"{100 * firsts[machine]:.0f} %", abs(100 * firsts[machine] - printed) <= 3,
               DRAWN if machine == THERE else "of another run than the printed one")
        for machine, printed in ((HERE, 18), (THERE, 13))
    ]  # fmt: skip
    seconds = {machine: sum(row["share"] for row in rows[1:2]) for machine, rows in by.items()}
    told = ", ".join(f"{machine} {100 * share:.0f} %" for machine, share in seconds.items())
    verdicts.append(
        judged(tables, "the second reservation's part of the walltime (within 5 points)", "around 65 % on both", told,
               all(abs(share - 0.65) <= 0.05 for share in seconds.values()), DRAWN)
    )  # fmt: skip
    verdicts.append(_judge_requests(tables, by))
    start, first = tables["settings"][0]["heavy_start_min"], by[THERE][0]["end_min"]
    told = f"{first:.1f} min, task {tables['settings'][0]['heavy_task']} begins at {start:.1f} min"
    claim = "KNL: the scaled first reservation ends before the segmentation begins"
    verdicts.append(judged(tables, claim, "guaranteed", told, first <= start, DRAWN))
    return verdicts


def _judge_requests(tables: Tables, by: dict[str, list[Row]]) -> Verdict:
    """13 or 14 GB, then 50, then a little over 10: low, high, low."""
    asked = {machine: [row["memory_gb"] for row in rows] for machine, rows in by.items()}
    told = "; ".join(f"{machine} {', '.join(f'{value:g}' for value in values)} GB" for machine, values in asked.items())
    holds = all(
        len(values) > 2
        and abs(values[0] - 13.5) <= 1.5
        and abs(values[1] - 50) <= 2
        and all(10 <= value <= 12 for value in values[2:])
        for values in asked.values()
    )
    claim = "memory of the reservations: 13 or 14 GB, then 50 GB, then a little over 10 GB (within 1, 2 and 2 GB)"
    printed = "13; 50; a little over 10 GB (KNL 14; 50; a little over 10 GB)"
    return judged(tables, claim, printed, told, holds, "the scaled plan keeps the requests of the one it is made of")


def _draw(tables: Tables) -> Figure:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    from experiments.figures.style import INK, PAGE, dress, legend_above, new_figure, panel_letters

    figure = new_figure(PAGE, 2.6)
    panels = figure.subplots(1, 2, sharey=True)
    highest = max(row["peak_gb"] for row in tables[""])
    for axes, machine in zip(panels, (HERE, THERE), strict=True):
        rows = rows_where(tables[""], machine=machine)
        for row in rows:
            color = TASK_COLORS[(row["task"] - 1) % len(TASK_COLORS)]
            width = row["end_min"] - row["start_min"]
            axes.bar(row["start_min"], row["peak_gb"], width, align="edge", color=color, linewidth=0)
            if row["average_gb"] is not None:
                axes.plot([row["start_min"], row["end_min"]], [row["average_gb"]] * 2, color=INK, linewidth=1.2)
        _draw_reservations(axes, rows_where(tables["reservations"], machine=machine), rows[-1]["end_min"], highest)
        axes.set_ylim(0, 1.22 * highest)
        axes.set_xlim(left=0)
        dress(axes, x="time [min]", y="memory [GB]" if axes is panels[0] else "", title=machine, grid="y")
    panel_letters(list(panels))
    count = len(rows_where(tables[""], machine=HERE))
    handles: list[Any] = [Patch(color=TASK_COLORS[task % len(TASK_COLORS)]) for task in range(count)]
    names = [f"task {task + 1}" for task in range(count)]
    handles.append(Line2D([], [], color=_LINE, linestyle="--"))
    names.append("end of a reservation")
    if any(row["average_gb"] is not None for row in tables[""]):
        handles.append(Line2D([], [], color=INK, linewidth=1.2))
        names.append("average")
    legend_above(figure, handles, names)
    return marked(figure, tables)


def _draw_reservations(axes: Any, rows: Sequence[Row], last: float, highest: float) -> None:
    """Lines at the ends; one note for neighbours that ask for the same memory."""
    for row in rows:
        axes.axvline(row["end_min"], color=_LINE, linewidth=1.0, linestyle="--")
    for memory, found in groupby(rows, key=lambda row: row["memory_gb"]):
        own = list(found)
        middle = (own[0]["begin_min"] + min(own[-1]["end_min"], last)) / 2
        numbers = f"#{own[0]['reservation']}" + (f" to #{own[-1]['reservation']}" if len(own) > 1 else "")
        box = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}
        axes.text(middle, 1.05 * highest, f"{numbers}\n{memory:g} GB", ha="center", va="bottom", fontsize=6.5, bbox=box,
                  color=_LINE)  # fmt: skip


EXPERIMENTS = (
    Experiment("profiles-fig17", "SLANT: memory of a run on two machines, and the reservations of Mem-All-Ckpt V2",
               "Do reservations that were made on one machine cover the right tasks on another one?", Footprint(),
               Footprint(n=300), _measure, _judge, _draw),
)  # fmt: skip
