"""Estimators of [S] section IV, which make a strategy from samples, and the parallel measurement of their losses."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from holdfast.experiments.papers.incomplete.applications import COSTS, Application, applications, best_strategy
from holdfast.experiments.study.experiment import Resources, Row
from holdfast.experiments.study.parameters import or_none
from holdfast.experiments.study.row_cache import collect_rows
from holdfast.policies.planning.plan import ReservationPlan
from holdfast.workloads.distributions.distribution import Distribution
from holdfast.workloads.fits import Fit, Samples, choose, fit_discrete, fit_polynomial, fit_usual
from holdfast.workloads.ground.errors import ParameterError
from holdfast.workloads.ground.random_streams import stream

__all__ = ["ESTIMATORS", "Setting", "measure_losses", "together"]

#: Number of draws stored together; a draw takes a second or two.
_TOGETHER = 10


@dataclass(frozen=True)
class Setting:
    """Settings of a measurement.

    Attributes
    ----------
    sizes
        Numbers of samples.
    repetitions
        Number of draws of the samples.
    chosen_repetitions
        Number of draws in which the distribution is also chosen by cross-validation, which takes several seconds each.
    cells
        Number of cells of the equal-time grid.
    degrees
        Largest degrees of the polynomial.
    ends
        End of fitted bounded distributions: ``"bound"``, at the bound of the runtime, which the user knows ([S] section
        III), or ``"samples"``, just after the largest sample. The last reservation is the bound in both cases.
    """

    sizes: tuple[int, ...] = (10, 60, 110, 160, 210, 260, 310, 360, 410, 460, 510)
    repetitions: int = 100
    chosen_repetitions: int = or_none(10)
    cells: int = 500
    degrees: tuple[int, ...] = (10,)
    ends: str = "bound"


@dataclass(frozen=True)
class _Task:
    """One draw of samples."""

    application: str
    size: int
    repetition: int
    seed: int
    setting: Setting
    estimators: tuple[str, ...]


_Estimate = tuple[str, Fit | None]


def _discrete(task: _Task, application: Application, samples: Samples, raw: np.ndarray) -> Iterable[_Estimate]:
    yield "discrete", fit_discrete(samples)


def _polynomial(task: _Task, application: Application, samples: Samples, raw: np.ndarray) -> Iterable[_Estimate]:
    for degree in task.setting.degrees:
        name = "polynomial" if len(task.setting.degrees) == 1 else f"polynomial-{degree}"
        yield name, fit_polynomial(samples, degree)


def _usual(task: _Task, application: Application, samples: Samples, raw: np.ndarray) -> Iterable[_Estimate]:
    yield "usual", fit_usual(samples)[0]


def _semi(task: _Task, application: Application, samples: Samples, raw: np.ndarray) -> Iterable[_Estimate]:
    if application.families:
        yield "semi-clairvoyant", fit_usual(samples, application.families)[0]


def _choose_fits(task: _Task, application: Application, samples: Samples, raw: np.ndarray) -> Iterable[_Estimate]:
    bound, cells = application.distribution.upper, task.setting.cells

    def planner(distribution: Distribution, costs: Any) -> ReservationPlan:
        return ReservationPlan(best_strategy(distribution, bound, cells), False, costs)

    rng = stream(task.seed, "incomplete", "folds", task.application, task.size, task.repetition)
    yield "chosen", choose(raw, COSTS, planner, rng=rng, upper=bound).chosen


#: Estimators by name: discrete, polynomial and usual (parametric) as in [S]; semi-clairvoyant: the true family only;
#: chosen: by cross-validation from the samples alone, among all fits.
ESTIMATORS: Mapping[str, Callable[[_Task, Application, Samples, np.ndarray], Iterable[_Estimate]]] = MappingProxyType(
    {
        "discrete": _discrete,
        "polynomial": _polynomial,
        "usual": _usual,
        "semi-clairvoyant": _semi,
        "chosen": _choose_fits,
    }
)


def measure_losses(
    names: Sequence[str],
    setting: Setting,
    seed: int,
    estimators: Sequence[str] = tuple(ESTIMATORS),
    resources: Resources | None = None,
) -> list[Row]:
    """Measure the losses of the estimators on some applications.

    Parameters
    ----------
    names
        Names of the applications.
    setting
        Settings of the measurement.
    seed
        Seed of the samples.
    estimators
        Names in :data:`ESTIMATORS`.
    resources
        Store and workers; None: nothing is stored.

    Returns
    -------
    list of dict
        A row for each estimate: application, optimum_h, samples, repetition, estimator, fit, error (RMS of the CDF),
        reservations, cost_h, loss. The last four are None if no distribution of this kind could be fitted.

    Raises
    ------
    ParameterError
        If a size or number is not positive.
    """
    for name in ("repetitions", "cells"):
        if getattr(setting, name) < 1:
            raise ParameterError(name, "a whole number of at least 1", getattr(setting, name))
    if not setting.sizes or min(setting.sizes) < 2:
        raise ParameterError("sizes", "numbers of samples, 2 or more", setting.sizes)
    if setting.ends not in ("bound", "samples"):
        raise ParameterError("ends", "bound or samples", setting.ends)
    chosen = tuple(estimators)
    unchosen = tuple(name for name in chosen if name != "chosen")
    # A task contains only its own settings, so that measurements with other sizes can reuse its stored rows.
    own = replace(setting, sizes=(), repetitions=0, chosen_repetitions=0)
    tasks = [
        _Task(name, size, repetition, seed, own, chosen if repetition < setting.chosen_repetitions else unchosen)
        for name, size, repetition in itertools.product(names, setting.sizes, range(setting.repetitions))
    ]
    return list(collect_rows(_task_rows, tasks, resources, together=together(setting.repetitions)))


def together(repetitions: int) -> int:
    """Number of draws of one size that are stored together, a divisor of ``repetitions``.

    >>> together(100), together(12), together(7)
    (10, 6, 7)
    """
    return next(number for number in range(min(_TOGETHER, repetitions), 0, -1) if repetitions % number == 0)


def _task_rows(task: _Task) -> list[dict[str, Any]]:
    """Estimates from one draw of samples, which depends only on the task."""
    application = applications()[task.application]
    rng = stream(task.seed, "incomplete", task.application, task.size, task.repetition)
    raw = application.distribution.sample(rng, task.size)
    samples = Samples.of(raw, application.distribution.upper if task.setting.ends == "bound" else None)
    rows = []
    for estimator in task.estimators:
        for label, fit in ESTIMATORS[estimator](task, application, samples, raw):
            row: dict[str, Any] = {
                "application": application.name,
                "optimum_h": application.optimum,
                "samples": task.size,
                "repetition": task.repetition,
                "estimator": label,
                "fit": None,
                "error": None,
                "reservations": None,
                "cost_h": None,
                "loss": None,
            }
            if fit is not None and fit.distribution is not None and fit.reason_refused is None:
                milestones = best_strategy(fit.distribution, application.distribution.upper, task.setting.cells)
                row |= {
                    "fit": fit.name,
                    "error": fit.error**0.5,
                    "reservations": len(milestones),
                    "cost_h": application.cost(milestones),
                    "loss": application.loss(milestones),
                }
            rows.append(row)
    return rows
