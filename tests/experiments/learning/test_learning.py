"""Environments, networks and their training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holdfast.policies.order import ORDERS
from holdfast.policies.orders.learned_score import FEATURES, job_features
from holdfast.policies.score_network import ScoringNetwork
from holdfast.simulator import simulate
from holdfast.simulator.results.metrics import summarize
from holdfast.simulator.stepping.jobs import SteppedSimulation
from holdfast.workloads.ground.errors import InputError
from tests.simulator.test_stepping import NODES, crowd

pytest.importorskip("gymnasium", reason="environments need the package gymnasium")

from holdfast.experiments.learning.job_choice import COLUMNS, JobChoice
from holdfast.experiments.learning.training import compare_orders, train


def shortest_first() -> ScoringNetwork:
    """A network that scores the shorter walltime higher."""
    inner = np.zeros((4, 1))
    inner[FEATURES.index("walltime")] = -1.0
    return ScoringNetwork(inner, np.zeros(1), np.ones(1))


@pytest.fixture
def environment() -> JobChoice:
    return JobChoice(crowd(5, 60), NODES, first=12, length=40, events=True)


@pytest.mark.filterwarnings("ignore")  # the checker's own remarks
def test_gymnasium_finds_nothing_wrong(environment: JobChoice) -> None:
    from gymnasium.utils.env_checker import check_env

    check_env(environment, skip_render_check=True)


def test_an_agent_that_takes_the_first_job_gets_fcfs(environment: JobChoice) -> None:
    _, start_info = environment.reset(options={"slice": 7})
    over, reward, info = False, 0.0, dict[str, Any]()
    while not over:
        _, gained, over, _, info = environment.step(0)
        reward += float(gained)
    expected = simulate(environment.episodes[7], NODES)
    assert start_info["slice"] == 7
    assert info["result"].entries == expected.entries
    assert reward == -summarize(expected)["bounded_slowdown"]


def test_observations_are_the_waiting_jobs(environment: JobChoice) -> None:
    rng = np.random.default_rng(3)
    seen, info = environment.reset(seed=11)
    beside = SteppedSimulation(environment.episodes[info["slice"]], NODES)
    over = False
    while not over:
        queue, view = list(beside.queue)[:12], beside.view
        assert info["action_mask"].sum() == len(queue) == np.any(seen, axis=1).sum()
        for row, job in zip(seen, queue, strict=False):
            expected = job_features(job, view.now, NODES)
            assert row[:4] == pytest.approx(np.minimum(expected, 2.5), rel=1e-5)
            assert row[COLUMNS.index("fits")] == (job.nodes <= view.free)
            assert row[COLUMNS.index("free")] == pytest.approx(view.free / NODES)
        assert environment.observation_space.contains(seen)
        place = int(rng.integers(len(queue)))
        seen, _, over, _, info = environment.step(place)
        beside.choose(place)
    assert not beside.asks


def test_a_slice_is_drawn_from_the_seed_and_a_place_without_a_job_is_the_last(environment: JobChoice) -> None:
    first, again = (environment.reset(seed=4)[1]["slice"] for _ in range(2))
    assert first == again
    results = []
    for place in (11, None):
        environment.reset(options={"slice": 0})
        over, info = False, dict[str, Any]()
        while not over:
            shown = int(environment.action_masks().sum())
            _, _, over, _, info = environment.step(shown - 1 if place is None else place)
        results.append(info["result"].records)
    assert results[0] == results[1]


def test_a_saved_network_is_an_order(environment: JobChoice, tmp_path: Path) -> None:
    shortest_first().save(tmp_path / "net.npz")
    order = f"learned model={tmp_path / 'net.npz'}"
    jobs = environment.episodes[3]
    learned, shortest = (simulate(jobs, NODES, order=name) for name in (order, "sjf"))
    assert learned.records == shortest.records
    assert (tmp_path / "net.npz").read_bytes() == saved_again(tmp_path)
    with pytest.raises(InputError, match=r"give its file, as in 'learned model=FILE\.npz'"):
        simulate(jobs, NODES, order="learned")
    with pytest.raises(InputError, match="no such file"):
        simulate(jobs, NODES, order="learned model=nowhere.npz")
    (tmp_path / "bad.npz").write_bytes(b"PK\x03\x04 nothing")
    with pytest.raises(InputError, match="not a network saved as npz"):
        simulate(jobs, NODES, order=f"learned model={tmp_path / 'bad.npz'}")
    assert "learned" in ORDERS.listing()
    assert "learned" not in ORDERS


def saved_again(directory: Path) -> bytes:
    ScoringNetwork.load(directory / "net.npz").save(directory / "again.npz")
    return (directory / "again.npz").read_bytes()


@pytest.mark.system
def test_training_is_the_same_again_and_finds_short_jobs() -> None:
    # One long job before many short ones: whatever lets short jobs go first is far better.
    environment = JobChoice(crowd(8, 50), NODES, first=16, length=40, backfilling="none")
    how = {"generations": 3, "population": 8, "elite": 3, "episodes": 2, "hidden": 2, "seed": 1}
    rewards: list[float] = []
    network = train(environment, **how, progress=lambda _, reward: rewards.append(reward))  # type: ignore[arg-type]
    again = train(environment, **how)  # type: ignore[arg-type]
    assert np.array_equal(network.inner, again.inner) and np.array_equal(network.outer, again.outer)
    assert len(rewards) == 3
    first = SteppedSimulation(environment.episodes[0], NODES, backfilling="none")
    while first.asks:
        first.choose(0)
    assert environment.episode_reward(network, 0) > -summarize(first.result())["bounded_slowdown"]


def test_orders_are_compared_slice_by_slice() -> None:
    jobs = crowd(9, 60)
    rows = compare_orders(jobs, NODES, ["fcfs", "sjf"], length=40, slices=[0, 10, 20], metric="wait_h")
    values = [
        [
            summarize(simulate(JobChoice(jobs, NODES, length=40).episodes[number], NODES, order=order))["wait_h"]
            for number in (0, 10, 20)
        ]
        for order in ("fcfs", "sjf")
    ]
    assert [row["mean"] for row in rows] == pytest.approx([np.mean(own) for own in values])
    assert rows[0]["difference"] is None
    assert rows[1]["difference"] == pytest.approx(np.mean(np.subtract(values[1], values[0])))


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ({"first": 1}, "first must be a whole number of jobs, at least 2"),
        ({"length": 61}, "at most 60, the jobs that there are"),
        ({"metric": "jobs"}, "metric"),
    ],
)
def test_what_makes_no_environment(how: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        JobChoice(crowd(5, 60), NODES, **{"length": 40, **how})
