"""The closed loop of planning and simulation: plan, simulate, fit waits, and repeat until the plans are stable.

Source: docs/planner.md, "Prices from waits". Plans that minimise reserved time ignore the queue wait of each further
reservation; plans for fitted waits change the queue from which the waits are fitted. A round is stable if plans made
anew with the costs from its own waits would hardly be better than those it ran with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from holdfast.experiments.recordings.summaries import metric_column
from holdfast.policies.mechanism import BASELINE
from holdfast.simulator import Result, simulate
from holdfast.simulator.machine.actual_outcomes import PREEMPTED
from holdfast.simulator.options import Options
from holdfast.simulator.results.metrics import summarize
from holdfast.workloads.ground.columns import Quantity
from holdfast.workloads.ground.errors import InputError, ParameterError
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.table.job import Job, JobType

if TYPE_CHECKING:
    from holdfast.policies.planning.costs import CostModel
    from holdfast.policies.planning.plan import ReservationPlan
    from holdfast.policies.planning.plan_book import Planner
    from holdfast.policies.planning.waits.model import WaitModel
    from holdfast.simulator.machine.prior_state import PriorState
    from holdfast.workloads.distributions import Distribution

__all__ = ["COLUMNS", "ROUNDS", "Loop", "Round", "check_strategies", "close_loop", "wait_samples"]

#: Columns of a round in addition to those of the summary.
COLUMNS = (
    *("round", "alpha", "beta", "gamma_h", "fitted_alpha", "fitted_gamma_h", "regret", "stable"),
    *("turnaround_h", "turnaround_stochastic_h", "stretch", "reservations_per_job", "utilization", "work_utilization"),
    *("wasted_node_hours", "planned_cost_h", "paid_cost_h"),
)
#: Columns of the rounds in a terminal.
ROUNDS = (
    Quantity("round"),
    metric_column("alpha", "alpha", "planned for"),
    metric_column("gamma_h", "gamma", "planned for"),
    metric_column("fitted_alpha", "alpha", "waits were"),
    metric_column("fitted_gamma_h", "gamma", "waits were"),
    metric_column("regret", "regret"),
    metric_column("turnaround_stochastic_h", "stoch.", "turnaround", digits=2),
    metric_column("turnaround_h", "all", "turnaround", digits=2),
    metric_column("reservations_per_job", "reserv.", unit="a job"),
    metric_column("wasted_node_hours", "wasted", unit="kNh", scale=1e-3, digits=1),
    metric_column("utilization", "util."),
    metric_column("work_utilization", "work"),
)


@dataclass(frozen=True)
class Round:
    """One simulation of the loop.

    Attributes
    ----------
    number
        Number from 0; round 0 plans for reserved time.
    prices
        Costs that its plans were made for; None: reserved time.
    fitted
        Costs fitted to its waits.
    regret
        Relative excess cost of its plans over plans made for ``fitted``, both under ``fitted`` and the distributions
        they were made for; mean over the jobs.
    stable
        Whether the regret is at most the tolerance.
    summary
        Summary of :func:`holdfast.simulator.results.metrics.summarize`.
    """

    number: int
    prices: WaitModel | None
    fitted: WaitModel
    regret: float
    stable: bool
    summary: Mapping[str, Any]

    def row(self) -> dict[str, Any]:
        """The columns of :data:`COLUMNS`; prices are those of all sizes together."""
        alpha, beta, gamma = (1.0, 0.0, 0.0) if self.prices is None else self.prices.all.costs
        return {
            **{name: self.summary[name] for name in COLUMNS if name in self.summary},
            "round": self.number,
            "alpha": alpha,
            "beta": beta,
            "gamma_h": gamma / 3600,
            "fitted_alpha": self.fitted.all.alpha,
            "fitted_gamma_h": self.fitted.all.gamma / 3600,
            "regret": self.regret,
            "stable": self.stable,
        }


@dataclass(frozen=True)
class Loop:
    """All rounds.

    Attributes
    ----------
    rounds
        Rounds in order.
    """

    rounds: tuple[Round, ...]

    @property
    def stable(self) -> bool:
        """Whether the last round is stable."""
        return self.rounds[-1].stable

    def gain(self, name: str) -> float:
        """Relative reduction of a metric in the last round compared with round 0, which planned for reserved time.

        Raises
        ------
        ParameterError
            If there is no such metric.
        """
        first, last = (self.rounds[place].summary.get(name) for place in (0, -1))
        if not isinstance(first, float) or not isinstance(last, float):
            raise ParameterError("name", f"a metric of {', '.join(COLUMNS)}", name)
        return 1.0 - last / first


def close_loop(
    jobs: Sequence[Job],
    nodes: int,
    mechanism: str = BASELINE,
    *,
    planner: Planner | None = None,
    options: Options | None = None,
    rounds: int = 8,
    tolerance: float = 0.01,
    classes: Sequence[int] | None = None,
    plans: Mapping[str, ReservationPlan] | None = None,
    progress: Callable[[Round], None] | None = None,
    prior: PriorState | None = None,
) -> Loop:
    """Plan, simulate and refit until the plans are stable.

    Parameters
    ----------
    jobs, nodes, mechanism
        As :func:`holdfast.simulator.simulation.simulate` takes them; some jobs must be stochastic and planned by a
        strategy.
    planner
        The planner; the loop sets its costs.
    options
        Options of the machine.
    rounds
        Largest number of simulations, >= 1.
    tolerance
        Largest regret of a stable round, relative.
    classes
        Largest size of each size class of the waits but the last; None: as
        :func:`holdfast.policies.planning.waits.fitting.size_classes` makes them.
    plans
        Given plans, which the loop does not change.
    progress
        Called after each round.
    prior
        As :func:`holdfast.simulator.simulation.simulate` takes it.

    Returns
    -------
    Loop
        At least one round; the last one is stable unless ``rounds`` were too few.

    Raises
    ------
    InputError
        If no job is planned by a strategy, or the waits cannot be fitted.
    """
    from holdfast.policies.planning.plan_book import Planner
    from holdfast.policies.planning.waits.fitting import fit_waits

    if rounds < 1:
        raise ParameterError("rounds", "a whole number of at least 1", rounds)
    if not tolerance >= 0:
        raise ParameterError("tolerance", "a share of at least 0", tolerance)
    table, settings = list(jobs), options or Options()
    check_strategies(table, plans or {})
    made = planner or Planner()
    found: list[Round] = []
    prices: WaitModel | None = None
    while len(found) < rounds:
        if prices is not None:
            made = replace(made, prices=prices.costs_for)
        how = {"planner": made, "plans": plans, "prior": prior, **asdict(settings)}
        result = simulate(table, nodes, mechanism, events=False, **how)
        fitted = fit_waits(*wait_samples(result, table), classes)
        regret = _regret(result, fitted, made)
        latest = Round(len(found), prices, fitted, regret, regret <= tolerance, summarize(result))
        found.append(latest)
        if progress is not None:
            progress(latest)
        if latest.stable:
            break
        prices = fitted
    return Loop(tuple(found))


def check_strategies(jobs: Sequence[Job], plans: Mapping[str, ReservationPlan]) -> None:
    """Refuse a job table without jobs planned by a strategy.

    Raises
    ------
    InputError
        If there is nothing that a loop could plan again.
    """
    if not any(job.type is JobType.STOCHASTIC and job.plan not in plans for job in jobs):
        raise InputError("no stochastic job is planned by a strategy: draw some with --stochastic-share 0.2")


def wait_samples(result: Result, jobs: Sequence[Job]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Requested walltimes [s], waits [s] and nodes of a simulation, each of shape (n,).

    Includes the jobs that wait as a reservation would: under the baseline all, under a mechanism the rigid ones. Also
    includes each reservation of the stochastic jobs, unless it was requeued after a preemption.
    """
    rows = list(_pairs(result, jobs))
    walltimes, waits, nodes = zip(*rows, strict=True) if rows else ((), (), ())
    return np.array(walltimes, float), np.array(waits, float), np.array(nodes, np.int64)


