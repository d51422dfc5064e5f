"""The evaluation on real traces: whether the ranking of the mechanisms on generated ones carries over.

Two logs are taken by path, because they are not part of Holdfast: a year without names, whose types are drawn by
campaign, and a sample with projects, whose arrivals are artificial. Beside each stand generated traces of the same
length, load and machine, with types drawn in the same way, so that only the trace differs; and for the year once more
with types by project, so that only what shares a type differs. Types, overheads and notices are drawn several times.
Of a real trace these draws are all that is repeated: intervals tell nothing of another year.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from experiments.beyond.hypotheses import percent
from experiments.beyond.trace_pairs import Source, described, generated_like, source_of, written
from experiments.experiment import Experiment, Resources, Row, Tables
from experiments.papers.hybrid_evidence import Evidence, difference, mean_of
from experiments.papers.hybrid_findings import grid_findings
from experiments.papers.hybrid_grid import ALL, SIX, Measurements, metric_rows
from experiments.parameters import data_file
from experiments.sweeps import make_sweep, run_sweep
from experiments.verdicts import Outcome, Verdict
from policies.mechanism import BASELINE
from workloads.errors import ParameterError
from workloads.generator import generate
from workloads.notices import NOTICE_MIXES
from workloads.theta import ThetaYear
from workloads.trace import Trace

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["DATASETS", "EXPERIMENTS", "carried_rows"]

Floats = NDArray[np.float64]

#: By name: what they are called in words.
DATASETS: Mapping[str, str] = {
    "year": "year, types by campaign",
    "year-generated": "generated, types by campaign",
    "year-generated-projects": "generated, types by project",
    "sample": "sample, types by project",
    "sample-generated": "generated, types by project",
}
#: What is set against what: the first one's ranking, and where it may carry over to.
_PAIRS = {
    "from the generated to the real year": ("year-generated", "year"),
    "from the generated trace to the real sample": ("sample-generated", "sample"),
    "from types by project to types by campaign": ("year-generated-projects", "year-generated"),
}
#: Metrics by which mechanisms are ranked.
_RANKED = {
    "turnaround_h": "turnaround of all jobs",
    "turnaround_rigid_h": "turnaround of the rigid jobs",
    "turnaround_malleable_h": "turnaround of the malleable jobs",
    "instant_start_ratio": "instant starts (120 s)",
    "instant_start_ratio_strict": "instant starts (0 s)",
    "preemption_ratio_rigid": "preempted rigid jobs",
    "preemption_ratio_malleable": "preempted malleable jobs",
    "utilization": "utilisation",
}
#: Of the baseline: whether the level is the generator's.
_LEVELS = ("turnaround_h", "utilization", "instant_start_ratio")


@dataclass(frozen=True)
class RealTraces:
    """Parameters.

    Attributes
    ----------
    trace
        A log of a year (any format that is read); empty: a generated trace stands in, and nothing is comparable.
    projects_trace
        A log with projects, likewise.
    nodes
        Size of the machine of a log whose header does not say it; 0: unknown.
    assignments
        How often types, overheads and notices are drawn, and traces generated; 2 or more.
    mixes
        Of Table III.
    most_jobs
        Only the first so many jobs of a log; 0: all.
    stand_in_jobs
        Of a trace that stands in.
    """

    trace: str = data_file("traces/theta_2022.swf.gz")
    projects_trace: str = data_file("traces/theta_2018_sample_projects.swf.gz")
    nodes: int = 0
    assignments: int = 4
    mixes: tuple[str, ...] = tuple(NOTICE_MIXES)
    most_jobs: int = 0
    stand_in_jobs: int = 3000

    def __post_init__(self) -> None:
        if self.assignments < 2:
            raise ParameterError("assignments", "at least 2, for a confidence interval", self.assignments)


def _measure(parameters: RealTraces, seed: int, resources: Resources) -> Tables:
    place = resources.store / "traces"
    made = {
        name: source_of(path, parameters.nodes, parameters.most_jobs, stand_in, place / name)
        for name, path, stand_in in (
            ("year", parameters.trace, _nameless(_stand_in(parameters, seed))),
            ("sample", parameters.projects_trace, _stand_in(parameters, seed)),
        )
    }
    rows: list[Row] = []
    data: list[Row] = []
    for dataset in DATASETS:
        source = made[dataset.partition("-")[0]]
        by = "campaign" if dataset in ("year", "year-generated") else "project"
        if dataset in made:
            data.append(_data_row(dataset, source, source.trace, by))
            seeds = range(seed, seed + parameters.assignments)
            rows += _simulated(dataset, source.path, seeds, by, parameters, resources)
            continue
        for own in range(seed, seed + parameters.assignments):
            trace = generated_like(source.trace, own)
            path = written(trace, place / f"{dataset.partition('-')[0]}-generated" / f"{own}.swf")
            data.append({**_data_row(dataset, source, trace, by), "seed": own})
            rows += _simulated(dataset, path, [own], by, parameters, resources)
    return {
        "": rows,
        "data": data,
        "observations": _observations(rows),
        "carried": carried_rows(rows),
    }


def _stand_in(parameters: RealTraces, seed: int) -> Trace:
    """A generated trace that no other experiment has."""
    return generate(ThetaYear(jobs=parameters.stand_in_jobs), seed + 1000)


def _nameless(trace: Trace) -> Trace:
    return replace(trace, jobs=tuple(replace(job, user="", project="") for job in trace.jobs))


def _data_row(dataset: str, source: Source, trace: Trace, by: str) -> dict[str, Any]:
    return {"dataset": dataset, "real": int(source.real), "seed": None, "group_by": by, **described(trace, by)}


def _simulated(
    dataset: str, path: Path, seeds: Iterable[int], by: str, parameters: RealTraces, resources: Resources
) -> Iterator[Row]:
    chosen = list(seeds)
    sweep = make_sweep(
        workload={"traces": [str(path)], **({"nodes": parameters.nodes} if parameters.nodes else {})},
        mechanisms=list(ALL),
        assignment={"seeds": chosen, "group_by": by, "notice_mix": list(parameters.mixes)},
    )
    result = run_sweep(
        sweep,
        resources.store / "sweeps" / f"theta-{dataset}",
        store=resources.store,
        workers=resources.workers,
        progress=resources.progress,
    ).complete()
    for row in metric_rows(result):
        yield {"dataset": dataset, **row}


def _by_dataset(rows: Iterable[Row]) -> dict[str, Measurements]:
    own: dict[str, list[Row]] = {}
    for row in rows:
        own.setdefault(row["dataset"], []).append(row)
    return {name: Measurements(lines) for name, lines in own.items()}


def _observations(rows: Iterable[Row]) -> list[Row]:
    """Each claim of the paper about Fig. 6, examined on each dataset."""
    return [
        {"dataset": name, **row} for name, data in _by_dataset(rows).items() for row in grid_findings(data)
    ]  # fmt: skip


def carried_rows(rows: Iterable[Row]) -> list[Row]:
    """How the order of the mechanisms carries over: a row for each pair of datasets and each metric.

    Each two mechanisms are compared on both datasets, draw by draw. ``decided``: pairs whose order the first dataset
    tells; of these ``same`` (the second tells the same), ``reversed`` and ``open``. ``tau``: Kendall's, of the means.
    """
    data = _by_dataset(rows)
    found: list[Row] = []
    for words, (first, second) in _PAIRS.items():
        if first not in data or second not in data:
            continue
        for metric in _RANKED:
            signs = [_orders(data[name], metric) for name in (first, second)]
            told = [(a, b) for a, b in zip(*signs, strict=True) if a]
            means = [[mean_of(data[name](metric, mechanism)) for mechanism in SIX] for name in (first, second)]
            found.append(
                {
                    "carried": words,
                    "metric": metric,
                    "decided": len(told),
                    "same": sum(a == b for a, b in told),
                    "reversed": sum(a == -b for a, b in told),
                    "open": sum(b == 0 for _, b in told),
                    "tau": _tau(*means),
                }
            )
    return found


def _orders(data: Measurements, metric: str) -> list[int]:
    """For each two mechanisms 1 if the first has more, -1 if less, 0 if that is not decided."""
    signs = []
    for place, name in enumerate(SIX):
        for other in SIX[place + 1 :]:
            effect = difference(data(metric, name), data(metric, other), 1).effect
            signs.append(0 if effect is None else int(effect.positive) - int(effect.negative))
    return signs


def _tau(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Kendall's rank correlation (tau-b); None where one side has no order."""
    from scipy.stats import kendalltau

    if len(set(a)) < 2 or len(set(b)) < 2 or not np.isfinite([*a, *b]).all():
        return None
    return float(kendalltau(a, b).statistic)


