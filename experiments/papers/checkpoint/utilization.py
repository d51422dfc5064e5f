"""Experiment for figure 8 of the checkpoint paper: 500 jobs of one application through the batch scheduler."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING, Any

from holdfast.experiments.papers.checkpoint.batch import (
    EFFICIENCY,
    EXECUTION,
    METRICS,
    RESERVED,
    RESPONSE,
    SMALL_MACHINE,
    STRATEGY_COLORS,
    STRATEGY_NAMES,
    UTILIZATION,
    check_batch,
    draw_instance,
    find_distribution,
    judge_on,
    run_batch,
)
from holdfast.experiments.papers.checkpoint.published_values import APPLICATIONS
from holdfast.experiments.study.comparison import everywhere, gain, mean_interval
from holdfast.experiments.study.experiment import Experiment, Tables
from holdfast.experiments.study.measurement_table import in_order
from holdfast.experiments.study.verdicts import Statement, Verdict, text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENTS"]


@dataclass(frozen=True)
class BatchParameters:
    """Parameters of Fig. 8.

    Attributes
    ----------
    applications
        Names of Table 3; each application has a batch of its own.
    jobs
        Number of jobs of one application, all submitted at once.
    processors
        Number of processors of the machine; a job needs one.
    past
        Number of runs that HPC averages. They are drawn once per instance, because all jobs are submitted before the
        first completion.
    repetitions
        Number of instances, two or more.
    """

    applications: tuple[str, ...] = tuple(APPLICATIONS)
    jobs: int = 500
    processors: int = 256
    past: int = 5
    repetitions: int = 20


def _measure(parameters: BatchParameters, seed: int) -> Tables:
    sizes = {name: getattr(parameters, name) for name in ("jobs", "processors", "past", "repetitions")}
    check_batch(parameters.applications, **sizes)
    rows: list[dict[str, Any]] = []
    for name in parameters.applications:
        for repetition in range(parameters.repetitions):
            instance = draw_instance({name: parameters.jobs}, parameters.past, seed, repetition)
            rows += [
                {"application": name, "repetition": repetition, **run_batch(instance, strategy, parameters.processors)}
                for strategy in STRATEGY_NAMES
            ]
    return {"": rows, "summary": _summary(rows)}


def _summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Means and intervals, with the planner's expectation."""
    summary = []
    for name in dict.fromkeys(row["application"] for row in rows):
        for strategy in STRATEGY_NAMES:
            where = {"application": name}
            row: dict[str, Any] = {
                "application": name,
                "strategy": strategy,
                "mean_walltime_s": find_distribution(name).mean(),
            }
            for column in ("expected_cost_s", "reserved_s", "reservations", "plan_checkpoints", "full"):
                row[column] = fmean(in_order(rows, column, strategy=strategy, **where))
            for metric in METRICS:
                found = mean_interval(rows, metric, strategy, **where)
                row |= {
                    metric.name: found.mean,
                    f"{metric.name}_low": found.low,
                    f"{metric.name}_high": found.high,
                }
            summary.append(row)
    return summary


def _judge(tables: Tables) -> list[Verdict]:
    rows = tables[""]
    names = list(dict.fromkeys(row["application"] for row in rows))
    full = {row["application"]: row["full"] for row in tables["summary"] if row["strategy"] == "optimal"}
    tail = "all processors are busy in " + ", ".join(f"{100 * full[name]:.0f} % ({name})" for name in names)
    remarks = {
        UTILIZATION: f"the last jobs decide: {tail} of the time to run all",
        EXECUTION: "the paper's stretch",
        RESPONSE: "beside: the paper's stretch, if waits count",
        RESERVED: "beside: time that was asked for, which the plans minimise",
        EFFICIENCY: "beside: utilisation without the tail of the last jobs",
    }
    source = text("5.2")
    verdicts = []
    for metric, remark in remarks.items():
        better = {name: gain(rows, metric, "optimal", "all-ckpt", application=name) for name in names}
        first = Statement(f"DYN-PROG-COUNT performs better than ALL-CKPT, {metric.title}", "better", source)
        over = {
            f"{STRATEGY_NAMES[strategy]}, {name}": gain(rows, metric, strategy, "masi", application=name)
            for strategy in ("optimal", "all-ckpt")
            for name in names
        }
        second = Statement(f"both outperform HPC, {metric.title}", "better", source)
        verdicts += [
            everywhere(statement, metric, gains, remark) for statement, gains in ((first, better), (second, over))
        ]
    return verdicts


