"""Plain replays are the model's to the tick: records, samples, accounts and metrics, compiled and interpreted."""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.policies.kernels import compiled_or_plain, replay_loop
from holdfast.policies.orders.utilities import Wfp
from holdfast.policies.port import WaitingJob
from holdfast.simulator import Result, simulate
from holdfast.simulator.results.measured_simulation import MeasuredWindow
from holdfast.simulator.results.metrics import summarize, summarize_types
from holdfast.simulator.simulation import simulate_table
from holdfast.workloads.ground import object_code
from holdfast.workloads.ground.errors import InputError, MachineCodeWarning
from holdfast.workloads.hybrid.assignment import as_rigid
from holdfast.workloads.logs.readers import read_trace
from holdfast.workloads.machines.machine_file import make_machine
from holdfast.workloads.machines.machine_workload import MachineWorkload
from holdfast.workloads.machines.request import ResourceRequest
from holdfast.workloads.outages.outage import Outage, OutageKind
from holdfast.workloads.table.job import Job, JobType
from holdfast.workloads.theta.generator import generate
from holdfast.workloads.theta.year import ThetaYear
from tests.shared_data import trace_file
from tests.strategies.tables import Table, job_tables, random_job_table

ORDERS = ("fcfs", "sjf", "ljf", "smallest", "largest", "saf", "laf", "f1", "f2", "f3", "f4")
CHANGING = (
    "wfp3",
    "wfp3 exponent=0.7",
    "unicep",
    "alcf",
    "alcf shortest=10 longest=500 fifo_factor=30 backfill_factor=7 backfill_max=3",
    "multifactor age=1000 size=300 max_age=600",
    "multifactor age=50 size=300 max_age=60 small=1",
)
RULES = ("easy", "none", "conservative", "easy depth=3")
#: What is measured by the clock, and what says which engine ran.
_OWN = ("options", "latencies", "engine_seconds", "engine")
_CLOCKED = ("decision_ms_p99", "decision_ms_max", "engine_seconds")


def result_contents(result: Result) -> dict[str, Any]:
    """Everything of a result that does not depend on its engine."""
    window = MeasuredWindow(warmup=60.0)
    found = {item.name: getattr(result, item.name) for item in fields(result) if item.name not in _OWN}
    found |= {"records": list(result.records), "samples": list(result.samples), "table": list(result.table)}
    for name in ("losses", "entries", "down", "stochastic", "outages"):
        found[name] = list(found[name])
    for name, how in (("summary", None), ("window", window)):
        try:
            summary: Any = summarize(result, window=how)
        except InputError as error:
            found[name] = str(error)
        else:
            found[name] = {key: repr(value) for key, value in summary.items() if key not in _CLOCKED}
    found["types"] = repr(summarize_types(result))
    return found


def assert_same(jobs: list[Job], nodes: int, order: str = "fcfs", backfilling: str = "easy") -> None:
    how: dict[str, Any] = {"events": False, "order": order, "backfilling": backfilling}
    model = simulate(jobs, nodes, engine="simpy", **how)
    plain = simulate(jobs, nodes, engine="compiled", **how)
    assert (model.engine, plain.engine) == ("simpy", "compiled")
    assert result_contents(plain) == result_contents(model)


