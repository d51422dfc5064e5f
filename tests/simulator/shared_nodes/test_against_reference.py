"""Mechanisms on random machines of shared nodes, against the plain reference."""

from __future__ import annotations

import pytest

from holdfast.policies.mechanism import parse_mechanism
from holdfast.simulator.options import Options
from holdfast.simulator.results.recording import clock_origin
from holdfast.simulator.results.result import Result
from holdfast.simulator.shared_simulation import simulate_shared_nodes
from tests.reference.hybrid import MECHANISMS
from tests.reference.shared_mechanisms import SharedReplay, replay_shared
from tests.strategies.shared import DEPTHS, SharedCase, random_shared_case, with_limits, with_shared_lives

EVERY = ("baseline", *MECHANISMS)


def simulated(case: SharedCase, mechanism: str) -> Result:
    options = Options(backfilling=case.backfilling, tenants=case.tenants)
    return simulate_shared_nodes(
        case.table, case.workload, parse_mechanism(mechanism), options, clock_origin(case.table)
    )


def expected(case: SharedCase, mechanism: str) -> SharedReplay:
    return replay_shared(
        case.machine,
        case.jobs,
        case.requests,
        mechanism,
        placement=case.placement,
        depth=DEPTHS[case.backfilling],
        tenants=case.tenants,
    )


def assert_agrees(seed: int, mechanism: str, *, lives: bool = False, limits: bool = False, most_jobs: int = 14) -> None:
    """The same starts, ends, preemptions, shrinks and losses, on the same nodes at all times, and the same accounts."""
    case = random_shared_case(seed, most_jobs=most_jobs)
    case = with_shared_lives(case, seed) if lives else case
    case = with_limits(case, seed) if limits else case
    if not case.jobs:
        return
    result, reference = simulated(case, mechanism), expected(case, mechanism)
    replayed = result.on_machine
    assert replayed is not None
    spans: dict[int, list[tuple[int, int, tuple[int, ...]]]] = {job.job_id: [] for job in case.jobs}
    for row, run in [*replayed.past, *((row, run) for row, run in enumerate(replayed.starts) if run is not None)]:
        if run.end > run.start:
            spans[case.jobs[row].job_id].append((run.start, run.end, run.nodes))
    for record in result.records:
        outcome = reference[record.job_id]
        assert (record.start, record.end) == (outcome.start, outcome.end), (seed, record.job_id)
        assert (record.status == "cancelled") >= outcome.cancelled, (seed, record.job_id)
        assert (record.preemptions, record.shrinks) == (outcome.preemptions, outcome.shrinks), (seed, record.job_id)
        assert record.lost == outcome.lost, (seed, record.job_id)
        assert joined(sorted(spans[record.job_id])) == joined(outcome.segments), (seed, record.job_id)
    assert {name: getattr(result.accounting, name) for name in reference.totals} == reference.totals, seed


def joined(segments: list[tuple[int, int, tuple[int, ...]]]) -> list[tuple[int, int, tuple[int, ...]]]:
    """Segments without cuts between two that have the same nodes and follow each other."""
    found: list[tuple[int, int, tuple[int, ...]]] = []
    for start, end, nodes in segments:
        if found and found[-1][1] == start and found[-1][2] == nodes:
            found[-1] = found[-1][0], end, nodes
        else:
            found.append((start, end, nodes))
    return found


@pytest.mark.parametrize("mechanism", EVERY)
@pytest.mark.parametrize("seed", range(25))
def test_random_machines_agree(seed: int, mechanism: str) -> None:
    assert_agrees(seed, mechanism)


@pytest.mark.parametrize("mechanism", EVERY)
@pytest.mark.parametrize("seed", range(100, 110))
def test_cancelled_and_dependent_jobs_agree(seed: int, mechanism: str) -> None:
    assert_agrees(seed, mechanism, lives=True)


@pytest.mark.parametrize("mechanism", EVERY)
@pytest.mark.parametrize("seed", range(120, 130))
def test_limits_agree(seed: int, mechanism: str) -> None:
    assert_agrees(seed, mechanism, limits=True)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", EVERY)
def test_twelve_hundred_random_machines_agree(mechanism: str) -> None:
    for seed in range(1000, 2200):
        most_jobs = 40 if seed % 4 == 0 else 14
        assert_agrees(seed, mechanism, lives=seed % 3 == 0, limits=seed % 3 == 1, most_jobs=most_jobs)
