"""Mechanisms on random machines of shared nodes, against the plain reference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from holdfast.experiments.recordings.machine_tables import blocked_jobs_warning
from holdfast.policies.mechanism import parse_mechanism
from holdfast.simulator.options import Options
from holdfast.simulator.results.recording import clock_origin
from holdfast.simulator.results.result import Result
from holdfast.simulator.shared_simulation import simulate_shared_nodes
from holdfast.workloads.ground.errors import InputError
from tests.reference.hybrid import MECHANISMS
from tests.reference.shared_mechanisms import NoRoomError, SharedReplay, replay_shared_nodes
from tests.strategies.shared import (
    DEPTHS,
    SharedCase,
    random_shared_case,
    with_limits,
    with_running_jobs,
    with_shared_lives,
)
from tests.support.seeds import in_parts

EVERY = ("baseline", *MECHANISMS)


def simulate_case(case: SharedCase, mechanism: str) -> Result:
    options = Options(backfilling=case.backfilling, tenants=case.tenants)
    return simulate_shared_nodes(
        case.table, case.workload, parse_mechanism(mechanism), options, clock_origin(case.table)
    )


def expected_replay(case: SharedCase, mechanism: str) -> SharedReplay:
    return replay_shared_nodes(
        case.machine,
        case.jobs,
        case.requests,
        mechanism,
        placement=case.placement,
        depth=DEPTHS[case.backfilling],
        tenants=case.tenants,
    )


def assert_agrees(
    seed: int,
    mechanism: str,
    *,
    lives: bool = False,
    limits: bool = False,
    running: bool = False,
    most_jobs: int = 14,
) -> None:
    """The simulator and the reference agree on a case."""
    case = random_shared_case(seed, most_jobs=most_jobs)
    case = with_shared_lives(case, seed) if lives else case
    case = with_limits(case, seed) if limits else case
    case = with_running_jobs(case, seed) if running else case
    if not case.jobs:
        return
    try:
        reference = expected_replay(case, mechanism)
    except NoRoomError:
        with pytest.raises(InputError, match="must have room on the machine"):
            simulate_case(case, mechanism)
        return
    assert_equal(case, simulate_case(case, mechanism), reference, seed)


def test_a_job_that_a_limit_keeps_from_running_again_leaves_the_queue_with_its_last_run() -> None:
    # A malleable job is submitted before all jobs that end, runs on two nodes, and is preempted. After that its place
    # would include a larger node, on which a limit does not allow it.
    case = with_limits(random_shared_case(5741, most_jobs=40), 741)
    result = simulate_case(case, "CUP-PAA")
    (record,) = [record for record in result.records if record.status == "cancelled"]
    assert (record.preemptions, record.submit, record.start) == (1, 166_666_667, 200_000_000)
    assert result.on_machine is not None
    assert record.end == max(run.end for _, run in result.on_machine.past)
    assert blocked_jobs_warning(result).startswith("CUP-PAA: 12 jobs never start and 1 never runs again: a limit ")
    assert_equal(case, result, expected_replay(case, "CUP-PAA"), 5741)


def assert_equal(case: SharedCase, result: Result, reference: SharedReplay, seed: int) -> None:
    """The same starts, ends, preemptions, shrinks and losses, on the same nodes at all times, and the same accounts."""
    replayed = result.on_machine
    assert replayed is not None
    every = [*replayed.past, *((row, run) for row, run in enumerate(replayed.starts) if run is not None)]
    spans: dict[int, list[tuple[int, int, tuple[int, ...]]]] = {job.job_id: [] for job in case.jobs}
    for row, run in every:
        if run.end > run.start:
            spans[case.jobs[row].job_id].append((run.start, run.end, run.nodes))
    for record in result.records:
        outcome = reference[record.job_id]
        assert (record.start, record.end) == (outcome.start, outcome.end), (seed, record.job_id)
        assert (record.status == "cancelled") >= outcome.cancelled, (seed, record.job_id)
        assert (record.preemptions, record.shrinks) == (outcome.preemptions, outcome.shrinks), (seed, record.job_id)
        assert record.lost == outcome.lost, (seed, record.job_id)
        assert join_segments(sorted(spans[record.job_id])) == join_segments(outcome.segments), (seed, record.job_id)
    assert {name: getattr(result.accounting, name) for name in reference.totals} == reference.totals, seed
    started = {run.place: case.jobs[row].job_id for row, run in every}
    assert [started[place] for place in sorted(started)] == [
        job_id for _, what, job_id, _ in reference.log if what == "start"
    ], seed
    assert_equal_levels(result, reference, seed)


def assert_equal_levels(result: Result, reference: SharedReplay, seed: int) -> None:
    """The same amounts busy, held and down at the end of each instant, until the last end."""
    ends = [end for outcome in reference.values() for _, end, _ in outcome.segments]
    last = max([result.origin, *ends, *(outcome.end for outcome in reference.values() if outcome.end is not None)])
    found = [(time + result.origin, (busy, held)) for time, busy, held, *_ in result.samples]
    found = [item for item in found if item[0] <= last]
    wanted = [(time, (busy, held)) for time, busy, held, _ in reference.levels if time <= last]
    assert changes(found, (0, 0)) == changes(wanted, (0, 0)), seed
    closed = [(time, down) for time, _, _, down in reference.levels if time < last]
    assert [(time + result.origin, down) for time, down in result.down] == changes(closed, 0), seed


def changes(levels: Sequence[tuple[int, Any]], before: object) -> list[tuple[int, Any]]:
    """The times at which a level changes, and the level from then on; of several at one time the last counts."""
    found = []
    for time, level in dict(levels).items():
        if level != before:
            found.append((time, level))
            before = level
    return found


def join_segments(segments: list[tuple[int, int, tuple[int, ...]]]) -> list[tuple[int, int, tuple[int, ...]]]:
    """Segments without cuts between two that have the same nodes and follow each other."""
    found: list[tuple[int, int, tuple[int, ...]]] = []
    for start, end, nodes in segments:
        if found and found[-1][1] == start and found[-1][2] == nodes:
            found[-1] = found[-1][0], end, nodes
        else:
            found.append((start, end, nodes))
    return found


@pytest.mark.parametrize("mechanism", EVERY)
@pytest.mark.parametrize("seeds", in_parts(range(25), 14))
def test_random_machines_agree(seeds: range, mechanism: str) -> None:
    for seed in seeds:
        assert_agrees(seed, mechanism)


@pytest.mark.parametrize("mechanism", EVERY)
@pytest.mark.parametrize("seeds", in_parts(range(100, 110), 4))
def test_cancelled_and_dependent_jobs_agree(seeds: range, mechanism: str) -> None:
    for seed in seeds:
        assert_agrees(seed, mechanism, lives=True)


@pytest.mark.parametrize("mechanism", EVERY)
@pytest.mark.parametrize("seeds", in_parts(range(120, 130), 4))
def test_limits_agree(seeds: range, mechanism: str) -> None:
    for seed in seeds:
        assert_agrees(seed, mechanism, limits=True)


@pytest.mark.parametrize("mechanism", EVERY)
@pytest.mark.parametrize("seeds", in_parts(range(140, 155), 5))
def test_jobs_that_run_at_the_beginning_agree(seeds: range, mechanism: str) -> None:
    for seed in seeds:
        assert_agrees(seed, mechanism, running=True, lives=seed % 2 == 0)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", EVERY)
def test_twelve_hundred_random_machines_agree(mechanism: str) -> None:
    for seed in range(1000, 2200):
        most_jobs = 40 if seed % 4 == 0 else 14
        lives, limits, running = seed % 3 == 0, seed % 3 == 1, seed % 5 < 2
        assert_agrees(seed, mechanism, lives=lives, limits=limits, running=running, most_jobs=most_jobs)
