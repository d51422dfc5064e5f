"""Strategies made from part of a run log, and their cost on the whole log ([S] section VI)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from holdfast.experiments.papers.incomplete.applications import COSTS, best_strategy
from holdfast.experiments.papers.incomplete.estimators import together
from holdfast.experiments.papers.incomplete.logs import FIGURE_6, RunLog, generate_log, read_logs
from holdfast.experiments.study.experiment import Resources, Row
from holdfast.experiments.study.parameters import data_file, or_none
from holdfast.experiments.study.row_cache import collect_rows
from holdfast.policies.planning.plan import ReservationPlan
from holdfast.workloads.distributions.distribution import Distribution
from holdfast.workloads.distributions.grids import from_samples
from holdfast.workloads.fits import USUAL, Fit, Samples, choose, fit_discrete, fit_polynomial, fit_usual
from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.ground.random_streams import stream

__all__ = ["SAMPLINGS", "Logs", "fit_plan", "measure_logs", "optimal_plan", "select_logs"]

#: Methods of selecting past runs from a log.
SAMPLINGS = ("consecutive", "random")


@dataclass(frozen=True)
class Logs:
    """Settings of a measurement.

    Attributes
    ----------
    makespans
        CSV file of measured walltimes (:func:`holdfast.experiments.papers.incomplete.logs.read_logs`); empty: generated
        logs.
    applications
        Applications of the generated logs.
    runs
        Number of runs of a generated log; 0: the number printed in [S].
    sizes
        Numbers of samples; numbers above the number of runs of a log are skipped.
    repetitions
        Number of draws of the samples.
    chosen_repetitions
        Number of draws in which the distribution is also chosen by cross-validation, which takes several seconds each.
    families
        Parametric families to try.
    degree
        Largest degree of the polynomial.
    cells
        Number of cells of the equal-time grid.
    ends
        End of strategies. ``"samples"``: the largest sample (plus a mean spacing for continuous strategies), and 1.5
        times longer reservations for runs beyond it (section VI-A). ``"bound"``: the longest run of the log, which the
        user is then assumed to know (section III, and the published code).
    lags, shufflings
        Parameters of the test of consecutive runs (figure 7).
    """

    makespans: str = data_file("slant/slant_makespan.csv")
    applications: tuple[str, ...] = FIGURE_6
    runs: int = 0
    sizes: tuple[int, ...] = (10, 60, 110, 160, 210, 260, 310, 360, 410, 460, 510)
    repetitions: int = 100
    chosen_repetitions: int = or_none(0)
    families: tuple[str, ...] = tuple(USUAL)
    degree: int = 10
    cells: int = 500
    ends: str = "samples"
    lags: int = 30
    shufflings: int = 999


@dataclass(frozen=True)
class _Task:
    """One draw of samples from one log."""

    log: str
    sampling: str
    size: int
    repetition: int
    seed: int
    setting: Logs
    chosen: bool = False


def select_logs(setting: Logs, seed: int) -> Mapping[str, RunLog]:
    """Logs by name, from the file or generated."""
    return _logs(setting.makespans, setting.applications, setting.runs, seed)


# Each process generates the logs once.
@lru_cache(maxsize=2)
def _logs(makespans: str, applications: tuple[str, ...], runs: int, seed: int) -> Mapping[str, RunLog]:
    if makespans:
        return read_logs(makespans)
    return {name: generate_log(name, seed, runs or None) for name in applications}


def optimal_plan(log: RunLog) -> ReservationPlan:
    """The best strategy for the whole log: the discrete algorithm on all runs."""
    longest = float(log.times.max())
    return ReservationPlan(best_strategy(from_samples(log.times), longest, 1), False, COSTS)


def fit_plan(distribution: Distribution, samples: Samples, cells: int) -> ReservationPlan:
    """The best strategy for a fitted distribution; it ends at the end of the support, at most at ``samples.upper``."""
    return ReservationPlan(best_strategy(distribution, min(distribution.upper, samples.upper), cells), False, COSTS)


def _draw_past(log: RunLog, task: _Task) -> npt.NDArray[np.float64]:
    rng = stream(task.seed, "incomplete", "past", task.sampling, task.log, task.size, task.repetition)
    if task.sampling == "consecutive":
        start = int(rng.integers(0, len(log) - task.size + 1))
        return log.times[start : start + task.size]
    return log.times[rng.choice(len(log), task.size, replace=False)]


def _estimates(task: _Task, raw: npt.NDArray[np.float64], bound: float | None) -> Iterator[tuple[str, Fit]]:
    """Name and fit of every estimator; ``nearest`` is the polynomial or the usual distribution, by error of the CDF."""
    setting = task.setting
    samples = Samples.of(raw, bound)
    yield "discrete", fit_discrete(samples)
    continuous = {
        "polynomial": fit_polynomial(samples, setting.degree),
        "usual": fit_usual(samples, setting.families)[0],
    }
    yield from continuous.items()
    yield "nearest", min(continuous.values(), key=lambda fit: (fit.reason_refused is not None, fit.error))
    if task.chosen:

        def planner(distribution: Distribution, costs: Any) -> ReservationPlan:
            return fit_plan(distribution, samples, setting.cells)

        rng = stream(task.seed, "incomplete", "folds", task.sampling, task.log, task.size, task.repetition)
        yield "chosen", choose(raw, COSTS, planner, rng=rng, upper=bound).chosen


def _task_rows(task: _Task) -> list[dict[str, Any]]:
    log = select_logs(task.setting, task.seed)[task.log]
    raw = _draw_past(log, task)
    bound = float(log.times.max()) if task.setting.ends == "bound" else None
    optimum = _optimal_cost(log)
    samples = Samples.of(raw, bound)
    rows = []
    for estimator, fit in _estimates(task, raw, bound):
        row: dict[str, Any] = {
            "application": task.log,
            "sampling": task.sampling,
            "optimum_h": optimum,
            "samples": task.size,
            "repetition": task.repetition,
            "estimator": estimator,
            "fit": None,
            "error": None,
            "reservations": None,
            "outlived": None,
            "cost_h": None,
            "loss": None,
        }
        if fit.distribution is not None and fit.reason_refused is None:
            plan = fit_plan(fit.distribution, samples, task.setting.cells)
            cost = float(plan.paid_cost(log.times).mean())
            row |= {
                "fit": fit.name,
                "error": fit.error**0.5,
                "reservations": len(plan),
                "outlived": int(np.count_nonzero(log.times > plan.milestones[-1])),
                "cost_h": cost,
                "loss": cost / optimum - 1.0,
            }
        rows.append(row)
    return rows


@lru_cache(maxsize=16)
def _optimal_cost(log: RunLog) -> float:
    return float(optimal_plan(log).paid_cost(log.times).mean())


def measure_logs(setting: Logs, samplings: Sequence[str], seed: int, resources: Resources | None = None) -> list[Row]:
    """Measure the costs of strategies made from part of each log.

    Parameters
    ----------
    setting
        Settings of the measurement.
    samplings
        Names in :data:`SAMPLINGS`.
    seed
        Seed of the logs and the draws.
    resources
        Store and workers; None: nothing is stored.

    Returns
    -------
    list of dict
        A row for each estimate: application, sampling, optimum_h and cost_h (means over all runs of the log), samples,
        repetition, estimator, fit, error (RMS of the CDF at the samples), reservations, outlived (runs beyond the last
        reservation), loss (relative excess cost over the optimum). The last six are None if no distribution could be
        fitted.

    Raises
    ------
    ParameterError
        If a size or number is not legal, or a log has fewer runs than the smallest size.
    """
    for name in ("repetitions", "cells", "degree"):
        if getattr(setting, name) < 1:
            raise ParameterError(name, "a whole number of at least 1", getattr(setting, name))
    if not setting.sizes or min(setting.sizes) < 2:
        raise ParameterError("sizes", "numbers of samples, 2 or more", setting.sizes)
    if setting.ends not in ("bound", "samples"):
        raise ParameterError("ends", "bound or samples", setting.ends)
    logs = select_logs(setting, seed)
    for log in logs.values():
        if len(log) < min(setting.sizes):
            raise ParameterError("sizes", f"one of at most {len(log)}, the runs of {log.title}", setting.sizes)
    # A task contains only its own settings, so that measurements with other sizes can reuse its stored rows.
    own = replace(setting, sizes=(), repetitions=0, chosen_repetitions=0)
    tasks = [
        _Task(name, sampling, size, repetition, seed, own, repetition < setting.chosen_repetitions)
        for name, sampling, size, repetition in itertools.product(
            logs, samplings, setting.sizes, range(setting.repetitions)
        )
        if size <= len(logs[name])
    ]
    files = [setting.makespans] * len(tasks)
    return list(collect_rows(_task_rows, tasks, resources, files=files, together=together(setting.repetitions)))
