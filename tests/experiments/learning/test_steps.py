"""Random steps keep every law: a few by default, 10,000 in each environment with ``make slow``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.policies.planning.plan_book import Planner
from holdfast.simulator import Result
from holdfast.simulator.machine.system import System
from tests.experiments.learning.test_choices import hybrid, stochastic
from tests.search.cases import Case
from tests.search.checker import broken_laws
from tests.simulator.test_stepping import NODES, crowd

pytest.importorskip("gymnasium", reason="environments need the package gymnasium")

from holdfast.experiments.learning.arrival_choice import ArrivalChoice
from holdfast.experiments.learning.environment import Environment
from holdfast.experiments.learning.job_choice import JobChoice
from holdfast.experiments.learning.plan_choice import PlanChoice


def make_environment(kind: str) -> tuple[Environment[Any], str]:
    """An environment, and a mechanism that knows the same kinds of jobs."""
    if kind == "jobs":
        return JobChoice(crowd, NODES, first=6, events=True), "baseline"
    if kind == "arrivals":
        answers = ("PAA", "SPAA", "SKNAPSACK", "WAIT")
        return ArrivalChoice(hybrid, NODES, answers=answers, against="PAA", events=True), "CUA-PAA"
    offers = ("own", "walltime", "neuro k=2", "quantile q=0.5")
    planner = Planner(fit="discrete", least=2)
    return PlanChoice(stochastic, NODES, offers=offers, mechanism="CUP-SPAA", planner=planner, events=True), "CUP-SPAA"


def check_machine(system: System, before: int) -> None:
    """What holds while a decision is due."""
    free, held, busy, down = system.cluster.totals
    assert min(free, held, busy, down) >= 0
    assert free + held + busy + down == system.nodes == NODES
    assert free == system.free
    assert sum(run.nodes for run in (*system.runs.values(), *system.leaving.values())) == busy
    assert system.now >= before
    queue = list(system.queue)
    assert len({job.job_id for job in queue}) == len(queue) == system.waiting.jobs
    assert not {job.job_id for job in queue} & set(system.runs)
    assert all(job.submit <= system.now for job in queue)
    # At the earliest when it was submitted, or when it was submitted again.
    assert all(run.start >= run.job.first_submit for run in system.runs.values())


def check_observation(environment: Environment[Any], seen: Any, mask: Any) -> None:
    assert environment.observation_space.contains(seen)
    assert np.isfinite(seen).all()
    assert mask.dtype == bool and mask.any()
    assert np.array_equal(mask, environment.action_masks())
    if isinstance(environment, JobChoice):
        assert np.array_equal(mask, seen.any(axis=1))


def check_end(environment: Environment[Any], mechanism: str, reward: float, result: Result) -> None:
    jobs = environment.episodes[environment._number]
    case = Case(tuple(jobs), NODES, mechanism)
    assert broken_laws(case, result) == []
    assert np.isfinite(reward)


def walk(environment: Environment[Any], mechanism: str, seed: int, answers: list[int], legal: bool) -> None:
    seen, info = environment.reset(options={"slice": seed})
    now = 0
    for answer in answers:
        check_observation(environment, seen, info["action_mask"])
        system: Any = environment._active_simulation().view
        check_machine(system, now)
        now = system.now
        places = np.flatnonzero(info["action_mask"]) if legal else np.arange(len(info["action_mask"]))
        seen, reward, over, cut, info = environment.step(int(places[answer % len(places)]))
        assert not cut
        if over:
            check_end(environment, mechanism, float(reward), info["result"])
            assert not seen.any() and not info["action_mask"].any()
            seed += 1
            seen, info = environment.reset(options={"slice": seed})
            now = 0
        else:
            assert reward == 0.0


KINDS = ("jobs", "arrivals", "plans")
seeds = st.integers(0, 2**20)
places = st.integers(0, 59)


@pytest.mark.parametrize("kind", KINDS)
@given(seed=seeds, answers=st.lists(places, min_size=1, max_size=25), legal=st.booleans())
@settings(max_examples=10)
def test_random_steps_keep_every_law(kind: str, seed: int, answers: list[int], legal: bool) -> None:
    walk(*make_environment(kind), seed, answers, legal)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@given(seed=seeds, answers=st.lists(places, min_size=100, max_size=100), legal=st.booleans())
@settings(max_examples=100)
def test_ten_thousand_random_steps_keep_every_law(kind: str, seed: int, answers: list[int], legal: bool) -> None:
    walk(*make_environment(kind), seed, answers, legal)
