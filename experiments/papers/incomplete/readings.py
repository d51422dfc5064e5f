"""Which reading of [S] section VI-A gives the printed changes: its open sentences, all combined.

Some weeks choose the reading that is nearest to the printed numbers. Others, which the choice has not seen, judge it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from experiments.papers.incomplete.logs import FIGURE_6
from experiments.papers.incomplete.machines import PRINTED, Measure, Operation, measures, operations, replay_week
from experiments.papers.incomplete.submissions import WEEK, draw_week, plans_of
from experiments.papers.incomplete.week import FEW_FAMILIES
from experiments.papers.profiles.data import data_row, judged
from experiments.statistics import Interval, geometric_ratio
from experiments.study.experiment import Experiment, Resources, Row, Tables
from experiments.study.levels import POINTS
from experiments.study.measured import in_order, rows_where
from experiments.study.rules import Above, Below, Near
from experiments.study.stored import rows_of
from experiments.study.verdicts import HYPOTHESIS, Statement, Verdict, text
from workloads.fits import USUAL
from workloads.ground.errors import ParameterError, UnknownNameError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENTS", "Found", "change", "nearest"]

_WHY = "the logs and the machine are not public; generated logs and chosen loads stand in"
_BRAIN = "whole-brain"
#: Runs that the strategy knows in the two printed cases.
_LITTLE, _MORE = 10, 110
#: Changes against the base, as they are printed.
_STRETCH, _MAKESPAN, _UTILIZATION = -0.25, -0.33, 0.5
#: Weeks that choose the reading, and weeks that judge it.
_CHOICE, _JUDGEMENT = "choice", "judgement"


@dataclass(frozen=True)
class ReadingParameters:
    """The readings.

    Attributes
    ----------
    applications
        Names of :func:`experiments.papers.incomplete.logs.logged_applications`.
    runs
        Runs of the whole brain segmentation in a year: as printed, and the median of the other four.
    loads
        Work of the week over the time of the machine in a week.
    choosing
        Weeks that choose a reading, two or more.
    repetitions
        Weeks that judge it, two or more.
    families
        Usual distributions that are tried.
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

    parameters: ReadingParameters
    seed: int
    stage: str
    repetition: int
    runs: int


def _measure(parameters: ReadingParameters, seed: int, resources: Resources) -> Tables:
    for name, least in (("choosing", 2), ("repetitions", 2), ("cells", 1)):
        if getattr(parameters, name) < least:
            raise ParameterError(name, f"a whole number of at least {least}", getattr(parameters, name))
    for family in parameters.families:
        if family not in USUAL:
            raise UnknownNameError("usual distribution", family, USUAL)
    if not parameters.runs or not parameters.loads or min(parameters.loads) <= 0:
        raise ParameterError("runs and loads", "one or more, loads above 0", (parameters.runs, parameters.loads))
    for runs in parameters.runs:
        # What is wrong with it is said before the first week.
        draw_week(parameters.applications, (_LITTLE, _MORE), seed, 0, {_BRAIN: runs})
    own = replace(parameters, choosing=0, repetitions=0)
    # The weeks that judge come after those that choose: none is in both.
    stages = [_CHOICE] * parameters.choosing + [_JUDGEMENT] * parameters.repetitions
    tasks = [_Task(own, seed, stage, week, runs) for week, stage in enumerate(stages) for runs in parameters.runs]
    rows = list(rows_of(_rows_of, tasks, resources))
    return {"": rows, **data_row(False, len(rows), _WHY)}


def _rows_of(task: _Task) -> list[dict[str, Any]]:
    setting = task.parameters
    sizes = (_LITTLE, _MORE)
    week = draw_week(setting.applications, sizes, task.seed, task.repetition, {_BRAIN: task.runs})
    plans = plans_of(week, sizes, setting.families, setting.cells, doubled=True)
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


