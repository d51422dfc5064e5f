"""Experiment that searches for the reading of [S] section VI-A that reproduces the printed changes.

All combinations of readings of its ambiguous sentences are simulated. The first weeks serve to choose the reading
nearest to the printed numbers; separate weeks serve to judge it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from holdfast.experiments.papers.incomplete.logs import FIGURE_6
from holdfast.experiments.papers.incomplete.published_changes import (
    CHOICE,
    JUDGEMENT,
    LITTLE,
    MAKESPAN_CHANGE,
    MORE,
    STRETCH_CHANGE,
    UTILIZATION_CHANGE,
    Changes,
    list_operations,
    measure_changes,
    nearest,
    rows_under,
)
from holdfast.experiments.papers.incomplete.submissions import WEEK, draw_week, make_plans
from holdfast.experiments.papers.incomplete.week import FEW_FAMILIES
from holdfast.experiments.papers.incomplete.week_operation import (
    PRINTED,
    WeekMeasure,
    WeekOperation,
    operations,
    replay_week,
)
from holdfast.experiments.papers.profiles.shared_data import data_row, restrict_verdict
from holdfast.experiments.statistics import Interval
from holdfast.experiments.study.equivalence import POINTS
from holdfast.experiments.study.experiment import Experiment, Resources, Row, Tables
from holdfast.experiments.study.row_cache import collect_rows
from holdfast.experiments.study.rules import Above, Below, Near
from holdfast.experiments.study.verdicts import HYPOTHESIS, Statement, Verdict, text
from holdfast.workloads.fits import USUAL
from holdfast.workloads.ground.errors import ParameterError, UnknownNameError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENTS"]

_WHY = "the logs and the machine are not public; generated logs and chosen loads stand in"
_BRAIN = "whole-brain"


@dataclass(frozen=True)
class WeekReadings:
    """Parameters of the readings.

    Attributes
    ----------
    applications
        Names of :func:`holdfast.experiments.papers.incomplete.logs.list_applications`.
    runs
        Numbers of runs of the whole brain segmentation in a year: as printed, and the median of the other four.
    loads
        Offered loads: work of the week over the time of the machine in a week.
    choosing
        Number of weeks for the choice of a reading, two or more.
    repetitions
        Number of weeks for judging it, two or more.
    families
        Parametric families to try.
    cells
        Number of cells of the equal-time grid.
    """

    applications: tuple[str, ...] = FIGURE_6
    runs: tuple[int, ...] = (PRINTED, 1781)
    loads: tuple[float, ...] = (0.9, 1.5)
    choosing: int = 10
    repetitions: int = 30
    families: tuple[str, ...] = FEW_FAMILIES
    cells: int = 500


@dataclass(frozen=True)
class _Task:
    """One week with one number of runs."""

    parameters: WeekReadings
    seed: int
    stage: str
    repetition: int
    runs: int


def _measure(parameters: WeekReadings, seed: int, resources: Resources) -> Tables:
    for name, least in (("choosing", 2), ("repetitions", 2), ("cells", 1)):
        if getattr(parameters, name) < least:
            raise ParameterError(name, f"a whole number of at least {least}", getattr(parameters, name))
    for family in parameters.families:
        if family not in USUAL:
            raise UnknownNameError("usual distribution", family, USUAL)
    if not parameters.runs or not parameters.loads or min(parameters.loads) <= 0:
        raise ParameterError("runs and loads", "one or more, loads above 0", (parameters.runs, parameters.loads))
    for runs in parameters.runs:
        # A trial draw reports errors in the parameters before the first week.
        draw_week(parameters.applications, (LITTLE, MORE), seed, 0, {_BRAIN: runs})
    own = replace(parameters, choosing=0, repetitions=0)
    # Weeks for judging follow those for choosing, so that they are disjoint.
    stages = [CHOICE] * parameters.choosing + [JUDGEMENT] * parameters.repetitions
    tasks = [_Task(own, seed, stage, week, runs) for week, stage in enumerate(stages) for runs in parameters.runs]
    rows = list(collect_rows(_task_rows, tasks, resources))
    return {"": rows, **data_row(False, len(rows), _WHY)}


def _task_rows(task: _Task) -> list[dict[str, Any]]:
    setting = task.parameters
    sizes = (LITTLE, MORE)
    week = draw_week(setting.applications, sizes, task.seed, task.repetition, {_BRAIN: task.runs})
    plans = make_plans(week, sizes, setting.families, setting.cells, doubled=True)
    rows = []
    for operation in operations([task.runs], setting.loads):
        machine = max(1, round(float(week.runtimes.sum()) / (operation.load * WEEK)))
        where = {
            "stage": task.stage, "release": operation.release, "requeue": operation.requeue, "runs": operation.runs,
            "load": operation.load, "repetition": task.repetition, "jobs": len(week.runtimes), "machine": machine,
        }  # fmt: skip
        rows += [
            {**where, "strategy": name, **replay_week(week, own, machine, operation)} for name, own in plans.items()
        ]
    return rows


# Verdicts.

_PLACE = text("VI-A")
_CHANGE = "the mean change, week by week,"


def _judge(tables: Tables) -> list[Verdict]:
    rows = tables[""]
    operation, measure, _ = nearest(rows)[0]
    best = measure_changes(rows_under(rows, JUDGEMENT, operation), measure)
    verdicts = [
        *_judge_changes(operation, measure, best),
        *_other_makespan(rows, operation, measure),
        *_judge_sentences(rows, operation, measure),
    ]
    return [restrict_verdict(tables, verdict) for verdict in [*verdicts, *_sentences(rows)]]


def _judge_changes(operation: WeekOperation, measure: WeekMeasure, best: Changes) -> list[Verdict]:
    """Judge the printed changes under the nearest reading, on separate weeks."""
    remark = f"reading: {operation.name}; measured: {measure.name}"
    return [
        Statement(f"The nearest reading: from {size} runs, {claim}", printed, _PLACE).judge(
            rule, found, f"{found.text('+.0f', 100)} %", remark
        )
        for claim, printed, size, rule, found in (
            ("the average stretch falls by over 25 %", "over 25 %", LITTLE,
             Below(STRETCH_CHANGE, _CHANGE, "%", 100), best.stretch),
            ("the makespan falls by 33 %", "33 %", MORE,
             Near(MAKESPAN_CHANGE, POINTS, _CHANGE, "%", 100), best.makespan),
            ("utilisation rises by almost 50 %", "almost 50 %", MORE,
             Near(UTILIZATION_CHANGE, POINTS, _CHANGE, "%", 100), best.utilization),
            (f"utilisation rises less than from {MORE}", "not the same effect", LITTLE,
             Below(0.0, _CHANGE), best.little),
        )
    ]  # fmt: skip


def _other_makespan(rows: Sequence[Row], operation: WeekOperation, measure: WeekMeasure) -> list[Verdict]:
    """Judge the other meaning of makespan under the nearest reading."""
    other = replace(measure, makespan="all" if measure.makespan == "response" else "response")
    found = measure_changes(rows_under(rows, JUDGEMENT, operation), other).makespan
    words = "makespan of the week" if other.makespan == "all" else "average response time"
    statement = Statement(f"The nearest reading: from {MORE} runs, the {words} falls by 33 %, too", "33 %", _PLACE)
    return [statement.judge(Near(MAKESPAN_CHANGE, POINTS, _CHANGE, "%", 100), found, f"{found.text('+.0f', 100)} %")]


def _judge_sentences(rows: Sequence[Row], operation: WeekOperation, measure: WeekMeasure) -> list[Verdict]:
    """Judge whether the nearest reading depends on each sentence that differs from the default."""
    known = list_operations(rows)
    default = WeekOperation(load=known[0].load, runs=known[0].runs)
    verdicts = []
    for name in _FACTORS:
        other = replace(operation, **{name: getattr(default, name)})
        if other != operation and other in known:
            words = replace(default, **{name: getattr(operation, name)}).name
            verdicts.append(_rises(rows_under(rows, JUDGEMENT, other), measure, f"The nearest reading without {words}"))
    return verdicts


def _sentences(rows: Sequence[Row]) -> list[Verdict]:
    """Judge whether the alternative reading of a sentence alone increases utilisation."""
    known = list_operations(rows)
    default = WeekOperation(load=known[0].load, runs=known[0].runs)
    verdicts = [
        _rises(rows_under(rows, JUDGEMENT, operation), WeekMeasure(), f"{operation.name} alone")
        for operation in known
        if sum(getattr(operation, name) != getattr(default, name) for name in _FACTORS) == 1
    ]
    own = rows_under(rows, JUDGEMENT, default)
    single = [WeekMeasure(base) for base in ("hpc same", "masi", "masi 2")] + [WeekMeasure(utilization="occupied")]
    return [
        _rises(own, WeekMeasure(), default.name),
        *verdicts,
        *(_rises(own, item, f"{item.name} alone") for item in single),
    ]


_FACTORS = ("release", "requeue", "runs", "load")


def _rises(rows: Sequence[Row], measure: WeekMeasure, name: str) -> Verdict:
    found = measure_changes(rows, measure)
    rest = (
        f"makespan {found.makespan.text('+.0f', 100)} %, from {LITTLE} runs stretch {found.stretch.text('+.0f', 100)} %"
    )
    return Statement(f"{name}: from {MORE} runs utilisation rises", "rises", HYPOTHESIS).judge(
        Above(0.0, _CHANGE), found.utilization, f"{found.utilization.text('+.0f', 100)} %", rest
    )


def _draw(tables: Tables) -> Figure:
    from holdfast.experiments.figures.canvas import PAGE, new_figure, subplots
    from holdfast.experiments.figures.style import INK, dress, panel_letters
    from holdfast.experiments.papers.profiles.shared_data import mark_figure

    rows = tables[""]
    known = list_operations(rows)
    figure = new_figure(PAGE, 0.9 + 0.19 * len(known))
    panels = subplots(figure, 1, 3, sharey=True)
    found = {
        operation: measure_changes(rows_under(rows, JUDGEMENT, operation), WeekMeasure(makespan="all"))
        for operation in known
    }
    shown = (
        (f"Stretch, {LITTLE} runs", "stretch", STRETCH_CHANGE, (0.2, 0.5, 1.0, 2.0, 5.0, 10.0)),
        (f"All done, {MORE} runs", "makespan", MAKESPAN_CHANGE, (0.5, 0.7, 1.0, 1.5, 2.0)),
        (f"Utilisation, {MORE} runs", "utilization", UTILIZATION_CHANGE, (0.5, 0.7, 1.0, 1.5, 2.0)),
    )
    colors = {"completion": "#7F7F7F", "walltime": "#0072B2", "windows": "#E69F00"}
    for axes, (title, name, printed, places) in zip(panels, shown, strict=True):
        axes.axvline(1.0, color=INK, linewidth=0.6)
        axes.axvline(1.0 + printed, color="#D55E00", linewidth=0.9, linestyle="--")
        for place, operation in enumerate(known):
            own: Interval = getattr(found[operation], name)
            axes.plot([1 + own.low, 1 + own.high], [place, place], color=colors[operation.release], linewidth=1.0)
            axes.plot(1 + own.mean, place, "o", color=colors[operation.release], markersize=3.5)
        axes.set_xscale("log")
        axes.minorticks_off()
        low, high = axes.get_xlim()
        ticks = [value for value in places if low <= value <= high]
        axes.set_xticks(ticks, [f"{value:g}" for value in ticks])
        dress(axes, x="times HPC's", title=title, grid="x")
    panels[0].set_yticks(range(len(known)), [operation.label for operation in known])
    panels[0].invert_yaxis()
    panel_letters(list(panels))
    return mark_figure(figure, tables, "generated run logs; dashed: printed")


_PAPER = WeekReadings()

EXPERIMENTS: Sequence[Experiment] = (
    Experiment(
        id="incomplete-readings",
        title="The open sentences of the week of six applications, combined (generated logs)",
        question="Which reading of the paper gives its week, and which sentence decides?",
        parameters=_PAPER,
        quick=replace(_PAPER, runs=(1781,), loads=(0.9,), choosing=2, repetitions=3, families=("norm", "gamma")),
        measure=_measure,
        judge=_judge,
        draw=_draw,
        choices=(
            '"α = 1 and β = γ = 0" (III-A), and "ScheduleFlow" (VI-A): unused time is free for others at once, is held '
            "until the walltime, or planned starts are kept in windows.",
            '"A second reservation of size t2 > t1 is performed" (III-A): at the end of the queue, or at its front.',
            '"N = 17416" (Fig. 6) is printed for the functional QA and for the whole brain segmentation, too: as '
            "printed, or the median of the other four for the whole brain.",
            "No machine is printed: a load of 0.9, or of 1.5, which keeps a queue.",
            '"Decreases", "increases" (VI-A): against HPC with all previous runs, HPC with the same runs, or MASI\'s '
            "average, which grows 1.5 times (VI-A) or is doubled (II).",
            '"System utilization": work over the time until all is done, or over the time of all reservations.',
            '"Average job makespan": the response time, or the time until all is done. 33 % less time is 1 / 0.67 = '
            "1.49 times the utilisation, so that the second reading makes one number of the two.",
            'Jobs take one node, so that rules of backfilling make no difference. "The application submission '
            'information" is read as times of a Poisson process over the week.',
        ),
        stores=True,
    ),
)