# Verdicts.


def _judge(tables: Tables) -> list[Verdict]:
    real = {str(row["dataset"]).partition("-")[0]: bool(row["real"]) for row in tables["data"]}
    return [
        *_level_verdicts(tables, real),
        *(_carried_verdict(row, _is_real(row["carried"], real)) for row in tables["carried"]),
        *_observation_verdicts(tables["observations"], real),
    ]


def _is_real(carried: str, real: Mapping[str, bool]) -> bool:
    return real[_PAIRS[carried][1].partition("-")[0]]


def _judged(real: bool, claim: str, measured: str, outcome: Outcome, remark: str = "") -> Verdict:
    """A verdict; not comparable where no real trace was given, but it says what it would be."""
    if real:
        return Verdict(claim, "-", measured, outcome, remark)
    why = f"no trace was given (--set trace=PATH, projects_trace=PATH): a generated one stands in; there it {outcome}"
    return Verdict(claim, "-", measured, Outcome.NOT_COMPARABLE, f"{why}; {remark}" if remark else why)


def _outcome(holds: bool) -> Outcome:
    return Outcome.HOLDS if holds else Outcome.FAILS


def _carried_verdict(row: Row, real: bool) -> Verdict:
    claim = f"The ranking by {_RANKED[row['metric']]} carries over {row['carried']}"
    measured = (
        f"of {row['decided']} decided pairs {row['same']} the same, {row['open']} open, {row['reversed']} reversed"
    )
    if row["tau"] is not None:
        measured += f"; tau {row['tau']:+.2f}"
    if not row["decided"]:
        return Verdict(claim, "-", measured, Outcome.NOT_COMPARABLE, "there is no ranking to carry over")
    holds = row["reversed"] == 0 and 2 * row["same"] > row["decided"]
    return _judged(real, claim, measured, _outcome(holds), "holds if none is reversed and more than half are the same")


