"""Experiment: the length of the initial transient, and whether the averages on the result pages need a warm-up.

Each replay begins with an empty machine and no queue. The generated years are replications of each other; a real log is
a single one. The experiment discards days at the beginning of every replay and averages over the remaining jobs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from holdfast.experiments.beyond.trace_pairs import read_log
from holdfast.experiments.beyond.transients import SERIES, daily, mser, smooth
from holdfast.experiments.statistics import interval
from holdfast.experiments.study.evidence import judge_finding, missing_finding, within
from holdfast.experiments.study.experiment import Experiment, Resources, Row, Tables
from holdfast.experiments.study.hypotheses import hypothesis
from holdfast.experiments.study.measurement_table import column, rows_where
from holdfast.experiments.study.metrics import find_metric
from holdfast.experiments.study.parameters import data_file
from holdfast.experiments.study.row_cache import collect_rows
from holdfast.experiments.study.rules import AtMost
from holdfast.experiments.study.verdicts import Verdict
from holdfast.policies.mechanism import BASELINE
from holdfast.simulator import simulate
from holdfast.simulator.results.measured_simulation import MeasuredWindow
from holdfast.simulator.results.metrics import summarize
from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.hybrid.assignment import as_rigid, assign
from holdfast.workloads.logs.trace import Trace
from holdfast.workloads.theta.generator import generate
from holdfast.workloads.theta.year import ThetaYear

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENTS", "METRICS", "Warmup"]

Floats = NDArray[np.float64]
GENERATED = "generated"
#: Titles of the datasets, by name.
_LOGS: Mapping[str, str] = {GENERATED: "generated", "theta": "Theta 2022", "kth": "KTH-SP2", "blue": "SDSC-BLUE"}
#: Titles of the averages, by name.
METRICS: Mapping[str, str] = {
    "wait_h": "mean wait",
    "turnaround_h": "turnaround",
    "bounded_slowdown": "bounded slowdown",
    "utilization": "utilisation",
    "instant_start_ratio": "share of instant starts",
}
#: The tested warm-up [d], and the margins of equality: 5 % of a duration or a slowdown, 1 point of a share.
_CUT, _SHARE, _POINT = 14.0, 0.05, 1.0
#: Days on each side of Welch's moving mean, and days that the curves are kept for.
_REACH, _SHOWN = 7, 120


@dataclass(frozen=True)
class Warmup:
    """Parameters.

    Attributes
    ----------
    jobs
        Number of jobs of each generated year.
    traces
        Number of years, 2 or more.
    mechanisms
        The mechanisms beside the baseline.
    mix
        Notice mix.
    cuts
        Numbers of days discarded; 0 and 14 are always included.
    most_jobs
        Number of jobs taken from the beginning of each log; 0: all.
    theta, kth, blue
        Logs of Theta 2022, KTH-SP2 and SDSC-BLUE; empty: left out.
    """

    jobs: int = ThetaYear().jobs
    traces: int = 10
    mechanisms: tuple[str, ...] = ("N-PAA", "CUA-SPAA")
    mix: str = "W5"
    cuts: tuple[float, ...] = (0.0, 1.0, 3.0, 7.0, 14.0, 28.0)
    most_jobs: int = 0
    theta: str = data_file("traces/theta_2022.swf.gz")
    kth: str = data_file("traces/KTH-SP2-1996-2.1-cln.swf.gz")
    blue: str = data_file("traces/SDSC-BLUE-2000-4.2-cln.swf.gz")

    def __post_init__(self) -> None:
        if self.traces < 2:
            raise ParameterError("traces", "at least 2, for a confidence interval", self.traces)

    @property
    def days(self) -> tuple[float, ...]:
        """The days that are cut, ascending."""
        return tuple(sorted({0.0, _CUT, *self.cuts}))


@dataclass(frozen=True)
class _Task:
    """One replay."""

    dataset: str
    path: str
    jobs: int
    trace: int
    mechanism: str
    mix: str
    days: tuple[float, ...]


def _measure(parameters: Warmup, seed: int, resources: Resources) -> Tables:
    tasks = [
        _Task(GENERATED, "", parameters.jobs, trace, mechanism, parameters.mix, parameters.days)
        for trace in range(seed, seed + parameters.traces)
        for mechanism in (BASELINE, *parameters.mechanisms)
    ]
    for name in ("theta", "kth", "blue"):
        path = getattr(parameters, name)
        if path:
            tasks.append(_Task(name, path, parameters.most_jobs, 0, BASELINE, parameters.mix, parameters.days))
    found = list(collect_rows(_replay_rows, tasks, resources, files=[task.path for task in tasks]))
    cuts = [{key: value for key, value in row.items() if key != "kind"} for row in found if row["kind"] == "cut"]
    days = [row for row in found if row["kind"] == "day"]
    return {"": cuts, "truncation": list(_truncations(days)), "curves": list(_curves(days))}


def _trace(task: _Task) -> Trace:
    if not task.path:
        return generate(ThetaYear(jobs=task.jobs), task.trace)
    return read_log(task.path, task.jobs)


def _replay_rows(task: _Task) -> list[Row]:
    """Averages without the first days, and under the baseline the daily series."""
    trace = _trace(task)
    nodes = trace.nodes or 0
    hybrid = task.dataset == GENERATED
    jobs = assign(trace, seed=task.trace, notice_mix=task.mix) if hybrid else as_rigid(trace)
    result = simulate(jobs, nodes, task.mechanism, events=False)
    own = {"dataset": task.dataset, "trace": task.trace, "mechanism": task.mechanism}
    span = (max(job.submit for job in trace.jobs) - min(job.submit for job in trace.jobs)) / 86_400.0
    rows: list[Row] = []
    for cut in task.days:
        if cut < span / 2:
            summary = summarize(result, window=MeasuredWindow(warmup=86_400.0 * cut))
            metrics = {name: None if summary[name] != summary[name] else float(summary[name]) for name in METRICS}
            rows.append({"kind": "cut", **own, "cut_days": cut, **metrics})
    if task.mechanism == BASELINE:
        ran = [record for record in result.records if record.start is not None and record.status != "no_show"]
        for series, values in daily(ran, nodes).items():
            rows += [
                {"kind": "day", **own, "series": series, "day": day, "value": None if value != value else float(value)}
                for day, value in enumerate(values.tolist())
            ]
    return rows


def _by_replay(days: Sequence[Row]) -> dict[tuple[str, str], dict[int, Floats]]:
    """The series of each dataset and name, by trace."""
    found: dict[tuple[str, str], dict[int, list[float]]] = {}
    for row in days:
        own = found.setdefault((row["dataset"], row["series"]), {}).setdefault(row["trace"], [])
        own.append(np.nan if row["value"] is None else row["value"])
    return {key: {trace: np.array(own) for trace, own in traces.items()} for key, traces in found.items()}


def _truncations(days: Sequence[Row]) -> list[Row]:
    return [
        {"dataset": dataset, "series": series, "trace": trace, "days": len(values), "truncation_days": mser(values)}
        for (dataset, series), traces in _by_replay(days).items()
        for trace, values in traces.items()
    ]


def _curves(days: Sequence[Row]) -> list[Row]:
    """Welch's curves, and the later level of each."""
    rows: list[Row] = []
    for (dataset, series), traces in _by_replay(days).items():
        shortest = min(map(len, traces.values()))
        table = np.array([values[:shortest] for values in traces.values()])
        known = np.isfinite(table).sum(axis=0)
        mean = np.where(known > 0, np.nansum(table, axis=0) / np.maximum(known, 1), np.nan)
        level = float(np.nanmean(mean[shortest // 2 :]))
        curve = smooth(mean, _REACH)[:_SHOWN]
        rows += [
            {"dataset": dataset, "series": series, "day": day, "mean": None if value != value else float(value),
             "level": level}
            for day, value in enumerate(curve.tolist())
        ]  # fmt: skip
    return rows


def _judge(tables: Tables) -> list[Verdict]:
    verdicts = [_mser_verdict(tables, series) for series in SERIES]
    verdicts += [_welch_verdict(tables, series) for series in SERIES]
    cuts = rows_where(tables[""], dataset=GENERATED)
    mechanisms = list(dict.fromkeys(row["mechanism"] for row in cuts))
    verdicts += [_judge_level(cuts, metric, mechanism) for metric in METRICS for mechanism in mechanisms]
    others = [name for name in mechanisms if name != BASELINE]
    verdicts += [_judge_gap(cuts, metric, mechanism) for metric in METRICS for mechanism in others]
    logs = [name for name in dict.fromkeys(row["dataset"] for row in tables[""]) if name != GENERATED]
    return verdicts + [_judge_log(rows_where(tables[""], dataset=name), name) for name in logs]


def _mser_verdict(tables: Tables, series: str) -> Verdict:
    rows = rows_where(tables["truncation"], dataset=GENERATED, series=series)
    found = interval(column(rows, "truncation_days"), bounds=(0.0, np.inf))
    others = [row for row in tables["truncation"] if row["series"] == series and row["dataset"] != GENERATED]
    ends = ", ".join(f"{_LOGS[row['dataset']]} {row['truncation_days']:g} of {row['days']:g} d" for row in others)
    statement = hypothesis(f"In generated years MSER-5 ends the transient of the {series} within {_CUT:g} days")
    rule = AtMost(_CUT, "the mean over the years", "d")
    return statement.judge(rule, found, f"{found.text('.1f')} d", f"logs, one replay each: {ends}" if ends else "")


def _welch_verdict(tables: Tables, series: str) -> Verdict:
    """Verdict on when the smoothed mean over the years first reaches its later level."""
    reached = {
        dataset: _first_day(rows_where(tables["curves"], dataset=dataset, series=series))
        for dataset in dict.fromkeys(row["dataset"] for row in tables["curves"])
    }
    days = {name: "not" if day is None else f"day {day}" for name, day in reached.items()}
    day = reached[GENERATED]
    rest = ", ".join(f"{_LOGS[name]} {words}" for name, words in days.items() if name != GENERATED)
    return hypothesis(
        f"In generated years Welch's curve of the {series} reaches its later level within {_CUT:g} days"
    ).exact_verdict(
        day is not None and day <= _CUT,
        f"holds if the mean over the years, smoothed over {2 * _REACH + 1} days, is at or above that of their second "
        f"halves by day {_CUT:g}",
        days[GENERATED],
        f"logs, one replay each: {rest}" if rest else "",
    )


def _first_day(rows: Sequence[Row]) -> int | None:
    return next((int(row["day"]) for row in rows if row["mean"] is not None and row["mean"] >= row["level"]), None)


def _levels(rows: Sequence[Row], metric: str, mechanism: str, cut: float) -> Floats:
    """A metric in each trace, in the unit of the reports.

    Raises
    ------
    LookupError
        If the replays are too short for the cut.
    """
    own = sorted(rows_where(rows, mechanism=mechanism, cut_days=cut), key=lambda row: int(row["trace"]))
    if not own:
        raise LookupError(f"replays of more than {2 * cut:g} days")
    values: Floats = find_metric(metric).scale_value(column(own, metric))
    return values


def _margin(metric: str, level: float) -> float:
    return _POINT if find_metric(metric).unit == "%" else round(_SHARE * abs(level), 3)


def _judge_level(rows: Sequence[Row], metric: str, mechanism: str) -> Verdict:
    known = find_metric(metric)
    statement = hypothesis(f"A warm-up of {_CUT:g} days leaves the {METRICS[metric]} under {mechanism} as it is")
    try:
        whole, rest = (_levels(rows, metric, mechanism, cut) for cut in (0.0, _CUT))
    except LookupError as error:
        return judge_finding(statement, known.difference, missing_finding(f"no {error}"))
    level = float(np.nanmean(whole))
    finding = within({"": (rest, whole)}, _margin(metric, level), known.difference)
    return judge_finding(statement, known.difference, finding, f"{level:.2f} {known.unit}".strip() + " without")


def _judge_gap(rows: Sequence[Row], metric: str, mechanism: str) -> Verdict:
    """Verdict on differences from the baseline, which the result pages compare."""
    known = find_metric(metric)
    words = f"It leaves what {mechanism} has over the baseline in {METRICS[metric]} as it is"
    try:
        own, base = ([_levels(rows, metric, name, cut) for cut in (0.0, _CUT)] for name in (mechanism, BASELINE))
    except LookupError as error:
        return judge_finding(hypothesis(words), known.difference, missing_finding(f"no {error}"))
    level = float(np.nanmean(own[0]))
    finding = within({"": (own[1] - base[1], own[0] - base[0])}, _margin(metric, level), known.difference)
    gap = float(np.nanmean(own[0] - base[0]))
    return judge_finding(
        hypothesis(words), known.difference, finding, f"{gap:+.2f} {known.difference}".strip() + " without"
    )


def _judge_log(rows: Sequence[Row], name: str) -> Verdict:
    """Verdict on the single replay of a log, without an interval."""
    statement = hypothesis(f"It leaves the averages of {_LOGS[name]} as they are")
    changes, far = [], []
    try:
        for metric in METRICS:
            whole, rest = (float(_levels(rows, metric, BASELINE, cut)[0]) for cut in (0.0, _CUT))
            if whole == whole:
                known = find_metric(metric)
                changes.append(f"{METRICS[metric]} {whole:.2f} to {rest:.2f} {known.unit}".strip())
                far.append(abs(rest - whole) > _margin(metric, whole))
    except LookupError as error:
        return statement.open(f"no {error}")
    rule = "holds if each moves by at most 5 %, a share by at most 1 point"
    return statement.exact_verdict(not any(far), rule, ", ".join(changes))


def _draw(tables: Tables) -> Figure:
    from holdfast.experiments.figures.study.warmups import plot_warmup

    moves: list[Row] = []
    for dataset in dict.fromkeys(row["dataset"] for row in tables[""]):
        rows = rows_where(tables[""], dataset=dataset)
        for mechanism in dict.fromkeys(row["mechanism"] for row in rows):
            for metric in METRICS:
                whole = _levels(rows, metric, mechanism, 0.0)
                if not np.isfinite(whole).any():  # a log has no on-demand jobs
                    continue
                for cut in dict.fromkeys(row["cut_days"] for row in rows):
                    gap = (_levels(rows, metric, mechanism, cut) - whole) / _margin(metric, float(np.nanmean(whole)))
                    gap = gap[np.isfinite(gap)]
                    if len(gap):
                        found = interval(gap) if len(gap) > 1 else None
                        moves.append(
                            {"dataset": _LOGS[dataset], "mechanism": mechanism, "metric": metric, "cut_days": cut,
                             "moved": float(gap.mean()), "low": found.low if found else None,
                             "high": found.high if found else None}
                        )  # fmt: skip
    curves = [{**row, "dataset": _LOGS[row["dataset"]]} for row in tables["curves"]]
    cuts = [{**row, "dataset": _LOGS[row["dataset"]]} for row in tables["truncation"]]
    return plot_warmup(curves, cuts, moves, SERIES, METRICS)


EXPERIMENTS: Sequence[Experiment] = (
    Experiment(
        id="beyond-warmup",
        title="The transient of an empty machine",
        question="Must the first days of a replay be left out of its averages?",
        parameters=Warmup(),
        quick=Warmup(jobs=4000, traces=2, mechanisms=("CUA-SPAA",), cuts=(0.0, 3.0), most_jobs=6000),
        measure=_measure,
        judge=_judge,
        draw=_draw,
        choices=(
            "Series are of the baseline, in batches of a day; MSER may cut at most half of a replay.",
            "Welch's curves are means over the generated years; of a log there is a single replay.",
            "A metric is as it was if it moves by less than 5 %, a share by less than 1 point.",
        ),
        stores=True,
    ),
)