@dataclass(frozen=True)
class Found:
    """The changes under one reading, where the strategy takes the place of the base.

    Attributes
    ----------
    stretch
        From 10 runs.
    makespan, utilization
        From 110 runs.
    little
        The change of the utilisation from 110 runs to 10.
    """

    stretch: Interval
    makespan: Interval
    utilization: Interval
    little: Interval

    @property
    def distance(self) -> float:
        """How far the means are from the printed changes, as a sum of logarithms; of the stretch only what is above."""
        apart = [
            math.log((1.0 + found.mean) / (1.0 + printed))
            for found, printed in (
                (self.stretch, _STRETCH), (self.makespan, _MAKESPAN), (self.utilization, _UTILIZATION),
            )
        ]  # fmt: skip
        return max(0.0, apart[0]) + abs(apart[1]) + abs(apart[2])


def change(rows: Sequence[Row], column: str, strategy: str, base: str) -> Interval:
    """How a column changes from a base to a strategy, as a share: the geometric mean over the weeks."""
    own, other = (in_order(rows, column, strategy=name) for name in (strategy, base))
    return geometric_ratio(own, other)


def _rows(rows: Sequence[Row], stage: str, operation: Operation) -> list[Row]:
    return rows_where(
        rows, stage=stage, release=operation.release, requeue=operation.requeue, runs=operation.runs,
        load=operation.load,
    )  # fmt: skip


def _found(rows: Sequence[Row], measure: Measure) -> Found:
    little, more = f"continuous {_LITTLE}", f"continuous {_MORE}"
    used = "utilization" if measure.utilization == "done" else "occupied_utilization"
    time = "response_h" if measure.makespan == "response" else "all_done_h"
    base = measure.base_of(_MORE)
    return Found(
        change(rows, "stretch", little, measure.base_of(_LITTLE)),
        change(rows, time, more, base),
        change(rows, used, more, base),
        change(rows, used, little, more),
    )


def _known(rows: Sequence[Row]) -> list[Operation]:
    keys = dict.fromkeys((row["release"], row["requeue"], row["runs"], row["load"]) for row in rows)
    return [Operation(release, requeue, int(runs), float(load)) for release, requeue, runs, load in keys]


def nearest(rows: Sequence[Row]) -> list[tuple[Operation, Measure, Found]]:
    """All readings on the weeks that choose, the nearest to the printed changes first."""
    found = []
    for operation in _known(rows):
        own = _rows(rows, _CHOICE, operation)
        found += [(operation, measure, _found(own, measure)) for measure in measures()]
    return sorted(found, key=lambda item: item[2].distance)


# Verdicts.

_PLACE = text("VI-A")
_CHANGE = "the mean change, week by week,"


def _judge(tables: Tables) -> list[Verdict]:
    rows = tables[""]
    operation, measure, _ = nearest(rows)[0]
    best = _found(_rows(rows, _JUDGEMENT, operation), measure)
    verdicts = [*_printed(operation, measure, best), *_other_makespan(rows, operation, measure)]
    return [judged(tables, verdict) for verdict in [*verdicts, *_sentences(rows)]]


def _printed(operation: Operation, measure: Measure, best: Found) -> list[Verdict]:
    """The printed changes under the nearest reading, on weeks that it was not chosen by."""
    remark = f"reading: {operation.name}; measured: {measure.name}"
    return [
        Statement(f"The nearest reading: from {size} runs, {claim}", printed, _PLACE).judged(
            rule, found, f"{found.text('+.0f', 100)} %", remark
        )
        for claim, printed, size, rule, found in (
            ("the average stretch falls by over 25 %", "over 25 %", _LITTLE,
             Below(_STRETCH, _CHANGE, "%", 100), best.stretch),
            ("the makespan falls by 33 %", "33 %", _MORE,
             Near(_MAKESPAN, POINTS, _CHANGE, "%", 100), best.makespan),
            ("utilisation rises by almost 50 %", "almost 50 %", _MORE,
             Near(_UTILIZATION, POINTS, _CHANGE, "%", 100), best.utilization),
            (f"utilisation rises less than from {_MORE}", "not the same effect", _LITTLE,
             Below(0.0, _CHANGE), best.little),
        )
    ]  # fmt: skip


