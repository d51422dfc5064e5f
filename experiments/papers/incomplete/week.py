"""Experiment for figure 8 of [S]: a week of six applications with strategies from only a few past runs."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from holdfast.experiments.papers.incomplete.logs import FIGURE_6
from holdfast.experiments.papers.incomplete.submissions import (
    RESERVED,
    RESPONSE,
    STRETCH,
    UTILIZATION,
    WEEK,
    WHOLE,
    draw_week,
    draw_widths,
    make_plans,
    run_week,
)
from holdfast.experiments.papers.profiles.shared_data import data_row, mark_figure, restrict_verdict
from holdfast.experiments.statistics import Interval, geometric_ratio
from holdfast.experiments.study.comparison import mean_interval
from holdfast.experiments.study.equivalence import POINTS
from holdfast.experiments.study.experiment import Experiment, Resources, Row, Tables
from holdfast.experiments.study.measurement_table import in_order
from holdfast.experiments.study.row_cache import collect_rows
from holdfast.experiments.study.rules import AtMost, Below, Near, Rule
from holdfast.experiments.study.verdicts import HYPOTHESIS, Statement, Verdict, text
from holdfast.workloads.fits import USUAL
from holdfast.workloads.ground.columns import Metric
from holdfast.workloads.ground.errors import ParameterError, UnknownNameError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENTS", "FEW_FAMILIES"]

_WHY = "the logs, the machine and the widths of jobs are not public; generated logs and chosen loads stand in"


@dataclass(frozen=True)
class WeekParameters:
    """Parameters of Fig. 8.

    Attributes
    ----------
    applications
        Names of :func:`holdfast.experiments.papers.incomplete.logs.list_applications`.
    samples
        Numbers of random previous runs for fitting distributions.
    loads
        Offered loads of the week, which determine the size of the machine. The first load is judged; the others show
        the sensitivity.
    widest
        Largest numbers of nodes of a job; jobs need 1, 2, 4, ... nodes with equal probability. The first number is
        judged; the applications of this laboratory need one node.
    repetitions
        Number of weeks, two or more, each from separate logs.
    families
        Parametric families to try.
    cells
        Number of cells of the equal-time grid.
    """

    applications: tuple[str, ...] = FIGURE_6
    samples: tuple[int, ...] = (10, 60, 110)
    loads: tuple[float, ...] = (0.9, 0.7, 1.1)
    widest: tuple[int, ...] = (1, 64)
    repetitions: int = 20
    families: tuple[str, ...] = tuple(USUAL)
    cells: int = 500


@dataclass(frozen=True)
class _Task:
    """One week."""

    parameters: WeekParameters
    seed: int
    repetition: int


def _measure(parameters: WeekParameters, seed: int, resources: Resources) -> Tables:
    for name, least in (("repetitions", 2), ("cells", 1)):
        if getattr(parameters, name) < least:
            raise ParameterError(name, f"a whole number of at least {least}", getattr(parameters, name))
    # A trial draw reports errors in the parameters before the first week.
    draw_week(parameters.applications, parameters.samples, seed, 0)
    for name in parameters.families:
        if name not in USUAL:
            raise UnknownNameError("usual distribution", name, USUAL)
    own = replace(parameters, repetitions=0)
    tasks = [_Task(own, seed, repetition) for repetition in range(parameters.repetitions)]
    rows = list(collect_rows(_task_rows, tasks, resources))
    return {"": rows, **data_row(False, len(rows), _WHY)}


def _task_rows(task: _Task) -> list[dict[str, Any]]:
    setting = task.parameters
    week = draw_week(setting.applications, setting.samples, task.seed, task.repetition)
    # Jobs without plans request their true runtimes.
    plans: dict[str, Any] = {**make_plans(week, setting.samples, setting.families, setting.cells), "omniscient": {}}
    rows = []
    for load, widest in itertools.product(setting.loads, setting.widest):
        nodes = draw_widths(len(week.runtimes), widest, task.seed, task.repetition)
        work = float(week.runtimes @ nodes)
        machine = max(int(nodes.max()), round(work / (load * WEEK)))
        where = {"load": load, "widest": widest, "repetition": task.repetition}
        size = {"jobs": len(nodes), "work_node_hours": work, "machine": machine}
        rows += [
            {**where, **size, "strategy": name, **run_week(week, own, nodes, machine)} for name, own in plans.items()
        ]
    return rows


class _Case:
    """Rows of one load and one width."""

    def __init__(self, rows: Sequence[Row], load: float, widest: int) -> None:
        self.rows = [row for row in rows if row["load"] == load and row["widest"] == widest]
        self.label = f"load {load:g}, {f'1 to {widest} nodes' if widest > 1 else '1 node'} a job"

    def change(self, metric: Metric, strategy: str, base: str) -> Interval:
        """Relative change of a metric from one strategy to another, over the weeks.

        The mean is geometric, because the large ratios of overloaded weeks would dominate an arithmetic mean.
        """
        own, other = (in_order(self.rows, metric.name, strategy=name) for name in (strategy, base))
        return geometric_ratio(own, other)


def _cases(rows: Sequence[Row]) -> list[_Case]:
    """Cases, the judged one first."""
    return [_Case(rows, load, widest) for load, widest in dict.fromkeys((row["load"], row["widest"]) for row in rows)]


@dataclass(frozen=True)
class _Claim:
    """A statement of section VI-A on the change from HPC to the strategy that is made from ``samples`` runs."""

    claim: str
    printed: str
    metric: Metric
    samples: int
    rule: Rule


_CHANGE = "the mean change, week by week,"
_PLACE = text("VI-A")
_CLAIMS = (
    _Claim("the average stretch falls by over 25 %", "over 25 %", STRETCH, 10, Below(-0.25, _CHANGE, "%", 100)),
    _Claim("the average job makespan falls by 33 %", "33 %", RESPONSE, 110, Near(-0.33, POINTS, _CHANGE, "%", 100)),
    _Claim("the makespan of the week falls by 33 %", "33 %", WHOLE, 110, Near(-0.33, POINTS, _CHANGE, "%", 100)),
    _Claim("utilisation rises by almost 50 %", "almost 50 %", UTILIZATION, 110, Near(0.5, POINTS, _CHANGE, "%", 100)),
)


def _judge(tables: Tables) -> list[Verdict]:
    cases = _cases(tables[""])
    strategies = dict.fromkeys(str(row["strategy"]) for row in tables[""])
    sizes = [int(name.split()[1]) for name in strategies if name.startswith("continuous")]
    verdicts = [_verdict(claim, cases) for claim in _CLAIMS if claim.samples in sizes]
    least, most = min(sizes), max(sizes)
    efficient = [case.change(STRETCH, f"continuous {least}", "masi") for case in cases]
    asked = [case.change(RESERVED, f"continuous {most}", "hpc") for case in cases]
    masi = Statement(
        f"even with little data ({least} runs) the strategies are efficient: less stretch than MASI's average",
        "efficient", _PLACE,
    )  # fmt: skip
    reserved = Statement(
        f"what is reserved, from {most} previous runs, falls by 33 % or more against HPC", "33 % or more", HYPOTHESIS
    )
    remark = "time that is reserved and not used is free for others at once here (EASY): it is no loss to the machine"
    verdicts += [
        masi.judge(Below(quantity=_CHANGE), efficient[0], _change_list(cases, efficient)),
        reserved.judge(AtMost(-0.33, _CHANGE, "%", 100), asked[0], _change_list(cases, asked), remark),
    ]
    return [restrict_verdict(tables, verdict) for verdict in verdicts]


def _verdict(claim: _Claim, cases: Sequence[_Case]) -> Verdict:
    size = claim.samples
    changes = [case.change(claim.metric, f"continuous {size}", "hpc") for case in cases]
    same = cases[0].change(claim.metric, f"continuous {size}", f"hpc {size}")
    ceiling = cases[0].change(claim.metric, "omniscient", "hpc")
    remark = (
        f"against HPC that knows the same {size} runs {same.text('+.0f', 100)} %; the omniscient against HPC "
        f"{ceiling.text('+.0f', 100)} %"
    )
    statement = Statement(f"from {size} previous runs, {claim.claim} against HPC", claim.printed, _PLACE)
    return statement.judge(claim.rule, changes[0], _change_list(cases, changes), remark)


def _change_list(cases: Sequence[_Case], changes: Sequence[Interval]) -> str:
    return "; ".join(f"{case.label}: {found.text('+.0f', 100)} %" for case, found in zip(cases, changes, strict=True))


_BLUES = ("#9CC9E8", "#4A97C9", "#0072B2", "#00456B")


def _draw(tables: Tables) -> Figure:
    from holdfast.experiments.figures.canvas import PAGE, new_figure, subplots
    from holdfast.experiments.figures.study.intervals import draw_bars, draw_dots
    from holdfast.experiments.figures.style import dress, legend_above, panel_letters

    rows = tables[""]
    names = [name for name in dict.fromkeys(str(row["strategy"]) for row in rows) if not name.startswith("hpc ")]
    colors = {"hpc": "#7F7F7F", "masi": "#E69F00", "omniscient": "#FFFFFF"}
    shades = iter(_BLUES)
    for name in names:
        if name not in colors:
            colors[name] = next(shades, _BLUES[-1])
    titles = {"hpc": "HPC (maximum)", "masi": "MASI (average)"}
    titles |= {name: f"{name} runs" for name in names if name.startswith("continuous")}
    loads = sorted({float(row["load"]) for row in rows})
    widths = sorted({int(row["widest"]) for row in rows})
    metrics = {
        UTILIZATION: "utilisation (%)",
        STRETCH: "average stretch",
        RESPONSE: "job makespan (h)",
        WHOLE: "all done (h)",
    }
    figure = new_figure(PAGE, 0.5 + 1.6 * len(metrics))
    panels = subplots(figure, len(metrics), len(widths), squeeze=False, sharey="row")
    for line, (metric, label) in zip(panels, metrics.items(), strict=True):
        for axes, widest in zip(line, widths, strict=True):
            series = {
                titles.get(name, name): [mean_interval(rows, metric, name, load=load, widest=widest) for load in loads]
                for name in names
            }
            shown = {titles.get(name, name): color for name, color in colors.items()}
            # The logarithmic scale of the stretch has no zero from which a bar could rise.
            draw = draw_dots if metric is STRETCH else draw_bars
            draw(axes, [f"load {load:g}" for load in loads], series, shown, scale=metric.scale)
            if metric is STRETCH:
                # The axis is from 1, the smallest stretch, to the stretch of MASI.
                axes.set_yscale("log")
                axes.set_ylim(bottom=0.85)
                axes.minorticks_off()
                axes.set_yticks([value for value in (1, 2, 5, 10, 20, 50, 100, 200) if value <= axes.get_ylim()[1]])
                axes.yaxis.set_major_formatter("{x:g}")
            title = f"1 to {widest} nodes a job" if widest > 1 else "1 node a job"
            dress(axes, y=label if widest == widths[0] else "", title=title, grid="y")
    panel_letters(list(panels.ravel()))
    handles, texts = panels[0, 0].get_legend_handles_labels()
    legend_above(figure, handles, texts)
    return mark_figure(figure, tables, "generated run logs")


_PAPER = WeekParameters()
#: Quick settings with few families, so that a fit takes a tenth of a second.
FEW_FAMILIES = ("norm", "gamma", "lognorm", "weibull", "truncexpon")

EXPERIMENTS: Sequence[Experiment] = (
    Experiment(
        id="incomplete-fig8",
        title="A week of six applications through the batch scheduler (generated logs)",
        question="What does a strategy from few past runs gain on a machine?",
        parameters=_PAPER,
        quick=replace(_PAPER, loads=(0.9,), widest=(1,), repetitions=3, families=FEW_FAMILIES),
        measure=_measure,
        judge=_judge,
        draw=_draw,
        choices=(
            "A job that ends early gives its nodes back at once, and its next reservation goes to the end of the "
            "queue; `incomplete-readings` combines the other readings of these and of further sentences.",
        ),
        stores=True,
    ),
)