def _level_verdicts(tables: Tables, real: Mapping[str, bool]) -> Iterator[Verdict]:
    """Whether the baseline of a real trace is within what generated ones show."""
    data = _by_dataset(tables[""])
    for name, other in (("year", "year-generated"), ("sample", "sample-generated")):
        for metric in _LEVELS:
            own, spread = (data[dataset](metric, BASELINE) for dataset in (name, other))
            unit = "%" if percent(metric) else "h"
            claim = f"The baseline's {_RANKED[metric]} on the real {name} is within what generated traces show"
            middle, low, high = mean_of(own), float(np.nanmin(spread)), float(np.nanmax(spread))
            measured = f"{middle:.2f} {unit}; generated {low:.2f} to {high:.2f} {unit}"
            holds = low <= middle <= high
            remark = f"smallest and largest of {len(spread)} generated traces"
            yield _judged(real[name], claim, measured, _outcome(holds), remark)


def _observation_verdicts(rows: Iterable[Row], real: Mapping[str, bool]) -> Iterator[Verdict]:
    """Whether what generated traces say of each observation is what the real one says."""
    told: dict[str, dict[str, Row]] = {}
    for row in rows:
        told.setdefault(f"{row['observation']}{row['part'] or ''}", {})[row["dataset"]] = row
    for name, own in told.items():
        for dataset in ("year", "sample"):
            a, b = own.get(f"{dataset}-generated"), own.get(dataset)
            if a is None or b is None or Evidence.MISSING in (a["evidence"], b["evidence"]):
                continue
            claim = f"Observation {name} fares on the real {dataset} as on generated traces: {b['claim']}"
            measured = f"real: {_effect(b)}; generated: {_effect(a)}"
            if a["evidence"] == Evidence.UNDECIDED:
                yield Verdict(claim, "-", measured, Outcome.NOT_COMPARABLE, "generated traces do not decide it")
                continue
            remark = "holds if both are supported, or both contradicted"
            yield _judged(real[dataset], claim, measured, _outcome(a["evidence"] == b["evidence"]), remark)


def _effect(row: Row) -> str:
    size = "" if row["effect"] is None else f" ({row['effect']:+.2f} {row['unit']})"
    return f"{row['evidence']}{size}"


def _draw(tables: Tables) -> Figure:
    from experiments.figures.datasets import plot_datasets

    stand_in = [str(row["dataset"]) for row in tables["data"] if not row["real"]]
    return plot_datasets(tables[""], tables["carried"], DATASETS, _RANKED, stand_in)


EXPERIMENTS: Sequence[Experiment] = (
    Experiment(
        id="beyond-theta",
        title="The same evaluation on real traces",
        question="Does the ranking of the mechanisms on generated traces carry over to real ones?",
        parameters=RealTraces(),
        quick=RealTraces(assignments=2, mixes=("W5",), most_jobs=1500, stand_in_jobs=1500),
        measure=_measure,
        judge=_judge,
        draw=_draw,
        simulates=True,
        choices=(
            "The log of a year has no names, so that consecutive submissions of equal size and walltime (a "
            "campaign) share a type; the log with projects is a shuffled sample with artificial arrivals.",
            "Generated traces have the length, the load and the machine of the log beside which they stand; where "
            "the generator's requests cannot have so much or so little work in a job they have more or fewer jobs.",
            "A ranking carries over if no pair of mechanisms that both decide is reversed, and more than half of "
            "those that the one decides are in the same order on the other.",
            "Of a log only the draws of types, overheads and notices are repeated.",
        ),
    ),
)
