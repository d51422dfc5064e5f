"""Experiment for figure 9 of the checkpoint paper: checkpoint and restart times that differ from the planned ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from holdfast.experiments.papers.checkpoint.batch import (
    EXECUTION,
    STRATEGY_COLORS,
    STRATEGY_NAMES,
    UTILIZATION,
    check_batch,
    draw_instance,
    run_batch,
)
from holdfast.experiments.papers.checkpoint.published_values import APPLICATIONS
from holdfast.experiments.statistics import Interval, interval, paired_interval, ratio
from holdfast.experiments.study.comparison import interval_text
from holdfast.experiments.study.experiment import Experiment, Resources, Row, Tables
from holdfast.experiments.study.measurement_table import in_order
from holdfast.experiments.study.row_cache import collect_rows
from holdfast.experiments.study.rules import Above, Below, Decision, Near, together
from holdfast.experiments.study.verdicts import Outcome, Statement, Verdict, text
from holdfast.workloads.ground.columns import Better, Metric
from holdfast.workloads.ground.errors import ParameterError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENTS"]

#: Largest relative change of a metric for which a strategy is robust against a variation.
TOLERANCE = 0.05
_METRICS = (UTILIZATION, EXECUTION)
_MODES = ("absorbed", "strict")


@dataclass(frozen=True)
class VariationParameters:
    """Parameters of Fig. 9.

    Attributes
    ----------
    applications
        Names of Table 3.
    variations
        Relative half-widths of the uniform distributions of C and R around the planned values; 0 is always added.
    overheads
        C and R as multiples of those of Table 3. The plans of DYN-PROG-COUNT for Table 3 have no checkpoint.
    jobs, processors, past, repetitions
        As in Fig. 8.
    """

    applications: tuple[str, ...] = tuple(APPLICATIONS)
    variations: tuple[float, ...] = (0.05, 0.10, 0.15, 0.20, 0.25, 0.30)
    overheads: tuple[float, ...] = (1.0, 0.25)
    jobs: int = 500
    processors: int = 256
    past: int = 5
    repetitions: int = 20


@dataclass(frozen=True)
class _Task:
    """One instance of an application, under all variations."""

    parameters: VariationParameters
    seed: int
    application: str
    repetition: int


def _measure(parameters: VariationParameters, seed: int, resources: Resources) -> Tables:
    sizes = {name: getattr(parameters, name) for name in ("jobs", "processors", "past", "repetitions")}
    check_batch(parameters.applications, **sizes)
    if not all(0 < value <= 1 for value in parameters.variations):
        raise ParameterError("variations", "shares above 0, at most 1", parameters.variations)
    own = replace(parameters, applications=(), repetitions=0)
    tasks = [
        _Task(own, seed, name, repetition)
        for name in parameters.applications
        for repetition in range(parameters.repetitions)
    ]
    return {"": list(collect_rows(_task_rows, tasks, resources))}


def _task_rows(task: _Task) -> list[Row]:
    setting = task.parameters
    instance = draw_instance({task.application: setting.jobs}, setting.past, task.seed, task.repetition)
    return [
        {
            **{"application": task.application, "overhead": overhead, "repetition": task.repetition},
            **{"mode": mode, "variation": variation},
            **run_batch(instance, strategy, setting.processors, overhead=overhead, variation=variation, mode=mode),
        }
        for overhead in setting.overheads
        for strategy, mode, variation in _cases(setting.variations)
    ]


def _cases(variations: Sequence[float]) -> list[tuple[str, str, float]]:
    """Combinations of strategy, mode and variation; HPC runs only without variation, because it has no checkpoints."""
    plans = ("optimal", "all-ckpt")
    varied = [(strategy, mode, value) for strategy in plans for mode in _MODES for value in variations]
    return [(strategy, "absorbed", 0.0) for strategy in (*plans, "masi")] + varied


class _Series:
    """One strategy under one mode, at one overhead, over the variations."""

    def __init__(self, rows: Sequence[Row], strategy: str, overhead: float, mode: str) -> None:
        self.rows = [row for row in rows if row["overhead"] == overhead]
        self.strategy, self.mode = strategy, mode
        self.names = list(dict.fromkeys(row["application"] for row in self.rows))
        self.variations = sorted({float(row["variation"]) for row in self.rows if row["variation"] > 0})
        self.varied = [name for name in self.names if max(self.column("plan_checkpoints", name, 0.0)) > 0]

    def column(self, column: str, name: str, variation: float) -> list[float]:
        # Without variation, the modes are equal, so that only one of them was run.
        mode = self.mode if variation else "absorbed"
        return in_order(self.rows, column, strategy=self.strategy, application=name, variation=variation, mode=mode)

    def change(self, metric: Metric, name: str, variation: float) -> Interval:
        """Relative change of the metric from its value without variation, by instance."""
        return ratio(self.column(metric.name, name, variation), self.column(metric.name, name, 0.0))

    def over_hpc(self, metric: Metric, name: str, variation: float) -> Interval:
        """Gain over HPC in the metric."""
        own = self.column(metric.name, name, variation)
        hpc = in_order(self.rows, metric.name, strategy="masi", application=name)
        return paired_interval(own, hpc) if metric.better is Better.MORE else paired_interval(hpc, own)

    def robust(self, metric: Metric, name: str, variation: float) -> Decision:
        """Decide whether the metric changes by at most the tolerance and, if it was better than HPC, remains so."""
        decisions = [Near(0.0, TOLERANCE).decide(self.change(metric, name, variation))]
        if self.over_hpc(metric, name, 0.0).positive:
            decisions.append(Above().decide(self.over_hpc(metric, name, variation)))
        return together(decisions)

    def robust_up_to(self, metric: Metric, name: str) -> float:
        """The largest variation up to which the metric is robust; 0: it is not robust against the smallest."""
        reached = 0.0
        for variation in self.variations:
            if self.robust(metric, name, variation).outcome is not Outcome.HOLDS:
                break
            reached = variation
        return reached

    def steadier(self, name: str) -> Interval:
        """Mean excess of the relative change of utilisation over that of stretch."""
        changes = []
        for metric in _METRICS:
            before = np.array(self.column(metric.name, name, 0.0))
            after = np.array([self.column(metric.name, name, variation) for variation in self.variations])
            changes.append(np.abs(after / before - 1.0).mean(axis=0))
        return interval(changes[0] - changes[1])


def _judge(tables: Tables) -> list[Verdict]:
    rows = tables[""]
    verdicts = []
    for overhead in sorted({float(row["overhead"]) for row in rows}, reverse=True):
        # ALL-CKPT is judged for the overhead at which DYN-PROG-COUNT has no checkpoints; for others, both plans are
        # nearly equal.
        for strategy in ("optimal", "all-ckpt") if overhead == 1.0 else ("optimal",):
            absorbed, strict = (_Series(rows, strategy, overhead, mode) for mode in _MODES)
            title = STRATEGY_NAMES[strategy]
            if overhead != 1.0:
                title = f"{title}, C and R of Table 3 x {overhead:g}"
            verdicts += [_robust(absorbed, title), _steadier(absorbed, title), _worse(strict, title)]
    return verdicts


def _without(series: _Series, remark: str) -> str:
    """Add applications to a remark that have no checkpoint in their plans, so that nothing can vary."""
    without = [name for name in series.names if name not in series.varied]
    remarks = [f"no checkpoint in the plan for {', '.join(without)}, where nothing can vary"] if without else []
    return "; ".join([*remarks, remark] if remark else remarks)


def _robust(series: _Series, title: str) -> Verdict:
    statement = Statement(f"{title}: robust up to 15-20 % variability of C and R (absorbed)", "15-20 %", text("5.2"))
    # The smallest measured variation in the printed range.
    least = min((value for value in series.variations if value >= 0.15), default=0.0)
    rule = (
        f"holds if at {100 * least:.0f} % the 90 % interval of each relative change lies within "
        f"{100 * TOLERANCE:.0f} % and what is better than HPC stays so, does not hold if one 95 % interval lies beyond"
    )
    if not series.varied or not least:
        reason = "" if least else "no variation of 15 % or more was measured"
        return statement.open(_without(series, reason), "no change at all" if not series.varied else "-", rule)
    cases = [(name, metric) for name in series.varied for metric in _METRICS]
    limits = "; ".join(
        f"{name}, {metric.title} {100 * series.robust_up_to(metric, name):.0f} %" for name, metric in cases
    )
    decision = together([series.robust(metric, name, least) for name, metric in cases])
    return statement.verdict(decision, rule, f"robust up to {limits}", _without(series, ""))


def _steadier(series: _Series, title: str) -> Verdict:
    statement = Statement(
        f"{title}: the stretch is even more stable than the utilisation (absorbed)", "more stable", text("5.2")
    )
    rule = Above(quantity="the mean change of utilisation less that of stretch, both without sign,")
    if not series.varied:
        return statement.open(_without(series, ""), "no change at all", rule.words)
    found = {name: series.steadier(name) for name in series.varied}
    differences = "; ".join(f"{name} {item.text('+.2f', 100)} points" for name, item in found.items())
    return statement.each(rule, found, f"utilisation changes more by {differences}", _without(series, ""))


def _worse(series: _Series, title: str) -> Verdict:
    """Judge whether HPC is preferable if checkpoints that take too long are lost."""
    statement = Statement(
        f"{title}: where checkpoints that take too long are lost, large variability favours HPC (strict)",
        "HPC would be preferred", text("5.2"),
    )  # fmt: skip
    rule = Below(quantity="the paired gain over HPC at the largest variation")
    if not series.varied:
        return statement.open(_without(series, ""), "no change at all", rule.words)
    largest = max(series.variations)
    gains = {
        f"{name}, {metric.title}": (metric, series.over_hpc(metric, name, largest))
        for name in series.varied
        for metric in _METRICS
    }
    improvements = "; ".join(f"{case} {interval_text(metric, found, '+')}" for case, (metric, found) in gains.items())
    lost = {name: float(np.mean(series.column("checkpoints_lost", name, largest))) for name in series.varied}
    remark = "checkpoints lost a job: " + ", ".join(f"{name} {value:.2f}" for name, value in lost.items())
    measured = f"at {100 * largest:.0f} % better than HPC by {improvements}"
    return statement.each(rule, {case: found for case, (_, found) in gains.items()}, measured, _without(series, remark))


def _draw(tables: Tables) -> Figure:
    from holdfast.experiments.figures.canvas import PAGE, new_figure, subplots
    from holdfast.experiments.figures.study.intervals import draw_band
    from holdfast.experiments.figures.style import dress, legend_above, panel_letters

    rows = tables[""]
    overheads = sorted({float(row["overhead"]) for row in rows}, reverse=True)
    names = list(dict.fromkeys(row["application"] for row in rows))
    lines = [(overhead, metric) for overhead in overheads for metric in _METRICS]
    figure = new_figure(PAGE, 0.5 + 1.55 * len(lines))
    panels = subplots(figure, len(lines), len(names), sharex=True, squeeze=False)
    for (overhead, metric), line in zip(lines, panels, strict=True):
        for name, axes in zip(names, line, strict=True):
            for strategy in ("optimal", "all-ckpt"):
                for mode, style, marker in zip(_MODES, ("-", "--"), ("o", "^"), strict=True):
                    series = _Series(rows, strategy, overhead, mode)
                    variations = [0.0, *series.variations]
                    means = [interval(series.column(metric.name, name, value)) for value in variations]
                    draw_band(
                        axes, [100 * value for value in variations], means, color=STRATEGY_COLORS[strategy],
                        label=f"{STRATEGY_NAMES[strategy]}, {mode}", scale=metric.scale, style=style, marker=marker,
                    )  # fmt: skip
            hpc = interval(in_order(series.rows, metric.name, strategy="masi", application=name))
            ends = [0.0, 100 * max(variations)]
            draw_band(axes, ends, [hpc, hpc], color=STRATEGY_COLORS["masi"], label="HPC", scale=metric.scale, style=":")
            title = f"{name}, C and R x {overhead:g}"
            below = "variation of C and R (%)" if (overhead, metric) == lines[-1] else ""
            dress(axes, x=below, y=metric.label if name == names[0] else "", title=title)
    panel_letters(list(panels.ravel()))
    handles, labels = panels[0, 0].get_legend_handles_labels()
    legend_above(figure, handles, labels)
    return figure


_PAPER = VariationParameters()

EXPERIMENTS: Sequence[Experiment] = (
    Experiment(
        id="checkpoint-fig9",
        title="Checkpoint and restart times that vary by up to 30 % around the planned ones",
        question="How much may checkpoint times differ from the planned ones?",
        parameters=_PAPER,
        quick=VariationParameters(variations=(0.15, 0.30), repetitions=3),
        measure=_measure,
        judge=_judge,
        draw=_draw,
        stores=True,
    ),
)