def _pairs(result: Result, jobs: Sequence[Job]) -> Iterator[tuple[float, float, int]]:
    baseline = result.mechanism == BASELINE
    for job, record in zip(jobs, result.records, strict=True):
        if record.start is None or record.submit is None or job.type is JobType.STOCHASTIC:
            continue
        if result.begin is not None and record.submit < result.begin:
            continue  # a job that waited before a starting state waited for another scheduler
        if baseline or job.type is JobType.RIGID:
            asked = job.trace_walltime if baseline and job.trace_walltime is not None else job.walltime
            yield asked, record.wait / SECOND, record.nodes
    for course in result.stochastic:
        before = ""
        for item in course.reservations:
            if before != PREEMPTED:
                yield item.length / SECOND, (item.start - item.submit) / SECOND, item.nodes
            before = item.ending


def _regret(result: Result, fitted: WaitModel, planner: Planner) -> float:
    """Relative saving of plans made with the fitted costs, in expected cost under them."""
    from holdfast.policies.planning.planner import is_rule, parse_strategy

    nodes = {record.job_id: record.nodes for record in result.records}
    known: dict[tuple[int, tuple[float, float, float]], float] = {}
    regrets = []
    for course in result.stochastic:
        planned = course.planned
        if planned.distribution is None:
            continue
        prices = fitted.costs_for(nodes[course.job_id])
        key = (id(planned), prices)
        if key not in known:
            alpha, beta, gamma = prices
            costs = replace(planned.plan.costs, alpha=alpha, beta=beta, gamma=gamma)
            name, parameters = parse_strategy(course.strategy)
            paid = replace(planned.plan, costs=costs).expected_cost(planned.distribution)
            # Rules of thumb use past runs but no costs, so they would make the same plan again.
            again = paid if is_rule(name) else _cost_again(planned.distribution, costs, planner, name, parameters)
            known[key] = max(0.0, paid / again - 1.0)
        regrets.append(known[key])
    return float(np.mean(regrets)) if regrets else 0.0


def _cost_again(
    distribution: Distribution, costs: CostModel, planner: Planner, name: str, parameters: Mapping[str, Any]
) -> float:
    """Expected cost of a plan made for these costs."""
    from holdfast.policies.planning.planner import Planning

    return Planning(distribution, costs, None, planner.grid).plan(name, **parameters).expected_cost(distribution)
