"""Experiment that searches for the reading of [R] section 5 that reproduces Table 4 and figure 8.

All combinations of readings of its ambiguous sentences are simulated. The first instances serve to choose the reading
with means nearest to those of Table 4; separate instances serve to judge it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING, Any

from holdfast.experiments.papers.checkpoint.batch import SMALL_MACHINE, STRATEGY_NAMES, check_batch, draw_instance
from holdfast.experiments.papers.checkpoint.batch_operation import (
    STRETCHES,
    UTILIZATIONS,
    BatchMeasure,
    BatchOperation,
    measures,
    operations,
    replay_batch,
)
from holdfast.experiments.papers.checkpoint.published_values import TABLE_4
from holdfast.experiments.statistics import Interval, geometric_ratio, interval
from holdfast.experiments.study.experiment import Experiment, Resources, Row, Tables
from holdfast.experiments.study.measurement_table import in_order, rows_where
from holdfast.experiments.study.row_cache import collect_rows
from holdfast.experiments.study.rules import Above, Near
from holdfast.experiments.study.verdicts import HYPOTHESIS, Source, Statement, Verdict, table, text
from holdfast.workloads.ground.errors import ParameterError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENTS", "distance", "nearest"]

_CHOICE, _JUDGEMENT = "choice", "judgement"
_MIX = "mix"
_OWN, _ALL, _HPC = "optimal", "all-ckpt", "masi"
#: Margins for Table 4: of a level, relative to it, and of a gain.
_MARGIN, _POINTS = 0.1, 0.05
#: Means of Table 4 for DYN-PROG-COUNT and HPC, by measure.
_PRINTED = {
    "utilization": (
        fmean(run.utilization for run in TABLE_4) / 100,
        fmean(run.hpc_utilization for run in TABLE_4) / 100,
    ),
    "stretch": (fmean(run.stretch for run in TABLE_4), fmean(run.hpc_stretch for run in TABLE_4)),
}
#: Printed mean improvement.
_GAIN = 0.1


@dataclass(frozen=True)
class BatchReadings:
    """Parameters of the readings.

    Attributes
    ----------
    applications
        Names of Table 3.
    mix
        Number of jobs of each application in Table 4.
    jobs
        Number of jobs of one application in figure 8.
    processors
        Numbers of processors of the machine; a job needs one.
    past
        Number of runs that HPC averages.
    choosing
        Number of instances for the choice of a reading, two or more.
    repetitions
        Number of instances for judging it, two or more.
    """

    applications: tuple[str, ...] = ("Qball", "SD", "FCA")
    mix: tuple[int, ...] = (100, 200, 200)
    jobs: int = 500
    processors: tuple[int, ...] = (256, SMALL_MACHINE)
    past: int = 5
    choosing: int = 10
    repetitions: int = 20


@dataclass(frozen=True)
class _Task:
    """One instance of the mix and one of each application."""

    parameters: BatchReadings
    seed: int
    stage: str
    repetition: int


def _measure(parameters: BatchReadings, seed: int, resources: Resources) -> Tables:
    names, mix = parameters.applications, parameters.mix
    if not parameters.processors:
        raise ParameterError("processors", "one or more numbers", parameters.processors)
    check_batch(names, processors=min(parameters.processors), past=parameters.past, jobs=parameters.jobs)
    for name in ("choosing", "repetitions"):
        if getattr(parameters, name) < 2:
            raise ParameterError(name, "a whole number of at least 2", getattr(parameters, name))
    if len(mix) != len(names) or min(mix) < 1:
        raise ParameterError("mix", f"{len(names)} whole numbers of at least 1, one for each application", mix)
    own = replace(parameters, choosing=0, repetitions=0)
    # Instances for judging follow those for choosing, so that they are disjoint.
    stages = [_CHOICE] * parameters.choosing + [_JUDGEMENT] * parameters.repetitions
    tasks = [_Task(own, seed, stage, repetition) for repetition, stage in enumerate(stages)]
    return {"": list(collect_rows(_task_rows, tasks, resources))}


def _task_rows(task: _Task) -> list[dict[str, Any]]:
    setting = task.parameters
    batches = {_MIX: dict(zip(setting.applications, setting.mix, strict=True))}
    # Figure 8 is only judged, because the reading is chosen by the numbers in Table 4.
    if task.stage == _JUDGEMENT:
        batches |= {name: {name: setting.jobs} for name in setting.applications}
    rows = []
    for batch, counts in batches.items():
        instance = draw_instance(counts, setting.past, task.seed, task.repetition)
        for operation in operations(setting.processors):
            where = {
                "stage": task.stage, "batch": batch, "release": operation.release, "requeue": operation.requeue,
                "past": operation.past, "processors": operation.processors, "repetition": task.repetition,
            }  # fmt: skip
            rows += [
                {**where, "strategy": name, **replay_batch(instance, name, operation)} for name in (_OWN, _ALL, _HPC)
            ]
    return rows


def _rows(rows: Sequence[Row], stage: str, batch: str, operation: BatchOperation) -> list[Row]:
    return rows_where(
        rows, stage=stage, batch=batch, release=operation.release, requeue=operation.requeue, past=operation.past,
        processors=operation.processors,
    )  # fmt: skip


def _operations(rows: Sequence[Row]) -> list[BatchOperation]:
    keys = dict.fromkeys((row["release"], row["requeue"], row["past"], row["processors"]) for row in rows)
    return [BatchOperation(release, requeue, past, int(processors)) for release, requeue, past, processors in keys]


def distance(rows: Sequence[Row], measure: BatchMeasure) -> float:
    """Distance of the means of both strategies from those of Table 4, as a sum of logarithms."""
    found = 0.0
    for column, printed in ((measure.utilization, "utilization"), (measure.stretch, "stretch")):
        for strategy, level in zip((_OWN, _HPC), _PRINTED[printed], strict=True):
            found += abs(math.log(fmean(in_order(rows, column, strategy=strategy)) / level))
    return found


def nearest(rows: Sequence[Row]) -> list[tuple[BatchOperation, BatchMeasure]]:
    """All readings, ordered by their distance from Table 4 on the instances for choosing, the nearest first."""
    found = []
    for operation in _operations(rows):
        own = _rows(rows, _CHOICE, _MIX, operation)
        found += [(distance(own, measure), operation, measure) for measure in measures()]
    return [(operation, measure) for _, operation, measure in sorted(found, key=lambda item: item[0])]


# Verdicts.


def _gain(rows: Sequence[Row], column: str, first: str, second: str) -> Interval:
    """Relative gain of the first strategy over the second, by instance."""
    a, b = (in_order(rows, column, strategy=name) for name in (first, second))
    return geometric_ratio(b, a) if column in STRETCHES else geometric_ratio(a, b)


def _judge(tables: Tables) -> list[Verdict]:
    rows = tables[""]
    operation, measure = nearest(rows)[0]
    return [
        *_table(_rows(rows, _JUDGEMENT, _MIX, operation), operation, measure),
        *_figure(rows, operation, measure),
        *_sentences(rows),
    ]


def _table(rows: Sequence[Row], operation: BatchOperation, measure: BatchMeasure) -> list[Verdict]:
    """Judge the means of Table 4 under the nearest reading."""
    remark = f"reading: {operation.name}; measured: {measure.name}"
    verdicts = []
    for column, name, unit, scale in (
        (measure.utilization, "utilization", "%", 100.0), (measure.stretch, "stretch", "", 1.0)
    ):  # fmt: skip
        words = "utilisation" if unit else "stretch"
        for strategy, level in zip((_OWN, _HPC), _PRINTED[name], strict=True):
            found = interval(in_order(rows, column, strategy=strategy))
            rule = Near(level, _MARGIN * level, "the mean over the instances", unit, scale)
            statement = Statement(
                f"The nearest reading: mean of {STRATEGY_NAMES[strategy]}, {words}",
                f"{level * scale:.3g} {unit}".strip(), table("4"),
            )  # fmt: skip
            measured = f"{found.text('.1f' if unit else '.2f', scale)} {unit}".strip()
            verdicts.append(statement.judge(rule, found, measured, remark))
        verdicts.append(_improves(rows, column, f"The nearest reading: {words}", text("5.2"), remark))
    return verdicts


def _improves(rows: Sequence[Row], column: str, name: str, source: Source, remark: str = "") -> Verdict:
    found = _gain(rows, column, _OWN, _HPC)
    statement = Statement(f"{name} improves by 10 % against HPC", "10 %", source)
    rule = Near(_GAIN, _POINTS, "the mean improvement", "%", 100)
    return statement.judge(rule, found, f"by {found.text('+.1f', 100)} %", remark)


def _figure(rows: Sequence[Row], operation: BatchOperation, measure: BatchMeasure) -> list[Verdict]:
    """Judge the orders of figure 8 under the nearest reading; remarks state whether they hold by the other measures."""
    batches = [name for name in dict.fromkeys(str(row["batch"]) for row in rows) if name != _MIX]
    own = {name: _rows(rows, _JUDGEMENT, name, operation) for name in batches}
    pairs = (("DYN-PROG-COUNT performs better than ALL-CKPT", _OWN, _ALL), ("ALL-CKPT outperforms HPC", _ALL, _HPC))
    verdicts = []
    for column, columns in ((measure.utilization, UTILIZATIONS), (measure.stretch, STRETCHES)):
        words = "utilisation" if columns is UTILIZATIONS else "stretch"
        for claim, first, second in pairs:
            statement = Statement(f"The nearest reading: {claim}, {words}", "better", text("5.2"))
            found = {}
            for name in columns:
                gains = {batch: _gain(own[batch], name, first, second) for batch in batches}
                improvements = "; ".join(f"{batch} {found.text('+.1f', 100)} %" for batch, found in gains.items())
                found[name] = statement.each(Above(quantity="the mean improvement"), gains, f"better by {improvements}")
            others = [f"{_SHORT[name]}: {found[name].outcome}" for name in columns if name != column]
            verdicts.append(replace(found[column], remark=f"by the other measures, {'; '.join(others)}"))
    return verdicts


_FACTORS = ("release", "requeue", "past", "processors")


def _sentences(rows: Sequence[Row]) -> list[Verdict]:
    """Judge the effect of each alternative reading alone on the improvement."""
    known, default = _operations(rows), BatchOperation(processors=_operations(rows)[0].processors)
    verdicts = []
    for operation in known:
        if sum(getattr(operation, name) != getattr(default, name) for name in _FACTORS) < 2:
            own = _rows(rows, _JUDGEMENT, _MIX, operation)
            verdicts += [
                _improves(own, column, f"{operation.name} alone: {words}", HYPOTHESIS)
                for column, words in (("utilization", "utilisation"), ("response_stretch", "response stretch"))
            ]
    own = _rows(rows, _JUDGEMENT, _MIX, default)
    return verdicts + [
        _improves(own, column, f"{words} alone: the measure", HYPOTHESIS)
        for column, words in {**UTILIZATIONS, **STRETCHES}.items()
        if words and column != "response_stretch"
    ]


def _draw(tables: Tables) -> Figure:
    from holdfast.experiments.figures.canvas import PAGE, new_figure, subplots
    from holdfast.experiments.figures.style import INK, dress, legend_above, panel_letters

    rows = tables[""]
    operation, _ = nearest(rows)[0]
    own = _rows(rows, _JUDGEMENT, _MIX, operation)
    figure = new_figure(PAGE, 2.6)
    panels = subplots(figure, 1, 2)
    looks = ((_OWN, "o", "#0072B2", -0.12), (_HPC, "s", "#7F7F7F", 0.12))
    shown = ((UTILIZATIONS, "utilization", 100.0, "Utilisation", "%"), (STRETCHES, "stretch", 1.0, "Stretch", ""))
    for axes, (columns, name, scale, title, unit) in zip(panels, shown, strict=True):
        for (strategy, marker, color, shift), level in zip(looks, _PRINTED[name], strict=True):
            axes.axhline(level * scale, color=color, linewidth=0.9, linestyle="--")
            for place, column in enumerate(columns):
                found = interval(in_order(own, column, strategy=strategy))
                x = place + shift
                axes.plot([x, x], [found.low * scale, found.high * scale], color=color, linewidth=1.0)
                axes.plot(
                    x, found.mean * scale, marker, color=color, markersize=4,
                    label=STRATEGY_NAMES[strategy] if place == 0 else None,
                )  # fmt: skip
        labels = [_SHORT[column].replace(" time", "\ntime") for column in columns]
        axes.set_xticks(range(len(labels)), labels)
        dress(axes, y=f"({unit})" if unit else "", title=f"{title} (dashed: Table 4)", grid="y")
        axes.tick_params(axis="x", colors=INK)
    panel_letters(list(panels))
    handles, texts = panels[0].get_legend_handles_labels()
    legend_above(figure, handles, texts)
    return figure


#: Short titles of the measures.
_SHORT = {
    "utilization": "of the machine", "used_utilization": "of time used", "reserved_utilization": "of reserved time",
    "job_utilization": "of reserved time, a job", "execution_stretch": "execution", "response_stretch": "response",
    "reserved_stretch": "reserved",
}  # fmt: skip
_PAPER = BatchReadings()

EXPERIMENTS: Sequence[Experiment] = (
    Experiment(
        id="checkpoint-readings",
        title="The open sentences of the batch of three applications, combined",
        question="Which reading of the paper gives Table 4 and Fig. 8, and which sentence decides?",
        parameters=_PAPER,
        quick=replace(_PAPER, processors=(256,), choosing=2, repetitions=3),
        measure=_measure,
        judge=_judge,
        draw=_draw,
        choices=(
            '"The RESERVATIONONLY cost model, with α = 1, β = γ = 0" (5.1): unused time is free for others '
            "at once, or is held until the walltime.",
            '"Each subsequent reservation" (5.1): at the end of the queue, or at its front.',
            '"The average of the last 5 runs" (5.1): five runs before the batch, or five of each job.',
            '"A 256-thread Intel processor" (5.1): 256 processors, or its 64 cores.',
            '"The ratio between the sum of all job walltimes and the total time required to execute them" (5.1): over '
            "the time of the machine until all is done, the time that the jobs used, or the time that they reserved, "
            "of all jobs or as the mean over the jobs.",
            '"The ratio between the total execution time of a job and its actual walltime" (5.1): time used, response '
            "time, or time reserved.",
        ),
        stores=True,
    ),
)
