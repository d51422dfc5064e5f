"""States are complete: from each of them, with the true runtimes, the simulation goes on as if it had not stopped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from holdfast.experiments import cli
from holdfast.experiments.forecast.advice import advise
from holdfast.experiments.forecast.forecasts import forecast
from holdfast.experiments.forecast.history import read_history
from holdfast.experiments.forecast.log_cursor import Past
from holdfast.experiments.forecast.machine_state import MachineState, state_at
from holdfast.experiments.forecast.prior_usage import prior_state
from holdfast.experiments.forecast.sources import read_log, result_trace
from holdfast.experiments.recordings.archive import read_recording
from holdfast.experiments.stories.reader.playback import Playback
from holdfast.policies.backfilling import BACKFILLING
from holdfast.policies.order import ORDERS
from holdfast.policies.orders.learned_score import FEATURES
from holdfast.policies.score_network import ScoringNetwork
from holdfast.simulator import Result, simulate
from holdfast.simulator.machine.prior_state import PriorState
from holdfast.simulator.start_times import first_starts
from holdfast.workloads.ground.units import to_seconds
from holdfast.workloads.hybrid.assignment import as_rigid
from holdfast.workloads.logs.node_names import nodes_in
from holdfast.workloads.logs.starting_state import starting_state
from holdfast.workloads.logs.trace import Trace
from holdfast.workloads.table.job import Job, JobType
from holdfast.workloads.table.job_table import write_job_table

NODES = 24
#: Seconds since 1970 of time 0 in logs that are written.
EPOCH = 1_700_000_000
#: Parameters that let each factor of an order decide between some jobs. A half-life of hours forgets within the table.
PARAMETERS = {
    "fairshare": ("", "half_life=7200", "half_life=7200 patience=20000"),
    "multifactor": (
        "age=1000 fairshare=3000 size=500 qos=200 max_age=20000 half_life=7200 accounts=4 factors=p1:1+p2:0.5",
        "fairshare=10000 accounts=4 half_life=7200",
        "age=1000 size=800 small=1 max_age=20000",
        "age=500 qos=1000 factors=p0:0.3+u5:1",
    ),
    "alcf": ("", "fifo_factor=600 backfill_factor=300"),
    "wfp3": ("", "exponent=2"),
}
#: Registered orders, and the one that reads its parameters from a file.
NAMES = [*ORDERS, "multifactor"]
RULES = [*BACKFILLING, "easy depth=3", "slurm depth=2 resolution=60"]
CASES = [f"{name} {words}".strip() for name in dict.fromkeys(NAMES) for words in PARAMETERS.get(name, ("",))]


def jobs_of(seed: int, count: int = 90) -> list[Job]:
    """Jobs of four accounts, two of which have no project; they end long before their walltimes, or there."""
    rng = np.random.default_rng(seed)
    jobs, submit = [], 0.0
    for number in range(1, count + 1):
        submit += float(rng.integers(1, 500))
        walltime = float(rng.integers(300, 7000))
        runtime = max(1.0, round(walltime * min(1.0, rng.beta(1.0, 1.0) * 1.3)))
        nodes = int(rng.choice([1, 2, 3, 5, 7, 12, 20]))
        account = int(rng.choice(4, p=(0.5, 0.25, 0.15, 0.1)))
        project, user = (f"p{account}", f"u{number % 7}") if account < 3 else ("", f"u{4 + number % 2}")
        jobs.append(Job(number, JobType.RIGID, submit, nodes, runtime, walltime, user=user, project=project))
    return jobs


def run(jobs: list[Job], **options: str) -> Result:
    return simulate(jobs, NODES, events=False, **options)


def starts_from(state: MachineState, jobs: list[Job], **options: str) -> dict[int, float]:
    """Starts of all jobs that had not started, from a state and the jobs that come."""
    known = {job.job_id: job for job in jobs}
    table = [seen.job_with_runtime(known[seen.job_id].runtime) for seen in state.jobs]
    table += [job for job in jobs if (job.submit or 0.0) > state.at]
    awaited = [job.job_id for job in table if job.running_since is None]
    return first_starts(
        table, NODES, state.at, awaited, origin=state.origin, prior=state.prior, outages=state.outages, **options
    )


def check(jobs: list[Job], places: Sequence[int], **options: str) -> int:
    """Compare the rest of a simulation from the submits of some jobs; the number of starts compared."""
    result = run(jobs, **options)
    trace = result_trace(result)
    true = {job.job_id: job.submit + (job.wait or 0.0) for job in trace.jobs}
    compared = 0
    for place in places:
        state = state_at(trace, trace.jobs[place].submit, NODES)
        assert len(state.waiting) > 3
        found = starts_from(state, jobs, **options)
        assert found == {job_id: pytest.approx(true[job_id], abs=1e-5) for job_id in found}
        compared += len(found)
    return compared


# Each order with a third of the rules and each rule with a third of the orders for every save, all pairs in CI.
@pytest.mark.parametrize(
    ("order", "backfilling"),
    [
        pytest.param(order, rule, marks=pytest.mark.system if (place + number) % 3 else ())
        for place, order in enumerate(CASES)
        for number, rule in enumerate(RULES)
    ],
)
def test_a_simulation_goes_on_from_a_state_as_if_it_had_not_stopped(order: str, backfilling: str) -> None:
    # Half of the queue has come, and all of it that matters is still there.
    assert check(jobs_of(1, 60), (20, 40), order=order, backfilling=backfilling) > 40


@pytest.mark.parametrize("backfilling", BACKFILLING)
def test_an_order_that_was_learned(backfilling: str, tmp_path: Path) -> None:
    path = tmp_path / "order.npz"
    weights = np.random.default_rng(3).normal(size=3 * (len(FEATURES) + 2))
    ScoringNetwork.of(weights, len(FEATURES)).save(path)
    check(jobs_of(2), (25, 50, 75), order=f"learned model={path}", backfilling=backfilling)


def differences(jobs: list[Job], state: MachineState, **options: str) -> tuple[int, int]:
    """How many starts differ from the simulation's, with what the state knows of the past and without it."""
    true = {job.job_id: job.submit + (job.wait or 0.0) for job in result_trace(run(jobs, **options)).jobs}

    def wrong(given: MachineState) -> int:
        found = starts_from(given, jobs, **options)
        return sum(abs(true[job_id] - start) > 1e-5 for job_id, start in found.items())

    return wrong(state), wrong(replace(state, prior=PriorState()))


