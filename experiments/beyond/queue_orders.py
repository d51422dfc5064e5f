"""Experiment: waits under every queue order and backfilling rule, on generated years and on the log of a real one.

All jobs are rigid, as under the baseline. The experiment includes every built-in order and rule but no plug-ins.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from holdfast.experiments.beyond.rankings import SAME_RANKING, same_ranking
from holdfast.experiments.beyond.trace_pairs import cut
from holdfast.experiments.study.evidence import Finding, Pair, average, difference, every
from holdfast.experiments.study.experiment import Experiment, Resources, Row, Tables
from holdfast.experiments.study.hypotheses import Hypothesis, hypothesis, verdicts
from holdfast.experiments.study.measurement_table import Measured
from holdfast.experiments.study.parameters import data_file
from holdfast.experiments.study.row_cache import collect_rows
from holdfast.experiments.study.simulation_cache import Traces
from holdfast.experiments.study.verdicts import Verdict
from holdfast.policies.backfilling import BACKFILLING
from holdfast.policies.order import ORDERS
from holdfast.simulator import simulate
from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.ground.registry import Registry
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.hybrid.assignment import as_rigid
from holdfast.workloads.logs.readers import read_trace
from holdfast.workloads.logs.trace import Trace
from holdfast.workloads.theta.generator import generate
from holdfast.workloads.theta.year import ThetaYear

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from holdfast.simulator import Result

__all__ = ["CLASSES", "EXPERIMENTS"]

_GENERATED, _REAL = "generated", "theta-2022"
#: Largest sizes of the size classes [nodes], by title.
CLASSES: Mapping[str, float] = {"to 256 nodes": 256, "257 to 1,024 nodes": 1024, "over 1,024 nodes": np.inf}
_ALL = "all"
_LARGE = list(CLASSES)[-1]
#: In addition to the rules of the registry: EASY with more than one reservation.
_DEEP = "easy depth=8"


@dataclass(frozen=True)
class QueueOrders(Traces):
    """Parameters.

    Attributes
    ----------
    orders, rules
        With parameters after a blank; empty: all built-in ones, and EASY with eight reservations.
    trace
        A log of Theta; empty: it is left out.
    nodes
        Size of the machine if the header of the log does not give it; 0: unknown.
    most_jobs
        Number of jobs taken from the beginning of the log; 0: all.
    """

    orders: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    trace: str = data_file("traces/theta_2022.swf.gz")
    nodes: int = 0
    most_jobs: int = 0


@dataclass(frozen=True)
class _Task:
    """One simulation."""

    parameters: QueueOrders
    dataset: str
    seed: int
    order: str
    rule: str


def _names_of_built_ins(registry: Registry[Any]) -> tuple[str, ...]:
    return tuple(item.name for item in registry.entries() if item.origin == "built in")


def _measure(parameters: QueueOrders, seed: int, resources: Resources) -> Tables:
    rules = parameters.rules or (*_names_of_built_ins(BACKFILLING), _DEEP)
    orders = parameters.orders or _names_of_built_ins(ORDERS)
    for registry, names in ((ORDERS, orders), (BACKFILLING, rules)):
        for name in names:
            registry[name]  # an unknown one is refused before anything is computed
    traces = [(_GENERATED, seed + number) for number in range(parameters.traces)]
    if parameters.trace:
        _trace(parameters, _REAL, 0)
        traces.append((_REAL, 0))
    # A task contains only what it depends on, so that other choices can reuse its stored rows.
    own = replace(parameters, traces=2, orders=(), rules=())
    tasks = [
        _Task(own, dataset, number, order, rule) for dataset, number in traces for order in orders for rule in rules
    ]
    files = [parameters.trace if task.dataset == _REAL else "" for task in tasks]
    return {"": list(collect_rows(_task_rows, tasks, resources, files=files))}


@lru_cache(maxsize=2)
def _trace(parameters: QueueOrders, dataset: str, seed: int) -> Trace:
    if dataset == _GENERATED:
        return generate(ThetaYear(jobs=parameters.jobs), seed)
    trace = read_trace(parameters.trace)
    nodes = trace.nodes or parameters.nodes
    if not nodes:
        raise ParameterError("nodes", f"given, because {parameters.trace} does not say it", parameters.nodes)
    trace = trace.on_machine(nodes)
    return cut(trace, parameters.most_jobs) if parameters.most_jobs else trace


def _task_rows(task: _Task) -> list[Row]:
    trace = _trace(task.parameters, task.dataset, task.seed)
    result = simulate(as_rigid(trace), trace.nodes or 0, order=task.order, backfilling=task.rule, events=False)
    return list(_rows(task, result))


def _rows(task: _Task, result: Result) -> Iterator[Row]:
    """A row for all jobs and one for each size class; times in hours, utilisation for all jobs only."""
    summary = result.summary()
    records = [record for record in result.records if record.start is not None and record.submit is not None]
    nodes = np.array([record.nodes for record in records])
    wait = np.array([record.wait for record in records]) / SECOND
    runtime = np.array([record.runtime for record in records]) / SECOND
    slowdown = np.maximum(1.0, (wait + runtime) / np.maximum(runtime, 10.0))
    least = 0.0
    for name, most in {_ALL: np.inf, **CLASSES}.items():
        chosen = (nodes > least) & (nodes <= most)
        least = most if name != _ALL else 0.0
        some = bool(chosen.any())
        yield {
            "dataset": task.dataset,
            "trace": task.seed,
            "order": task.order,
            "rule": task.rule,
            "sizes": name,
            "jobs": int(chosen.sum()),
            "wait_h": float(wait[chosen].mean()) / 3600 if some else None,
            "wait_p95_h": float(np.percentile(wait[chosen], 95)) / 3600 if some else None,
            "bounded_slowdown": float(slowdown[chosen].mean()) if some else None,
            "utilization": summary["utilization"] if name == _ALL else None,
        }


# Hypotheses.


def _against_fcfs(data: Measured, metric: str, orders: Iterable[str], sizes: str = _ALL) -> dict[str, Pair]:
    """The metric under some orders and under first come, first served, all with EASY."""
    where = {"rule": "easy", "sizes": sizes}
    fcfs = data(metric, order="fcfs", **where)
    return {order: (data(metric, order=order, **where), fcfs) for order in orders}


def _waits(data: Measured, rule: str, against: str) -> dict[str, Pair]:
    """The mean wait under a rule and under another one, by order."""
    return {
        order: (
            data("wait_h", order=order, rule=rule, sizes=_ALL),
            data("wait_h", order=order, rule=against, sizes=_ALL),
        )
        for order in data.values("order")
    }


def _spread(data: Measured) -> Finding:
    """Spread of the orders' mean waits (log2), with EASY and without backfilling."""

    def spread(rule: str) -> Any:
        waits = np.array([data("wait_h", order=order, rule=rule, sizes=_ALL) for order in data.values("order")])
        return np.log2(waits.max(axis=0) / waits.min(axis=0))

    return difference(spread("easy"), spread("none"), -1)


