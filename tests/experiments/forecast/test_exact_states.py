"""States are complete: from each of them, with the true runtimes, the simulation goes on as if it had not stopped."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from experiments.forecast.forecasts import forecast
from experiments.forecast.pasts import Past
from experiments.forecast.sources import trace_of
from experiments.forecast.states import MachineState, state_at
from policies.backfilling import BACKFILLING
from policies.network import ScoringNetwork
from policies.order import ORDERS
from policies.orders.scored import FEATURES
from simulator import Result, simulate
from simulator.machine.priorstate import PriorState
from simulator.prospects import first_starts
from workloads.table.job import Job, JobType

NODES = 24
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
    table = [seen.running_for(known[seen.job_id].runtime) for seen in state.jobs]
    table += [job for job in jobs if (job.submit or 0.0) > state.at]
    awaited = [job.job_id for job in table if job.running_since is None]
    return first_starts(
        table, NODES, state.at, awaited, origin=state.origin, prior=state.prior, outages=state.outages, **options
    )


def check(jobs: list[Job], **options: str) -> int:
    """Compare the rest of a simulation from several states; the number of starts compared."""
    result = run(jobs, **options)
    trace = trace_of(result)
    true = {job.job_id: job.submit + (job.wait or 0.0) for job in trace.jobs}
    compared = 0
    for place in (25, 50, 75):
        state = state_at(trace, trace.jobs[place].submit, NODES)
        assert len(state.waiting) > 3
        found = starts_from(state, jobs, **options)
        assert found == {job_id: pytest.approx(true[job_id], abs=1e-5) for job_id in found}
        compared += len(found)
    return compared


@pytest.mark.parametrize("backfilling", RULES)
@pytest.mark.parametrize("order", CASES)
def test_a_simulation_goes_on_from_a_state_as_if_it_had_not_stopped(order: str, backfilling: str) -> None:
    assert check(jobs_of(1), order=order, backfilling=backfilling) > 100


@pytest.mark.parametrize("backfilling", BACKFILLING)
def test_an_order_that_was_learned(backfilling: str, tmp_path: Path) -> None:
    path = tmp_path / "order.npz"
    weights = np.random.default_rng(3).normal(size=3 * (len(FEATURES) + 2))
    ScoringNetwork.of(weights, len(FEATURES)).save(path)
    check(jobs_of(2), order=f"learned model={path}", backfilling=backfilling)


def differences(jobs: list[Job], state: MachineState, **options: str) -> tuple[int, int]:
    """How many starts differ from the simulation's, with what the state knows of the past and without it."""
    true = {job.job_id: job.submit + (job.wait or 0.0) for job in trace_of(run(jobs, **options)).jobs}

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
        trace = trace_of(run(jobs, **options))
        known, unknown = differences(jobs, state_at(trace, trace.jobs[50].submit, NODES), **options)
        with_it, without_it = with_it + known, without_it + unknown
    assert with_it == 0
    assert without_it > 10


def test_the_states_of_a_past_know_as_much() -> None:
    trace = trace_of(run(jobs_of(3), backfilling="slurm"))
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
    trace = trace_of(run(jobs_of(4, 30)))
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
        jobs = [replace(job, runtime=job.walltime) for job in jobs_of(5)]
        trace = trace_of(run(jobs, order=order, backfilling=backfilling))
        state = state_at(trace, trace.jobs[-1].submit, NODES)
        found = forecast(state, None, draws=1, order=order, backfilling=backfilling)
        true = {job.job_id: job.submit + (job.wait or 0.0) for job in trace.jobs}
        assert len(found.ids) > 10
        assert found.starts[0].tolist() == pytest.approx([true[job_id] for job_id in found.ids], abs=1e-5)
