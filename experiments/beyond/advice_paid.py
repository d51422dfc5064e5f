"""Experiment: response times of jobs that follow the advice of ``holdfast advise``, against those of other requests.

Both are measured on simulated schedules.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from holdfast.experiments.beyond.schedules import (
    EASY,
    GENERATED,
    SIMULATED,
    Schedule,
    draw_moments,
    moment_seed,
    read_past,
    trace_behind,
)
from holdfast.experiments.forecast.advice import advise
from holdfast.experiments.forecast.machine_state import MachineState
from holdfast.experiments.statistics import clustered_interval
from holdfast.experiments.study.experiment import Experiment, Resources, Row, Tables
from holdfast.experiments.study.hypotheses import hypothesis
from holdfast.experiments.study.parameters import data_file
from holdfast.experiments.study.row_cache import collect_rows
from holdfast.experiments.study.rules import Above, AtLeast
from holdfast.experiments.study.verdicts import Verdict
from holdfast.policies.planning.plan import ReservationPlan
from holdfast.simulator import simulate
from holdfast.workloads.ground.errors import HoldfastError
from holdfast.workloads.table.job import Job, JobType

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from holdfast.workloads.logs.trace import TraceJob

__all__ = ["EXPERIMENTS"]

#: Requests and their titles in figures; the first is the user's own request.
REQUESTS: Mapping[str, str] = {
    "own": "own request",
    "advice": "advice",
    "planner": "planner, past waits",
    "reserved": "planner, reserved time",
    "omniscient": "omniscient",
}
_LOGS: Mapping[str, str] = {GENERATED: "generated", "kth": "KTH-SP2", "theta": "Theta 2022"}
_PIECE = 10
_WEEK = 7 * 86_400.0
#: Span of future arrivals that is replayed at first [s]; a longer one follows if the job has not completed by then.
_REACH = 2 * 86_400.0
_PLAN = "request"


@dataclass(frozen=True)
class FollowedAdvice:
    """Parameters.

    Attributes
    ----------
    moments
        Number of jobs of each schedule that have to wait and follow the advice.
    draws
        Number of simulations for each advice.
    jobs
        Of the generated year.
    most_jobs
        Number of jobs taken from the beginning of each log; 0: all.
    kth, theta
        Logs of KTH-SP2 and Theta 2022; empty: left out.
    """

    moments: int = 500
    draws: int = 50
    jobs: int = 12_000
    most_jobs: int = 0
    kth: str = data_file("traces/KTH-SP2-1996-2.1-cln.swf.gz")
    theta: str = data_file("traces/theta_2022.swf.gz")

    def schedules(self, seed: int) -> list[Schedule]:
        """All schedules, the generated year first."""
        logs = [Schedule(name, SIMULATED, getattr(self, name), self.most_jobs) for name in ("kth", "theta")]
        return [Schedule(GENERATED, SIMULATED, "", self.jobs, seed), *(item for item in logs if item.path)]


@dataclass(frozen=True)
class _Task:
    """Some jobs of a schedule."""

    schedule: Schedule
    seed: int
    draws: int
    places: tuple[int, ...]


def _measure(parameters: FollowedAdvice, seed: int, resources: Resources) -> Tables:
    schedules = parameters.schedules(seed)
    tasks = []
    for schedule in schedules:
        places = draw_moments(schedule, parameters.moments, seed).waiting
        tasks += [
            _Task(schedule, seed, parameters.draws, places[first : first + _PIECE])
            for first in range(0, len(places), _PIECE)
        ]
    return {"": list(collect_rows(_task_rows, tasks, resources, files=[task.schedule.path for task in tasks]))}


def _task_rows(task: _Task) -> list[Row]:
    return [_row(task, place) for place in sorted(task.places)]


def _row(task: _Task, place: int) -> Row:
    past = read_past(task.schedule)
    at, seen = float(past.submits[place]), past.job(place)
    state = past.state(at, place)
    without = replace(state, jobs=tuple(job for job in state.jobs if job.job_id != seen.job_id))
    advice = advise(
        without,
        past.history(at),
        nodes=seen.nodes,
        walltime=seen.walltime,
        user=seen.user,
        project=seen.project,
        draws=task.draws,
        seed=moment_seed(task.schedule, place, task.seed),
        **EASY,
    )
    job = _true(task.schedule)[seen.job_id]
    plans = {
        "own": ReservationPlan([seen.walltime], False),
        "advice": advice.best.plan,
        "omniscient": ReservationPlan([job.runtime], False),
    }
    for name in ("planner", "reserved"):
        request = advice.request_for(name)
        if request is not None:
            plans[name] = request.plan
    row: dict[str, object] = {
        "log": task.schedule.log,
        "week": int((at - float(past.submits[0])) // _WEEK),
        "job": place,
        "queue": len(state.waiting) - 1,
        "asked_h": seen.walltime / 3600,
        "advised_h": advice.best.walltime / 3600,
        "runtime_h": job.runtime / 3600,
    }
    responses: dict[tuple[float, ...], float] = {}
    for name, plan in plans.items():
        lengths = tuple(map(float, plan.length))
        if lengths not in responses:
            responses[lengths] = response_time(task.schedule, place, plan)
        row[f"{name}_h"] = responses[lengths] / 3600
    return row


@lru_cache(maxsize=1)
def _true(schedule: Schedule) -> dict[int, TraceJob]:
    """The jobs of a schedule, with their runtimes, by id."""
    return {job.job_id: job for job in trace_behind(schedule).jobs}


def response_time(schedule: Schedule, place: int, plan: ReservationPlan) -> float:
    """The response time of a job that requests the reservations of a plan [s]; all else is as in the schedule.

    The replay begins in the state at its submission, with the true runtimes and the later jobs of the schedule.

    Parameters
    ----------
    schedule
        A simulated one.
    place
        Place of the job, by submit.
    plan
        The reservations [s].
    """
    past, true = read_past(schedule), _true(schedule)
    at, own = float(past.submits[place]), past.job(place)
    state = past.state(at, place)
    asks = Job(
        own.job_id,
        JobType.STOCHASTIC,
        at,
        own.nodes,
        true[own.job_id].runtime,
        max(float(plan.length[-1]), true[own.job_id].runtime),
        user=own.user,
        project=own.project,
        application=_PLAN,
        true_runtime=true[own.job_id].runtime,
        plan=_PLAN,
        checkpoint_cost=0.0,
        restart_cost=0.0,
    )
    reach = _REACH
    while True:
        table = [asks, *_others(read_past(schedule).submits, state, true, own.job_id, schedule, reach)]
        result = simulate(table, past.nodes, events=False, plans={_PLAN: plan}, **EASY)
        (record,) = [record for record in result.records if record.job_id == own.job_id]
        if record.end is None or record.submit is None:
            raise HoldfastError(f"job {own.job_id} never ended in the replay")
        response = (record.end - record.submit) / 1e6
        if response <= reach or reach > past.ends[np.isfinite(past.ends)].max() - at:
            return float(response)
        reach = 2 * response


def _others(
    submits: np.ndarray, state: MachineState, true: Mapping[int, TraceJob], own: int, schedule: Schedule, reach: float
) -> Iterator[Job]:
    """The other jobs of a state and all later ones, with their true runtimes."""
    past = read_past(schedule)
    first, last = np.searchsorted(submits, [state.at, state.at + reach], side="right").tolist()
    for seen in (*state.jobs, *(past.job(place) for place in range(first, last))):
        if seen.job_id != own:
            yield seen.job_with_runtime(true[seen.job_id].runtime)


def _judge(tables: Tables) -> list[Verdict]:
    verdicts = []
    for log, words in _LOGS.items():
        rows = [row for row in tables[""] if row["log"] == log]
        where = f"On the simulated schedule of {words}" if log != GENERATED else "On the schedule of a generated year"
        gains = hypothesis(f"{where} the advice shortens the response time of jobs that have to wait")
        better = hypothesis(f"{where} the advice is on average not worse than the better of own request and planner's")
        rule = Above(quantity="the paired difference from the own request", unit="h")
        never = AtLeast(0.0, "the paired difference from the other request", "h")
        if len({row["week"] for row in rows}) < 2:
            reason = "there are no such jobs, or they are of one week (--set)"
            verdicts += [gains.open(reason, rule=rule.words), better.open(reason, rule=never.words)]
            continue
        weeks = [row["week"] for row in rows]
        means = {name: float(np.mean([row[f"{name}_h"] for row in rows])) for name in REQUESTS}
        differences = {
            name: clustered_interval([row["own_h"] - row[f"{name}_h"] for row in rows], weeks)
            for name in REQUESTS
            if name != "own"
        }
        others = "; ".join(f"{REQUESTS[name]} {found.text('+.2f')}" for name, found in differences.items())
        remark = f"over {len(rows):,} jobs in {len(set(weeks))} weeks; gains over the own request [h]: {others}"
        verdicts.append(gains.judge(rule, differences["advice"], f"{differences['advice'].text('+.2f')} h", remark))
        against = {
            REQUESTS[name]: clustered_interval([row[f"{name}_h"] - row["advice_h"] for row in rows], weeks)
            for name in ("own", "planner", "reserved")
        }
        measured = "; ".join(f"{name} {found.text('+.2f')} h" for name, found in against.items())
        remark = "means: " + "; ".join(f"{REQUESTS[name]} {mean:.2f} h" for name, mean in means.items())
        verdicts.append(better.each(never, against, measured, remark))
    return verdicts


def _draw(tables: Tables) -> Figure:
    from holdfast.experiments.figures.study.request_gains import plot_request_gains

    return plot_request_gains(tables[""], REQUESTS, _LOGS)


EXPERIMENTS: Sequence[Experiment] = (
    Experiment(
        id="beyond-advice",
        title="Advice followed",
        question="Does a job that asks for what is advised respond sooner than with its user's own request?",
        parameters=FollowedAdvice(),
        quick=FollowedAdvice(moments=12, draws=10, jobs=1500, most_jobs=3000),
        measure=_measure,
        judge=_judge,
        draw=_draw,
        stores=True,
        choices=(
            "Jobs are drawn as in beyond-forecast: those that have to wait under FCFS with EASY backfilling. One job "
            "at a time follows the advice; all else is replayed as it was, from the state at its submission.",
            "There are no checkpoints: a run that is killed begins again, in the next reservation of the plan.",
            "A job that was killed at its walltime is taken to need its walltime and no more.",
            "The omniscient request is the true runtime. It is no bound: a longer request may start sooner by chance.",
            "The planner's plans are those of least expected response with mean waits of the past, and of least "
            "reserved time.",
        ),
    ),
)
