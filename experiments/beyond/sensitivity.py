"""Experiment: Morris' elementary effects of the workload and machine parameters on the ranking of the mechanisms.

Each trajectory starts at a random point of the parameter ranges and moves one parameter after the other, so a few
simulations show which parameters have an effect at any setting of the others. The response is not a metric but the
difference between a mechanism and the mean of the six: a parameter that shifts all mechanisms equally does not affect
the choice among them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.experiments.study.evidence import Finding, every, judge_finding, missing_finding
from holdfast.experiments.study.experiment import Experiment, Resources, Row, Tables
from holdfast.experiments.study.hypotheses import hypothesis
from holdfast.experiments.study.metrics import find_metric
from holdfast.experiments.study.row_cache import collect_rows
from holdfast.experiments.study.simulation_cache import SIX
from holdfast.experiments.study.verdicts import Verdict
from holdfast.simulator import simulate
from holdfast.simulator.results.metrics import summarize
from holdfast.workloads.ground.errors import MissingPackageError, ParameterError, installation
from holdfast.workloads.hybrid.assignment import assign
from holdfast.workloads.table.job import Job
from holdfast.workloads.theta.generator import generate
from holdfast.workloads.theta.year import ThetaYear

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENTS", "FACTORS", "METRICS", "Range", "Sensitivity", "elementary_effects", "swap_shares"]

Floats = NDArray[np.float64]
_YEAR = 365 * 86400.0
#: Metrics of the paper's questions.
METRICS = ("turnaround_h", "utilization", "instant_start_ratio_strict")
#: Levels of a parameter on Morris' grid.
_GRID = 4


class Range(NamedTuple):
    """A parameter.

    Attributes
    ----------
    title, unit
        For readers.
    low, high
        Its range.
    logarithmic
        Whether it is drawn by its logarithm.
    """

    title: str
    unit: str
    low: float
    high: float
    logarithmic: bool = False

    def at(self, place: float) -> float:
        """The value at a position from 0 to 1."""
        if self.logarithmic:
            return float(self.low * (self.high / self.low) ** place)
        return self.low + place * (self.high - self.low)


FACTORS: Mapping[str, Range] = {
    "load": Range("Work submitted, ratio to Theta's", "", 0.8, 1.1),
    "on_demand_share": Range("Share of on-demand projects", "", 0.05, 0.2),
    "min_share": Range("Smallest size of a malleable job", "", 0.05, 1.0),
    "setup": Range("Longest setup of a rigid job", "", 0.0, 0.2),
    "notice_lead": Range("Lead of a notice", "h", 0.0, 4.0),
    "accurate_share": Range("Share of accurate notices", "", 0.0, 1.0),
    "node_mtbf": Range("MTBF of a node", "years", 0.25, 10.0, logarithmic=True),
}


@dataclass(frozen=True)
class Sensitivity:
    """Parameters.

    Attributes
    ----------
    jobs
        Number of jobs of each generated year.
    traces
        Years at each point.
    trajectories
        Number of trajectories, 2 or more; each has one point more than there are parameters.
    """

    jobs: int = 12_000
    traces: int = 2
    trajectories: int = 12

    def __post_init__(self) -> None:
        if self.trajectories < 2:
            raise ParameterError("trajectories", "at least 2, for a confidence interval", self.trajectories)
        if self.traces < 1:
            raise ParameterError("traces", "at least 1", self.traces)


@dataclass(frozen=True)
class _Point:
    """One point in the parameter space, on one year."""

    jobs: int
    trace: int
    values: tuple[float, ...]


def _problem() -> dict[str, Any]:
    return {"num_vars": len(FACTORS), "names": list(FACTORS), "bounds": [[0.0, 1.0]] * len(FACTORS)}


def _salib(module: str) -> Any:
    try:
        from importlib import import_module

        return import_module(f"SALib.{module}.morris")
    except ImportError:
        raise MissingPackageError(f"it needs the package SALib; install it with {installation('study')}") from None


@lru_cache(maxsize=2)
def _table(point: _Point) -> tuple[Sequence[Job], int]:
    own = dict(zip(FACTORS, point.values, strict=True))
    default = ThetaYear()
    trace = generate(ThetaYear(jobs=point.jobs, work_per_job=own["load"] * default.work_per_job), point.trace)
    share, accurate, setup = own["on_demand_share"], own["accurate_share"], own["setup"]
    jobs = assign(
        trace,
        seed=point.trace,
        # As in the paper: two rigid projects for each malleable one; equal shares of no, early and late notices.
        shares=(share, (1.0 - share) * 2 / 3, 1.0 - share - (1.0 - share) * 2 / 3),
        notice_mix=((1.0 - accurate) / 3, accurate, (1.0 - accurate) / 3, 1.0 - accurate - 2 * ((1.0 - accurate) / 3)),
        min_share=own["min_share"],
        rigid_setup=(setup / 2, setup),
        malleable_setup=(0.0, setup / 2),
        notice_lead=(own["notice_lead"] * 3600.0,) * 2,
        node_mtbf=own["node_mtbf"] * _YEAR,
    )
    return jobs, trace.nodes or 0


def _work(point: _Point) -> list[Row]:
    jobs, nodes = _table(point)
    rows: list[Row] = []
    for mechanism in SIX:
        summary = summarize(simulate(jobs, nodes, mechanism, events=False))
        # A year without on-demand jobs has no instant starts.
        metrics = {name: None if summary[name] != summary[name] else float(summary[name]) for name in METRICS}
        rows.append({"mechanism": mechanism, **metrics})
    return rows


def _measure(parameters: Sensitivity, seed: int, resources: Resources) -> Tables:
    places: Floats = _salib("sample").sample(_problem(), parameters.trajectories, num_levels=_GRID, seed=seed)
    steps = len(FACTORS) + 1
    tasks, where = [], []
    for number, place in enumerate(places):
        values = tuple(scale.at(float(at)) for scale, at in zip(FACTORS.values(), place, strict=True))
        for trace in range(seed, seed + parameters.traces):
            tasks.append(_Point(parameters.jobs, trace, values))
            own = {f"place_{name}": round(float(at), 9) for name, at in zip(FACTORS, place, strict=True)}
            factors = {name: float(f"{value:.6g}") for name, value in zip(FACTORS, values, strict=True)}
            where.append({"trajectory": number // steps, "step": number % steps, "trace": trace, **factors, **own})
    found = iter(collect_rows(_work, tasks, resources))
    return {"": [{**label, **next(found)} for label in where for _ in SIX]}


def _advantages(rows: Sequence[Row], metric: str) -> tuple[Floats, Floats]:
    """Points, and the advantage of each mechanism over the mean of the six at each point, averaged over traces."""
    keys = list(dict.fromkeys((row["trajectory"], row["step"]) for row in rows))
    order = {key: place for place, key in enumerate(keys)}
    sums = np.zeros((len(keys), len(SIX)))
    counts = np.zeros((len(keys), len(SIX)))
    places = np.zeros((len(keys), len(FACTORS)))
    for row in rows:
        point = order[row["trajectory"], row["step"]]
        places[point] = [row[f"place_{name}"] for name in FACTORS]
        if row[metric] is not None:
            sums[point, SIX.index(row["mechanism"])] += float(find_metric(metric).scale_value(row[metric]))
            counts[point, SIX.index(row["mechanism"])] += 1
    if not counts.all():
        raise LookupError(f"{metric} at every point")
    values = sums / counts
    return places, values - values.mean(axis=1, keepdims=True)


def elementary_effects(places: Floats, values: Floats) -> Floats:
    """Elementary effects: change of a value over the whole range of a parameter, in each trajectory.

    Parameters
    ----------
    places
        Points from 0 to 1, trajectory by trajectory, shape (r (k + 1), k).
    values
        One for each point, shape (r (k + 1),).

    Returns
    -------
    ndarray of float, shape (r, k)
        Elementary effects (Morris, Technometrics 33, 1991).
    """
    count = places.shape[1]
    found = np.empty((len(places) // (count + 1), count))
    for start in range(0, len(places), count + 1):
        moves = np.diff(places[start : start + count + 1], axis=0)
        which = np.abs(moves).argmax(axis=1)
        gaps = np.diff(values[start : start + count + 1])
        found[start // (count + 1), which] = gaps / moves[np.arange(count), which]
    return found


def swap_shares(places: Floats, values: Floats) -> Floats:
    """Share of the pairs of mechanisms that change their order when one parameter moves, in each trajectory.

    Parameters
    ----------
    places
        As of :func:`elementary_effects`.
    values
        A column for each mechanism.

    Returns
    -------
    ndarray of float, shape (r, k)
        Shares from 0 to 1.
    """
    signs = np.array([np.sign(values[:, a] - values[:, b]) for a, b in combinations(range(values.shape[1]), 2)])
    count = places.shape[1]
    found = np.empty((len(places) // (count + 1), count))
    for start in range(0, len(places), count + 1):
        which = np.abs(np.diff(places[start : start + count + 1], axis=0)).argmax(axis=1)
        own = signs[:, start : start + count + 1]
        found[start // (count + 1), which] = (own[:, 1:] * own[:, :-1] < 0).mean(axis=0)
    return found


def _sizes(rows: Sequence[Row], metric: str) -> dict[str, Floats]:
    """Absolute elementary effect on the advantages, averaged over the six mechanisms, by parameter and trajectory."""
    places, values = _advantages(rows, metric)
    sizes = np.mean([np.abs(elementary_effects(places, column)) for column in values.T], axis=0)
    return dict(zip(FACTORS, sizes.T, strict=True))


def _most(metric: str, chosen: str) -> Callable[[Sequence[Row]], Finding]:
    def test(rows: Sequence[Row]) -> Finding:
        sizes = _sizes(rows, metric)
        return every({name: (sizes[chosen], own) for name, own in sizes.items() if name != chosen}, 1)

    return test


def _swaps(metric: str, more: str, fewer: str) -> Callable[[Sequence[Row]], Finding]:
    def test(rows: Sequence[Row]) -> Finding:
        places, values = _advantages(rows, metric)
        swaps = dict(zip(FACTORS, 100.0 * swap_shares(places, values).T, strict=True))
        return every({"": (swaps[more], swaps[fewer])}, 1)

    return test


#: Hypotheses, stated before the measurement.
_HYPOTHESES: Sequence[tuple[str, str, Callable[[Sequence[Row]], Finding]]] = (
    ("The load moves the mechanisms' advantages in turnaround more than each other parameter", "h",
     _most("turnaround_h", "load")),
    ("The smallest size of malleable jobs moves the advantages in utilisation more than each other parameter",
     "points", _most("utilization", "min_share")),
    ("The lead of the notices moves the advantages in instant starts (0 s) more than each other parameter", "points",
     _most("instant_start_ratio_strict", "notice_lead")),
    ("The share of on-demand projects reorders more pairs of mechanisms by turnaround than the MTBF", "points",
     _swaps("turnaround_h", "on_demand_share", "node_mtbf")),
    ("The load reorders more pairs of mechanisms by turnaround than the setup", "points",
     _swaps("turnaround_h", "load", "setup")),
)  # fmt: skip


def _judge(tables: Tables) -> list[Verdict]:
    rows = tables[""]
    count = len({row["trajectory"] for row in rows})
    verdicts = []
    for words, unit, test in _HYPOTHESES:
        try:
            found = test(rows)
        except LookupError as error:
            found = missing_finding(f"no simulations of {error}")
        verdicts.append(judge_finding(hypothesis(words), unit, found, f"over {count} trajectories"))
    return verdicts


def _draw(tables: Tables) -> Figure:
    from holdfast.experiments.figures.study.sensitivity import plot_sensitivity
    from holdfast.experiments.statistics import interval

    bars = []
    shown = []
    for name in METRICS:
        try:
            places, values = _advantages(tables[""], name)
        except LookupError:  # years without on-demand jobs have no instant starts
            continue
        shown.append(find_metric(name))
        swaps = 100.0 * swap_shares(places, values)
        for number, (factor, sizes) in enumerate(_sizes(tables[""], name).items()):
            for kind, own in (("size", interval(sizes)), ("swaps", interval(swaps[:, number]))):
                bars.append(
                    {
                        "metric": name,
                        "factor": factor,
                        "kind": kind,
                        **_bounds(asdict(own), 100.0 if kind == "swaps" else np.inf),
                    }
                )
    titles = {
        name: f"{scale.title}, {scale.low:g} to {scale.high:g}{f' {scale.unit}' if scale.unit else ''}"
        for name, scale in FACTORS.items()
    }
    return plot_sensitivity(bars, titles, shown)


def _bounds(own: Mapping[str, Any], most: float) -> dict[str, float]:
    """Neither a size nor a share is negative, and no share is above 100 %."""
    return {"mean": own["mean"], "low": max(0.0, own["low"]), "high": min(most, own["high"])}


EXPERIMENTS: Sequence[Experiment] = (
    Experiment(
        id="beyond-sensitivity",
        title="Which parameters matter for the ranking of the mechanisms",
        question="Which parameter should one know well before choosing a mechanism?",
        parameters=Sensitivity(),
        quick=Sensitivity(jobs=1500, traces=1, trajectories=2),
        measure=_measure,
        judge=_judge,
        draw=_draw,
        stores=True,
        choices=(
            "Effects are for the whole range of a parameter, on what a mechanism has over the mean of the six.",
            "All points share their years and draws, so that they differ by the parameters alone.",
        ),
    ),
)
