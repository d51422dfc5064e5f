"""Experiment: accuracy of wait forecasts at submission, compared with four simpler methods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from holdfast.experiments.beyond.departures import count_departures, in_hindsight, why
from holdfast.experiments.beyond.schedules import (
    EASY,
    GENERATED,
    RECORDED,
    SIMULATED,
    Moments,
    Schedule,
    by_walltime,
    draw_moments,
    moment_seed,
    read_past,
)
from holdfast.experiments.beyond.scores import (
    LEVELS,
    METHODS,
    OTHERS,
    OURS,
    SCHEDULES,
    count_weeks,
    method_rows,
    rank,
    score,
    summary,
    within,
)
from holdfast.experiments.forecast.baselines import PastWaits
from holdfast.experiments.forecast.forecasts import simulate_starts
from holdfast.experiments.forecast.sampled_workloads import Drawing, Future
from holdfast.experiments.statistics import clustered_interval, median_gap
from holdfast.experiments.study.experiment import Experiment, Resources, Row, Tables
from holdfast.experiments.study.hypotheses import hypothesis
from holdfast.experiments.study.parameters import data_file
from holdfast.experiments.study.row_cache import collect_rows
from holdfast.experiments.study.rules import Below, Decision, Outcome
from holdfast.experiments.study.verdicts import Verdict
from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.ground.numbers import check_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENTS"]

Floats = npt.NDArray[np.float64]

_LOGS: Mapping[str, str] = {"kth": "KTH-SP2", "blue": "SDSC-BLUE", "theta": "Theta 2022", GENERATED: "generated"}
#: Moments of one schedule in one task: consecutive ones share what is fitted. They are ordered
#: within blocks, so that a run with more moments begins with the tasks of one with fewer.
_PIECE, _BLOCK = 25, 250
_WEEK = 7 * 86_400.0
#: Offset between the week numbers of consecutive generated years, so that weeks of different years stay distinct.
_WEEKS = 10_000
#: With fewer moments a coverage is not decided.
_ENOUGH = 1000


@dataclass(frozen=True)
class Forecasts:
    """Parameters.

    Attributes
    ----------
    moments
        Number of jobs, for each log and for all generated years together, for which a forecast is made at submission.
        Only jobs that have to wait count.
    draws
        Number of simulations for each forecast; with 39 the ends of the intervals are draws.
    years
        Number of generated years. A single year is not representative, because its jobs wait in few long queues.
    jobs
        Of each of them.
    most_jobs
        Number of jobs taken from the beginning of each log; 0: all.
    kinds
        Schedules of the logs: ``simulated``, ``recorded``.
    kth, blue, theta
        Logs of KTH-SP2, SDSC-BLUE and Theta 2022; empty: left out.
    """

    moments: int = 1000
    draws: int = 39
    years: int = 8
    jobs: int = 12_000
    most_jobs: int = 0
    kinds: tuple[str, ...] = (SIMULATED, RECORDED)
    kth: str = data_file("traces/KTH-SP2-1996-2.1-cln.swf.gz")
    blue: str = data_file("traces/SDSC-BLUE-2000-4.2-cln.swf.gz")
    theta: str = data_file("traces/theta_2022.swf.gz")

    def __post_init__(self) -> None:
        unknown = set(self.kinds) - {SIMULATED, RECORDED}
        if unknown or not self.kinds:
            raise ParameterError("kinds", f"{SIMULATED}, {RECORDED} or both", ", ".join(self.kinds))
        check_whole("years", self.years, 1, "a whole number of years, at least 1")

    def schedules(self, seed: int) -> list[Schedule]:
        """All schedules, the generated years first."""
        years = range(self.years if SIMULATED in self.kinds else 0)
        found = [Schedule(GENERATED, SIMULATED, "", self.jobs, seed * self.years + year, year) for year in years]
        for name in ("kth", "theta", "blue"):
            path = getattr(self, name)
            found += [Schedule(name, kind, path, self.most_jobs) for kind in self.kinds if path]
        return found

    def count_moments(self, schedule: Schedule) -> int:
        """Number of moments of a schedule."""
        if schedule.log != GENERATED:
            return self.moments
        return self.moments * (schedule.number + 1) // self.years - self.moments * schedule.number // self.years


@dataclass(frozen=True)
class _Task:
    """Some moments of a schedule; without any, the draw of all of them."""

    schedule: Schedule
    seed: int
    draws: int
    moments: int = 0
    places: tuple[int, ...] = ()


def _measure(parameters: Forecasts, seed: int, resources: Resources) -> Tables:
    schedules = parameters.schedules(seed)
    drawing = [_Task(schedule, seed, parameters.draws, parameters.count_moments(schedule)) for schedule in schedules]
    drawn = list(collect_rows(_moment_rows, drawing, resources, files=[schedule.path for schedule in schedules]))
    tasks = []
    for task, row in zip(drawing, drawn, strict=True):
        places = [int(place) for place in str(row["places"]).split()]
        blocks = [sorted(places[first : first + _BLOCK]) for first in range(0, len(places), _BLOCK)]
        tasks += [
            _Task(task.schedule, seed, parameters.draws, 0, tuple(block[first : first + _PIECE]))
            for block in blocks
            for first in range(0, len(block), _PIECE)
        ]
    past = [task for task in tasks if task.schedule.kind == RECORDED]
    hindsight = list(collect_rows(_rule_rows, past, resources, files=[task.schedule.path for task in past]))
    whole = [task for task in drawing if task.schedule.kind == RECORDED]
    departed = list(collect_rows(_departure_rows, whole, resources, files=[task.schedule.path for task in whole]))
    counted = [{name: value for name, value in row.items() if name != "places"} for row in drawn]
    rows = list(collect_rows(_score_rows, tasks, resources, files=[task.schedule.path for task in tasks]))
    return {"": rows, "moments": counted, "summary": summary(rows), "departures": departed, "hindsight": hindsight}


def _moment_rows(task: _Task) -> list[Row]:
    found: Moments = draw_moments(task.schedule, task.moments, task.seed)
    return [
        {
            "log": task.schedule.log,
            "schedule": task.schedule.kind,
            "year": task.schedule.number,
            "drawn": found.drawn,
            "at_once": found.at_once,
            "at_once_right": found.right,
            "impossible": found.impossible,
            "waiting": len(found.waiting),
            "places": " ".join(map(str, found.waiting)),
        }
    ]


@lru_cache(maxsize=1)
def _waits(schedule: Schedule) -> PastWaits:
    return PastWaits(read_past(schedule))


def _score_rows(task: _Task) -> list[Row]:
    return [row for place in task.places for row in _rows(task, place)]


def _rule_rows(task: _Task) -> list[Row]:
    """Errors of the rule itself at some moments of a recorded schedule."""
    past = read_past(task.schedule)
    return [
        {
            "log": task.schedule.log,
            "job": place,
            "error_s": abs(float(past.starts[place]) - in_hindsight(past, place)),
        }
        for place in task.places
    ]


def _departure_rows(task: _Task) -> list[Row]:
    return [{"log": task.schedule.log, **count_departures(read_past(task.schedule))._asdict()}]


def _rows(task: _Task, place: int) -> Iterator[Row]:
    """The forecast of each method at one moment, and its scores."""
    past = read_past(task.schedule)
    at, job = float(past.submits[place]), past.job(place)
    state = past.state(at, place)
    wait = float(past.starts[place]) - at
    queue = len(state.waiting) - 1
    drawing = Drawing(state, past.history(at), Future(), task.draws, moment_seed(task.schedule, place, task.seed))
    starts = [simulate_starts(drawing, draw, [job.job_id], EASY)[job.job_id] for draw in range(task.draws)]
    waits = np.sort(np.array(starts) - at)
    baselines = _waits(task.schedule)
    forecasts: dict[str, Floats] = {
        OURS: np.quantile(waits, LEVELS, method="weibull"),
        "walltimes": np.full(len(LEVELS), by_walltime(past, place) - at),
        "week": np.full(len(LEVELS), baselines.mean_of_week(job, at)),
        "qbets": baselines.bounds(job, at, LEVELS),
        "nearest": baselines.nearest(job, at, queue, LEVELS),
    }
    common = {
        "log": task.schedule.log,
        "schedule": task.schedule.kind,
        "week": task.schedule.number * _WEEKS + int((at - float(past.submits[0])) // _WEEK),
        "job": place,
        "share": job.nodes / past.nodes,
        "queue": queue,
        "wait_s": wait,
    }
    for name, quantiles in forecasts.items():
        interval = name not in ("walltimes", "week")
        yield {**common, "method": name, **score(quantiles, wait, interval=interval)} | (
            {"rank": rank(waits, wait, task.seed, task.schedule.log, place)} if name == OURS else {}
        )


# Hypotheses.


def _judge(tables: Tables) -> list[Verdict]:
    rows = tables[""]
    verdicts = []
    for log, kind in SCHEDULES:
        own = [row for row in rows if (row["log"], row["schedule"]) == (log, kind)]
        words = f"On the {kind} schedule of {_LOGS[log]}" if log != GENERATED else "On the schedules of generated years"
        if own:
            reasons = why(tables, log) if kind == RECORDED else ""
            verdicts += [_judge_coverage(words, own, 50), _judge_coverage(words, own, 90, reasons), _nearer(words, own)]
        else:
            verdicts.append(
                hypothesis(f"{words} intervals hold what they promise, and errors are small").open(_MISSING)
            )
    return verdicts


_MISSING = "there are no such moments: the log was not given (--set), or this schedule of it was not asked for"
_SHORT = "jobs had to wait in fewer than two weeks"
#: Largest difference from the nominal coverage [points].
_MARGIN = 3


def _judge_coverage(words: str, rows: Sequence[Row], percent: int, reasons: str = "") -> Verdict:
    """Judge the coverage of intervals: it may differ from the nominal one by :data:`_POINTS`."""
    statement = hypothesis(f"{words} the {percent} % intervals of the forecast hold {percent} % of the starts")
    low, high = percent - _MARGIN, percent + _MARGIN
    rule = (
        f"holds if {low} to {high} % of the starts are inside, of at least {_ENOUGH:,} moments; does not hold if the "
        "95 % interval of the share (clusters: weeks) lies outside, or at least that many moments say otherwise; a "
        "start equal to some of the draws has a random place among them"
    )
    own = method_rows(rows, OURS)
    if count_weeks(own) < 2:
        return statement.open(_SHORT, rule=rule)
    found = clustered_interval([100.0 * within(row["rank"], percent) for row in own], [row["week"] for row in own])
    found = replace(found, low=max(0.0, found.low), high=min(100.0, found.high))
    inside = low <= found.mean <= high
    if len(own) >= _ENOUGH:
        outcome = Outcome.HOLDS if inside else Outcome.FAILS
    else:
        outcome = Outcome.FAILS if found.high < low or found.low > high else Outcome.UNDECIDED
    measured = f"{found.text('.1f')} %"
    as_reported = np.mean([100.0 * row[f"inside_{percent}"] for row in own])
    remark = f"over {len(own):,} moments in {count_weeks(own)} weeks; as reported, ends included: {as_reported:.1f} %"
    return statement.verdict(Decision(outcome), rule, measured, f"{remark}; {reasons}" if reasons else remark)


def _nearer(words: str, rows: Sequence[Row]) -> Verdict:
    """Whether the median error is below that of every baseline."""
    statement = hypothesis(f"{words} the median error of the forecast is below that of every baseline")
    rule = Below(quantity="the difference of the medians", unit="h")
    own = method_rows(rows, OURS)
    if count_weeks(own) < 2:
        return statement.open(_SHORT, rule=rule.words)
    errors = {name: np.array([row["error_s"] for row in method_rows(rows, name)]) / 3600 for name in METHODS}
    weeks = [row["week"] for row in own]
    gaps = {METHODS[name]: median_gap(errors[OURS], errors[name], weeks) for name in OTHERS}
    measured = "; ".join(f"{name} {gap.text('+.2f')} h" for name, gap in gaps.items())
    medians = ", ".join(f"{METHODS[name]} {np.median(errors[name]):.2f}" for name in METHODS)
    return statement.each(rule, gaps, measured, f"over {len(own):,} moments; medians [h]: {medians}")


def _draw(tables: Tables) -> Figure:
    from holdfast.experiments.figures.study.reliability import plot_reliability

    return plot_reliability(tables[""], METHODS, _LOGS)


EXPERIMENTS: Sequence[Experiment] = (
    Experiment(
        id="beyond-forecast",
        title="Forecasts of waits at submission",
        question="How far from the truth is a forecast of a job's start, do its intervals hold what they promise, and "
        "is it better than simpler answers?",
        parameters=Forecasts(),
        quick=Forecasts(moments=40, draws=19, years=2, jobs=1500, most_jobs=3000),
        measure=_measure,
        judge=_judge,
        draw=_draw,
        stores=True,
        choices=(
            "Jobs are drawn from one seed after the first tenth of a log, until enough have to wait by the state at "
            "their submission and the rule. The others start at once; they are counted, not scored.",
            "A simulated schedule is that of first come, first served (FCFS) with EASY backfilling; forecasts assume "
            "the same rule, also of recorded schedules, whose machines had priorities, partitions and outages too.",
            "Why recorded schedules differ is read off the logs: a job is overtaken if one that was submitted later, "
            "for no fewer nodes and no shorter a walltime, starts more than a minute before it, which the rule never "
            "does. How far the rule is from what happened is simulated from the state at the submission, with the true "
            "runtimes and the jobs that really came.",
            "At each moment draws have a seed of their own.",
            "The generated moments are shared among several years (``years``): the jobs of one year wait in few long "
            "queues, whose luck they share.",
            "Draws are often equal: where a job is killed at its walltime, many of them begin at one instant. An "
            "interval that ends there holds more than it promises, since all that start at that instant are inside. "
            "Coverage is therefore that of ranks: a start has a random place among equal draws, as in the reliability "
            "diagram (randomised probability integral transform: Czado, Gneiting and Held, Biometrics 65, 2009). The "
            "coverage of the intervals as they are reported stands beside.",
            "Each method sees only what was known at the submission. The mean of the last week (same size class, "
            "powers of two), QBETS-like quantiles and the 20 nearest jobs (nodes, walltime, queue length, in powers of "
            "two) are taken from jobs that waited for more than a minute: with all jobs they would be worse.",
            "QBETS-like: binomial bounds with 95 % confidence from the waits of a size class (to 4, 16, 64, more "
            "nodes) since three waits in a row exceeded the bound of the 0.95 quantile; the median itself is its "
            "answer. Clusters of jobs are not searched for.",
            "Weeks are the clusters of all intervals, since jobs of one week wait in one queue; those of medians are "
            "by a bootstrap of weeks.",
        ),
    ),
)
