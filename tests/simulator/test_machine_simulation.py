"""Simulations on a machine: the same result as on one pool, hand timelines of shared nodes, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import holdfast as hf
from holdfast.experiments.recordings.machine_tables import blocked_jobs_warning
from holdfast.simulator import simulate
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.ground.units import SECOND
from holdfast.workloads.machines.fitted_requests import NodeTable, UnfitError
from holdfast.workloads.machines.machine_file import make_machine, one_pool
from holdfast.workloads.machines.request import ResourceRequest
from holdfast.workloads.outages.outage import OutageKind
from holdfast.workloads.requests.fitted_trace import fit_jobs_to_machine
from holdfast.workloads.table.job import RIGID, Job
from tests.strategies.machines import random_jobs, random_machine
from tests.support.jobs import rigid

#: Two nodes of four cores that jobs share.
SHARED = make_machine(nodes=[{"names": "n[1-2]", "cores": 4}])


@settings(deadline=None, max_examples=40)
@given(
    st.integers(0, 10**9),
    st.sampled_from(("easy", "none", "conservative", "easy depth=2")),
    st.sampled_from(("fcfs", "sjf", "largest")),
)
def test_one_pool_gives_the_result_of_a_simulation_without_machine(seed: int, backfilling: str, order: str) -> None:
    random = Random(seed)
    jobs = []
    for number in range(random.randint(1, 30)):
        walltime, submit = random.randint(1, 90), random.randint(0, 60)
        held = {"eligible": submit + random.randint(0, 40)} if random.random() < seed % 3 / 3 else {}
        jobs.append(rigid(number, submit, random.randint(1, 8), random.randint(1, walltime), walltime, **held))
    pool = hf.simulate(jobs, 8, events=False, backfilling=backfilling, order=order)
    found = hf.simulate(jobs, machine=one_pool(8), backfilling=backfilling, order=order)
    assert found.records == pool.records
    assert found.samples == pool.samples
    assert found.accounting == pool.accounting
    assert (found.nodes, found.unit) == (8, "nodes")
    ours, theirs = dict(found.summary()), dict(pool.summary())
    for name in theirs:
        if "seconds" not in name and "decision" not in name:
            assert ours[name] == theirs[name] or ours[name] != ours[name]


def test_a_held_job_has_the_place_of_its_submit() -> None:
    """Job 2 is eligible after job 3, which both have to wait for job 1, and starts before it."""
    jobs = [rigid(1, 0, 1, 20, 20), rigid(2, 1, 1, 10, 10, eligible=9), rigid(3, 5, 1, 10, 10)]
    found = hf.simulate(jobs, machine=SHARED, requests=[ResourceRequest(nodes=2, cores=4)] * 3)
    assert [record.start for record in found.records] == [0, 20 * SECOND, 30 * SECOND]
    assert [record.wait for record in found.records] == [0, 11 * SECOND, 25 * SECOND]


def test_jobs_that_share_nodes_count_cores() -> None:
    jobs = [rigid(1, 0, 1, 100, 100), rigid(2, 0, 1, 50, 60), rigid(3, 0, 1, 10, 10)]
    requests = [ResourceRequest(cores=3), ResourceRequest(nodes=2, cores=1), ResourceRequest(cores=4)]
    result = hf.simulate(jobs, machine=SHARED, requests=requests)
    # 3 + 1 cores of n1 and 1 of n2 until 50; then job 3 has the four cores of n2.
    assert [record.start for record in result.records] == [0, 0, 50 * SECOND]
    assert [record.nodes for record in result.records] == [3, 2, 4]
    assert (result.nodes, result.unit) == (8, "processors")
    assert result.samples.table[:, :2].tolist() == [
        [0, 5],
        [50 * SECOND, 7],
        [60 * SECOND, 3],
        [100 * SECOND, 0],
    ]
    assert result.accounting.compute == (3 * 100 + 2 * 50 + 4 * 10) * SECOND
    assert result.accounting.idle == 8 * 100 * SECOND - result.accounting.compute
    assert result.on_machine is not None
    assert [place and place.nodes for place in result.on_machine.starts] == [(0,), (0, 1), (1,)]


def test_a_job_on_a_whole_node_counts_all_of_its_cores() -> None:
    requests = [ResourceRequest(cores=1, exclusive=True), ResourceRequest(cores=2)]
    result = hf.simulate([rigid(1, 0, 1, 10, 10), rigid(2, 0, 1, 10, 10)], machine=SHARED, requests=requests)
    assert [record.nodes for record in result.records] == [4, 2]
    assert result.accounting.compute == 60 * SECOND


def test_a_job_that_a_limit_never_lets_run_again_leaves_the_queue_with_its_last_run() -> None:
    """Once x1 is free, ``spread`` takes it first: job 2 would get ten cores, and its user may have six."""
    machine = make_machine(
        nodes=[{"names": "x1", "cores": 8}, {"names": "y[1-2]", "cores": 2}],
        partitions=[{"name": "all", "nodes": "ALL", "exclusive": True}],
        limits=[{"user": "a", "together": {"cores": 6}}],
    )
    jobs = [rigid(1, 0, 1, 100, 100, user="b"), rigid(2, 0, 2, 90, 90, user="a"), rigid(3, 300, 2, 10, 10, user="a")]
    failure = hf.Outage(OutageKind.FAILURE, 50, 200, nodes=1, on="y1", place=0.5)
    requests = [ResourceRequest(nodes=1), ResourceRequest(nodes=2), ResourceRequest(nodes=2)]
    result = hf.simulate(jobs, machine=machine, requests=requests, placement="spread", outages=[failure])
    outcomes = [(record.submit, record.start, record.end, record.status) for record in result.records]
    assert outcomes == [
        (0, 0, 100 * SECOND, "completed"),
        (0, 0, 50 * SECOND, "cancelled"),
        (None, None, None, "no_show"),
    ]
    assert [record.preemptions for record in result.records] == [0, 1, 0]
    assert result.accounting.lost == 2 * 50 * SECOND
    reason = "a limit never allows the nodes that the placement chooses"
    assert blocked_jobs_warning(result) == f"baseline: 1 job never starts and 1 never runs again: {reason}"


#: Eight equal nodes that are no pool for the simulator: because of a limit, which is never reached.
_LIMITED = make_machine(
    nodes=[{"names": "n[1-8]", "cores": 1}],
    partitions=[{"name": "p", "nodes": "ALL", "exclusive": True}],
    limits=[{"user": "u", "together": {"nodes": 8}}],
)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**9), st.booleans(), st.sampled_from(("fcfs", "sjf", "wfp3")))
def test_cancelled_and_dependent_jobs_are_those_of_one_pool(seed: int, held: bool, order: str) -> None:
    random = Random(seed)
    jobs = []
    for number in range(random.randint(1, 30)):
        walltime, submit, life = random.randint(1, 90), random.randint(0, 60), {}
        if random.random() < 0.3:
            life["cancelled_at"] = submit + random.choice((0, 3, 20, 70))
        if number and random.random() < 0.3:
            life["preceding"] = random.randrange(number)
            life |= {"think_time": random.choice((0, 5, 30))} if random.random() < 0.6 else {}
        if held and random.random() < 0.2:
            life["eligible"] = submit + random.randint(0, 30)
        jobs.append(rigid(number, submit, random.randint(1, 8), random.randint(1, walltime), walltime, **life))
    pool = hf.simulate(jobs, 8, events=False, order=order)
    if not pool.accounting.compute or not any(job.cancelled_at or job.preceding is not None for job in jobs):
        return
    found = hf.simulate(jobs, machine=_LIMITED, order=order)
    assert found.on_machine is not None
    assert found.records == pool.records
    assert found.accounting == pool.accounting
    assert found.withdrawn == pool.withdrawn
    # A pool has samples of further instants, at which nothing changes.
    theirs, ours = pool.samples.table, found.samples.table
    rows = np.searchsorted(ours[:, 0], theirs[:, 0], side="right") - 1
    assert (np.where(rows[:, None] < 0, 0, ours[rows, 1:]) == theirs[:, 1:]).all()


def test_cancelled_and_dependent_jobs_that_share_nodes() -> None:
    jobs = [
        rigid(1, 0, 1, 100, 100, cancelled_at=40),  # runs on 3 cores of n1 and ends at 40
        rigid(2, 0, 1, 90, 90),  # 3 cores of n2
        rigid(3, 5, 1, 50, 50, cancelled_at=25),  # 4 cores: the head, until it leaves at 25
        rigid(4, 10, 1, 60, 60),  # 1 core of n1, beside job 1: it ends before the head's time, 90
        rigid(5, 0, 1, 10, 10, preceding=1, think_time=7),  # 3 cores: submitted at 47, when n1 has room
        rigid(6, 0, 1, 10, 10, preceding=3, think_time=0),  # 1 core: submitted at 25
    ]
    requests = [ResourceRequest(cores=cores) for cores in (3, 3, 4, 1, 3, 1)]
    result = hf.simulate(jobs, machine=SHARED, requests=requests)
    assert [(r.submit, r.start, r.end, r.status) for r in result.records] == [
        (0, 0, 40 * SECOND, "cancelled"),
        (0, 0, 90 * SECOND, "completed"),
        (5 * SECOND, None, 25 * SECOND, "cancelled"),
        (10 * SECOND, 10 * SECOND, 70 * SECOND, "completed"),
        (47 * SECOND, 47 * SECOND, 57 * SECOND, "completed"),
        (25 * SECOND, 25 * SECOND, 35 * SECOND, "completed"),
    ]
    assert result.withdrawn == 3 * 40 * SECOND
    assert result.accounting.compute == (3 * 40 + 3 * 90 + 60 + 3 * 10 + 10) * SECOND
    # A job is in the queue from 5 to 25.
    assert dict(result.samples.table[:, [0, 3]].tolist()) == {
        at * SECOND: int(5 <= at < 25) for at in (0, 5, 10, 25, 35, 40, 47, 57, 70, 90)
    }


def test_a_begin_time_is_the_time_from_which_a_job_waits() -> None:
    result = hf.simulate([rigid(1, 5, 1, 10, 10)], machine=SHARED, requests=[ResourceRequest(begin=30.0)])
    (record,) = result.records
    assert (record.submit, record.start, record.wait) == (5 * SECOND, 30 * SECOND, 0)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**9))
def test_capacity_is_busy_or_idle_on_every_machine(seed: int) -> None:
    random = Random(seed)
    machine = random_machine(random)
    made = random_jobs(random, machine, random.randint(1, 25))
    table = NodeTable.for_requests(machine, [job.request for job in made])
    fitting = []
    for job in made:
        try:
            table.needs(job.request, job.walltime)
        except UnfitError:
            continue
        fitting.append(job)
    jobs = [
        hf.Job(job.job_id, hf.JobType.RIGID, job.submit, 1, min(job.runtime, job.walltime), job.walltime, user=job.user)
        for job in fitting
    ]
    try:
        result = hf.simulate(jobs, machine=machine, requests=[job.request for job in fitting])
    except InputError as error:
        assert "limit" in str(error) or not jobs
        return
    spent, records = result.accounting, result.records
    assert min(spent) >= 0
    ran = [record for record in records if record.start is not None]
    if ran:
        span = max(record.end or 0 for record in ran) - min(record.submit or 0 for record in ran)
        assert sum(spent) == result.nodes * span
    busy = result.samples.column(1)
    assert busy.min() >= 0
    assert busy.max() <= result.nodes
    assert result.samples.table[-1, 1:].tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"backfilling": "slurm"}, "placement must be slurm with --backfilling slurm"),
        (
            {"backfilling": "easy length=runtime"},
            "backfilling must be none, easy, easy depth=K, conservative or slurm on",
        ),
        ({"passes": "event"}, "passes must be instant on a machine (--machine), not 'event'"),
        ({"engine": "simpy"}, "engine must be auto on a machine (--machine), not 'simpy'"),
        ({"placement": "best"}, "unknown placement 'best'"),
        ({"nodes": 4}, "nodes must be left out with a machine, which has them, not 4"),
        ({"requests": []}, "there must be one request for each of the 1 jobs, not 0"),
        (
            {"outages": [hf.Outage(OutageKind.MAINTENANCE, 0, 10, 1, on="n9")]},
            "outage 1: on must be a partition or nodes of the machine, and there is no 'n9' among them",
        ),
        (
            {"outages": [hf.Outage(OutageKind.MAINTENANCE, 0, 10, 2, on="n2")]},
            "nodes of outage 1 must be at most the 1 nodes of n2, not 2",
        ),
    ],
)
def test_what_is_not_modelled_is_refused(options: dict[str, object], sentence: str) -> None:
    with pytest.raises(InputError) as refusal:
        hf.simulate([rigid(1, 0, 1, 10, 10)], **{"machine": SHARED, **options})  # type: ignore[arg-type]
    assert sentence in str(refusal.value)


def test_all_types_are_rigid_and_a_job_may_run_before() -> None:
    urgent = hf.Job(7, hf.JobType.ON_DEMAND, 0, 1, 10, 10)
    assert hf.simulate([urgent], machine=SHARED).records[0].end == 10 * SECOND  # rigid under the baseline
    jobs = [rigid(1, 0, 1, 10, 10, running_since=5), rigid(2, 1, 1, 20, 20, running_since=2)]
    result = hf.simulate(jobs, machine=SHARED)
    assert [(record.start, record.end) for record in result.records] == [(5e6, 15e6), (2e6, 22e6)]
    # Time counts from the later start on: 10 and 17 core-seconds.
    assert result.accounting.compute == 27 * SECOND
    assert result.on_machine.used["cores"] == 27 * SECOND


@pytest.mark.parametrize("mechanism", ["baseline", "N-PAA"])
@pytest.mark.parametrize("order", ["fcfs", "fairshare half_life=50"])
def test_a_job_without_account_has_its_project_as_account(order: str, mechanism: str) -> None:
    limited = make_machine(nodes=[{"names": "n[1-2]", "cores": 4}], limits=[{"account": "a", "together": {"cores": 5}}])
    random, starts = Random(1), []
    jobs = [
        replace(rigid(number, random.randint(0, 60), 1, random.randint(1, 40), 40), project=random.choice("ab"))
        for number in range(40)
    ]
    cores = [random.randint(1, 3) for _ in jobs]
    # An account that is requested counts more than the project.
    asked = ["b" if number % 7 == 0 else "" for number in range(40)]
    for accounts in (asked, [account or job.project for account, job in zip(asked, jobs, strict=True)], asked):
        requests = [ResourceRequest(cores=c, account=account) for c, account in zip(cores, accounts, strict=True)]
        result = hf.simulate(jobs, machine=limited, requests=requests, mechanism=mechanism, order=order)
        starts.append([record.start for record in result.records])
        jobs = [replace(job, project="") for job in jobs] if accounts is not asked else jobs
    assert starts[0] == starts[1] != starts[2]


@pytest.mark.parametrize("mechanism", ["baseline", "N-PAA"])
def test_a_limit_may_keep_all_jobs_from_starting(mechanism: str) -> None:
    # Two tasks fit n2, but fill n1 first, and then take two nodes.
    machine = make_machine(
        nodes=[{"names": "n1", "cores": 1}, {"names": "n2", "cores": 2}],
        limits=[{"user": "u", "together": {"nodes": 1}}],
    )
    job = rigid(1, 0, 2, 10, 10, user="u")
    result = hf.simulate([job], machine=machine, requests=[ResourceRequest(tasks=2)], mechanism=mechanism)
    assert (result.records[0].start, result.records[0].status) == (None, "no_show")
    assert result.summary()["jobs"] == 0


def test_a_job_that_does_not_fit_is_named() -> None:
    with pytest.raises(InputError, match="job 1 does not fit the machine: it asks for more cores than a node of its"):
        hf.simulate([rigid(1, 0, 1, 10, 10)], machine=SHARED, requests=[ResourceRequest(cores=5)])
    limited = make_machine(nodes=[{"names": "n1", "cores": 4}], limits=[{"user": "u", "together": {"cores": 1}}])
    job = rigid(1, 0, 1, 10, 10, user="u")
    with pytest.raises(InputError, match="job 1 does not fit the machine: it asks for more than a limit ever allows"):
        hf.simulate([job], machine=limited, requests=[ResourceRequest(cores=2)])


def test_an_exclusive_job_with_a_gpu_has_all_gpus_of_its_node_for_limits() -> None:
    # n2 has two GPUs, and the job cannot run on n1.
    machine = make_machine(
        nodes=[{"names": "n1", "cores": 1}, {"names": "n2", "cores": 1, "gpus": 2}],
        limits=[{"user": "u", "together": {"gpus": 1}}],
    )
    request = ResourceRequest(gpus={"gpu": 1}, exclusive=True)
    with pytest.raises(InputError, match="it asks for more than a limit ever allows"):
        hf.simulate([rigid(1, 0, 1, 10, 10, user="u")], machine=machine, requests=[request])


def test_a_result_knows_that_it_has_no_event_log() -> None:
    with pytest.raises(InputError, match="event log"):
        _ = hf.simulate([rigid(1, 0, 1, 10, 10)], machine=SHARED).runs


def test_one_request_belongs_to_each_row() -> None:
    from holdfast.workloads.machines.machine_workload import MachineWorkload

    with pytest.raises(InputError, match="there must be one request for each of the 1 jobs of the table"):
        simulate([rigid(1, 0, 1, 10, 10)], 8, on_machine=MachineWorkload(SHARED, ()))


@pytest.mark.parametrize("kind", [OutageKind.MAINTENANCE, OutageKind.RESERVATION])
@pytest.mark.parametrize("span", [(10, 50), (10, 100), (10, 130), (-5, 50)])
def test_a_window_before_the_first_job_waits_closes_nodes_as_on_one_pool(
    kind: OutageKind, span: tuple[float, float]
) -> None:
    jobs = [Job(1, RIGID, 0, 2, 100, 100, eligible=100), Job(2, RIGID, 120, 1, 50, 50)]
    outages = [hf.Outage(kind, *span, nodes=1, jobs=(2,) if kind is OutageKind.RESERVATION else ())]
    sized, workload = fit_jobs_to_machine(jobs, one_pool(4))
    pool = hf.simulate(jobs, 4, outages=outages)
    named = hf.simulate(sized, 4, outages=outages, on_machine=workload)
    assert named.accounting == pool.accounting
    assert named.down == pool.down
    assert named.accounting.down + named.accounting.held > 0
