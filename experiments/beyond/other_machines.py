"""Experiment: whether queue orders and mechanisms rank the same on logs of three centres as on generated years.

The user gives the paths of the logs, because they are not part of Holdfast: an anonymised year of Theta, and the
smaller machines KTH-SP2 and SDSC-BLUE, with other jobs and users. Orders are compared on rigid jobs. For the
mechanisms, types, overheads and notices are drawn by project, or by user where the log names only users; repetitions on
a log differ in these draws alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from holdfast.experiments.beyond.rankings import (
    SAME_ORDER,
    SAME_RANKING,
    by_dataset,
    compare_rankings,
    judge_ranking,
    same_ranking,
)
from holdfast.experiments.beyond.trace_pairs import read_log
from holdfast.experiments.study.evidence import average, every, judge_finding
from holdfast.experiments.study.experiment import Experiment, Resources, Row, Tables
from holdfast.experiments.study.hypotheses import hypothesis
from holdfast.experiments.study.measurement_table import Measured
from holdfast.experiments.study.parameters import data_file
from holdfast.experiments.study.row_cache import collect_rows
from holdfast.experiments.study.rules import Decision
from holdfast.experiments.study.simulation_cache import ALL, SIX, Traces
from holdfast.experiments.study.verdicts import Outcome, Verdict
from holdfast.policies.mechanism import BASELINE
from holdfast.policies.order import ORDERS
from holdfast.simulator import simulate
from holdfast.simulator.results.metrics import summarize
from holdfast.workloads.hybrid.assignment import as_rigid, assign
from holdfast.workloads.logs.trace import Trace
from holdfast.workloads.theta.generator import generate
from holdfast.workloads.theta.year import ThetaYear

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENTS", "GENERATED", "LOGS"]

GENERATED = "generated"
#: Titles of the logs, by the name of their parameter.
LOGS: Mapping[str, str] = {"theta": "Theta's log of 2022", "kth": "KTH-SP2", "blue": "SDSC-BLUE"}

#: Metrics by which orders and mechanisms are ranked.
_OF_ORDERS: Sequence[str] = ("wait_h", "bounded_slowdown")
_OF_MECHANISMS: Sequence[str] = ("turnaround_h", "instant_start_ratio_strict", "preemption_ratio_malleable")
_BESIDE = "utilization"
_WORDS = {
    "wait_h": "mean wait",
    "bounded_slowdown": "mean bounded slowdown",
    "turnaround_h": "turnaround of all jobs",
    "instant_start_ratio_strict": "instant starts (0 s)",
    "preemption_ratio_malleable": "preempted malleable jobs",
}


@dataclass(frozen=True)
class OtherMachines(Traces):
    """Parameters; ``traces`` is also how often types, overheads and notices are drawn on a log.

    Attributes
    ----------
    orders
        With parameters after a blank; empty: all that are built in.
    mix
        Notice mix.
    most_jobs
        Number of jobs taken from the beginning of each log; 0: all.
    theta, kth, blue
        Logs of Theta 2022, KTH-SP2 and SDSC-BLUE; empty: left out.
    """

    orders: tuple[str, ...] = ()
    mix: str = "W5"
    most_jobs: int = 0
    theta: str = data_file("traces/theta_2022.swf.gz")
    kth: str = data_file("traces/KTH-SP2-1996-2.1-cln.swf.gz")
    blue: str = data_file("traces/SDSC-BLUE-2000-4.2-cln.swf.gz")


@dataclass(frozen=True)
class _Task:
    """One simulation: of an order with rigid jobs, or of a mechanism; of a log ``jobs`` are the first that count."""

    dataset: str
    path: str
    jobs: int
    trace: int
    order: str = ""
    mechanism: str = ""
    mix: str = ""


def _measure(parameters: OtherMachines, seed: int, resources: Resources) -> Tables:
    orders = parameters.orders or tuple(item.name for item in ORDERS.entries() if item.origin == "built in")
    for name in orders:
        ORDERS[name]  # an unknown one is refused before anything is computed
    repeated = range(seed, seed + parameters.traces)
    given = {name: getattr(parameters, name) for name in LOGS if getattr(parameters, name)}
    ordered = [_Task(GENERATED, "", parameters.jobs, year, order=order) for year in repeated for order in orders]
    mixed = [
        _Task(GENERATED, "", parameters.jobs, year, mechanism=name, mix=parameters.mix)
        for year in repeated
        for name in ALL
    ]
    for dataset, path in given.items():
        ordered += [_Task(dataset, path, parameters.most_jobs, 0, order=order) for order in orders]
        mixed += [
            _Task(dataset, path, parameters.most_jobs, draw, mechanism=name, mix=parameters.mix)
            for draw in repeated
            for name in ALL
        ]
    # Tasks of one trace are adjacent, because a process keeps the trace that it read last.
    tasks = sorted([*ordered, *mixed], key=lambda task: [GENERATED, *LOGS].index(task.dataset))
    rows = list(collect_rows(_task_rows, tasks, resources, files=[task.path for task in tasks]))
    return {
        "": [row for row in rows if "order" in row],
        "mechanisms": [row for row in rows if "mechanism" in row],
    }


@lru_cache(maxsize=1)
def _trace(path: str, jobs: int, year: int) -> Trace:
    if not path:
        return generate(ThetaYear(jobs=jobs), year)
    return read_log(path, jobs)


def _task_rows(task: _Task) -> list[Row]:
    trace = _trace(task.path, task.jobs, task.trace if not task.path else 0)
    nodes = trace.nodes or 0
    if task.order:
        result = simulate(as_rigid(trace), nodes, order=task.order, events=False)
        own, metrics = {"order": task.order}, _OF_ORDERS
    else:
        jobs = assign(trace, seed=task.trace, notice_mix=task.mix)
        result = simulate(jobs, nodes, task.mechanism, events=False)
        own, metrics = {"mechanism": task.mechanism}, _OF_MECHANISMS
    summary = summarize(result)
    known = {name: None if summary[name] != summary[name] else float(summary[name]) for name in (*metrics, _BESIDE)}
    return [{"dataset": task.dataset, "trace": task.trace, **own, **known}]


# Verdicts.


def _judge(tables: Tables) -> list[Verdict]:
    orders = by_dataset(tables[""])
    mechanisms = by_dataset(tables["mechanisms"])
    return [
        *(verdict for log in LOGS for verdict in _of_orders(orders, log)),
        *(verdict for log in LOGS for verdict in _of_mechanisms(mechanisms, log)),
    ]


def _missing_log(log: str) -> str:
    return f"no log was given (--set {log}=PATH)"


def _of_orders(data: Mapping[str, Measured], log: str) -> Iterator[Verdict]:
    """Whether the orders rank on the log as on generated years."""
    for metric in _OF_ORDERS:
        statement = hypothesis(f"The orders' ranking by {_WORDS[metric]} on {LOGS[log]} is that on generated years")
        if log not in data:
            yield statement.open(_missing_log(log), rule=SAME_RANKING.words)
            continue
        orders = data[log].values("order")
        sides = [np.array([data[name](metric, order=order) for order in orders]).T for name in (GENERATED, log)]
        yield same_ranking(statement, *sides)


def _of_mechanisms(data: Mapping[str, Measured], log: str) -> Iterator[Verdict]:
    """Whether the ranking of the mechanisms carries over, and how they differ from the baseline."""
    own = data.get(log)
    for metric in _OF_MECHANISMS:
        statement = hypothesis(
            f"The mechanisms' ranking by {_WORDS[metric]} on generated years carries over to {LOGS[log]}"
        )
        if own is None:
            yield statement.open(_missing_log(log), rule=SAME_ORDER)
            continue
        outcome, measured = judge_ranking(compare_rankings(data[GENERATED], own, metric))
        if outcome is Outcome.NOT_COMPARABLE:
            yield statement.open("there is no ranking to carry over", measured, SAME_ORDER)
        else:
            yield statement.verdict(Decision(outcome), SAME_ORDER, measured)
    for metric, unit, compare, words in (
        (
            "instant_start_ratio_strict",
            "points",
            every,
            f"Each mechanism starts more on-demand jobs at once (0 s) than the baseline on {LOGS[log]}",
        ),
        (
            "turnaround_h",
            "h",
            average,
            f"The mechanisms have a longer turnaround than the baseline on {LOGS[log]}, mean of the six",
        ),
    ):
        if own is None:
            yield hypothesis(words).open(_missing_log(log))
            continue
        pairs = {name: (own(metric, name), own(metric, BASELINE)) for name in SIX}
        yield judge_finding(hypothesis(words), unit, compare(pairs, 1), f"over {len(own.traces)} draws of types")


def _draw(tables: Tables) -> Figure:
    from holdfast.experiments.figures.study.rankings import plot_rankings

    return plot_rankings(tables[""], tables["mechanisms"], {GENERATED: "generated years", **LOGS})


EXPERIMENTS: Sequence[Experiment] = (
    Experiment(
        id="beyond-machines",
        title="Orders and mechanisms on the logs of three machines",
        question="Do queue orders and mechanisms rank on other machines as on generated years?",
        parameters=OtherMachines(traces=5),
        quick=OtherMachines(jobs=300, traces=2, most_jobs=300),
        measure=_measure,
        judge=_judge,
        draw=_draw,
        stores=True,
        choices=(
            "Orders are compared with rigid jobs under EASY. They use the requested walltime; F1 to F4 are used as "
            "printed.",
            "Types are drawn by project, or by user where a log names no projects, or by campaign where it names "
            "neither. The shares, sizes and leads are those of the hybrid paper, relative to the machine.",
            "A log has one run for each order, and for each mechanism one for each draw of types, overheads and "
            "notices: intervals do not describe another year.",
            "A ranking of mechanisms carries over by the rule of beyond-theta.",
        ),
    ),
)
