"""Waits as prices: the lines are those of numpy and scipy, and a plan's cost under them is its response time."""

from __future__ import annotations

import copy
import json
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from holdfast.policies.planning.costs import CostModel
from holdfast.policies.planning.strategies import STRATEGIES
from holdfast.policies.planning.waits.document import from_document, to_document
from holdfast.policies.planning.waits.fitting import LEAST_PAIRS, bin_pairs, fit_waits, size_classes
from holdfast.policies.planning.waits.lines import Line, least_squares, least_squares_above
from holdfast.policies.planning.waits.model import LEAST_ALPHA, SizeClass, WaitFit, WaitModel
from holdfast.workloads.distributions import DiscreteDistribution, lognormal_from_moments, truncate
from holdfast.workloads.ground.errors import InputError, ParameterError, UnknownNameError

HOUR = 3600.0
#: The prices that [R] and its predecessors use for the waits of a real machine, in hours.
INTREPID = (0.95, 1.05)


def affine(alpha: float, gamma: float, count: int = 200) -> tuple[np.ndarray, np.ndarray]:
    """Walltimes of 1 h to some days, and waits without noise [s]."""
    walltimes = HOUR * np.linspace(1, 60, count)
    return walltimes, alpha * walltimes + gamma


@st.composite
def pairs(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Walltimes, not all equal, and waits with any trend or none."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    count = draw(st.integers(3, 60))
    walltimes = rng.choice([900.0, 1800.0, 3600.0, 7200.0, 36000.0, 86400.0], count) + rng.uniform(0, 60, count)
    trend = draw(st.sampled_from([-2.0, -0.1, 0.0, 1e-3, 0.5, 3.0])) * walltimes
    noise = rng.exponential(draw(st.sampled_from([1.0, 600.0, 40000.0])), count)
    return walltimes, np.maximum(0.0, trend + draw(st.sampled_from([-9000.0, 0.0, 9000.0])) + noise)


def test_an_affine_relation_is_found_exactly() -> None:
    alpha, gamma = INTREPID[0], INTREPID[1] * HOUR
    fit = fit_waits(*affine(alpha, gamma), np.full(200, 512)).all
    assert fit.costs == pytest.approx((alpha, 1.0, gamma), rel=1e-9)
    assert fit.r_squared == pytest.approx(1.0)
    assert fit.r_squared_means == pytest.approx(1.0)
    assert fit.spread == pytest.approx(0.0, abs=1e-5)
    assert (fit.pairs, fit.walltime_from, fit.walltime_to) == (200, HOUR, 60 * HOUR)


@given(pairs())
def test_least_squares_are_those_of_numpy_and_scipy(sample: tuple[np.ndarray, np.ndarray]) -> None:
    x, y = sample
    line = least_squares(x, y)
    (slope, intercept), *_ = np.linalg.lstsq(np.column_stack((x, np.ones_like(x))), y, rcond=None)
    height = float(y.max()) + 1.0
    assert line.slope == pytest.approx(slope, abs=1e-9 * height / float(np.ptp(x)))
    assert line.intercept == pytest.approx(intercept, abs=1e-8 * height * float(x.max() / np.ptp(x)))
    if float(np.ptp(y)) > 0:
        theirs = stats.linregress(x, y)
        assert line.r_squared == pytest.approx(theirs.rvalue**2, abs=1e-9)
        assert line.slope_error == pytest.approx(theirs.stderr, rel=1e-5, abs=1e-9)
        assert line.intercept_error == pytest.approx(theirs.intercept_stderr, rel=1e-5, abs=1e-4)


@given(pairs(), st.sampled_from([0.0, LEAST_ALPHA, 0.7]))
def test_bounded_least_squares_are_those_of_scipy(sample: tuple[np.ndarray, np.ndarray], least: float) -> None:
    x, y = sample
    line = least_squares_above(x, y, least)
    assert line.slope >= least
    assert line.intercept >= 0
    # slope = least + a with a >= 0: non-negative least squares on what the least slope leaves over. Lawson and Hanson's
    # algorithm wants columns of one size.
    scale = float(x.max())
    found, _ = optimize.nnls(np.column_stack((x / scale, np.ones_like(x))), y - least * x)
    theirs = least + found[0] / scale, found[1]

    def sum_of_squared_residuals(slope: float, intercept: float) -> float:
        return float(np.sum((y - slope * x - intercept) ** 2))

    ours, best = sum_of_squared_residuals(line.slope, line.intercept), sum_of_squared_residuals(*theirs)
    assert ours == pytest.approx(best, rel=1e-9, abs=1e-6)
    assert line.at(x) == pytest.approx(theirs[0] * x + theirs[1], abs=1e-4 * (1.0 + float(y.max())))
    if line.r_squared is not None:
        assert line.r_squared == pytest.approx(1 - ours / float(np.sum((y - y.mean()) ** 2)))


def test_waits_that_fall_with_the_walltime_take_the_least_alpha() -> None:
    walltimes = HOUR * np.linspace(1, 20, 150)
    waits = 30 * HOUR - walltimes
    fit = fit_waits(walltimes, waits, np.ones(150, int)).all
    assert fit.alpha == LEAST_ALPHA
    assert fit.gamma == pytest.approx(waits.mean() - LEAST_ALPHA * walltimes.mean())
    assert fit.alpha_error is None
    assert fit.gamma_error is not None
    assert fit.unconstrained is not None
    assert (fit.unconstrained.slope, fit.unconstrained.intercept) == pytest.approx((-1.0, 30 * HOUR))
    assert fit.r_squared is not None
    assert fit.r_squared < 0, "worse than the mean, and said to be"


def test_waits_that_rise_from_nothing_late_take_gamma_0() -> None:
    walltimes, waits = affine(2.0, 0.0)
    waits = np.maximum(0.0, waits - 10 * HOUR)
    fit = fit_waits(walltimes, waits, np.ones(200, int)).all
    assert fit.gamma == 0
    assert fit.alpha == pytest.approx(float(walltimes @ waits / (walltimes @ walltimes)))
    assert fit.unconstrained is not None
    assert fit.unconstrained.intercept < 0
    # One coefficient was fitted: its error is that of a line through the origin.
    rest = waits - fit.alpha * walltimes
    error = np.sqrt(float(rest @ rest) / 199 / float(walltimes @ walltimes))
    assert (fit.alpha_error, fit.gamma_error) == (pytest.approx(error), None)


def test_an_empty_machine_costs_next_to_nothing() -> None:
    fit = fit_waits([60.0, 120.0, 240.0], [0.0, 0.0, 0.0], [1, 1, 1]).all
    assert fit.costs == (LEAST_ALPHA, 1.0, 0.0)
    assert fit.r_squared is None
    assert fit.r_squared_means is None


def test_the_least_alpha_keeps_plans_short_and_costs_little() -> None:
    """Without it a plan asks at once for the longest runtime there can be."""
    distribution = truncate(lognormal_from_moments(mean=5 * HOUR, std=5 * HOUR), upper=200 * HOUR)
    free = STRATEGIES["optimal"](distribution, CostModel(1e-12, 1.0, HOUR))
    assert free.length == pytest.approx([200 * HOUR])
    floored = STRATEGIES["optimal"](distribution, CostModel(LEAST_ALPHA, 1.0, HOUR))
    assert floored.length[0] < 0.5 * 200 * HOUR
    # What it costs if a longer request really waits no longer.
    paid = type(floored)(floored.milestones, floored.checkpointed, CostModel(1e-12, 1.0, HOUR)).expected_cost(
        distribution
    )
    best = distribution.mean() + HOUR
    assert best <= paid <= best + LEAST_ALPHA * 200 * HOUR


# -- classes --


@given(st.lists(st.integers(1, 5000), min_size=1, max_size=400), st.integers(1, 120))
def test_default_classes_double_and_have_enough_pairs(sizes: list[int], least: int) -> None:
    ends = size_classes(sizes, least)
    assert list(ends) == sorted(set(ends))
    assert all(end & (end - 1) == 0 for end in ends), "powers of two"
    counts = np.bincount(np.searchsorted(ends, sizes, side="left"), minlength=len(ends) + 1)
    if ends:
        assert counts.min() >= least
        # Nor could a class have ended earlier.
        for low, high in zip((0, *ends), ends, strict=False):
            assert sum(low < size <= high // 2 for size in sizes) < least
    else:
        enough = [end for end in (2**power for power in range(14)) if sum(size <= end for size in sizes) >= least]
        assert not enough or sum(size > enough[0] for size in sizes) < least


def test_each_class_is_a_fit_of_its_own_jobs() -> None:
    small, large = affine(0.5, 60.0), affine(2.0, 7200.0, 300)
    walltimes, waits = (np.concatenate(both) for both in zip(small, large, strict=True))
    nodes = np.repeat([16, 512], [200, 300])
    model = fit_waits(walltimes, waits, nodes, [16, 400])
    assert [(each.nodes_from, each.nodes_to, each.fallback) for each in model.classes] == [
        (1, 16, False),
        (17, 400, True),
        (401, None, False),
    ]
    assert model.costs_for(16) == pytest.approx((0.5, 1.0, 60.0))
    assert model.costs_for(10**6) == pytest.approx((2.0, 1.0, 7200.0))
    assert model.costs_for(17) == model.costs_for() == model.all.costs
    assert [each.fit.pairs for each in model.classes] == [200, 0, 300]
    assert model.costs_for() == fit_waits(walltimes, waits, np.ones(500, int)).all.costs
    # By default the same, but for the class without jobs.
    by_default = fit_waits(walltimes, waits, nodes)
    assert [(each.nodes_from, each.nodes_to) for each in by_default.classes] == [(1, 16), (17, None)]
    assert by_default.costs_for(512) == pytest.approx((2.0, 1.0, 7200.0))


def test_a_class_with_few_pairs_or_one_walltime_falls_back() -> None:
    walltimes, waits = affine(0.5, 60.0, 300)
    nodes = np.repeat([1, 2], [300 - LEAST_PAIRS + 1, LEAST_PAIRS - 1])
    model = fit_waits(walltimes, waits, nodes, [1])
    assert [each.fallback for each in model.classes] == [False, True]
    assert not fit_waits(walltimes, waits, nodes, [1], least_pairs=50).classes[1].fallback
    walltimes[nodes == 1] = HOUR
    assert fit_waits(walltimes, waits, nodes, [1]).classes[0].fallback


def test_what_is_no_sample_is_refused() -> None:
    walltimes, waits = affine(0.5, 60.0, 5)
    nodes = np.ones(5, int)
    for wrong, sentence in [
        ((walltimes[:2], waits[:2], nodes[:2]), "at least 3 pairs"),
        (([], [], []), "not to 0 with 0"),
        ((np.full(5, 60.0), waits, nodes), "not to 5 with 1"),
        ((walltimes, waits[:4], nodes), "same shape"),
        ((walltimes - HOUR, waits, nodes), "walltimes must be above 0"),
        ((walltimes, waits - 1e6, nodes), "waits must be numbers of seconds"),
        ((walltimes, waits * np.nan, nodes), "not nan"),
        ((walltimes, waits * 1e300, nodes), "waits must be"),
        ((walltimes, waits, nodes - 1), "nodes must be whole"),
        ((walltimes, waits, nodes * 1.5), "nodes must be whole"),
        (([walltimes], [waits], [nodes]), "one dimension"),
        ((walltimes, waits, nodes, [4, 4]), "in ascending order"),
        ((walltimes, waits, nodes, [0]), "classes must be"),
        ((walltimes, waits, nodes, [2.5]), "classes must be"),
    ]:
        with pytest.raises(InputError, match=re.escape(sentence)):
            fit_waits(*wrong)  # type: ignore[arg-type]
    model = fit_waits(walltimes, waits, nodes, [4])
    for size in (0, -3, True, 2.0):
        with pytest.raises(ParameterError, match="nodes must be a positive number"):
            model.costs_for(size)  # type: ignore[arg-type]


@given(pairs(), st.integers(1, 25))
def test_groups_hold_every_pair_once(sample: tuple[np.ndarray, np.ndarray], groups: int) -> None:
    walltimes, waits = np.round(sample[0], -3), sample[1]
    bins = bin_pairs(walltimes, waits, groups)
    assert len(bins.pairs) <= groups
    assert bins.pairs.sum() == len(walltimes)
    assert bins.pairs.min() >= 1
    assert float(bins.pairs @ bins.wait) == pytest.approx(float(waits.sum()))
    assert np.all(np.diff(bins.walltime) > 0), "equal walltimes are in one group"
    assert np.all(bins.lower <= bins.upper)
    # Where no two are equal the groups are, as nearly as can be.
    if len(np.unique(sample[0])) == len(walltimes):
        assert np.ptp(bin_pairs(*sample, groups).pairs) <= 1


# -- the cost of a plan is its response time --


@pytest.mark.parametrize(("checkpoint", "restart"), [(0.0, 0.0), (900.0, 600.0)])
def test_expected_cost_is_expected_response_time(checkpoint: float, restart: float) -> None:
    alpha, gamma = INTREPID[0], INTREPID[1] * HOUR
    model = fit_waits(*affine(alpha, gamma), np.full(200, 64))
    costs = model.apply(CostModel(alpha=7.0, checkpoint=checkpoint, restart=restart), nodes=64)
    assert (costs.checkpoint, costs.restart) == (checkpoint, restart)
    rng = np.random.default_rng(4)
    runtimes = np.sort(rng.gamma(2.0, 4 * HOUR, 40))
    distribution = DiscreteDistribution(runtimes, rng.dirichlet(np.ones(40)))
    plan = STRATEGIES["optimal"](distribution, costs)
    assert plan.checkpointed.any()
    assert len(plan.milestones) > 2

    def ends(runtime: float) -> float:
        now = safe = 0.0
        for milestone, kept in zip(plan.milestones.tolist(), plan.checkpointed.tolist(), strict=True):
            reading = restart if safe else 0.0
            writing = checkpoint if kept else 0.0
            length = reading + (milestone - safe) + writing
            now += alpha * length + gamma  # in the queue
            if runtime <= milestone:
                return now + reading + (runtime - safe)
            now += length
            safe = milestone if kept else safe
        raise AssertionError("the plan does not cover the job")

    expected = sum(
        chance * ends(value) for value, chance in zip(distribution.values, distribution.probabilities, strict=True)
    )
    assert plan.expected_cost(distribution) == pytest.approx(expected, rel=1e-9)
    jobs = distribution.sample(np.random.default_rng(5), 20_000)
    times = np.array([ends(runtime) for runtime in jobs])
    assert plan.paid_cost(jobs) == pytest.approx(times, rel=1e-9)
    assert times.mean() == pytest.approx(plan.expected_cost(distribution), abs=5 * times.std() / np.sqrt(len(times)))
    # No plan that was made for something else responds sooner.
    for name in ("all-ckpt", "no-ckpt", "maximum"):
        other = STRATEGIES[name](distribution, CostModel(checkpoint=checkpoint, restart=restart))
        under = type(other)(other.milestones, other.checkpointed, costs)
        assert plan.expected_cost(distribution) <= under.expected_cost(distribution) * (1 + 1e-12)


def test_apply_keeps_what_the_job_takes() -> None:
    def write_time(milestones: np.ndarray) -> np.ndarray:
        return 0.1 * milestones

    model = WaitModel(
        WaitFit(0.5, 60.0), (SizeClass(1, 8, WaitFit(0.1, 0.0, beta=2.0)), SizeClass(9, None, WaitFit(3.0, 9.0)))
    )
    costs = model.apply(CostModel(checkpoint=write_time, restart=5.0), 8)
    assert (costs.alpha, costs.beta, costs.gamma) == (0.1, 2.0, 0.0)
    assert costs.checkpoint is write_time
    assert costs.restart == 5.0
    assert model.apply(CostModel()).alpha == 0.5
    assert model.apply(CostModel(), 9).gamma == 9.0


# -- JSON --


def document() -> dict[str, Any]:
    """What is written of a model with a fit at a bound and a class without one."""
    walltimes, waits = affine(0.5, 60.0, 300)
    waits = waits + 600 * np.cos(np.arange(300.0))
    waits[:150] = np.maximum(0.0, 20 * walltimes[:150] - 5e5)
    nodes = np.repeat([4, 64], 150)
    content: dict[str, Any] = json.loads(
        json.dumps(to_document(fit_waits(walltimes, waits, nodes, [4, 8]), holdfast="0"))
    )
    return content


def test_a_model_survives_json() -> None:
    content = document()
    model = from_document(content)
    assert to_document(model, holdfast="0") == content
    assert [each.fallback for each in model.classes] == [False, True, False]
    assert from_document({"unit": "s", "all": {"alpha": 0.95, "beta": 1, "gamma": 3780}, "classes": []}) == WaitModel(
        WaitFit(0.95, 3780.0)
    )


@settings(max_examples=25)
@given(pairs(), st.integers(1, 4))
def test_every_fit_survives_json(sample: tuple[np.ndarray, np.ndarray], classes: int) -> None:
    nodes = 1 + np.arange(len(sample[0])) % 5
    model = fit_waits(*sample, nodes, list(range(1, classes + 1)), least_pairs=3)
    assert from_document(json.loads(json.dumps(to_document(model), allow_nan=False))) == model


def changed_document(path: str, value: Any) -> dict[str, Any]:
    """The document with another value at ``a/0/b``; ... takes the key away."""
    content = copy.deepcopy(document())
    at: Any = content
    *way, last = path.split("/")
    for step in way:
        at = at[int(step)] if isinstance(at, list) else at[step]
    if value is ...:
        del at[last]
    else:
        at[int(last) if isinstance(at, list) else last] = value
    return content


@pytest.mark.parametrize(
    ("path", "value", "sentence"),
    [
        ("unit", "h", "unit must be 's', not 'h'"),
        ("unit", ..., "unit must be 's', and is missing"),
        ("all", ..., "all must be an object, and is missing"),
        ("all", [1], "all must be an object, not [1]"),
        ("all/alpha", ..., "all.alpha must be a number above 0 and at most 1e+100, and is missing"),
        ("all/alpha", 0, "all.alpha must be a number above 0 and at most 1e+100, not 0"),
        ("all/alpha", "0.95", "all.alpha must be a number above 0 and at most 1e+100, not '0.95'"),
        ("all/alpha", True, "all.alpha must be"),
        ("all/alpha", float("nan"), "not nan"),
        ("all/alpha", 1e101, "all.alpha must be"),
        ("all/alpha", 10**400, "all.alpha must be"),
        ("all/beta", -1, "all.beta must be a number from 0"),
        ("all/gamma", -0.5, "all.gamma must be a number from 0"),
        ("all/gamma", None, "all.gamma must be"),
        ("all/gama", 1, "unknown key of all 'gama': did you mean gamma"),
        ("all/pairs", -1, "all.pairs must be a whole number of at least 0"),
        ("all/pairs", 1.5, "all.pairs must be"),
        ("all/r_squared", 1.5, "all.r_squared must be a number of at most 1, not 1.5"),
        ("all/spread", -1, "all.spread must be"),
        ("all/unconstrained", 3, "all.unconstrained must be an object, not 3"),
        ("all/unconstrained/alpha", "x", "all.unconstrained.alpha must be a finite number"),
        ("all/unconstrained/gamma", ..., "all.unconstrained.gamma must be a finite number, and is missing"),
        ("classes", ..., "classes must be a list, and is missing"),
        ("classes", {}, "classes must be a list"),
        ("classes/1", None, "classes[1] must be an object"),
        ("classes/0/nodes_from", 2, "classes[0].nodes_from must be 1: classes begin at 1 and leave no gap, not 2"),
        ("classes/1/nodes_from", 6, "classes[1].nodes_from must be 5: "),
        ("classes/1/nodes_from", ..., "classes[1].nodes_from must be 5, and is missing"),
        ("classes/1/nodes_to", 4, "classes[1].nodes_to must be a whole number of at least 5, not 4"),
        ("classes/1/nodes_to", None, "classes[1].nodes_to must be a whole number"),
        ("classes/2/nodes_to", 99, "classes[2].nodes_to must be null in the last class, not 99"),
        ("classes/2/alpha", -1, "classes[2].alpha must be"),
        ("classes/0/fallback", "no", "classes[0].fallback must be true or false"),
        ("classs", 1, "unknown key of the document 'classs': did you mean classes"),
    ],
)
def test_wrong_documents_name_the_key(path: str, value: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=re.escape(sentence)):
        from_document(changed_document(path, value))


def test_what_is_no_document_is_refused() -> None:
    for wrong in ([], "text", 3, None):
        with pytest.raises(ParameterError, match="the document must be an object"):
            from_document(wrong)
    with pytest.raises(UnknownNameError):
        from_document({"strategy": "optimal"})
    assert Line(1.0, 2.0).at(np.array([3.0])).tolist() == [5.0]