@pytest.mark.parametrize(
    "options",
    [
        {"order": "fairshare half_life=7200"},
        {"order": PARAMETERS["multifactor"][0], "backfilling": "conservative"},
        {"backfilling": "slurm"},
    ],
    ids=["usage", "weighted usage", "named nodes"],
)
def test_what_a_state_knows_of_the_past_decides(options: dict[str, str]) -> None:
    options = {key: f"multifactor {value}" if value.startswith("age") else value for key, value in options.items()}
    with_it = without_it = 0
    for seed in range(4):
        jobs = jobs_of(seed)
        trace = result_trace(run(jobs, **options))
        known, unknown = differences(jobs, state_at(trace, trace.jobs[50].submit, NODES), **options)
        with_it, without_it = with_it + known, without_it + unknown
    assert with_it == 0
    assert without_it > 10


def test_the_states_of_a_past_know_as_much() -> None:
    trace = result_trace(run(jobs_of(3), backfilling="slurm"))
    past = Past(trace, NODES)
    for place in (20, 60):
        at = trace.jobs[place].submit
        one, other = state_at(trace, at, NODES).prior, past.state(at).prior
        assert one.places == other.places
        assert len(one.places) > 1
        assert one.usage is not None
        assert other.usage is not None
        assert one.usage.at(at, 3600.0) == pytest.approx(other.usage.at(at, 3600.0))


