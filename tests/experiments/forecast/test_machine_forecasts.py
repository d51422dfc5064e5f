"""Forecasts on a machine with partitions and shared nodes: as its replay where nothing is unknown, and by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from holdfast.experiments import cli
from holdfast.experiments.forecast.forecasts import forecast
from holdfast.experiments.forecast.history import read_history
from holdfast.experiments.forecast.machine_requests import MachineRequests
from holdfast.experiments.forecast.machine_state import MachineState, state_at
from holdfast.workloads.ground.errors import InputError
from holdfast.workloads.logs.trace import Trace
from holdfast.workloads.machines.machine import Machine
from holdfast.workloads.machines.machine_file import make_machine, one_pool
from holdfast.workloads.machines.machine_workload import MachineWorkload
from holdfast.workloads.machines.request import ResourceRequest
from holdfast.workloads.requests.fitted_trace import fit_log_to_machine
from holdfast.workloads.requests.log_requests import LogRequests, RecordedJob, read_requests
from tests.reference.resources import PlainJob, replay_resources
from tests.shared_data import shared_file

WHOLE = make_machine(
    nodes=[{"names": "n[1-6]", "cores": 4}, {"names": "g[1-3]", "cores": 4, "gpus": 2}],
    partitions=[
        {"name": "cpu", "nodes": "n[1-6]", "exclusive": True, "default": True},
        {"name": "gpu", "nodes": "g[1-3]", "exclusive": True},
    ],
)
SERVERS = make_machine(nodes=[{"names": "s[1-2]", "cores": 64, "gpus": 8}])


def on_machine(machine: Machine, jobs: Sequence[RecordedJob]) -> tuple[Trace, MachineWorkload]:
    """A log of these jobs with the waits of the plain replay."""
    plain = [PlainJob(job.submit, job.walltime, job.runtime, job.request, job.user) for job in jobs]
    kept = []
    for job, placed in zip(jobs, replay_resources(machine, plain), strict=True):
        assert placed is not None
        kept.append(job._replace(start=placed.start))
    return fit_log_to_machine(LogRequests(tuple(kept), Counter(), "by hand", Counter()), machine)


def random_jobs(seed: int, count: int) -> list[RecordedJob]:
    rng = np.random.default_rng(seed)
    jobs, submit = [], 0.0
    for number in range(1, count + 1):
        submit += float(rng.integers(1, 300))
        walltime = float(rng.integers(200, 6000))
        on_gpus = bool(rng.random() < 0.3)
        request = ResourceRequest(
            nodes=int(rng.integers(1, 3 if on_gpus else 6)),
            gpus={"gpu": 2} if on_gpus else {},
            partitions=("gpu" if on_gpus else "cpu",),
        )
        jobs.append(RecordedJob(number, submit, walltime, walltime, None, "", request))
    return jobs


@pytest.mark.parametrize("seed", range(2))
def test_with_exact_walltimes_it_is_what_the_plain_replay_does(seed: int) -> None:
    trace, workload = on_machine(WHOLE, random_jobs(seed, 60))
    # Everything has been submitted by then, and nodes of a partition are alike.
    at = trace.jobs[-1].submit
    state = state_at(trace, at, 9)
    assert len(state.waiting) > 10
    found = forecast(state, None, draws=1, machine=MachineRequests.from_log(trace, workload, at))
    starts = {job.job_id: job.start for job in trace.jobs}
    assert dict(zip(found.ids, found.starts[0].tolist(), strict=True)) == {
        job_id: starts[job_id] for job_id in found.ids
    }
    ends = {job.job_id: starts[job.job_id] + job.runtime for job in trace.jobs}
    assert found.ends[0].tolist() == [ends[job_id] for job_id in found.ids]


def plain_starts(state: MachineState, requests: MachineRequests, rows: list[tuple]) -> dict[int, float]:
    """Starts of waiting jobs by the plain replay, with running jobs at their starts, and the others from now on."""
    plain = [
        PlainJob(
            submit if since is None else since,
            walltime,
            runtime,
            request._replace(begin=None if since is not None else max(submit, state.at)),
        )
        for _, submit, walltime, runtime, request, since in rows
    ]
    placed = replay_resources(requests.machine, plain)
    return {row[0]: start.start for row, start in zip(rows, placed, strict=True) if start is not None}


@pytest.mark.system
@pytest.mark.parametrize("name", ["helios", "philly"])
def test_jobs_of_gpu_clusters_start_as_in_the_plain_replay(name: str) -> None:
    log = read_requests(shared_file("gpu", f"{name}_data_training.csv"))
    jobs = [
        job._replace(request=job.request._replace(partitions=(), features="", cores=min(job.request.cores, 8)))
        for job in log.jobs[:250]
        if (job.request.nodes or 1) <= 2
    ]
    trace, workload = on_machine(SERVERS, jobs)
    at = sorted(job.submit for job in trace.jobs)[len(jobs) // 2]
    state, requests = state_at(trace, at, 128), MachineRequests.from_log(trace, workload, at)
    assert len(state.waiting) > 5
    assert len(state.running) > 1
    found = forecast(state, None, draws=1, machine=requests)
    rows = [
        (job.job_id, job.submit, job.walltime, job.walltime, requests.present[job.job_id], job.start)
        for job in state.jobs
    ]
    expected = plain_starts(state, requests, rows)
    assert dict(zip(found.ids, found.starts[0].tolist(), strict=True)) == {
        job_id: pytest.approx(expected[job_id], abs=1e-5) for job_id in found.ids
    }


def test_later_jobs_ask_for_what_past_ones_asked() -> None:
    # Each week a job on both GPU nodes comes three hours after the state; behind it another one does not start.
    week, hour = 7 * 86_400.0, 3600.0
    two = ResourceRequest(nodes=2, gpus={"gpu": 2}, partitions=("gpu",))
    machine = make_machine(
        nodes=[{"names": "n1", "cores": 4}, {"names": "g[1-2]", "cores": 4, "gpus": 2}],
        partitions=[
            {"name": "cpu", "nodes": "n1", "exclusive": True, "default": True},
            {"name": "gpu", "nodes": "g[1-2]", "exclusive": True},
        ],
    )
    jobs = [
        RecordedJob(1, 0.0, hour, hour, None, "", ResourceRequest()),
        RecordedJob(2, 3 * hour, 8 * hour, 8 * hour, None, "", two),
        RecordedJob(3, week, hour, hour, None, "", ResourceRequest()),
        RecordedJob(4, week + 3 * hour, 8 * hour, 8 * hour, None, "", two),
        RecordedJob(5, 2 * week - 2 * hour, 4 * hour, 4 * hour, None, "", two._replace(nodes=1)),
        RecordedJob(6, 2 * week, 4 * hour, 4 * hour, None, "", two),
    ]
    trace, workload = on_machine(machine, jobs)
    at = 2 * week
    state, requests = state_at(trace, at, 3), MachineRequests.from_log(trace, workload, at)
    # Job 5 holds one GPU node for two hours more. A job on one GPU node that lasts ten hours waits behind job 6.
    requests, state, number = requests.with_job(state, two._replace(nodes=1), 10 * hour)
    history = read_history(trace, at, least=1)
    found = forecast(state, history, jobs=[6, number], draws=3, machine=requests, order="ljf")
    # Under longest job first the ten hours come first; the eight hours of the job to come then precede job 6.
    assert found.starts[:, 1].tolist() == [at] * 3
    assert (found.starts[:, 0] >= at + 10 * hour).all()
    alone = forecast(state, history, jobs=[6], draws=3, machine=requests, order="ljf", arrivals="none")
    assert (alone.starts[:, 0] == at + 10 * hour).all()
    assert (found.starts[:, 0] > alone.starts[:, 0]).all()


@pytest.mark.parametrize("seed", range(2))
def test_orders_by_past_usage_count_jobs_that_have_ended_as_on_one_pool(seed: int) -> None:
    rng = np.random.default_rng(seed)
    jobs, submit = [], 0.0
    for number in range(1, 61):
        submit += float(rng.integers(1, 400))
        walltime = float(rng.integers(200, 6000))
        request = ResourceRequest(nodes=int(rng.integers(1, 6)))
        jobs.append(RecordedJob(number, submit, walltime, walltime, None, str(rng.choice(["a", "b", "c"])), request))
    trace, workload = on_machine(one_pool(6), jobs)
    at = trace.jobs[-1].submit
    state = state_at(trace, at, 6)
    assert len(state.waiting) > 8
    found, pool, without = (
        forecast(state, None, draws=1, machine=machine, order="fairshare").starts[0].tolist()
        for machine in (
            MachineRequests.from_log(trace, workload, at, "fairshare"),
            None,
            MachineRequests.from_log(trace, workload, at),
        )
    )  # fmt: skip
    assert found == pool
    if seed == 0:
        assert without != pool


def test_a_job_that_does_not_fit_is_refused() -> None:
    trace, workload = on_machine(WHOLE, random_jobs(1, 5))
    state, requests = state_at(trace, trace.jobs[-1].submit, 9), MachineRequests.from_log(trace, workload, 1e9)
    with pytest.raises(InputError, match="the job that is submitted now does not fit the machine: it asks for more"):
        requests.with_job(state, ResourceRequest(nodes=4, gpus={"gpu": 2}, partitions=("gpu",)), 60.0)


_CONF = (
    "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\n"
    "NodeName=n[1-2] CPUs=4\nNodeName=g1 CPUs=8 Gres=gpu:2\n"
    "PartitionName=cpu Nodes=n[1-2] Default=YES\nPartitionName=gpu Nodes=g1\n"
)
#: Job 1 has both GPUs until 00:20 at most; job 2 waits for one of them, and has it for 20 minutes at most.
_LOG = (
    "JobID|Submit|Start|End|State|Timelimit|User|Account|Partition|QOS|NNodes|ReqTRES\n"
    "1|2026-01-01T00:00:00|2026-01-01T00:00:00|2026-01-01T00:10:00|COMPLETED|00:20:00|u|a|gpu||1|cpu=1,node=1,gres/gpu=2\n"
    "2|2026-01-01T00:01:00|2026-01-01T00:10:00|2026-01-01T00:20:00|COMPLETED|00:20:00|v|b|gpu||1|cpu=1,node=1,gres/gpu=1\n"
)


def write_site(conf: str, log: str) -> None:
    """Write ``log.txt`` and ``machine.toml`` into the working directory."""
    Path("slurm.conf").write_text(conf)
    Path("log.txt").write_text(log)
    assert cli.main(["machine", "slurm.conf", "-o", "machine.toml"]) == 0


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    monkeypatch.chdir(tmp_path)
    write_site(_CONF, _LOG)
    capsys.readouterr()
    return tmp_path


ASKED = ["forecast", "log.txt", "--machine", "machine.toml", "--at", "60s", "--runtimes", "walltime"]


@pytest.mark.parametrize("backfilling", ["easy", "slurm"])
def test_a_job_on_two_gpus_waits_for_both(place: Path, capsys: pytest.CaptureFixture[str], backfilling: str) -> None:
    words = ["--walltime", "10m", "--partition", "gpu", "--gpus", "2"]
    assert cli.main([*ASKED, *words, "--backfilling", backfilling, "--report", "page.html"]) == 0
    assert "--partition gpu --gpus 2" in Path("page.html").read_text()
    printed = capsys.readouterr()
    assert "1 job runs on 1 of 16 processors, 1 waits" in printed.out
    assert "Job 3 (1 processor for 10 min) starts in 39 min. The median is 2026-01-01 00:40." in printed.out
    assert "running jobs are placed anew on the machine" in printed.err


def test_a_job_on_idle_nodes_starts_at_once(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([*ASKED, "--cores", "3", "--nodes", "2", "--walltime", "10m", "--memory", "1G"]) == 0
    assert "Job 3 (6 processors for 10 min) starts now in nearly all draws." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--gpus", "3", "--partition", "gpu", "--walltime", "1h"], "does not fit the machine: it asks for more gpus"),
        (["--gpus", "x"], "--gpus must be a whole number of at least 0, not 'x'"),
        (["--gpus", "1", "--partition", "gpu"], "a job that is submitted now needs --walltime"),
        (["--queue", "queue.json"], "--queue must be left out with a machine file (--machine machine.toml)"),
        (["--failure-mtbf", "9d"], "--failure-mtbf must be left out with a machine file (--machine)"),
        (["--unit", "nodes"], "--unit must be left out with --machine"),
    ],
)
def test_what_a_machine_file_does_not_go_with(
    place: Path, capsys: pytest.CaptureFixture[str], words: list[str], sentence: str
) -> None:
    assert cli.main([*ASKED, *words]) == 2
    printed = capsys.readouterr()
    assert sentence in printed.err
    assert not printed.out


def test_requests_need_a_machine_file(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["forecast", "log.txt", "--machine", "3", "--at", "60s", "--gpus", "1"]) == 2
    assert "--gpus needs a machine file, as --machine site.toml" in capsys.readouterr().err
    words = ["advise", "log.txt", "--machine", "3", "--at", "60s", "--nodes", "1", "--walltime", "1h", "--cores", "2"]
    assert cli.main(words) == 2
    assert "--cores needs a machine file, as --machine site.toml" in capsys.readouterr().err
