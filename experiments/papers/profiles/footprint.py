"""Experiment for figure 17 of the profiles paper: memory and Mem-All-Ckpt V2 reservations of a run on two machines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from holdfast.experiments.papers.profiles.machines import DRAWN, HERE, THERE, V2, Machines, TwoMachines, move_plan
from holdfast.experiments.papers.profiles.plans import plan_from
from holdfast.experiments.papers.profiles.shared_data import TASK_COLORS, data_row, mark_figure, restrict_verdict
from holdfast.experiments.statistics import interval
from holdfast.experiments.study.experiment import Experiment, Row, Tables
from holdfast.experiments.study.measurement_table import rows_where
from holdfast.experiments.study.rules import Near
from holdfast.experiments.study.verdicts import Statement, Verdict, text
from holdfast.policies.planning.plan import ReservationPlan
from holdfast.workloads.chains.runs import TaskRuns
from holdfast.workloads.ground.errors import ParameterError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENTS"]

_LINE = "#B00020"


@dataclass(frozen=True)
class Footprint(TwoMachines):
    """Parameters; only the first value of ``samples`` and ``scales`` is used.

    Attributes
    ----------
    share
        Quantile level of the walltime of the displayed run.
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
    shown = {HERE: here, THERE: machines.slow_down(here, "shown")}
    past, model = machines.past(parameters.samples[0], 0)
    plan = plan_from(V2, past, model, parameters.n)
    scaling = machines.scaling(parameters.scales[0], "shown")
    plans = {HERE: plan, THERE: move_plan(plan, scaling)}
    every = {HERE: machines.runs, THERE: machines.slow_down(machines.runs, "every")}
    tasks: list[Row] = []
    reservations: list[Row] = []
    parts: list[Row] = []
    for machine, runs in shown.items():
        tasks += _footprint(machine, runs)
        reservations += _shares(machine, plans[machine], float(runs.walltimes[0]))
        parts += [
            {"run": place, **{name: row[name] for name in ("machine", "reservation", "share", "memory_gb")}}
            for place, walltime in enumerate(every[machine].walltimes.tolist())
            for row in _shares(machine, plans[machine], walltime)
        ]
    slow = every[THERE]
    first_end = float(plans[THERE].milestones[0]) / 60
    begins = (slow.ends[:, machines.heavy] - slow.durations[:, machines.heavy]) / 60
    too_late = int(np.count_nonzero(begins < first_end))
    ends = shown[THERE].ends[0] - shown[THERE].durations[0]
    settings = [{"heavy_task": machines.heavy + 1, "heavy_start_min": float(ends[machines.heavy]) / 60,
                 "first_end_min": first_end, "earlier": too_late, "runs": len(slow),
                 "scale": parameters.scales[0], "factor": scaling.factor, "first": scaling.first}]  # fmt: skip
    measured = bool(parameters.tasks)
    tables: Tables = {"": tasks, "reservations": reservations, "shares": parts, "settings": settings}
    return {**tables, **data_row(measured, len(machines.runs))}


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
    """Rows of the reservations that a run of a given walltime needs, with the share of the walltime in each."""
    rows: list[Row] = []
    begin = 0.0
    for place, row in enumerate(plan.extend(walltime).rows(), 1):
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


#: Shares printed for one unnamed run; here the mean over all runs is judged.
_FIRST = {HERE: 0.18, THERE: 0.13}
_SECOND = 0.65
#: Margins of the shares of the walltime, "18 %" and "around 65 %".
_NEAR, _AROUND = 0.03, 0.05
_PLACE = text("4.4, of figure 17")
_WHICH = "printed of one run, measured over all"


def _judge(tables: Tables) -> Sequence[Verdict]:
    parts = {
        (machine, place): interval(_parts(tables, machine, place), bounds=(0.0, 1.0))
        for machine in (HERE, THERE)
        for place in (1, 2)
    }
    verdicts = []
    for machine, printed in _FIRST.items():
        statement = Statement(
            f"{machine}: the first reservation's part of the walltime", f"{100 * printed:.0f} %", _PLACE
        )
        rule = Near(printed, _NEAR, "the mean part over all runs", "%", 100)
        remark = f"{_WHICH}; {DRAWN}" if machine == THERE else _WHICH
        found = parts[machine, 1]
        verdicts.append(statement.judge(rule, found, f"{found.text('.1f', 100)} %", remark))
    seconds = {machine: parts[machine, 2] for machine in (HERE, THERE)}
    measured = ", ".join(f"{machine} {found.text('.1f', 100)} %" for machine, found in seconds.items())
    statement = Statement("the second reservation's part of the walltime", "around 65 % on both", _PLACE)
    rule = Near(_SECOND, _AROUND, "the mean part over all runs", "%", 100)
    verdicts += [
        statement.each(rule, seconds, measured, f"{_WHICH}; {DRAWN}"),
        _requests(tables),
        _first_reservation(tables),
    ]
    return [restrict_verdict(tables, verdict) for verdict in verdicts]