def _other_makespan(rows: Sequence[Row], operation: Operation, measure: Measure) -> list[Verdict]:
    """What the nearest reading does not say of: the makespan in its other sense."""
    other = replace(measure, makespan="all" if measure.makespan == "response" else "response")
    found = _found(_rows(rows, _JUDGEMENT, operation), other).makespan
    words = "makespan of the week" if other.makespan == "all" else "average response time"
    statement = Statement(f"The nearest reading: from {_MORE} runs, the {words} falls by 33 %, too", "33 %", _PLACE)
    return [statement.judged(Near(_MAKESPAN, POINTS, _CHANGE, "%", 100), found, f"{found.text('+.0f', 100)} %")]


def _sentences(rows: Sequence[Row]) -> list[Verdict]:
    """Of each sentence, whether its other reading alone turns the utilisation up."""
    known = _known(rows)
    default = Operation(load=known[0].load, runs=known[0].runs)
    verdicts = [
        _alone(_rows(rows, _JUDGEMENT, operation), Measure(), operation.name)
        for operation in known
        if sum(getattr(operation, name) != getattr(default, name) for name in _FACTORS) == 1
    ]
    own = _rows(rows, _JUDGEMENT, default)
    single = [Measure(base) for base in ("hpc same", "masi", "masi 2")] + [Measure(utilization="occupied")]
    return [_alone(own, Measure(), default.name), *verdicts, *(_alone(own, item, item.name) for item in single)]


_FACTORS = ("release", "requeue", "runs", "load")


def _alone(rows: Sequence[Row], measure: Measure, name: str) -> Verdict:
    found = _found(rows, measure)
    rest = (
        f"makespan {found.makespan.text('+.0f', 100)} %, from {_LITTLE} runs stretch "
        f"{found.stretch.text('+.0f', 100)} %"
    )
    return Statement(f"{name} alone: from {_MORE} runs utilisation rises", "rises", HYPOTHESIS).judged(
        Above(0.0, _CHANGE), found.utilization, f"{found.utilization.text('+.0f', 100)} %", rest
    )


def _draw(tables: Tables) -> Figure:
    from experiments.figures.style import INK, PAGE, dress, new_figure, panel_letters
    from experiments.papers.profiles.data import marked

    rows = tables[""]
    known = _known(rows)
    figure = new_figure(PAGE, 0.9 + 0.19 * len(known))
    panels = figure.subplots(1, 3, sharey=True)
    found = {operation: _found(_rows(rows, _JUDGEMENT, operation), Measure(makespan="all")) for operation in known}
    shown = (
        ("Stretch, 10 runs", "stretch", _STRETCH), ("Makespan of the week, 110 runs", "makespan", _MAKESPAN),
        ("Utilisation, 110 runs", "utilization", _UTILIZATION),
    )  # fmt: skip
    colors = {"completion": "#7F7F7F", "walltime": "#0072B2", "windows": "#E69F00"}
    for axes, (title, name, printed) in zip(panels, shown, strict=True):
        axes.axvline(1.0, color=INK, linewidth=0.6)
        axes.axvline(1.0 + printed, color="#D55E00", linewidth=0.9, linestyle="--")
        for place, operation in enumerate(known):
            own: Interval = getattr(found[operation], name)
            axes.plot([1 + own.low, 1 + own.high], [place, place], color=colors[operation.release], linewidth=1.0)
            axes.plot(1 + own.mean, place, "o", color=colors[operation.release], markersize=3.5)
        axes.set_xscale("log")
        axes.minorticks_off()
        low, high = axes.get_xlim()
        ticks = [value for value in (0.1, 0.2, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0) if low <= value <= high]
        axes.set_xticks(ticks, [f"{value:g}" for value in ticks])
        dress(axes, x="times HPC's", title=title, grid="x")
    panels[0].set_yticks(range(len(known)), [operation.name for operation in known])
    panels[0].invert_yaxis()
    panel_letters(list(panels))
    return marked(figure, tables, "generated run logs; dashed: printed")


_PAPER = ReadingParameters()

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
            '"The cost of a reservation: alpha t1" (III-A) and "ScheduleFlow" (VI-A): unused time is free for others '
            "at once, is held until the walltime, or planned starts are kept in windows.",
            '"A second reservation is performed" (III-A): at the end of the queue, or at its front.',
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
