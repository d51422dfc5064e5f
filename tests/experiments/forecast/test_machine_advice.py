"""Advice on a machine with partitions and shared nodes: each request starts as in a plain replay of its own."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from holdfast.experiments import cli
from holdfast.experiments.forecast.advice import advise
from holdfast.experiments.forecast.completed_runs import PastRun
from holdfast.experiments.forecast.forecasts import forecast
from holdfast.experiments.forecast.history import History, read_history
from holdfast.experiments.forecast.machine_requests import MachineRequests
from holdfast.experiments.forecast.machine_state import state_at
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.machines.machine_file import make_machine
from holdfast.workloads.machines.request import ResourceRequest
from tests.experiments.forecast.test_machine_forecasts import WHOLE, on_machine, plain_starts, random_jobs, write_site

#: Every past run lasted for its walltime.
FULL = [PastRun(1, 3600.0, 1.0)] * 20
HOUR = 3600.0


def assert_plain_starts(seed: int, request: ResourceRequest, **asked: object) -> tuple[int, int]:
    """Compare all requests of an advice with plain replays: how many were backfilled, and how many there are."""
    trace, workload = on_machine(WHOLE, random_jobs(seed, 40))
    at = trace.jobs[-1].submit
    state, requests = state_at(trace, at, 9), MachineRequests.from_log(trace, workload, at)
    found = advise(
        state,
        History(FULL),
        nodes=1,
        draws=2,
        arrivals="none",
        machine=requests,
        **asked,
        requests={size: request._replace(nodes=size) for size in (1, 3)},
    )
    rows = [
        (job.job_id, job.submit, job.walltime, job.walltime, requests.present[job.job_id], job.start)
        for job in state.jobs
    ]
    own = max(job.job_id for job in state.jobs) + 1
    for place, one in enumerate(found.requests):
        # Nodes are exclusive here, so that the size counts nodes.
        asked_for = request._replace(nodes=one.nodes)
        starts = plain_starts(state, requests, [*rows, (own, at, one.walltime, one.walltime, asked_for, None)])
        start = starts[own]
        assert found.waits[:, place].tolist() == [start - at] * 2
        # It was submitted last, so that each job of the partition that waits then is before it.
        waits = any(
            starts[job.job_id] > start and requests.present[job.job_id].partitions == request.partitions
            for job in state.waiting
        )
        assert found.backfilled[:, place].tolist() == [waits] * 2
    return int(found.backfilled[0].sum()), len(found.requests)


@pytest.mark.parametrize("partition", ["cpu", "gpu"])
def test_each_request_starts_as_in_a_plain_replay(partition: str) -> None:
    request = ResourceRequest(nodes=1, gpus={"gpu": 1} if partition == "gpu" else {}, partitions=(partition,))
    counts = [
        assert_plain_starts(seed, request, walltime=2 * HOUR, walltimes=[300.0, 9 * HOUR], sizes={3: 0.4})
        for seed in range(2)
    ]
    # Some requests are backfilled, and others are not.
    backfilled, every = np.sum(counts, axis=0)
    assert 0 < backfilled < every


@pytest.mark.parametrize("order", ["fcfs", "sjf"])
def test_a_request_starts_when_a_forecast_says_so(order: str) -> None:
    trace, workload = on_machine(WHOLE, random_jobs(8, 60))
    at = trace.jobs[-1].submit
    state, machine = state_at(trace, at, 9), MachineRequests.from_log(trace, workload, at)
    history = read_history(trace, at, least=1)
    asked = {size: ResourceRequest(nodes=size, gpus={"gpu": 2}, partitions=("gpu",)) for size in (1, 2)}
    how = {"draws": 2, "seed": 5, "order": order}
    found = advise(
        state, history, nodes=1, walltime=4000.0, walltimes=[20.0, 2000.0], sizes={2: 0.5}, machine=machine,
        requests=asked, runtimes=[20.0, 900.0, 3000.0], **how,
    )  # fmt: skip
    assert {(request.nodes, request.walltime) for request in found.requests} >= {(1, 20.0), (1, 4000.0), (2, 1000.0)}
    for request, waits in zip(found.requests, found.waits.T, strict=True):
        extended, beside, number = machine.with_job(state, asked[request.nodes], request.walltime)
        alone = forecast(beside, history, jobs=[number], machine=extended, **how)
        assert (at + waits).tolist() == alone.starts[:, 0].tolist()
    assert len({tuple(waits) for waits in found.waits.T.tolist()}) > 1


def test_a_waiting_job_keeps_its_request_and_place() -> None:
    trace, workload = on_machine(WHOLE, random_jobs(2, 60))
    at = trace.jobs[-1].submit
    state, requests = state_at(trace, at, 9), MachineRequests.from_log(trace, workload, at)
    job = state.waiting[3]
    found = advise(state, History(FULL), job=job.job_id, draws=1, arrivals="none", machine=requests)
    assert all(one.nodes == job.nodes and one.walltime <= job.walltime for one in found.requests)
    for place, one in enumerate(found.requests):
        rows = [
            (each.job_id, each.submit, length, length, requests.present[each.job_id], each.start)
            for each in state.jobs
            for length in [one.walltime if each is job else each.walltime]
        ]
        assert found.waits[0, place] == plain_starts(state, requests, rows)[job.job_id] - at


def test_walltimes_that_a_partition_forbids_are_not_tried() -> None:
    machine = make_machine(
        nodes=[{"names": "n[1-4]", "cores": 4}],
        partitions=[{"name": "short", "nodes": "n[1-4]", "max_time": "2h", "exclusive": True, "default": True}],
    )
    jobs = [job._replace(request=ResourceRequest(nodes=1), walltime=60.0, runtime=60.0) for job in random_jobs(1, 9)]
    trace, workload = on_machine(machine, jobs)
    at = trace.jobs[-1].submit
    state, requests = state_at(trace, at, 4), MachineRequests.from_log(trace, workload, at)
    given = {size: ResourceRequest(nodes=size) for size in (1, 5)}
    asked = {"machine": requests, "draws": 1, "requests": given}
    found = advise(state, History(FULL), nodes=1, walltime=HOUR, walltimes=[HOUR / 2, 3 * HOUR], **asked)
    assert max(one.walltime for one in found.requests) <= 2 * HOUR
    assert HOUR / 2 in [one.walltime for one in found.requests]
    with pytest.raises(InputError, match="the job that is submitted now does not fit the machine"):
        advise(state, History(FULL), nodes=1, runtimes=[3 * HOUR], walltimes=[3 * HOUR], **asked)


_CONF = (
    "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\nNodeName=g1 CPUs=8 Gres=gpu:2\n"
    "PartitionName=gpu Nodes=g1 Default=YES\n"
)
#: Job 3 has both GPUs from 00:12 to 00:32 at most.
_LOG = (
    "JobID|Submit|Start|End|State|Timelimit|User|Account|Partition|QOS|NNodes|ReqTRES\n"
    "1|2026-01-01T00:00:00|2026-01-01T00:00:00|2026-01-01T00:10:00|COMPLETED|00:20:00|u|a|gpu||1|cpu=1,node=1,gres/gpu=2\n"
    "2|2026-01-01T00:01:00|2026-01-01T00:10:00|2026-01-01T00:12:00|COMPLETED|00:20:00|v|b|gpu||1|cpu=1,node=1,gres/gpu=1\n"
    "3|2026-01-01T00:11:00|2026-01-01T00:12:00|2026-01-01T00:30:00|COMPLETED|00:20:00|u|a|gpu||1|cpu=1,node=1,gres/gpu=2\n"
    "4|2026-01-01T00:14:00|2026-01-01T00:30:00|2026-01-01T00:40:00|COMPLETED|00:20:00|w|c|gpu||1|cpu=1,node=1,gres/gpu=2\n"
)
ASKED = ["advise", "log.txt", "--machine", "machine.toml", "--at", "14m", "--draws", "3", "--arrivals", "none"]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    monkeypatch.chdir(tmp_path)
    write_site(_CONF, _LOG)
    capsys.readouterr()
    return tmp_path


@pytest.mark.parametrize("backfilling", ["easy", "slurm"])
def test_the_command_advises_on_cores_and_gpus(
    place: Path, capsys: pytest.CaptureFixture[str], backfilling: str
) -> None:
    # Cores are idle; GPUs are not before job 3 has ended, whose walltime ends in 18 minutes.
    words = ["--walltime", "10m", "--walltimes", "5m", "--backfilling", backfilling]
    assert cli.main([*ASKED, *words, "--nodes", "1", "--cores", "2", "--json", "cpu.json"]) == 0
    printed = capsys.readouterr()
    assert "1 job runs on 1 of 8 processors, 1 waits" in printed.out
    assert "Ask for 2 processors for" in printed.out
    assert {row["nodes"] for row in json.loads(Path("cpu.json").read_text())["requests"]} == {2}
    assert "The request starts now (median)" in printed.out
    assert "running jobs are placed anew on the machine" in printed.err
    assert cli.main([*ASKED, *words, "--nodes", "1", "--gpus", "2"]) == 0
    assert "Ask for 1 processor for" in (text := capsys.readouterr().out)
    assert "The request starts in" in text


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--nodes", "2", "--walltime", "5m"], "the job that is submitted now does not fit the machine: it asks for"),
        (
            ["--nodes", "1", "--gpus", "3", "--walltime", "5m"],
            "the job that is submitted now does not fit the machine: it asks for",
        ),
        (["--job", "4", "--gpus", "1"], "--job 4 asks for its own nodes and walltime; leave out --gpus"),
        (
            ["--nodes", "1", "--walltime", "5m", "--failure-mtbf", "9d"],
            "--failure-mtbf must be left out with a machine file",
        ),
    ],
)
def test_wrong_requests_on_a_machine(
    place: Path, capsys: pytest.CaptureFixture[str], words: list[str], sentence: str
) -> None:
    assert cli.main([*ASKED, *words]) == 2
    printed = capsys.readouterr()
    assert sentence in printed.err
    assert not printed.out
