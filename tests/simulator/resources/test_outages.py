"""Outages of named nodes: timelines by hand, accounts, and the pool of equal nodes as another witness."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import holdfast as hf
from holdfast.simulator.resources.machine_jobs import MachineJob
from holdfast.simulator.resources.machine_replay import MachineReplay, replay_on_machine
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.machines.machine_file import make_machine, one_pool
from holdfast.workloads.machines.request import ResourceRequest
from holdfast.workloads.outages.outage import Outage, OutageKind
from holdfast.workloads.outages.places import outage_places
from tests.support.jobs import rigid

MAINTENANCE, FAILURE, RESERVATION = OutageKind.MAINTENANCE, OutageKind.FAILURE, OutageKind.RESERVATION

#: Three nodes of four cores that jobs share; two partitions.
THREE = make_machine(
    nodes=[{"names": "n[1-3]", "cores": 4}],
    partitions=[{"name": "most", "nodes": "n[1-2]", "default": True}, {"name": "rest", "nodes": "n3"}],
)


def job(number: int, submit: float, walltime: float, user: str = "", **asked: Any) -> MachineJob:
    return MachineJob(number, submit, walltime, walltime, ResourceRequest(**asked), user)


def window(kind: OutageKind, start: float, end: float, on: str, nodes: int = 1, **more: Any) -> Outage:
    place = 0.0 if kind is FAILURE else None
    return Outage(kind, start, end, nodes, on=on, place=place, **more)


def replay(outages: list[Outage], *jobs: MachineJob, **options: Any) -> MachineReplay:
    return replay_on_machine(THREE, jobs, outages=outages, **options)


def runs(found: MachineReplay) -> list[tuple[int, float, float, list[str]]]:
    """Job, start, end and nodes of each run, in the order of their starts."""
    names = found.table.machine.names
    every = [(found.jobs[place].job_id, run) for place, run in found.past]
    every += [(job.job_id, run) for job, run in zip(found.jobs, found.starts, strict=True) if run is not None]
    every.sort(key=lambda item: item[1].place)
    return [(number, r.start / SECOND, r.end / SECOND, [names[node] for node in r.nodes]) for number, r in every]


def test_a_job_starts_before_maintenance_only_if_its_walltime_ends_by_then() -> None:
    found = replay([window(MAINTENANCE, 10, 20, "n1")], job(1, 0, 10, cores=4), job(2, 0, 11, cores=4), job(3, 1, 9))
    # Job 2 takes n2 up to 11, and job 3 fits neither before that nor on n1, which is closed until 20.
    assert runs(found) == [(1, 0, 10, ["n1"]), (2, 0, 11, ["n2"]), (3, 11, 20, ["n2"])]


def test_a_head_waits_for_the_end_of_a_window_and_others_are_backfilled_beside_it() -> None:
    found = replay(
        [window(MAINTENANCE, 0, 50, "n1")],
        job(1, 0, 100, cores=2),  # on n2
        job(2, 1, 10, cores=4),  # on n1 from 50 on
        job(3, 2, 10, cores=2),
    )
    assert runs(found) == [(1, 0, 100, ["n2"]), (3, 2, 12, ["n2"]), (2, 50, 60, ["n1"])]


def test_maintenance_preempts_a_job_that_does_not_know_it_in_time() -> None:
    away = window(MAINTENANCE, 10, 20, "n[1-2]", 2, announced=5)
    found = replay([away], job(1, 0, 30, cores=4), job(2, 6, 5, cores=1))
    # Job 2 would not end by 10. Job 1 loses ten seconds, stands before it again, and takes the first node.
    assert runs(found) == [(1, 0, 10, ["n1"]), (1, 20, 50, ["n1"]), (2, 20, 25, ["n2"])]
    assert found.used["cores"] == (4 * 10 + 4 * 30 + 5) * SECOND


def test_a_window_may_wait_for_running_jobs() -> None:
    away = window(MAINTENANCE, 10, 40, "n1", announced=5, running="wait")
    found = replay([away], job(1, 0, 30, cores=2), job(2, 12, 5, cores=4), job(3, 12, 50, cores=3))
    # n1 takes no other job until 40.
    assert runs(found) == [(1, 0, 30, ["n1"]), (2, 12, 17, ["n2"]), (3, 17, 67, ["n2"])]


def test_a_failure_preempts_the_jobs_of_its_node_only() -> None:
    found = replay(
        [window(FAILURE, 5, 9, "n1")], job(1, 0, 10, cores=2), job(2, 0, 10, cores=2), job(3, 0, 10, cores=3)
    )
    # Both wait for n1, of which the end of the repair is known.
    assert runs(found) == [
        (1, 0, 5, ["n1"]), (2, 0, 5, ["n1"]), (3, 0, 10, ["n2"]), (1, 9, 19, ["n1"]), (2, 9, 19, ["n1"]),
    ]  # fmt: skip


def test_a_job_of_several_nodes_ends_on_all_of_them() -> None:
    found = replay([window(FAILURE, 5, 100, "n2")], job(1, 0, 10, nodes=2, cores=2), job(2, 1, 20, cores=4))
    assert runs(found) == [(1, 0, 5, ["n1", "n2"]), (2, 5, 25, ["n1"]), (1, 100, 110, ["n1", "n2"])]


def test_an_advance_reservation_is_open_to_its_jobs() -> None:
    booked = window(RESERVATION, 0, 50, "n1", users=("ada",))
    found = replay([booked], job(1, 0, 10, cores=4), job(2, 0, 10, cores=4), job(3, 1, 60, "ada", cores=4))
    assert runs(found) == [(1, 0, 10, ["n2"]), (3, 1, 61, ["n1"]), (2, 10, 20, ["n2"])]


def test_a_job_is_cancelled_while_it_waits_again() -> None:
    first = job(1, 0, 30, cores=4)._replace(cancelled_at=12)
    found = replay([window(FAILURE, 5, 40, "n[1-2]", 2)], first)
    assert runs(found) == [(1, 0, 5, ["n1"])]
    assert found.gone == [12 * SECOND]


def test_usage_of_a_preempted_run_counts_until_it_ends() -> None:
    asked = {"cores": 4, "nodes": 2}
    first, second, third = (
        MachineJob(number, submit, 20, 20, ResourceRequest(account=account, **asked))
        for number, submit, account in ((1, 0, "a"), (2, 1, "b"), (3, 2, "a"))
    )
    found = replay([window(FAILURE, 4, 6, "n1")], first, second, third, order="fairshare half_life=1000")
    assert [number for number, *_ in runs(found)] == [1, 2, 1, 3]


def test_windows_of_a_partition_or_of_some_of_its_nodes() -> None:
    outages = [
        window(MAINTENANCE, 0, 10, "rest"),
        window(MAINTENANCE, 5, 15, "", 2),  # the last two that are not in the first
        window(MAINTENANCE, 12, 15, "most", 1, announced=12),
        window(FAILURE, 0, 9, "", 2),
        Outage(FAILURE, 0, 9, 2, place=0.7),
    ]
    with pytest.raises(InputError, match=r"nodes of outage 3 must leave room .* they leave 0 of 2 nodes, not 1"):
        outage_places(outages, THREE)
    del outages[2]
    assert outage_places(outages, THREE) == [(2,), (0, 1), (0, 1), (0, 2)]


def test_accounts_of_shared_nodes_close() -> None:
    jobs = [rigid(1, 0, 1, 10, 10), rigid(2, 0, 1, 20, 20)]
    requests = [ResourceRequest(cores=4), ResourceRequest(cores=2)]
    outages = [window(FAILURE, 5, 15, "n1"), window(RESERVATION, 0, 30, "n3", users=("ada",))]
    result = hf.simulate(jobs, machine=THREE, requests=requests, outages=outages)
    # Job 1 loses 5 s on n1 and runs there again from 15 to 25; job 2 has two cores of n2.
    booked = {name: ticks / SECOND for name, ticks in result.accounting._asdict().items() if ticks}
    assert booked == {"compute": 40 + 40, "lost": 20, "down": 40, "held": 100, "idle": 60}
    assert [(r.start, r.end, r.preemptions, r.lost) for r in result.records] == [
        (0, 25 * SECOND, 1, 20 * SECOND),
        (0, 20 * SECOND, 0, 0),
    ]
    assert result.down == [(5 * SECOND, 4), (15 * SECOND, 0)]
    assert result.losses == [(5 * SECOND, 20 * SECOND)]
    # Busy, held, waiting jobs and what they ask for.
    assert result.samples.table.tolist() == [
        [0, 6, 4, 0, 0],
        [5 * SECOND, 2, 4, 1, 4],
        [15 * SECOND, 6, 4, 0, 0],
        [20 * SECOND, 4, 4, 0, 0],
        [25 * SECOND, 0, 0, 0, 0],
    ]


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_windows_of_a_whole_pool_have_the_same_effect_as_without_names(data: st.DataObject) -> None:
    jobs = []
    for number in range(data.draw(st.integers(1, 12))):
        walltime = data.draw(st.integers(1, 40))
        runtime = data.draw(st.integers(1, walltime))
        jobs.append(rigid(number, data.draw(st.integers(0, 40)), data.draw(st.integers(1, 4)), runtime, walltime))
    outages, time = [], -5
    for _ in range(data.draw(st.integers(1, 3))):
        start = time + data.draw(st.integers(0, 30))
        time = start + data.draw(st.integers(1, 30))
        announced = start - data.draw(st.sampled_from((0, 1, 10)))
        outages.append(Outage(MAINTENANCE, start, time, 4, announced))
    backfilling = data.draw(st.sampled_from(("easy", "none", "conservative")))
    pool = hf.simulate(jobs, 4, events=False, backfilling=backfilling, outages=outages)
    found = hf.simulate(jobs, machine=one_pool(4), backfilling=backfilling, outages=outages)
    assert found.records == pool.records
    assert found.accounting == pool.accounting
    assert sorted(found.losses) == sorted(pool.losses)


def test_failures_are_drawn_until_the_last_job_has_ended() -> None:
    jobs = [rigid(number, 0, 1, 5000, 5000) for number in range(8)]
    failures = hf.FailureRate(mtbf=20_000, repair=500, seed=3)
    one, again = (hf.simulate(jobs, machine=one_pool(4), failures=failures) for _ in range(2))
    assert one.records == again.records
    last = max(record.end or 0 for record in one.records) / SECOND
    expected = [outage for outage in hf_draws(failures) if outage.start < last]
    assert list(one.outages) == expected
    assert sum(record.preemptions for record in one.records) >= 1


def hf_draws(failures: hf.FailureRate) -> list[Outage]:
    return [outage for outage, _ in zip(failures.draw(4, 0.0), range(1000), strict=False)]


def test_failures_that_let_no_job_end_are_refused() -> None:
    jobs = [rigid(1, 0, 4, 5000, 5000)]
    with pytest.raises(hf.InputError, match="failures must be rarer, or jobs shorter: after 10,100 failures"):
        hf.simulate(jobs, machine=one_pool(4), failures=hf.FailureRate(mtbf=3, repair=1))
