"""Several copies of an environment, and training on them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("gymnasium", reason="environments need the package gymnasium")

from holdfast.experiments.learning.environment import Environment
from holdfast.experiments.learning.job_choice import JobChoice
from holdfast.experiments.learning.training import train
from holdfast.experiments.learning.vector import vector
from holdfast.workloads.ground.errors import InputError
from tests.experiments.learning.test_choices import arrivals, plans
from tests.simulator.test_stepping import NODES, crowd


def jobs(**how: Any) -> JobChoice:
    return JobChoice(crowd(5, 60), NODES, first=8, length=30, **how)


def walk(environment: Environment[Any], count: int, steps: int, *, processes: bool) -> list[Any]:
    """What copies of an environment show under random answers; they begin anew where an episode ends."""
    rng = np.random.default_rng(2)
    environments = vector(environment, count, processes=processes)
    seen, info = environments.reset(seed=7)
    shown = [seen.copy(), info["action_mask"].copy()]
    for _ in range(steps):
        answers = [int(rng.choice(np.flatnonzero(mask))) if mask.any() else 0 for mask in info["action_mask"]]
        seen, rewards, over, cut, info = environments.step(np.array(answers))
        shown += [seen.copy(), rewards.copy(), over.copy(), info["action_mask"].copy()]
        assert environments.observation_space.contains(seen)
        assert not cut.any()
    environments.close()
    return shown


@pytest.mark.parametrize("make", [jobs, arrivals, plans])
def test_copies_step_as_each_would_alone(make: Any) -> None:
    shown = walk(make(), 3, 40, processes=False)
    for place in range(3):
        alone = make()
        seen, info = alone.reset(seed=7 + place)
        rng = np.random.default_rng(2)
        assert np.array_equal(shown[0][place], seen)
        over, masks = False, shown[1]
        for step in range(40):
            answers = [int(rng.choice(np.flatnonzero(mask))) if mask.any() else 0 for mask in masks]
            if over:
                # The copy begins the next episode with this step, whatever the answer.
                (seen, info), reward, over = alone.reset(), 0.0, False
            else:
                seen, reward, over, _, info = alone.step(answers[place])
            block = shown[2 + 4 * step : 6 + 4 * step]
            masks = block[3]
            assert np.array_equal(block[0][place], seen)
            assert (block[1][place], block[2][place]) == (reward, over)
            assert np.array_equal(masks[place], info["action_mask"])


@pytest.mark.system
@pytest.mark.parametrize("make", [jobs, arrivals, plans])
def test_processes_show_the_same(make: Any) -> None:
    here, there = (walk(make(), 2, 40, processes=processes) for processes in (False, True))
    assert all(np.array_equal(one, other) for one, other in zip(here, there, strict=True))


@pytest.mark.system
@pytest.mark.parametrize("make", [jobs, arrivals])
def test_training_is_the_same_for_any_number_of_workers(make: Any) -> None:
    how: dict[str, Any] = {"generations": 2, "population": 5, "elite": 2, "episodes": 2, "hidden": 2, "seed": 4}
    rewards: list[list[float]] = []
    networks = []
    for workers in (1, 2, 3):
        rewards.append([])
        networks.append(train(make(), **how, workers=workers, progress=lambda _, reward: rewards[-1].append(reward)))
    for network in networks[1:]:
        assert np.array_equal(network.inner, networks[0].inner)
        assert np.array_equal(network.inner_bias, networks[0].inner_bias)
        assert np.array_equal(network.outer, networks[0].outer)
    assert rewards[0] == rewards[1] == rewards[2]


def test_a_count_that_is_none_is_refused() -> None:
    with pytest.raises(InputError, match="count must be a whole number of environments"):
        vector(jobs(), 0, processes=False)
    with pytest.raises(InputError, match="workers must be a whole number of at least 1"):
        train(jobs(), workers=0)