@pytest.fixture
def machine_code(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Loops run as machine code, however little there is to do."""
    pytest.importorskip("numba")
    monkeypatch.setattr(compiled_or_plain, "LOAD_FROM", 0)
    yield


def comes(table: Table) -> bool:
    return any(job.submit is not None for job in table.jobs)


@given(
    job_tables(max_jobs=20, max_nodes=12).filter(comes),
    st.sampled_from((*ORDERS, *CHANGING)),
    st.sampled_from(RULES),
    st.sampled_from((0, 1, 30, 900)),
)
@settings(max_examples=700)
def test_a_plain_replay_is_the_models(table: Table, order: str, backfilling: str, held: int) -> None:
    # Some ran into their walltimes, of which those whose trace says otherwise only appear to.
    jobs = [replace(job, killed=job.job_id % 3 == 0) for job in table.jobs]
    jobs = hold(jobs, held)
    assert_same(jobs, table.nodes, order, backfilling)
    # The states of these jobs come from a stream; those of a simulation with an event log are all made before it.
    logged = simulate(jobs, table.nodes, engine="simpy", order=order, backfilling=backfilling)
    streamed = simulate(jobs, table.nodes, engine="simpy", order=order, backfilling=backfilling, events=False)
    assert result_contents(replace(logged, entries=())) == result_contents(streamed)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"mechanism": "N-PAA"}, "the mechanism must be baseline, not N-PAA"),
        ({"events": True}, r"no event log must be kept \(events=False\)"),
        ({"outages": [Outage(OutageKind.MAINTENANCE, 5.0, 10.0, 1)]}, "there must be no stochastic jobs, outages"),
    ],
)
def test_only_plain_replays_hand_over_ended_jobs(change: dict[str, Any], reason: str) -> None:
    jobs = [Job(1, JobType.RIGID, submit=0, nodes=1, runtime=60, walltime=60)]
    with pytest.raises(InputError, match=f"^only a plain replay hands over jobs as they end: {reason}"):
        simulate_table(jobs, 2, consume=lambda *columns: None, **{"events": False, **change})
    machine = make_machine(nodes=[{"names": "n[1-2]", "cores": 1}])
    workload = MachineWorkload(machine, (ResourceRequest(nodes=1),))
    with pytest.raises(InputError, match="hands over jobs as they end: there must be no machine"):
        simulate_table(jobs, 2, consume=lambda *columns: None, events=False, on_machine=workload)
    with pytest.raises(InputError, match="each job must be eligible at its submit"):
        simulate_table([replace(jobs[0], eligible=9)], 2, consume=lambda *columns: None, events=False, engine="simpy")


def hold(jobs: list[Job], longest: int) -> list[Job]:
    """Some of the jobs eligible up to so long after their submit [s], or before it."""
    return [
        replace(job, eligible=max(0.0, job.submit + (job.job_id * 7919) % (longest + 5) - 5.0))
        if longest and job.job_id % 2 and job.notice is None and job.submit is not None
        else job
        for job in jobs
    ]


@pytest.mark.slow
def test_thousands_of_plain_replays_are_the_models() -> None:
    orders = ORDERS + CHANGING
    for seed in range(6000):
        table = random_job_table(seed, max_jobs=40, max_nodes=24)
        if comes(table):
            jobs = hold(table.jobs, seed % 3 * 200)
            assert_same(jobs, table.nodes, orders[seed % len(orders)], RULES[seed // 16 % len(RULES)])


@pytest.mark.usefixtures("machine_code")
def test_machine_code_replays_as_the_model_does() -> None:
    orders = ORDERS + CHANGING
    for seed in range(120):
        table = random_job_table(seed, max_jobs=40, max_nodes=24)
        if comes(table):
            jobs = hold(table.jobs, seed % 3 * 200)
            assert_same(jobs, table.nodes, orders[seed % len(orders)], RULES[seed // 16 % len(RULES)])


@pytest.mark.parametrize("backfilling", RULES)
def test_a_generated_table_with_a_long_queue(backfilling: str) -> None:
    trace = generate(ThetaYear(jobs=90), seed=1)
    jobs = [replace(job, submit=(job.submit or 0.0) / 200) for job in as_rigid(trace)]
    for order in ("fcfs", "sjf", *CHANGING):
        assert_same(jobs, trace.nodes or 0, order, backfilling)


@pytest.mark.parametrize("batch_size", [1, 7, 1000])
def test_a_streamed_replay_tells_the_same_jobs_in_the_same_order(batch_size: int) -> None:
    trace = generate(ThetaYear(jobs=400), seed=2)
    table = as_rigid(trace)
    rng = np.random.default_rng(0)
    # Whole hours, so that many jobs end in one instant; ids in another order than the rows.
    whole = {name: np.maximum(1, table.column(name) // 3600) * 3600 for name in ("runtime", "walltime")}
    table = table.with_columns(
        submit=table.column("submit") // 50, job_id=rng.permutation(table.column("job_id")), **whole
    )
    pieces: list[tuple[Any, ...]] = []
    size = trace.nodes or 0
    how: dict[str, Any] = {"events": False, "batch_size": batch_size}
    model = simulate_table(table, size, consume=lambda *columns: pieces.append(columns), engine="simpy", **how)
    rows, starts, ends = (np.concatenate(columns) for columns in zip(*pieces, strict=True))
    assert {len(piece[0]) for piece in pieces[:-1]} <= {batch_size}
    records = model.records.columns
    # At one instant jobs end in the order of their ids.
    assert rows.tolist() == np.lexsort((records["job_id"], records["end"])).tolist()
    assert (starts.tolist(), ends.tolist()) == (records["start"][rows].tolist(), records["end"][rows].tolist())
    # A compiled replay is over before there is anything to tell.
    compiled = simulate_table(table, size, consume=lambda *columns: pytest.fail("told"), engine="compiled", **how)
    assert (model.engine, compiled.engine) == ("simpy", "compiled")
    assert result_contents(compiled) == result_contents(model)


LOGS = (("theta_2022", 4392), ("KTH-SP2-1996-2.1-cln", 100), ("SDSC-BLUE-2000-4.2-cln", 1152))
#: Number of the first jobs of a log; None: all.
PARTS = [pytest.param(5000, marks=pytest.mark.system), pytest.param(None, marks=pytest.mark.slow)]


def first_jobs(name: str, nodes: int, count: int | None) -> list[Job]:
    return as_rigid(read_trace(trace_file(f"{name}.swf.gz")).on_machine(nodes))[:count]


@pytest.mark.parametrize("count", PARTS)
@pytest.mark.parametrize(("name", "nodes"), LOGS)
@pytest.mark.parametrize(
    ("order", "backfilling"), [("fcfs", "easy"), ("sjf", "none"), ("fcfs", "conservative"), ("saf", "easy depth=4")]
)
def test_real_logs(name: str, nodes: int, order: str, backfilling: str, count: int | None) -> None:
    assert_same(first_jobs(name, nodes, count), nodes, order, backfilling)


@pytest.mark.parametrize("count", PARTS)
@pytest.mark.parametrize(("name", "nodes"), LOGS[:2])
@pytest.mark.parametrize("order", CHANGING)
def test_real_logs_in_orders_that_change(name: str, nodes: int, order: str, count: int | None) -> None:
    rule = RULES[3 * (CHANGING.index(order) % 2)]
    assert_same(first_jobs(name, nodes, count), nodes, order, rule)


# What is not plain.

JOB = Job(1, JobType.RIGID, submit=0.0, nodes=2, runtime=100.0, walltime=200.0)


@pytest.mark.parametrize(
    ("job", "how", "why"),
    [
        (JOB, {"mechanism": "CUA-SPAA"}, "the mechanism must be baseline, not CUA-SPAA"),
        (JOB, {"events": True}, "no event log must be kept"),
        (JOB, {"decisions": True}, "no event log must be kept"),
        (JOB, {"outages": [Outage(OutageKind.MAINTENANCE, 50.0, 60.0, 1)]}, "outages"),
        (JOB, {"passes": "event"}, "passes must be instant"),
        (JOB, {"backfill_length": "runtime"}, "backfill_length must be walltime"),
        (JOB, {"expansion": "greedy"}, "expansion must be none"),
        (JOB, {"order": "fairshare"}, "order must be one of"),
        (JOB, {"order": "multifactor age=1 fairshare=1"}, "order must be one of .* without fair share"),
        (JOB, {"order": "multifactor qos=1 factors=a:1"}, "order must be one of .* without fair share"),
        (JOB, {"backfilling": "slurm"}, "backfilling must be"),
        (JOB, {"backfilling": "easy length=runtime"}, "backfilling must be easy by walltimes"),
        (replace(JOB, cancelled_at=150.0), {}, "job 1 must not be cancelled"),
        (replace(JOB, running_since=0.0), {}, "started before the replay"),
        (replace(JOB, type=JobType.STOCHASTIC, application="a", plan="masi k=1"), {}, "stochastic"),
        (replace(JOB, submit=None, type=JobType.ON_DEMAND, notice=0.0, estimated_arrival=9.0), {}, "must arrive"),
    ],
)
def test_what_is_not_plain_is_left_to_the_model(job: Job, how: dict[str, Any], why: str) -> None:
    given = {"events": False, **how}
    with pytest.raises(InputError, match=why):
        simulate([job], 4, engine="compiled", **given)
    assert simulate([job], 4, **given).engine == "simpy"


def test_a_dependency_is_left_to_the_model() -> None:
    jobs = [JOB, replace(JOB, job_id=2, preceding=1)]
    assert simulate(jobs, 4, events=False).engine == "simpy"


def test_times_that_are_not_exact_as_floats_are_left_to_the_model() -> None:
    # 2^53 microseconds are 9.007e9 s.
    jobs = [replace(JOB, job_id=number, nodes=4, runtime=1e9, walltime=1e9) for number in range(1, 11)]
    assert simulate(jobs[:9], 4, order="wfp3", events=False).engine == "compiled"
    assert simulate(jobs, 4, order="wfp3", events=False).engine == "simpy"
    assert simulate(jobs, 4, order="sjf", events=False).engine == "compiled"


class Reversed(Wfp):
    """An order derived from one of ours, with a key of its own."""

    def __call__(self, job: WaitingJob, now: int) -> float:
        return -super().__call__(job, now)


def test_an_order_derived_from_ours_is_left_to_the_model() -> None:
    order = f"{__name__}:Reversed"
    assert simulate([JOB], 4, order=order, events=False).engine == "simpy"


def test_an_unknown_engine_is_refused() -> None:
    with pytest.raises(InputError, match="engine must be one of auto, simpy, compiled, not 'fast'"):
        simulate([JOB], 4, engine="fast")


# How loops run.


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, machine_code: None) -> Path:
    """An empty cache, and a process that has loaded nothing."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    object_code.object_code.cache_clear()
    object_code.warn_once.cache_clear()
    return tmp_path / "holdfast"


def busy() -> tuple[list[Job], int]:
    table = random_job_table(5, max_jobs=40, max_nodes=24)
    assert comes(table)
    return table.jobs, table.nodes


@pytest.mark.system
def test_object_code_is_loaded_without_numba(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert_same(*busy())
    (file,) = fresh.iterdir()
    assert (file.name.startswith("replay-"), file.stat().st_mode & 0o777) == (True, 0o600)
    object_code.object_code.cache_clear()
    monkeypatch.setitem(sys.modules, "numba", None)
    assert object_code.object_code(replay_loop.replay) is not None
    assert_same(*busy())


def test_without_numba_the_plain_loop_runs(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numba", None)
    monkeypatch.setitem(sys.modules, "llvmlite", None)
    assert object_code.object_code(replay_loop.replay) is None
    assert_same(*busy())
    assert not fresh.exists()


def double(count, values, results):  # type: ignore[no-untyped-def]
    """A loop that is compiled in little time."""
    for place in range(count):
        results[place] = 2 * values[place]


def doubles() -> list[int]:
    """What it gives in a process that has loaded nothing."""
    object_code.object_code.cache_clear()
    run = object_code.object_code(double, "naa") or double
    results = np.zeros(3, np.int64)
    run(3, np.arange(3), results)
    found: list[int] = results.tolist()
    return found


@pytest.mark.parametrize("damage", [b"", b"holdfast machine code 1\nnot code", None])
def test_damaged_code_is_compiled_again(fresh: Path, damage: bytes | None) -> None:
    assert doubles() == [0, 2, 4]
    (file,) = fresh.iterdir()
    file.write_bytes(file.read_bytes()[:-9] + bytes(9) if damage is None else damage)
    with pytest.warns(MachineCodeWarning, match="is damaged; it is compiled again"):
        assert doubles() == [0, 2, 4]
    object_code.warn_once.cache_clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert doubles() == [0, 2, 4]


@pytest.mark.system
def test_code_that_cannot_be_kept_is_compiled_for_much_work_alone(
    fresh: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh.write_text("a file where the directory should be")
    monkeypatch.setattr(compiled_or_plain, "_steps", Counter())  # other tests have run loops in this process
    with pytest.warns(MachineCodeWarning, match="cannot be kept"):
        assert compiled_or_plain.compiled_loop(replay_loop.replay, 1) is None
    assert_same(*busy())
    monkeypatch.setattr(compiled_or_plain, "COMPILE_FROM", 0)
    assert compiled_or_plain.compiled_loop(replay_loop.replay, 1) is not None
    assert_same(*busy())


def test_a_loop_that_numba_cannot_compile_runs_in_python(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> str:
        raise TypeError("not today")

    monkeypatch.setattr(object_code, "assembly", refuse)
    with pytest.warns(MachineCodeWarning, match="numba cannot compile replay \\(not today\\)"):
        assert_same(*busy())


def test_compiled_loops_take_contiguous_whole_numbers_alone(machine_code: None) -> None:
    code = object_code.object_code(double, "naa")
    assert code is not None
    with pytest.raises(TypeError, match="64-bit"):
        code(0, np.zeros(3), np.zeros(3))


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    yield
    object_code.object_code.cache_clear()
    object_code.warn_once.cache_clear()