def test_usage_is_what_a_ledger_of_node_seconds_says() -> None:
    """Against a sum over short slices of time, each counting half after a half-life."""
    trace = result_trace(run(jobs_of(4, 30)))
    at, half_life, step = trace.jobs[20].submit, 5000.0, 0.5
    usage = state_at(trace, at, NODES).prior.usage
    assert usage is not None
    expected: dict[str, float] = {}
    for job in trace.jobs:
        start = job.submit + (job.wait or 0.0)
        middles = np.arange(start, min(start + job.runtime, at), step) + step / 2
        if middles.size:
            account = job.project or job.user
            slices = job.nodes * step * 0.5 ** ((at - middles) / half_life)
            expected[account] = expected.get(account, 0.0) + float(slices.sum())
    assert usage.at(at, half_life) == pytest.approx(expected, rel=1e-3)
    # What is known later of these runs changes nothing.
    assert usage.until(at).at(at, half_life) == usage.at(at, half_life)


@pytest.mark.parametrize("order", CASES)
def test_a_forecast_with_known_runtimes_is_the_rest_of_the_simulation(order: str) -> None:
    """Through the interface, where jobs run for their walltimes and no job comes."""
    for backfilling in BACKFILLING:
        jobs = [replace(job, runtime=job.walltime) for job in jobs_of(5, 45)]
        trace = result_trace(run(jobs, order=order, backfilling=backfilling))
        state = state_at(trace, trace.jobs[-1].submit, NODES)
        found = forecast(state, None, draws=1, order=order, backfilling=backfilling)
        true = {job.job_id: job.submit + (job.wait or 0.0) for job in trace.jobs}
        assert len(found.ids) > 8
        assert found.starts[0].tolist() == pytest.approx([true[job_id] for job_id in found.ids], abs=1e-5)


@pytest.mark.parametrize("options", [{"order": "fairshare half_life=7200"}, {"backfilling": "slurm"}])
def test_advice_tries_a_job_in_the_same_state(options: dict[str, str]) -> None:
    """The advice's wait of a job that keeps its request is that of the forecast."""
    jobs = jobs_of(6)
    trace = result_trace(run(jobs, **options))
    at = trace.jobs[-1].submit
    state, history = state_at(trace, at, NODES), read_history(trace, at)
    prediction = forecast(state, history, draws=2, **options)
    changed = 0
    for job in state.waiting[:6]:
        waits = advise(state, history, job=job.job_id, draws=2, walltimes=[job.walltime], **options)
        own = waits.request_for("own")
        assert own is not None
        column = waits.waits[:, waits.requests.index(own)]
        assert column.tolist() == prediction.waits[:, prediction.ids.index(job.job_id)].tolist()
        blank = advise(
            replace(state, prior=PriorState()), history, job=job.job_id, draws=2, walltimes=[job.walltime], **options
        )
        changed += blank.waits.tolist() != waits.waits.tolist()
    # Both ways of placing jobs may start these at the same times.
    assert changed or "order" not in options


# Replays from a starting state.

MULTIFACTOR = f"multifactor {PARAMETERS['multifactor'][0]}"


def write_sacct(path: Path, trace: Trace) -> Path:
    """A log of sacct with whole seconds."""
    lines = ["JobIDRaw|Submit|Start|End|ElapsedRaw|TimelimitRaw|NNodes|State|User|Account|NodeList"]
    for job in trace.jobs:
        start = EPOCH + job.submit + (job.wait or 0.0)
        times = (
            f"{EPOCH + job.submit:.0f}|{start:.0f}|{start + job.runtime:.0f}|{job.runtime:.0f}|{job.walltime / 60!r}"
        )
        lines.append(f"{job.job_id}|{times}|{job.nodes}|COMPLETED|{job.user}|{job.project}|{job.node_list}")
    path.write_text("\n".join(lines) + "\n")
    return path


def replay_log(log: Path, directory: Path, *more: str) -> Result:
    given = ["run", str(log), "--nodes", str(NODES), "--mechanism", "baseline", "--events", "-o", str(directory)]
    assert cli.main([*given, "--order", MULTIFACTOR, "--backfilling", "slurm", *more]) == 0
    return read_recording(directory)


