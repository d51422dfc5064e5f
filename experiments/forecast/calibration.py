"""The rule that agrees best with the recorded starts of a log, and the error that remains in weeks held out.

From the state at the beginning of a week the jobs that came are replayed with their true runtimes, under each order and
backfilling rule. Source: docs/guides/forecast-quality.md, "A fitted rule".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from holdfast.experiments.forecast.log_cursor import Past
from holdfast.experiments.forecast.wait_quantiles import to_scale
from holdfast.experiments.sweeps.execution import spread
from holdfast.policies.order import ORDERS
from holdfast.simulator.machine.prior_state import PriorState
from holdfast.simulator.start_times import first_starts
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.table.job import Job

__all__ = ["KIND", "RULES", "Calibration", "QueueRule", "Remainder", "calibrate", "draw_weeks"]

Floats = npt.NDArray[np.float64]

#: What a document of a fitted rule says that it is.
KIND = "fitted rule"
#: Backfilling rules, with depths: the number of waiting jobs with a reservation.
RULES = ("easy", "none", "easy depth=4", "easy depth=16", "conservative")
_WEEK = 7 * 86_400.0
#: Weeks begin after this share of the jobs.
_FIRST = 0.1
#: Jobs of a week that are compared, and jobs that come meanwhile or later.
_COMPARED, _COMING = 200, 400
#: Users that have a row of their own: those with the most jobs.
_USERS = 5
#: Fewest compared jobs of a group.
_FEWEST = 10


class QueueRule(NamedTuple):
    """An order and a backfilling rule, by the names that ``run`` and ``forecast`` take."""

    order: str = "fcfs"
    backfilling: str = "easy"


@dataclass(frozen=True, eq=False)
class LogWeek:
    """A week of a log from a state on.

    Attributes
    ----------
    at
        Its beginning [s].
    nodes
        Size of the machine.
    jobs
        Running, waiting and later jobs, with their true runtimes.
    compared
        Ids of the jobs; their starts are compared.
    places
        Their places in the log, shape (compared,).
    queued, starts
        When they entered the queue, and their recorded starts [s], shape (compared,).
    origin, prior
        First submit [s], and what is known of the time before.
    """

    at: float
    nodes: int
    jobs: tuple[Job, ...]
    compared: tuple[int, ...]
    places: npt.NDArray[np.int64]
    queued: Floats
    starts: Floats
    origin: float | None
    prior: PriorState


class Remainder(NamedTuple):
    """How far simulated waits are from the recorded ones.

    Attributes
    ----------
    group
        Its jobs in words.
    jobs
        Number of compared jobs.
    wait
        Mean recorded wait [s].
    error
        Median distance of the starts [s].
    factor
        Mean factor between the waits, each with a minute added, from 1 on: the exponential of the mean distance of
        their logarithms.
    """

    group: str
    jobs: int
    wait: float
    error: float
    factor: float

    def row(self) -> dict[str, Any]:
        """For JSON and tables."""
        return self._asdict()


@dataclass(frozen=True)
class Calibration:
    """The best rule, and what remains.

    Attributes
    ----------
    rule
        The rule of the least factor in the fitted weeks.
    tried
        Every rule with its factor there, the best first.
    remaining
        Errors in the weeks held out: of all jobs, then by partition, size and user.
    usual
        Error of FCFS with EASY backfilling in the same weeks.
    """

    rule: QueueRule
    tried: tuple[tuple[QueueRule, float], ...]
    remaining: tuple[Remainder, ...]
    usual: Remainder

    def document(self) -> dict[str, Any]:
        """For JSON: options that ``run``, ``forecast`` and ``advise`` take, and the errors [s]."""
        return {
            "kind": KIND,
            "options": self.rule._asdict(),
            "tried": [{**rule._asdict(), "factor": factor} for rule, factor in self.tried],
            "held_out": [found.row() for found in self.remaining],
            "fcfs_easy": self.usual.row(),
        }


def draw_weeks(past: Past, count: int) -> list[LogWeek]:
    """Weeks at equal distances after the first tenth of a log.

    Parameters
    ----------
    past
        A log with recorded waits.
    count
        Their number; fewer if the log has not that many.

    Raises
    ------
    InputError
        If there are fewer than two.
    """
    started = np.sort(past.queued[np.isfinite(past.starts)])
    first, last = (float(started[place]) for place in (int(_FIRST * len(started)), -1)) if len(started) else (0.0, 0.0)
    count = min(count, int((last - first) // _WEEK))
    if count >= 2:
        begins = first + (last - first - _WEEK) * np.arange(count) / (count - 1)
        weeks = [week for at in begins.tolist() if (week := _week(past, at)) is not None]
        if len(weeks) >= 2:
            return weeks
    raise InputError(
        f"{past.source}: a rule is fitted to at least 2 weeks with recorded starts after the first tenth of the jobs, "
        f"and there are {max(0.0, last - first) / _WEEK:.1f} weeks"
    )


def _week(past: Past, at: float) -> LogWeek | None:
    """The week from a time on; None: no job came."""
    order = np.argsort(past.queued, kind="stable")
    order = order[np.isfinite(past.starts[order]) & (past.requests[order, 0] <= past.nodes)]
    begin = int(np.searchsorted(past.queued[order], at, side="right"))
    coming = order[begin : begin + _COMING]
    compared = coming[past.queued[coming] <= at + _WEEK][:_COMPARED]
    if not len(compared):
        return None
    state = past.state(at)
    known = order[:begin]
    known = known[past.ends[known] > at]
    runtimes = dict(zip(past.job_ids(known), (past.ends - past.starts)[known].tolist(), strict=True))
    jobs = [job.job_with_runtime(runtimes[job.job_id]) for job in state.jobs if job.job_id in runtimes]
    jobs += [
        past.job(place).job_with_runtime(float(past.ends[place] - past.starts[place])) for place in coming.tolist()
    ]
    compared_ids = tuple(past.job_ids(compared))
    columns = past.queued[compared], past.starts[compared]
    return LogWeek(at, past.nodes, tuple(jobs), compared_ids, compared, *columns, state.origin, state.prior)


class _Task(NamedTuple):
    week: LogWeek
    rule: QueueRule


def _simulate(task: _Task) -> Floats:
    """Simulated waits of the compared jobs of a week [s]."""
    week = task.week
    starts = first_starts(
        week.jobs, week.nodes, week.at, week.compared, origin=week.origin, prior=week.prior, **task.rule._asdict()
    )
    return np.array([starts[job_id] for job_id in week.compared]) - week.queued


def calibrate(past: Past, weeks: Sequence[LogWeek], workers: int | None = 1) -> Calibration:
    """Search the rule that agrees best with recorded starts, among all orders with all of :data:`RULES`.

    Every second week is held out.

    Parameters
    ----------
    past
        The log of the weeks.
    weeks
        At least two (:func:`draw_weeks`).
    workers
        Processes; None: one for each core.
    """
    fitted, held_out = weeks[::2], weeks[1::2]
    rules = [QueueRule(order, backfilling) for order in ORDERS for backfilling in RULES]
    found = list(spread(_simulate, [_Task(week, rule) for rule in rules for week in fitted], workers))
    recorded = _recorded_waits(fitted)
    factors = {
        rule: _factor(np.concatenate(found[place * len(fitted) : (place + 1) * len(fitted)]), recorded)
        for place, rule in enumerate(rules)
    }
    best = min(factors, key=lambda rule: factors[rule])
    waits = {
        rule: np.concatenate(list(spread(_simulate, [_Task(week, rule) for week in held_out], workers)))
        for rule in {best, QueueRule()}
    }
    places = np.concatenate([week.places for week in held_out])
    groups = {"all": np.ones(len(places), bool), **_groups(past, places)}
    actual = _recorded_waits(held_out)
    remaining = [_remainder(name, waits[best][mask], actual[mask]) for name, mask in groups.items()]
    usual = _remainder("all", waits[QueueRule()], actual)
    return Calibration(best, tuple(sorted(factors.items(), key=lambda item: item[1])), tuple(remaining), usual)


def _recorded_waits(weeks: Sequence[LogWeek]) -> Floats:
    return np.concatenate([week.starts - week.queued for week in weeks])


def _factor(simulated: Floats, recorded: Floats) -> float:
    return float(np.exp(np.abs(to_scale(simulated) - to_scale(recorded)).mean()))


def _remainder(group: str, simulated: Floats, recorded: Floats) -> Remainder:
    error = float(np.median(np.abs(simulated - recorded)))
    return Remainder(group, len(recorded), float(recorded.mean()), error, _factor(simulated, recorded))


def _groups(past: Past, places: npt.NDArray[np.int64]) -> dict[str, npt.NDArray[np.bool_]]:
    """Jobs by partition, by size in powers of four, and of the users with the most jobs."""
    found = {}
    for name in ("partition", "user"):
        texts = np.array(past.texts(name, places), dtype=object)
        named, counts = np.unique(texts[texts != ""].astype(str), return_counts=True)
        order = np.argsort(-counts, kind="stable")[: _USERS if name == "user" else None]
        if name == "user" or len(named) > 1:
            found[name] = {f"{name} {text}": texts == text for text in named[order].tolist()}
    classes = (np.frexp(past.requests[places, 0])[1] - 1) // 2
    sizes = {f"{4**size:,} to {4 ** (size + 1) - 1:,} nodes": classes == size for size in np.unique(classes).tolist()}
    masks = {**found.get("partition", {}), **sizes, **found["user"]}
    return {name: mask for name, mask in masks.items() if mask.sum() >= _FEWEST}
