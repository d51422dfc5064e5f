"""Environments in which arrivals are answered and plans are chosen."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holdfast.policies.learned_arrival import CONSEQUENCES
from holdfast.policies.planning.plan_book import Planner
from holdfast.policies.score_network import ScoringNetwork
from holdfast.simulator import Result, simulate
from holdfast.simulator.results.metrics import summarize
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.table.job import Job, JobType
from tests.strategies import random_job_table

pytest.importorskip("gymnasium", reason="environments need the package gymnasium")

from holdfast.experiments.learning.arrival_choice import ArrivalChoice
from holdfast.experiments.learning.environment import Environment
from holdfast.experiments.learning.job_choice import JobChoice
from holdfast.experiments.learning.plan_choice import COLUMNS, PlanChoice
from holdfast.experiments.learning.training import train

NODES = 12
ANSWERS = ("PAA", "SPAA", "WAIT")
PLANNER = Planner(fit="discrete", least=3)


@cache
def hybrid(seed: int = 5, count: int = 60) -> tuple[Job, ...]:
    """Jobs of all types on a crowded machine."""
    rng = np.random.default_rng(seed)
    jobs = []
    for number in range(1, count + 1):
        kind = (JobType.RIGID, JobType.MALLEABLE, JobType.ON_DEMAND)[int(rng.choice(3, p=(0.45, 0.35, 0.2)))]
        submit, runtime = 40.0 * number, 60.0 * int(rng.integers(2, 12))
        early = submit - 200.0 if kind is JobType.ON_DEMAND and number % 2 and number > 9 else None
        size = int(rng.integers(2, 7))
        jobs.append(
            Job(
                *(number, kind, submit, size, runtime, 2 * runtime),
                min_nodes=1 if kind is JobType.MALLEABLE else None,
                setup=30.0 if kind is JobType.MALLEABLE else 0.0,
                notice=early,
                estimated_arrival=None if early is None else submit,
            )
        )
    return tuple(jobs)


@cache
def stochastic(seed: int = 6, count: int = 40) -> tuple[Job, ...]:
    """Rigid jobs among those of one stochastic application."""
    rng = np.random.default_rng(seed)
    jobs = []
    for number in range(1, count + 1):
        runtime = 60.0 * int(rng.integers(1, 20))
        given: dict[str, Any] = {"application": "one", "plan": "optimal", "checkpoint_cost": 20.0, "restart_cost": 10.0}
        kind = JobType.STOCHASTIC if number % 3 else JobType.RIGID
        more = given if kind is JobType.STOCHASTIC else {}
        jobs.append(Job(number, kind, 90.0 * number, int(rng.integers(1, 7)), runtime, 3000.0, **more))
    return tuple(jobs)


def arrivals(**how: Any) -> ArrivalChoice:
    return ArrivalChoice(hybrid(), NODES, **{"answers": ANSWERS, "length": 50, "events": True, **how})


def plans(**how: Any) -> PlanChoice:
    return PlanChoice(stochastic(), NODES, **{"length": 36, "events": True, "planner": PLANNER, **how})


def play(environment: Environment[Any], number: int, action: int) -> tuple[float, Result, int]:
    environment.reset(options={"slice": number})
    over, reward, steps, info = False, 0.0, 0, dict[str, Any]()
    while not over:
        _, gained, over, _, info = environment.step(action)
        reward, steps = reward + float(gained), steps + 1
    return reward, info["result"], steps


@pytest.mark.filterwarnings("ignore")  # the checker's own remarks
@pytest.mark.parametrize("make", [arrivals, plans])
def test_gymnasium_finds_nothing_wrong(make: Any) -> None:
    from gymnasium.utils.env_checker import check_env

    check_env(make(), skip_render_check=True)


@pytest.mark.parametrize("place", range(len(ANSWERS)))
def test_an_agent_that_always_gives_one_answer_gets_the_mechanism(place: int) -> None:
    reward, result, steps = play(arrivals(metric="wait_h"), 4, place)
    expected = simulate(arrivals().episodes[4], NODES, f"CUA-{ANSWERS[place]}")
    assert steps > 3
    assert (result.entries, result.records, result.accounting) == (
        *(expected.entries, expected.records, expected.accounting),
    )
    assert reward == -summarize(expected)["wait_h"]
    assert play(arrivals(against=ANSWERS[place]), 4, place)[0] == 0.0


def test_an_agent_that_always_takes_the_own_plan_gets_the_simulation() -> None:
    reward, result, steps = play(plans(metric="utilization"), 2, 0)
    expected = simulate(plans().episodes[2], NODES, planner=PLANNER)
    assert steps > 10
    assert (result.entries, result.records, result.accounting) == (
        *(expected.entries, expected.records, expected.accounting),
    )
    assert reward == summarize(expected)["utilization"]
    assert play(plans(against="own"), 2, 0)[0] == 0.0
    assert play(plans(against="own"), 2, 1)[0] != 0.0


def test_an_observation_of_an_arrival_foresees_what_the_answers_do() -> None:
    environment = arrivals(answers=("SPAA", "WAIT", "PAA"), notice="N")
    seen, info = environment.reset(options={"slice": 0})
    column = {name: seen[:, place] for place, name in enumerate(CONSEQUENCES)}
    simulation = environment._active_simulation()
    running = {run.job_id: run for run in simulation.view.running}
    assert info["action_mask"].tolist() == [True, True, True]
    assert column["enough"].tolist() == [1.0, 0.0, 1.0]
    assert column["lacking"] == pytest.approx(simulation.lacking / NODES)
    assert column["shrunk"].tolist() == pytest.approx([simulation.lacking / NODES, 0.0, 0.0])
    # PAA preempts the cheapest first, as its source says.
    missing, lost, nodes = simulation.lacking, 0.0, 0
    for run in sorted(
        (run for run in running.values() if run.type is not JobType.ON_DEMAND),
        key=lambda run: (run.loss(simulation.view.now), run.job_id),
    ):
        if missing > 0:
            missing, nodes = missing - run.nodes, nodes + run.nodes
            lost += run.loss(simulation.view.now) / 1e6
    assert column["preempted"].tolist() == pytest.approx([0.0, 0.0, nodes / NODES])
    assert column["lost"][2] == pytest.approx(np.log10(1 + lost) / 12, rel=1e-6)


def test_an_observation_of_offers_is_what_the_planner_expects() -> None:
    environment = plans(offers=("no-ckpt", "own", "masi k=2", "quantile q=0.5"))
    seen, info = environment.reset(options={"slice": 0})
    simulation = environment._active_simulation()
    distribution = simulation.offered[0].distribution  # type: ignore[union-attr]
    assert distribution is not None and info["action_mask"].all()
    for row, planned in zip(seen, simulation.offered, strict=True):
        assert planned is not None
        by_name = dict(zip(COLUMNS, row.tolist(), strict=True))
        assert by_name["cost"] == pytest.approx(np.log10(1 + planned.plan.expected_cost(distribution)) / 6, rel=1e-6)
        assert by_name["first"] == pytest.approx(np.log10(1 + planned.plan.length[0]) / 6, rel=1e-6)
        assert by_name["mean"] == pytest.approx(np.log10(1 + distribution.mean()) / 6, rel=1e-6)
    assert seen[:, COLUMNS.index("cost")].argmin() == 1


def test_a_trained_network_is_an_arrival_strategy(tmp_path: Path) -> None:
    environment = arrivals()
    network = train(environment, generations=2, population=4, elite=2, episodes=1, hidden=2, seed=3)
    assert network.answers == ANSWERS
    network.save(tmp_path / "net.npz")
    for number in (0, 4, 9):
        reward = environment.episode_reward(network, number)
        jobs = environment.episodes[number]
        result = simulate(jobs, NODES, f"CUA-learned model={tmp_path / 'net.npz'}")
        assert -summarize(result)["turnaround_h"] == reward
    with pytest.raises(InputError, match="scores answers to arrivals by 12 numbers, not waiting jobs by 4"):
        simulate(jobs, NODES, order=f"learned model={tmp_path / 'net.npz'}")
    ScoringNetwork(np.zeros((4, 1)), np.zeros(1), np.ones(1)).save(tmp_path / "jobs.npz")
    with pytest.raises(InputError, match="scores waiting jobs by 4 numbers, not answers to arrivals by 12"):
        simulate(jobs, NODES, f"CUA-learned model={tmp_path / 'jobs.npz'}")
    with pytest.raises(InputError, match="give its file"):
        simulate(jobs, NODES, "CUA-learned")


def test_a_network_that_scores_by_one_column_is_its_strategy() -> None:
    environment = arrivals(notice="N")
    least = np.zeros((len(CONSEQUENCES), 1))
    least[CONSEQUENCES.index("jobs")] = -1.0
    network = ScoringNetwork(least, np.zeros(1), np.ones(1), ANSWERS)
    # Only waiting hits no job.
    assert environment.episode_reward(network, 4) == play(environment, 4, ANSWERS.index("WAIT"))[0]


def test_episodes_are_made_from_seeds() -> None:
    def make_jobs(seed: int) -> list[Job]:
        return random_job_table(seed, max_jobs=30, max_nodes=NODES).jobs

    environment = ArrivalChoice(make_jobs, 40, notice="N")
    drawn = [environment.reset(seed=8)[1]["slice"] for _ in range(2)]
    assert drawn[0] == drawn[1]
    assert environment.episodes[5] == make_jobs(5)
    again = JobChoice(
        lambda seed: [job for job in make_jobs(seed) if job.type is JobType.RIGID] * (seed != 1), 40, first=4
    )
    with pytest.raises(InputError, match="there are no jobs"):
        again.reset(options={"slice": 1})


def test_what_makes_no_environment() -> None:
    with pytest.raises(InputError, match="must be rigid or on-demand or malleable, and job 1 is stochastic"):
        ArrivalChoice(stochastic(), NODES, length=20)
    with pytest.raises(InputError, match="own or empty"):
        plans(against="sjf")
    cases: list[tuple[dict[str, Any], str]] = [
        ({"answers": ["PAA", "SPA"]}, "unknown arrival strategy 'SPA'"),
        ({"answers": ["PAA"]}, "two or more arrival strategies"),
        ({"notice": "CUB"}, "unknown notice strategy 'CUB'"),
        ({"against": "SPA"}, "unknown mechanism 'CUA-SPA'"),
        ({"order": "fcsf"}, "unknown order 'fcsf'"),
    ]
    for wrong, message in cases:
        with pytest.raises(InputError, match=message):
            ArrivalChoice(hybrid(), NODES, length=20, **wrong)
    with pytest.raises(InputError, match="quantil"):
        plans(offers=["own", "quantil q=0.9"])
    with pytest.raises(InputError, match="'esy'"):
        JobChoice([job for job in hybrid() if job.type is JobType.RIGID], NODES, length=2, backfilling="esy")
    with pytest.raises(InputError, match="nothing to decide in any of these episodes, without an on-demand job"):
        ArrivalChoice([job for job in hybrid() if job.type is JobType.RIGID], NODES, length=20).reset(seed=1)
