"""Mechanisms on a machine of several partitions: each partition as the independent reading of the model has it."""

from __future__ import annotations

import csv
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from random import Random

import pytest

import holdfast as hf
from holdfast.experiments import cli
from holdfast.experiments.gantt.columns import page_columns
from holdfast.experiments.recordings.pool_replays import replay_pools
from holdfast.simulator.partitioned_simulation import simulate_partitions
from holdfast.simulator.results.recording import down_spans
from holdfast.simulator.results.result import Result
from holdfast.simulator.simulation import simulate_table
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.units import SECOND, to_ticks
from holdfast.workloads.machines.machine import Machine
from holdfast.workloads.machines.machine_file import make_machine
from holdfast.workloads.machines.machine_workload import MachineWorkload
from holdfast.workloads.machines.request import ResourceRequest
from holdfast.workloads.outages.outage import Outage, OutageKind
from holdfast.workloads.table.job import Job, JobType
from holdfast.workloads.table.jobs import Jobs
from tests.reference.hybrid import MECHANISMS, Replay, replay
from tests.strategies.tables import HYBRID, Table, busy_job_table, random_job_table
from tests.support.jobs import on_demand, rigid


def machine_for(sizes: list[int], **partition: object) -> Machine:
    """Partitions p0, p1 ... of whole nodes that no two share."""
    first, nodes, partitions = 1, [], []
    for place, size in enumerate(sizes):
        names = f"n[{first}-{first + size - 1}]"
        nodes.append({"names": names, "cores": 4 + place})
        partitions.append({"name": f"p{place}", "nodes": names, "exclusive": True, **partition})
        first += size
    return make_machine(nodes=nodes, partitions=partitions)


def shuffle_partitions(seed: int, types: tuple[JobType, ...] = HYBRID) -> tuple[list[Table], Machine, list[Job]]:
    """A random table for each partition, and the jobs of all in one table; the order within each is kept."""
    random = Random(seed)
    parts = []
    for place in range(random.randint(1, 3)):
        table = random_job_table(1000 * seed + place, max_jobs=10, max_nodes=20, types=types)
        jobs = [replace(job, job_id=100 * place + job.job_id, partition=f"p{place}") for job in table.jobs]
        parts.append(Table(jobs, table.nodes))
    queues = [list(part.jobs) for part in parts]
    mixed = []
    while any(queues):
        mixed.append(random.choice([queue for queue in queues if queue]).pop(0))
    return parts, machine_for([part.nodes for part in parts]), mixed


def assert_equals_parts(result: Result, parts: list[Table], expected: list[Replay]) -> None:
    seen = {job_id: outcome for part in expected for job_id, outcome in part.items()}
    assert [record.job_id for record in result.records] == [job.job_id for job in result.table]
    for record in result.records:
        outcome = seen[record.job_id]
        assert (record.start, record.end) == tuple(
            None if time is None else to_ticks(time) for time in (outcome.start, outcome.end)
        ), record.job_id
        assert (record.preemptions, record.shrinks) == (outcome.preemptions, outcome.shrinks)
        assert record.lost == to_ticks(outcome.lost_node_seconds)
    booked, totals = result.accounting, [part.totals for part in expected]
    for name in ("compute", "setup", "checkpoint", "lost", "warning", "held"):
        assert getattr(booked, name) == sum(getattr(part, name) for part in totals), name
    ends = [record.end for record in result.records if record.end is not None]
    if ends:
        opened = min(record.submit for record in result.records if record.submit is not None)
        assert sum(booked) == sum(part.nodes for part in parts) * (max(ends) - opened)
    levels = result.samples.table
    assert (levels[:, 1] + levels[:, 2] <= result.nodes).all()
    assert (levels[:, 1:] >= 0).all()
    assert (levels[1:, 0] > levels[:-1, 0]).all()


def equals_reading(seed: int, mechanism: str) -> None:
    parts, machine, jobs = shuffle_partitions(seed)
    result = hf.simulate(jobs, machine=machine, mechanism=mechanism)
    assert (result.nodes, result.unit, result.mechanism) == (machine.size, "nodes", mechanism)
    assert_equals_parts(result, parts, [replay(part.jobs, part.nodes, mechanism) for part in parts])


@pytest.mark.parametrize("mechanism", ["baseline", *MECHANISMS])
@pytest.mark.parametrize("seed", range(4))
def test_each_partition_is_as_the_independent_reading_has_it(seed: int, mechanism: str) -> None:
    equals_reading(seed, mechanism)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_three_hundred_machines_are_as_the_independent_reading_has_them(mechanism: str) -> None:
    for seed in range(100, 400):
        equals_reading(seed, mechanism)


