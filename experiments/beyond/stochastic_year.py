"""Experiment: turnaround, utilisation and cost of a Theta-like year with a growing share of stochastic projects.

A job of a stochastic project requests the reservations that a strategy plans from the completed runtimes of the
project, instead of the walltime that its user requested.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from holdfast.experiments.planning.closed_loop import wait_samples
from holdfast.experiments.statistics import paired_interval
from holdfast.experiments.study.experiment import Experiment, Resources, Row, Tables
from holdfast.experiments.study.hypotheses import hypothesis
from holdfast.experiments.study.metrics import find_metric
from holdfast.experiments.study.row_cache import collect_rows
from holdfast.experiments.study.rules import Above
from holdfast.experiments.study.verdicts import Verdict
from holdfast.policies.planning.plan_book import Planner, reserved_time
from holdfast.policies.planning.waits.fitting import fit_waits
from holdfast.simulator import simulate
from holdfast.simulator.results.metrics import summarize
from holdfast.simulator.results.reservations import work_utilization
from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.hybrid.assignment import assign
from holdfast.workloads.table.job import JobType
from holdfast.workloads.theta.generator import generate
from holdfast.workloads.theta.year import ThetaYear

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from holdfast.workloads.logs.trace import Trace

__all__ = ["EXPERIMENTS"]

#: Keeps the users' walltimes: no history reaches this length, so no plan is made.
_WALLTIME = "walltime"
#: The optimal plan for the waits by request when all jobs asked for walltimes.
_WAITS = "optimal-waits"
_NEVER = 2**31
_STYLES: Mapping[str, tuple[str, str, Any]] = {
    _WALLTIME: ("users' walltimes", "#000000", "-"),
    "maximum": ("maximum", "#7F7F7F", "--"),
    "masi": ("MASI", "#CC79A7", "-."),
    "neuro": ("Neuro", "#882255", ":"),
    "no-ckpt": ("NO-CKPT", "#56B4E9", "--"),
    "all-ckpt": ("ALL-CKPT", "#009E73", "-."),
    "optimal": ("optimal", "#0072B2", "-"),
    _WAITS: ("optimal for waits", "#D55E00", "-"),
}
#: Metrics of the figure, with short titles.
_METRICS = tuple(
    replace(find_metric(name), title=title)
    for name, title in (
        ("turnaround_h", "turnaround, all"),
        ("turnaround_others_h", "turnaround, others"),
        ("turnaround_stochastic_h", "turnaround, stoch."),
        ("work_utilization", "utilisation by work"),
        ("reserved_per_work", "reserved / worked"),
    )
)


@dataclass(frozen=True)
class Year:
    """Parameters.

    Attributes
    ----------
    jobs
        Number of jobs of the generated year.
    years
        Number of generated years, each with a separate seed.
    shares
        Parts of the projects that are stochastic.
    strategies
        Planning strategies; ``walltime``: what the users asked for; ``optimal-waits``: the optimal plan for the waits
        of a year in which all jobs asked for walltimes.
    mechanisms
        Under which they run.
    """

    jobs: int = 37298
    years: int = 3
    shares: tuple[float, ...] = (0.1, 0.2, 0.3, 0.4, 0.5)
    strategies: tuple[str, ...] = tuple(_STYLES)
    mechanisms: tuple[str, ...] = ("baseline", "CUA-SPAA", "N-SPAA")


@dataclass(frozen=True)
class _Task:
    """The runs of one workload under one mechanism."""

    jobs: int
    seed: int
    share: float
    mechanism: str
    strategies: tuple[str, ...]


def _measure(parameters: Year, seed: int, resources: Resources) -> Tables:
    if parameters.years < 1:
        raise ParameterError("years", "at least 1", parameters.years)
    tasks = [
        _Task(parameters.jobs, seed + year, share, mechanism, parameters.strategies)
        for year, share, mechanism in itertools.product(
            range(parameters.years), (0.0, *(share for share in parameters.shares if share)), parameters.mechanisms
        )
    ]
    return {"": list(collect_rows(_task_rows, tasks, resources))}


def _task_rows(task: _Task) -> list[Row]:
    return list(_rows(task))


@cache
def _year(jobs: int, seed: int) -> Trace:
    return generate(ThetaYear(jobs=jobs), seed=seed)


def _rows(task: _Task) -> Iterator[Row]:
    jobs = assign(_year(task.jobs, task.seed), seed=task.seed, stochastic_share=task.share)
    prices = reserved_time
    # Without stochastic jobs there is nothing to plan, and one simulation suffices.
    for strategy in ("", *task.strategies) if task.share else ("none",):
        if strategy == "":
            if _WAITS not in task.strategies:
                continue
            asked = _simulate(jobs, task.mechanism, _WALLTIME, reserved_time)
            prices = fit_waits(*wait_samples(asked, jobs)).costs_for
            continue
        result = _simulate(jobs, task.mechanism, strategy, prices if strategy == _WAITS else reserved_time)
        summary = summarize(result)
        others = [
            record for record in result.records if record.type is not JobType.STOCHASTIC and record.end is not None
        ]
        waited = [
            record.end - record.submit for record in others if record.end is not None and record.submit is not None
        ]
        runtimes = {course.job_id: course.runtime for course in result.stochastic}
        work = sum(record.nodes * runtimes[record.job_id] for record in result.records if record.job_id in runtimes)
        reserved = summary.get("reserved_node_hours")
        names = ("turnaround_h", "turnaround_stochastic_h", "utilization", "reservations_per_job")
        yield {
            "seed": task.seed,
            "mechanism": task.mechanism,
            "share": task.share,
            "strategy": strategy,
            "stochastic_jobs": len(runtimes) / len(jobs),
            **{name: summary.get(name) for name in names},
            "work_utilization": work_utilization(result),
            "turnaround_others_h": float(np.mean(waited)) / 3.6e9,
            "instant_start_ratio": summary["instant_start_ratio"],
            "wasted_node_hours": summary.get("wasted_node_hours"),
            "reserved_per_work": reserved / (work / 3.6e9) if work and isinstance(reserved, float) else None,
            "makespan_h": summary["makespan_h"],
        }


def _simulate(jobs: Sequence[Any], mechanism: str, strategy: str, prices: Any) -> Any:
    name = {_WALLTIME: "maximum", _WAITS: "optimal"}.get(strategy, strategy)
    planner = Planner(least=_NEVER if strategy == _WALLTIME else 10, prices=prices)
    named = [_with_plan(job, name) for job in jobs]
    return simulate(named, _NODES, mechanism, events=False, planner=planner)


_NODES = ThetaYear().nodes


def _with_plan(job: Any, plan: str) -> Any:
    from dataclasses import replace

    return replace(job, plan=plan) if job.type is JobType.STOCHASTIC else job


def _values(rows: Iterable[Row], name: str, **where: Any) -> list[float]:
    """A metric of the rows with these values, by seed."""
    found = [row for row in rows if all(row[key] == value for key, value in where.items())]
    return [row[name] for row in sorted(found, key=lambda row: int(row["seed"])) if row[name] is not None]


def _judge(tables: Tables) -> list[Verdict]:
    rows = tables[""]
    shares = sorted({row["share"] for row in rows if row["share"]})
    mechanisms = list(dict.fromkeys(row["mechanism"] for row in rows))
    strategies = {row["strategy"] for row in rows}
    verdicts = []
    questions = (
        (
            "optimal",
            _WALLTIME,
            "turnaround_h",
            "Plans from a project's runs give a shorter turnaround of all jobs than walltimes",
        ),
        (
            "optimal",
            "masi",
            "turnaround_stochastic_h",
            "Stochastic jobs respond sooner with the optimal plan than with MASI's",
        ),
        ("optimal", "no-ckpt", "turnaround_stochastic_h", "Checkpoints shorten the response of stochastic jobs"),
        (_WAITS, "optimal", "turnaround_stochastic_h", "Planning for waits shortens the response of stochastic jobs"),
        (_WAITS, "optimal", "turnaround_others_h", "Planning for waits shortens the turnaround of the other jobs"),
    )
    for better, worse, metric, claim in questions:
        if not {better, worse} <= strategies:
            continue
        for mechanism in mechanisms:
            # The shares of one year are correlated, so their mean is one value for each year.
            left, right = (
                [_values(rows, metric, mechanism=mechanism, share=share, strategy=name) for share in shares]
                for name in (better, worse)
            )
            verdicts.append(
                _judge_difference(f"{claim}, under {mechanism}", np.mean(left, axis=0), np.mean(right, axis=0))
            )
    return verdicts


def _judge_difference(claim: str, better: Any, worse: Any) -> Verdict:
    means = f"{np.mean(better):.2f} h against {np.mean(worse):.2f} h"
    rule = Above(quantity="the time saved a job")
    if len(better) < 2:
        return hypothesis(claim).open("one year has no confidence interval", f"{means}, one year", rule.words)
    gain = paired_interval(worse, better)
    measured = f"{means}; {gain.text('+.2f')} h saved a job, mean over the shares"
    return hypothesis(claim).judge(rule, gain, measured, f"over {len(better)} years")


def _draw(tables: Tables) -> Figure:
    from matplotlib.ticker import LogLocator, NullFormatter

    from holdfast.experiments.figures.canvas import PAGE, new_figure, subplots
    from holdfast.experiments.figures.style import dress, legend_above

    rows = tables[""]
    mechanisms = list(dict.fromkeys(row["mechanism"] for row in rows))
    strategies = [name for name in dict.fromkeys(row["strategy"] for row in rows) if name != "none"]
    figure = new_figure(PAGE, 1.75 * len(mechanisms) + 0.4)
    panels = subplots(figure, len(mechanisms), len(_METRICS), squeeze=False)
    handles = {}
    for line, mechanism in zip(panels, mechanisms, strict=True):
        for axes, metric in zip(line, _METRICS, strict=True):
            none = _values(rows, metric.name, mechanism=mechanism, share=0)
            for strategy in strategies:
                words, color, dashes = _STYLES.get(strategy, (strategy, "#999933", "-"))
                shares = sorted({row["share"] for row in rows if row["strategy"] == strategy})
                means = [
                    metric.scale
                    * float(np.mean(_values(rows, metric.name, mechanism=mechanism, share=share, strategy=strategy)))
                    for share in shares
                ]
                if none:
                    shares, means = [0, *shares], [metric.scale * float(np.mean(none)), *means]
                percent = [100 * share for share in shares]
                (handles[words],) = axes.plot(
                    percent, means, color=color, linestyle=dashes, linewidth=1.1, marker="o", markersize=1.8
                )
            last = mechanism == mechanisms[-1]
            if metric.name.startswith("turnaround"):
                # Where plans overload the machine, turnaround grows without bound and would hide all other values.
                axes.set_yscale("log")
                axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
                axes.yaxis.set_major_formatter("{x:g}")
                axes.yaxis.set_minor_formatter(NullFormatter())
            elif not metric.percent:
                axes.set_ylim(bottom=0)
            dress(axes, x="stochastic (%)" if last else "", y="", title="")
            axes.set_title(metric.label if mechanism == mechanisms[0] else "", fontsize=6.5, loc="left")
        line[0].set_ylabel(mechanism, fontsize=8)
    legend_above(figure, list(handles.values()), list(handles), columns=4)
    return figure


_QUICK = Year(3000, 2, (0.3,), (_WALLTIME, "masi", "optimal", _WAITS), ("baseline",))

EXPERIMENTS = (
    Experiment(
        "beyond-stochastic",
        "A Theta-like year with more and more stochastic projects",
        "What do planning strategies change for turnaround, utilisation and cost?",
        Year(),
        _QUICK,
        _measure,
        _judge,
        _draw,
        stores=True,
    ),
)
