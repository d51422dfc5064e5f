"""Plans with memory requests: against all sequences of small chains, and runs followed by hand."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from holdfast.policies.planning.costs import CostModel
from holdfast.policies.planning.memory_execution import execute
from holdfast.policies.planning.memory_plan import (
    MemoryModel,
    flat_costs,
    mem_all_ckpt,
    mem_all_ckpt_v2,
    with_flat_memory,
)
from holdfast.policies.planning.plan import ReservationPlan
from holdfast.policies.planning.strategies import STRATEGIES
from holdfast.workloads.chains.chain import Task, TaskChain
from holdfast.workloads.chains.checkpoint_device import CheckpointDevice
from holdfast.workloads.chains.runs import TaskRuns
from holdfast.workloads.chains.synthetic import macruise_like, slant_like
from holdfast.workloads.chains.task_fits import Normal, fit_distribution
from holdfast.workloads.distributions import DiscreteDistribution, uniform
from holdfast.workloads.ground.errors import ParameterError

SEEDS = [*range(6), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(6, 12))]
DEVICE = CheckpointDevice(latency=2.0, per_gb=1.0, restart_latency=1.0, restart_per_gb=0.5)


def random_case(seed: int) -> tuple[TaskChain, DiscreteDistribution, CostModel]:
    rng = np.random.default_rng(seed)
    tasks = tuple(
        Task(Normal(rng.uniform(20, 100), rng.uniform(1, 30)), float(rng.integers(1, 60)))
        for _ in range(rng.integers(2, 5))
    )
    values = np.sort(rng.uniform(20, 400, rng.integers(2, 8)))
    distribution = DiscreteDistribution(values, rng.dirichlet(np.ones(values.size)))
    return TaskChain(tasks), distribution, CostModel(rng.uniform(0.5, 2), rng.uniform(0, 1), rng.uniform(0, 5))


def expected_time(
    milestones: tuple[float, ...],
    distribution: DiscreteDistribution,
    costs: CostModel,
    model: MemoryModel,
    varies: bool,
) -> float:
    """Expected cost by following each runtime through its reservations, one after the other."""
    total = 0.0
    for runtime, chance in zip(distribution.values, distribution.probabilities, strict=True):
        saved, cost = 0.0, 0.0
        for place, milestone in enumerate(milestones):
            image = float(model.at([saved])[0]) if varies else model.peak
            restart = float(model.device.restart(image)) if saved > 0 else 0.0
            last = place == len(milestones) - 1
            checkpoint = 0.0 if last else float(model.device.checkpoint(model.at([milestone])[0]))
            length = restart + milestone - saved + checkpoint
            done = runtime <= milestone
            used = restart + runtime - saved if done else length
            cost += costs.alpha * length + costs.beta * used + costs.gamma
            if done:
                break
            saved = milestone
        total += chance * cost
    return total


@pytest.mark.parametrize("varies", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_no_sequence_is_cheaper(seed: int, varies: bool) -> None:
    chain, distribution, costs = random_case(seed)
    model = MemoryModel(chain, DEVICE)
    plan = mem_all_ckpt(distribution, costs, chain=chain, device=DEVICE, restart_varies=varies)
    inner = distribution.values[:-1]
    every = [
        (*chosen, float(distribution.values[-1]))
        for size in range(inner.size + 1)
        for chosen in combinations(inner.tolist(), size)
    ]
    best = min(expected_time(sequence, distribution, costs, model, varies) for sequence in every)
    assert plan.expected_cost(distribution) == pytest.approx(best, rel=1e-12)
    assert expected_time(tuple(plan.milestones), distribution, costs, model, varies) == pytest.approx(best, rel=1e-12)


@pytest.mark.parametrize("varies", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_v2_is_the_cheapest_with_its_first_reservation(seed: int, varies: bool) -> None:
    chain, distribution, costs = random_case(seed)
    model = MemoryModel(chain, DEVICE)
    plan = mem_all_ckpt_v2(distribution, costs, chain=chain, device=DEVICE, restart_varies=varies)
    first = chain.start_quantile(chain.peak_task, 0.1)
    if not 0 < first < distribution.values[-1]:
        assert plan.milestones.tolist() == mem_all_ckpt(
            distribution, costs, chain=chain, device=DEVICE, restart_varies=varies
        ).milestones.tolist()  # fmt: skip
        return
    inner = [value for value in distribution.values[:-1].tolist() if value > first]
    every = [
        (first, *chosen, float(distribution.values[-1]))
        for size in range(len(inner) + 1)
        for chosen in combinations(inner, size)
    ]
    best = min(expected_time(sequence, distribution, costs, model, varies) for sequence in every)
    assert plan.milestones[0] == first
    assert plan.expected_cost(distribution) == pytest.approx(best, rel=1e-12)
    assert plan.memory is not None
    assert plan.memory[0] <= np.ceil(chain.memory[: chain.peak_task].max())


def test_requests_are_the_most_that_the_part_of_the_run_needs() -> None:
    chain = TaskChain((Task(Normal(100, 5), 3.2), Task(Normal(50, 5), 9.0), Task(Normal(100, 5), 5.0)))
    model = MemoryModel(chain, DEVICE)
    assert model.requests([60.0, 120.0, 170.0, 300.0]).tolist() == [4.0, 9.0, 9.0, 5.0]
    assert model.at([[50.0], [125.0]]).tolist() == [[4.0], [9.0]]
    exact = MemoryModel(chain, DEVICE, granularity=0.0)
    assert exact.requests([60.0]).tolist() == [3.2]
    assert MemoryModel(chain, DEVICE, granularity=2.5).peak == 10.0


def test_one_task_is_all_checkpoint() -> None:
    distribution = uniform(10.0, 60.0)
    chain = TaskChain((Task(Normal(35.0, 10.0), 7.5),))
    known = mem_all_ckpt(distribution, CostModel(), chain=chain, device=DEVICE, n=200)
    flat = STRATEGIES["all-ckpt"](distribution, flat_costs(MemoryModel(chain, DEVICE)), n=200)
    assert known.milestones.tolist() == flat.milestones.tolist()
    assert known.length == pytest.approx(flat.length)
    assert known.memory is not None
    assert set(known.memory) == {8.0}
    # Nothing known of tasks: one task, with the checkpoints of the platform.
    costs = CostModel(checkpoint=3.0, restart=1.0)
    for name in ("mem-all-ckpt", "mem-all-ckpt-v2"):
        blind = STRATEGIES[name](distribution, costs, n=200)
        assert blind.milestones.tolist() == STRATEGIES["all-ckpt"](distribution, costs, n=200).milestones.tolist()
        assert blind.memory is None
        assert blind.strategy == name


@pytest.mark.parametrize("name", ["mem-all-ckpt", "mem-all-ckpt-v2"])
@pytest.mark.parametrize("make", [slant_like, macruise_like])
def test_plans_cover_the_longest_run(name: str, make: type) -> None:
    runs = make(40, np.random.default_rng(4))
    plan = STRATEGIES[name](runs.take(range(10)), CostModel(), n=200, grid="equal-time")
    assert plan.memory is not None
    assert np.all(np.diff(plan.milestones) > 0)
    assert plan.memory.max() >= runs.take(range(10)).peaks.max()
    done = execute(plan, runs, CheckpointDevice(), stopping=int(name.endswith("v2")))
    assert np.all(done.reserved >= done.walltime)
    assert np.all((done.utilization > 0) & (done.utilization <= 1))
    assert plan.extend(float(runs.walltimes.max())).milestones[-1] >= runs.walltimes.max()


def test_the_same_distribution_and_chain_from_runs_or_given() -> None:
    runs = slant_like(20, np.random.default_rng(4))
    given = mem_all_ckpt_v2(fit_distribution(runs.walltimes), CostModel(), chain=TaskChain.from_runs(runs), n=100)
    assert given == mem_all_ckpt_v2(runs, CostModel(), n=100)
    assert mem_all_ckpt(TaskChain.from_runs(runs), CostModel(), n=100).memory is not None
    early = mem_all_ckpt_v2(runs, CostModel(), start_tau=0.01, n=100)
    assert early.milestones[0] < given.milestones[0]


# -- runs followed by hand: C(V) = 2 + V, R(V) = 1 + V / 2 --


def one_run(*tasks: tuple[float, float]) -> TaskRuns:
    durations, peaks = zip(*tasks, strict=True)
    return TaskRuns(np.array([durations]), np.array([peaks]))


def plan_of(milestones: list[float], memory: list[float]) -> ReservationPlan:
    """A plan whose checkpoints are sized for the memory at their milestones."""
    sizes = dict(zip(milestones, memory, strict=True))

    def checkpoint(times: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
        return np.array([2.0 + sizes.get(float(time), memory[-1]) for time in times.ravel()]).reshape(times.shape)

    return ReservationPlan(milestones, True, CostModel(checkpoint=checkpoint, restart=6.0), memory=memory)


def execution_totals(plan: ReservationPlan, runs: TaskRuns, stopping: int = 0) -> tuple[float, float, int, int, int]:
    done = execute(plan, runs, DEVICE, stopping=stopping)
    return (
        float(done.reserved[0]),
        float(done.memory_time[0]),
        int(done.reservations[0]),
        int(done.short_checkpoints[0]),
        int(done.memory_failures[0]),
    )


def test_a_run_that_goes_as_planned() -> None:
    # 10 + C(4) = 16; then R 6 + 20 + C(10) = 38.
    assert execution_totals(plan_of([10.0, 30.0], [4.0, 10.0]), one_run((15.0, 4.0), (10.0, 10.0))) == (
        54.0,
        16 * 4 + 380.0,
        2,
        0,
        0,
    )


def test_a_checkpoint_that_is_too_small() -> None:
    # At 10 the second task is in its 9 GB, C(9) = 11 > C(4) = 6; but 9 GB exceed the request of 4 before.
    run = one_run((8.0, 4.0), (17.0, 9.0))
    assert execution_totals(plan_of([10.0, 30.0], [4.0, 10.0]), run) == (
        16.0 + 16.0 + 42.0,
        16 * 4 + 16 * 10 + 420.0,
        3,
        1,
        1,
    )
    # The same with enough memory from the start: the checkpoint is lost, and the second reservation begins at 0.
    plan = plan_of([10.0, 30.0], [4.0, 10.0])
    ample = ReservationPlan(plan.milestones, True, plan.costs, memory=[10.0, 10.0])
    assert execution_totals(ample, run) == (16.0 + 42.0, 580.0, 2, 1, 0)


def test_memory_that_no_reservation_asks_for() -> None:
    # 12 GB against 4, then the plan's most, 10, then half as much again.
    run = one_run((5.0, 12.0), (4.0, 1.0))
    assert execution_totals(plan_of([10.0, 30.0], [4.0, 10.0]), run) == (48.0, 16.0 * (4 + 10 + 15), 3, 0, 2)


def test_a_run_that_stops_before_its_heavy_task() -> None:
    # The heavy task would begin at 8: the run waits there, and the second reservation does 8 to 30.
    run = one_run((8.0, 4.0), (17.0, 9.0))
    assert execution_totals(plan_of([10.0, 30.0], [4.0, 10.0]), run, 1) == (16.0 + 6 + 22 + 12, 64.0 + 400.0, 2, 0, 0)
    # One that is heavy from the start cannot.
    assert execution_totals(plan_of([10.0, 30.0], [4.0, 10.0]), one_run((25.0, 9.0)), 1)[4] == 1


def test_a_run_beyond_the_plan_is_extended() -> None:
    # 10, 30, then 45: R 6 + 15 + C(10).
    run = one_run((40.0, 4.0))
    assert execution_totals(plan_of([10.0, 30.0], [4.0, 10.0]), run) == (16.0 + 38.0 + 33.0, 64.0 + 710.0, 3, 0, 0)


def test_without_failures_a_run_pays_what_the_plan_says() -> None:
    runs = macruise_like(30, np.random.default_rng(8))
    flat = TaskRuns(runs.durations, np.full_like(runs.peaks, 5.0))
    model = MemoryModel(TaskChain.from_runs(flat))
    plan = with_flat_memory(STRATEGIES["all-ckpt"](fit_distribution(flat.walltimes), flat_costs(model), n=200), model)
    # Theorem 1 of [R] writes no checkpoint at the end of the plan, and no run comes that far.
    assert flat.walltimes.max() < plan.milestones[-1]
    done = execute(plan, flat, CheckpointDevice())
    assert done.reserved == pytest.approx(plan.paid_cost(flat.walltimes))
    assert done.reservations.tolist() == plan.count_reservations(flat.walltimes).tolist()
    assert done.memory == pytest.approx(5.0)


def test_illegal_parameters_are_refused() -> None:
    runs = slant_like(5, np.random.default_rng(1))
    for parameters in ({"tau": 1.0}, {"granularity": -1.0}):
        with pytest.raises(ParameterError):
            mem_all_ckpt(runs, CostModel(), n=50, **parameters)
    with pytest.raises(ParameterError, match="memory requests"):
        execute(ReservationPlan([1.0], True), runs, DEVICE)