@pytest.mark.parametrize("backfilling", ["easy", "none", "conservative"])
@pytest.mark.parametrize("seed", range(5))
def test_rigid_jobs_start_as_in_a_replay_of_named_nodes(seed: int, backfilling: str) -> None:
    """Two engines: pools that count nodes, and the loop over named nodes."""
    _, machine, jobs = shuffle_partitions(seed, (JobType.RIGID,))
    plain = [replace(job, setup=0.0, checkpoint_interval=None, checkpoint_cost=0.0) for job in jobs]
    named = hf.simulate(plain, machine=machine, backfilling=backfilling)
    assert named.on_machine is not None
    requests = tuple(ResourceRequest(nodes=job.nodes, partitions=(job.partition,)) for job in plain)
    pools = simulate_partitions(
        Jobs.of(plain),
        MachineWorkload(machine, requests),
        "fcfs",
        lambda part, nodes, _: simulate_table(part, nodes, events=False, backfilling=backfilling),
    )
    assert pools.records == named.records
    assert pools.accounting == named.accounting
    assert pools.samples.table[:, :3].tolist() == named.samples.table[:, :3].tolist()


def test_an_arrival_preempts_in_its_own_partition_only() -> None:
    jobs = [
        replace(rigid(1, 0, 2, 1000, 1000), partition="p0"),
        replace(rigid(2, 0, 3, 2000, 2000), partition="p1"),
        replace(on_demand(3, 100, 2, 50, 50), partition="p1"),
    ]
    result = hf.simulate(jobs, machine=machine_for([2, 3]), mechanism="N-PAA")
    first, second, third = result.records
    assert (first.start, first.end, first.preemptions) == (0, 1000 * SECOND, 0)
    assert (third.start, third.end) == (100 * SECOND, 150 * SECOND)
    # It has no checkpoints, and begins again with all of its nodes.
    assert (second.preemptions, second.end) == (1, 2150 * SECOND)
    assert second.lost == 3 * 100 * SECOND
    accounting = result.accounting
    assert accounting.lost == 300 * SECOND
    assert sum(accounting) == 5 * 2150 * SECOND
    with pytest.raises(InputError, match="mechanisms on a machine keep no event log in memory"):
        hf.explain(result, 3)
    assert {name: pool.rows.tolist() for name, pool in result.pools.items()} == {"p0": [0], "p1": [1, 2]}
    assert result.pools["p0"].accounting.idle == 2 * 1150 * SECOND


@pytest.mark.parametrize("change", [{"exclusive": False}, {"nodes": "n[1-4]"}])
def test_machines_that_are_no_pools_keep_named_nodes(change: dict[str, object]) -> None:
    jobs = [replace(on_demand(1, 0, 1, 10, 10), partition="p0")]
    result = hf.simulate(jobs, machine=machine_for([2, 2], **change), mechanism="CUA-SPAA")
    assert not result.pools
    assert result.on_machine is not None
    assert [run.nodes for run in result.on_machine.runs] == [(0,)]


def test_limits_jobs_of_two_partitions_and_shared_usage_are_refused() -> None:
    machine = machine_for([2, 2])
    job = on_demand(1, 0, 1, 10, 10)
    with pytest.raises(InputError, match="job 1 may run in p0, p1"):
        hf.simulate([replace(job, partition="p0,p1")], machine=machine, mechanism="CUA-SPAA")
    two = [replace(job, partition="p0"), replace(job, job_id=2, partition="p1")]
    with pytest.raises(InputError, match="past usage is counted over all of them"):
        hf.simulate(two, machine=machine, mechanism="CUA-SPAA", order="fairshare")
    with pytest.raises(InputError, match="only some nodes of p0 have"):
        mixed = make_machine(
            nodes=[{"names": "n1", "cores": 1}, {"names": "n2", "cores": 4}],
            partitions=[{"name": "p0", "nodes": "ALL", "exclusive": True}],
        )
        hf.simulate([job], machine=mixed, mechanism="CUA-SPAA", requests=[ResourceRequest(cores=2)])
    later = [
        replace(rigid(1, 0, 1, 10, 10), partition="p0", preceding=2),
        replace(rigid(2, 0, 1, 10, 10), partition="p1"),
    ]
    with pytest.raises(InputError, match="job 1 depends on job 2 of another partition"):
        hf.simulate(later, machine=machine)
    after = [later[0], replace(later[1], partition="p0")]
    assert [record.start for record in hf.simulate(after, machine=machine).records] == [10 * SECOND, 0]
    limited = make_machine(
        nodes=[{"names": "n1", "cores": 1}],
        partitions=[{"name": "p0", "nodes": "n1", "exclusive": True}],
        limits=[{"user": "eve", "per_user": {"running": 1}}],
    )
    assert not hf.simulate([job], machine=limited, mechanism="CUA-SPAA").pools


