"""Experiment: whether the ranking of the mechanisms on generated traces carries over to real ones.

The user gives the paths of two logs, because they are not part of Holdfast: an anonymised year, with types drawn by
campaign, and a sample with projects and artificial arrivals. Each is compared with generated traces of the same length,
load and machine and with types drawn in the same way, so that only the trace differs. The year is also compared with
generated traces with types drawn by project, so that only the unit of the draw differs. Types, overheads and notices
are drawn several times. On a real trace these draws are the only repetition: the intervals do not describe another
year.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from holdfast.experiments.beyond.rankings import SAME_ORDER, by_dataset, compare_rankings, judge_ranking
from holdfast.experiments.beyond.trace_pairs import TraceSource, describe_trace, find_source, generate_like, write_trace
from holdfast.experiments.papers.hybrid.claims import CLAIMS, Claim, examine
from holdfast.experiments.papers.hybrid.published_levels import level
from holdfast.experiments.study.evidence import Finding, finite_mean
from holdfast.experiments.study.experiment import Experiment, Resources, Row, Tables
from holdfast.experiments.study.hypotheses import hypothesis
from holdfast.experiments.study.measurement_table import Measured
from holdfast.experiments.study.metrics import find_metric
from holdfast.experiments.study.parameters import data_file
from holdfast.experiments.study.rules import Decision
from holdfast.experiments.study.simulation_cache import ALL, metric_rows
from holdfast.experiments.study.verdicts import Outcome, Verdict
from holdfast.experiments.sweeps import make_sweep, run_sweep
from holdfast.policies.mechanism import BASELINE
from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.hybrid.notices import NOTICE_MIXES
from holdfast.workloads.logs.trace import Trace
from holdfast.workloads.theta.generator import generate
from holdfast.workloads.theta.year import ThetaYear

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["DATASETS", "EXPERIMENTS", "ranking_rows"]

Floats = NDArray[np.float64]

#: Titles of the datasets, by name.
DATASETS: Mapping[str, str] = {
    "year": "year, types by campaign",
    "year-generated": "generated, types by campaign",
    "year-generated-projects": "generated, types by project",
    "sample": "sample, types by project",
    "sample-generated": "generated, types by project",
}
#: Compared pairs: the dataset of the ranking, and the one that it may carry over to.
_PAIRS = {
    "from generated years to the log of a year": ("year-generated", "year"),
    "from generated traces to the log with projects": ("sample-generated", "sample"),
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
#: Metrics of the baseline with levels that are compared with the generator's.
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
        Size of the machine if the header of the log does not give it; 0: unknown.
    assignments
        Number of draws of types, overheads and notices, and of generated traces; 2 or more.
    mixes
        Notice mixes of Table III.
    most_jobs
        Number of jobs taken from the beginning of a log; 0: all.
    stand_in_jobs
        Number of jobs of a stand-in.
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
        name: find_source(path, parameters.nodes, parameters.most_jobs, stand_in, place / name)
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
            rows += _simulate(dataset, source.path, seeds, by, parameters, resources)
            continue
        for own in range(seed, seed + parameters.assignments):
            trace = generate_like(source.trace, own)
            path = write_trace(trace, place / f"{dataset.partition('-')[0]}-generated" / f"{own}.swf")
            data.append({**_data_row(dataset, source, trace, by), "seed": own})
            rows += _simulate(dataset, path, [own], by, parameters, resources)
    return {
        "": rows,
        "data": data,
        "carried": ranking_rows(rows),
    }


def _stand_in(parameters: RealTraces, seed: int) -> Trace:
    """A generated trace that no other experiment uses."""
    return generate(ThetaYear(jobs=parameters.stand_in_jobs), seed + 1000)


def _nameless(trace: Trace) -> Trace:
    return replace(trace, jobs=trace.jobs.with_columns(user=None, project=None))


def _data_row(dataset: str, source: TraceSource, trace: Trace, by: str) -> dict[str, Any]:
    return {"dataset": dataset, "real": int(source.real), "seed": None, "group_by": by, **describe_trace(trace, by)}


def _simulate(
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


def ranking_rows(rows: Iterable[Row]) -> list[Row]:
    """Rank comparison of the mechanisms: a row for each pair of datasets and each metric."""
    data = by_dataset(rows)
    found: list[Row] = []
    for words, (first, second) in _PAIRS.items():
        if first not in data or second not in data:
            continue
        found += [
            {"carried": words, "metric": metric, **compare_rankings(data[first], data[second], metric)}
            for metric in _RANKED
        ]
    return found


# Verdicts.

#: The logs, as the tables name them.
_LOGS = {"year": "the log of a year", "sample": "the log with projects"}
#: Short titles of the logs for statements.
_SHORT = {"year": "the year", "sample": "the sample"}


def _judge(tables: Tables) -> list[Verdict]:
    real = {str(row["dataset"]).partition("-")[0]: bool(row["real"]) for row in tables["data"]}
    data = by_dataset(tables[""])
    return [
        *_level_verdicts(data, real),
        *(_ranking_verdict(row, real) for row in ranking_rows(tables[""])),
        *_observation_verdicts(data, real),
    ]


def _claim_about(claim: str, log: str, real: Mapping[str, bool]) -> str:
    """A claim about a log, or about the generated trace that replaces it."""
    return claim.format(_SHORT[log] if real[log] else f"the stand-in for {_SHORT[log]}")


def _verdict(real: bool, claim: str, measured: str, decision: Decision, rule: str, remark: str = "") -> Verdict:
    """A verdict; without a real trace it is not comparable, and the remark gives the outcome for the stand-in."""
    if real:
        return hypothesis(claim).verdict(decision, rule, measured, remark)
    why = f"no trace was given (--set trace=PATH, projects_trace=PATH); for the stand-in: {decision.outcome}"
    return hypothesis(claim).open(f"{why}; {remark}" if remark else why, measured, rule)


def _ranking_verdict(row: Row, real: Mapping[str, bool]) -> Verdict:
    second = _PAIRS[row["carried"]][1]
    log = second.partition("-")[0]
    where = row["carried"].replace(_LOGS[log], "{}")
    claim = _claim_about(f"The ranking by {_RANKED[row['metric']]} carries over {where}", log, real)
    outcome, measured = judge_ranking(row)
    if outcome is Outcome.NOT_COMPARABLE:
        return hypothesis(claim).open("there is no ranking to carry over", measured, SAME_ORDER)
    return _verdict(real[log], claim, measured, Decision(outcome), SAME_ORDER)


def _level_verdicts(data: Mapping[str, Measured], real: Mapping[str, bool]) -> Iterator[Verdict]:
    """Whether generated traces have the baseline of a log; the draws of the log count as one value."""
    for log in _LOGS:
        for metric in _LEVELS:
            own, generated = (data[dataset](metric, BASELINE) for dataset in (log, f"{log}-generated"))
            unit = find_metric(metric).unit
            claim = _claim_about(f"Generated traces have the baseline's {_RANKED[metric]} of {{}}", log, real)
            value = finite_mean(own)
            if not np.isfinite(value):
                yield hypothesis(claim).open(f"{_LOGS[log]} has no such jobs")
                continue
            found = level({"": generated}, round(value, 2), unit)
            mean = "-" if found.effect is None else f"generated {found.effect.text('.2f')} {unit}"
            remark = f"the mean of {len(generated)} generated traces"
            yield _verdict(real[log], claim, f"{value:.2f} {unit}; {mean}", found.decision, found.rule, remark)


_FARES_ALIKE = (
    "holds if the rule of the observation decides the same on both, does not hold if it decides the opposite, "
    "undecided if it does not decide on either"
)


def _observation_verdicts(data: Mapping[str, Measured], real: Mapping[str, bool]) -> Iterator[Verdict]:
    """Whether each observation has the same outcome on generated traces as on the real one."""
    for claim in CLAIMS:
        for log in _LOGS:
            found = [examine(claim, data[name]) for name in (f"{log}-generated", log) if name in data]
            if len(found) < 2 or any(item.outcome is Outcome.NOT_COMPARABLE for item in found):
                continue
            a, b = found
            words = f"Observation {claim.name} has the same outcome on {{}} and on generated traces"
            outcome = (
                Outcome.UNDECIDED
                if Outcome.UNDECIDED in (a.outcome, b.outcome)
                else Outcome.HOLDS
                if a.outcome is b.outcome
                else Outcome.FAILS
            )
            # Both must be decided, so the weaker decision counts.
            known = [item.p_value for item in found if item.p_value is not None]
            decision = Decision(outcome, max(known, default=None))
            measured = f"log: {_effect(claim, b)}; generated: {_effect(claim, a)}"
            yield _verdict(real[log], _claim_about(words, log, real), measured, decision, _FARES_ALIKE)


def _effect(claim: Claim, found: Finding) -> str:
    if found.effect is None:
        return str(found.outcome)
    return f"{found.outcome} ({found.effect.mean:{'' if found.level else '+'}.2f} {claim.unit})"


def _draw(tables: Tables) -> Figure:
    from holdfast.experiments.figures.study.datasets import plot_datasets

    stand_in = [str(row["dataset"]) for row in tables["data"] if not row["real"]]
    return plot_datasets(tables[""], tables["carried"], DATASETS, _RANKED, stand_in)


EXPERIMENTS: Sequence[Experiment] = (
    Experiment(
        id="beyond-theta",
        title="The same evaluation on real traces",
        question="Is the ranking of the mechanisms on real traces the same as on generated ones?",
        parameters=RealTraces(),
        quick=RealTraces(assignments=2, mixes=("W5",), most_jobs=1500, stand_in_jobs=1500),
        measure=_measure,
        judge=_judge,
        draw=_draw,
        stores=True,
        choices=(
            "The year is a log without names: consecutive submissions of equal size and walltime (a campaign) "
            "share a type. The sample is a log with projects, shuffled, with artificial arrivals.",
            "Generated traces have the length, load and machine of their log. Where the generator's requests do "
            "not allow the log's work per job, the number of jobs differs.",
            "A ranking carries over if no pair of mechanisms decided on both is reversed, and more than half of "
            "the pairs decided on generated traces are in the same order on the log. The observations are those of "
            "hybrid-obs.",
            "Repetitions on a log differ only in the draws of types, overheads and notices.",
        ),
    ),
)
