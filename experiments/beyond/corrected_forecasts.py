"""Experiment: forecasts corrected by their back-tests, on recorded schedules and on those of a known rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from holdfast.experiments.beyond.corrected_scores import (
    CORRECTED,
    METHODS,
    SUBMITTED,
    WAITING,
    inside,
    method_errors,
    score_rows,
    summary,
    thirds,
)
from holdfast.experiments.beyond.log_sections import Section, SectionPart, run_moments
from holdfast.experiments.beyond.schedules import GENERATED, RECORDED, SIMULATED
from holdfast.experiments.beyond.scores import count_weeks, method_rows
from holdfast.experiments.statistics import Interval, clustered_interval, median_gap
from holdfast.experiments.study.experiment import Experiment, Resources, Row, Tables
from holdfast.experiments.study.hypotheses import hypothesis
from holdfast.experiments.study.parameters import data_file
from holdfast.experiments.study.row_cache import collect_rows
from holdfast.experiments.study.rules import Below, Decision, Outcome
from holdfast.experiments.study.verdicts import Verdict
from holdfast.workloads.ground.numbers import check_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENTS"]

#: Titles of the logs, by the names in tables.
LOGS: Mapping[str, str] = {
    "kth": "KTH-SP2",
    "wagap": "wagap-2013",
    "ricc": "RICC",
    "theta": "Theta 2022",
    "blue": "SDSC-BLUE",
    "metacentrum": "METACENTRUM",
    GENERATED: "generated",
}
#: Schedules (log, kind) in the order of the verdicts.
_SCHEDULES = (*((log, RECORDED) for log in LOGS if log != GENERATED), (GENERATED, SIMULATED), ("blue", SIMULATED))
#: Coverage that holds, by kind of schedule and interval [%].
_LIMITS = {(RECORDED, 50): (45, 55), (RECORDED, 90): (87, 93), (SIMULATED, 50): (47, 53), (SIMULATED, 90): (87, 93)}
#: The same in each third, and the columns of the thirds.
_THIRDS = {RECORDED: ((85, 95), ("nodes", "queue")), SIMULATED: ((87, 93), ("queue",))}
#: With fewer forecasts a coverage is not decided.
_ENOUGH = 1000

#: Moments of a part.
_PART = 100
#: Generated years have other seeds than those of beyond-forecast, and than those that the correction was chosen on.
_NEW = 20_000


@dataclass(frozen=True)
class CorrectedForecasts:
    """Parameters.

    Attributes
    ----------
    moments
        Number of submissions at which forecasts are made, for each log and for all generated years together. A second
        forecast at each is of another waiting job.
    jobs
        Number of batches of jobs in the middle of each log, over which the moments are spread: about one in 25, as in a
        back-test; 0: all.
    years, year_jobs
        Number of generated years, and of the jobs of each.
    kth, wagap, ricc
        Logs on which rates of the correction were chosen; empty: left out.
    theta, blue, metacentrum
        The other logs; empty: left out.
    """

    moments: int = 1200
    jobs: int = 30_000
    years: int = 3
    year_jobs: int = 12_000
    kth: str = data_file("traces/KTH-SP2-1996-2.1-cln.swf.gz")
    wagap: str = data_file("traces/wagap-2013.swf.gz")
    ricc: str = data_file("traces/RICC-2010-2.swf.gz")
    theta: str = data_file("traces/theta_2022.swf.gz")
    blue: str = data_file("traces/SDSC-BLUE-2000-4.2-cln.swf.gz")
    metacentrum: str = data_file("traces/METACENTRUM-2009-2.swf.gz")

    def __post_init__(self) -> None:
        check_whole("moments", self.moments, 1, "a whole number of moments, at least 1")
        check_whole("years", self.years, 1, "a whole number of years, at least 1")

    def sections(self, seed: int) -> list[Section]:
        """The recorded schedules of the logs, then the simulated ones."""
        paths = {name: getattr(self, name) for name in LOGS if name != GENERATED}
        found = [Section(name, RECORDED, path, self.jobs) for name, path in paths.items() if path]
        found += [
            Section(GENERATED, SIMULATED, "", self.year_jobs, year, _NEW + seed * self.years + year)
            for year in range(self.years)
        ]
        return [*found, Section("blue", SIMULATED, self.blue, self.jobs)] if self.blue else found

    def parts(self, section: Section, seed: int) -> list[SectionPart]:
        """The moments of a section, in parts that follow each other in time."""
        count = self.moments // self.years if section.log == GENERATED else self.moments
        parts = -(-count // _PART)
        ends = [count * part // parts for part in range(parts + 1)]
        counts = [end - first for first, end in pairwise(ends)]
        return [SectionPart(section, part, parts, moments, seed) for part, moments in enumerate(counts)]


def _measure(parameters: CorrectedForecasts, seed: int, resources: Resources) -> Tables:
    rows: list[Row] = []
    for section in parameters.sections(seed):
        parts = parameters.parts(section, seed)
        files = [section.path] * len(parts)
        found = collect_rows(run_moments, parts, resources, files=files, sources="back-tests")
        rows += score_rows(list(found), seed)
    return {"": rows, "summary": summary(rows)}


# Hypotheses.

_MISSING = "there are no such forecasts: the log was not given (--set)"
_SHORT = "there are corrected forecasts in fewer than two weeks"


def _judge(tables: Tables) -> list[Verdict]:
    verdicts = []
    for log, kind in _SCHEDULES:
        rows = [row for row in tables[""] if (row["log"], row["schedule"]) == (log, kind)]
        words = "On schedules of generated years" if log == GENERATED else f"On the {kind} schedule of {LOGS[log]}"
        own = {jobs: [row for row in rows if row["jobs"] == jobs] for jobs in (SUBMITTED, WAITING)}
        if any(count_weeks(part) < 2 for part in own.values()):
            statement = hypothesis(f"{words} corrected intervals hold what they promise, and errors are small")
            verdicts.append(statement.open(_SHORT if rows else _MISSING))
            continue
        corrected = {jobs: method_rows(part, CORRECTED) for jobs, part in own.items()}
        verdicts += [
            _judge_coverage(words, corrected, kind, 50),
            _judge_coverage(words, corrected, kind, 90),
            _judge_thirds(words, corrected, kind),
            _judge_errors(words, own),
        ]
    return verdicts


def _judge_coverage(words: str, rows: Mapping[str, Sequence[Row]], kind: str, percent: int) -> Verdict:
    statement = hypothesis(f"{words} the corrected {percent} % intervals hold {percent} % of the starts")
    low, high = _LIMITS[kind, percent]
    rule = (
        f"holds if {low} to {high} % of the starts of submitted and of waiting jobs are inside, of at least "
        f"{_ENOUGH:,} each; does not hold if at least that many forecasts of one kind say otherwise, or the 95 % "
        "interval of its share (clusters: weeks) lies outside; a start equal to some quantiles has a random place "
        "among their levels"
    )
    found = {
        jobs: clustered_interval(inside(part, percent), [row["week"] for row in part]) for jobs, part in rows.items()
    }
    outcomes = [_decide(share, len(rows[jobs]), low, high) for jobs, share in found.items()]
    measured = "; ".join(f"{jobs} {_within_100(share).text('.1f')} %" for jobs, share in found.items())
    reported = ", ".join(
        f"{jobs} {np.mean([100.0 * row[f'reported_{percent}'] for row in part]):.1f} %" for jobs, part in rows.items()
    )
    counts = ", ".join(f"{jobs} {len(part):,}" for jobs, part in rows.items())
    remark = f"forecasts: {counts}; as reported, ends included: {reported}"
    return statement.verdict(Decision(_join(outcomes)), rule, measured, remark)


def _judge_thirds(words: str, rows: Mapping[str, Sequence[Row]], kind: str) -> Verdict:
    (low, high), columns = _THIRDS[kind]
    titles = {"nodes": "sizes", "queue": "queue lengths"}
    where = " and of ".join(titles[column] for column in columns)
    statement = hypothesis(
        f"{words} the corrected 90 % intervals hold {low} to {high} % of the starts in each third of {where}"
    )
    rule = (
        f"holds if {low} to {high} % are inside in each third of {where}, of submitted and of waiting jobs, of at "
        f"least {_ENOUGH:,} forecasts each; does not hold if one of as many, or its 95 % interval (clusters: weeks), "
        "lies outside"
    )
    outcomes: list[Outcome] = []
    shares: dict[str, list[str]] = {}
    for jobs, part in rows.items():
        for column in columns:
            for third in thirds(part, column):
                weeks = [row["week"] for row in third]
                if len(set(weeks)) < 2:
                    return statement.open(_SHORT, rule=rule)
                found = clustered_interval(inside(third, 90), weeks)
                outcomes.append(_decide(found, len(part), low, high))
                shares.setdefault(f"{jobs} by {titles[column]}", []).append(f"{found.mean:.0f}")
    measured = "; ".join(f"{name} {'/'.join(values)} %" for name, values in shares.items())
    return statement.verdict(Decision(_join(outcomes)), rule, measured, "smallest third first")


def _judge_errors(words: str, rows: Mapping[str, Sequence[Row]]) -> Verdict:
    """Whether the median error is below that of the best expert, for both kinds of jobs."""
    statement = hypothesis(f"{words} the median error of the corrected forecast is below that of the best expert")
    rule = Below(quantity="the difference of the medians", unit="h")
    gaps, medians = {}, []
    for jobs, part in rows.items():
        errors = method_errors(part)
        middle = {name: float(np.median(values)) for name, values in errors.items()}
        best = min(list(METHODS)[1:], key=lambda name: (middle[name], name))
        weeks = [row["week"] for row in method_rows(part, CORRECTED)]
        gaps[f"{jobs}, {METHODS[best]}"] = median_gap(errors[CORRECTED], errors[best], weeks)
        medians.append(f"{jobs}: {', '.join(f'{METHODS[name]} {value:.2f}' for name, value in middle.items())}")
    measured = "; ".join(f"{name} {gap.text('+.2f')} h" for name, gap in gaps.items())
    return statement.each(rule, gaps, measured, f"medians [h] {'; '.join(medians)}")


def _decide(share: Interval, count: int, low: float, high: float) -> Outcome:
    if count >= _ENOUGH:
        return Outcome.HOLDS if low <= share.mean <= high else Outcome.FAILS
    return Outcome.FAILS if share.high < low or share.low > high else Outcome.UNDECIDED


def _join(outcomes: Sequence[Outcome]) -> Outcome:
    for outcome in (Outcome.FAILS, Outcome.UNDECIDED):
        if outcome in outcomes:
            return outcome
    return Outcome.HOLDS


def _within_100(share: Interval) -> Interval:
    return replace(share, low=max(0.0, share.low), high=min(100.0, share.high))


def _draw(tables: Tables) -> Figure:
    from holdfast.experiments.figures.study.corrected_reliability import plot_corrected_reliability

    return plot_corrected_reliability(method_rows(tables[""], CORRECTED), LOGS)


EXPERIMENTS: Sequence[Experiment] = (
    Experiment(
        id="beyond-corrected",
        title="Forecasts corrected by their back-tests",
        question="Do corrected intervals hold what they promise, also on recorded schedules, and is the corrected "
        "median nearer than that of each expert alone?",
        parameters=CorrectedForecasts(),
        quick=CorrectedForecasts(moments=60, jobs=2000, years=1, year_jobs=1500),
        measure=_measure,
        judge=_judge,
        draw=_draw,
        stores=True,
        choices=(
            "Moments are those of back-tests (docs/guides/forecast-quality.md), spread over a section in the middle of "
            "each log as densely as in a back-test. Each forecast is corrected by those before it alone.",
            "Rates of the correction were chosen on KTH-SP2, wagap-2013 and RICC, and on other generated years.",
            "The machine of a log that does not name its size has that of the peak use of the log.",
            "A known rule: schedules simulated with FCFS and EASY backfilling, of SDSC-BLUE and of generated years "
            "with other seeds than those of beyond-forecast.",
            "Coverage is that of ranks, as in beyond-forecast: a start equal to some quantiles has a random place "
            "among their levels. The coverage of reported intervals stands beside.",
            "Weeks are the clusters of all intervals.",
        ),
    ),
)