@pytest.mark.system
def test_the_command_writes_waits_of_each_partition(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = machine_for([2, 3])
    hf.write_machine(machine, tmp_path / "machine.toml")
    jobs = [
        replace(rigid(1, 0, 2, 7200, 7200), partition="p0"),
        replace(rigid(2, 0, 3, 7200, 7200), partition="p1"),
        replace(on_demand(3, 3600, 2, 3600, 3600), partition="p1"),
    ]
    hf.write_job_table(jobs, tmp_path / "jobs.csv")
    words = ["run", tmp_path / "jobs.csv", "--machine", tmp_path / "machine.toml", "-o", tmp_path / "out"]
    assert cli.main([*map(str, words), "--mechanism", "baseline,N-PAA"]) == 0
    assert "on-demand 1 job" in " ".join(capsys.readouterr().out.split())
    rows = list(csv.DictReader((tmp_path / "out" / "partitions.csv").read_text().splitlines()))
    assert [(row["mechanism"], row["partition"], row["jobs"], float(row["mean_wait"])) for row in rows] == [
        ("baseline", "p0", "1", 0),
        ("baseline", "p1", "2", 1800),
        ("N-PAA", "p0", "1", 0),
        ("N-PAA", "p1", "2", 0),
    ]
    # Until 02:00 of three hours 2 of 2 nodes; 3 of 3 until 02:00, then 2 until 03:00.
    assert [round(float(row["cores"]), 6) for row in rows[:2]] == [round(2 / 3, 6), round(8 / 9, 6)]
    assert not list((tmp_path / "out").glob("allocations-*"))
    # Partitions are simulated again, with their event logs.
    assert cli.main(["explain", str(tmp_path / "out"), "2", "--run", "N-PAA"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "Job 2 (rigid, 3 of 3 nodes" in text
    assert "01:00 It was preempted on 3 nodes" in text
    assert "It ran on n[3-5] of partition p1" in text
    assert cli.main(["explain", str(tmp_path / "out"), "7", "--run", "N-PAA"]) == 2
    assert "there is no job 7; the nearest ids are 1, 2, 3" in capsys.readouterr().err
    page = tmp_path / "page.html"
    assert cli.main(["gantt", str(tmp_path / "out"), "--run", "N-PAA", "-o", str(page)]) == 0
    capsys.readouterr()
    replays = replay_pools(tmp_path / "out", "N-PAA")
    columns = page_columns(replays.recording, pools=replays)
    assert columns["hosts"] == {"names": ["n1", "n2", "n3", "n4", "n5"], "first": [0, 1, 2, 3, 4, 5]}
    shapes, start, drawn = columns["rectangles"], 0, set()
    for place, job in enumerate(shapes["job"]):
        start += shapes["d_start"][place]
        drawn.add(
            (columns["jobs"]["id"][job], start, shapes["length"][place], shapes["low"][place], shapes["size"][place])
        )
    # The on-demand job is at the end of its partition; job 2 begins again when it has ended.
    assert drawn == {(1, 0, 7200, 0, 2), (2, 0, 3600, 2, 3), (3, 3600, 3600, 3, 2), (2, 7200, 7200, 2, 3)}
    # A result that the simulation does not give is refused, not explained.
    monkeypatch.setattr(
        "holdfast.experiments.recordings.pool_replays.simulate_table",
        lambda jobs, nodes, mechanism, **options: simulate_table(jobs, nodes, "baseline", **options),
    )
    with pytest.raises(InputError, match="partition p1 simulated again gives other results than the stored ones"):
        replay_pools(tmp_path / "out", "N-PAA")


@pytest.mark.parametrize("mechanism", ["baseline", "CUA-SPAA", "CUP-PAA"])
@pytest.mark.parametrize("seed", range(4))
def test_outages_of_a_partition_or_of_all_nodes(seed: int, mechanism: str) -> None:
    parts, machine, mixed = shuffle_partitions(40 + seed)
    size = parts[0].nodes
    own = Outage(OutageKind.MAINTENANCE, 50, 400, max(1, size // 2), on="p0")
    every = Outage(OutageKind.MAINTENANCE, 600, 900, machine.size)
    found = hf.simulate(mixed, mechanism=mechanism, machine=machine, outages=[own, every])
    down = 0
    for place, part in enumerate(parts):
        outages = [replace(every, nodes=part.nodes)]
        if place == 0:
            outages.insert(0, replace(own, on=""))
        alone = hf.simulate(part.jobs, part.nodes, mechanism, outages=outages)
        down += alone.accounting.down
        records = {record.job_id: record for record in found.records}
        assert [records[record.job_id] for record in alone.records] == list(alone.records)
    assert found.accounting.down == down
    spans = down_spans(found)
    assert sum((end - start) * nodes for start, end, nodes in spans) == down


def test_outages_of_single_nodes_are_refused_with_a_mechanism() -> None:
    machine, jobs = machine_for([4]), [rigid(1, 0, 1, 10, partition="p0")]
    with pytest.raises(InputError, match=r"on of outage 1 must be a partition with mechanisms .* not 'n1'"):
        hf.simulate(
            jobs, mechanism="CUA-SPAA", machine=machine, outages=[Outage(OutageKind.MAINTENANCE, 0, 9, on="n1")]
        )


@pytest.mark.parametrize("seed", range(6))
def test_failures_at_a_rate_strike_one_partition_as_they_strike_a_pool(seed: int) -> None:
    table = busy_job_table(seed)
    jobs = [replace(job, partition="p0") for job in table.jobs]
    failures = hf.FailureRate(mtbf=300.0 * table.nodes, repair=30.0, seed=seed)
    pool = hf.simulate(table.jobs, table.nodes, "CUA-SPAA", failures=failures)
    found = hf.simulate(jobs, mechanism="CUA-SPAA", machine=machine_for([table.nodes]), failures=failures)
    assert list(found.records) == list(pool.records)
    assert found.accounting == pool.accounting
    assert found.losses == sorted(pool.losses)
    assert [item.start for item in found.outages] == [item.start for item in pool.outages][: len(found.outages)]
    assert found.outages


def test_failures_at_a_rate_strike_the_partition_of_their_node() -> None:
    machine, failures = machine_for([3, 5]), hf.FailureRate(mtbf=8000.0, repair=100.0, seed=4)
    jobs = [replace(rigid(number, 0, 1, 3000, 3000), partition=f"p{number % 2}") for number in range(1, 17)]
    found = hf.simulate(jobs, mechanism="N-PAA", machine=machine, failures=failures)
    last = max(record.end or 0 for record in found.records) / SECOND
    drawn = list(takewhile(lambda failure: failure.start < last, failures.draw(8, 0.0)))
    assert len(drawn) > 5
    # Nodes 0 to 2 are those of p0.
    assert [(item.start, item.on) for item in found.outages] == [
        (item.start, "p0" if int((item.place or 0.0) * 8) < 3 else "p1") for item in drawn
    ]
    for place, item in zip((int((item.place or 0.0) * 8) for item in drawn), found.outages, strict=True):
        assert int((item.place or 0.0) * (3 if place < 3 else 5)) == (place if place < 3 else place - 3)


def test_pages_and_stories_simulate_the_partitions_with_their_outages(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second partition is down for 55 minutes, in which job 2 waits; the first one is not."""
    jobs = [rigid(1, 0, 2, 7200, partition="p0"), rigid(2, 600, 3, 7200, partition="p1")]
    machine = machine_for([2, 3])
    hf.write_machine(machine, tmp_path / "machine.toml")
    hf.write_job_table([*jobs, on_demand(3, 9000, 1, 600, partition="p1")], tmp_path / "jobs.csv")
    (tmp_path / "away.csv").write_text("kind,start,end,nodes,on\nmaintenance,600,3900,all,p1\n")
    words = ["run", tmp_path / "jobs.csv", "--machine", tmp_path / "machine.toml", "-o", tmp_path / "out"]
    assert cli.main([*map(str, words), "--mechanism", "N-PAA", "--outages", str(tmp_path / "away.csv")]) == 0
    replays = replay_pools(tmp_path / "out")
    assert [(job.job_id, job.start) for job in replays.recording.records] == [
        (1, 0),
        (2, 3900 * SECOND),
        (3, 9000 * SECOND),
    ]
    shapes = page_columns(replays.recording, pools=replays)["rectangles"]
    closed = [
        place for place, kind in enumerate(shapes["kind"]) if shapes["kinds"][kind % len(shapes["kinds"])] == "down"
    ]
    assert [(shapes["length"][place], shapes["low"][place], shapes["size"][place]) for place in closed] == [
        (3300, 2, 3)
    ]
    capsys.readouterr()
    assert cli.main(["explain", str(tmp_path / "out"), "2"]) == 0
    assert "100 % of the machine was out of service" in " ".join(capsys.readouterr().out.split())
