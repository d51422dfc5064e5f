"""A generated week of submissions of six applications, and the strategies of [S] section VI-A for it.

The logs of the paper are not public. A week is a part of a generated log
(:mod:`holdfast.experiments.papers.incomplete.logs`), submitted as a Poisson process. The paper does not print the
number of nodes of the machine or of a job; the size of the machine follows from a given load.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from holdfast.experiments.papers.incomplete.applications import COSTS
from holdfast.experiments.papers.incomplete.logs import generate_log, list_applications
from holdfast.experiments.papers.incomplete.sampling import fit_plan
from holdfast.experiments.study.metrics import WEEK as WEEK_METRICS
from holdfast.policies.planning.plan import ReservationPlan
from holdfast.policies.planning.strategies import STRATEGIES
from holdfast.simulator.results.metrics import summarize
from holdfast.simulator.simulation import simulate
from holdfast.workloads.fits import Samples, fit_discrete, fit_polynomial, fit_usual
from holdfast.workloads.ground.errors import ParameterError, UnknownNameError
from holdfast.workloads.ground.random_streams import stream
from holdfast.workloads.table.job import Job, JobType

__all__ = [
    "RESERVED",
    "RESPONSE",
    "STRETCH",
    "UTILIZATION",
    "WEEK",
    "WHOLE",
    "Week",
    "draw_week",
    "draw_widths",
    "make_plans",
    "run_week",
]

UTILIZATION, STRETCH, RESPONSE, WHOLE, RESERVED = WEEK_METRICS.values()

#: Hours of a week.
WEEK = 168.0
_YEAR = 8760.0
_HOUR = 3600.0
#: Number of last runs that MASI averages (section II), and extension factor of all strategies (VI-A).
_LAST, _FACTOR = 10, 1.5


@dataclass(frozen=True, eq=False)
class Week:
    """Jobs in the order of submission, and the runs known before the week.

    Attributes
    ----------
    applications
        Application of each job, shape (jobs,).
    submits, runtimes
        Submit time and runtime of each job, shape (jobs,) [h].
    past
        All earlier runs of each application, in order [h].
    drawn
        Random samples of the earlier runs, by application and number of samples [h].
    """

    applications: tuple[str, ...]
    submits: npt.NDArray[np.float64]
    runtimes: npt.NDArray[np.float64]
    past: Mapping[str, npt.NDArray[np.float64]]
    drawn: Mapping[tuple[str, int], npt.NDArray[np.float64]]


def draw_week(
    names: Sequence[str], samples: Sequence[int], seed: int, repetition: int, runs: Mapping[str, int] | None = None
) -> Week:
    """Draw a week from a year of each application.

    Parameters
    ----------
    names
        Names of applications in :func:`holdfast.experiments.papers.incomplete.logs.list_applications`.
    samples
        Numbers of random previous runs; at least as many runs must precede the week.
    seed, repetition
        Seed and repetition, which determine the week. Each repetition has separate logs.
    runs
        Number of runs per year for applications for which it is not the printed number.

    Raises
    ------
    UnknownNameError
        If there is no such application.
    ParameterError
        If a log has too few runs, or a number is less than 2.
    """
    before = max(*samples, _LAST)
    if min(samples) < 2:
        raise ParameterError("samples", "numbers of runs, 2 or more", tuple(samples))
    own = int(stream(seed, "incomplete", "week", repetition).integers(2**31))
    parts: list[tuple[float, str, float]] = []
    past: dict[str, npt.NDArray[np.float64]] = {}
    drawn: dict[tuple[str, int], npt.NDArray[np.float64]] = {}
    for name in names:
        known = list_applications()
        if name not in known:
            raise UnknownNameError("application", name, known)
        total = (runs or {}).get(name, known[name].runs)
        count = max(1, round(total * WEEK / _YEAR))
        if before + count > total:
            raise ParameterError("samples", f"at most {total - count} runs of {name}", tuple(samples))
        log, rng = generate_log(name, own, total), stream(own, "incomplete", "week", name)
        start = int(rng.integers(before, len(log) - count + 1))
        # A Poisson process conditional on the number of jobs.
        submits = np.sort(rng.uniform(0.0, WEEK, count))
        parts += zip(submits.tolist(), [name] * count, log.times[start : start + count].tolist(), strict=True)
        past[name] = log.times[:start]
        for number in samples:
            drawn[name, number] = rng.choice(past[name], number, replace=False)
    parts.sort()
    times, applications, runtimes = zip(*parts, strict=True)
    return Week(applications, np.array(times), np.array(runtimes), past, drawn)


def draw_widths(jobs: int, widest: int, seed: int, repetition: int) -> npt.NDArray[np.int64]:
    """Draw the number of nodes of each job: 1, 2, 4, ... up to ``widest`` with equal probability; shape (jobs,)."""
    rng = stream(seed, "incomplete", "week", "widths", widest, repetition)
    return np.asarray(2 ** rng.integers(0, widest.bit_length(), jobs), dtype=np.int64)


def make_plans(
    week: Week, samples: Sequence[int], families: Sequence[str], cells: int, *, doubled: bool = False
) -> dict[str, dict[str, Any]]:
    """Make a plan for each strategy and application [s].

    Parameters
    ----------
    week
        Week with its known runs.
    samples
        Numbers of random previous runs.
    families
        Usual distributions to try.
    cells
        Number of cells of the equal-time grid.
    doubled
        Whether to add ``masi 2``, MASI's average "doubling it each time it underestimates" (section II).

    Returns
    -------
    dict
        ``hpc`` (the longest of all previous runs), ``masi`` (the mean of the last 10), and for each number ``hpc N``
        (the longest of N random previous runs) and ``continuous N`` (the optimal strategy of a distribution fitted to
        them).
    """
    names = list(week.past)
    plans: dict[str, dict[str, Any]] = {
        "hpc": {name: STRATEGIES["maximum"](_HOUR * week.past[name], COSTS, factor=_FACTOR) for name in names},
        "masi": {name: STRATEGIES["masi"](_HOUR * week.past[name], COSTS, k=_LAST, factor=_FACTOR) for name in names},
    }
    if doubled:
        plans["masi 2"] = {
            name: STRATEGIES["masi"](_HOUR * week.past[name], COSTS, k=_LAST, factor=2.0) for name in names
        }
    for number in samples:
        runs = {name: week.drawn[name, number] for name in names}
        plans[f"hpc {number}"] = {
            name: STRATEGIES["maximum"](_HOUR * runs[name], COSTS, factor=_FACTOR) for name in names
        }
        plans[f"continuous {number}"] = {name: _continuous(runs[name], families, cells) for name in names}
    return plans


def _continuous(runs: npt.NDArray[np.float64], families: Sequence[str], cells: int) -> ReservationPlan:
    """Plan from the nearer of polynomial and parametric fit, or from the runs if both fits are refused."""
    samples = Samples.of(runs)
    fits = [fit for fit in (fit_polynomial(samples, 10), fit_usual(samples, families)[0]) if fit.reason_refused is None]
    fit = min(fits, key=lambda fit: fit.error) if fits else fit_discrete(samples)
    plan = fit_plan(fit.good(), samples, cells)
    return ReservationPlan(_HOUR * plan.milestones, False, COSTS, "continuous")


def run_week(
    week: Week, plans: Mapping[str, ReservationPlan], nodes: npt.NDArray[np.int64], machine: int
) -> dict[str, float]:
    """Simulate a week.

    Parameters
    ----------
    week
        Jobs of the week.
    plans
        Plan of each application [s]; empty: jobs request their true runtimes.
    nodes
        Number of nodes of each job, shape (jobs,).
    machine
        Number of nodes of the machine.

    Returns
    -------
    dict
        utilization (walltimes times nodes over the machine's time until all are done), stretch (response time over
        walltime, mean over the jobs), response_h (mean), all_done_h (from the first submission to the last completion),
        reserved_ratio (requested node-hours over those of the walltimes), execution_stretch (used time over walltime,
        mean), reservations (per job).
    """
    rows = list(zip(week.applications, week.submits.tolist(), week.runtimes.tolist(), nodes.tolist(), strict=True))
    given = dict(plans) or {
        f"job {row}": ReservationPlan([_HOUR * runtime], False, COSTS) for row, (_, _, runtime, _) in enumerate(rows)
    }
    jobs = [
        Job(row, JobType.STOCHASTIC, _HOUR * submit, width, _HOUR * runtime, _HOUR * runtime, application=name,
            plan=name if plans else f"job {row}")
        for row, (name, submit, runtime, width) in enumerate(rows)
    ]  # fmt: skip
    summary = summarize(simulate(jobs, machine, events=False, plans=given))
    columns = {
        "utilization": "work_utilization",
        "stretch": "stretch",
        "response_h": "turnaround_h",
        "all_done_h": "makespan_h",
        "execution_stretch": "execution_stretch",
        "reservations": "reservations_per_job",
    }
    found = {name: float(summary[column]) for name, column in columns.items()}
    return {**found, "reserved_ratio": float(summary["reserved_node_hours"]) / float(week.runtimes @ nodes)}