_LEARNED = ("f1", "f2", "f3", "f4")

#: Hypotheses; under EASY unless stated otherwise.
HYPOTHESES = (
    Hypothesis("Each of F1 to F4 shortens the mean wait against FCFS", "h",
               lambda data: every(_against_fcfs(data, "wait_h", _LEARNED), -1)),
    Hypothesis("Smallest area first lowers the mean bounded slowdown against FCFS", "times",
               lambda data: average(_against_fcfs(data, "bounded_slowdown", ("saf",)), -1)),
    Hypothesis("WFP3 shortens the mean wait of jobs over 1,024 nodes against FCFS", "h",
               lambda data: average(_against_fcfs(data, "wait_h", ("wfp3",), _LARGE), -1)),
    Hypothesis("Smallest area first lengthens the 95th percentile of the waits of jobs over 1,024 nodes", "h",
               lambda data: average(_against_fcfs(data, "wait_p95_h", ("saf",), _LARGE), 1)),
    Hypothesis("Fair share by project shortens the mean wait against FCFS", "h",
               lambda data: average(_against_fcfs(data, "wait_h", ("fairshare",)), -1)),
    Hypothesis("Largest area first has a higher utilisation than smallest area first", "points",
               lambda data: difference(data("utilization", order="laf", rule="easy", sizes=_ALL),
                                       data("utilization", order="saf", rule="easy", sizes=_ALL), 1)),
    Hypothesis("EASY shortens the mean wait against no backfilling, under each order", "h",
               lambda data: every(_waits(data, "easy", "none"), -1)),
    Hypothesis("Conservative backfilling lengthens the mean wait against EASY, mean of the orders", "h",
               lambda data: average(_waits(data, "conservative", "easy"), 1)),
    Hypothesis("EASY with eight reservations lengthens the mean wait against EASY with one, mean of the "
               "orders", "h", lambda data: average(_waits(data, _DEEP, "easy"), 1)),
    Hypothesis("The longest over the shortest mean wait of the orders is smaller with EASY than without "
               "backfilling", "doublings", _spread),
)  # fmt: skip


def _judge(tables: Tables) -> list[Verdict]:
    rows = tables[""]
    generated = [row for row in rows if row["dataset"] == _GENERATED]
    return [*verdicts(HYPOTHESES, Measured(generated)), *_ranking_verdicts(rows)]


def _ranking_verdicts(rows: Sequence[Row]) -> Iterator[Verdict]:
    """Whether the ranking of the orders on generated years is that on the log."""
    for metric, words in (("wait_h", "mean wait"), ("bounded_slowdown", "mean bounded slowdown")):
        claim = f"The orders' ranking by {words} under EASY on Theta's log of 2022 is that on generated years"
        sides = []
        for dataset in (_GENERATED, _REAL):
            chosen = [row for row in rows if (row["dataset"], row["rule"], row["sizes"]) == (dataset, "easy", _ALL)]
            orders = sorted({str(row["order"]) for row in chosen})
            data = Measured(chosen)
            sides.append(np.array([data(metric, order=order) for order in orders]).T)
        if sides[1].size == 0 or sides[1].shape[1] < 3:
            remark = "no log was given (--set trace=PATH), or fewer than three orders under EASY"
            yield hypothesis(claim).open(remark, rule=SAME_RANKING.words)
            continue
        yield same_ranking(hypothesis(claim), *sides)


def _draw(tables: Tables) -> Figure:
    from holdfast.experiments.figures.study.orders import plot_orders

    return plot_orders(tables[""], tuple(CLASSES), _GENERATED)


EXPERIMENTS: Sequence[Experiment] = (
    Experiment(
        id="beyond-orders",
        title="Queue orders and backfilling rules",
        question="Which queue order and which backfilling rule are best, and for which jobs?",
        parameters=QueueOrders(traces=5),
        quick=QueueOrders(jobs=300, traces=2, most_jobs=300),
        measure=_measure,
        judge=_judge,
        draw=_draw,
        stores=True,
        choices=(
            "All jobs are rigid, with the runtimes and requests of the trace; there are no mechanisms.",
            "Orders use the requested walltime. F1 to F4 are used as printed, though they were fitted to other "
            "machines.",
            "Fair share is by project. The log of 2022 names none; there, fair share equals first come, first "
            "served (FCFS).",
            "The one log has no interval; only rankings are compared with it. Lines in the figure span the "
            "generated years.",
        ),
    ),
)
