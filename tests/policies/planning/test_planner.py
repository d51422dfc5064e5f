"""The planner against the definition of the cost, every plan there is, and the published recursion."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from holdfast.policies.kernels import compiled_or_plain
from holdfast.policies.planning import kernel
from holdfast.policies.planning.costs import CostModel, Table
from holdfast.policies.planning.grid_refinement import Growth, grow_grid
from holdfast.policies.planning.optimal import cheapest
from holdfast.policies.planning.periodic import periodic_costs
from holdfast.policies.planning.plan import ReservationPlan
from holdfast.policies.planning.strategies import STRATEGIES, all_checkpoint, no_checkpoint, optimal, plans
from holdfast.workloads.distributions import (
    TABLE_1,
    DiscreteDistribution,
    Distribution,
    bound_support,
    bounded_pareto,
    discretise,
    exponential,
    from_scipy,
    lognormal,
    lognormal_from_moments,
    pareto,
    truncate,
    uniform,
    weibull,
)
from holdfast.workloads.distributions.atoms import find_atoms
from holdfast.workloads.distributions.mixture import mixture
from holdfast.workloads.distributions.shifted import shift
from holdfast.workloads.ground.errors import InputError, ParameterError, UnknownNameError
from holdfast.workloads.ground.object_code import object_code
from holdfast.workloads.ground.random_streams import stream
from tests.places import ROOT
from tests.reference.planning import Prices, best, best_plans, simulate, theorem_2

WHICH = {"best": optimal, "all": all_checkpoint, "none": no_checkpoint}


@st.composite
def problems(draw: st.DrawFn, most: int) -> tuple[DiscreteDistribution, CostModel, Prices]:
    """A discrete distribution with gaps, ties and empty cells, and costs that may vary with the milestone."""
    n = draw(st.integers(1, most))
    gaps = draw(st.lists(st.integers(1, 4), min_size=n, max_size=n))
    weights = draw(st.lists(st.sampled_from([0, 0, 1, 1, 2, 7]), min_size=n - 1, max_size=n - 1))
    weights.append(draw(st.integers(1, 3)))
    unit = draw(st.sampled_from([1.0, 0.5, 0.3, 1000 / 7]))
    values = unit * np.cumsum(gaps)
    distribution = DiscreteDistribution(values, np.array(weights) / sum(weights))
    prices = [draw(st.sampled_from(several)) for several in ([1.0, 0.3, 2.0], [0.0, 1.0, 0.7], [0.0, 0.5, 3.0])]
    times = st.sampled_from([0.0, 0.1, 0.5, 1.0, 2.5])
    durations = []
    for _ in range(2):
        if draw(st.booleans()):
            durations.append(Table(values, unit * np.array(draw(st.lists(times, min_size=n, max_size=n)))))
        else:
            durations.append(unit * draw(times))
    costs = CostModel(*prices, *durations)
    at = [costs.checkpoint_at(values).tolist(), costs.restart_at(values).tolist()]
    return distribution, costs, Prices(*prices, *at)


@pytest.mark.parametrize("which", WHICH)
@given(problem=problems(most=6))
@settings(max_examples=80, deadline=None)
def test_no_plan_at_all_is_cheaper(which: str, problem: tuple[DiscreteDistribution, CostModel, Prices]) -> None:
    distribution, costs, prices = problem
    found = cheapest(distribution.values, distribution.probabilities, costs, which)
    assert found.cost == pytest.approx(best(distribution.values, distribution.probabilities, prices, which), rel=1e-12)
    assert WHICH[which](distribution, costs).expected_cost(distribution) == pytest.approx(found.cost, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("which", WHICH)
@given(problem=problems(most=7))
@settings(max_examples=400, deadline=None)
def test_no_plan_at_all_is_cheaper_often(which: str, problem: tuple[DiscreteDistribution, CostModel, Prices]) -> None:
    distribution, costs, prices = problem
    found = cheapest(distribution.values, distribution.probabilities, costs, which)
    assert found.cost == pytest.approx(best(distribution.values, distribution.probabilities, prices, which), rel=1e-12)


def _random_problem(rng: np.random.Generator, n: int) -> tuple[DiscreteDistribution, CostModel, Prices]:
    values = np.cumsum(rng.random(n) + 0.01)
    weights = rng.random(n) ** rng.choice([1, 4]) * (rng.random(n) < 0.8) * np.exp(-rng.choice([0, 0.3]) * np.arange(n))
    weights[-1] += 1e-9
    distribution = DiscreteDistribution(values, weights / weights.sum())
    prices = rng.choice([0.5, 1.0]), rng.choice([0.0, 1.0, 0.3]), rng.choice([0.0, 0.4])
    durations = [
        Table(values, 2 * rng.random(n)) if rng.random() < 0.5 else rng.choice([0.0, 0.1, 1.0]) for _ in range(2)
    ]
    costs = CostModel(*prices, *durations)
    return distribution, costs, Prices(*prices, costs.checkpoint_at(values).tolist(), costs.restart_at(values).tolist())


@pytest.mark.parametrize("compiled", [False, True], ids=["plain", "compiled"])
def test_equals_the_published_recursion(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled_or_plain, "LOAD_FROM", 0 if compiled else 10**18)
    rng = stream(1, "planner")
    for n in (1, 2, 9, 23, 40, 50):
        distribution, costs, prices = _random_problem(rng, n)
        for which, strategy in WHICH.items():
            expected = theorem_2(distribution.values, distribution.probabilities, prices, which)
            assert cheapest(distribution.values, distribution.probabilities, costs, which).cost == pytest.approx(
                expected, rel=1e-12
            )
            assert strategy(distribution, costs).expected_cost(distribution) == pytest.approx(expected, rel=1e-12)


def test_the_oracles_agree() -> None:
    rng = stream(2, "planner")
    for n in (1, 2, 4, 6):
        distribution, _, prices = _random_problem(rng, n)
        for which in WHICH:
            expected = best(distribution.values, distribution.probabilities, prices, which)
            assert theorem_2(distribution.values, distribution.probabilities, prices, which) == pytest.approx(
                expected, rel=1e-12
            )


@given(
    weights=st.lists(st.integers(0, 3), min_size=1, max_size=5),
    gaps=st.lists(st.integers(1, 3), min_size=6, max_size=6),
    overheads=st.tuples(*[st.integers(0, 2)] * 3),
    which=st.sampled_from(list(WHICH)),
)
@settings(max_examples=150, deadline=None)
def test_of_equal_plans_the_one_with_the_largest_milestones(
    weights: list[int], gaps: list[int], overheads: tuple[int, int, int], which: str
) -> None:
    # Sums of integers and of sixteenths are exact, so that ties are ties.
    weights = [*weights, 16 - sum(weights)]
    values = np.cumsum(gaps[: len(weights)]).astype(float)
    gamma, checkpoint, restart = map(float, overheads)
    costs = CostModel(1, 0, gamma, checkpoint, restart)
    distribution = DiscreteDistribution(values, np.array(weights) / 16)
    prices = Prices(1, 0, gamma, [checkpoint] * len(values), [restart] * len(values))
    _, equal = best_plans(values, distribution.probabilities, prices, which)
    found = cheapest(distribution.values, distribution.probabilities, costs, which)
    assert found.milestones.tolist() == max(values[list(at)].tolist() for at, _ in equal)


def test_empty_cells_make_no_reservations() -> None:
    values = np.arange(1.0, 201.0)
    probabilities = np.where(values <= 3, 1 / 3, 0.0)
    for which in WHICH:
        found = cheapest(values, probabilities, CostModel(checkpoint=0.01, restart=0.01), which)
        assert found.milestones[-1] == 200
        assert set(found.milestones) <= {1.0, 2.0, 3.0, 200.0}


def test_plain_compiled_and_without_numba_are_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    distribution = discretise(bound_support(exponential(1.0)), 150, "cubic")
    wave = Table(distribution.values, 0.1 + 0.05 * np.sin(7 * distribution.values))
    variants = [CostModel(1, 0.5, 0.1, 0.1, 0.2), CostModel(1, 0, 0, wave, 0.1), CostModel(1, 1, 0, wave, wave)]

    def cheapest_plans() -> list[object]:
        all_found = [
            cheapest(distribution.values, distribution.probabilities, costs, which)
            for costs in variants
            for which in WHICH
        ]
        return [(one.cost, one.milestones.tolist(), one.checkpointed.tolist()) for one in all_found]

    monkeypatch.setattr(compiled_or_plain, "LOAD_FROM", 10**18)
    plain = cheapest_plans()
    monkeypatch.setattr(compiled_or_plain, "LOAD_FROM", 0)
    assert object_code(kernel.sweep) is not None
    compiled = cheapest_plans()
    assert compiled == plain
    object_code.cache_clear()
    monkeypatch.setitem(sys.modules, "numba", None)
    monkeypatch.setitem(sys.modules, "llvmlite", None)
    try:
        assert object_code(kernel.sweep) is None
        assert cheapest_plans() == plain
    finally:
        object_code.cache_clear()


@pytest.mark.system
def test_a_default_plan_loads_no_heavy_library() -> None:
    code = (
        "import sys\n"
        "from holdfast.policies.planning.strategies import *\n"
        "from holdfast.policies.planning.costs import CostModel\n"
        "from holdfast.workloads.distributions import TABLE_1\n"
        "optimal(TABLE_1['weibull'], CostModel(checkpoint=0.1, restart=0.1))\n"
        "print(*{'numba', 'scipy.stats', 'pandas', 'matplotlib'} & set(sys.modules))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True).stdout
    assert not shown.split()


def test_equal_tables_are_one_in_a_set() -> None:
    tables = [Table([1.0, 2.0], [0.5, 1.0]), Table(np.array([1, 2]), (0.5, 1.0)), Table([1.0, 2.0], [0.5, 2.0])]
    assert len(set(tables)) == len({CostModel(checkpoint=table) for table in tables}) == 2


# -- plans --


@st.composite
def any_plans(draw: st.DrawFn) -> ReservationPlan:
    _, costs, _ = draw(problems(most=4))
    ends = np.cumsum(draw(st.lists(st.integers(1, 40), min_size=1, max_size=5))) / 8
    flags = draw(st.lists(st.booleans(), min_size=len(ends), max_size=len(ends)))
    memory = draw(st.none() | st.just(np.arange(len(ends)) + 0.5))
    return ReservationPlan(ends, flags, costs, "any", memory, draw(st.sampled_from([1.25, 1.5, 3.0])))


def _runs(plan: ReservationPlan, runtimes: np.ndarray) -> np.ndarray:
    plan = plan.extend(runtimes.max())
    costs = plan.costs
    writing, reading = costs.checkpoint_at(plan.milestones), costs.restart_at(plan.milestones)
    return simulate(plan.length, plan.checkpointed, writing, reading, (costs.alpha, costs.beta, costs.gamma), runtimes)


@given(plan=any_plans(), problem=problems(most=6))
@settings(max_examples=100, deadline=None)
def test_theorem_1_is_the_mean_of_what_jobs_pay(
    plan: ReservationPlan, problem: tuple[DiscreteDistribution, CostModel, Prices]
) -> None:
    # The factor keeps runtimes off the milestones, where the rounding of a length decides.
    distribution = DiscreteDistribution(0.99731 * problem[0].values, problem[0].probabilities)
    paid = _runs(plan, distribution.values)  # also of jobs beyond the last milestone
    assert plan.paid_cost(distribution.values) == pytest.approx(paid, rel=1e-11)
    assert plan.expected_cost(distribution) == pytest.approx(paid @ distribution.probabilities, rel=1e-11)
    counted = plan.count_reservations(distribution.values)
    assert plan.expected_reservations(distribution) == pytest.approx(counted @ distribution.probabilities, rel=1e-12)
    spending = plan.cost_distribution(distribution)
    assert spending.mean() == pytest.approx(paid @ distribution.probabilities, rel=1e-11)
    # Between the costs of two runtimes, and beyond both ends.
    costs, first = np.unique(plan.paid_cost(distribution.values), return_index=True)
    inner = (costs[:-1] + costs[1:]) / 2
    assert spending.cdf(inner) == pytest.approx([distribution.probabilities[:k].sum() for k in first[1:]], abs=1e-9)
    assert spending.sf(np.array([costs[0] / 2, costs[-1] * 2])).tolist() == [1.0, 0.0]
    assert np.all(np.isin(spending.ppf([0.01, 0.5, 0.99]), plan.paid_cost(distribution.values)))


def test_equation_6_over_a_continuous_distribution() -> None:
    distribution = uniform(1.0, 20.0)
    plan = ReservationPlan([3, 7, 12, 18], [1, 0, 1, 0], CostModel(1, 0.5, 0.2, 0.4, 0.3))
    # For a uniform distribution the cost is linear between milestones (27 is the extension): midpoints integrate it
    # exactly.
    ends = np.array([1, 3, 7, 12, 18, 20.0])
    exact = plan.paid_cost((ends[1:] + ends[:-1]) / 2) @ np.diff(ends) / 19
    assert plan.expected_cost(distribution) == pytest.approx(exact, rel=1e-12)
    assert plan.cost_distribution(distribution).upper == plan.paid_cost(20.0)


def test_an_expectation_over_an_infinite_support() -> None:
    distribution = exponential(1.0)
    plan = ReservationPlan([1.0], True, CostModel(1, 1, 0.5, 0.1, 0.2))
    paid = _runs(plan, distribution.isf((np.arange(400_000) + 0.5) / 400_000))
    assert plan.expected_cost(distribution) == pytest.approx(paid.mean(), rel=1e-4)
    assert np.isfinite(plan.expected_cost(pareto(1.0, 1.2)))
    with pytest.raises(InputError, match="too heavy"):
        plan.expected_cost(pareto(1.0, 0.9))


@given(plan=any_plans())
@settings(max_examples=50, deadline=None)
def test_json_round_trip(plan: ReservationPlan) -> None:
    distribution = uniform(0.5, 30.0)
    again = ReservationPlan.from_json(plan.to_json(distribution))
    assert again == plan
    assert np.array_equal(again.length, plan.length)
    inside = np.linspace(0.0, plan.milestones[-1], 50)
    assert np.array_equal(again.paid_cost(inside), plan.paid_cost(inside))
    if not (plan.costs.checkpoint_varies or plan.costs.restart_varies):
        assert again.costs == plan.costs
        assert again.expected_cost(distribution) == plan.expected_cost(distribution)
    assert plan.rows(distribution)[0]["probability"] == 1.0


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"reservations": [], "costs": {}, "strategy": ""}'])
def test_what_is_no_plan(text: str) -> None:
    with pytest.raises(InputError):
        ReservationPlan.from_json(text)


def test_beyond_the_last_milestone() -> None:
    costs = CostModel(checkpoint=1.0, restart=2.0)
    kept = ReservationPlan([10.0], True, costs).extend(20.0)
    assert kept.milestones.tolist() == [10, 15, 22.5]
    assert kept.length.tolist() == [11, 8, 10.5]
    lost = ReservationPlan([10.0], False, costs)
    assert lost.extend(20.0).length.tolist() == [10, 15, 22.5]
    assert lost.paid_cost([10, 10.5, 15.1]).tolist() == [10, 25, 47.5]
    assert lost.extend(10.0) is lost
    assert (lost.extension, lost.extension_checkpointed, kept.extension_checkpointed) == (1.5, False, True)


def test_the_introduction_of_the_paper() -> None:
    distribution = truncate(lognormal(2.7084, 0.7321), 0.0, 80.0)
    costs = CostModel(checkpoint=7, restart=7)
    printed = {  # the last one is the erratum: the paper says 43.92
        80.0: ([80], [0]),
        47.2: ([20, 80], [0, 0]),
        41.54: ([20, 40, 80], [1, 0, 0]),
        42.32: ([20, 40, 80], [1, 1, 0]),
    }
    for cost, (milestones, flags) in printed.items():
        assert round(ReservationPlan(milestones, flags, costs).expected_cost(distribution), 2) == cost
    best_known = optimal(distribution, costs, n=2000)
    assert round(best_known.expected_cost(distribution), 3) == 38.698
    assert best_known.normalised_cost(distribution) == pytest.approx(38.698 / distribution.mean(), rel=1e-4)


# -- strategies --


def test_periodic_plans_are_the_best_of_their_kind() -> None:
    distribution = bound_support(TABLE_1["gamma"])
    costs = CostModel(1, 0.4, 0.05, 0.1, 0.2)
    for name in ("all-ckpt-periodic", "no-ckpt-periodic"):
        strategy = STRATEGIES[name]
        each = [strategy(distribution, costs, tau=tau).expected_cost(distribution) for tau in range(1, 61)]
        found = strategy(distribution, costs, most=60)
        assert len(found) == 1 + int(np.argmin(each))
        assert found.expected_cost(distribution) == min(each)
        plan = strategy(distribution, costs, tau=4)
        assert plan.milestones == pytest.approx(distribution.upper * np.arange(1, 5) / 4)
        assert plan.checkpointed.tolist() == ([True] * 3 + [False] if name.startswith("all") else [False] * 4)


def test_a_search_ends_at_its_largest_number() -> None:
    # Where nothing costs anything, one more reservation is always better.
    for most, expected in (({}, 1000), ({"most": 3}, 3)):
        assert len(STRATEGIES["all-ckpt-periodic"](uniform(1.0, 20.0), CostModel(), **most)) == expected


def test_periodic_costs_vary_with_the_milestone() -> None:
    distribution = uniform(1.0, 20.0)
    costs = CostModel(1, 1, 0.1, lambda t: 0.1 + 0.02 * t, lambda t: 0.3 - 0.01 * t)
    found = periodic_costs(distribution, costs, [1, 3, 8], checkpointed=True)
    each = [
        STRATEGIES["all-ckpt-periodic"](distribution, costs, tau=tau).expected_cost(distribution) for tau in (1, 3, 8)
    ]
    assert found == pytest.approx(each, rel=1e-13)


def test_rules_of_thumb() -> None:
    runs = [9.0, 4.0, 2.0, 2.0, 3.0, 5.0, 4.0, 6.0]
    costs = CostModel(checkpoint=0.5, restart=0.25)
    found = plans(runs, costs, ["maximum", "masi", "neuro", "neuro-avg"])
    assert {name: plan.milestones.tolist() for name, plan in found.items()} == {
        "maximum": [9.0],
        "masi": [4.0, 6.0],  # the mean of the last five, then half as much again
        "neuro": [9.0],
        "neuro-avg": [4.375, 6.5625, 9.84375],
    }
    assert [bool(plan.checkpointed.all()) for plan in found.values()] == [False, False, True, True]
    assert STRATEGIES["neuro"](runs, costs, k=3).extend(9.0).length.tolist() == [6.5, 3.75]
    assert STRATEGIES["masi"](runs, costs, k=10, factor=2.0).milestones.tolist() == [4.375, 8.75, 17.5]
    # The mean of equal runs is rounded to a bit more than each of them, and the factor is that of longer jobs.
    for name in ("masi", "neuro-avg"):
        assert STRATEGIES[name]([0.1, 0.1, 0.1], costs).milestones.tolist() == [0.1]
    assert [plan.extension for plan in found.values()] == [1.5] * 4
    assert {name: STRATEGIES[name](distribution_or_runs=runs, costs=costs) for name in found} == found
    assert STRATEGIES["maximum"](runs, costs, k=3, factor=2.0).extend(13.0).milestones.tolist() == [6.0, 12.0, 24.0]
    distribution = uniform(2.0, 12.0)  # a distribution stands for all runs that there could be
    assert STRATEGIES["maximum"](distribution, costs).milestones.tolist() == [12.0]
    assert STRATEGIES["neuro-avg"](distribution, costs).milestones.tolist() == [7.0, 10.5, 15.75]


def test_runs_are_a_discrete_distribution() -> None:
    costs = CostModel(checkpoint=0.1, restart=0.1)
    runs = [1.0, 1.0, 2.0, 9.0]
    distribution = DiscreteDistribution([1.0, 2.0, 9.0], [0.5, 0.25, 0.25])
    for name in ("optimal", "all-ckpt", "no-ckpt", "all-ckpt-periodic", "no-ckpt-periodic"):
        assert STRATEGIES[name](runs, costs) == STRATEGIES[name](distribution, costs)
        assert len(STRATEGIES[name]([3.0], costs)) == 1


def test_the_optimal_plan_costs_least() -> None:
    costs = CostModel(1, 0.2, 0.1, 0.3, 0.2)
    for distribution in (bound_support(TABLE_1["weibull"]), TABLE_1["uniform"]):
        cost = {
            name: plan.expected_cost(distribution)
            for name, plan in plans(distribution, costs, STRATEGIES, n=300).items()
        }
        assert min(cost.values()) == pytest.approx(cost["optimal"], rel=2e-3)
        assert cost["all-ckpt"] <= cost["all-ckpt-periodic"] * 1.002
        assert cost["no-ckpt"] <= cost["no-ckpt-periodic"] * 1.002


def test_algorithm_1_chooses_the_grid() -> None:
    distribution, costs = uniform(1.0, 20.0), CostModel(checkpoint=0.1, restart=0.1)
    coarse = optimal(distribution, costs, epsilon=1.0)
    assert coarse == optimal(distribution, costs, n=570, grid="equal-time")
    assert optimal(
        distribution, CostModel(checkpoint=lambda t: 0.1 + 0 * t, restart=0.1), epsilon=1.0
    ).costs.checkpoint_varies
    with pytest.raises(ParameterError, match="explicit n"):
        optimal(distribution, CostModel(restart=0.1), epsilon=1.0)


WRONG: dict[str, Callable[[], object]] = {
    "alpha": lambda: CostModel(alpha=0.0),
    "beta": lambda: CostModel(beta=-1.0),
    "gamma": lambda: CostModel(gamma=float("nan")),
    "checkpoint": lambda: CostModel(checkpoint=-0.1),
    "restart": lambda: CostModel(restart="soon"),
    "checkpoint must be a function": lambda: CostModel(checkpoint=lambda t: -t).checkpoint_at([1.0]),
    "restart must be a function": lambda: CostModel(restart=lambda t: t[:1]).restart_at([1.0, 2.0]),
    "milestones": lambda: ReservationPlan([2.0, 2.0], True),
    "milestones must be one or more": lambda: ReservationPlan([], True),
    "checkpointed": lambda: ReservationPlan([1.0, 2.0], [True]),
    "memory": lambda: ReservationPlan([1.0, 2.0], True, memory=[1.0]),
    "memory must be finite numbers": lambda: ReservationPlan([1.0, 2.0], True, memory=[1.0, 0.0]),
    "memory must be finite numbers > 0": lambda: ReservationPlan([1.0, 2.0], True, memory=[-1.0, 1.0]),
    "extension": lambda: ReservationPlan([1.0], True, extension=1.0),
    "runtime": lambda: ReservationPlan([1.0], True).extend(1.1e250),
    "runtimes": lambda: ReservationPlan([1.0], True).paid_cost([-1.0]),
    "runs": lambda: optimal([], CostModel()),
    "runs must be a distribution": lambda: optimal(["a"], CostModel()),
    "runs must be a distribution, or one or more past runtimes": lambda: STRATEGIES["masi"](
        [1.0, float("nan")], CostModel()
    ),
    "k": lambda: STRATEGIES["masi"]([1.0], CostModel(), k=0),
    "factor": lambda: STRATEGIES["neuro"]([1.0], CostModel(), factor=1.0),
    "tau": lambda: STRATEGIES["all-ckpt-periodic"]([1.0, 2.0], CostModel(), tau=0),
    "epsilon": lambda: optimal(uniform(1.0, 2.0), CostModel(), epsilon=0.1, n=5),
    "values": lambda: cheapest([2.0, 1.0], [0.5, 0.5], CostModel()),
    "probabilities": lambda: cheapest([1.0, 2.0], [0.5, 0.4], CostModel()),
    "parameters": lambda: plans([1.0], CostModel(), ["masi"], gird="cubic"),
}


@pytest.mark.parametrize("parameter", WRONG)
def test_wrong_input_is_named(parameter: str) -> None:
    with pytest.raises(ParameterError, match=f"^{parameter}"):
        WRONG[parameter]()


def test_an_unknown_strategy() -> None:
    with pytest.raises(UnknownNameError, match="did you mean optimal"):
        plans([1.0], CostModel(), ["optimum"])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["weibull", "truncated-normal", "bounded-pareto"])
@pytest.mark.parametrize("strategy", list(STRATEGIES))
def test_a_million_jobs_pay_what_is_expected(strategy: str, name: str) -> None:
    distribution = bound_support(TABLE_1[name])
    rng = stream(3, "planner", strategy, name)
    costs = CostModel(1, 0.5, 0.1, 0.1, 0.2)
    from_runs = strategy in {"maximum", "masi", "neuro", "neuro-avg"} or strategy.startswith("mem-")
    plan = STRATEGIES[strategy](distribution.sample(rng, 50) if from_runs else distribution, costs)
    paid = _runs(plan, distribution.sample(rng, 1_000_000))
    error = paid.std() / 1000
    assert abs(paid.mean() - plan.expected_cost(distribution)) <= 3 * error


# -- grids that grow, atoms, and bounds ------------------------------------------------------------------------


def test_a_grid_that_is_used_up_grows_until_the_cost_settles() -> None:
    costs = CostModel(checkpoint=0.1, restart=0.1)
    distribution = bound_support(pareto(1.0, 1.1))
    plan, cut = all_checkpoint(distribution, costs), all_checkpoint(distribution, costs, n=500)
    assert len(cut) > 450
    assert cut.growth is None
    assert plan.growth is not None
    assert (plan.growth.first, plan.growth.settled) == (500, True)
    assert f"grew to {plan.growth.cells:,}" in plan.growth.describe()
    # Converged: many more cells, of which the default says nothing.
    best = all_checkpoint(distribution, costs, n=32_000).expected_cost(distribution)
    assert cut.expected_cost(distribution) > 1.001 * best
    assert plan.expected_cost(distribution) < 1.001 * best
    assert ReservationPlan.from_json(plan.to_json()) == plan
    # A usual distribution leaves cells over; where neither a reservation nor a checkpoint costs anything none is ever
    # enough.
    for other, prices in ((exponential(1.0), costs), (uniform(1.0, 2.0), CostModel())):
        assert optimal(other, prices).growth is None
        assert optimal(other, prices) == optimal(other, prices, n=500)


@dataclass
class Drawn:
    """A plan of a given number of reservations and a given cost."""

    count: int
    cost: float

    def __len__(self) -> int:
        return self.count

    def expected_cost(self, distribution: Distribution, /) -> float:
        return self.cost


@pytest.mark.parametrize(
    ("first", "count", "costs", "kept", "growth"),
    [
        # Of ten cells three are not enough to grow, four are.
        (10, 3, {10: 100.0}, 10, None),
        (10, 4, {10: 100.0, 20: 80.0, 40: 79.96}, 40, Growth(10, 40, 0.0005, True)),
        # The next doubling would have more than 8,000 cells.
        (3000, 2000, {3000: 100.0, 6000: 90.0}, 6000, Growth(3000, 6000, 0.1, False)),
        (4000, 2000, {4000: 100.0, 8000: 90.0}, 8000, Growth(4000, 8000, 0.1, False)),
        # The last doubling changes nothing, as with few values, or no cost can be computed.
        (10, 9, {10: 100.0, 20: 80.0, 40: 80.0}, 20, None),
        (10, 9, {10: 100.0, 20: float("nan")}, 10, None),
    ],
)
def test_a_grid_is_doubled_until_it_gains_a_thousandth(
    first: int, count: int, costs: dict[int, float], kept: int, growth: Growth | None
) -> None:
    drawn = {cells: Drawn(count, cost) for cells, cost in costs.items()}
    each = [CostModel(gamma=1.0), CostModel(checkpoint=1.0), CostModel(restart=1.0)]
    for prices in (*each, CostModel(checkpoint=lambda t: 0.0 * t), CostModel(restart=lambda t: 0.0 * t)):
        plan, found = grow_grid(
            lambda cells: (drawn[cells], 10 if first == 10 else cells), uniform(1, 2), prices, first
        )
        assert plan is drawn[kept]
        assert found == (growth if growth is None else replace(growth, gain=pytest.approx(growth.gain)))
    # If nothing costs anything a plan may have all cells.
    assert grow_grid(lambda cells: (drawn[cells], cells), uniform(1, 2), CostModel(), first) == (drawn[first], None)


def test_a_growth_says_by_how_much_the_cost_fell() -> None:
    assert (
        Growth(500, 2000, 0.00052, True)
        .describe()
        .endswith("grew to 2,000: the last doubling made the plan cheaper by 0.052 %")
    )
    assert "the last doubling made the plan cheaper by 5.2 %; a maximum" in Growth(500, 8000, 0.052, False).describe()


@pytest.mark.slow
@pytest.mark.parametrize("distribution", [pareto(1.0, 1.1), pareto(1.0, 1.05), lognormal(0.0, 3.0), weibull(1.0, 0.2)])
def test_heavy_tails_are_within_a_thousandth_of_converged(distribution: Distribution) -> None:
    costs = CostModel(checkpoint=0.1, restart=0.1)
    cut = bound_support(distribution)
    assert optimal(cut, costs).expected_cost(cut) < 1.001 * optimal(cut, costs, n=16_000).expected_cost(cut)


class Undeclared:
    """A mixed distribution of a stranger, which says nothing of its atoms."""

    name, lower, upper = "mixed", 1.0, 21.0

    def __init__(self) -> None:
        self.distribution = mixture([uniform(1.0, 21.0), DiscreteDistribution([5.03], [1.0])])
        self.cdf, self.sf, self.ppf, self.isf = (
            self.distribution.cdf,
            self.distribution.sf,
            self.distribution.ppf,
            self.distribution.isf,
        )
        self.mean, self.sample = self.distribution.mean, self.distribution.sample


@pytest.mark.parametrize("grid", ["cubic", "equal-time", "equal-probability"])
def test_atoms_are_on_every_grid(grid: str) -> None:
    mixed = mixture([uniform(1.0, 21.0), DiscreteDistribution([3.0, 7.77, 21.0], [0.5, 0.25, 0.25])], [0.4, 0.6])
    for distribution, atoms in (
        (mixed, [3.0, 7.77, 21.0]),
        (truncate(mixed, upper=9.0), [3.0, 7.77]),
        (shift(mixed, 2.0), [5.0, 9.77, 23.0]),
        (Undeclared(), [5.03]),
        (from_scipy(stats.randint(1, 4)), [1.0, 2.0, 3.0]),
    ):
        np.testing.assert_allclose(find_atoms(distribution), atoms, rtol=1e-12)
        cut = discretise(distribution, 13, grid)
        for atom in atoms:
            near = cut.values[np.argmin(np.abs(cut.values - atom))]
            assert atom <= near <= atom * (1 + 1e-12)
            assert cut.sf(near) == pytest.approx(float(distribution.sf(near)), abs=1e-12)
    assert not find_atoms(from_scipy(stats.expon())).size


def test_a_support_without_a_width_is_one_runtime() -> None:
    for distribution in (uniform(1.0, np.nextafter(1.0, 2.0)), uniform(5e-324, 1e-323)):
        assert len(discretise(distribution, 500)) <= 2
        assert optimal(distribution, CostModel()).milestones[-1] == distribution.upper


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: optimal(exponential(1.0), CostModel(), n=10**8), "n must be a whole number of cells from 1 to 20,000"),
        (lambda: no_checkpoint(exponential(1.0), CostModel(), n=10**8), "n must be a whole number .* to 200,000"),
        (lambda: optimal(uniform(1.0, 9.0), CostModel(gamma=1.0), epsilon=1e-9), "epsilon must be at least 0.0012"),
        (lambda: optimal(np.arange(1.0, 60_002.0), CostModel()), "different runtimes must be at most 50,000"),
        (lambda: STRATEGIES["masi"]([1.0, 9.0], CostModel(), factor=1.0 + 1e-9), "extension must be large enough"),
        (
            lambda: STRATEGIES["no-ckpt-periodic"](uniform(1.0, 9.0), CostModel(), tau=10**30),
            "tau must be .* <= 200,000",
        ),
        (lambda: lognormal_from_moments(1e-300, 1e300), "std must be within a factor of 1e"),
    ],
)
def test_what_is_too_much_is_refused(make: Callable[[], object], sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence):
        make()


@pytest.mark.parametrize("bound", [168.0, 20_000.0, 2e6, 3e9])
@pytest.mark.parametrize("strategy", [no_checkpoint, all_checkpoint])
def test_a_distant_bound_costs_nothing(strategy: Callable[..., ReservationPlan], bound: float) -> None:
    # The same distribution up to 20 h, where nothing is left of it, on a grid of 20,000 equal cells.
    near, far = (truncate(from_scipy(stats.norm(8.0, 2.0)), 0.0, end) for end in (20.0, bound))
    costs = CostModel(checkpoint=0.1, restart=0.1)
    converged = strategy(near, costs, n=20_000, grid="equal-time").expected_cost(near)
    plan = strategy(far, costs)
    # What is cut off at 20 h is worth 1e-9 of the cost.
    assert plan.expected_cost(far) == pytest.approx(converged, rel=1e-4)
    assert plan.milestones[-1] == bound
    assert len(plan) < 40


@pytest.mark.parametrize(
    "distribution",
    [lognormal_from_moments(21.0, 20.0), weibull(1.0, 0.5), exponential(1.0), bounded_pareto(1.0, 3e9, 1.05)],
    ids=lambda distribution: distribution.name,
)
def test_a_distant_bound_costs_nothing_under_other_distributions(distribution: Distribution) -> None:
    distribution = truncate(distribution, upper=3e9)
    # Without checkpoints: independent cells, even on the logarithmic scale up to the bound.
    ends = np.append(np.geomspace(1e-3 * float(distribution.ppf(0.5)), 3e9, 50_000)[:-1], 3e9)
    survival = distribution.sf(ends)
    cells = -np.diff(np.append(1.0, survival))
    kept = np.append(cells[:-1] > 0, True)
    costs = CostModel()
    found = cheapest(ends[kept], cells[kept] / cells[kept].sum(), costs, "none", survival[kept])
    converged = ReservationPlan(found.milestones, False, costs).expected_cost(distribution)
    assert no_checkpoint(distribution, costs).expected_cost(distribution) == pytest.approx(converged, rel=1e-4)


#: Durations of a checkpoint and a restart, and gamma: whole numbers, so that sums are exact and ties are ties.
_WHOLE = [(0, 0, 0), (1, 1, 0), (0, 1, 1), (1, 0, 2), (2, 1, 1)]


@pytest.mark.parametrize("varies", [False, True])
@pytest.mark.parametrize("which", WHICH)
def test_of_all_small_ties_the_largest_milestones(which: str, varies: bool) -> None:
    ties = 0
    parts = [parts for parts in product(range(4), repeat=3) if sum(parts) < 4]
    for gaps, first in product([(1, 1, 1, 1), (1, 2, 1, 3)], parts):
        values = np.cumsum(gaps).astype(float)
        probabilities = np.array([*first, 4 - sum(first)]) / 4
        for checkpoint, restart, gamma in _WHOLE:
            constant = float(restart)
            costs = CostModel(1, 0, gamma, checkpoint, Table(values, np.full(4, constant)) if varies else constant)
            prices = Prices(1, 0, gamma, [float(checkpoint)] * 4, [constant] * 4)
            _, equal = best_plans(values, probabilities, prices, which)
            ties += len(equal) > 1
            found = cheapest(values, probabilities, costs, which)
            largest = max(values[list(at)].tolist() for at, _ in equal)
            assert found.milestones.tolist() == largest
            # And no checkpoint over one that costs the same.
            flags = min(list(flags) for at, flags in equal if values[list(at)].tolist() == largest)
            assert found.checkpointed.tolist() == flags
    assert ties > 20


def test_where_no_job_is_left_one_reservation_reaches_the_end() -> None:
    # P(Y > 2) = 0: every plan that reaches 50 from there costs the same, and values that no job needs may be milestones
    # because the restart cost varies.
    values, probabilities = np.arange(1.0, 51.0), np.array([0.5, 0.5, *[0.0] * 48])
    for which in WHICH:
        costs = CostModel(1, 0.5, 0.1, Table(values, np.full(50, 0.1)), Table(values, np.full(50, 0.1)))
        found = cheapest(values, probabilities, costs, which)
        assert set(found.milestones) <= {1.0, 2.0, 50.0}
        assert found.milestones[-1] == 50.0


def test_of_equal_checkpointed_reservations_the_longest() -> None:
    # Every job ends at 1. To 1 with a checkpoint of 2, to 2 with one of 1, or to 3 without: 3 in each case.
    values = np.array([1.0, 2.0, 3.0])
    for restart in (1.0, Table(values, np.ones(3))):
        costs = CostModel(1, 0, 0, Table(values, np.array([2.0, 1.0, 0.0])), restart)
        assert cheapest(values, [1.0, 0.0, 0.0], costs, "all").milestones.tolist() == [3.0]