def _draw(tables: Tables) -> Figure:
    from holdfast.experiments.figures.canvas import PAGE, new_figure, subplots
    from holdfast.experiments.figures.study.intervals import draw_bars, draw_dots
    from holdfast.experiments.figures.style import dress, legend_above, panel_letters
    from holdfast.experiments.statistics import Interval

    rows, summary = tables[""], tables["summary"]
    names = list(dict.fromkeys(row["application"] for row in rows))
    colors = {STRATEGY_NAMES[strategy]: color for strategy, color in STRATEGY_COLORS.items()}
    figure = new_figure(PAGE, 4.0)
    panels = subplots(figure, 2, 3).ravel()
    labels = {
        UTILIZATION: ("utilisation (%)", "Utilisation"),
        EXECUTION: ("execution time / walltime", "Stretch, execution"),
        RESPONSE: ("response time / walltime", "Stretch, with waits"),
        EFFICIENCY: ("work / processor time (%)", "Without the tail"),
        RESERVED: ("reserved time / walltime", "Stretch, reserved"),
    }
    for axes, (metric, (label, title)) in zip(panels, labels.items(), strict=False):
        series = {
            text: [mean_interval(rows, metric, strategy, application=name) for name in names]
            for strategy, text in STRATEGY_NAMES.items()
        }
        # A stretch is at least 1: its scale does not begin at 0, where bars would have to.
        draw = draw_bars if metric in (UTILIZATION, EFFICIENCY) else draw_dots
        draw(axes, names, series, colors, scale=metric.scale)
        dress(axes, y=label, title=title, grid="y")
    expected: dict[str, list[Interval | None]] = {}
    for row in summary:
        value = row["expected_cost_s"] / row["mean_walltime_s"]
        expected.setdefault(STRATEGY_NAMES[row["strategy"]], []).append(Interval(value, value, value))
    draw_dots(panels[5], names, expected, colors)
    dress(panels[5], y="expected cost / mean walltime", title="The planner's expectation", grid="y")
    for axes in (panels[1], panels[2], panels[4], panels[5]):
        # A little room below 1, the smallest stretch, which the omniscient strategy reaches.
        low, high = 1.0, axes.get_ylim()[1]
        axes.set_ylim(low - 0.05 * (high - low), high)
    panel_letters(list(panels))
    handles, texts = panels[0].get_legend_handles_labels()
    legend_above(figure, handles, texts)
    return figure


_PAPER = BatchParameters()


def _on(processors: int, name: str, where: str = "") -> Experiment:
    return Experiment(
        id=name,
        title=f"500 jobs of one application through the batch scheduler{where}",
        question=f"Does the plan with the least reserved time give the highest utilisation{where}?",
        parameters=replace(_PAPER, processors=processors),
        quick=replace(_PAPER, processors=processors, repetitions=5),
        measure=_measure,
        judge=judge_on(where, _judge),
        draw=_draw,
        choices=(
            "A job that ends early gives its processor back at once, and its next reservation goes to the end of the "
            "queue; `checkpoint-readings` combines the other readings of these and of further sentences.",
        ),
    )


EXPERIMENTS: Sequence[Experiment] = (
    _on(256, "checkpoint-fig8"),
    _on(SMALL_MACHINE, "checkpoint-64-fig8", f" on {SMALL_MACHINE} processors"),
)