def test_a_replay_from_a_starting_state_is_the_rest_of_the_whole_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = result_trace(run([replace(job, walltime=60.0 * (job.walltime // 60 + 1)) for job in jobs_of(7)], **{
        "order": MULTIFACTOR, "backfilling": "slurm",
    }))  # fmt: skip
    log = write_sacct(tmp_path / "log.txt", trace)
    whole = replay_log(log, tmp_path / "whole")
    cut = replay_log(log, tmp_path / "cut", "--starting-state", "12000")
    starts = {record.job_id: record.start for record in whole.records}
    assert 30 < len(cut.records) < len(whole.records)
    assert {record.job_id: record.start for record in cut.records} == {
        record.job_id: starts[record.job_id] for record in cut.records
    }
    # Usage was read back: the queue as it is explained is the queue as it was.
    assert cut.prior is not None
    assert cut.prior.usage is not None
    assert len(cut.prior.usage.totals) > 2
    warned = [line for line in capsys.readouterr().err.splitlines() if line.startswith("holdfast run:")]
    assert [line.partition(",")[0] for line in warned] == [
        "holdfast run: warning: multifactor ranks jobs by past usage"
    ]
    # The job table alone says nothing of the time before, and neither does a log without nodes.
    replay_log(tmp_path / "cut" / "jobs.csv", tmp_path / "again")
    warned = [line for line in capsys.readouterr().err.splitlines() if line.startswith("holdfast run:")]
    assert ["past usage is not known" in line for line in warned] == [True, False]
    assert "slurm plans on named nodes" in warned[1]


@pytest.mark.parametrize("order", CASES)
def test_a_log_that_is_cut_at_a_starting_state_goes_on(order: str) -> None:
    options = {"order": order, "backfilling": "slurm"}
    jobs = jobs_of(10, 50)
    trace = result_trace(run(jobs, **options))
    cut = starting_state(replace(trace, nodes=NODES), 12_000)
    true = {job.job_id: job.submit + (job.wait or 0.0) for job in trace.jobs}
    result = simulate(as_rigid(cut), NODES, prior=prior_state(cut), events=False, **options)
    starts = {record.job_id: to_seconds(record.start or 0) for record in result.records}
    assert starts == {job_id: pytest.approx(true[job_id], abs=1e-5) for job_id in starts}
    assert len(starts) > 15


def test_the_queue_is_explained_with_the_usage_of_the_time_before(tmp_path: Path) -> None:
    """In the order of the queue at each start, jobs in front of it had the better priority then."""
    trace = result_trace(run(jobs_of(8), order="fairshare half_life=7200", backfilling="none"))
    cut = starting_state(replace(trace, nodes=NODES), 12_000)
    prior = prior_state(cut)
    options = {"order": "fairshare half_life=7200", "backfilling": "none"}
    result = simulate(as_rigid(cut), NODES, prior=prior, decisions=True, **options)
    # Without backfilling the first of the queue starts, always.
    story = Playback(result, result.decisions)
    passed = [stay for life in story.lives.values() for stay in life.stays if stay.passed_by]
    assert not passed
    blind = Playback(replace(result, prior=None), result.decisions)
    assert any(stay.passed_by for life in blind.lives.values() for stay in life.stays)


def test_a_directory_of_results_has_the_nodes_of_its_jobs(tmp_path: Path) -> None:
    jobs = jobs_of(9)
    write_job_table(jobs, tmp_path / "jobs.csv")
    words = ["run", str(tmp_path / "jobs.csv"), "--nodes", str(NODES), "--mechanism", "baseline"]
    assert cli.main([*words, "--backfilling", "slurm", "-o", str(tmp_path / "out")]) == 0
    fresh, kept = result_trace(run(jobs, backfilling="slurm")), read_log(tmp_path / "out")
    assert [job.node_list for job in kept.jobs] == [job.node_list for job in fresh.jobs]
    assert all(len(nodes_in(job.node_list)) == job.nodes for job in kept.jobs)
    at = kept.jobs[50].submit
    assert state_at(kept, at, NODES).prior.places == state_at(fresh, at, NODES).prior.places