def _parts(tables: Tables, machine: str, place: int) -> list[float]:
    """Share of the walltime of each run in a reservation; 0 if the run does not need it."""
    rows = rows_where(tables["shares"], machine=machine)
    found = dict.fromkeys((row["run"] for row in rows), 0.0)
    found |= {row["run"]: float(row["share"]) for row in rows if row["reservation"] == place}
    return list(found.values())


def _requests(tables: Tables) -> Verdict:
    """Judge the memory requests, which should be 13 or 14 GB, then 50, then slightly over 10."""
    asked = {
        machine: [row["memory_gb"] for row in rows_where(tables["reservations"], machine=machine)]
        for machine in (HERE, THERE)
    }
    requests = "; ".join(f"{machine} {', '.join(f'{value:g}' for value in own)} GB" for machine, own in asked.items())
    holds = all(
        len(values) > 2
        and abs(values[0] - 13.5) <= 1.5
        and abs(values[1] - 50) <= 2
        and all(10 <= value <= 12 for value in values[2:])
        for values in asked.values()
    )
    statement = Statement(
        "memory of the reservations", "13; 50; a little over 10 GB (KNL 14; 50; a little over 10 GB)", _PLACE
    )
    rule = "holds if the first is within 13.5 +- 1.5, the second within 50 +- 2, and all others within 10 to 12 GB"
    remark = "the scaled plan keeps the requests of the one it is made of"
    return statement.exact_verdict(holds, rule, requests, remark)


def _first_reservation(tables: Tables) -> Verdict:
    settings = tables["settings"][0]
    statement = Statement(
        "KNL: the scaled first reservation ends before the segmentation begins", "guaranteed", text("4.4")
    )
    ends = f"it ends at {settings['first_end_min']:.1f} min, later in {settings['earlier']} of {settings['runs']} runs"
    rule = f"holds if task {settings['heavy_task']} begins after it in all runs"
    return statement.exact_verdict(settings["earlier"] == 0, rule, ends, DRAWN)


def _draw(tables: Tables) -> Figure:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    from holdfast.experiments.figures.canvas import PAGE, new_figure, subplots
    from holdfast.experiments.figures.style import INK, dress, legend_above, panel_letters

    figure = new_figure(PAGE, 2.6)
    panels = subplots(figure, 1, 2, sharey=True)
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
        dress(axes, x="time (min)", y="memory (GB)" if axes is panels[0] else "", title=machine, grid="y")
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
    return mark_figure(figure, tables)


def _draw_reservations(axes: Any, rows: Sequence[Row], last: float, highest: float) -> None:
    """Draw lines at the ends, and one label for consecutive reservations with the same memory."""
    for row in rows:
        axes.axvline(row["end_min"], color=_LINE, linewidth=1.0, linestyle="--")
    for memory, found in groupby(rows, key=lambda row: row["memory_gb"]):
        own = list(found)
        middle = (own[0]["begin_min"] + min(own[-1]["end_min"], last)) / 2
        numbers = f"#{own[0]['reservation']}" + (f" to #{own[-1]['reservation']}" if len(own) > 1 else "")
        box = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}
        axes.text(middle, 1.05 * highest, f"{numbers}\n{memory:g} GB", ha="center", va="bottom", fontsize=6.5, bbox=box,
                  color=_LINE)  # fmt: skip


_CHOICES = (
    "The paper does not name the run of its picture. Statements are about all runs; the picture shows the run that "
    "a share of `share` of the runs do not exceed.",
)

EXPERIMENTS = (
    Experiment("profiles-fig17", "SLANT: memory of a run on two machines, and the reservations of Mem-All-Ckpt V2",
               "Do reservations planned for one machine cover the right tasks on another?", Footprint(),
               Footprint(n=300), _measure, _judge, _draw, choices=_CHOICES, single_runs=True),
)  # fmt: skip
