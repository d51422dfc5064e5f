"""Task chains: against Monte Carlo, sums worked out otherwise, and the published numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.workloads.chains.chain import Task, TaskChain
from holdfast.workloads.chains.checkpoint_device import CheckpointDevice
from holdfast.workloads.chains.convolution import partial_sums
from holdfast.workloads.chains.runs import TaskRuns, read_slant_makespans, read_slant_tasks
from holdfast.workloads.chains.synthetic import SLANT_TABLE, macruise_like, makespans_like, slant_like
from holdfast.workloads.chains.task_fits import FITS, Kernel, Normal, choose_fit, fit_distribution
from holdfast.workloads.distributions import gamma, uniform
from holdfast.workloads.ground.errors import InputError, ParameterError, TraceError, UnknownNameError
from tests.shared_data import shared_file

TIMES = np.linspace(0.0, 700.0, 36)


def chain_of(*tasks: tuple[float, float, float]) -> TaskChain:
    return TaskChain(tuple(Task(Normal(mu, sigma), memory) for mu, sigma, memory in tasks))


def mixed_chain() -> TaskChain:
    bumps = Kernel(np.array([60.0, 60.0, 150.0]), 8.0)
    return TaskChain((Task(gamma(4.0, 25.0), 3.0), Task(bumps, 9.0), Task(uniform(50.0, 250.0), 5.0)))


@pytest.mark.parametrize("chain", [chain_of((100, 15, 3), (80, 20, 9), (200, 40, 5)), mixed_chain()])
def test_status_over_time_agrees_with_monte_carlo(chain: TaskChain) -> None:
    draws = 40_000
    runs = chain.sample(draws, np.random.default_rng(3))
    expected = runs.finish_shares(TIMES)
    # Five standard errors of a part of the draws, and what a grid of 8,192 cells may differ by.
    assert np.all(np.abs(chain.finish_probabilities(TIMES) - expected) < 5 * np.sqrt(0.25 / draws) + 1e-3)
    running = chain.running_probabilities(TIMES)
    assert np.all(running >= 0)
    assert np.all(running.sum(axis=0) <= 1 + 1e-12)
    assert np.allclose(running.sum(axis=0) + chain.finish_probabilities(TIMES)[-1], 1.0)
    assert running[:, 0].tolist() == [1.0, 0.0, 0.0]


def test_sums_of_other_distributions_agree_with_what_is_known_of_them() -> None:
    sums = partial_sums([gamma(2.0, 30.0), gamma(3.0, 30.0), gamma(0.5, 30.0)])
    at = np.linspace(1.0, 900.0, 60)
    for distribution, shape in zip(sums, (2.0, 5.0, 5.5), strict=True):
        assert np.allclose(distribution.cdf(at), gamma(shape, 30.0).cdf(at), atol=1e-3)
        assert distribution.mean() == pytest.approx(30.0 * shape, rel=1e-3)
        assert np.all(np.diff(distribution.cdf(at)) >= 0)
        assert np.allclose(
            distribution.cdf(distribution.ppf(np.array([0.01, 0.5, 0.99]))), [0.01, 0.5, 0.99], atol=1e-6
        )


def test_normal_sums_are_those_of_the_paper() -> None:
    sums = partial_sums([Normal(mu, sigma) for mu, sigma in SLANT_TABLE])
    assert sums[3].mean() == pytest.approx(255 + 871 + 588 + 459)
    sigma = np.sqrt(96.7**2 + 322**2 + 76.8**2 + 48.1**2)
    assert float(sums[3].ppf(0.1)) == pytest.approx(2173 - 1.2815516 * sigma)


@given(
    st.lists(st.tuples(st.floats(10, 200), st.floats(1, 80), st.floats(0, 50)), min_size=1, max_size=5),
    st.floats(0, 0.99),
    st.floats(0, 0.99),
    st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_memory_falls_with_tau(
    tasks: list[tuple[float, float, float]], one: float, other: float, of_running: bool
) -> None:
    chain = chain_of(*tasks)
    low, high = sorted((one, other))
    more = chain.memory_quantile(TIMES, low, of_running=of_running)
    less = chain.memory_quantile(TIMES, high, of_running=of_running)
    assert np.all(more >= less)
    assert set(less) <= set(chain.memory)


def test_memory_counts_whoever_runs_with_more_than_tau() -> None:
    chain = mixed_chain()
    running = chain.running_probabilities(TIMES)
    for time, chance, found in zip(TIMES, running.T, chain.memory_quantile(TIMES, 0.1), strict=True):
        over = [task.memory for task, part in zip(chain.tasks, chance, strict=True) if part > 0.1]
        if over:
            assert found == max(over), time
        else:
            # Most runs have ended: the likeliest of the tasks counts.
            assert found == chain.tasks[int(chance.argmax())].memory


def test_mean_memory_and_correlation_by_hand() -> None:
    runs = TaskRuns(
        np.array([[10.0, 30.0], [20.0, 60.0], [30.0, 90.0]]),
        np.array([[2.0, 8.0], [2.5, 8.0], [2.0, 8.5]]),
        np.array([[1.0, 4.0], [1.0, 4.0], [1.0, 4.0]]),
    )
    chain = TaskChain.from_runs(runs)
    assert chain.memory.tolist() == [2.5, 8.5]
    assert chain.mean_memory() == pytest.approx((2.5 * 20 + 8.5 * 60) / 80)
    assert chain.mean_memory(peaks=False) == pytest.approx((1 * 20 + 4 * 60) / 80)
    assert runs.mean_memory(peaks=False) == pytest.approx(3.25)
    assert np.allclose(runs.correlation(), 1.0)
    # Ends of tasks in proportion have more spread than the sum of independent ones.
    observed = TaskChain.from_runs(runs, ends="observed")
    assert observed.walltime.sigma == pytest.approx(40.0)  # type: ignore[attr-defined]
    assert chain.walltime.sigma == pytest.approx(np.sqrt(10**2 + 30**2))  # type: ignore[attr-defined]
    assert chain.walltime.mean() == observed.walltime.mean() == 80.0


def test_a_task_that_starts_is_one_before_ended() -> None:
    chain = chain_of((100, 15, 3), (80, 20, 9), (200, 40, 5))
    assert chain.peak_task == 1
    assert chain.start_quantile(0) == 0.0
    assert chain.start_quantile(1, 0.1) == pytest.approx(100 - 1.2815516 * 15)
    for tau in (0.01, 0.2):
        assert float(chain.finish_probabilities([chain.start_quantile(2, tau)])[1, 0]) == pytest.approx(tau)


@pytest.mark.parametrize("fit", [*FITS, "auto"])
@pytest.mark.parametrize("ends", ["independent", "observed"])
def test_every_fit_makes_a_chain(fit: str, ends: str) -> None:
    runs = slant_like(12, np.random.default_rng(5))
    chain = TaskChain.from_runs(runs, fit, ends=ends)
    assert chain.walltime.mean() == pytest.approx(runs.walltimes.mean(), rel=1e-3)
    finished = chain.finish_probabilities(np.linspace(0, 20_000, 50))
    assert np.all(np.diff(finished, axis=0) <= 0)
    assert finished[-1, -1] == pytest.approx(1.0, abs=1e-3)


def test_a_fit_is_chosen_by_what_it_predicts() -> None:
    rng = np.random.default_rng(2)
    assert choose_fit(np.concatenate((rng.normal(100, 3, 20), rng.normal(300, 3, 20)))) == "kernel"
    assert choose_fit(rng.lognormal(3, 0.8, 60)) == "lognormal"
    assert choose_fit([5.0, 500.0, 5.0, 500.0, 5.0]) == "normal"
    assert fit_distribution([7.0, 7.0, 7.0]).mean() == 7.0
    for samples in ([1.0], [1.0, -1.0], [1.0, np.nan]):
        with pytest.raises(ParameterError):
            fit_distribution(samples)
    with pytest.raises(UnknownNameError, match="did you mean normal"):
        fit_distribution([1.0, 2.0], "norml")


def test_the_default_device_is_the_line_through_the_published_measurements() -> None:
    measured = np.loadtxt(shared_file("slant", "criu_bandwidth_knl.csv"), delimiter=",", skiprows=1)
    slopes, latencies = np.polyfit(measured[:, 0], measured[:, 1:], 1)
    default = CheckpointDevice()
    assert slopes == pytest.approx([default.per_gb, default.restart_per_gb], abs=0.0005)
    assert latencies == pytest.approx([default.latency, default.restart_latency], abs=0.005)
    assert float(default.checkpoint(10.0)) == pytest.approx(default.latency + 10 * default.per_gb)
    with pytest.raises(ParameterError):
        CheckpointDevice(latency=-1.0)


def test_the_measured_runs_have_the_published_means() -> None:
    runs = read_slant_tasks(shared_file("slant", "slant_drd_tasks.csv"))
    assert runs.durations.shape == (88, 7)
    means, stds = np.array(SLANT_TABLE).T
    assert np.allclose(runs.durations.mean(axis=0), means, rtol=0.03)
    assert np.allclose(runs.durations.std(axis=0, ddof=1), stds, rtol=0.03)
    makespans = read_slant_makespans(shared_file("slant", "slant_makespan.csv"))
    assert makespans.of("DRD").size == 88
    assert makespans.of("OASIS").size == 224


def test_drawn_runs_are_those_of_the_tables() -> None:
    runs = slant_like(4000, np.random.default_rng(1))
    means, stds = np.array(SLANT_TABLE).T
    # The last task loses its durations below 30 s, 3 % of them.
    assert np.allclose(runs.durations.mean(axis=0), means, rtol=0.04)
    assert np.allclose(runs.durations.std(axis=0), stds, rtol=0.08)
    assert runs.correlation()[0, 1] > 0.99
    assert slant_like(5, np.random.default_rng(1)).durations.tolist() == slant_like(
        5, np.random.default_rng(1)
    ).durations.tolist()  # fmt: skip
    ends = macruise_like(4000, np.random.default_rng(1)).ends / 60
    assert np.allclose(ends.mean(axis=0), [50, 66, 181], rtol=0.03)
    assert np.allclose(macruise_like(4000, np.random.default_rng(1), "durations").walltimes.mean() / 60, 297, rtol=0.03)
    drawn = makespans_like(np.random.default_rng(1))
    assert abs(drawn.of("OASIS").mean() / 60 - 70) < 2
    assert drawn.of("DRD").max() <= 60 * 125 * 1.3


TASKS = "run,task,duration_s,peak_mem_kib\n"


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("run,task,duration_s\n1,1,2\n", ":1: .*peak_mem_kib is missing"),
        (f"{TASKS}1,1,abc,5\n", ":2: duration_s must be a finite number"),
        (f"{TASKS}1,1,2,5\n1,2,-2,5\n", ":3: duration_s must be >= 0"),
        (f"{TASKS}1,1,2,5\n1,1,2,5\n", ":3: task 1 of run 1 is already in line 2"),
        (f"{TASKS}1,1,2,5\n1,2,2,5\n2,1,2,5\n", ":4: run 2 ends here without task 2"),
        (f"{TASKS}1,0,2,5\n", ":2: task must be 1 or more"),
        (f"{TASKS}1,1,2\n", ":2: has 3 cells, the header row 4"),
        (TASKS, ": has no line below its header row"),
        ("", ": is empty"),
    ],
)
def test_wrong_files_are_refused_with_their_line(text: str, where: str, tmp_path: Path) -> None:
    path = tmp_path / "tasks.csv"
    path.write_text(text)
    with pytest.raises(TraceError, match=where):
        read_slant_tasks(path)


def test_files_are_read_in_any_order(tmp_path: Path) -> None:
    path = tmp_path / "tasks.csv"
    path.write_text(
        "task,run,peak_mem_kib,duration_s,mean_mem_kib\n2,b,1e6,20,5e5\n1,b,2e6,10,1e6\n\n1,a,1e6,5,1e6\n2,a,1e6,6,1e6\n"
    )
    runs = read_slant_tasks(path)
    assert runs.names == ("b", "a")
    assert runs.durations.tolist() == [[10.0, 20.0], [5.0, 6.0]]
    assert runs.peaks[0].tolist() == pytest.approx([2.048, 1.024])
    assert runs.averages is not None
    path.write_text("run,dataset,makespan_s\n1,A,5\n1,A,6\n")
    with pytest.raises(TraceError, match=":3: run 1 is already in line 2"):
        read_slant_makespans(path)
    path.write_text("run,dataset,makespan_s,size_mb,input\n1,A,5,7,x\n2,B,6,,x\n")
    makespans = read_slant_makespans(path)
    assert makespans.inputs == ("x", "x")
    assert np.isnan(makespans.sizes[1])


def test_illegal_chains_are_refused() -> None:
    chain = chain_of((100, 15, 3))
    for wrong in (
        lambda: TaskChain(()),
        lambda: Task(Normal(1, 1), -1.0),
        lambda: chain.memory_quantile([1.0], 1.0),
        lambda: chain.start_quantile(1, 0.1),
        lambda: chain.start_quantile(0, 0.0),
        lambda: chain.mean_memory(peaks=False),
        lambda: TaskRuns(np.ones((2, 2)), np.ones((2, 3))),
        lambda: TaskRuns(-np.ones((2, 2)), np.ones((2, 2))),
        lambda: slant_like(0, np.random.default_rng(1)),
        lambda: TaskChain.from_runs(slant_like(5, np.random.default_rng(1)), ends="both"),
    ):
        with pytest.raises(InputError):
            wrong()
