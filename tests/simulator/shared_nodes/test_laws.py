"""Laws of mechanisms on shared nodes: amounts, accounts, promises to on-demand jobs, and what lenders get back."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.policies.node_cost import EXACT, Candidate, cheapest_victims
from holdfast.simulator.machine_simulation import simulate_on_machine
from holdfast.simulator.options import Options
from holdfast.simulator.resources.machine_jobs import JobStart
from holdfast.simulator.results.recording import clock_origin
from holdfast.simulator.shared_simulation import simulate_shared_nodes
from holdfast.workloads.ground.units import to_ticks
from holdfast.workloads.table.job import JobType
from tests.reference.hybrid import MECHANISMS
from tests.simulator.shared_nodes.test_against_reference import simulate_case
from tests.strategies.shared import SharedCase, random_shared_case, with_limits, with_shared_lives


def every_run(case: SharedCase, mechanism: str) -> list[tuple[int, JobStart]]:
    replay = simulate_case(case, mechanism).on_machine
    assert replay is not None
    return [*replay.past, *((row, run) for row, run in enumerate(replay.starts) if run is not None)]


@pytest.mark.parametrize("seed", range(300, 320))
def test_no_node_is_overfull_and_exclusive_jobs_are_alone(seed: int) -> None:
    case = with_shared_lives(random_shared_case(seed), seed)
    if not case.jobs:
        return
    mechanism = MECHANISMS[seed % len(MECHANISMS)]
    changes: dict[int, list[tuple[int, int, tuple[int, ...]]]] = defaultdict(list)
    spans: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for row, run in every_run(case, mechanism):
        if run.start == run.end:
            continue  # cancelled as it started
        spans[row].append((run.start, run.end))
        for node, part in zip(run.nodes, run.taken, strict=True):
            changes[node] += [(run.end, 0, tuple(-amount for amount in part)), (run.start, 1, part)]
    capacities = case.workload.table.capacities
    for node, steps in changes.items():
        used = np.zeros(len(capacities[node]), np.int64)
        for _, _, part in sorted(steps):
            used += part
            assert (used >= 0).all()
            assert (used <= capacities[node]).all()
        assert not used.any()
    for own in spans.values():
        own.sort()
        assert all(before[1] <= after[0] for before, after in pairwise(own))


@pytest.mark.parametrize("seed", range(320, 340))
def test_accounts_close_for_each_resource_and_on_demand_jobs_are_never_preempted(seed: int) -> None:
    case = random_shared_case(seed)
    if not case.jobs:
        return
    result = simulate_case(case, MECHANISMS[seed % len(MECHANISMS)])
    accounting, replay = result.accounting, result.on_machine
    assert replay is not None
    assert min(accounting) >= 0
    ends = [record.end for record in result.records if record.end is not None]
    if ends:
        opened = min(record.submit for record in result.records if record.submit is not None)
        assert sum(accounting) == result.nodes * (max(ends) - opened)
        busy = sum(accounting) - accounting.idle - accounting.held
        assert replay.used["nodes" if result.unit == "nodes" else "cores"] >= busy
        assert all(replay.used[name] <= replay.capacity[name] for name in ("nodes", "cores", "gpus"))
    for record in result.records:
        if record.type is JobType.ON_DEMAND and record.start is not None and record.end is not None:
            job = next(job for job in case.jobs if job.job_id == record.job_id)
            assert record.preemptions == record.shrinks == 0
            assert record.end - record.start == to_ticks(job.runtime)


@pytest.mark.parametrize("seed", range(340, 360))
def test_without_a_mechanism_orders_by_past_usage_are_those_of_a_replay(seed: int) -> None:
    case = with_limits(random_shared_case(seed), seed)
    if not case.jobs or any(job.submit is None for job in case.jobs):
        return
    options = Options(order="fairshare half_life=600", backfilling=case.backfilling)
    origin = clock_origin(case.table)
    result = simulate_shared_nodes(case.table, case.workload, None, options, origin)
    replay = simulate_on_machine(case.table, case.workload, options, origin)
    assert [record.start for record in result.records] == [record.start for record in replay.records]


AMOUNTS = st.tuples(st.integers(0, 4), st.integers(0, 3))


@given(
    st.lists(st.tuples(st.integers(0, 20), AMOUNTS), max_size=7),
    st.tuples(st.integers(-1, 8), st.integers(-1, 6)),
)
def test_the_cheapest_victims_are_those_of_an_enumeration(jobs: list, lacking: tuple[int, int]) -> None:  # type: ignore[type-arg]
    candidates = [Candidate(cost, number, amounts) for number, (cost, amounts) in enumerate(jobs)]
    found = cheapest_victims(candidates, lacking)
    sufficient = [
        sum(item.overhead for item in chosen)
        for count in range(len(candidates) + 1)
        for chosen in combinations(candidates, count)
        if all(sum(item.amounts[kind] for item in chosen) >= lacking[kind] for kind in (0, 1))
    ]
    assert (found is None) == (not sufficient)
    if found is not None:
        assert found.overhead == min(sufficient)
        assert found.overhead == sum(candidates[number].overhead for number in found.job_ids)


@given(st.lists(st.tuples(st.integers(0, 20), AMOUNTS), min_size=EXACT + 1, max_size=20), AMOUNTS)
def test_the_greedy_choice_suffices_without_a_job_too_many(jobs: list, lacking: tuple[int, int]) -> None:  # type: ignore[type-arg]
    candidates = [Candidate(cost, number, amounts) for number, (cost, amounts) in enumerate(jobs)]
    found = cheapest_victims(candidates, lacking)
    if found is None:
        assert any(sum(amounts[kind] for _, amounts in jobs) < lacking[kind] for kind in (0, 1))
        return
    freed = [sum(candidates[number].amounts[kind] for number in found.job_ids) for kind in (0, 1)]
    assert all(have >= want for have, want in zip(freed, lacking, strict=True))
    for number in found.job_ids:
        rest = [have - amount for have, amount in zip(freed, candidates[number].amounts, strict=True)]
        assert any(have < want for have, want in zip(rest, lacking, strict=True))
