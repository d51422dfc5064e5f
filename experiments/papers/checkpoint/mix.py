"""Experiment for Table 4 of the checkpoint paper: a mix of three applications under DYN-PROG-COUNT and under HPC."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np

from holdfast.experiments.papers.checkpoint.batch import (
    EXECUTION,
    OMNISCIENT,
    RESPONSE,
    SMALL_MACHINE,
    STRATEGY_NAMES,
    UTILIZATION,
    check_batch,
    draw_instance,
    judge_on,
    run_batch,
)
from holdfast.experiments.papers.checkpoint.published_values import TABLE_4
from holdfast.experiments.statistics import interval
from holdfast.experiments.study.comparison import interval_text
from holdfast.experiments.study.equivalence import POINTS, close
from holdfast.experiments.study.experiment import Experiment, Tables
from holdfast.experiments.study.rules import Above, Near
from holdfast.experiments.study.verdicts import Statement, Verdict, table, text
from holdfast.workloads.ground.columns import Better, Metric
from holdfast.workloads.ground.errors import ParameterError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENTS"]

_METRICS = (UTILIZATION, EXECUTION, RESPONSE)


@dataclass(frozen=True)
class MixParameters:
    """Parameters of Table 4.

    Attributes
    ----------
    applications
        Names of Table 3.
    jobs
        Number of jobs of each application; all are submitted at once, in random order.
    processors
        Number of processors of the machine; a job needs one.
    past
        Number of runs of each application that HPC averages.
    runs
        Number of instances, two or more.
    """

    applications: tuple[str, ...] = ("Qball", "SD", "FCA")
    jobs: tuple[int, ...] = (100, 200, 200)
    processors: int = 256
    past: int = 5
    runs: int = 10


def _measure(parameters: MixParameters, seed: int) -> Tables:
    names, jobs = parameters.applications, parameters.jobs
    check_batch(names, processors=parameters.processors, past=parameters.past, runs=parameters.runs)
    if len(jobs) != len(names) or min(jobs) < 1:
        raise ParameterError("jobs", f"{len(names)} whole numbers of at least 1, one for each application", jobs)
    rows: list[dict[str, Any]] = []
    for run in range(parameters.runs):
        instance = draw_instance(dict(zip(names, jobs, strict=True)), parameters.past, seed, run)
        rows += [
            {"repetition": run, **run_batch(instance, strategy, parameters.processors)} for strategy in STRATEGY_NAMES
        ]
    return {"": _order_rows(rows), "runs": rows}


def _order_rows(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Order the rows by improvement in utilisation, the best first, and add the printed values."""
    found = []
    for run in sorted({row["repetition"] for row in rows}):
        own, hpc, best = (
            next(row for row in rows if row["repetition"] == run and row["strategy"] == strategy)
            for strategy in ("optimal", "masi", OMNISCIENT)
        )
        line: dict[str, Any] = {"run": run}
        for metric in _METRICS:
            name = metric.name
            better, worse = (own, hpc) if metric.better is Better.MORE else (hpc, own)
            line |= {name: own[name], f"hpc_{name}": hpc[name], f"{name}_gain": better[name] / worse[name] - 1.0}
        found.append(
            {**line, "omniscient_utilization": best["utilization"], "bound": own["bound"], "full": own["full"]}
        )
    found.sort(key=lambda line: -float(line["utilization_gain"]))
    table = []
    # Cells remain empty if the number of runs differs from that of the paper.
    for rank, (line, printed) in enumerate(zip_longest(found, TABLE_4[: len(found)])):
        row = {"rank": rank + 1, **line}
        if printed is not None:
            row |= {
                "printed_utilization": printed.utilization / 100,
                "printed_hpc_utilization": printed.hpc_utilization / 100,
                "printed_utilization_gain": printed.utilization_gain / 100,
                "printed_stretch": printed.stretch,
                "printed_hpc_stretch": printed.hpc_stretch,
                "printed_stretch_gain": printed.stretch_gain / 100,
            }
        table.append(row)
    return table


#: Margins of a level of Table 4, relative to it, and of a gain. With smaller margins, even its ten runs, which vary,
#: would not be equal to their own means.
_MARGIN, _POINTS = 0.1, 0.05
_TABLE = table("4")


def _judge(tables: Tables) -> list[Verdict]:
    rows = tables[""]

    def column(name: str) -> list[float]:
        return [float(row[name]) for row in rows]

    tail = f"all processors are busy in {100 * np.mean(column('full')):.0f} % of the time to run all"
    reached, bound = (100 * np.mean(column(name)) for name in ("omniscient_utilization", "bound"))
    ceiling = f"{tail}; the omniscient reaches {reached:.0f} %, and no schedule of these jobs exceeds {bound:.0f} %"
    remarks = {UTILIZATION: tail, EXECUTION: "", RESPONSE: "beside: the paper's stretch, if waits count"}
    verdicts = []
    for metric, remark in remarks.items():
        verdicts += _gains(metric, column(f"{metric.name}_gain"), remark)
    levels = (
        (UTILIZATION, "utilization", ceiling),
        (EXECUTION, "stretch", ""),
        (RESPONSE, "stretch", remarks[RESPONSE]),
    )
    for metric, printed, remark in levels:
        for prefix, name in (("", "DYN-PROG-COUNT"), ("hpc_", "HPC")):
            level = float(np.mean([getattr(run, f"{prefix}{printed}") for run in TABLE_4]))
            statement = Statement(f"mean of {name}, {metric.title}", f"{level:.3g} {metric.unit}".strip(), _TABLE)
            value = level / metric.scale
            rule = Near(value, _MARGIN * value, "the mean over the runs", metric.unit, metric.scale)
            found = interval(column(f"{prefix}{metric.name}"))
            verdicts.append(statement.judge(rule, found, interval_text(metric, found), remark))
    return verdicts


