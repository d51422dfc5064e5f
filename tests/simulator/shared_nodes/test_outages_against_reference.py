"""Mechanisms and outages on random machines of shared nodes, against the plain reference."""

from __future__ import annotations

from collections import Counter

import pytest

from holdfast.workloads.ground.errors import InputError
from tests.reference.shared_mechanisms import NoRoomError
from tests.reference.shared_outages import replay_with_outages
from tests.simulator.shared_nodes.test_against_reference import EVERY, assert_equal
from tests.simulator.shared_nodes.test_outages import closed_simulation
from tests.strategies.outages import named_outages, varied_outages
from tests.strategies.shared import (
    DEPTHS,
    random_shared_case,
    with_limits,
    with_running_jobs,
    with_shared_lives,
)
from tests.support.seeds import in_parts


def assert_agrees(seed: int, mechanism: str, *, most_jobs: int = 14) -> Counter[str]:
    """The simulator and the reference agree on a case with outages; returns how often what happened."""
    case = random_shared_case(seed, most_jobs=most_jobs)
    case = with_shared_lives(case, seed) if seed % 3 == 0 else case
    case = with_limits(case, seed) if seed % 3 == 1 else case
    case = with_running_jobs(case, seed) if seed % 5 < 2 else case
    if not case.jobs:
        return Counter()
    draw = named_outages if seed % 4 == 3 else varied_outages
    outages = draw(seed, case.jobs, case.machine)
    try:
        reference = replay_with_outages(
            case.machine, case.jobs, case.requests, mechanism, outages,
            placement=case.placement, depth=DEPTHS[case.backfilling], tenants=case.tenants,
        )  # fmt: skip
    except NoRoomError:
        with pytest.raises(InputError, match="must have room on the machine"):
            closed_simulation(case, mechanism, outages)
        return Counter()
    assert_equal(case, closed_simulation(case, mechanism, outages), reference, seed)
    return Counter(what for _, what, _, _ in reference.log)


@pytest.mark.parametrize("mechanism", EVERY)
@pytest.mark.parametrize("seeds", in_parts(range(200, 230), 6))
def test_random_outages_agree(seeds: range, mechanism: str) -> None:
    happened = sum((assert_agrees(seed, mechanism) for seed in seeds), Counter[str]())
    assert happened["preempt"] > 0
    assert happened["start"] > happened["complete"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", EVERY)
def test_many_random_outages_agree(mechanism: str) -> None:
    for seed in range(5000, 5100):
        assert_agrees(seed, mechanism, most_jobs=40 if seed % 4 == 0 else 14)