def _gains(metric: Metric, gains: list[float], remark: str) -> list[Verdict]:
    """Judge the gains of DYN-PROG-COUNT over HPC by run."""
    found = interval(gains)
    better = sum(value > 0 for value in gains)
    improvement = f"by {found.text('+.1f', 100)} %"
    each = Statement(
        f"DYN-PROG-COUNT is better in every run, {metric.title}",
        "2-21 %" if metric is UTILIZATION else "2-19 %",
        _TABLE,
    )
    average = Statement(f"DYN-PROG-COUNT is better on average, {metric.title}", "improves", text("5.2"))
    level = Statement(f"DYN-PROG-COUNT improves by 10 % on average, {metric.title}", "10 %", text("5.2"))
    top = Statement(f"DYN-PROG-COUNT improves by up to 20 %, {metric.title}", "20 %", text("5.2"))
    measured = f"{better} of {len(gains)}, by {100 * min(gains):.0f} to {100 * max(gains):.0f} %"
    mean = "the mean improvement"
    return [
        each.exact_verdict(better == len(gains), "holds if the improvement is above 0 in all runs", measured, remark),
        average.judge(Above(quantity=mean), found, improvement, remark),
        level.judge(Near(0.1, _POINTS, mean, "%", 100), found, improvement, remark),
        close(top, max(gains), 0.2, POINTS, f"up to {100 * max(gains):.0f} %", remark, unit="%", scale=100),
    ]


def _draw(tables: Tables) -> Figure:
    from holdfast.experiments.figures.canvas import PAGE, new_figure, subplots
    from holdfast.experiments.figures.style import INK, dress, legend_above, panel_letters

    rows = tables[""]
    figure = new_figure(PAGE, 2.6)
    panels = subplots(figure, 1, len(_METRICS))
    printed = {UTILIZATION: "utilization", EXECUTION: "stretch", RESPONSE: "stretch"}
    titles = {UTILIZATION: "Utilisation", EXECUTION: "Stretch by execution", RESPONSE: "Stretch with waits"}
    looks = (("optimal", "", "o", "#0A62A0", -0.13), ("masi", "hpc_", "s", "#E08214", 0.13))
    for axes, metric in zip(panels, _METRICS, strict=True):
        for strategy, prefix, marker, color, shift in looks:
            name = STRATEGY_NAMES[strategy]
            dots = {"color": color, "marker": marker, "markersize": 4, "linestyle": "none"}
            # Runs are ordered by gain, so that lines between them would have no meaning.
            x = [row["rank"] + shift for row in rows]
            axes.plot(x, [row[f"{prefix}{metric.name}"] * metric.scale for row in rows], label=name, **dots)
            known = [row for row in rows if row.get("printed_stretch") is not None]
            x = [row["rank"] + shift for row in known]
            y = [row[f"printed_{prefix}{printed[metric]}"] * metric.scale for row in known]
            axes.plot(x, y, markerfacecolor="white", label=f"{name}, printed", **dots)
        if metric is UTILIZATION:
            y = [100 * row["omniscient_utilization"] for row in rows]
            axes.plot([row["rank"] for row in rows], y, "_", color=INK, markersize=7, label="omniscient")
        axes.set_xticks(range(1, len(rows) + 1, max(1, len(rows) // 10)))
        axes.set_ylim(*((0, 100) if metric is UTILIZATION else (1, None)))
        unit = "%" if metric is UTILIZATION else "turnaround / runtime"
        if metric is EXECUTION:
            unit = "time used / runtime"
        dress(axes, x="Run, by gain in utilisation", y=f"({unit})", title=titles[metric])
    panel_letters(list(panels))
    handles, labels = panels[0].get_legend_handles_labels()
    legend_above(figure, handles, labels)
    return figure


_PAPER = MixParameters()


def _on(processors: int, name: str, where: str = "") -> Experiment:
    parameters = replace(_PAPER, processors=processors)
    return Experiment(
        id=name,
        title=f"500 jobs of three applications, 10 runs{where}",
        question=f"What does planning gain when applications share the machine{where}?",
        parameters=parameters,
        quick=parameters,
        measure=_measure,
        judge=judge_on(where, _judge),
        draw=_draw,
        choices=(
            "A job that ends early gives its processor back at once, and its next reservation goes to the end of the "
            "queue; `checkpoint-readings` combines the other readings of these and of further sentences.",
        ),
    )


EXPERIMENTS: Sequence[Experiment] = (
    _on(256, "checkpoint-table4"),
    _on(SMALL_MACHINE, "checkpoint-64-table4", f" on {SMALL_MACHINE} processors"),
)
